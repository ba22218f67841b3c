"""Models with few basis functions, for solvers that replace the kernel matrix by LLᵀ: coefficients and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.formulations import Formulation
from hinge.kernels import GramAccess, Kernel, Precomputed
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array, Certificate, Problem, Solution, certify, combine
from hinge.problems.certificate import relative

#: Kernel values of a block of rows in `function_values`.
BLOCK_VALUES = 1 << 24


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


def true_certificates(
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    certificates: Sequence[Certificate],
    whole: GramAccess | None,
    rows: Sequence[NDArray[np.intp] | None],
) -> list[Certificate]:
    """The certificates with K in place of LLᵀ.

    The primal value is the same, and the dual value is lower by half of e = βᵀ(K − LLᵀ)β. e is computed if there is
    access to the whole matrix K, and bounded from above otherwise.                             docs/math (352), (353)
    """
    found = []
    for problem, solution, certificate, index in zip(problems, solutions, certificates, rows, strict=True):
        access = problem.Q.access
        assert isinstance(access, LowRankAccess)
        beta = problem.Q.coefficients(solution.alpha)
        curvature = float(solution.alpha @ (solution.gradient - problem.p))
        if whole is None:
            error = access.origin.error_bound(beta, access.index)
        else:
            true = whole if index is None else whole.subset(index)
            error = max(0.0, float(beta @ true.matvec(beta)) - curvature)
        found.append(_lowered(problem, certificate, curvature, error))
    return found


def _lowered(problem: Problem, certificate: Certificate, curvature: float, error: float) -> Certificate:
    """Lower the dual value to that of the best multiple tα, 0 ≤ t ≤ 1, for αᵀQα = curvature + error."""
    linear = certificate.dual + 0.5 * curvature  # −pᵀα − h(α): linear in t, or above a line
    homogeneous = not np.any(problem.d) and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))
    whole = curvature + error
    t = float(np.clip(linear / whole, 0.0, 1.0)) if homogeneous and whole > 0 else 1.0
    dual = t * linear - 0.5 * t * t * whole
    gap = certificate.gap + (certificate.dual - dual)
    primal = certificate.primal
    return replace(
        certificate,
        dual=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual),
        best_dual=dual,
        best_primal=primal,
    )


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
    problem: Problem, formulation: Formulation, expansion: Expansion, values: Array, norm: float, kernel: Kernel
) -> Certificate:
    """The certificate of a function f with these values and this squared norm, and of the dual point of `expansion`.

    gap = Σ (terms of the variables at f) + ½‖f − Σβᵢk(xᵢ, ·)‖².                                docs/math (352)
    """
    alpha, mu = formulation.dual_point(expansion)
    Q = problem.Q
    beta = Q.coefficients(alpha)
    size = float(np.linalg.norm(expansion.coefficients))
    scale = float(np.linalg.norm(beta)) / size if size > 0 else 1.0  # ρ of ν-classification, by which f is divided
    values, norm = scale * values, scale**2 * norm
    at_f = certify(problem, alpha, mu, Q.spread(values) + problem.p, convex=kernel.psd)
    inner, curvature = float(beta @ values), float(beta @ Q.access.matvec(beta))
    distance = max(0.0, norm - 2 * inner + curvature)
    primal = at_f.primal - 0.5 * inner + 0.5 * norm
    at_f = replace(at_f, primal=primal, dual=primal - at_f.gap - 0.5 * distance, gap=at_f.gap + 0.5 * distance)
    return _lowered(problem, at_f, curvature, 0.0)


def function_values(kernel: Kernel, X: Any, support: NDArray[Any], vectors: Any, coefficients: Array) -> Array:
    """Values of f at all samples, by the formula of the kernel; X is the kernel matrix of a precomputed kernel."""
    if isinstance(kernel, Precomputed):
        return np.asarray(X[:, support] @ coefficients)
    step = max(1, BLOCK_VALUES // max(len(support), 1))
    parts = (kernel(X[first : first + step], vectors) @ coefficients for first in range(0, X.shape[0], step))
    return np.concatenate(list(parts))
