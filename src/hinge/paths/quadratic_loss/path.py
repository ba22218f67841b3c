"""Exact solution path of quadratic losses, piecewise rational in λ.         Karasuyama ch. 5, docs/math (231)–(236)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.control import Counter
from hinge.kernels import Kernel, Precomputed, cross, open_access
from hinge.model import KernelModel
from hinge.paths.engine import Progress
from hinge.paths.evaluation.table import blocks, coefficient_table, data_frame, joined
from hinge.paths.evaluation.validation_data import check_validation_data
from hinge.paths.evaluation.values import as_values, decision_values, for_values
from hinge.paths.evaluation.weights import NamedFeatures, linear_weights
from hinge.paths.path_model import PathModel
from hinge.paths.piecewise import check_rows
from hinge.paths.quadratic_loss.problem import LEFT, QuadraticLossProblem
from hinge.paths.quadratic_loss.rational import RationalFunctions
from hinge.paths.ties import Rounding
from hinge.paths.validation_error import Best, StepFunction
from hinge.problems import Array
from hinge.validation import n_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class QuadraticLossPath(NamedFeatures):
    """Exact solution for every λ between `lambda_min` and `lambda_max`; returned by `quadratic_loss_path`.

    Methods with an argument `lam` accept a value of λ or an array of values; the first axis of the result then
    corresponds to the values.

    Attributes
    ----------
    breakpoints : ndarray
        Values of λ at which the index sets change, ascending, with both ends.
    n_events : int
    kkt_violation : float
        Largest relative violation of the optimality conditions at the breakpoints.
    mean_evaluations : float
        Mean number of evaluations of a rational function in the search for the next event. Close to 1, because most
        functions are discarded after one evaluation.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.quadratic_loss_path(X, y, gamma=1.0, lambda_min=1e-2)
    >>> isinstance(path, hinge.QuadraticLossPath), len(path.breakpoints) > 2
    (True, True)
    """

    kernel: Kernel
    X: Any
    y: Array
    classes: Any
    rho: float
    h: float
    bias: bool
    knots: Array
    changed: NDArray[np.int64]
    place: NDArray[np.int8]
    offset: NDArray[np.int64]
    kkt_violation: float
    mean_evaluations: float
    feature_names: Any = None

    @property
    def lambda_min(self) -> float:
        """Smallest λ."""
        return float(self.knots[-1])

    @property
    def lambda_max(self) -> float:
        """Largest λ."""
        return float(self.knots[0])

    @property
    def n_events(self) -> int:
        """Number of changes of the index sets."""
        return int(len(self.changed) - self.offset[1])

    @cached_property
    def breakpoints(self) -> Array:
        """Values of λ at which the index sets change, ascending, with both ends."""
        return np.unique(self.knots)

    @cached_property
    def _problem(self) -> QuadraticLossProblem:
        access, rows = open_access(self.kernel, self.X), np.arange(len(self.y))
        return QuadraticLossProblem(access.block(rows, rows), self.y, self.rho, self.h, self.bias)

    @cached_property
    def _rounding(self) -> Rounding:
        return Rounding.of(self.kernel, open_access(self.kernel, self.X).diagonal(), n_columns(self.X))

    def _segment(self, lam: float) -> int:
        lam = float(lam)
        if not self.lambda_min * (1 - 1e-12) <= lam <= self.lambda_max * (1 + 1e-12):
            raise ValueError(f"lambda={lam!r} is outside the path, from {self.lambda_min!r} to {self.lambda_max!r}")
        return int(np.clip(np.searchsorted(-self.knots, -lam, side="right") - 1, 0, len(self.knots) - 2))

    @for_values
    def places(self, lam: Any) -> NDArray[np.int8]:
        """Return the index set of every sample: 0 for α = 0, 1 for 0 < α < h, 2 for α = h."""
        places = np.zeros(len(self.y), dtype=np.int8)
        last = self.offset[self._segment(lam) + 1]
        places[self.changed[:last]] = self.place[:last]
        return places

    def set_sizes(self) -> NDArray[np.int64]:
        """Return |R|, |C| and |L| on every segment, from the largest λ to the smallest."""
        places, rows = np.zeros(len(self.y), dtype=np.int8), []
        for first, last in zip(self.offset[:-1], self.offset[1:], strict=True):
            places[self.changed[first:last]] = self.place[first:last]
            rows.append(np.bincount(places, minlength=3))
        return np.array(rows)

    def _solution(self, lam: float) -> tuple[Array, float]:
        return self._problem.solution(self.places(lam), float(lam))

    @for_values
    def alpha(self, lam: Any) -> Array:
        """Return the dual variables of (5.10)."""
        return self._solution(lam)[0]

    @for_values
    def coefficients(self, lam: Any) -> Array:
        """Return β with f(x) = Σ βᵢ k(xᵢ, x) + b:  β = y ∘ α / λ."""
        return self.y * self.alpha(lam) / lam

    def coef(self, lam: Any) -> Array:
        """Return the weights of the features for the linear kernel, w = Σ βᵢ xᵢ."""
        return linear_weights(self.kernel, self.X, self.coefficients(lam))

    @for_values
    def intercept(self, lam: Any) -> float:
        """Return b; zero without bias."""
        return self._solution(lam)[1]

    def decision_function(self, X: Any, lam: Any) -> Array:
        """Return decision values at the rows of X."""
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        beta, offset = self.coefficients(lam), self.intercept(lam)
        return decision_values(self.kernel, X, self.X, beta, offset, self._rounding)

    def predict(self, X: Any, lam: Any) -> NDArray[Any]:
        """Return labels."""
        values = self.decision_function(X, lam)
        return self.classes[(values > 0).astype(np.intp)]

    @for_values
    def model(self, lam: Any) -> PathModel:
        """Return the model at λ."""
        alpha, offset = self._solution(lam)
        support = np.flatnonzero(alpha)
        vectors = None if isinstance(self.kernel, Precomputed) else self.X[support]
        model = KernelModel(self.kernel, vectors, (self.y * alpha / lam)[support][:, None], np.array([offset]))
        return PathModel(model, self.classes, support, len(self.y), self._rounding, self.feature_names)

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per breakpoint, or per value in `values`.

        The index is λ. Columns: ``objective`` (½λ‖w‖² + ½Σφ), ``norm`` (‖w‖), ``intercept``, ``outside``,
        ``margin`` and ``inside`` (sizes of the sets α = 0, 0 < α < h, α = h), ``support`` (number of support vectors),
        and unless ``coefficients=False`` the coefficients: ``coef_<feature>`` for the linear kernel, otherwise
        ``beta_<sample>``.
        """
        values = self.breakpoints if values is None else as_values("values", values)
        columns = joined([self._columns(part) for part in blocks(values)])
        table = coefficient_table(self, values) if coefficients else {}
        return data_frame("lambda", values, columns, table)

    def _columns(self, values: Array) -> dict[str, Array]:
        """Return the columns of the table without coefficients."""
        beta, offset = self.coefficients(values), self.intercept(values)
        f = self._problem.K @ beta.T
        squares = np.maximum(np.sum(beta * f.T, axis=1), 0.0)
        excess = np.maximum(self.rho - self.y * (f.T + offset[:, None]), 0.0)
        losses = np.where(excess <= self.h, 0.5 * excess**2, 0.0)
        if np.isfinite(self.h):
            losses = np.where(excess > self.h, self.h * excess - 0.5 * self.h**2, losses)
        sizes = np.stack([np.bincount(places, minlength=3) for places in self.places(values)])
        return {
            "objective": 0.5 * values * squares + losses.sum(axis=1), "norm": np.sqrt(squares), "intercept": offset,
            "outside": sizes[:, 0], "margin": sizes[:, 1], "inside": sizes[:, 2],
            "support": np.count_nonzero(beta, axis=1),
        }  # fmt: skip

    def validation_error(self, X: Any, y: ArrayLike, *, progress: Progress | None = None) -> StepFunction:
        """Return the error rate on other data as an exact step function of λ.                                (236)

        The steps are sign changes of rational functions. The error is that of `model(lam).predict`: decision values
        that are zero to rounding predict ``classes[0]``.                                                     (480)
        """
        X, y, _ = check_validation_data(X, y, None, self.classes)
        truth, at, step = y == self.classes[1], [], []
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        K = X if isinstance(self.kernel, Precomputed) else cross(self.kernel, X, self.X)
        problem, positive, reach = self._problem, None, self._rounding.reach(X)
        counter = Counter(progress, len(self.knots) - 1, "segments")
        for k in range(len(self.knots) - 1):
            counter.advance()
            top, bottom = self.knots[k], self.knots[k + 1]
            places = self.places(0.5 * (top + bottom))
            functions = self._scores(problem, K, places)
            inside = 0.5 * float(top + bottom)
            alpha, offset = problem.solution(places, inside)
            tie = self._rounding.bound(reach, self._rounding.size(alpha), inside * offset)  # bound of λf
            values = np.stack([functions.values(lam) for lam in (top, inside, bottom)])
            is_positive = values[0] > tie if positive is None else positive.copy()
            searched_to = np.full(len(y), top)
            for i in np.flatnonzero(is_positive & np.all(np.abs(values) <= tie, axis=0)):  # zero on this segment
                is_positive[i] = False
                at.append(float(top))
                step.append((1.0 if truth[i] else -1.0) / len(y))
            while True:  # sign changes in this segment, at most one per sample and round
                signed, changed = functions.scaled(np.where(is_positive, 1.0, -1.0)), False
                for i in np.flatnonzero((values[-1] > tie) != is_positive) if top > bottom else []:
                    root = signed.select(int(i)).first_crossing(float(searched_to[i]), float(bottom))
                    if root.which < 0:
                        continue
                    at.append(root.at)
                    is_positive = is_positive.copy()
                    is_positive[i] = not is_positive[i]
                    searched_to[i] = root.at
                    step.append((1.0 if is_positive[i] != truth[i] else -1.0) / len(y))
                    changed = True
                if not changed:
                    break
            positive = is_positive
        assert positive is not None
        steps = -np.array(step[::-1], dtype=float)  # λ decreases along the path and increases along the step function
        low_value = float(np.mean(positive != truth))
        function = StepFunction.of_steps(
            self.lambda_min, self.lambda_max, low_value, np.array(at[::-1], dtype=float), steps
        )
        return StepFunction(function.knots, np.rint(function.values * len(y)) / len(y))

    def _scores(self, problem: QuadraticLossProblem, K: Array, places: NDArray[np.int8]) -> RationalFunctions:
        """Return λf at the validation points."""
        curve = problem.curve(places, problem.bound_gradient(places))
        block = K[:, curve.members] * self.y[curve.members]
        left = np.flatnonzero(places == LEFT)
        constant = block @ curve.level + curve.shift[0]
        if len(left):
            constant = constant + self.h * (K[:, left] @ self.y[left])
        linear = np.full(len(K), curve.shift[1])
        return RationalFunctions(constant, linear, block @ curve.zeta - curve.shift_poles, curve.pole)

    def best(self, X: Any, y: ArrayLike, *, progress: Progress | None = None) -> Best:
        """Return the exact minimizer of the validation error: (low, high, error), and `theta` inside the interval."""
        return self.validation_error(X, y, progress=progress).best()

    def __repr__(self) -> str:
        return (
            f"<path of {len(self.y)} samples over lambda in [{self.lambda_min:g}, {self.lambda_max:g}], "
            f"rho={self.rho:g}, h={self.h:g}: {self.n_events} events, KKT violation {self.kkt_violation:.1e}>"
        )
