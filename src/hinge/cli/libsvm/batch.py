"""Subproblems of a command, solved together: they share kernel values and run in parallel."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.cli.libsvm.command import thread_count
from hinge.cli.libsvm.data import Samples
from hinge.cli.libsvm.options import TrainOptions
from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, Formulation, NuSVC, NuSVR, OneClass
from hinge.io.libsvm_models.record import LibsvmModel, pair_coefficients
from hinge.kernels import Precomputed, expand, open_access
from hinge.kernels.access import check_kernel_values
from hinge.problems import Problem, Solution, Status
from hinge.solvers import choose

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

AT_BOUND = 1 - 1e-12  # coefficients of at least this fraction of their bound are counted in nBSV


@dataclass(frozen=True)
class Solved:
    """A solved subproblem: f = Σ coefficients · k(rows, ·) − rho, and the lines that svm-train prints about it."""

    rows: Rows
    coefficients: Array
    rho: float
    text: str

    @property
    def n_sv(self) -> int:
        """Number of support vectors."""
        return int(np.count_nonzero(self.coefficients))


class Batch:
    """Subproblems over the same training data.

    `add` returns the number of a subproblem, `solve` solves all of them, and `solved` returns the result.
    """

    def __init__(self, samples: Samples, options: TrainOptions) -> None:
        self.samples, self.options = samples, options
        self._rows: list[Rows] = []
        self._formulations: list[Formulation] = []
        self._solved: list[Solved] = []
        self._threads = thread_count()

    def add(self, rows: Rows, formulation: Formulation) -> int:
        """Add the subproblem of these samples."""
        self._rows.append(rows)
        self._formulations.append(formulation)
        return len(self._rows) - 1

    def solve(self) -> None:
        """Solve all subproblems. Ctrl-C raises KeyboardInterrupt within a fraction of a second."""
        options, samples = self.options, self.samples
        solver = choose(
            "auto", threads=self._threads, tol=options.tol, shrinking=bool(options.shrinking),
            max_iter=-1, cache_size=options.cache_size,
        )  # fmt: skip
        access: Any = open_access(samples.kernel, samples.X, cache_size=options.cache_size, threads=self._threads)
        check_kernel_values(access)
        everything = np.arange(len(samples.y))
        problems = [
            formulation.build(access if np.array_equal(rows, everything) else access.subset(rows))
            for rows, formulation in zip(self._rows, self._formulations, strict=True)
        ]
        control = RunControl()
        with control.capture_signals():
            solutions = solver.solve_batch(problems, None, control) if problems else []
        for rows, formulation, problem, solution in zip(
            self._rows, self._formulations, problems, solutions, strict=True
        ):
            self._solved.append(_result(rows, formulation, problem, solution, options))

    def solved(self, number: int) -> Solved:
        """The result of a subproblem."""
        return self._solved[number]

    def values(self, rows: Rows, model: LibsvmModel) -> Array:
        """Decision values at these samples of a model whose vectors are positions of samples."""
        pairs = pair_coefficients(model.coefficients, model.n_sv)
        return self.expand(rows, model.vectors, pairs) - model.rho

    def expand(self, rows: Rows, support: Rows, coefficients: Array) -> Array:
        """Σ coefficients · k(support, ·) at these samples, (n_rows × n_functions)."""
        X, kernel = self.samples.X, self.samples.kernel
        if len(support) == 0 or coefficients.shape[1] == 0:
            return np.zeros((len(rows), coefficients.shape[1]))
        if isinstance(kernel, Precomputed):
            return np.asarray(X[np.ix_(rows, support)] @ coefficients)
        return expand(kernel, X[rows], X[support], coefficients, threads=self._threads)


def _result(
    rows: Rows, formulation: Formulation, problem: Problem, solution: Solution, options: TrainOptions
) -> Solved:
    if solution.status is not Status.SOLVED:
        print(
            f"WARNING: the tolerance {options.tol:g} was not reached ({solution.status.name}) after "
            f"{solution.iterations} iterations",
            file=sys.stderr,
        )
    expansion = formulation.recover(solution.alpha, solution.mu)
    beta, rho = expansion.coefficients, -expansion.intercept
    value = problem.value(solution.alpha, solution.gradient if solution.exact else None)
    lines = ["*", f"optimization finished, #iter = {solution.iterations}"]
    bound: Any = np.ones(len(rows))
    if isinstance(formulation, CSVC):
        bound = formulation.cost
        if bound.min() == bound.max():
            lines.append(f"nu = {np.abs(beta).sum() / bound.sum():f}")
    elif isinstance(formulation, NuSVC):
        scale = expansion.margin if expansion.margin > 0 else 1.0
        bound, value = bound / scale, value / scale**2
        lines.append(f"C = {1 / scale:f}")
    elif isinstance(formulation, SVR):
        bound = formulation.cost
        lines.append(f"nu = {np.abs(beta).sum() / bound.sum():f}")
    elif isinstance(formulation, NuSVR):
        bound = formulation.cost
        lines.append(f"epsilon = {expansion.tube:f}")
    lines.append(f"obj = {value:f}, rho = {rho:f}")
    n_bounded = int(np.count_nonzero(np.abs(beta) >= AT_BOUND * bound))
    lines.append(f"nSV = {np.count_nonzero(beta)}, nBSV = {n_bounded}")
    return Solved(rows, beta, rho, "\n".join([*lines, ""]))


def binary(sign: Array, options: TrainOptions, cost: Array) -> Formulation:
    """The formulation of two classes; ν is reduced to its largest admissible value, as in folds with fewer samples."""
    if options.svm_type == "c_svc":
        return CSVC(sign, cost)
    positive = float(np.count_nonzero(sign > 0))
    nu_max = 2 * min(positive, len(sign) - positive) / len(sign)
    return NuSVC(sign, np.ones(len(sign)), min(options.nu, nu_max))


def single(y: Array, options: TrainOptions) -> Formulation:
    """The formulation of a model with one function."""
    if options.svm_type == "one_class":
        return OneClass(np.ones(len(y)), options.nu)
    cost = np.full(len(y), options.cost)
    return SVR(y, cost, options.epsilon) if options.svm_type == "epsilon_svr" else NuSVR(y, cost, options.nu)
