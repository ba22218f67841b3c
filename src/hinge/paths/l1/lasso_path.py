"""Solutions of the weighted lasso along a path.                                     docs/math (841)–(844)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.paths.breakpoints import Pieces
from hinge.paths.engine import Counts
from hinge.paths.evaluation.table import data_frame, weight_columns
from hinge.paths.evaluation.values import as_values, for_values
from hinge.paths.evaluation.weights import NamedFeatures, check_feature_names
from hinge.paths.piecewise import PiecewisePath
from hinge.problems import Array, ParametricProblem, Status
from hinge.validation import as_samples

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class LassoPath(PiecewisePath, NamedFeatures):
    """Solutions of the weighted lasso as a piecewise linear function of λ, or of θ between two weight vectors.

    Methods with an argument `value` accept a value of the parameter or an array of values; the first axis of the result
    then corresponds to the values.

    Attributes
    ----------
    parameter : {"lam", "theta"}
    low, high : float
        Ends of the path.
    breakpoints : ndarray
        Values of the parameter at which a coefficient becomes zero or nonzero, and both ends.
    kkt_violation : float
        Largest relative violation of the optimality conditions (843) at the breakpoints.
    status : Status
        `SOLVED`, or why the path ends early.
    feature_names_in_ : ndarray
        Names of the features, if X was a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); y = X @ [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=50)
    >>> path = hinge.lasso_path(X, y)
    >>> isinstance(path, hinge.LassoPath), path.parameter, path.coef(10.0).round(1)[:2]
    (True, 'lam', array([1.9, 0.7]))
    """

    parameter: str
    parametric: ParametricProblem
    pieces: Pieces
    counts: Counts
    low: float
    high: float
    x_mean: Array
    y_mean: float
    status: Status
    y_square: float
    feature_names: Any = None

    @for_values
    def coef(self, value: Any) -> Array:
        """Return the coefficients w at a value of the parameter."""
        return self.pieces.beta(self.parametric, self._check(value)).reshape(2, -1).sum(axis=0)

    @for_values
    def intercept(self, value: Any) -> float:
        """Return the intercept at a value of the parameter; zero without ``fit_intercept``."""
        return float(self.y_mean - self.x_mean @ self.coef(value))

    @for_values
    def predict(self, X: Any, value: Any) -> Array:
        """Return the predictions at the rows of X."""
        check_feature_names(self.feature_names, X)
        X = as_samples(X, min_samples=0)
        if X.shape[1] != len(self.x_mean):
            raise ValueError(f"X has {X.shape[1]} features, but the path was computed with {len(self.x_mean)}")
        return np.asarray(X @ self.coef(value)) + self.intercept(value)

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per breakpoint, or per value in `values`.

        The index is the parameter. Columns: ``objective`` (½‖y − Xw‖² + λ Σ vⱼ|wⱼ|), ``loss`` (its first term),
        ``penalty`` (its second term), ``norm`` (‖w‖), ``intercept``, ``nonzero`` (number of coefficients that are not
        zero), and unless ``coefficients=False`` the coefficients ``coef_<feature>``.
        """
        values = self.breakpoints if values is None else as_values("values", values)
        w = self.coef(values)
        costs = np.stack([self.parametric.at(value).linear for value in values])  # λv − Xᵀy and −λv − Xᵀy
        first, second = costs.reshape(len(values), 2, -1).swapaxes(0, 1)
        penalty = np.sum(0.5 * (first - second) * np.abs(w), axis=1)
        explained = -np.sum(0.5 * (first + second) * w, axis=1)  # wᵀXᵀy = wᵀXᵀXw + penalty, by (843)
        loss = np.maximum(0.5 * (self.y_square - explained - penalty), 0.0)
        columns = {
            "objective": loss + penalty, "loss": loss, "penalty": penalty, "norm": np.linalg.norm(w, axis=1),
            "intercept": self.intercept(values), "nonzero": np.count_nonzero(w, axis=1),
        }  # fmt: skip
        table = weight_columns(w, self.feature_names) if coefficients else {}
        return data_frame(self.parameter, values, columns, table)

    def __repr__(self) -> str:
        return (
            f"<lasso path of {len(self.x_mean)} coefficients over {self.parameter} in [{self.low:g}, {self.high:g}]: "
            f"{len(self.breakpoints)} breakpoints, KKT violation {self.kkt_violation:.1e}>"
        )
