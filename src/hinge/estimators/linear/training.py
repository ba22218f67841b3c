"""Training of linear estimators: validate the data, solve the problems, certify the solutions, store the model.

Samples are not copied. X may be a memory map of a file that is larger than the memory: it is then read in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.memory_map import block_bytes, check_finite, mapped_parts
from hinge.estimators.common.progress import ProgressLine
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.validation import (
    FLOATS,
    LACKS_TRAINING_DATA,
    ClassificationData,
    TrainingData,
    class_labels,
    is_plain,
    validate_features,
    with_classes,
)
from hinge.estimators.linear.batch import report_end, solve_in_order, solve_in_parallel
from hinge.kernels.samples import all_finite
from hinge.matrices import check_sparse
from hinge.problems import Array, Bias, LinearProblem, LinearSolution
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.l1_descent import L1CoordinateDescent
from hinge.validation import check_sample_weight

#: The solvers of linear problems.
LinearSolver = CoordinateDescent | L1CoordinateDescent

#: Arrays with more values than this are checked for NaN and infinity on several threads.
PARALLEL_CHECK_VALUES = 4_000_000


# ---- validation -----------------------------------------------------------------------------------------------------


def validate_linear(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    check_targets: Callable[[str, Any, int], NDArray[Any]],
    reset: bool = True,
) -> TrainingData:
    """Validate X, y and the sample weights, and leave out samples of weight zero.

    With `reset` the estimator receives `n_features_in_` and the number of samples; otherwise X is compared with them.
    Equal weights are a broadcast scalar, without memory for every sample.
    """
    X = validate_samples(estimator, X, reset)
    n = int(X.shape[0])
    y = check_targets(type(estimator).__name__, y, n)
    if len(y) != n:
        check_consistent_length(X, y)
    if reset:
        estimator._n_seen = n
    elif estimator._n_seen == 0:
        raise ValueError(LACKS_TRAINING_DATA)
    elif n != estimator._n_seen:
        raise ValueError(f"X has {n} samples, but fit was given {estimator._n_seen}; pass the training data")
    if sample_weight is None:
        return TrainingData(X, y, np.broadcast_to(1.0, n), np.arange(n))
    weight = check_sample_weight(sample_weight, n)
    rows = np.flatnonzero(weight > 0)
    if len(rows) == n:
        return TrainingData(X, y, weight, rows)
    return TrainingData(X[rows], y[rows], weight[rows], rows)


def validate_linear_classification(
    estimator: Any, X: Any, y: Any, sample_weight: Any, reset: bool = True
) -> ClassificationData:
    """Validate training data with class labels; see `validate_linear`."""
    data = validate_linear(estimator, X, y, sample_weight, class_labels, reset)
    return with_classes(data, y, estimator.class_weight, None if reset else estimator)


def validate_samples(estimator: Any, X: Any, reset: bool) -> Any:
    """Validate X without a copy if possible; with `reset` the estimator receives the number and names of features."""
    if not _owns_memory(X):
        parts = mapped_parts(X)
        if parts is not None and min(X.shape) > 0:  # possibly larger than memory; the compiled core checks the indices
            check_finite(parts[0])
            validate_data(estimator, X, skip_check_array=True, reset=reset)
            return X
    if _needs_no_conversion(X, estimator.n_jobs, reset):
        if reset:
            vars(estimator).pop("feature_names_in_", None)
            estimator.n_features_in_ = X.shape[1]
        else:
            validate_data(estimator, X, skip_check_array=True, reset=False)
        return X
    return validate_features(estimator, X, reset)


def _owns_memory(X: Any) -> bool:
    """Whether X is an array with memory of its own. Other arrays and CSR matrices can be memory maps of files."""
    return type(X) is np.ndarray and X.base is None


def _needs_no_conversion(X: Any, n_jobs: int | None, reset: bool) -> bool:
    threads = effective_n_jobs(n_jobs) if getattr(X, "size", 0) > PARALLEL_CHECK_VALUES else 1
    if not (sp.issparse(X) and X.format in ("csr", "csc")):
        return is_plain(X, threads)
    # Training checks the column indices of a CSR matrix with valid rows itself. Other invalid indices must not reach
    # compiled code.
    rows_valid = reset and _has_valid_rows(X)
    if rows_valid:
        X.check_format(full_check=False)
    else:
        check_sparse(X)
    return rows_valid and min(X.shape) > 0 and all_finite(X, threads)


def _has_valid_rows(X: Any) -> bool:
    """Whether X is a CSR matrix of floats whose rows do not overlap."""
    return X.format == "csr" and X.ndim == 2 and X.dtype in FLOATS and bool(np.all(X.indptr[1:] >= X.indptr[:-1]))


# ---- problem and solver ---------------------------------------------------------------------------------------------


def intercept_kind(estimator: Any) -> Bias:
    """Return the role of the intercept in the problem, from `fit_intercept` and `penalize_intercept`."""
    if not estimator.fit_intercept:
        return Bias.NONE
    return Bias.PENALIZED if estimator.penalize_intercept else Bias.FREE


def make_l1_solver(estimator: Any, threads: int = 1) -> L1CoordinateDescent:
    """Return the solver of an estimator with an ℓ1 penalty."""
    return L1CoordinateDescent(
        tol=float(estimator.tol), max_iter=int(estimator.max_iter), threads=threads, seed=_seed(estimator)
    )


def _seed(estimator: Any) -> int:
    if estimator.random_state is None:
        return 0
    return int(check_random_state(estimator.random_state).randint(2**31 - 1))


def make_solver(estimator: Any, X: Any, threads: int = 1, dual: Any = "auto") -> CoordinateDescent:
    """Return the solver of an estimator: its `solver` if that is an object, or one with the selected method.

    `dual` is scikit-learn's parameter: True selects descent and False Newton's method if `solver` is "auto".
    """
    method = estimator.solver
    if isinstance(method, CoordinateDescent):
        return method
    if method == "auto" and not isinstance(dual, str):
        method = "descent" if dual else "newton"
    in_blocks = 0 if _owns_memory(X) else block_bytes(X, estimator.cache_size)
    if in_blocks and method == "newton":
        argument = "solver='newton'" if estimator.solver == "newton" else f"dual={dual!r}"
        raise ValueError(
            f"{argument} selects Newton's method, which needs all samples in memory, but X is a memory map of a file "
            "that is read in blocks; use solver='auto' or 'descent', a cache_size of more than twice the file, or load "
            "the file with np.array(X) or X.copy()"
        )
    return CoordinateDescent(
        tol=float(estimator.tol),
        method=method,
        max_iter=int(estimator.max_iter),
        threads=threads,
        seed=_seed(estimator),
        block_bytes=in_blocks,
    )


# ---- training -------------------------------------------------------------------------------------------------------


def train_linear(
    estimator: Any,
    data: TrainingData,
    problems: Sequence[LinearProblem],
    control: RunControl,
    dual: Any = "auto",
    correct: Callable[[LinearProblem, LinearSolution], LinearSolution] | None = None,
) -> tuple[list[LinearSolution], FitReport]:
    """Solve the problems of an estimator and certify their solutions.

    Parameters
    ----------
    estimator : estimator
        Its parameters are valid. Its last dual point is the initial point if `warm_start` is True.
    data : TrainingData
    problems : sequence of LinearProblem
        They share the samples. Several are solved in parallel if there are several threads.
    control : RunControl
        A verbose estimator shows a progress line, unless `control` has a callback.
    dual : "auto" or bool
        See `make_solver`.
    correct : callable, optional
        (problem, solution) → solution, applied before the certificates are computed.
    """
    threads, count = effective_n_jobs(estimator.n_jobs), len(problems)
    parallel = min(threads, count)
    own_threads = threads if parallel == 1 else max(1, threads // count)
    solver: LinearSolver
    if problems[0].l1:
        solver = make_l1_solver(estimator, own_threads)
        starts = initial_weights(estimator, data, count) if estimator.warm_start else [None] * count
    else:
        solver = make_solver(estimator, data.X, own_threads, dual)
        starts = initial_points(estimator, data, count) if estimator.warm_start else [None] * count
    if estimator.verbose and control.callback is None:
        with ProgressLine(type(estimator).__name__) as line:
            solutions = solve_all(solver, problems, starts, parallel, control.with_callback(line.update))
    else:
        solutions = solve_all(solver, problems, starts, parallel, control)
    if correct is not None:
        solutions = [correct(problem, solution) for problem, solution in zip(problems, solutions, strict=True)]
    certificates = []
    for problem, solution in zip(problems, solutions, strict=True):
        certificates.append(solution.certificate(problem, solver.tol))
    floor = 2 * max(solution.floor for solution in solutions)
    return solutions, FitReport.of(solutions, certificates, solver.tol, of_gap=True, floor=floor)


def solve_all(
    solver: LinearSolver,
    problems: Sequence[LinearProblem],
    starts: Sequence[Array | None],
    parallel: int,
    control: RunControl,
) -> list[LinearSolution]:
    """Solve the problems, up to `parallel` of them at a time."""
    if parallel > 1:
        return solve_in_parallel(solver.solve_linear, problems, starts, parallel, control)
    if len(problems) > 1:
        return solve_in_order(solver.solve_linear, problems, starts, control)
    solution = solver.solve_linear(problems[0], starts[0], control)
    if control.callback is not None:
        report_end(solution, control)
    return [solution]


def initial_points(estimator: Any, data: TrainingData, count: int) -> Sequence[Array | None]:
    """The dual points of the last fit, scaled to the new C; None if the samples or the classes are different."""
    last = vars(estimator).get("dual_coef_")
    if last is None or last.shape != (count, estimator._n_seen) or _has_other_classes(estimator, data):
        return [None] * count
    with np.errstate(over="ignore", invalid="ignore"):
        starts = cost_scale(estimator) / estimator._fit_cost * last[:, data.rows]
    return list(starts) if np.isfinite(starts).all() else [None] * count


def initial_weights(estimator: Any, data: TrainingData, count: int) -> Sequence[Array | None]:
    """The weights of the last fit with their intercepts; None if the features or the classes are different."""
    last = vars(estimator).get("coef_")
    if last is None or last.shape != (count, data.X.shape[1]) or _has_other_classes(estimator, data):
        return [None] * count
    weights = last.toarray() if sp.issparse(last) else np.asarray(last, dtype=np.float64)
    starts = np.column_stack([weights, np.atleast_1d(estimator.intercept_)])
    return list(starts) if np.isfinite(starts).all() else [None] * count


def _has_other_classes(estimator: Any, data: TrainingData) -> bool:
    return isinstance(data, ClassificationData) and not np.array_equal(estimator.classes_, data.classes)


def cost_scale(estimator: Any) -> float:
    """C of the estimator, to which its dual point is proportional; 1 for one-class classification.

    The mean of several costs: starts with other ratios are moved into their box.
    """
    return float(np.mean(vars(estimator).get("C", 1.0)))


def store_linear(
    estimator: Any, data: TrainingData, coef: Array, intercept: Array, dual: Array, report: FitReport
) -> None:
    """Set the fitted attributes of an estimator.

    Parameters
    ----------
    coef : ndarray
        `coef_`: the weights, in the shape that the estimator documents.
    intercept : ndarray of shape (n_functions,)
    dual : ndarray of shape (n_functions, n_samples)
        The dual point of the samples in `data`. Samples of weight zero have zeros in `dual_coef_`.
    report : FitReport
    """
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            "The weights or intercepts are not finite. The input data may contain large values and need to be "
            "preprocessed."
        )
    estimator.coef_, estimator.intercept_ = coef, np.asarray(intercept, dtype=np.float64)
    if dual.shape[1] == estimator._n_seen:
        estimator.dual_coef_ = np.ascontiguousarray(dual)
    else:
        estimator.dual_coef_ = np.zeros((len(dual), estimator._n_seen))
        estimator.dual_coef_[:, data.rows] = dual
    estimator._fit_cost = cost_scale(estimator)
    if isinstance(data, ClassificationData):
        estimator.classes_, estimator.class_weight_ = data.classes, data.class_weight
    report.store(estimator)


def store_functions(estimator: Any, data: TrainingData, solutions: Sequence[LinearSolution], report: FitReport) -> None:
    """Set the fitted attributes from one solution per function; `coef_` has one row per function."""
    if len(solutions) == 1:  # without copies
        weights, dual = solutions[0].weights[None, :], solutions[0].beta[None, :]
    else:
        weights, dual = np.array([s.weights for s in solutions]), np.array([s.beta for s in solutions])
    store_linear(estimator, data, weights, np.array([s.offset for s in solutions]), dual, report)
