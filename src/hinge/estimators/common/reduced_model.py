"""Models with few basis functions, for solvers that replace the kernel matrix by LLᵀ: coefficients and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.formulations import Formulation
from hinge.kernels import GramAccess, Kernel
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array, Certificate, History, Problem, Quadratic, Solution, certify, combine
from hinge.problems.reduced import Basis, ReducedFunction, certify_reduced
from hinge.solvers.blas_threads import single_thread

#: Number of samples, also per basis function, up to which the lower bound is computed from all kernel values,
#: which takes less time than the training.
MAX_DIRECT_SAMPLES, DIRECT_SAMPLES_PER_FUNCTION = 2_000, 4


@dataclass(frozen=True)
class LowRankReport:
    """The approximation of the kernel matrix in a fit: `approximation_`.                      docs/math (352), (353)

    Attributes
    ----------
    rank : int
        Number of basis functions of the model.
    residual_trace, trace : float
        tr(K − LLᵀ) and tr K.
    certificate : Certificate
        Of the problem that was solved, the one with LLᵀ: the distance from the best function in the span of these
        basis functions. `certificate_` of the estimator refers to all functions, with the true kernel.
    exact_bound : bool
        Whether `certificate_` was computed with the true kernel matrix, or with a bound on the difference.
    """

    rank: int
    residual_trace: float
    trace: float
    certificate: Certificate
    exact_bound: bool


def approximation_of(access: LowRankAccess, certificates: Sequence[Certificate], exact_bound: bool) -> LowRankReport:
    """The report of a fit with LLᵀ in place of K."""
    origin = access.origin
    return LowRankReport(origin.rank, origin.residual_trace, origin.trace, combine(certificates), exact_bound)


def reduced_certificates(
    access: GramAccess,
    basis: LowRankAccess,
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    rows: Sequence[NDArray[np.intp] | None],
    exact_bound: bool,
    control: RunControl,
) -> tuple[list[Certificate], bool]:
    """The certificates with K in place of LLᵀ, and whether they are complete.                 docs/math (640)–(643)

    They include all rounding errors, those of L too. The squared norm of Σ βᵢ k(xᵢ, ·) is computed with `exact_bound`
    and for problems of few samples, and bounded by means of the distances of the samples from the span otherwise. If
    the time limit is reached, only bounds that need no kernel values remain.
    """
    direct = exact_bound or access.n <= max(MAX_DIRECT_SAMPLES, DIRECT_SAMPLES_PER_FUNCTION * basis.origin.rank)
    betas, columns = [], []
    for problem, solution, index in zip(problems, solutions, rows, strict=True):
        beta = problem.Q.coefficients(solution.alpha)
        columns.append(basis.origin.coefficients(basis.origin.rows(index).transposed(beta)))
        betas.append(_scattered(beta, index, access.n))
    functions = Basis(access.kernel, access.data, basis.origin.basis)
    with single_thread():
        found = functions.functions(np.stack(columns, axis=1), () if direct else betas, control.expired)
        certificates = []
        for k, (problem, solution, index) in enumerate(zip(problems, solutions, rows, strict=True)):
            true = replace(problem, Q=Quadratic(access if index is None else access.subset(index), problem.Q.sign))
            if found is None:
                certificates.append(_without_function(true, solution, access.kernel))
                continue
            at_rows, distance = found[0][k].at(index), None if direct else found[1][k]
            certified = certify_reduced(true, solution.alpha, solution.mu, at_rows, access.kernel.psd, distance)
            certificates.append(certified)
    return certificates, found is not None


def _scattered(beta: Array, rows: NDArray[np.intp] | None, n: int) -> Array:
    """Return coefficients of some samples as coefficients of all samples."""
    if rows is None:
        return beta
    whole = np.zeros(n)
    whole[rows] = beta
    return whole


def _without_function(problem: Problem, solution: Solution, kernel: Kernel) -> Certificate:
    """The certificate of a model whose values are not known: the lower bound of the dual point zero, if it is one."""
    zero = np.zeros(problem.size)
    found = certify(problem, zero, solution.mu, problem.p, kernel.psd)
    return replace(found.unproven(History.empty()), dual=found.dual, best_dual=found.dual)


def basis_coefficients(
    access: LowRankAccess, rows: Sequence[NDArray[np.intp] | None], expansions: Sequence[Expansion]
) -> Array:
    """Coefficients of the basis functions, a column per subproblem: T⁻ᵀ Lᵀ β.                  docs/math (351)"""
    columns = [
        access.origin.rows(index).transposed(expansion.coefficients)
        for index, expansion in zip(rows, expansions, strict=True)
    ]
    return access.origin.coefficients(np.stack(columns, axis=1))


def certify_reduced_model(
    problem: Problem, formulation: Formulation, expansion: Expansion, function: ReducedFunction, kernel: Kernel
) -> Certificate:
    """The certificate of a function f with these values, and of the dual point of `expansion`.    docs/math (640)"""
    alpha, mu = formulation.dual_point(expansion)
    beta, size = problem.Q.coefficients(alpha), float(np.linalg.norm(expansion.coefficients))
    scale = float(np.linalg.norm(beta)) / size if size > 0 else 1.0  # ρ of ν-classification, by which f is divided
    return certify_reduced(problem, alpha, mu, function.times(scale), kernel.psd)
