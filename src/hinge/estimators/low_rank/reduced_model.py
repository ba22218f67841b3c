"""Models of a few basis functions: what is assembled, and certified, where a kernel matrix was replaced by LLᵀ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge.formulations import Formulation
from hinge.kernels import Kernel, Precomputed
from hinge.lowrank import LowRankAccess
from hinge.model import Expansion
from hinge.problems import Array, Certificate, Problem, Solution, certify, combine
from hinge.problems.certificate import relative


@dataclass(frozen=True)
class LowRankReport:
    """What `approximation_` says of a fit in which K was replaced by LLᵀ.                     docs/math (352), (353)

    Attributes
    ----------
    rank : int
        Basis functions of the model.
    residual_trace, trace : float
        tr(K − LLᵀ) and tr K.
    certificate : Certificate
        Of the problem that was solved, the one with LLᵀ: how far the function is from the best one that is made of
        these basis functions.  `certificate_` of the machine is about all functions, with the true kernel.
    exact_bound : bool
        Whether `certificate_` was computed with the true kernel matrix, or with a bound on the difference.
    """

    rank: int
    residual_trace: float
    trace: float
    certificate: Certificate
    exact_bound: bool


def approximated(access: Any) -> LowRankAccess | None:
    """The access itself if it stands for another matrix than the kernel's own."""
    return access if isinstance(access, LowRankAccess) and not access.origin.exact else None


def true_certificate(problem: Problem, solution: Solution, low: Certificate, true: Any | None = None) -> Certificate:
    """The certificate with K in the place of LLᵀ: the primal value is the same, the dual one is lower by half of
    e = βᵀ(K − LLᵀ)β, which is computed from `true` access, or bounded from above without.    docs/math (352), (353)
    """
    access = problem.Q.access
    assert isinstance(access, LowRankAccess)
    beta = problem.Q.coefficients(solution.alpha)
    curvature = float(solution.alpha @ (solution.gradient - problem.p))
    if true is None:
        error = access.origin.error_bound(beta, access.index)
    else:
        error = max(0.0, float(beta @ true.matvec(beta)) - curvature)
    return lowered(problem, low, curvature, error)


def lowered(problem: Problem, low: Certificate, curvature: float, error: float) -> Certificate:
    """`low` with its dual value lowered to that of the best multiple tα, 0 ≤ t ≤ 1, for αᵀQα = curvature + error."""
    gain = low.dual + 0.5 * curvature  # −pᵀα − h(α): what is linear in t, or above a line
    homogeneous = not np.any(problem.d) and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))
    whole = curvature + error
    t = float(np.clip(gain / whole, 0.0, 1.0)) if homogeneous and whole > 0 else 1.0
    dual = t * gain - 0.5 * t * t * whole
    gap = low.gap + (low.dual - dual)
    return replace(
        low, dual=dual, gap=gap, relative_gap=relative(gap, low.primal, dual), best_dual=dual, best_primal=low.primal
    )


def report(access: LowRankAccess, certificates: Sequence[Certificate], exact_bound: bool) -> LowRankReport:
    """For `approximation_`."""
    origin = access.origin
    return LowRankReport(origin.rank, origin.residual_trace, origin.trace, combine(certificates), exact_bound)


def basis_coefficients(
    access: LowRankAccess, rows: Sequence[NDArray[np.intp] | None], expansions: Sequence[Expansion]
) -> Array:
    """Coefficients of the basis functions, a column per machine: T⁻ᵀ Lᵀ β.                   docs/math (351)"""
    columns = [
        access.origin.rows(index).transposed(expansion.coefficients)
        for index, expansion in zip(rows, expansions, strict=True)
    ]
    return access.origin.coefficients(np.stack(columns, axis=1))


def certify_compact(
    problem: Problem, formulation: Formulation, expansion: Expansion, values: Array, norm: float, kernel: Kernel
) -> Certificate:
    """The certificate of a function f with these values and this squared norm, by a dual point of its own.

    gap = Σ shares of the variables, at f, + ½‖f − Σβᵢk(xᵢ, ·)‖².                             docs/math (352)
    """
    alpha, mu = formulation.dual_point(expansion)
    Q = problem.Q
    beta = Q.coefficients(alpha)
    size = float(np.linalg.norm(expansion.coefficients))
    unit = float(np.linalg.norm(beta)) / size if size > 0 else 1.0  # ρ of ν-classification, by which f is divided
    values, norm = unit * values, unit**2 * norm
    at_f = certify(problem, alpha, mu, Q.spread(values) + problem.p, convex=kernel.psd)
    inner, curvature = float(beta @ values), float(beta @ Q.access.matvec(beta))
    apart = max(0.0, norm - 2 * inner + curvature)
    primal = at_f.primal - 0.5 * inner + 0.5 * norm
    plain = replace(at_f, primal=primal, dual=primal - at_f.gap - 0.5 * apart, gap=at_f.gap + 0.5 * apart)
    return lowered(problem, plain, curvature, 0.0)


def function_values(kernel: Kernel, X: Any, support: NDArray[Any], vectors: Any, coefficients: Array) -> Array:
    """f at all samples, by the formulas alone; kernel values are columns of X where the kernel is precomputed."""
    if isinstance(kernel, Precomputed):
        return np.asarray(X[:, support] @ coefficients)
    step = max(1, (1 << 24) // max(len(support), 1))
    parts = (kernel(X[first : first + step], vectors) @ coefficients for first in range(0, X.shape[0], step))
    return np.concatenate(list(parts))
