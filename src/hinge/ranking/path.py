"""Exact weight path of ranking, from one weighting of pairs to another.   Karasuyama (4.32), docs/math (441)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge import _core
from hinge.control import Counter, RunControl
from hinge.formulations import WEIGHTINGS, Ranking, pair_weights
from hinge.kernels import (
    Kernel,
    Linear,
    PairAccess,
    Precomputed,
    cache_bytes,
    cross,
    incidence,
    make_kernel,
    open_access,
    sum_over_pairs,
)
from hinge.kernels.access import check_kernel_values
from hinge.model import KernelModel
from hinge.paths import Counts, ParametricProblem, Pieces, StepFunction
from hinge.paths.engine import WHOLE_MATRIX_SHARE, Engine, Progress, path_access, warn_incomplete
from hinge.paths.evaluation.table import blocks, coefficient_table, data_frame, joined
from hinge.paths.evaluation.values import as_values, decision_values, for_values, squared_norms
from hinge.paths.evaluation.weights import NamedFeatures, feature_names, linear_weights
from hinge.paths.piecewise import PiecewisePath, check_rows
from hinge.paths.regularization import check_training_rows
from hinge.problems import Array, Certificate, Status, certify
from hinge.problems.parametric import between, parametric_problem
from hinge.ranking.ndcg import ndcg_path
from hinge.ranking.queries import check_queries, check_query_weight, check_relevance, make_pairs
from hinge.solvers import PairDescent
from hinge.validation import as_rows, check_number, check_same_length, n_columns

if TYPE_CHECKING:
    import pandas as pd

#: Relative gap at which coordinate descent stops. The active-set method then computes the exact solution.
START_TOL = 1e-6

#: Seconds per pair that the end of coordinate descent may take after its time limit.
RESERVED_SECONDS = 2e-7


class _Interval(NamedTuple):
    low: float
    high: float
    ndcg: float


class BestRanking(_Interval):
    """Interval from low to high in which NDCG is largest.

    At the ends of the interval two scores are equal. `theta` is inside, as far as possible from such values.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)); grade = np.digitize(X[:, 0], [-0.5, 0.5]); qid = np.repeat(np.arange(4), 10)
    >>> best = hinge.ranking_path(X, grade, qid, C=0.1).best(X, grade, qid)
    >>> type(best).__name__, bool(best.low <= best.theta <= best.high)
    ('BestRanking', True)
    """

    theta: float

    def __new__(cls, low: float, high: float, ndcg: float, theta: float) -> BestRanking:
        """Return the interval, and a θ inside."""
        self = super().__new__(cls, low, high, ndcg)
        self.theta = theta
        return self


@dataclass(frozen=True)
class RankingPath(PiecewisePath, NamedFeatures):
    """Exact solution of `RankingSVM` as a piecewise linear function of θ; returned by `ranking_path`.

    Methods with an argument `theta` accept a value or an array of values; the first axis of the result then corresponds
    to the values.

    Attributes
    ----------
    breakpoints : ndarray
        Values of θ at which the derivative of the solution changes, ascending, with both ends.
    kkt_violation : float
        Largest violation of the optimality conditions at the breakpoints, relative to 1 + max K̃ · max C.
    counts : Counts
        Numbers of events and corrections.
    status : Status
        SOLVED, or the reason why the path is shorter than requested.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)); grade = np.digitize(X[:, 0], [-0.5, 0.5]); qid = np.repeat(np.arange(4), 10)
    >>> path = hinge.ranking_path(X, grade, qid, C=0.1)
    >>> isinstance(path, hinge.RankingPath), path.low, path.high
    (True, 0.0, 1.0)
    """

    parameter: ClassVar[str] = "theta"  # type: ignore[misc]

    kernel: Kernel
    X: Any
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    parametric: ParametricProblem
    pieces: Pieces
    counts: Counts
    low: float
    high: float
    status: Status = Status.SOLVED
    feature_names: Any = None

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return int(self.X.shape[0])

    @for_values
    def alpha(self, theta: Any) -> Array:
        """Return the variable of every pair (`first`, `second`), 0 ≤ α ≤ C_ij(θ)."""
        return self.pieces.beta(self.parametric, self._check(theta))

    @for_values
    def coefficients(self, theta: Any) -> Array:
        """Return β with f(x) = Σ βᵢ k(xᵢ, x)."""
        return sum_over_pairs(self.first, self.second, self.alpha(theta), self.n_samples)

    def coef(self, theta: Any) -> Array:
        """Return the weights of the features for the linear kernel, w = Σ βᵢ xᵢ."""
        return linear_weights(self.kernel, self.X, self.coefficients(theta))

    @for_values
    def model(self, theta: Any) -> KernelModel:
        """Return the model at θ; `model(theta).decide(X)` are its scores."""
        beta = self.coefficients(theta)
        support = np.flatnonzero(beta)
        vectors = None if isinstance(self.kernel, Precomputed) else self.X[support]
        return KernelModel(self.kernel, vectors, beta[support][:, None], np.zeros(1))

    def predict(self, X: Any, theta: Any) -> Array:
        """Return scores at the rows of X (kernel values with the training samples if it is precomputed)."""
        beta = self.coefficients(theta)
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        return decision_values(self.kernel, X, self.X, beta, np.zeros(beta.shape[:-1]))

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return a DataFrame with one row per breakpoint, or per value in `values`.

        The index is θ. Columns: ``objective`` (the optimal value, as in `certificate`), ``norm`` (‖w‖), ``outside``,
        ``margin`` and ``inside`` (numbers of pairs with α = 0, between and at the cost), ``support`` (number of samples
        with nonzero coefficients), and unless ``coefficients=False`` the coefficients: ``coef_<feature>`` for the
        linear kernel, otherwise ``beta_<sample>``.
        """
        values = self.breakpoints if values is None else as_values("values", values)
        columns = joined([self._columns(part) for part in blocks(values)])
        table = coefficient_table(self, values) if coefficients else {}
        return data_frame("theta", values, columns, table)

    def _columns(self, values: Array) -> dict[str, Array]:
        """Return the columns of the table without coefficients."""
        beta, alpha = self.coefficients(values), self.alpha(values)
        squares = squared_norms(self.kernel, self.X, beta)
        linear = np.array([self.parametric.at(theta).linear @ row for theta, row in zip(values, alpha, strict=True)])
        places = [self.pieces.places(self.pieces.segment(theta)) for theta in values]
        lower, upper, between = np.stack([np.bincount(row, minlength=3) for row in places]).T
        return {
            "objective": 0.0 - (0.5 * squares + linear), "norm": np.sqrt(squares), "outside": lower, "margin": between,
            "inside": upper, "support": np.count_nonzero(beta, axis=1),
        }  # fmt: skip

    @for_values
    def certificate(self, theta: Any) -> Certificate:
        """Return the primal and dual values and their gap at θ, computed from the data."""
        pairs = PairAccess(open_access(self.kernel, self.X), self.first, self.second, np.array([0, len(self.first)]))
        problem = self.parametric.problem(pairs, self._check(theta))
        return certify(problem, self.alpha(theta), convex=self.kernel.psd)

    def _along(self, X: Any, progress: Progress | None = None) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield chunks of segments: (starts, stops, scores at the starts, scores at the stops) at the rows of X."""
        X = check_rows(self.kernel, X, n_columns(self.X), self.feature_names)
        K = X if isinstance(self.kernel, Precomputed) else cross(self.kernel, X, self.X)
        K = np.asfortranarray(K)  # every chunk reads it by columns
        pairs_to_samples = incidence(self.first, self.second, self.n_samples)
        counter = Counter(progress, len(self.pieces), "segments")
        for chunk, lines in self.pieces.lines(self.parametric, len(self.first), pairs_to_samples):
            yield self.pieces.start[chunk], self.pieces.stop[chunk], *lines(K)
            counter.advance(chunk.stop - chunk.start)

    def ndcg(
        self, X: Any, relevance: Any, qid: Any = None, k: int | None = 10, *, progress: Progress | None = None
    ) -> StepFunction:
        """Return NDCG@k on other data as an exact step function of θ (`knots`, `values`).             docs/math (447)

        Parameters as in `hinge.ranking.ndcg`. Between the knots it is the NDCG of `predict(X, theta)`.
        """
        X = as_rows(X)
        check_same_length(X, relevance)
        return ndcg_path(self._along(X, progress), relevance, qid, k, self.low, self.high)

    def best(
        self, X: Any, relevance: Any, qid: Any = None, k: int | None = 10, *, progress: Progress | None = None
    ) -> BestRanking:
        """Return the exact maximizer of NDCG@k: (low, high, ndcg), and `theta` inside the interval."""
        function = self.ndcg(X, relevance, qid, k, progress=progress)
        best = StepFunction(function.knots, -function.values).best()
        return BestRanking(best.low, best.high, -best.error, best.theta)

    def __repr__(self) -> str:
        return (
            f"<ranking path of {len(self.first)} pairs over theta in [{self.low:g}, {self.high:g}]: "
            f"{len(self.breakpoints)} breakpoints, KKT violation {self.kkt_violation:.1e}>"
        )


def ranking_path(
    X: Any,
    relevance: Any,
    qid: Any = None,
    *,
    start: Any = "uniform",
    end: Any = "gain",
    C: float = 1.0,
    kernel: Any = "linear",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    query_weight: Any = None,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> RankingPath:
    """Compute the exact solution of `RankingSVM` while the costs of its pairs change.            Karasuyama (4.32)

    C_ij(θ) = C · (start_ij + θ (end_ij − start_ij)) for θ in [0, 1]. By default the costs change from (4.33), the same
    cost for all pairs, to (4.34), 2^yᵢ − 2^yⱼ.

    Parameters
    ----------
    X, relevance, qid, query_weight : as in `RankingSVM.fit`
    start, end : {"uniform", "gain"} or float
        Weightings of the pairs; a number multiplies "uniform".
    C, kernel, degree, gamma, coef0, cache_size : as in `RankingSVM`
    max_time : float, optional
        Seconds. If they do not suffice, a warning is issued and the path ends early.
    progress : callable, optional
        Called about ten times a second.

    Returns
    -------
    RankingPath

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import ranking_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3)); qid = np.repeat(np.arange(6), 10)
    >>> grade = np.clip(np.round(X[:, 0] + rng.normal(size=60)), 0, 2)
    >>> path = ranking_path(X, grade, qid, C=0.1)
    >>> path.kkt_violation < 1e-9
    True
    """
    check_number("C", C, 0.0, open_low=True)
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    columns = None if isinstance(made, Precomputed) else feature_names(X)
    X, grades = check_training_rows(made, X), check_relevance(relevance)
    check_same_length(X, grades)
    query, names = check_queries(qid, len(grades))
    weight = check_query_weight(query_weight, names)
    resolved = made if isinstance(made, Precomputed) else made.resolve(X, np.ones(len(grades)))
    if resolved.psd is False:
        raise ValueError(f"{resolved!r} is not positive semidefinite: its problem is not convex and has no path")
    pairs = make_pairs(grades, query, float(C), "uniform", np.ones(len(grades)), weight)
    costs = [pairs.cost * _weighting(name, value, grades, pairs) for name, value in (("start", start), ("end", end))]
    path = follow(X, resolved, pairs, between(*costs), cache_size=cache_size, max_time=max_time, progress=progress)
    return replace(path, feature_names=columns)


def _weighting(name: str, value: Any, grades: Array, pairs: Ranking) -> Array:
    if isinstance(value, str):
        if value not in WEIGHTINGS:
            raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, WEIGHTINGS))} or a number")
        return pair_weights(grades, pairs.first, pairs.second, value)
    try:
        factor = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} must be one of {', '.join(map(repr, WEIGHTINGS))} or a number") from None
    if not (np.isfinite(factor) and factor > 0):
        raise ValueError(f"{name}={value!r} must be a positive, finite number")
    return np.full(len(pairs.first), factor)


def whole_access(kernel: Kernel, X: Any, cache_size: float | str = "auto", threads: int = 1) -> Any:
    """Return kernel access over samples: X if the kernel is linear, the matrix if it fits, else rows on demand."""
    budget = cache_bytes(cache_size)
    access = open_access(kernel, X, budget_bytes=budget, threads=threads)
    if isinstance(kernel, Precomputed | Linear) or 8 * access.n**2 > WHOLE_MATRIX_SHARE * budget or not access.compiled:
        return access
    K = np.empty((access.n, access.n))
    access.gram.fill(K, threads)
    return replace(access, gram=_core.Gram.matrix(K, access.gram.value_error()))


def follow(
    X: Any,
    kernel: Kernel,
    pairs: Ranking,
    cost: Array,
    *,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> RankingPath:
    """Solve the problem at θ = 0 and follow its solution to θ = 1."""
    control, budget = RunControl(max_time, progress), cache_bytes(cache_size)
    base = path_access(kernel, X, budget, control=control)
    check_kernel_values(base)
    access = PairAccess(base, pairs.first, pairs.second, pairs.block_starts)
    parametric = parametric_problem(replace(pairs, cost=cost).dual())
    features = open_access(kernel, X) if isinstance(kernel, Linear) else base  # descent needs no matrix then
    problem = parametric.problem(PairAccess(features, pairs.first, pairs.second, pairs.block_starts), 0.0)
    limited = control.without_callback().reserving(RESERVED_SECONDS * len(pairs.first))
    start = PairDescent(tol=START_TOL).solve(problem, control=limited)
    if start.error is not None:
        raise start.error
    if start.status is Status.TIME_LIMIT:
        raise TimeoutError(f"max_time={max_time} s was over before the solution at the start of the path was found")
    engine = Engine(access, parametric.group, 1, budget)
    engine.start(parametric, 0.0, start.alpha, control)
    pieces, counts, status, reached = engine.follow(parametric, 0.0, 1.0, control=control)
    assert pieces is not None
    if status is not Status.SOLVED:
        warn_incomplete("theta", reached, 1.0, status, stacklevel=4)
    return RankingPath(kernel, X, pairs.first, pairs.second, parametric, pieces, counts, 0.0, reached, status)
