"""Solution path: the exact solution as a function of one parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.control import Counter
from hinge.kernels import Access, Kernel, Precomputed, cross, open_access
from hinge.model import KernelModel
from hinge.paths.breakpoints import MARGIN, Pieces
from hinge.paths.engine import Counts, Progress
from hinge.paths.evaluation.table import blocks, coefficient_table, data_frame, joined
from hinge.paths.evaluation.validation_data import check_validation_data
from hinge.paths.evaluation.values import as_values, decision_values, for_values, squared_norms
from hinge.paths.evaluation.weights import NamedFeatures, linear_weights
from hinge.paths.path_model import PathModel
from hinge.paths.piecewise import PiecewisePath, check_rows
from hinge.paths.refinement import refine
from hinge.paths.ties import Rounding
from hinge.paths.validation_error import Best, Crossings, PiecewiseQuadratic, SignChanges, StepFunction
from hinge.problems import Array, Certificate, ParametricProblem, Status, certify
from hinge.validation import n_columns

if TYPE_CHECKING:
    import pandas as pd


class Segments(NamedTuple):
    """Consecutive segments, one per row: their ends, and Kβ and b there."""

    start: Array
    stop: Array
    at_start: Array
    at_stop: Array
    b_start: Array
    b_stop: Array


@dataclass(frozen=True)
class SolutionPath(PiecewisePath, NamedFeatures):
    """Exact solution as a piecewise linear function of one parameter.

    Returned by `regularization_path`, `weight_path`, `epsilon_path` and `nu_path`. Methods with an argument `theta`
    accept a value of the parameter or an array of values; the first axis of the result then corresponds to the values.

    Attributes
    ----------
    parameter : str
        "C", "theta", "epsilon" or "nu".
    low, high : float
        The interval of the parameter.
    breakpoints : ndarray
        Values at which the derivative of the solution changes, ascending, with both ends.
    kkt_violation : float
        Largest violation of the optimality conditions on the path, relative to max |c| + max K · max |bound|.
    counts : Counts
        Numbers of events and corrections.
    status : Status
        SOLVED, or the reason why the path is shorter than requested.
    feature_names_in_ : ndarray
        Names of the features, if X was a DataFrame.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> path.parameter, path.status.name, bool(path.kkt_violation < 1e-9)
    ('C', 'SOLVED', True)
    >>> path.model(1.0).score(X, y)
    0.9666666666666667
    >>> bool(path.certificate(1.0).relative_gap < 1e-9)
    True
    """

    parameter: str
    task: str
    kernel: Kernel
    X: Any
    y: Array
    classes: Any
    parametric: ParametricProblem
    pieces: Pieces
    counts: Counts
    low: float
    high: float
    status: Status = Status.SOLVED
    feature_names: Any = None

    # ---- the solution as a function of the parameter ----------------------------------------------------------

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return len(self.y)

    @for_values
    def coefficients(self, theta: Any) -> Array:
        """Return β with f(x) = Σ βᵢ k(xᵢ, x) + b."""
        beta = self.pieces.beta(self.parametric, self._check(theta))
        return beta.reshape(-1, self.n_samples).sum(axis=0) / self._scale(self._multipliers(theta))

    def coef(self, theta: Any) -> Array:
        """Return the weights of the features for the linear kernel, w = Σ βᵢ xᵢ."""
        return linear_weights(self.kernel, self.X, self.coefficients(theta))

    @for_values
    def alpha(self, theta: Any) -> Array:
        """Return the dual variables: 0 ≤ αᵢ ≤ Cᵢ of classification, αᵢ − αᵢ* of regression."""
        beta = self.pieces.beta(self.parametric, self._check(theta)).reshape(-1, self.n_samples).sum(axis=0)
        return np.abs(beta) if self.task in ("classification", "one_class") else beta

    @for_values
    def intercept(self, theta: Any) -> float:
        """Return b; the midpoint if all values of an interval are optimal."""
        mu = self._multipliers(theta)
        return float(np.divide(self._offset(mu), self._scale(mu)))

    @for_values
    def refined(self, theta: Any) -> tuple[Array, float]:
        """Return (β, b) after iterative refinement in double-double arithmetic.                     docs/math (253)

        The accuracy of `coefficients` and `intercept` is limited by the factor that was updated along the path. It
        is not sufficient if kernel values and C are so large that f is a small difference of large terms.
        """
        theta = self._check(theta)
        margin = self.pieces.places(self.pieces.segment(theta)) == MARGIN
        beta, mu = self.pieces.beta(self.parametric, theta), self._multipliers(theta)
        beta, mu = refine(self.parametric, self._access, theta, margin, beta, mu)
        scale = self._scale(mu)
        return beta.reshape(-1, self.n_samples).sum(axis=0) / scale, self._offset(mu) / scale

    @for_values
    def tube(self, theta: Any) -> float:
        """Return ε of ν-regression, half the width of the tube.                           docs/math (250)"""
        if self.parameter != "nu" or self.task != "regression":
            raise ValueError(f"tube needs a regression path over nu, not a path of {self.task} over {self.parameter}")
        mu = self._multipliers(theta)
        return max(0.0, float(0.5 * (mu[0] - mu[1])))

    def _multipliers(self, theta: float) -> Array:
        return self.pieces.multipliers(self._check(theta), self.parametric.group)

    def _offset(self, mu: Array) -> float:
        """Return b, or ρb of ν-classification."""
        return float(np.mean(mu)) if len(mu) else 0.0

    def _scale(self, mu: Array) -> float:
        """Return ρ of ν-classification, 1 otherwise."""
        if self.parameter != "nu" or self.task != "classification":
            return 1.0
        return float(0.5 * (mu[1] - mu[0]))

    @for_values
    def index_sets(self, theta: Any) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return the samples (outside, on, inside) the margin: α at zero, between, at its upper bound."""
        k = self.pieces.segment(self._check(theta))
        places = self.pieces.places(k).reshape(-1, self.n_samples)
        at_zero = np.where(self.parametric.sign.reshape(places.shape) > 0, 0, 1)
        if self.task == "regression" and len(places) == 1:
            at_zero = np.full_like(at_zero, -1)
        on = np.any(places == MARGIN, axis=0)
        inside = np.any((places != MARGIN) & (places != at_zero), axis=0) & ~on
        return np.flatnonzero(~on & ~inside), np.flatnonzero(on), np.flatnonzero(inside)

    def decision_function(self, X: Any, theta: Any) -> Array:
        """Return decision values at the rows of X (kernel values with the training samples if it is precomputed)."""
        beta, offset = self.coefficients(theta), self.intercept(theta)
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        rounding = None if self.classes is None else self._rounding
        return decision_values(self.kernel, X, self.X, beta, offset, rounding)

    def predict(self, X: Any, theta: Any) -> NDArray[Any]:
        """Return labels, or the values of f for regression and one class."""
        values = self.decision_function(X, theta)
        return values if self.classes is None else self.classes[(values > 0).astype(np.intp)]

    @for_values
    def model(self, theta: Any, refine: bool = False) -> PathModel:
        """Return the model at `theta`; if `refine`, with the coefficients and the offset of `refined`."""
        beta, b = self.refined(theta) if refine else (self.coefficients(theta), self.intercept(theta))
        support = np.flatnonzero(beta)
        vectors = None if isinstance(self.kernel, Precomputed) else self.X[support]
        kernel_model = KernelModel(self.kernel, vectors, beta[support][:, None], np.array([b]))
        rounding = None if self.classes is None else self._rounding
        return PathModel(kernel_model, self.classes, support, self.n_samples, rounding, self.feature_names)

    at = model

    @for_values
    def certificate(self, theta: Any) -> Certificate:
        """Return the primal and dual values and their gap at `theta`, computed from the data."""
        problem = self.parametric.problem(self._access, self._check(theta))
        beta = self.pieces.beta(self.parametric, self._check(theta))
        return certify(problem, self.parametric.sign * beta, self._multipliers(theta), convex=self.kernel.psd)

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per breakpoint, or per value in `values`.

        Parameters
        ----------
        values : array-like, optional
            Values of the parameter; by default all breakpoints.
        coefficients : bool, default=True
            Whether the coefficients are columns.

        Returns
        -------
        pandas.DataFrame
            The index is the parameter. Columns: ``objective`` (the optimal value of the problem, as in `certificate`),
            ``norm`` (‖w‖), ``intercept``, ``outside``, ``margin`` and ``inside`` (sizes of the index sets), ``support``
            (number of support vectors), and ``coef_<feature>`` for the linear kernel or ``beta_<sample>``.
        """
        values = self.breakpoints if values is None else as_values("values", values)
        columns = joined([self._columns(part) for part in blocks(values)])
        table = coefficient_table(self, values) if coefficients else {}
        return data_frame(self.parameter, values, columns, table)

    def _columns(self, values: Array) -> dict[str, Array]:
        """Return the columns of the table without coefficients."""
        scales = np.array([self._scale(self._multipliers(theta)) for theta in values])
        beta = self.coefficients(values) * scales[:, None]
        squares = squared_norms(self.kernel, self.X, beta)
        signed = [(self.pieces.beta(self.parametric, theta), self.parametric.at(theta)) for theta in values]
        linear = np.array([data.linear @ variables for variables, data in signed])
        sizes = np.array([[len(part) for part in self.index_sets(theta)] for theta in values])
        return {
            "objective": 0.0 - (0.5 * squares + linear), "norm": np.sqrt(squares) / np.abs(scales),
            "intercept": self.intercept(values), "outside": sizes[:, 0], "margin": sizes[:, 1], "inside": sizes[:, 2],
            "support": np.count_nonzero(beta, axis=1),
        }  # fmt: skip

    @cached_property
    def _access(self) -> Access:
        return open_access(self.kernel, self.X)

    @cached_property
    def _rounding(self) -> Rounding:
        return Rounding.of(self.kernel, self._access.diagonal(), n_columns(self.X))

    # ---- exact model selection --------------------------------------------------------------------------------

    def _cross(self, X: Any) -> Array:
        """Return K(X, training samples)."""
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        return X if isinstance(self.kernel, Precomputed) else cross(self.kernel, X, self.X)

    def _along(self, K: Array, progress: Progress | None = None) -> Iterator[Segments]:
        """Yield Kβ and b on chunks of segments, for rows K of kernel values."""
        counter = Counter(progress, len(self.pieces), "segments")
        for chunk, lines in self.pieces.lines(self.parametric, self.n_samples):
            start, stop = self.pieces.start[chunk], self.pieces.stop[chunk]
            b = b_rate = np.zeros((len(start), 1))
            if self.pieces.mu.shape[1]:  # with two multipliers (ν) b is their mean; its sign does not depend on ρ
                b, b_rate = (np.mean(a[chunk], axis=1, keepdims=True) for a in (self.pieces.mu, self.pieces.mu_rate))
            at_start, at_stop = lines(K)
            yield Segments(start, stop, at_start, at_stop, b, b + b_rate * (stop - start)[:, None])
            counter.advance(len(start))

    def sign_changes(self, X: Any, progress: Progress | None = None) -> SignChanges:
        """Return the values of θ at which decision values at the rows of X change sign.      docs/math (221), (480)"""
        crossings, K, rounding = Crossings(), self._cross(X), self._rounding
        reach = rounding.reach(check_rows(self.kernel, X, n_columns(self.X)))
        sizes = np.resize(self.parametric.sign, self.n_samples) * rounding.norms  # the product with β is Σ |βᵢ| kᵢᵢ^½
        for part in self._along(np.vstack([K, sizes]), progress):
            ends = []
            for values, b in ((part.at_start, part.b_start), (part.at_stop, part.b_stop)):
                ends += [values[:, :-1] + b, rounding.bound(reach, values[:, -1:], b)]
            crossings.add(part.start, part.stop, *ends)
        return crossings.changes()

    def validation_error(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> StepFunction | PiecewiseQuadratic:
        """Return the error on other data as an exact function of the parameter.

        `progress`: a function that is called with the number of segments that are done, for example `PathProgress`.

        Returns
        -------
        StepFunction
            For classification: the (weighted) error rate, constant between its `knots`.   docs/math (221)
            It is that of `model(theta).predict`: decision values that are zero to rounding predict ``classes[0]``.
        PiecewiseQuadratic
            For regression: the mean squared error.                                                  docs/math (222)
        """
        if self.task == "one_class":
            raise ValueError("validation_error needs a path of classification or regression; one-class has no targets")
        X, y, weight = check_validation_data(X, y, sample_weight, self.classes)
        if self.classes is not None:
            return self.sign_changes(X, progress).errors(y == self.classes[1], weight, self.low, self.high)
        weight = weight / np.sum(weight)
        knots, coefficients = [], []
        for part in self._along(self._cross(X), progress):
            at_start, at_stop = part.at_start + part.b_start, part.at_stop + part.b_stop
            error, slope = at_start - y, (at_stop - at_start) / (part.stop - part.start)[:, None]
            knots.append(part.start)
            coefficients.append(np.stack([error**2 @ weight, 2 * (error * slope) @ weight, slope**2 @ weight], axis=1))
        return PiecewiseQuadratic(np.append(np.concatenate(knots), self.high), np.concatenate(coefficients))

    def best(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Best:
        """Return the exact minimizer of the validation error: (low, high, error), and `theta` inside the interval."""
        return self.validation_error(X, y, sample_weight, progress=progress).best()

    def explore(self, file: Any, X_val: Any = None, y_val: Any = None, **options: Any) -> Any:
        """Write an interactive page of the path; see `hinge.plotting.explore`."""
        return import_module("hinge.plotting.explorer").explore(self, file, X_val, y_val, **options)

    def animate(self, file: Any, **options: Any) -> Any:
        """Write an animated GIF of the decision function along the path; see `hinge.plotting.animate`."""
        return import_module("hinge.plotting.animation").animate(self, file, **options)

    def __repr__(self) -> str:
        return (
            f"<path of {self.n_samples} samples over {self.parameter} in [{self.low:g}, {self.high:g}]: "
            f"{len(self.breakpoints)} breakpoints, KKT violation {self.kkt_violation:.1e}>"
        )
