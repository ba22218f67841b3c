"""Model at one value of the parameter of a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.kernels import Precomputed
from hinge.model import KernelModel
from hinge.paths.evaluation.weights import NamedFeatures, linear_weights
from hinge.paths.piecewise import check_rows
from hinge.paths.ties import Rounding
from hinge.problems import Array
from hinge.validation import as_labels, as_targets, check_same_length, n_columns


@dataclass(frozen=True)
class PathModel(NamedFeatures):
    """Model at one value of the parameter. A classifier sets decision values within rounding errors of zero to zero.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> model = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0).model(5.0)
    >>> model.predict(X[:4]), model.score(X, y)
    (array([0, 1, 1, 0]), 1.0)
    """

    machine: KernelModel
    classes: Any
    support: NDArray[np.intp]
    n_train: int
    rounding: Rounding | None = None
    feature_names: Any = None

    @property
    def coef_(self) -> Array:
        """Weights of the features for the linear kernel, of shape (1, n_features)."""
        return linear_weights(self.machine.kernel, self.machine.vectors, self.machine.coefficients.T)

    @property
    def intercept_(self) -> Array:
        """The offset b, of shape (1,)."""
        return np.asarray(self.machine.intercept)

    def decision_function(self, X: Any) -> Array:
        """Σ βᵢ k(xᵢ, x) + b; for a precomputed kernel X has one column per training sample."""
        model = self.machine
        if isinstance(model.kernel, Precomputed):
            X = check_rows(model.kernel, X, self.n_train)
            values = model.decide(np.ascontiguousarray(X[:, self.support]))[:, 0]
        else:
            X = check_rows(model.kernel, X, n_columns(model.vectors), self.feature_names)
            values = model.decide(X)[:, 0]
        if self.rounding is None:
            return values
        beta = np.zeros(self.n_train)
        beta[self.support] = model.coefficients[:, 0]
        return self.rounding.zero_ties(values, X, beta, float(model.intercept[0]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels, or the values of f for regression."""
        values = self.decision_function(X)
        return values if self.classes is None else self.classes[(values > 0).astype(np.intp)]

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the accuracy, or R² for regression."""
        y, predicted = as_targets(y) if self.classes is None else as_labels(y), self.predict(X)
        check_same_length(predicted, y)
        if self.classes is not None:
            return float(np.mean(predicted == y))
        return float(1 - np.sum((y - predicted) ** 2) / np.sum((y - np.mean(y)) ** 2))
