"""The five machines, written out: duals as explicit quadratic programs, primals with explicit slacks, gaps as
printed.

Conventions are LIBSVM's (and scikit-learn's), with weights w and C_i = C w_i:

    C-SVC      min ½‖w‖² + Σ C_i ξ_i                          0 ≤ α ≤ C_i,  yᵀα = 0
    ν-SVC      min ½‖w‖² + Σ w_i ξ_i − νWρ                    0 ≤ α ≤ w_i,  yᵀα = 0, Σα = νW
    ε-SVR      min ½‖w‖² + Σ C_i (ξ_i + ξ*_i)                 0 ≤ α, α* ≤ C_i,  Σα = Σα*
    ν-SVR      min ½‖w‖² + Σ C_i (ξ_i + ξ*_i) + CνWε          the same, Σ(α + α*) = CνW
    one-class  min ½‖w‖² + Σ w_i ξ_i − νWρ                    0 ≤ α ≤ w_i,  Σα = νW             W = Σw

A machine is described by its expansion coefficients `coef` (f(x) = Σ coef_i k(x_i, x) + b, before LIBSVM
divides a ν-classifier by ρ).  Primal values are least over the free offsets b, ρ, ε; LwK (10.3)–(10.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .qp import solve_with_clarabel


def least_piecewise(slopes, knots, linear=0.0):
    """argmin over t of Σ slopes_i max(0, t − knots_i) + linear·t: a knot, for a bounded convex function."""
    used = slopes > 0
    slopes, knots = slopes[used], knots[used]
    order = np.argsort(knots, kind="stable")
    slope_after = linear + np.cumsum(slopes[order])
    if not slopes.size or linear > 0 or slope_after[-1] < -1e-12 * np.abs(linear):
        raise ValueError("unbounded: the parameter ν is infeasible")
    return knots[order][min(np.searchsorted(slope_after, 0.0), slopes.size - 1)]


@dataclass(frozen=True)
class Subproblem:
    """Kernel matrix K, weights w, and what the subclasses add."""

    K: np.ndarray
    weight: np.ndarray

    def regularizer(self, coef):
        return 0.5 * coef @ (self.K @ coef)

    def gap(self, coef):
        return self.textbook_gap(coef, *self.best_offsets(coef))

    def primal(self, coef):
        return self.primal_at(coef, *self.best_offsets(coef))

    def optimum(self):
        """(value of the dual, proven error): by clarabel."""
        found = solve_with_clarabel(self.K, **self.program())
        return -found.value, found.error

    @property
    def floor(self):
        """Dual values below this are cancelled terms, and are compared with it instead of with themselves."""
        return 1e-8 * max(np.abs(self.linear() * np.minimum(self.bounds(), 1e300)).max(), 1e-300)


class _NoLinearTerm:
    """The dual is −½‖w‖²: where classes (or the data and the origin) cannot be told apart its optimum is 0,
    and "relative" needs another measure: what a point spread over all samples would give."""

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
        """b minimises Σ C_i max(0, 1 − y_i (g_i + b)): positives fall until 1 − g_i, negatives rise after −1
        − g_i."""
        knots = self.y - self.K @ coef
        # max(0, knot − b) = max(0, b − knot) − (b − knot) turns falling hinges into rising ones and a slope
        falling = self.bounds()[self.y > 0].sum()
        return (least_piecewise(self.bounds(), knots, -falling),)

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
        """ρ − b from the positives alone, ρ + b from the negatives alone."""
        g, w, plus = self.K @ coef, self.weight, self.y > 0
        minus = ~plus
        low = least_piecewise(w[plus], g[plus], -self.mass / 2)
        high = least_piecewise(w[minus], -g[minus], -self.mass / 2)
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
        return (least_piecewise(self.weight, self.K @ coef, -self.mass),)

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
        rest, c = self.y - self.K @ coef, self.bounds()
        return (least_piecewise(np.r_[c, c], np.r_[rest - self.epsilon, rest + self.epsilon], -c.sum()),)

    def slacks(self, coef, b):
        rest = self.y - self.K @ coef - b
        return np.maximum(0.0, rest - self.epsilon), np.maximum(0.0, -rest - self.epsilon)

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
        one, none = np.ones(n), np.zeros(n)
        return dict(
            fold=sparse.hstack([sparse.identity(n), -sparse.identity(n)]),
            p=np.r_[-self.y, self.y],
            A=np.vstack([np.r_[one, none], np.r_[none, one]]),
            d=[self.mass / 2, self.mass / 2],
            lower=np.zeros(2 * n),
            upper=np.r_[self.bounds(), self.bounds()],
        )

    def dual(self, coef):
        return self.y @ coef - self.regularizer(coef)

    def best_offsets(self, coef):
        """b + ε from the points above, ε − b from the points below."""
        rest, c = self.y - self.K @ coef, self.bounds()
        above = least_piecewise(c, rest, self.mass / 2 - c.sum())
        below = least_piecewise(c, -rest, self.mass / 2 - c.sum())
        return (above - below) / 2, (above + below) / 2

    def slacks(self, coef, b, epsilon):
        rest = self.y - self.K @ coef - b
        return np.maximum(0.0, rest - epsilon), np.maximum(0.0, -rest - epsilon)

    def primal_at(self, coef, b, epsilon):
        above, below = self.slacks(coef, b, epsilon)
        return self.regularizer(coef) + self.bounds() @ (above + below) + self.mass * epsilon

    def textbook_gap(self, coef, b, epsilon):
        """(10.8) with ε a variable.  α and α* that were both positive show only their difference in coef: the
        common part, which the mass constraint demands, is put back wherever the box has room."""
        missing = (self.mass - np.abs(coef).sum()) / 2
        room = np.maximum(self.bounds() - np.abs(coef), 0.0)
        filled = np.clip(missing - np.r_[0.0, np.cumsum(room)[:-1]], 0.0, room)
        return _regression_gap(self, np.maximum(coef, 0) + filled, np.maximum(-coef, 0) + filled, b, epsilon)


def _regression_gap(machine, alpha, alpha_star, b, epsilon):
    f = machine.K @ (alpha - alpha_star) + b
    above, below = np.maximum(0, machine.y - f - epsilon), np.maximum(0, f - machine.y - epsilon)
    return np.sum(
        machine.bounds() * (above + below)
        + alpha * (epsilon + f - machine.y)
        + alpha_star * (epsilon - f + machine.y)
    )


def describe(estimator, K, y=None, sample_weight=None):
    """The machine an estimator (ours or scikit-learn's) was asked to fit, binary or regression, by its class
    name."""
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
    raise TypeError(f"no textbook machine for {name}")


def coefficients(estimator, machine):
    """The fitted expansion in the machine's own scale: LIBSVM divides a ν-classifier by its ρ, which is
    undone here."""
    dual_coef = estimator.dual_coef_
    dual_coef = dual_coef.toarray() if sparse.issparse(dual_coef) else np.asarray(dual_coef)
    coef = np.zeros(len(machine.K))
    coef[estimator.support_] = dual_coef[0]
    if isinstance(machine, NuSVC):
        coef *= machine.mass / np.abs(coef).sum()
    return coef
