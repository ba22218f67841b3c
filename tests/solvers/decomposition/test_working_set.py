"""WorkingSet: agreement with SMO, independence of threads and cache size, selection rules."""

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC, SVR
from hinge.kernels import RBF, open_access
from hinge.problems import optimality
from hinge.solvers import SMO, WorkingSet
from solvers.cases import dense

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 6))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X)) > 0, 1.0, -1.0)


def make_problem(kind):
    cost = np.full(len(X), 5.0)
    formulation = CSVC(y, cost) if kind == "SVC" else SVR(X[:, 0] * X[:, 1], cost, 0.1)
    return formulation.build(open_access(RBF(0.3), X))


@pytest.mark.parametrize("kind", ["SVC", "SVR"])
@pytest.mark.parametrize("size", [2, 50, 0])
def test_reaches_the_value_of_smo(kind, size):
    problem = make_problem(kind)
    smo = SMO(tol=1e-4, polish=False).solve(problem)
    solution = WorkingSet(tol=1e-4, size=size, polish=False).solve(problem)
    assert solution.status is Status.SOLVED
    assert problem.value(solution.alpha) == pytest.approx(problem.value(smo.alpha), rel=1e-5)
    assert optimality(problem, *solution.point).kkt_violation <= 1.01e-4


@pytest.mark.parametrize("kind", ["SVC", "SVR"])
def test_result_does_not_depend_on_threads(kind):
    one, two = (WorkingSet(threads=threads, polish=False).solve(make_problem(kind)) for threads in (1, 2))
    assert one.alpha.tobytes() == two.alpha.tobytes()
    assert one.gradient.tobytes() == two.gradient.tobytes()


def test_small_cache_needs_more_rows_and_gives_the_same_value():
    problem = make_problem("SVC")
    large, small = (WorkingSet(cache_size=size, tol=1e-4, polish=False).solve(problem) for size in (100, 0.1))
    assert small.counters["row_misses"] > large.counters["row_misses"]
    assert problem.value(small.alpha) == pytest.approx(problem.value(large.alpha), rel=1e-6)


def test_limits_are_respected_and_reported():
    stopped = WorkingSet(max_iter=7, size=10, polish=False).solve(make_problem("SVC"))
    assert stopped.status is Status.MAX_ITER
    assert stopped.iterations == 7
    assert WorkingSet(max_time=0.0, polish=False).solve(make_problem("SVC")).status is Status.TIME_LIMIT


@pytest.mark.parametrize(
    "options", [{"size": 1}, {"size": -3}, {"size": 2.5}, {"threads": 0}, {"threads": 1.5}, {"max_iter": 2.5}]
)
def test_invalid_options_are_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        WorkingSet(**options)


@pytest.mark.parametrize(("rule", "second"), [("gradient", 1), ("gap", 2), ("multiplier", 3)])
def test_rules_select_the_samples_of_table_10_1(rule, second):
    """Σα fixed, Q = I, offset 0. Samples 0 and 4 have the largest gradients and are always selected.

    One more sample is selected in each direction: the one with the next gradient (2, distance to the bound 0.2), the
    largest product of gradient and distance (1 · 1), or the largest distance (1.1, gradient 0.5).
    """
    gradient = np.array([-2.4, -2.0, -1.0, -0.5, 2.4, 2.0, 1.0, 0.5])
    distance = np.array([0.1, 0.2, 1.0, 1.1] * 2)
    start = np.where(gradient < 0, 2.0 - distance, distance)
    problem = dense(np.eye(8), gradient - start, np.ones((1, 8)), start.sum(), upper=2.0)
    solver = WorkingSet(tol=1e-9, size=4, rule=rule, max_iter=2, shrinking=False, polish=False)
    solution = solver.solve(problem, start=start)
    changed = np.flatnonzero(np.abs(solution.alpha - start) > 1e-12)
    assert set(changed) == {0, second, 4, 4 + second}


@pytest.mark.parametrize("rule", ["gap", "multiplier"])
def test_set_of_two_is_the_most_violating_pair_for_every_rule(rule):
    rules = rule, "gradient"
    other_rule, gradient_rule = (WorkingSet(size=2, rule=r, polish=False).solve(make_problem("SVC")) for r in rules)
    assert other_rule.alpha.tobytes() == gradient_rule.alpha.tobytes()
