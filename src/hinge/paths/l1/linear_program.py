"""Regularization path of ℓ1-regularized estimators.                        Karasuyama ch. 6; docs/math (808)–(810)"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.control import RunControl
from hinge.formulations import lp_classification, lp_regression
from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.paths.engine import Progress, warn_convergence
from hinge.paths.evaluation.table import coefficient_table, data_frame
from hinge.paths.evaluation.values import as_values, for_values
from hinge.paths.evaluation.weights import NamedFeatures, linear_weights
from hinge.paths.piecewise import check_rows
from hinge.paths.regularization import check_both_classes, check_samples, check_vector
from hinge.problems import Array, LPProblem, Status, certify_lp
from hinge.solvers import LinearProgramming
from hinge.validation import check_per_sample, check_range

if TYPE_CHECKING:
    import pandas as pd

#: Relative difference of two objective values that is attributed to the tolerance of the linear programs.
VALUE_TOLERANCE = 1e-9

#: Distance from the kink of the loss, relative to the targets, up to which a sample is on the margin: above the
#: feasibility tolerance of the linear programs.
MARGIN_TOLERANCE = 1e-7


@dataclass(frozen=True)
class Vertex:
    """An optimal solution for an interval of C: its coefficients, offset, penalty Σ|a| and total loss L.

    `sizes`: numbers of samples outside, on and inside the margin.
    """

    coefficients: Array
    offset: float
    beta: Array
    penalty: float
    loss: float
    sizes: tuple[int, int, int]

    def value(self, C: float) -> float:
        """The objective penalty + C · loss."""
        return self.penalty + C * self.loss


@dataclass(frozen=True)
class LPPath(NamedFeatures):
    """Solutions of `LPSVC` or `LPSVR` for every C: piecewise constant coefficients.

    Methods with an argument `C` accept a value or an array of values; the first axis of the result then corresponds to
    the values.

    Attributes
    ----------
    breakpoints : ndarray
        The values of C at which the solution changes, and both ends of the path.
    penalties, losses : ndarray
        Σ|aⱼ| and Σ wᵢ lossᵢ on each piece; the optimal value is penalty + C · loss.
    relative_gap : float
        Largest certified relative gap at the ends of the pieces.
    n_programs : int
        Number of linear programs that were solved.
    status : Status
        `SOLVED`, or `TIME_LIMIT` if breakpoints may be missing.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(40, noise=0.1, random_state=0)
    >>> path = hinge.lp_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> path.status.name, bool(path.relative_gap < 1e-6)
    ('SOLVED', True)
    """

    kernel: Kernel
    X: Any
    classes: NDArray[Any] | None
    breakpoints: Array
    vertices: tuple[Vertex, ...]
    relative_gap: float
    n_programs: int
    status: Status
    feature_names: Any = None

    @cached_property
    def penalties(self) -> Array:
        return np.array([vertex.penalty for vertex in self.vertices])

    @cached_property
    def losses(self) -> Array:
        return np.array([vertex.loss for vertex in self.vertices])

    @for_values
    def coefficients(self, C: Any) -> Array:
        """Return the coefficients of the samples at C; at a breakpoint, those of the piece above it."""
        return self._vertex(C).coefficients

    def coef(self, C: Any) -> Array:
        """Return the weights of the features for the linear kernel, w = Σ aᵢ xᵢ."""
        return linear_weights(self.kernel, self.X, self.coefficients(C))

    @for_values
    def intercept(self, C: Any) -> float:
        """Return the offset at C."""
        return self._vertex(C).offset

    @for_values
    def value(self, C: Any) -> float:
        """Return the optimal value Σ|aⱼ| + C Σ wᵢ lossᵢ."""
        return self._vertex(C).value(float(C))

    @for_values
    def decision_function(self, X: Any, C: Any) -> Array:
        """Return f at the rows of X for this C."""
        vertex, width = self._vertex(C), self.X.shape[1]
        X = check_rows(self.kernel, X, width, self.feature_names)
        used = np.flatnonzero(vertex.coefficients)
        values = X[:, used] if isinstance(self.kernel, Precomputed) else self.kernel(X, self.X[used])
        return np.asarray(values @ vertex.coefficients[used]) + vertex.offset

    def predict(self, X: Any, C: Any) -> NDArray[Any]:
        """Return labels, or the values of f for regression."""
        values = self.decision_function(X, C)
        return values if self.classes is None else self.classes[(values > 0).astype(np.intp)]

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per breakpoint, or per value in `values`.

        The index is C. Columns: ``objective`` (penalty + C · loss), ``penalty`` (Σ|aⱼ|), ``loss``, ``intercept``,
        ``outside``, ``margin`` and ``inside`` (numbers of samples without loss, at the kink and with loss), ``support``
        (number of coefficients that are not zero), and unless ``coefficients=False`` the coefficients:
        ``coef_<feature>`` for the linear kernel, otherwise ``a_<sample>``.
        """
        values = self.breakpoints if values is None else as_values("values", values)
        vertices = [self._vertex(C) for C in values]
        columns = {
            "objective": self.value(values), "penalty": np.array([vertex.penalty for vertex in vertices]),
            "loss": np.array([vertex.loss for vertex in vertices]), "intercept": self.intercept(values),
            **dict(zip(("outside", "margin", "inside"), np.array([v.sizes for v in vertices]).T, strict=True)),
            "support": np.array([np.count_nonzero(vertex.coefficients) for vertex in vertices]),
        }  # fmt: skip
        table = coefficient_table(self, values, "a") if coefficients else {}
        return data_frame("C", values, columns, table)

    def _vertex(self, C: float) -> Vertex:
        low, high, C = float(self.breakpoints[0]), float(self.breakpoints[-1]), float(C)
        if not low * (1 - 1e-12) <= C <= high * (1 + 1e-12):
            raise ValueError(f"C={C!r} is outside the path, which runs from {low!r} to {high!r}")
        piece = int(np.searchsorted(self.breakpoints, C, side="right")) - 1
        return self.vertices[min(max(piece, 0), len(self.vertices) - 1)]


def lp_path(
    X: Any,
    y: Any,
    *,
    C_min: float = 1e-2,
    C_max: float = 1e2,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    task: str = "classification",
    epsilon: Any = 0.1,
    max_time: float | None = None,
    progress: Progress | None = None,
) -> LPPath:
    """Compute the solutions of `LPSVC` or `LPSVR` for every C = 1/λ in an interval.

    The optimal value Σ|aⱼ| + C Σ wᵢ lossᵢ is a concave, piecewise linear function of C, and the coefficients are
    constant on every piece. Linear programs are solved where two known pieces intersect, until no new piece appears:
    about two programs for each breakpoint.

    Parameters
    ----------
    X, y, kernel, degree, gamma, coef0
        As in `regularization_path`; two classes, or real targets for ``task="regression"``. Kernels that are Python
        functions are not supported.
    C_min, C_max : float
    sample_weight : array-like, optional
        Cᵢ = C · weightᵢ.
    task : {"classification", "regression"}
    epsilon : float or array-like of shape (n_samples,)
        Half the width of the tube (regression).
    max_time : float, optional
        Seconds. If they do not suffice, a warning is issued, and breakpoints may be missing.
    progress : callable, optional
        As in `regularization_path`; "iteration" is the number of linear programs.

    Returns
    -------
    LPPath

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import lp_path
    >>> X = np.linspace(-3, 3, 30)[:, None]
    >>> path = lp_path(X, np.sinc(X.ravel()), task="regression", gamma=1.0, epsilon=0.05, C_min=0.1, C_max=10)
    >>> bool(np.all(np.diff(path.penalties) > 0) and np.all(np.diff(path.losses) < 0))
    True
    """
    low, high = check_range("C", C_min, C_max)
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0, tasks=("classification", "regression"))
    if isinstance(samples.kernel, FunctionKernel):
        raise ValueError(f"kernel={kernel!r} is a function, which lp_path does not support; use a name or a matrix")
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    if not np.any(weight > 0):
        raise ValueError("all samples have weight zero; give at least one sample a positive weight")
    design = np.asarray(samples.X if isinstance(samples.kernel, Precomputed) else samples.kernel(samples.X), float)
    if task == "classification":
        problem = lp_classification(design, samples.y, weight)
    else:
        tube = check_per_sample("epsilon", np.broadcast_to(epsilon, samples.n), samples.n)
        problem = lp_regression(design, samples.y, weight, tube)
    search = _Search(problem, RunControl(max_time, progress))
    breakpoints, vertices = search.run(low, high)
    status = Status.TIME_LIMIT if search.stopped else Status.SOLVED
    if search.stopped:
        warn_convergence(
            f"max_time={max_time!r} ended the path after {search.programs} linear programs: breakpoints may be "
            "missing. Allow more time, or a shorter interval",
            stacklevel=3,
        )
    ends = [(vertex, C) for k, vertex in enumerate(vertices) for C in breakpoints[k : k + 2]]
    gap = max(search.relative_gap(vertex, C) for vertex, C in ends)
    return LPPath(
        samples.kernel, samples.X, samples.classes, np.array(breakpoints), tuple(vertices), gap, search.programs,
        status, samples.feature_names,
    )  # fmt: skip


class _Search:
    """Search for the pieces of the optimal value, a concave function of C.                     docs/math (808)–(810)"""

    def __init__(self, problem: LPProblem, control: RunControl) -> None:
        self.problem, self.control = problem, control
        self.programs, self.stopped = 0, False
        self.began = time.monotonic()
        self.duals: dict[float, Array] = {}

    def run(self, low: float, high: float) -> tuple[list[float], list[Vertex]]:
        """Return the breakpoints with both ends, and the solution of every piece between them."""
        ends = self.solve(low), self.solve(high)
        breakpoints, vertices = [low], [ends[0]]
        pending = [(low, ends[0], high, ends[1])]
        while pending:
            left, first, right, second = pending.pop()
            if first.loss - second.loss <= VALUE_TOLERANCE * max(first.loss, abs(first.penalty) / right):
                continue  # the same line, up to the tolerance
            C = float(np.clip((second.penalty - first.penalty) / (first.loss - second.loss), left, right))
            between = self.solve(C)
            known = min(first.value(C), second.value(C))
            if left < C < right and between.value(C) < known - VALUE_TOLERANCE * abs(known) and not self.stopped:
                pending += [(C, between, right, second), (left, first, C, between)]
                continue
            breakpoints.append(C)
            vertices.append(second)
        breakpoints.append(high)
        return _without_empty_pieces(breakpoints, vertices)

    def solve(self, C: float) -> Vertex:
        """Solve the linear program for C."""
        self.stopped = self.stopped or self.control.expired()
        solution = LinearProgramming().solve_lp(self._at(C), None if self.stopped else self.control.without_callback())
        self.programs += 1
        snapshot = {"iteration": self.programs, "primal": C, "seconds": time.monotonic() - self.began}
        self.stopped = self.stopped or not self.control.report(snapshot)
        self.stopped = self.stopped or solution.status is Status.TIME_LIMIT
        self.duals[C] = solution.beta
        a, b = solution.coefficients, solution.offset
        residual = self.problem.target - self.problem.design @ a - b
        above = np.maximum(residual - self.problem.tube, 0.0) @ self.problem.upper
        below = np.maximum(-residual - self.problem.tube, 0.0) @ -self.problem.lower
        penalty = float(np.sum(np.abs(a)))
        return Vertex(a, float(b), solution.beta, penalty, float(above + below), self._sizes(residual))

    def _sizes(self, residual: Array) -> tuple[int, int, int]:
        """Count the samples without loss, at the kink of their loss (up to `MARGIN_TOLERANCE`) and with loss."""
        above = np.where(self.problem.upper > 0, residual - self.problem.tube, -np.inf)
        below = np.where(self.problem.lower < 0, -residual - self.problem.tube, -np.inf)
        excess = np.maximum(above, below)
        tolerance = MARGIN_TOLERANCE * max(1.0, float(np.max(np.abs(self.problem.target))))
        outside, inside = int(np.sum(excess < -tolerance)), int(np.sum(excess > tolerance))
        return outside, len(excess) - outside - inside, inside

    def relative_gap(self, vertex: Vertex, C: float) -> float:
        """Return the certified relative gap of a solution at C, with the dual point of the program for C."""
        return certify_lp(self._at(C), vertex.coefficients, vertex.offset, self.duals[C]).relative_gap

    def _at(self, C: float) -> LPProblem:
        return replace(self.problem, lower=C * self.problem.lower, upper=C * self.problem.upper)


def _without_empty_pieces(breakpoints: list[float], vertices: list[Vertex]) -> tuple[list[float], list[Vertex]]:
    """Remove pieces without length, which appear where a program was solved at a breakpoint."""
    kept = [k for k in range(len(vertices)) if breakpoints[k + 1] > breakpoints[k] * (1 + VALUE_TOLERANCE)]
    return [breakpoints[kept[0]], *(breakpoints[k + 1] for k in kept)], [vertices[k] for k in kept]
