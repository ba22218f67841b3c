"""Training of the ℓ1-regularized estimators: dictionary of kernels, linear programs, certificates, model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hinge.control import RunControl
from hinge.estimators.common.report import FitReport
from hinge.estimators.common.validation import TrainingData
from hinge.kernels import FunctionKernel, Kernel, Precomputed, available_bytes, cross, make_kernel, open_access
from hinge.kernels.functions import check_gamma
from hinge.model import DictionaryModel, KernelModel
from hinge.problems import Array, History, LPProblem, LPSolution, Status, certify_lp
from hinge.problems.lp import best_constant
from hinge.solvers import LinearProgramming
from hinge.solvers.time_budget import fits
from hinge.threads import effective_n_jobs

#: Memory of HiGHS for each value of a function of the dictionary, and seconds until its first iteration.
BYTES_PER_VALUE = 150
SECONDS_PER_VALUE = 2e-7

#: Coefficients below this fraction of the largest one are set to zero: they are within the tolerance of the solver.
NEGLIGIBLE_COEFFICIENT = 1e-9

#: Relative gap that confirms SOLVED: `tol` bounds the violation of the constraints of the linear program.
SOLVED_GAP = 1e-6


def dictionary_kernels(estimator: Any) -> list[Kernel]:
    """Return one kernel for every combination of `kernel` and `gamma`, without duplicates."""
    names = estimator.kernel if isinstance(estimator.kernel, list | tuple) else [estimator.kernel]
    gammas = estimator.gamma if isinstance(estimator.gamma, list | tuple | np.ndarray) else [estimator.gamma]
    if len(names) == 0 or len(gammas) == 0:
        raise ValueError(
            f"kernel={estimator.kernel!r} and gamma={estimator.gamma!r} must not be empty: pass one value, or a list "
            "of at least one value"
        )
    kernels: list[Kernel] = []
    for name in names:
        for value in gammas:
            check_gamma(value)
            gamma: Any = value if isinstance(value, str) else float(value)
            kernel = make_kernel(name, degree=estimator.degree, gamma=gamma, coef0=estimator.coef0)
            if isinstance(kernel, FunctionKernel):
                raise ValueError(
                    f"kernel={name!r} is a function, which {type(estimator).__name__} does not support; use a name or "
                    "an object of hinge.kernels, or a matrix with kernel='precomputed'"
                )
            if kernel not in kernels:
                kernels.append(kernel)
    if len(kernels) > 1 and any(isinstance(kernel, Precomputed) for kernel in kernels):
        raise ValueError("kernel='precomputed' cannot be one of several kernels; pass the sum of the kernel matrices")
    return kernels


def train_lp(
    estimator: Any,
    data: TrainingData,
    kernels: Sequence[Kernel],
    build: Callable[[Any, Array], list[LPProblem]],
    control: RunControl,
) -> FitReport:
    """Solve the linear program of every output, certify the solutions and set the fitted attributes.

    Parameters
    ----------
    estimator : estimator
        Its parameters are valid.
    data : TrainingData
    kernels : sequence of Kernel
        See `dictionary_kernels`.
    build : callable
        (data, design matrix) → the problem of every output.
    control : RunControl
    """
    resolved = [kernel.resolve(data.X, data.weight) for kernel in kernels]
    _check_memory(data.n, len(resolved))
    if not fits(control, SECONDS_PER_VALUE * len(resolved) * data.n**2):
        return _constant_model(estimator, data, resolved, build(data, np.empty((data.n, 0))))
    with control.interruptible():  # there is no model before the program is solved
        problems = build(data, _design(resolved, data.X, effective_n_jobs(estimator.n_jobs)))
        error = max(_value_error(kernel, data.X) for kernel in resolved)
    problems = [replace(problem, design_error=error) for problem in problems]
    solver = LinearProgramming(tol=estimator.tol, max_iter=estimator.max_iter)
    solutions = [solver.solve_lp(problem, control) for problem in problems]
    coefficients = np.column_stack([_without_negligible(solution.coefficients) for solution in solutions])
    offsets = np.array([solution.offset for solution in solutions])
    solved = zip(problems, coefficients.T, offsets, solutions, strict=True)
    certificates = [certify_lp(problem, a, b, solution.beta) for problem, a, b, solution in solved]
    report = FitReport.of(solutions, certificates, SOLVED_GAP, of_gap=True)
    dual = np.column_stack([solution.beta for solution in solutions])
    _store(estimator, data, resolved, coefficients.reshape(len(resolved), data.n, -1), offsets, dual)
    report.store(estimator, n_iter=sum(report.iterations))
    return report


def _check_memory(n: int, kernels: int) -> None:
    """Raise a MemoryError if the linear program is too large for the memory."""
    needed, available = BYTES_PER_VALUE * kernels * n**2, available_bytes()
    if needed > available:
        raise MemoryError(
            f"a linear program with {n} rows and {kernels * n} functions needs {needed / 2**30:.1f} GB, but only "
            f"{available / 2**30:.1f} GB are free. Use fewer samples, or SVC or LinearSVC"
        )


def _constant_model(
    estimator: Any, data: TrainingData, kernels: Sequence[Kernel], problems: Sequence[LPProblem]
) -> FitReport:
    """Store the best constant functions, if the time does not suffice for the kernel values and the presolve.

    `problems` have no basis functions. Zero is a dual point of the whole problem, and gives a lower bound of zero.
    """
    empty, zero = np.empty(0), np.zeros(data.n)
    offsets = np.array([best_constant(problem) for problem in problems])
    certificates = [certify_lp(problem, empty, b, zero) for problem, b in zip(problems, offsets, strict=True)]
    solutions = [LPSolution(empty, b, zero, Status.TIME_LIMIT, 0, History.empty()) for b in offsets]
    report = FitReport.of(solutions, certificates)
    coefficients = np.zeros((len(kernels), data.n, len(offsets)))
    _store(estimator, data, kernels, coefficients, offsets, np.zeros((data.n, len(offsets))))
    report.store(estimator, n_iter=0)
    return report


def _design(kernels: Sequence[Kernel], X: Any, threads: int) -> Array:
    """Return the values of all functions of the dictionary at all samples, (n × n_kernels · n)."""
    matrices = [
        np.asarray(X, dtype=np.float64) if isinstance(kernel, Precomputed) else cross(kernel, X, threads=threads)
        for kernel in kernels
    ]
    design = np.hstack(matrices)
    if not np.isfinite(design).all():
        raise ValueError(
            "kernel values of these data are not finite: they overflow. Scale the data, for example with StandardScaler"
        )
    return design


def _value_error(kernel: Kernel, X: Any) -> float:
    """Return a bound on the rounding errors of the kernel values of `cross`."""
    if isinstance(kernel, Precomputed):
        return 0.0
    if kernel.nodes() is None:
        return float(np.max(kernel.bounded(X, X)[1], initial=0.0))
    return open_access(kernel, X).gram.value_error()


def _without_negligible(a: Array) -> Array:
    return np.where(np.abs(a) > NEGLIGIBLE_COEFFICIENT * np.max(np.abs(a), initial=0.0), a, 0.0)


def _store(
    estimator: Any, data: TrainingData, kernels: Sequence[Kernel], a: Array, offsets: Array, dual: Array
) -> None:
    """Set the fitted attributes; `a` are the coefficients, (n_kernels × n_samples × n_outputs)."""
    support = np.flatnonzero(np.any(a != 0, axis=(0, 2)))
    precomputed = isinstance(kernels[0], Precomputed)
    parts = []
    for kernel, block in zip(kernels, a, strict=True):
        rows = support if precomputed else np.flatnonzero(np.any(block != 0, axis=1))
        vectors = None if precomputed else data.X[rows]
        parts.append(KernelModel(kernel, vectors, block[rows], np.zeros(len(offsets))))
    estimator.model_ = DictionaryModel(tuple(parts), offsets)
    estimator.support_ = data.rows[support].astype(np.int32)
    estimator.support_vectors_ = np.empty((0, 0)) if precomputed else data.X[support]
    estimator.n_terms_ = int(np.count_nonzero(a))
    estimator.dual_coef_ = a[:, support, :].transpose(2, 0, 1).reshape(a.shape[2], -1)
    estimator.intercept_ = offsets
    estimator._terms, estimator._beta = a, dual
