"""Cross-fitted decision values: at every training sample the value of a model that was trained without it.

The folds are fixed, so that the result is deterministic. All problems of all folds share the kernel matrix, are solved
in one batch, and start from the solution on all samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.estimators.common.training import Settings, Subproblem, Trained
from hinge.estimators.common.validation import ClassificationData, TrainingData, row_index
from hinge.formulations import Formulation
from hinge.kernels import Kernel, Precomputed, expand
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array, Solution

#: Training data without X → subproblems.
Build = Callable[[Any], Sequence[Subproblem]]

#: Number of folds of estimators with one function and with several functions. More folds take more time, and did not
#: give a smaller log loss (benchmarks/kernel/probability.txt).
N_FOLDS, N_FOLDS_OF_SEVERAL = 3, 2

#: Least tolerance of the problems of the folds: the calibration averages over all samples, so that smaller errors of
#: decision values do not matter.
FOLD_TOL = 1e-2


def fold_numbers(label: NDArray[np.intp], n_folds: int) -> NDArray[np.intp]:
    """Return the fold of every sample: every class is divided in random order, with a fixed seed."""
    folds = np.empty(len(label), dtype=np.intp)
    order = np.random.default_rng(0).permutation(len(label))
    by_class = order[np.argsort(label[order], kind="stable")]
    folds[by_class] = np.arange(len(label)) % n_folds
    return folds


@dataclass(frozen=True)
class _Part:
    """Subproblem `function` of a fold: positions of its samples, and its formulation."""

    fold: int
    function: int
    samples: NDArray[np.intp]
    formulation: Formulation


@dataclass(frozen=True)
class CrossFitted:
    """Values of every function at the samples of its subproblem, and the solutions of the folds."""

    values: list[Array]
    solutions: list[Solution]

    @property
    def error(self) -> BaseException | None:
        """The exception of a signal that interrupted the computation."""
        return next((solution.error for solution in self.solutions if solution.error is not None), None)


def cross_fit(
    build: Build, data: TrainingData, trained: Trained, settings: Settings, control: RunControl
) -> CrossFitted:
    """Compute cross-fitted values of the functions of a trained kernel estimator.

    Parameters
    ----------
    build : callable
        Returns the subproblems of some of the samples, in the order of those of all samples.
    data, trained, settings, control
        As in `hinge.estimators.common.training.train`.
    """
    label = np.unique(data.y, return_inverse=True)[1].ravel()
    folds = fold_numbers(label, N_FOLDS if len(trained.subproblems) == 1 else N_FOLDS_OF_SEVERAL)
    access: Any = trained.basis
    if access is None:
        access = settings.open_access(
            trained.kernel, data.X, cache_size=settings.cache_size, threads=settings.threads
        )
    parts, default = _parts(build, data, folds)
    problems = [part.formulation.build(access.subset(part.samples)) for part in parts]
    starts = [_start(trained, part, data.n) for part in parts]
    solver = replace(settings.solver, tol=max(settings.solver.tol, FOLD_TOL)).without_polishing()
    solutions = solver.solve_batch(problems, starts, control) if problems else []
    functions = []
    for part, solution in zip(parts, solutions, strict=True):
        functions.append((part, part.formulation.recover(solution.alpha, solution.mu)))
    place = np.empty(data.n, dtype=np.intp)
    values: list[Array] = []
    for k, subproblem in enumerate(trained.subproblems):
        values.append(default[k, folds[row_index(subproblem.rows)]])
    for fold in range(int(folds.max()) + 1):
        of_fold = [(part, expansion) for part, expansion in functions if part.fold == fold]
        test = np.flatnonzero(folds == fold)
        place.fill(-1)
        place[test] = np.arange(len(test))
        f = _decide(trained.kernel, access, data, test, of_fold, settings.threads)
        for column, (part, _) in enumerate(of_fold):
            rows = place[row_index(trained.subproblems[part.function].rows)]
            values[part.function][rows >= 0] = f[rows[rows >= 0], column]
    return CrossFitted(values, solutions)


def _parts(build: Build, data: TrainingData, folds: NDArray[np.intp]) -> tuple[list[_Part], Array]:
    """The subproblems of all folds, and the values of the functions (functions × folds) that have none.

    A subproblem with samples of one class only is not solved. Its function is ±1, as in LIBSVM.
    """
    parts, constants = [], list[list[float]]()
    for fold in range(int(folds.max()) + 1):
        train = np.flatnonzero(folds != fold)
        rest = replace(data, X=None, y=data.y[train], weight=data.weight[train], rows=data.rows[train])
        constants.append([])
        for function, subproblem in enumerate(build(rest)):
            samples = train if subproblem.rows is None else train[subproblem.rows]
            formulation: Any = subproblem.formulation
            sign = formulation.y if isinstance(data, ClassificationData) else np.empty(0)
            one_class = isinstance(data, ClassificationData) and len(np.unique(sign)) < 2
            constants[-1].append(float(sign[0]) if one_class and len(sign) else 0.0)
            if not one_class:
                parts.append(_Part(fold, function, samples, formulation))
    return parts, np.array(constants).T


def _start(trained: Trained, part: _Part, n: int) -> Array:
    """The solution on all samples as the initial point of a fold; the variables of samples left out are removed."""
    coefficients = np.zeros(n)
    coefficients[row_index(trained.subproblems[part.function].rows)] = trained.expansions[part.function].coefficients
    return np.abs(coefficients[part.samples])


def _decide(
    kernel: Kernel,
    access: Any,
    data: TrainingData,
    test: NDArray[np.intp],
    functions: Sequence[tuple[_Part, Expansion]],
    threads: int,
) -> Array:
    """Values of the functions of a fold at its samples, (n_test × n_functions)."""
    beta = np.zeros((data.n, len(functions)))
    for column, (part, expansion) in enumerate(functions):
        beta[part.samples, column] = expansion.coefficients
    support = np.flatnonzero(beta.any(axis=1))
    beta, f = beta[support], np.zeros((len(test), len(functions)))
    if len(support) and isinstance(access, LowRankAccess):
        f += access.subset(test).factor() @ (access.subset(support).factor().T @ beta)
    elif len(support) and isinstance(kernel, Precomputed):
        f += data.X[np.ix_(test, support)] @ beta
    elif len(support):
        f += expand(kernel, data.X[test], data.X[support], beta, threads=threads)
    return f + np.array([expansion.intercept for _, expansion in functions])
