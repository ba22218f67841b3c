"""Chunking: the same answer as SMO for every machine, honest limits, and the rules of LwK Table 10.1."""

import numpy as np
import pytest

from hinge import SVC, Status
from hinge.control import RunControl
from hinge.formulations import CSVC, OneClass
from hinge.kernels import RBF, Linear, Precomputed, open_access
from hinge.problems import certify
from hinge.solvers import SMO, Chunking
from hinge.solvers.decomposition.base import RULES
from hinge.solvers.decomposition.selection import most_violating_pair, most_violating_samples, scores
from hinge.solvers.feasibility import groups_of
from solvers.cases import MACHINES, assert_feasible, certified, dense, endless, machine_problem, slow_access


def classes(X, y, C):
    return CSVC(np.asarray(y, float), np.full(len(y), float(C))).build(open_access(Linear(), np.asarray(X, float)))


class TestAnswers:
    @pytest.mark.parametrize("machine", MACHINES)
    @pytest.mark.parametrize(("size", "rule"), [(30, "gradient"), (30, "gap"), (30, "multiplier"), (0, "gradient")])
    def test_are_those_of_smo(self, machine, size, rule):
        task = machine_problem(machine, 250, C=5.0)
        smo = SMO(tol=1e-5, polish=False).solve(task)
        found = Chunking(tol=1e-5, size=size, rule=rule, polish=False).solve(task)
        assert found.status is Status.SOLVED
        assert found.exact
        assert found.counters["chunks"] > (1 if size else 0)
        assert task.value(found.alpha) == pytest.approx(task.value(smo.alpha), rel=1e-6)
        assert certified(task, found).kkt_violation <= 1.01e-5
        np.testing.assert_allclose(found.gradient, task.gradient(found.alpha), atol=1e-10)
        assert_feasible(task, found.alpha)

    def test_of_a_part_of_a_matrix(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        y = np.where(X[:, 0] > 0, 1.0, -1.0)
        rows = np.arange(0, 300, 2)
        for access in (open_access(RBF(0.5), X), open_access(Precomputed(), RBF(0.5)(X))):
            task = CSVC(y[rows], np.ones(150)).build(access.subset(rows))
            found, smo = Chunking(tol=1e-6, size=10, polish=False).solve(task), SMO(tol=1e-6).solve(task)
            assert task.value(found.alpha) == pytest.approx(task.value(smo.alpha), rel=1e-6)

    def test_of_samples_that_start_away_from_zero(self):
        """Boxes without the origin: what stays outside of a chunk still pulls."""
        rng = np.random.default_rng(1)
        F = rng.normal(size=(40, 40))
        task = dense(F @ F.T, rng.normal(size=40), np.ones(40), 40.0, lower=0.5, upper=2.0)
        found, smo = Chunking(tol=1e-8, size=4).solve(task), SMO(tol=1e-8).solve(task)
        assert found.status is Status.SOLVED
        assert task.value(found.alpha) == pytest.approx(task.value(smo.alpha), rel=1e-9)
        assert found.history.best_dual <= -task.value(smo.alpha) + 1e-8

    def test_stop_on_the_gap_when_asked(self):
        task = machine_problem("CSVC", 300, C=10.0)
        for gap in (1e-2, 1e-5):
            found = Chunking(tol=gap, stop="gap", size=40, polish=False).solve(task)
            assert found.status is Status.SOLVED
            assert certified(task, found).relative_gap <= 1.01 * gap

    def test_of_an_estimator_with_three_classes(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(240, 3)), np.arange(240) % 3
        X[:, 0] += y
        chunks, smo = (SVC(solver=solver, tol=1e-5).fit(X, y) for solver in ("chunking", "smo"))
        np.testing.assert_allclose(chunks.decision_function(X), smo.decision_function(X), atol=1e-3)


class TestDegenerate:
    def test_all_samples_are_support_vectors(self):
        y = np.where(np.arange(80) % 2, 1.0, -1.0)
        task = classes(np.zeros((80, 2)), y, 1.0)
        found = Chunking(size=10).solve(task)
        assert found.status is Status.SOLVED
        np.testing.assert_allclose(found.alpha, 1.0)

    def test_duplicates(self):
        X = np.repeat([[0.0], [1.0], [2.0], [3.0]], 30, axis=0)
        y = np.repeat([-1.0, -1.0, 1.0, 1.0], 30)
        found = Chunking(tol=1e-8, size=4, polish=False).solve(classes(X, y, 5.0))
        assert found.status is Status.SOLVED
        assert certify(classes(X, y, 5.0), *found.point).dual == pytest.approx(2.0, abs=1e-6)  # w = 2: ½‖w‖² = 2

    def test_no_bound_and_separable(self):
        X = np.r_[np.linspace(-9, -1, 60), np.linspace(1, 9, 60)][:, None]
        task = classes(X, np.sign(X[:, 0]), np.inf)
        found = Chunking(tol=1e-8, size=4).solve(task)
        assert found.status is Status.SOLVED
        assert task.value(found.alpha) == pytest.approx(-0.5, abs=1e-7)  # w = 1

    def test_one_class_only_and_one_sample(self):
        assert Chunking().solve(classes([[1.0]], [1.0], 1.0)).status is Status.SOLVED


class TestLimits:
    @pytest.mark.parametrize("steps", [0, 1, 17, 60])
    def test_steps_are_counted(self, steps):
        task = machine_problem("CSVC", 300, C=10.0)
        stopped = Chunking(tol=1e-9, size=20, max_iter=steps).solve(task)
        assert (stopped.status, stopped.iterations, stopped.exact) == (Status.MAX_ITER, steps, True)
        assert_feasible(task, stopped.alpha)

    def test_none_are_needed_at_the_solution(self):
        task = machine_problem("NuSVC", 200)
        found = Chunking(tol=1e-6).solve(task)
        again = Chunking(tol=1e-6, max_iter=0).solve(task, start=found)
        assert again.status is Status.SOLVED
        assert again.counters["chunks"] == 0

    def test_seconds(self):
        task = endless()
        stopped = Chunking(max_time=0.4, size=100).solve(task)
        assert stopped.status is Status.TIME_LIMIT
        assert stopped.exact
        assert task.value(stopped.alpha) < 0
        assert Chunking(max_time=0.0).solve(task).iterations == 0

    def test_seconds_of_a_slow_kernel(self):
        task = OneClass(np.ones(300), 0.5).build(slow_access(300, 0.004))
        stopped = Chunking(max_time=0.1, size=10).solve(task)
        assert stopped.status is Status.TIME_LIMIT
        assert stopped.alpha.sum() == pytest.approx(150)

    def test_monitor_is_told_and_heard(self):
        heard = []
        until_three = lambda snapshot: heard.append(snapshot) or len(heard) < 3  # noqa: E731
        stopped = Chunking(max_time=30.0, size=100).solve(endless(), control=RunControl(callback=until_three))
        assert stopped.status is Status.INTERRUPTED
        assert len(heard) == 3
        assert np.all(np.diff([s["seconds"] for s in heard]) > 0)
        assert np.all(np.diff([s["iteration"] for s in heard]) >= 0)
        assert all(set(s) == set(heard[0]) for s in heard)

    def test_a_monitor_that_raises(self):
        error = RuntimeError("enough")

        def callback(snapshot):
            raise error

        stopped = Chunking(max_time=30.0, size=100).solve(endless(), control=RunControl(callback=callback))
        assert (stopped.status, stopped.error) == (Status.INTERRUPTED, error)

    def test_history_tells_of_chunks_and_of_all(self):
        task = machine_problem("CSVC", 400, C=5.0)
        history = Chunking(tol=1e-5, size=40, polish=False).solve(task).history
        assert np.all(np.diff(history.iteration) >= 0)
        assert np.all(np.diff(history.seconds) >= -1e-3)
        assert history.exact.any()
        assert not history.exact.all()
        assert np.all(history.active[history.exact] == 400)
        assert history.best_dual <= history.best_primal * (1 + 1e-12)

    @pytest.mark.parametrize("options", [{"size": 1}, {"rule": "luck"}, {"threads": 0}, {"tol": 0.0}])
    def test_bad_options_are_named(self, options):
        with pytest.raises(ValueError, match=next(iter(options))):
            Chunking(**options)


class TestRules:
    """Table 10.1 by hand: C = 1, margins y f(x) and multipliers of six samples."""

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
    def test_scores(self, rule, expected):
        found = scores(rule, dense(np.eye(6), np.zeros(6)), self.alpha, self.margin - 1)
        np.testing.assert_allclose(found, expected, atol=1e-15)

    @pytest.mark.parametrize("rule", RULES)
    def test_formulas_of_the_table(self, rule):
        rng = np.random.default_rng(0)
        task = dense(np.eye(500), np.zeros(500), upper=2.0)
        alpha = np.clip(rng.uniform(-1, 3, 500), 0, 2)
        margin = rng.normal(size=500)
        below, above = np.maximum(0, 1 - margin), np.maximum(0, margin - 1)
        table = {
            "gap": (2 - alpha) * below + alpha * above,
            "gradient": (alpha < 2) * below + (alpha > 0) * above,
            "multiplier": (2 - alpha) * (margin < 1) + alpha * (margin > 1),
        }
        np.testing.assert_allclose(scores(rule, task, alpha, margin - 1), table[rule], atol=1e-15)

    @pytest.mark.parametrize("rule", RULES)
    def test_an_open_box_has_the_gradient_for_a_score(self, rule):
        task = dense(np.eye(2), np.zeros(2), upper=np.inf)
        np.testing.assert_array_equal(scores(rule, task, np.zeros(2), np.array([-3.0, 2.0])), [3.0, 0.0])

    def test_samples_are_balanced(self):
        """As many that rise as fall; a side that has too few leaves its room to the other."""
        y = np.r_[np.ones(20), -np.ones(20)]
        task = classes(np.zeros((40, 1)), y, 1.0)
        group, residual = groups_of(task), -np.linspace(2, 1, 40)
        score = scores("gradient", task, np.zeros(40), residual)
        found = most_violating_samples(task, group, score, residual, np.ones(40, bool), 10)
        np.testing.assert_array_equal(found, np.r_[0:5, 20:25])
        few = np.r_[np.ones(20, bool), np.zeros(18, bool), np.ones(2, bool)]
        found = most_violating_samples(task, group, score, residual, few, 10)
        np.testing.assert_array_equal(found, np.r_[0:8, 38:40])

    def test_the_extreme_pair(self):
        y = np.array([1.0, 1.0, -1.0, -1.0])
        task = classes(np.zeros((4, 1)), y, 1.0)
        worst = most_violating_pair(task, groups_of(task), np.zeros(4), np.array([-1.0, -3.0, -0.5, -2.0]))
        assert worst.violation == 5.0
        np.testing.assert_array_equal(worst.samples, [1, 3])
