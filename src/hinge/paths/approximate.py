"""Approximate regularization paths: solutions at few values of C, interpolated with a certified gap."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.control import RunControl
from hinge.formulations import CSVC, SVR
from hinge.kernels import Access, Kernel, Precomputed, cache_bytes
from hinge.kernels.access import check_kernel_values
from hinge.model import KernelModel
from hinge.paths.engine import Progress, path_access, warn_convergence
from hinge.paths.evaluation.table import coefficient_table, data_frame
from hinge.paths.evaluation.values import as_values, decision_values, for_values
from hinge.paths.evaluation.weights import NamedFeatures, linear_weights
from hinge.paths.path_model import PathModel
from hinge.paths.piecewise import check_rows
from hinge.paths.regularization import SUPERVISED, check_both_classes, check_samples, check_vector
from hinge.problems import Array, ParametricProblem, Status, certify
from hinge.problems.parametric import proportional
from hinge.solvers import Auto
from hinge.validation import check_range, n_columns

if TYPE_CHECKING:
    import pandas as pd

MIN_GAP = 1e-9  # smaller gaps are rejected: they are close to the rounding errors of the solutions at the knots
MIN_KNOT_RATIO = 1 + 1e-6  # an interval with a smaller ratio of its ends is not divided
MAX_ATTEMPTS = 8  # attempts to solve one knot; each divides the tolerance by 10, until the gap is small enough


@dataclass(frozen=True)
class ApproximatePath(NamedFeatures):
    """Solution for every C with a relative duality gap of at most `gap`; returned by `approximate_path`.

    Between two knots the solution is interpolated. It remains feasible, and its gap is bounded by a parabola with known
    coefficients.                                                                docs/math (225)

    Methods with an argument `C` accept a value or an array of values; the first axis of the result then corresponds to
    the values.

    Attributes
    ----------
    knots : ndarray
        Values of C at which the problem was solved, ascending.
    gap : float
        Largest relative gap if the status is SOLVED; `gap_bound(C)` is a bound at C in any case.
    status : Status
        SOLVED, or why `gap` was not reached everywhere: TIME_LIMIT, or NUMERICAL if rounding errors prevent it.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> path = hinge.approximate_path(X, y, C_min=0.1, C_max=100.0, gamma=1.0)
    >>> isinstance(path, hinge.ApproximatePath), path.status.name
    (True, 'SOLVED')
    """

    task: str
    kernel: Kernel
    X: Any
    y: Array
    classes: Any
    low: float
    high: float
    gap: float
    knots: Array
    betas: Array
    intercepts: Array
    linear: Array  # −pᵀα
    losses: Array  # Σ wᵢ ξᵢ
    norms: Array  # ‖w‖²
    products: Array  # ⟨w, w'⟩ of neighbouring knots
    status: Status = Status.SOLVED
    feature_names: Any = None

    def _interval(self, C: float) -> tuple[int, float]:
        """Return the index of the interval between knots that contains C, and the relative position in it."""
        C = float(C)
        if not self.low * (1 - 1e-12) <= C <= self.high * (1 + 1e-12):
            raise ValueError(f"C={C!r} is outside the path, which runs from {self.low!r} to {self.high!r}")
        k = int(np.clip(np.searchsorted(self.knots, C, side="right") - 1, 0, len(self.knots) - 2))
        return k, float(np.clip((C - self.knots[k]) / (self.knots[k + 1] - self.knots[k]), 0.0, 1.0))

    @for_values
    def gap_bound(self, C: Any) -> float:
        """Return an upper bound on (primal − dual) / primal of the solution at C; at most `gap`."""
        k, s = self._interval(C)
        two = slice(k, k + 2)
        product = float(self.products[k])
        a, b, c = gap_parabola(self.knots[two], self.linear[two], self.losses[two], self.norms[two], product)
        norm = self._square(k, s)
        dual = (1 - s) * self.linear[k] + s * self.linear[k + 1] - 0.5 * norm
        bound = max(0.0, a + s * (b + s * c))
        return float(bound / max(dual + bound, np.finfo(float).tiny))

    def _square(self, k: int, s: float) -> float:
        """Return ‖w‖² between two knots."""
        cross_term = 2 * s * (1 - s) * self.products[k]
        return float((1 - s) ** 2 * self.norms[k] + cross_term + s**2 * self.norms[k + 1])

    @for_values
    def coefficients(self, C: Any) -> Array:
        """Return β with f(x) = Σ βᵢ k(xᵢ, x) + b."""
        k, s = self._interval(C)
        return (1 - s) * self.betas[k] + s * self.betas[k + 1]

    def coef(self, C: Any) -> Array:
        """Return the weights of the features for the linear kernel, w = Σ βᵢ xᵢ."""
        return linear_weights(self.kernel, self.X, self.coefficients(C))

    @for_values
    def intercept(self, C: Any) -> float:
        """Return b."""
        k, s = self._interval(C)
        return float((1 - s) * self.intercepts[k] + s * self.intercepts[k + 1])

    def decision_function(self, X: Any, C: Any) -> Array:
        """Return decision values at the rows of X."""
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        return decision_values(self.kernel, X, self.X, self.coefficients(C), self.intercept(C))

    def predict(self, X: Any, C: Any) -> NDArray[Any]:
        """Return labels, or the values of f for regression."""
        values = self.decision_function(X, C)
        return values if self.classes is None else self.classes[(values > 0).astype(np.intp)]

    def _support(self, C: float) -> int:
        """Return the number of support vectors."""
        return int(np.count_nonzero(self.coefficients(C)))

    @for_values
    def model(self, C: Any) -> PathModel:
        """Return the model at C."""
        beta = self.coefficients(C)
        support: NDArray[np.intp] = np.flatnonzero(beta)
        vectors = None if isinstance(self.kernel, Precomputed) else self.X[support]
        model = KernelModel(self.kernel, vectors, beta[support][:, None], np.array([self.intercept(C)]))
        return PathModel(model, self.classes, support, len(self.y), None, self.feature_names)

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per knot, or per value in `values`.

        The index is C. Columns: ``objective`` (of the interpolated solution, an upper bound between knots), ``norm``
        (‖w‖), ``intercept``, ``gap`` (bound of the relative gap), ``support`` (number of support vectors), and unless
        ``coefficients=False`` the coefficients: ``coef_<feature>`` for the linear kernel, otherwise ``beta_<sample>``.
        """
        values = self.knots if values is None else as_values("values", values)
        places = [self._interval(C) for C in values]
        squares = np.array([max(0.0, self._square(k, s)) for k, s in places])
        losses = np.array([(1 - s) * self.losses[k] + s * self.losses[k + 1] for k, s in places])
        columns = {
            "objective": 0.5 * squares + values * losses, "norm": np.sqrt(squares), "intercept": self.intercept(values),
            "gap": self.gap_bound(values), "support": np.array([self._support(C) for C in values]),
        }  # fmt: skip
        table = coefficient_table(self, values) if coefficients else {}
        return data_frame("C", values, columns, table)

    def __repr__(self) -> str:
        return (
            f"<approximate path of {len(self.y)} samples over C in [{self.low:g}, {self.high:g}]: "
            f"{len(self.knots)} knots, relative gap at most {self.gap:g}>"
        )


def approximate_path(
    X: Any,
    y: Any,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
    gap: float = 1e-2,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    task: str = "classification",
    epsilon: float = 0.1,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> ApproximatePath:
    """Compute a path over C with a relative duality gap of at most `gap` everywhere.

    It is meant for large data, for which an exact path has very many breakpoints. The number of knots grows like
    log(C_max / C_min) / √gap and does not depend on the number of samples. Parameters as in `regularization_path`.

    Parameters
    ----------
    gap : float in (0, 1)
        Largest relative duality gap, (primal − dual) / primal, at any C.
    max_time : float, optional
        Seconds. The widest intervals between knots are divided first. If the time does not suffice, a warning is
        issued, and the gap is larger than `gap` in some intervals.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> path = hinge.approximate_path(X, y, C_min=0.1, C_max=100.0, gamma=1.0, gap=0.01)
    >>> bool(path.gap_bound(3.0) <= 0.01), len(path.knots) < 30
    (True, True)
    """
    control, began = RunControl(max_time), time.monotonic()
    low, high = check_range("C", C_min, C_max)
    if not MIN_GAP <= gap < 1:
        raise ValueError(f"gap={gap!r} must lie in [{MIN_GAP:g}, 1)")
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0, tasks=SUPERVISED)
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    cost = proportional(weight)
    if task == "classification":
        parametric = CSVC(samples.y, cost).parametric()
    else:
        parametric = SVR(samples.y, cost, check_vector("epsilon", epsilon, samples.n)).parametric()
    access = path_access(samples.kernel, samples.X, cache_bytes(cache_size), control=control)
    check_kernel_values(access)
    status = Status.SOLVED
    with control.capture_signals():
        knots = {C: _solve(parametric, access, C, gap, None, control) for C in (low, high)}
        pending = [(low, high)]  # breadth first: the intervals of a level have the same ratio of their ends
        while pending and control.interrupt is None:
            left, right = pending.pop(0)
            first, last = knots[left], knots[right]
            if _gap_holds(first, last, gap):
                continue
            if not (first.accurate and last.accurate) or right / left < MIN_KNOT_RATIO:
                status = Status.NUMERICAL
                continue
            if control.expired():
                status = Status.TIME_LIMIT
                break
            middle = float(np.sqrt(left * right))
            try:
                knots[middle] = _solve(parametric, access, middle, gap, first.alpha, control)
            except TimeoutError:
                status = Status.TIME_LIMIT
                break
            pending += [(left, middle), (middle, right)]
            snapshot = {"iteration": len(knots), "primal": middle, "seconds": time.monotonic() - began}
            if progress is not None and progress(snapshot) is False:
                raise KeyboardInterrupt("progress returned False before the approximate path reached its gap")
    if status is not Status.SOLVED:
        _warn(gap, status)
    ordered = [knots[C] for C in sorted(knots)]
    return ApproximatePath(
        task, samples.kernel, samples.X, samples.y, samples.classes, low, high, float(gap),
        np.array([k.C for k in ordered]), np.array([k.beta for k in ordered]), np.array([k.offset for k in ordered]),
        np.array([k.linear for k in ordered]), np.array([k.loss for k in ordered]), np.array([k.norm for k in ordered]),
        np.array([a.beta @ b.f for a, b in pairwise(ordered)]), status, samples.feature_names,
    )  # fmt: skip


@dataclass(frozen=True)
class _Knot:
    C: float
    alpha: Array
    beta: Array
    f: Array  # Kβ
    offset: float
    linear: float
    loss: float
    accurate: bool  # whether the gap at the knot is small enough for the path

    interpolated: ClassVar = ("C", "linear", "loss", "norm")

    @property
    def norm(self) -> float:
        """‖w‖²."""
        return float(self.beta @ self.f)


def _warn(gap: float, status: Status) -> None:
    """Warn of a path with a larger gap than requested."""
    remedy = "allow more time" if status is Status.TIME_LIMIT else "scale the data, for example with StandardScaler"
    warn_convergence(
        f"the gap of the path exceeds gap={gap:g} in some intervals ({status.name}; gap_bound(C) is a bound at C): "
        f"{remedy}, or use a larger gap",
        stacklevel=4,
    )


def _solve(
    parametric: ParametricProblem, access: Access, C: float, gap: float, start: Array | None, control: RunControl
) -> _Knot:
    """Solve the problem at C with a tenth of the gap; a TimeoutError if the time does not suffice for a solution."""
    problem, tol = parametric.problem(access, C), min(1e-3, 0.1 * gap)
    for _ in range(MAX_ATTEMPTS):
        initial = None if start is None else np.clip(start, problem.lower, problem.upper)
        solution = Auto(tol=tol).solve(problem, initial, control)
        if solution.error is not None:
            raise solution.error
        if solution.status is Status.TIME_LIMIT and not solution.exact:
            raise TimeoutError(f"max_time was reached before the solution at C={C:.6g} was found; allow more time")
        certificate = certify(problem, *solution.point, solution.gradient)
        accurate = bool(certificate.gap <= 0.1 * gap * certificate.primal)
        if accurate or control.expired():
            break
        tol, start = 0.1 * tol, solution.alpha
    beta = (parametric.sign * solution.alpha).reshape(-1, access.n).sum(axis=0)
    f = (solution.gradient - problem.p)[: access.n] * problem.Q.sign[: access.n]
    loss = max(0.0, (certificate.primal - 0.5 * float(beta @ f)) / C)
    return _Knot(C, solution.alpha, beta, f, float(solution.mu[0]), -float(problem.p @ solution.alpha), loss, accurate)


def gap_parabola(C: Array, linear: Array, loss: Array, norm: Array, product: float) -> tuple[float, float, float]:
    """Return (a, b, c) with gap ≤ a + bs + cs² between two knots, s = 0 at the first and 1 at the second.    (225)

    The bound is ‖w(s)‖² − linear(s) + C(s) loss(s), where the convex loss is bounded by its interpolation.
    """
    a = norm[0] - linear[0] + C[0] * loss[0]
    b = 2 * (product - norm[0]) - (linear[1] - linear[0]) + C[0] * (loss[1] - loss[0]) + loss[0] * (C[1] - C[0])
    c = norm[0] - 2 * product + norm[1] + (C[1] - C[0]) * (loss[1] - loss[0])
    return float(a), float(b), float(c)


def _gap_holds(first: _Knot, second: _Knot, gap: float) -> bool:
    """Whether the gap is below `gap` times the optimal value, which increases with C, between two knots."""
    C, linear, loss, norm = (np.array([getattr(k, name) for k in (first, second)]) for name in _Knot.interpolated)
    a, b, c = gap_parabola(C, linear, loss, norm, float(first.beta @ second.f))
    largest = max(a, a + b + c)
    if c < 0 and 0 < -b / (2 * c) < 1:
        largest = max(largest, a - b * b / (4 * c))
    return largest <= gap * (first.linear - 0.5 * first.norm)
