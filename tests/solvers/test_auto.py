"""Auto: changes of the solver, ranks of kernel matrices, interrupts between solvers."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from hinge import Status
from hinge.control import RunControl
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import RBF, Linear, Polynomial, Precomputed, open_access
from hinge.losses import Logistic
from hinge.problems import Quadratic, optimality
from hinge.solvers import SMO, Auto, InteriorPoint, LowRankInteriorPoint, WorkingSet, auto, choose, decide
from hinge.solvers.decomposition import working_set
from hinge.solvers.interior_point.rank import (
    estimated_rank,
    exact_factorization,
    is_factorable,
    known_rank,
    steps_before_factor,
)
from solvers.cases import make_problem

rng = np.random.default_rng(0)
X = 100 * rng.normal(size=(18, 3))
y = np.where(X[:, 0] + 60 * rng.normal(size=18) > 0, 1.0, -1.0)


def unscaled_problem():
    """Unscaled data, for which SMO converges slowly."""
    return CSVC(y, np.full(len(y), 1e4)).build(open_access(Linear(), X))


def test_interior_point_continues_where_smo_is_slow():
    problem = unscaled_problem()
    assert SMO(tol=1e-6, max_iter=30_000).solve(problem).status is Status.MAX_ITER
    solution = Auto(tol=1e-6).solve(problem)
    assert solution.status is Status.SOLVED
    assert len(solution.history) > 0
    assert solution.iterations >= auto.step_budget(len(y))


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_stopped_interior_point_does_not_replace_smo(monkeypatch, status):
    problem = unscaled_problem()
    budget = auto.step_budget(len(y))
    from_smo = WorkingSet(tol=1e-6, max_iter=budget).solve(problem)

    def stopped(self, problem, control=None):
        return replace(from_smo, alpha=np.zeros_like(from_smo.alpha), status=status)

    monkeypatch.setattr(InteriorPoint, "solve_unverified", stopped)
    solution = Auto(tol=1e-6, max_time=60.0).solve(problem)
    assert solution.status is status
    np.testing.assert_array_equal(solution.alpha, from_smo.alpha)


def test_gap_above_tol_is_not_reported_as_solved(monkeypatch):
    """The interior-point solution could not be polished or moved to the bounds."""
    problem = unscaled_problem()
    inexact = replace(WorkingSet(tol=1e-6, max_iter=100).solve(problem), status=Status.SOLVED)
    monkeypatch.setattr(InteriorPoint, "solve_unverified", lambda self, problem, control=None: inexact)
    monkeypatch.setattr(Auto, "_dense_budget", lambda self, problem: 10)
    solution = Auto(tol=1e-6).solve(problem)
    assert solution.status is Status.NUMERICAL
    np.testing.assert_array_equal(solution.alpha, inexact.alpha)


def low_rank_problem(m=2500, C=1e3, seed=3):
    """Many samples of few features with a large C: the matrix has rank 3, and working sets converge slowly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)) * [1.0, 10.0, 0.1]
    y = np.where(X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=m) > 0, 1.0, -1.0)
    return CSVC(y, np.full(m, C)).build(open_access(Linear(), X))


@pytest.mark.parametrize("tol", [1e-3, 1e-13])
def test_convex_losses_are_solved_to_the_tolerance_of_the_interior_point_method_by_name(tol):
    problem = ConvexLoss(y, np.full(len(y), 10.0), Logistic()).build(open_access(RBF(gamma=1e-4), X))
    named, automatic = (choose(name, tol=tol).solve(problem) for name in ("interior_point", "auto"))
    assert automatic.iterations == named.iterations
    assert np.array_equal(automatic.alpha, named.alpha)


def test_requested_gap_reaches_the_interior_point_method(monkeypatch):
    gaps = []
    solve = InteriorPoint.solve_unverified

    def spy(self, problem, control=None):
        gaps.append(self.tol)
        return solve(self, problem, control)

    monkeypatch.setattr(InteriorPoint, "solve_unverified", spy)
    Auto(tol=1e-12, stop="gap").solve(unscaled_problem())
    assert gaps == [1e-12]


def test_low_rank_solver_continues_where_working_sets_are_slow():
    problem = low_rank_problem()
    steps = int(steps_before_factor(problem))
    assert known_rank(problem) == 3
    assert WorkingSet(tol=1e-6, max_iter=steps).solve(problem).status is Status.MAX_ITER
    solution = Auto(tol=1e-6).solve(problem)
    assert solution.status is Status.SOLVED
    assert steps <= solution.iterations <= 1.1 * steps  # working sets may continue after the interior-point solver
    certificate = optimality(problem, *solution.point)
    assert certificate.kkt_violation <= 1e-6
    assert certificate.relative_gap <= 1e-9
    assert any("rank 3" in reason for reason in decide(Auto(tol=1e-6), [problem]).reasons)


def test_rank_of_linear_kernels_with_few_features_is_known():
    problem = low_rank_problem(m=50)
    assert known_rank(problem) == estimated_rank(problem) == 3
    rbf = replace(problem, Q=Quadratic(open_access(RBF(1.0), rng.normal(size=(50, 3))), problem.Q.sign))
    wide = replace(problem, Q=Quadratic(open_access(Linear(), rng.normal(size=(50, 40))), problem.Q.sign))
    assert known_rank(rbf) is None
    assert known_rank(wide) is None
    assert steps_before_factor(wide) == np.inf
    assert is_factorable(problem)
    assert not is_factorable(replace(problem, upper=np.full(50, np.inf)))


@pytest.mark.parametrize(("kernel", "rank"), [
    (Polynomial(degree=2, gamma=1.0, coef0=1.0), 10), (Polynomial(degree=2, gamma=1.0, coef0=0.0), 6),
    (Polynomial(degree=3, gamma=1.0, coef0=1.0), 20),
])  # fmt: skip
def test_rank_of_polynomial_kernels_is_the_number_of_monomials(kernel, rank):
    """For the same kernel as a matrix, the rank is estimated."""
    access = open_access(kernel, np.random.default_rng(0).normal(size=(700, 3)))
    problem = CSVC(np.resize([1.0, -1.0], 700), np.ones(700)).build(access)
    assert known_rank(problem) == rank
    matrix = replace(problem, Q=Quadratic(open_access(Precomputed(), problem.Q.kernel_matrix()), problem.Q.sign))
    assert known_rank(matrix) is None
    assert estimated_rank(matrix) == rank


@pytest.mark.parametrize(("kernel", "max_rank"), [(RBF(2.0), None), (RBF(1e-9), 10)])
def test_rank_of_other_kernels_is_estimated(kernel, max_rank):
    """A wide RBF kernel is quadratic up to rounding."""
    access = open_access(kernel, np.random.default_rng(0).normal(size=(700, 3)))
    problem = CSVC(np.resize([1.0, -1.0], 700), np.ones(700)).build(access)
    rank = estimated_rank(problem)
    assert rank is None if max_rank is None else 0 < rank <= max_rank


def test_kernel_matrix_of_estimated_low_rank_is_factored(monkeypatch):
    monkeypatch.setattr("hinge.solvers.interior_point.rank.STEPS_BEFORE_ESTIMATE", 20)
    data = np.random.default_rng(5)
    X = data.normal(size=(2100, 3))
    sign = np.where(X[:, 0] * X[:, 1] + 0.5 * data.normal(size=2100) > 0, 1.0, -1.0)
    K = open_access(Polynomial(degree=2, gamma=1.0, coef0=1.0), X).block(np.arange(2100), np.arange(2100))
    problem = CSVC(sign, np.full(2100, 100.0)).build(open_access(Precomputed(), K))
    solution = Auto(tol=1e-6).solve(problem)
    assert solution.status is Status.SOLVED
    certificate = optimality(problem, *solution.point)
    assert certificate.kkt_violation <= 1e-6 * max(1.0, np.abs(problem.Q.diagonal()).max())
    assert certificate.relative_gap <= 1e-8
    reasons = decide(Auto(tol=1e-6), [problem]).reasons
    assert any("has rank 10" in reason for reason in reasons)


def test_working_sets_continue_if_the_rank_is_high(monkeypatch):
    monkeypatch.setattr("hinge.solvers.interior_point.rank.STEPS_BEFORE_ESTIMATE", 1)
    data = np.random.default_rng(1)
    X = data.normal(size=(2100, 5))
    y = np.where(X[:, 0] + data.normal(size=2100) > 0, 1.0, -1.0)
    problem = CSVC(y, np.full(2100, 10.0)).build(open_access(RBF(0.5), X))
    solution = Auto(tol=1e-3).solve(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations > 2100
    assert optimality(problem, *solution.point).kkt_violation <= 1.01e-3
    assert any("a factor does not help" in reason for reason in decide(Auto(), [problem]).reasons)


def test_convex_losses_of_many_samples_use_the_low_rank_solver():
    linear = low_rank_problem(m=2050, C=1.0)
    problem = ConvexLoss(linear.Q.sign, np.ones(2050), Logistic()).build(linear.Q.access)
    solution = Auto().solve(problem)
    assert solution.status is Status.SOLVED
    assert optimality(problem, *solution.point).relative_gap <= 1e-8
    explanation = decide(Auto(), [problem])
    assert explanation.solver == "low_rank_interior_point"
    assert any("rank 3" in reason for reason in explanation.reasons)


@pytest.fixture
def ctrl_c():
    """Decorator that raises SIGINT in the first call of a function."""
    before, once = signal.signal(signal.SIGINT, signal.default_int_handler), [signal.SIGINT]

    def interrupting(function):
        def with_signal(*args, **options):
            if once:
                signal.raise_signal(once.pop())
            return function(*args, **options)

        return with_signal

    yield interrupting
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.parametrize(
    "place", ["polished_solution", "estimated_rank", "exact_factorization", "LowRankInteriorPoint"]
)
def test_interrupt_between_two_solvers_keeps_the_first_solution(monkeypatch, ctrl_c, place):
    """Also outside of the solvers: after the first, while the rank is estimated, or before the second."""
    module = auto if hasattr(auto, place) else working_set
    monkeypatch.setattr(module, place, ctrl_c(getattr(module, place)))
    problem = low_rank_problem()
    one, two = Auto().solve_batch([problem, problem])
    assert one.status is Status.INTERRUPTED
    assert isinstance(one.error, KeyboardInterrupt)
    assert np.any(one.alpha != 0)
    assert np.all((one.alpha >= problem.lower) & (one.alpha <= problem.upper))
    assert optimality(problem, *one.point).dual > 0
    assert two.status is Status.INTERRUPTED  # no further problem is started
    assert two.error is one.error
    assert np.any(two.alpha != 0)


def test_interrupt_after_the_solution_is_returned(monkeypatch, ctrl_c):
    """The solution is complete, and the caller raises the exception."""
    problem = make_problem("CSVC", 60)
    monkeypatch.setattr(working_set, "polished_solution", ctrl_c(working_set.polished_solution))
    solution = Auto().solve(problem)
    assert solution.status is Status.SOLVED
    assert isinstance(solution.error, KeyboardInterrupt)


def test_stopped_low_rank_run_does_not_compute_the_full_gradient(monkeypatch):
    """A product with K takes O(n²) and cannot be interrupted. The exact factor gives the gradient."""
    problem = low_rank_problem()
    monkeypatch.setattr(type(problem), "gradient", lambda self, alpha: pytest.fail("O(n²) product"))
    solver = LowRankInteriorPoint(approximation=exact_factorization(problem), tol=1e-10)
    solution = solver.solve(problem, None, RunControl(callback=lambda record: False))
    assert solution.status is Status.INTERRUPTED
