"""The linear programming solver: centering of functions far from zero, and termination."""

import numpy as np
import pytest

from hinge.problems import LPProblem, Status, certify_lp
from hinge.solvers import LinearProgramming


def program(seed, shift=0.0):
    """A regression problem whose functions are shifted by multiples of `shift`."""
    rng = np.random.default_rng(seed)
    n = 25
    ones = np.ones(n)
    design = np.exp(-np.square(rng.normal(size=(n, 12)))) + shift * np.arange(1, 13)
    return LPProblem(design, rng.normal(size=n), -3 * ones, 3 * ones, 0.1 * ones, np.full(12, 0.5))


@pytest.mark.parametrize("seed", range(3))
def test_a_shift_of_the_functions_changes_the_offset_only(seed):
    plain, far = program(seed), program(seed, shift=2.0**20)
    first, second = LinearProgramming().solve_lp(plain), LinearProgramming().solve_lp(far)
    assert first.status is second.status is Status.SOLVED
    a = first.coefficients
    np.testing.assert_allclose(second.coefficients, a, atol=1e-4 * np.max(np.abs(a)))
    np.testing.assert_allclose(second.offset, first.offset - 2.0**20 * (np.arange(1, 13) @ a), rtol=1e-5)
    np.testing.assert_allclose(second.beta, first.beta, atol=1e-4)
    bounds = certify_lp(far, second.coefficients, second.offset, second.beta)
    optimum = certify_lp(plain, a, first.offset, first.beta)
    assert bounds.dual <= optimum.primal
    assert optimum.dual <= bounds.primal


def test_the_iterations_are_limited_without_max_iter(monkeypatch):
    """HiGHS may cycle; a run that reaches the limit reports it."""
    monkeypatch.setattr("hinge.solvers.linear.programming.MIN_MAX_ITER", 1)
    monkeypatch.setattr("hinge.solvers.linear.programming.MAX_ITER_PER_VARIABLE", 0)
    solution = LinearProgramming().solve_lp(program(0))
    assert solution.status is Status.MAX_ITER
    assert np.isfinite(solution.coefficients).all()
    assert np.isfinite(solution.offset)
