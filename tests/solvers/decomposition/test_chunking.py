"""Chunking: agreement with SMO, limits, and the selection rules of LwK Table 10.1."""

import numpy as np
import pytest

from hinge import SVC, Status
from hinge.control import RunControl
from hinge.formulations import CSVC, OneClass
from hinge.kernels import RBF, Linear, Precomputed, open_access
from hinge.problems import optimality
from hinge.solvers import SMO, Chunking
from hinge.solvers.decomposition.base import RULES
from hinge.solvers.decomposition.selection import most_violating_pair, most_violating_samples, scores
from hinge.solvers.feasibility import groups_of
from solvers.cases import FORMULATIONS, assert_feasible, certified, dense, make_problem, slow_access, slow_problem


def classes(X, y, C):
    return CSVC(np.asarray(y, float), np.full(len(y), float(C))).build(open_access(Linear(), np.asarray(X, float)))


class TestSolutions:
    @pytest.mark.parametrize("name", FORMULATIONS)
    @pytest.mark.parametrize(("size", "rule"), [(30, "gradient"), (30, "gap"), (30, "multiplier"), (0, "gradient")])
    def test_solution_agrees_with_smo(self, name, size, rule):
        problem = make_problem(name, 250, C=5.0)
        smo = SMO(tol=1e-5, polish=False).solve(problem)
        solution = Chunking(tol=1e-5, size=size, rule=rule, polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert solution.exact
        assert solution.counters["chunks"] > (1 if size else 0)
        assert problem.value(solution.alpha) == pytest.approx(problem.value(smo.alpha), rel=1e-6)
        assert certified(problem, solution).kkt_violation <= 1.01e-5
        np.testing.assert_allclose(solution.gradient, problem.gradient(solution.alpha), atol=1e-10)
        assert_feasible(problem, solution.alpha)

    def test_solution_on_a_subset_of_a_kernel_matrix_agrees_with_smo(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        rows = np.arange(0, 300, 2)
        for access in (open_access(RBF(0.5), X), open_access(Precomputed(), RBF(0.5)(X))):
            problem = CSVC(y[rows], np.ones(150)).build(access.subset(rows))
            solution, smo = Chunking(tol=1e-6, size=10, polish=False).solve(problem), SMO(tol=1e-6).solve(problem)
            assert problem.value(solution.alpha) == pytest.approx(problem.value(smo.alpha), rel=1e-6)

    def test_solution_with_nonzero_lower_bounds_agrees_with_smo(self):
        """Variables outside of a chunk are not zero and contribute to the gradient."""
        rng = np.random.default_rng(1)
        F = rng.normal(size=(40, 40))
        problem = dense(F @ F.T, rng.normal(size=40), np.ones(40), 40.0, lower=0.5, upper=2.0)
        solution, smo = Chunking(tol=1e-8, size=4).solve(problem), SMO(tol=1e-8).solve(problem)
        assert solution.status is Status.SOLVED
        assert problem.value(solution.alpha) == pytest.approx(problem.value(smo.alpha), rel=1e-9)
        assert solution.history.best_dual <= -problem.value(smo.alpha) + 1e-8

    def test_run_stops_at_the_requested_gap(self):
        problem = make_problem("CSVC", 300, C=10.0)
        for gap in (1e-2, 1e-5):
            solution = Chunking(tol=gap, stop="gap", size=40, polish=False).solve(problem)
            assert solution.status is Status.SOLVED
            assert certified(problem, solution).relative_gap <= 1.01 * gap

    def test_estimator_with_three_classes_agrees_with_smo(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(240, 3)), np.arange(240) % 3
        X[:, 0] += y
        chunks, smo = (SVC(solver=solver, tol=1e-5).fit(X, y) for solver in ("chunking", "smo"))
        np.testing.assert_allclose(chunks.decision_function(X), smo.decision_function(X), atol=1e-3)


class TestDegenerate:
    def test_problem_in_which_all_samples_are_support_vectors_is_solved(self):
        y = np.where(np.arange(80) % 2, 1.0, -1.0)
        problem = classes(np.zeros((80, 2)), y, 1.0)
        solution = Chunking(size=10).solve(problem)
        assert solution.status is Status.SOLVED
        np.testing.assert_allclose(solution.alpha, 1.0)

    def test_duplicate_samples_do_not_change_the_optimum(self):
        X = np.repeat([[0.0], [1.0], [2.0], [3.0]], 30, axis=0)
        y = np.repeat([-1.0, -1.0, 1.0, 1.0], 30)
        solution = Chunking(tol=1e-8, size=4, polish=False).solve(classes(X, y, 5.0))
        assert solution.status is Status.SOLVED
        assert optimality(classes(X, y, 5.0), *solution.point).dual == pytest.approx(2.0, abs=1e-6)  # w = 2: ½‖w‖² = 2

    def test_separable_classes_with_infinite_bounds_are_solved(self):
        X = np.r_[np.linspace(-9, -1, 60), np.linspace(1, 9, 60)][:, None]
        problem = classes(X, np.sign(X[:, 0]), np.inf)
        solution = Chunking(tol=1e-8, size=4).solve(problem)
        assert solution.status is Status.SOLVED
        assert problem.value(solution.alpha) == pytest.approx(-0.5, abs=1e-7)  # w = 1

    def test_one_sample_is_solved(self):
        assert Chunking().solve(classes([[1.0]], [1.0], 1.0)).status is Status.SOLVED


class TestLimits:
    @pytest.mark.parametrize("steps", [0, 1, 17, 60])
    def test_iteration_limit_is_reported_with_a_feasible_point(self, steps):
        problem = make_problem("CSVC", 300, C=10.0)
        stopped = Chunking(tol=1e-9, size=20, max_iter=steps).solve(problem)
        assert (stopped.status, stopped.iterations, stopped.exact) == (Status.MAX_ITER, steps, True)
        assert_feasible(problem, stopped.alpha)

    def test_no_iteration_at_the_solution(self):
        problem = make_problem("NuSVC", 200)
        solution = Chunking(tol=1e-6).solve(problem)
        warm = Chunking(tol=1e-6, max_iter=0).solve(problem, start=solution)
        assert warm.status is Status.SOLVED
        assert warm.counters["chunks"] == 0

    def test_time_limit_is_reported(self):
        problem = slow_problem()
        stopped = Chunking(max_time=0.4, size=100).solve(problem)
        assert stopped.status is Status.TIME_LIMIT
        assert stopped.exact
        assert problem.value(stopped.alpha) < 0
        assert Chunking(max_time=0.0).solve(problem).iterations == 0

    def test_time_limit_is_respected_with_a_slow_kernel(self):
        problem = OneClass(np.ones(300), 0.5).build(slow_access(300, 0.004))
        stopped = Chunking(max_time=0.1, size=10).solve(problem)
        assert stopped.status is Status.TIME_LIMIT
        assert stopped.alpha.sum() == pytest.approx(150)

    def test_callback_is_called_and_can_stop_the_run(self):
        snapshots = []
        until_three = lambda snapshot: snapshots.append(snapshot) or len(snapshots) < 3  # noqa: E731
        stopped = Chunking(max_time=30.0, size=100).solve(slow_problem(), control=RunControl(callback=until_three))
        assert stopped.status is Status.INTERRUPTED
        assert len(snapshots) == 3
        assert np.all(np.diff([s["seconds"] for s in snapshots]) > 0)
        assert np.all(np.diff([s["iteration"] for s in snapshots]) >= 0)
        assert all(set(s) == set(snapshots[0]) for s in snapshots)

    def test_exception_of_a_callback_is_returned(self):
        error = RuntimeError("enough")

        def callback(snapshot):
            raise error

        stopped = Chunking(max_time=30.0, size=100).solve(slow_problem(), control=RunControl(callback=callback))
        assert (stopped.status, stopped.error) == (Status.INTERRUPTED, error)

    def test_history_contains_chunks_and_full_checks(self):
        problem = make_problem("CSVC", 400, C=5.0)
        history = Chunking(tol=1e-5, size=40, polish=False).solve(problem).history
        assert np.all(np.diff(history.iteration) >= 0)
        assert np.all(np.diff(history.seconds) >= -1e-3)
        assert history.exact.any()
        assert not history.exact.all()
        assert np.all(history.active[history.exact] == 400)
        assert history.best_dual <= history.best_primal * (1 + 1e-12)

    @pytest.mark.parametrize("options", [{"size": 1}, {"rule": "luck"}, {"threads": 0}, {"tol": 0.0}])
    def test_invalid_options_are_named(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            Chunking(**options)


class TestRules:
    """Scores of Table 10.1 for six samples with C = 1."""

    margin = np.array([0.9, 0.2, -1.0, 1.5, 3.0, 1.0])
    alpha = np.array([0.0, 0.5, 0.9, 0.8, 0.0, 0.4])

    @pytest.mark.parametrize(
        ("rule", "expected"),
        [
            ("gap", [0.1, 0.4, 0.2, 0.4, 0.0, 0.0]),
            ("gradient", [0.1, 0.8, 2.0, 0.5, 0.0, 0.0]),
            ("multiplier", [1.0, 0.5, 0.1, 0.8, 0.0, 0.0]),
        ],
    )
    def test_scores_of_six_samples(self, rule, expected):
        solution = scores(rule, dense(np.eye(6), np.zeros(6)), self.alpha, self.margin - 1)
        np.testing.assert_allclose(solution, expected, atol=1e-15)

    @pytest.mark.parametrize("rule", RULES)
    def test_scores_agree_with_the_formulas(self, rule):
        rng = np.random.default_rng(0)
        problem = dense(np.eye(500), np.zeros(500), upper=2.0)
        alpha = np.clip(rng.uniform(-1, 3, 500), 0, 2)
        margin = rng.normal(size=500)
        below, above = np.maximum(0, 1 - margin), np.maximum(0, margin - 1)
        table = {
            "gap": (2 - alpha) * below + alpha * above,
            "gradient": (alpha < 2) * below + (alpha > 0) * above,
            "multiplier": (2 - alpha) * (margin < 1) + alpha * (margin > 1),
        }
        np.testing.assert_allclose(scores(rule, problem, alpha, margin - 1), table[rule], atol=1e-15)

    @pytest.mark.parametrize("rule", RULES)
    def test_score_is_the_gradient_with_infinite_bounds(self, rule):
        problem = dense(np.eye(2), np.zeros(2), upper=np.inf)
        np.testing.assert_array_equal(scores(rule, problem, np.zeros(2), np.array([-3.0, 2.0])), [3.0, 0.0])

    def test_selection_is_balanced_between_directions(self):
        """Equal numbers of increasing and decreasing variables, unless one direction has too few candidates."""
        y = np.r_[np.ones(20), -np.ones(20)]
        problem = classes(np.zeros((40, 1)), y, 1.0)
        group, residual = groups_of(problem), -np.linspace(2, 1, 40)
        score = scores("gradient", problem, np.zeros(40), residual)
        solution = most_violating_samples(problem, group, score, residual, np.ones(40, bool), 10)
        np.testing.assert_array_equal(solution, np.r_[0:5, 20:25])
        candidates = np.r_[np.ones(20, bool), np.zeros(18, bool), np.ones(2, bool)]
        solution = most_violating_samples(problem, group, score, residual, candidates, 10)
        np.testing.assert_array_equal(solution, np.r_[0:8, 38:40])

    def test_pair_of_the_largest_violation_is_selected(self):
        y = np.array([1.0, 1.0, -1.0, -1.0])
        problem = classes(np.zeros((4, 1)), y, 1.0)
        worst = most_violating_pair(problem, groups_of(problem), np.zeros(4), np.array([-1.0, -3.0, -0.5, -2.0]))
        assert worst.violation == 5.0
        np.testing.assert_array_equal(worst.samples, [1, 3])
