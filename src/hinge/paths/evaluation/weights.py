"""Weights of the features along paths with a linear kernel, and names of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.kernels import Kernel, Linear
from hinge.problems import Array


def feature_names(X: Any) -> NDArray[Any] | None:
    """Return the names of the columns of a DataFrame if all are text, otherwise None."""
    columns = getattr(X, "columns", None)
    if columns is None or len(columns) == 0 or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def check_feature_names(names: Any, X: Any) -> None:
    """Raise a ValueError if X is a DataFrame whose column names differ from those of the training data."""
    given = None if names is None else feature_names(X)
    if given is None or np.array_equal(given, names):
        return
    if sorted(given) == sorted(names):
        raise ValueError("the columns of X are in another order than in training: pass X[path.feature_names_in_]")
    unknown = [name for name in given if name not in set(names)]
    missing = [name for name in names if name not in set(given)]
    raise ValueError(
        f"the feature names of X differ from those of the training data: not seen in training {unknown[:5]}, missing "
        f"{missing[:5]}. Pass the columns path.feature_names_in_"
    )


class NamedFeatures:
    """Names of the features of a path or of its models."""

    feature_names: Any

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the training data were a DataFrame whose column names are all text."""
        if self.feature_names is None:
            raise AttributeError("feature_names_in_ is only available if X was a DataFrame with text as column names")
        return np.asarray(self.feature_names)


def linear_weights(kernel: Kernel, X: Any, beta: Array) -> Array:
    """Return w = Σ βᵢ xᵢ of a linear kernel; one row per row of `beta` if it has two dimensions."""
    if not isinstance(kernel, Linear):
        raise AttributeError(f"coef is only available for kernel='linear'; the kernel of the path is {kernel!r}")
    return np.asarray(X.T @ beta.T).T
