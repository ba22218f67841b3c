"""Auto: which of its two methods has the last word."""

import signal
from dataclasses import replace

import numpy as np
import pytest

from hinge import Status
from hinge.control import RunControl
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import RBF, Linear, Polynomial, Precomputed, open_access
from hinge.losses import Logistic
from hinge.problems import Quadratic, certify
from hinge.solvers import SMO, Auto, InteriorPoint, LowRankInteriorPoint, WorkingSet, auto, decide
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


def creeping():
    """Unscaled data: SMO alone does not get there."""
    return CSVC(y, np.full(len(y), 1e4)).build(open_access(Linear(), X))


def test_goes_on_where_smo_creeps():
    problem = creeping()
    assert SMO(tol=1e-6, max_iter=30_000).solve(problem).status is Status.MAX_ITER
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.SOLVED
    assert len(found.history) > 0
    assert found.iterations > 20_000


@pytest.mark.parametrize("status", [Status.TIME_LIMIT, Status.INTERRUPTED])
def test_an_interior_point_cut_short_does_not_replace_smo(monkeypatch, status):
    problem = creeping()
    budget = 20_000 + len(y) ** 2 // 4
    by_smo = WorkingSet(tol=1e-6, max_iter=budget).solve(problem)

    def cut_short(self, problem, control=None):
        return replace(by_smo, alpha=np.zeros_like(by_smo.alpha), status=status)

    monkeypatch.setattr(InteriorPoint, "solve_unverified", cut_short)
    found = Auto(tol=1e-6, max_time=60.0).solve(problem)
    assert found.status is status
    np.testing.assert_array_equal(found.alpha, by_smo.alpha)


def test_a_small_gap_far_from_tol_is_not_called_solved(monkeypatch):
    """An interior point that could be neither polished nor carried to the bounds."""
    problem = creeping()
    rough = replace(WorkingSet(tol=1e-6, max_iter=100).solve(problem), status=Status.SOLVED)
    monkeypatch.setattr(InteriorPoint, "solve_unverified", lambda self, problem, control=None: rough)
    monkeypatch.setattr(Auto, "_dense_budget", lambda self, problem: 10)
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.NUMERICAL
    np.testing.assert_array_equal(found.alpha, rough.alpha)


def flat(m=2500, C=1e3, seed=3):
    """Many samples of few features with a large C: working sets creep, and the matrix has rank 3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3)) * [1.0, 10.0, 0.1]
    y = np.where(X[:, 0] + 0.1 * X[:, 1] + rng.normal(size=m) > 0, 1.0, -1.0)
    return CSVC(y, np.full(m, C)).build(open_access(Linear(), X))


def test_a_small_rank_takes_over_where_working_sets_creep():
    problem = flat()
    steps = int(steps_before_factor(problem))
    assert known_rank(problem) == 3
    assert WorkingSet(tol=1e-6, max_iter=steps).solve(problem).status is Status.MAX_ITER
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.SOLVED
    assert steps <= found.iterations <= 1.1 * steps  # working sets may finish what interior point has found
    certificate = certify(problem, *found.point)
    assert certificate.kkt_violation <= 1e-6
    assert certificate.relative_gap <= 1e-9
    assert any("rank 3" in reason for reason in decide(Auto(tol=1e-6), [problem]).reasons)


def test_only_linear_kernels_of_few_features_have_a_known_rank():
    problem = flat(m=50)
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
def test_polynomials_have_the_rank_of_their_monomials(kernel, rank):
    """Given as a matrix, the same kernel is probed."""
    access = open_access(kernel, np.random.default_rng(0).normal(size=(700, 3)))
    problem = CSVC(np.resize([1.0, -1.0], 700), np.ones(700)).build(access)
    assert known_rank(problem) == rank
    matrix = replace(problem, Q=Quadratic(open_access(Precomputed(), problem.Q.kernel_matrix()), problem.Q.sign))
    assert known_rank(matrix) is None
    assert estimated_rank(matrix) == rank


@pytest.mark.parametrize(("kernel", "most"), [(RBF(2.0), None), (RBF(1e-9), 10)])
def test_the_rank_of_other_kernels_is_probed(kernel, most):
    """An RBF so wide that rounding hides all but its second order."""
    access = open_access(kernel, np.random.default_rng(0).normal(size=(700, 3)))
    problem = CSVC(np.resize([1.0, -1.0], 700), np.ones(700)).build(access)
    found = estimated_rank(problem)
    assert found is None if most is None else 0 < found <= most


def test_kernels_of_a_rank_that_a_probe_finds_are_factored(monkeypatch):
    monkeypatch.setattr("hinge.solvers.interior_point.rank.STEPS_BEFORE_ESTIMATE", 20)
    data = np.random.default_rng(5)
    X = data.normal(size=(2100, 3))
    sign = np.where(X[:, 0] * X[:, 1] + 0.5 * data.normal(size=2100) > 0, 1.0, -1.0)
    K = open_access(Polynomial(degree=2, gamma=1.0, coef0=1.0), X).block(np.arange(2100), np.arange(2100))
    problem = CSVC(sign, np.full(2100, 100.0)).build(open_access(Precomputed(), K))
    found = Auto(tol=1e-6).solve(problem)
    assert found.status is Status.SOLVED
    certificate = certify(problem, *found.point)
    assert certificate.kkt_violation <= 1e-6 * max(1.0, np.abs(problem.Q.diagonal()).max())
    assert certificate.relative_gap <= 1e-8
    reasons = decide(Auto(tol=1e-6), [problem]).reasons
    assert any("has rank 10" in reason for reason in reasons)


def test_a_high_rank_is_said_and_working_sets_go_on(monkeypatch):
    monkeypatch.setattr("hinge.solvers.interior_point.rank.STEPS_BEFORE_ESTIMATE", 1)
    data = np.random.default_rng(1)
    X = data.normal(size=(2100, 5))
    y = np.where(X[:, 0] + data.normal(size=2100) > 0, 1.0, -1.0)
    problem = CSVC(y, np.full(2100, 10.0)).build(open_access(RBF(0.5), X))
    found = Auto(tol=1e-3).solve(problem)
    assert found.status is Status.SOLVED
    assert found.iterations > 2100
    assert certify(problem, *found.point).kkt_violation <= 1.01e-3
    assert any("a factor does not help" in reason for reason in decide(Auto(), [problem]).reasons)


def test_curved_losses_of_many_samples_go_to_the_factor():
    """The matrix of 2,050 samples would do as well; that of 50,000 would not fit."""
    linear = flat(m=2050, C=1.0)
    problem = ConvexLoss(linear.Q.sign, np.ones(2050), Logistic()).build(linear.Q.access)
    found = Auto().solve(problem)
    assert found.status is Status.SOLVED
    assert certify(problem, *found.point).relative_gap <= 1e-8
    explanation = decide(Auto(), [problem])
    assert explanation.solver == "low_rank_interior_point"
    assert any("rank 3" in reason for reason in explanation.reasons)


@pytest.fixture
def ctrl_c():
    """A signal that is raised when a function is called for the first time."""
    before, once = signal.signal(signal.SIGINT, signal.default_int_handler), [signal.SIGINT]

    def pressed(function):
        def first_the_signal(*args, **options):
            if once:
                signal.raise_signal(once.pop())
            return function(*args, **options)

        return first_the_signal

    yield pressed
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.mark.parametrize("place", ["solution_of", "estimated_rank", "exact_factorization", "LowRankInteriorPoint"])
def test_a_signal_between_two_methods_keeps_the_first(monkeypatch, ctrl_c, place):
    """Also where no solver listens: after the first one, while the rank is looked for, or before the second."""
    module = auto if hasattr(auto, place) else working_set
    monkeypatch.setattr(module, place, ctrl_c(getattr(module, place)))
    problem = flat()
    one, two = Auto().solve_batch([problem, problem])
    assert one.status is Status.INTERRUPTED
    assert isinstance(one.error, KeyboardInterrupt)
    assert np.any(one.alpha != 0)
    assert np.all((one.alpha >= problem.lower) & (one.alpha <= problem.upper))
    assert certify(problem, *one.point).dual > 0
    assert two.status is Status.INTERRUPTED  # and nothing is begun after it
    assert two.error is one.error
    assert np.any(two.alpha != 0)


def test_a_signal_when_all_is_done_is_told(monkeypatch, ctrl_c):
    """The answer is there, and the caller has something to raise."""
    problem = make_problem("CSVC", 60)
    monkeypatch.setattr(working_set, "solution_of", ctrl_c(working_set.solution_of))
    found = Auto().solve(problem)
    assert found.status is Status.SOLVED
    assert isinstance(found.error, KeyboardInterrupt)


def test_a_run_on_the_factor_that_is_stopped_does_not_compute_a_gradient(monkeypatch):
    """A product with all of K takes n² and hears nobody; the factor leaves nothing of K, and has the gradient."""
    problem = flat()
    monkeypatch.setattr(type(problem), "gradient", lambda self, alpha: pytest.fail("n² more"))
    solver = LowRankInteriorPoint(approximation=exact_factorization(problem), tol=1e-10)
    found = solver.solve(problem, None, RunControl(callback=lambda record: False))
    assert found.status is Status.INTERRUPTED
