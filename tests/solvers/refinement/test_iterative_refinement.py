"""Solutions in pairs of doubles: gaps below what rounding α makes of one."""

from fractions import Fraction

import numpy as np
import pytest

from hinge import SVR, losses
from hinge import formulations as f
from hinge.kernels import RBF, open_access
from hinge.problems import Status, certify
from hinge.solvers import InteriorPoint
from hinge.solvers.refinement.iterative_refinement import refine_iteratively

DATA = np.random.default_rng(0).normal(size=(60, 3))
TARGET = np.sin(DATA[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=60)
SIGN = np.where(TARGET > 0, 1.0, -1.0)
ONE = np.ones(60)
MACHINES = {
    "hinge": f.CSVC(SIGN, 1e4 * ONE),
    "epsilon-insensitive": f.SVR(TARGET, 1e4 * ONE, 0.1),
    "Laplace": f.ConvexLoss(TARGET, 1e4 * ONE, losses.Laplace()),
    "nu-regression": f.NuSVR(TARGET, 1e4 * ONE, 0.3),
    "nu-classification": f.NuSVC(SIGN, ONE, 0.1),
}


@pytest.mark.parametrize("name", MACHINES)
def test_pairs_have_the_gap_that_doubles_cannot_have(name):
    """The gap in exact fractions: (4) with nothing rounded anywhere."""
    problem = MACHINES[name].build(open_access(RBF(0.3), DATA))
    found = InteriorPoint(tol=1e-18).solve(problem)
    assert found.status is Status.SOLVED
    assert found.remainder is not None
    alpha, mu = (
        [Fraction(a) + Fraction(b) for a, b in zip(*pair, strict=True)]
        for pair in zip(found.point, found.remainder, strict=True)
    )
    exact, value = exact_gap(problem, alpha, mu)
    assert 0 <= exact <= Fraction(1, 10**17) * abs(value)
    for low, a, up in zip(problem.lower, alpha, problem.upper, strict=True):
        assert Fraction(low) <= a <= Fraction(up)
    for row, d in zip(problem.A, problem.d, strict=True):
        missing = sum(Fraction(k) * a for k, a in zip(row, alpha, strict=True)) - Fraction(d)
        assert abs(missing) <= Fraction(1, 10**24) * sum(abs(a) for a in alpha)
    certificate = certify(problem, *found.point, remainder=found.remainder)
    assert certificate.gap == pytest.approx(float(exact), rel=1e-3, abs=1e-24 * abs(float(value)))
    doubles, _ = exact_gap(problem, [Fraction(a) for a in found.alpha], [Fraction(m) for m in found.mu])
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


def test_doubles_that_are_good_enough_stay_alone():
    problem = f.CSVC(SIGN, ONE).build(open_access(RBF(0.3), DATA))
    assert InteriorPoint().solve(problem).remainder is None


def test_a_wrong_point_is_not_made_worse():
    problem = f.CSVC(SIGN, ONE).build(open_access(RBF(0.3), DATA))
    K = problem.Q.kernel_matrix()
    middle, mu = np.full(60, 0.5), np.zeros(1)
    gradient = problem.gradient(middle)
    finer = refine_iteratively(problem, K, middle, mu, 1e-10)
    assert finer.gap <= certify(problem, middle, mu, gradient).gap * (1 + 1e-12)


def test_duplicates_leave_the_system_singular_and_the_gap_zero():
    X = np.concatenate([DATA, DATA[:20]])
    y = np.concatenate([TARGET, TARGET[:20]])
    problem = f.SVR(y, 1e4 * np.ones(80), 0.05).build(open_access(RBF(0.3), X))
    found = InteriorPoint(tol=1e-15).solve(problem)
    assert found.remainder is not None
    assert certify(problem, *found.point, remainder=found.remainder).relative_gap <= 1e-15


@pytest.mark.parametrize("name", MACHINES)
def test_the_gradient_is_that_of_the_doubles(name):
    """It was that of the pairs, and with it the certificate of the doubles claimed a gap of exactly zero."""
    problem = MACHINES[name].build(open_access(RBF(0.3), DATA))
    found = InteriorPoint(tol=1e-18).solve(problem)
    assert found.remainder is not None
    claimed, true = certify(problem, *found.point, found.gradient), certify(problem, *found.point)
    assert true.gap > 0
    assert claimed.gap == pytest.approx(true.gap, rel=0.9)


def test_a_model_claims_no_more_than_its_doubles_have():
    model = SVR(C=1e4, gamma=0.3, epsilon=0.1, solver="interior_point").fit(DATA, TARGET)
    claimed, true = model.certificate_, model.certify(DATA, TARGET)
    assert 0.1 * true.gap <= claimed.gap <= 10 * true.gap
