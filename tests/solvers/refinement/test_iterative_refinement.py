"""Iterative refinement: solutions in double-double precision, with gaps below the rounding error of α."""

from fractions import Fraction

import numpy as np
import pytest

from hinge import SVR, losses
from hinge import formulations as f
from hinge.kernels import RBF, open_access
from hinge.problems import Status, optimality
from hinge.solvers import InteriorPoint
from hinge.solvers.refinement.iterative_refinement import refine_iteratively

DATA = np.random.default_rng(0).normal(size=(60, 3))
TARGET = np.sin(DATA[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=60)
SIGN = np.where(TARGET > 0, 1.0, -1.0)
ONE = np.ones(60)
FORMULATIONS = {
    "hinge": f.CSVC(SIGN, 1e4 * ONE),
    "epsilon-insensitive": f.SVR(TARGET, 1e4 * ONE, 0.1),
    "Laplace": f.ConvexLoss(TARGET, 1e4 * ONE, losses.Laplace()),
    "nu-regression": f.NuSVR(TARGET, 1e4 * ONE, 0.3),
    "nu-classification": f.NuSVC(SIGN, ONE, 0.1),
}


@pytest.mark.parametrize("name", FORMULATIONS)
def test_gap_is_smaller_than_in_double_precision(name):
    """The gap (4) is computed with exact fractions."""
    problem = FORMULATIONS[name].build(open_access(RBF(0.3), DATA))
    solution = InteriorPoint(tol=1e-18).solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.remainder is not None
    alpha, mu = (
        [Fraction(a) + Fraction(b) for a, b in zip(*pair, strict=True)]
        for pair in zip(solution.point, solution.remainder, strict=True)
    )
    exact, value = exact_gap(problem, alpha, mu)
    assert 0 <= exact <= Fraction(1, 10**17) * abs(value)
    for low, a, up in zip(problem.lower, alpha, problem.upper, strict=True):
        assert Fraction(low) <= a <= Fraction(up)
    for row, d in zip(problem.A, problem.d, strict=True):
        residual = sum(Fraction(k) * a for k, a in zip(row, alpha, strict=True)) - Fraction(d)
        assert abs(residual) <= Fraction(1, 10**24) * sum(abs(a) for a in alpha)
    certificate = optimality(problem, *solution.point, remainder=solution.remainder)
    assert certificate.gap == pytest.approx(float(exact), rel=1e-3, abs=1e-24 * abs(float(value)))
    doubles, _ = exact_gap(problem, [Fraction(a) for a in solution.alpha], [Fraction(m) for m in solution.mu])
    assert doubles > 100 * exact


def exact_gap(problem, alpha, mu):
    Q, K = problem.Q, problem.Q.kernel_matrix()
    sign = [int(s) for s in Q.sign]
    beta = [sum(sign[i + Q.n * k] * alpha[i + Q.n * k] for k in range(Q.slots)) for i in range(Q.n)]
    used = [j for j in range(Q.n) if beta[j] != 0]
    f = [sum(Fraction(K[i, j]) * beta[j] for j in used) for i in range(Q.n)]
    gap = value = Fraction(0)
    for v, a in enumerate(alpha):
        slope = sign[v] * f[v % Q.n] + Fraction(problem.p[v])
        value += a * (slope + Fraction(problem.p[v])) / 2
        r = slope + sum(Fraction(row[v]) * m for row, m in zip(problem.A, mu, strict=True))
        gap += r * (a - Fraction(problem.lower[v] if r > 0 else problem.upper[v]))
    return gap, value


def test_no_refinement_if_double_precision_is_sufficient():
    problem = f.CSVC(SIGN, ONE).build(open_access(RBF(0.3), DATA))
    assert InteriorPoint().solve(problem).remainder is None


def test_refinement_of_another_point_is_not_worse():
    problem = f.CSVC(SIGN, ONE).build(open_access(RBF(0.3), DATA))
    K = problem.Q.kernel_matrix()
    middle, mu = np.full(60, 0.5), np.zeros(1)
    gradient = problem.gradient(middle)
    refined = refine_iteratively(problem, K, middle, mu, 1e-10)
    assert refined.gap <= optimality(problem, middle, mu, gradient).gap * (1 + 1e-12)


def test_singular_system_of_duplicates_is_refined():
    X = np.concatenate([DATA, DATA[:20]])
    y = np.concatenate([TARGET, TARGET[:20]])
    problem = f.SVR(y, 1e4 * np.ones(80), 0.05).build(open_access(RBF(0.3), X))
    solution = InteriorPoint(tol=1e-15).solve(problem)
    assert solution.remainder is not None
    assert optimality(problem, *solution.point, remainder=solution.remainder).relative_gap <= 1e-15


@pytest.mark.parametrize("name", FORMULATIONS)
def test_gradient_belongs_to_the_point_in_double_precision(name):
    """With the gradient of the double-double point, the certificate of the rounded point would be too small."""
    problem = FORMULATIONS[name].build(open_access(RBF(0.3), DATA))
    solution = InteriorPoint(tol=1e-18).solve(problem)
    assert solution.remainder is not None
    fitted = optimality(problem, *solution.point, solution.gradient)
    exact_certificate = optimality(problem, *solution.point)
    assert exact_certificate.gap > 0
    assert fitted.gap == pytest.approx(exact_certificate.gap, rel=0.9)


def test_certificate_of_a_model_is_that_of_double_precision():
    model = SVR(C=1e4, gamma=0.3, epsilon=0.1, solver="interior_point").fit(DATA, TARGET)
    fitted, exact_certificate = model.certificate_, model.certify(DATA, TARGET)
    # `certify` sums more accurately than the fit: only the gaps without rounding errors are comparable.
    gap, exact_gap = (certificate.gap - certificate.rounding for certificate in (fitted, exact_certificate))
    assert 0.1 * exact_gap <= gap <= 10 * exact_gap
    assert max(fitted.dual, exact_certificate.dual) <= min(fitted.primal, exact_certificate.primal)
