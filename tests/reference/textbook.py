"""The five formulations of the textbook: dual quadratic programs, primals with explicit slacks, duality gaps.

Conventions are LIBSVM's (and scikit-learn's), with weights w and C_i = C w_i:

    C-SVC      min ½‖w‖² + Σ C_i ξ_i                          0 ≤ α ≤ C_i,  yᵀα = 0
    ν-SVC      min ½‖w‖² + Σ w_i ξ_i − νWρ                    0 ≤ α ≤ w_i,  yᵀα = 0, Σα = νW
    ε-SVR      min ½‖w‖² + Σ C_i (ξ_i + ξ*_i)                 0 ≤ α, α* ≤ C_i,  Σα = Σα*
    ν-SVR      min ½‖w‖² + Σ C_i (ξ_i + ξ*_i) + CνWε          the same, Σ(α + α*) = CνW
    one-class  min ½‖w‖² + Σ w_i ξ_i − νWρ                    0 ≤ α ≤ w_i,  Σα = νW             W = Σw

A point is given by its expansion coefficients `coef`: f(x) = Σ coef_i k(x_i, x) + b, before LIBSVM divides a
ν-classifier by ρ. Primal values are minimal over the free offsets b, ρ, ε; LwK (10.3)–(10.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .qp import solve_with_clarabel


def minimize_piecewise_linear(slopes, knots, linear=0.0):
    """argmin over t of Σ slopes_i max(0, t − knots_i) + linear·t, which is one of the knots."""
    used = slopes > 0
    slopes, knots = slopes[used], knots[used]
    order = np.argsort(knots, kind="stable")
    slope_after = linear + np.cumsum(slopes[order])
    if not slopes.size or linear > 0 or slope_after[-1] < -1e-12 * np.abs(linear):
        raise ValueError("unbounded: the parameter ν is infeasible")
    return knots[order][min(np.searchsorted(slope_after, 0.0), slopes.size - 1)]


@dataclass(frozen=True)
class Subproblem:
    """Kernel matrix K and weights w; subclasses add labels and parameters."""

    K: np.ndarray
    weight: np.ndarray

    def regularizer(self, coef):
        return 0.5 * coef @ (self.K @ coef)

    def gap(self, coef):
        return self.textbook_gap(coef, *self.best_offsets(coef))

    def primal(self, coef):
        return self.primal_at(coef, *self.best_offsets(coef))

    def optimum(self):
        """(dual value, certified error) by clarabel."""
        solution = solve_with_clarabel(self.K, **self.program())
        return -solution.value, solution.error

    @property
    def floor(self):
        """Smallest scale for relative differences: smaller dual values are the result of cancellation."""
        return 1e-8 * max(np.abs(self.linear() * np.minimum(self.bounds(), 1e300)).max(), 1e-300)


class _NoLinearTerm:
    """Formulations whose dual value is −½‖w‖².

    The optimum is 0 where classes, or the data and the origin, cannot be separated. Differences are then relative to
    the value of a dual point that is uniform over all samples.
    """

    @property
    def mass(self):
        return self.nu * self.weight.sum()

    @property
    def floor(self):
        return 1e-4 * 0.5 * self.mass**2 * max(np.abs(self.K).mean(), 1e-300)


@dataclass(frozen=True)
class CSVC(Subproblem):
    y: np.ndarray
    C: float

    def bounds(self):
        return self.C * self.weight

    def linear(self):
        return np.ones(self.y.size)

    def program(self):
        return dict(
            fold=sparse.diags(self.y),
            p=-np.ones(self.y.size),
            A=self.y[None, :],
            d=[0.0],
            lower=np.zeros(self.y.size),
            upper=self.bounds(),
        )

    def dual(self, coef):
        return np.sum(self.y * coef) - self.regularizer(coef)

    def best_offsets(self, coef):
        """b minimizes Σ C_i max(0, 1 − y_i (g_i + b)), whose knots are y_i − g_i."""
        knots = self.y - self.K @ coef
        # max(0, knot − b) = max(0, b − knot) − (b − knot) makes all hinges increasing, up to a linear term
        falling = self.bounds()[self.y > 0].sum()
        return (minimize_piecewise_linear(self.bounds(), knots, -falling),)

    def slack(self, coef, b):
        return np.maximum(0.0, 1.0 - self.y * (self.K @ coef + b))

    def primal_at(self, coef, b):
        return self.regularizer(coef) + self.bounds() @ self.slack(coef, b)

    def textbook_gap(self, coef, b):
        """(10.6)  Σ C ξ_j + α_j (y_j f(x_j) − 1)"""
        margin = self.y * (self.K @ coef + b)
        return np.sum(self.bounds() * self.slack(coef, b) + self.y * coef * (margin - 1.0))


@dataclass(frozen=True)
class NuSVC(_NoLinearTerm, Subproblem):
    y: np.ndarray
    nu: float

    def bounds(self):
        return self.weight

    def program(self):
        n = self.y.size
        return dict(
            fold=sparse.diags(self.y),
            p=np.zeros(n),
            A=np.vstack([self.y > 0, self.y < 0]).astype(float),
            d=[self.mass / 2, self.mass / 2],
            lower=np.zeros(n),
            upper=self.weight,
        )

    def dual(self, coef):
        return -self.regularizer(coef)

    def best_offsets(self, coef):
        """ρ − b depends on the positive samples alone, ρ + b on the negative ones."""
        g, w, plus = self.K @ coef, self.weight, self.y > 0
        minus = ~plus
        low = minimize_piecewise_linear(w[plus], g[plus], -self.mass / 2)
        high = minimize_piecewise_linear(w[minus], -g[minus], -self.mass / 2)
        return (high - low) / 2, (high + low) / 2

    def slack(self, coef, b, rho):
        return np.maximum(0.0, rho - self.y * (self.K @ coef + b))

    def primal_at(self, coef, b, rho):
        return self.regularizer(coef) + self.weight @ self.slack(coef, b, rho) - self.mass * rho

    def textbook_gap(self, coef, b, rho):
        """(10.7)  Σ ξ_j + α_j (y_j f(x_j) − ρ)"""
        margin = self.y * (self.K @ coef + b)
        return np.sum(self.weight * self.slack(coef, b, rho) + self.y * coef * (margin - rho))


@dataclass(frozen=True)
class OneClass(_NoLinearTerm, Subproblem):
    nu: float

    def bounds(self):
        return self.weight

    def program(self):
        n = self.weight.size
        return dict(
            fold=sparse.identity(n),
            p=np.zeros(n),
            A=np.ones((1, n)),
            d=[self.mass],
            lower=np.zeros(n),
            upper=self.weight,
        )

    def dual(self, coef):
        return -self.regularizer(coef)

    def best_offsets(self, coef):
        return (minimize_piecewise_linear(self.weight, self.K @ coef, -self.mass),)

    def slack(self, coef, rho):
        return np.maximum(0.0, rho - self.K @ coef)

    def primal_at(self, coef, rho):
        return self.regularizer(coef) + self.weight @ self.slack(coef, rho) - self.mass * rho

    def textbook_gap(self, coef, rho):
        """(10.7) with all labels +1 and no b."""
        return np.sum(self.weight * self.slack(coef, rho) + coef * (self.K @ coef - rho))


@dataclass(frozen=True)
class SVR(Subproblem):
    y: np.ndarray
    C: float
    epsilon: float

    def bounds(self):
        return self.C * self.weight

    def linear(self):
        return np.abs(self.y) + self.epsilon

    def program(self):
        n = self.y.size
        return dict(
            fold=sparse.hstack([sparse.identity(n), -sparse.identity(n)]),
            p=np.r_[self.epsilon - self.y, self.epsilon + self.y],
            A=np.r_[np.ones(n), -np.ones(n)][None, :],
            d=[0.0],
            lower=np.zeros(2 * n),
            upper=np.r_[self.bounds(), self.bounds()],
        )

    def dual(self, coef):
        return self.y @ coef - self.epsilon * np.abs(coef).sum() - self.regularizer(coef)

    def best_offsets(self, coef):
        residual, c = self.y - self.K @ coef, self.bounds()
        knots = np.r_[residual - self.epsilon, residual + self.epsilon]
        return (minimize_piecewise_linear(np.r_[c, c], knots, -c.sum()),)

    def slacks(self, coef, b):
        residual = self.y - self.K @ coef - b
        return np.maximum(0.0, residual - self.epsilon), np.maximum(0.0, -residual - self.epsilon)

    def primal_at(self, coef, b):
        above, below = self.slacks(coef, b)
        return self.regularizer(coef) + self.bounds() @ (above + below)

    def textbook_gap(self, coef, b):
        """(10.8)  Σ C ξ_j + C ξ*_j + α_j (ε + f(x_j) − y_j) + α*_j (ε − f(x_j) + y_j)"""
        return _regression_gap(self, np.maximum(coef, 0), np.maximum(-coef, 0), b, self.epsilon)


@dataclass(frozen=True)
class NuSVR(Subproblem):
    y: np.ndarray
    C: float
    nu: float

    def bounds(self):
        return self.C * self.weight

    def linear(self):
        return np.abs(self.y)

    @property
    def mass(self):
        return self.C * self.nu * self.weight.sum()

    def program(self):
        n = self.y.size
        one, zero = np.ones(n), np.zeros(n)
        return dict(
            fold=sparse.hstack([sparse.identity(n), -sparse.identity(n)]),
            p=np.r_[-self.y, self.y],
            A=np.vstack([np.r_[one, zero], np.r_[zero, one]]),
            d=[self.mass / 2, self.mass / 2],
            lower=np.zeros(2 * n),
            upper=np.r_[self.bounds(), self.bounds()],
        )

    def dual(self, coef):
        return self.y @ coef - self.regularizer(coef)

    def best_offsets(self, coef):
        """b + ε depends on the samples above, ε − b on the samples below."""
        residual, c = self.y - self.K @ coef, self.bounds()
        above = minimize_piecewise_linear(c, residual, self.mass / 2 - c.sum())
        below = minimize_piecewise_linear(c, -residual, self.mass / 2 - c.sum())
        return (above - below) / 2, (above + below) / 2

    def slacks(self, coef, b, epsilon):
        residual = self.y - self.K @ coef - b
        return np.maximum(0.0, residual - epsilon), np.maximum(0.0, -residual - epsilon)

    def primal_at(self, coef, b, epsilon):
        above, below = self.slacks(coef, b, epsilon)
        return self.regularizer(coef) + self.bounds() @ (above + below) + self.mass * epsilon

    def textbook_gap(self, coef, b, epsilon):
        """(10.8) with ε a variable.

        Where α and α* are both positive, `coef` contains only their difference. The common part, which the constraint
        on Σ(α + α*) requires, is added again within the bounds.
        """
        missing = (self.mass - np.abs(coef).sum()) / 2
        available = np.maximum(self.bounds() - np.abs(coef), 0.0)
        common = np.clip(missing - np.r_[0.0, np.cumsum(available)[:-1]], 0.0, available)
        return _regression_gap(self, np.maximum(coef, 0) + common, np.maximum(-coef, 0) + common, b, epsilon)


def _regression_gap(formulation, alpha, alpha_star, b, epsilon):
    f = formulation.K @ (alpha - alpha_star) + b
    above, below = np.maximum(0, formulation.y - f - epsilon), np.maximum(0, f - formulation.y - epsilon)
    return np.sum(
        formulation.bounds() * (above + below)
        + alpha * (epsilon + f - formulation.y)
        + alpha_star * (epsilon - f + formulation.y)
    )


def describe(estimator, K, y=None, sample_weight=None):
    """Formulation of an estimator of hinge or scikit-learn (two classes, regression or one class)."""
    weight = np.ones(len(K)) if sample_weight is None else np.maximum(np.asarray(sample_weight, float), 0.0)
    name = type(estimator).__name__
    if name in ("SVC", "NuSVC"):
        signs = np.where(np.asarray(y) == estimator.classes_[1], 1.0, -1.0)
        if name == "NuSVC":
            return NuSVC(K, weight, signs, estimator.nu)
        factor = np.asarray(estimator.class_weight_, float)
        return CSVC(K, weight * factor[(signs > 0).astype(int)], signs, estimator.C)
    if name == "SVR":
        return SVR(K, weight, np.asarray(y, float), estimator.C, estimator.epsilon)
    if name == "NuSVR":
        return NuSVR(K, weight, np.asarray(y, float), estimator.C, estimator.nu)
    if name == "OneClassSVM":
        return OneClass(K, weight, estimator.nu)
    raise TypeError(f"no textbook formulation of {name}")


def coefficients(estimator, formulation):
    """Fitted coefficients in the scale of the formulation: the division of a ν-classifier by ρ is undone."""
    dual_coef = estimator.dual_coef_
    dual_coef = dual_coef.toarray() if sparse.issparse(dual_coef) else np.asarray(dual_coef)
    coef = np.zeros(len(formulation.K))
    coef[estimator.support_] = dual_coef[0]
    if isinstance(formulation, NuSVC):
        coef *= formulation.mass / np.abs(coef).sum()
    return coef
