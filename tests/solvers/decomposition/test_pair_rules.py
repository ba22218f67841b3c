"""All rules for the pair of an SMO step lead to the same optimum, for every formulation.      docs/math (801)–(804)"""

import numpy as np
import pytest
from sklearn.base import clone

import hinge
from hinge.problems import Status, certify
from hinge.solvers import SMO
from hinge.solvers.decomposition.smo import PAIR_RULES
from reference.data_sets import binary_data, regression_data
from reference.qp import dense_matrix, solve_with_clarabel
from solvers.cases import FORMULATIONS, make_problem

SWEEPS = PAIR_RULES[2:]


@pytest.mark.parametrize("rule", PAIR_RULES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_the_optimum_is_that_of_clarabel(name, rule):
    problem = make_problem(name, 80, seed=3, C=2.0)
    solution = SMO(rule=rule, tol=1e-8, polish=False).solve(problem)
    optimum = solve_with_clarabel(
        dense_matrix(problem.Q), problem.p, problem.A, problem.d, problem.lower, problem.upper
    )
    value = 0.5 * solution.alpha @ (problem.Q.matvec(solution.alpha)) + problem.p @ solution.alpha
    assert solution.status is Status.SOLVED
    assert value == pytest.approx(optimum.value, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("rule", PAIR_RULES[1:])
@pytest.mark.parametrize("data", binary_data())
def test_classifiers_do_not_depend_on_the_rule(data, rule):
    X, y = binary_data()[data]
    for estimator in (hinge.SVC(C=5.0), hinge.NuSVC(nu=0.2), hinge.SVC(loss="squared_hinge")):
        fits = [hinge_fit(estimator, r, X, y) for r in ("second_order", rule)]
        np.testing.assert_allclose(fits[0].decision_function(X), fits[1].decision_function(X), atol=1e-6)
        assert fits[1].certificate_.relative_gap < 1e-6


@pytest.mark.parametrize("rule", PAIR_RULES[1:])
@pytest.mark.parametrize("data", regression_data())
def test_regressors_do_not_depend_on_the_rule(data, rule):
    X, y = regression_data()[data]
    fits = [hinge_fit(hinge.SVR(C=2.0, epsilon=0.1), r, X, y) for r in ("second_order", rule)]
    np.testing.assert_allclose(fits[0].predict(X), fits[1].predict(X), atol=1e-6)


def hinge_fit(estimator, rule, X, y):
    return clone(estimator).set_params(solver=SMO(rule=rule, tol=1e-9)).fit(X, y)


@pytest.mark.parametrize("rule", SWEEPS)
def test_duplicates_and_zero_curvature_do_not_stop_the_sweeps(rule):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(15, 2)), 4, axis=0)
    y = rng.choice([-1, 1], size=60)
    model = hinge.SVC(kernel="linear", C=3.0, solver=SMO(rule=rule, tol=1e-6, polish=False)).fit(X, y)
    best = hinge.SVC(kernel="linear", C=3.0, tol=1e-10).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.dual == pytest.approx(best.certificate_.dual, rel=1e-6)


@pytest.mark.parametrize("rule", SWEEPS)
def test_shrinking_and_a_small_cache_do_not_change_the_optimum(rule):
    problem = make_problem("CSVC", 600, seed=1, C=10.0)
    values = []
    for shrinking, cache in ((True, 100.0), (False, 100.0), (True, 0.02)):
        solver = SMO(rule=rule, tol=1e-6, shrinking=shrinking, cache_size=cache, polish=False)
        solution = solver.solve(problem)
        assert solution.status is Status.SOLVED
        values.append(0.5 * solution.alpha @ problem.Q.matvec(solution.alpha) + problem.p @ solution.alpha)
    assert np.ptp(values) <= 1e-6 * abs(values[0])


@pytest.mark.parametrize("sticky", [1, 20, 10**9])
@pytest.mark.parametrize("rule", PAIR_RULES)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_sticky_samples_do_not_change_the_optimum(name, rule, sticky):
    """LwK 10.1.4: they stay fixed for some steps only, and are checked before the end."""
    problem = make_problem(name, 80, seed=4, C=2.0)
    solver = SMO(rule=rule, tol=1e-8, polish=False, sticky=sticky)
    solution, plain = solver.solve(problem), SMO(tol=1e-8, polish=False).solve(problem)
    assert solution.status is Status.SOLVED
    values = [0.5 * s.alpha @ problem.Q.matvec(s.alpha) + problem.p @ s.alpha for s in (solution, plain)]
    assert values[0] == pytest.approx(values[1], rel=1e-7, abs=1e-7)


def test_sticky_samples_are_left_out_of_the_steps():
    """With shrinking, small caches and few steps too; a limit of the steps reports the violation of all samples."""
    problem = make_problem("OneClass", 200, seed=1)
    steps = set()
    for sticky in (0, 5, 500):
        for shrinking, cache in ((True, 100.0), (False, 0.02)):
            solver = SMO(rule="platt", tol=1e-6, shrinking=shrinking, cache_size=cache, polish=False, sticky=sticky)
            solution = solver.solve(problem)
            assert solution.status is Status.SOLVED
            assert certify(problem, *solution.point).relative_gap < 1e-4
        steps.add(solution.iterations)
        stopped = SMO(rule="platt", tol=1e-6, polish=False, sticky=sticky, max_iter=100).solve(problem)
        assert stopped.status is Status.MAX_ITER
        violation = certify(problem, *stopped.point).kkt_violation  # from the midpoint of the thresholds
        assert violation <= stopped.history.violation[-1] * (1 + 1e-9) <= 2.001 * violation
    assert len(steps) == 3
    for sticky in (-1, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="sticky"):
            SMO(sticky=sticky)


def test_the_rules_choose_different_pairs():
    problem = make_problem("CSVC", 200, seed=2, C=10.0)
    steps = [SMO(rule=rule, tol=1e-4, polish=False).solve(problem).iterations for rule in PAIR_RULES]
    assert len(set(steps)) == len(steps)
    assert steps[0] == min(steps)  # the second-order rule needs the fewest steps on this problem


def test_an_unknown_rule_is_rejected():
    with pytest.raises(ValueError, match="rule='third_order' must be one of 'second_order'"):
        SMO(rule="third_order")
