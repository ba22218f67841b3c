"""SMO, option by option: the same answer whatever the way, and less work where less is needed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge import Status
from hinge.formulations import CSVC, NuSVC, OneClass
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import certify
from hinge.solvers import SMO
from solvers.cases import MACHINES, assert_feasible, certified, clarabel, dense, formulation, machine_problem

every_machine = pytest.mark.parametrize("name", MACHINES)

seeds = st.integers(0, 2**32 - 1)


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "word"),
        [
            (dict(tol=0.0), "tol"),
            (dict(tol=-1.0), "tol"),
            (dict(tol=np.nan), "tol"),
            (dict(tol=np.inf), "tol"),
            (dict(stop="primal"), "stop"),
            (dict(precision="float16"), "precision"),
            (dict(max_time=-1.0), "max_time"),
            (dict(max_time=np.nan), "max_time"),
        ],
        ids=str,
    )
    def test_bad_ones_are_refused(self, options, word):
        with pytest.raises(ValueError, match=word):
            SMO(**options)

    @pytest.mark.parametrize("size", [0, -1.0, np.nan, "large"])
    def test_a_bad_cache_is_refused(self, size):
        with pytest.raises(ValueError, match="cache_size"):
            SMO(cache_size=size).solve(machine_problem("CSVC", 10))

    def test_options_are_frozen(self):
        with pytest.raises(AttributeError):
            SMO().tol = 1.0


class TestTheWayDoesNotMatter:
    @every_machine
    def test_shrinking(self, name):
        """Samples are set aside and looked at again: the same objective, for every kind of group."""
        problem = machine_problem(name, 400, C=10.0, kernel=RBF(2.0))
        runs = [SMO(tol=1e-6, shrinking=s, polish=False).solve(problem) for s in (True, False)]
        for run in runs:
            assert run.status is Status.SOLVED
            assert_feasible(problem, run.alpha)
            assert certified(problem, run).kkt_violation <= 1.01e-6
        shrunk, plain = (problem.value(run.alpha) for run in runs)
        assert shrunk == pytest.approx(plain, rel=1e-7)
        assert runs[0].history.active.min() < 400, "nothing was set aside: the test tests nothing"
        assert runs[0].counters["reconstructions"] >= 1
        assert runs[1].history.active.min() == 400
        assert runs[1].counters["reconstructions"] == 0

    @every_machine
    def test_a_cache_of_two_rows(self, name):
        """Every row is computed again and again, and has the same bits each time."""
        problem = machine_problem(name, 150, C=10.0)
        large, tiny = (SMO(tol=1e-5, cache_size=size).solve(problem) for size in (100, 1e-6))
        assert tiny.alpha.tobytes() == large.alpha.tobytes()
        assert tiny.iterations == large.iterations
        assert tiny.counters["row_misses"] > 2 * large.counters["row_misses"]
        assert large.counters["row_misses"] <= 150 * (2 + large.counters["reconstructions"])

    @every_machine
    def test_single_precision_rows(self, name):
        problem = machine_problem(name, 200, C=3.0)
        double = SMO(tol=1e-4, precision="float64", polish=False).solve(problem)
        single = SMO(tol=1e-4, precision="float32", polish=False).solve(problem)
        assert single.status is double.status is Status.SOLVED
        assert_feasible(problem, single.alpha)
        assert problem.value(single.alpha) == pytest.approx(problem.value(double.alpha), rel=1e-5)
        # rounding of a row is 6e-8 of its entries, summed over the coefficients
        rounding = 6e-8 * np.abs(single.alpha).sum()
        assert certified(problem, single).kkt_violation <= 1.01e-4 + 2 * rounding
        np.testing.assert_allclose(single.gradient, problem.gradient(single.alpha), atol=rounding + 1e-9)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shift", [1e2, 1e4])
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_rows_too_coarse_for_the_tolerance(self, dtype, shift, stop):
        """⟨x, z⟩ = 4·10⁸ has no decimals in float32: what those rows call optimal is not, and that is noticed."""
        X, machine = formulation("CSVC", 200)
        problem = machine.build(open_access(Linear(), (np.repeat(X[::2], 2, axis=0) + shift).astype(dtype)))
        solution = SMO(tol=1e-3, stop=stop, precision="float32", polish=False, max_time=10.0).solve(problem)
        assert solution.status is Status.SOLVED
        found = certified(problem, solution)
        assert (found.kkt_violation if stop == "kkt" else found.relative_gap) <= 1.001e-3
        assert solution.history.best_dual <= found.primal * (1 + 1e-6)
        assert certify(problem, *solution.point, solution.gradient).dual == pytest.approx(found.dual, rel=1e-6)

    @pytest.mark.parametrize("limit", [dict(max_iter=20), dict(max_time=2e-3)], ids=str)
    def test_rows_too_coarse_and_no_time_left(self, limit):
        """Nothing is claimed that was not computed."""
        X, machine = formulation("CSVC", 800)
        problem = machine.build(open_access(Linear(), X + 1e5))
        solution = SMO(tol=1e-6, precision="float32", **limit).solve(problem)
        assert solution.status is (Status.MAX_ITER if "max_iter" in limit else Status.TIME_LIMIT)
        if not solution.alpha.any():
            return  # a slow machine (or a sanitizer): not one step, and f = 0 is exact
        # the rounds in single precision leave no history; a quick machine may have begun one in double, which is true
        true = certified(problem, solution).dual
        assert solution.history.best_dual <= true + 1e-6 * abs(true)
        assert "max_iter" not in limit or solution.history.best_dual == -np.inf
        assert solution.exact or "max_time" in limit
        if solution.exact:
            scale = np.abs(solution.alpha).sum() * 4e10
            np.testing.assert_allclose(
                solution.gradient, problem.gradient(solution.alpha), atol=1e-14 * scale
            )

    def test_small_problems_are_solved_in_double_precision(self):
        problem = machine_problem("CSVC", 100, C=3.0)
        runs = {p: SMO(precision=p, polish=False).solve(problem) for p in ("auto", "float32", "float64")}
        assert runs["auto"].alpha.tobytes() == runs["float64"].alpha.tobytes()
        assert runs["auto"].alpha.tobytes() != runs["float32"].alpha.tobytes()

    @every_machine
    def test_gradient_is_that_of_the_point(self, name):
        """f was updated by differences some thousand times; it is still K β."""
        problem = machine_problem(name, 150, C=30.0, kernel=RBF(2.0))
        for polish in (False, True):
            solution = SMO(tol=1e-8, polish=polish).solve(problem)
            scale = 1 + np.abs(solution.alpha).sum()
            np.testing.assert_allclose(
                solution.gradient, problem.gradient(solution.alpha), atol=1e-13 * scale
            )


class TestStop:
    @every_machine
    @pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
    def test_on_the_violation(self, name, tol):
        problem = machine_problem(name, 120, C=5.0)
        solution = SMO(tol=tol, polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert certified(problem, solution).kkt_violation <= 1.001 * tol

    @every_machine
    @pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-7])
    def test_on_the_relative_gap(self, name, gap):
        problem = machine_problem(name, 120, C=5.0)
        solution = SMO(tol=gap, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        found = certified(problem, solution)
        assert found.relative_gap <= 1.001 * gap
        assert found.infeasibility <= 1e-11

    def test_a_wider_gap_takes_less_work(self):
        problem = machine_problem("CSVC", 200, C=100.0)
        steps = [SMO(tol=gap, stop="gap").solve(problem).iterations for gap in (1e-1, 1e-3, 1e-6)]
        assert steps[0] < steps[1] < steps[2]

    def test_on_the_gap_at_large_C(self):
        problem = machine_problem("CSVC", 120, C=1e4)
        solution = SMO(tol=1e-5, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert certified(problem, solution).relative_gap <= 1.001e-5

    def test_on_the_gap_with_hard_margins(self):
        """C = ∞: slopes towards infinity are no part of the gap, but of the proof."""
        rng = np.random.default_rng(0)
        y = np.repeat([1.0, -1.0], 40)
        problem = CSVC(y, np.full(80, np.inf)).build(open_access(RBF(2.0), rng.normal(size=(80, 2))))
        solution = SMO(tol=1e-3, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        found = certified(problem, solution)
        assert found.relative_gap <= 1.001e-3
        assert found.infeasibility <= 1.001e-3

    def test_an_optimum_of_zero(self):
        """Nothing to gain: every α = 0 is optimal, and the relative gap of 0 to 0 is 0."""
        problem = dense(np.eye(3), np.ones(3))
        for stop in ("kkt", "gap"):
            solution = SMO(stop=stop).solve(problem)
            assert solution.status is Status.SOLVED
            assert solution.iterations == 0
            np.testing.assert_array_equal(solution.alpha, 0.0)


class TestWarmStart:
    @every_machine
    @pytest.mark.parametrize("polish", [True, False])
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_from_the_solution(self, name, stop, polish):
        problem = machine_problem(name, 150, C=10.0)
        solver = SMO(tol=1e-4, stop=stop, polish=polish)
        cold = solver.solve(problem)
        for start in (cold, cold.alpha):
            warm = solver.solve(problem, start=start)
            assert warm.status is Status.SOLVED
            assert warm.iterations <= 1
            np.testing.assert_allclose(warm.alpha, cold.alpha, atol=1e-10 * 10)

    @pytest.mark.parametrize("name", ["CSVC", "SVR", "NuSVR"])
    def test_over_C(self, name):
        """LwK 10.1.2: the last solution times C_new / C_old.  Less work in all, and the same answers."""
        cold = warm = 0
        last = None
        for C in 1.1 ** np.arange(10):
            problem = machine_problem(name, 200, C=C)
            solver = SMO(tol=1e-4, polish=False)
            alone = solver.solve(problem)
            rescaled = solver.solve(problem, start=None if last is None else 1.1 * last.alpha)
            cold, warm, last = cold + alone.iterations, warm + rescaled.iterations, rescaled
            assert problem.value(rescaled.alpha) == pytest.approx(problem.value(alone.alpha), rel=1e-6)
        assert warm < 0.9 * cold

    @every_machine
    def test_over_the_width_of_the_kernel(self, name):
        X, machine = formulation(name, 200, C=3.0)
        cold = warm = 0
        last = None
        for gamma in 0.3 * 1.1 ** np.arange(8):
            problem = machine.build(open_access(RBF(gamma), X))
            solver = SMO(tol=1e-4, polish=False)
            alone, last = solver.solve(problem), solver.solve(problem, start=last)
            cold, warm = cold + alone.iterations, warm + last.iterations
            assert problem.value(last.alpha) == pytest.approx(problem.value(alone.alpha), rel=1e-6)
        assert warm < cold

    @every_machine
    @given(seed=seeds)
    @settings(max_examples=10)
    def test_from_anywhere(self, name, seed):
        """Outside the box, off the rows, by any amount: made feasible first, and left as it was."""
        problem = machine_problem(name, 30, C=2.0)
        rng = np.random.default_rng(seed)
        start = rng.normal(size=problem.size) * 10.0 ** rng.integers(-3, 6)
        before = start.copy()
        solution = SMO(tol=1e-7).solve(problem, start=start)
        np.testing.assert_array_equal(start, before)
        assert solution.status is Status.SOLVED
        assert_feasible(problem, solution.alpha)
        cold = problem.value(SMO(tol=1e-7).solve(problem).alpha)
        assert problem.value(solution.alpha) == pytest.approx(cold, rel=1e-9, abs=1e-9)

    def test_from_a_solution_of_another_problem(self):
        problem = machine_problem("CSVC", 30)
        other = SMO().solve(machine_problem("CSVC", 20))
        with pytest.raises(ValueError, match="30"):
            SMO().solve(problem, start=other)


class TestHistory:
    @every_machine
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_columns(self, name, stop):
        problem = machine_problem(name, 200, C=20.0)
        solution = SMO(tol=1e-6, stop=stop, polish=False).solve(problem)
        h = solution.history
        lengths = {len(getattr(h, column)) for column in vars(h)}
        assert lengths == {len(h)}
        assert len(h) >= 5
        assert np.all(np.diff(h.iteration) > 0)
        assert h.iteration[-1] == solution.iterations
        assert np.all(np.diff(h.seconds) >= 0)
        scale = np.abs(h.dual[-1]) + np.abs(h.primal[0])
        assert np.all(np.diff(h.dual) >= -1e-12 * scale), "the dual never falls"
        np.testing.assert_allclose(h.primal - h.dual, h.gap, atol=1e-12 * scale)
        assert np.all(h.gap[h.exact] >= -1e-12 * scale)
        assert np.all(h.active[h.exact] == 200)
        assert np.all(h.active[~h.exact] < 200)

    @every_machine
    def test_ends_with_the_certificate(self, name):
        problem = machine_problem(name, 150, C=20.0)
        solution = SMO(tol=1e-3, polish=False).solve(problem)
        found, h = certified(problem, solution), solution.history
        assert h.exact[-1]
        assert h.dual[-1] == pytest.approx(found.dual, rel=1e-10)
        assert h.violation[-1] <= 1e-3
        # the offset midway between the thresholds is not the best one
        assert found.gap <= h.gap[-1] * (1 + 1e-9) + 1e-12

    @every_machine
    def test_bounds_of_the_run_enclose_the_optimum(self, name):
        problem = machine_problem(name, 60, C=20.0)
        h = SMO(tol=1e-3, polish=False).solve(problem).history
        optimum = clarabel(problem)
        slack = optimum.error + 1e-9 * abs(optimum.value)
        assert h.best_dual <= -optimum.value + slack
        assert h.best_primal >= -optimum.value - slack

    def test_hard_margins_have_no_upper_bound_before_they_hold(self):
        """C = ∞: while a margin is violated, (3) is −∞; a primal value of 0 at the start would be no bound."""
        rng = np.random.default_rng(0)
        y = np.repeat([1.0, -1.0], 40)
        problem = CSVC(y, np.full(80, np.inf)).build(open_access(RBF(2.0), rng.normal(size=(80, 2))))
        solution = SMO(tol=1e-4).solve(problem)
        h, optimum = solution.history, -problem.value(solution.alpha)
        assert h.primal[0] == np.inf
        assert h.best_primal >= optimum * (1 - 1e-3)
        assert h.best_dual <= optimum * (1 + 1e-9)

    def test_counters(self):
        problem = machine_problem("CSVC", 200, C=20.0)
        run = SMO(tol=1e-6, shrinking=False, polish=False, cache_size=100).solve(problem)
        hits, misses = run.counters["row_hits"], run.counters["row_misses"]
        assert misses <= 200
        # two rows for every step, and all rows with a coefficient for every exact recomputation
        assert hits + misses >= 2 * run.iterations
        assert hits + misses <= 2 * run.iterations + 2 + 200 * (1 + run.counters["recomputations"])


class TestTwoRows:
    @pytest.mark.parametrize("seed", range(4))
    def test_nu_problems_against_clarabel(self, seed):
        for name in ("NuSVC", "NuSVR"):
            problem = machine_problem(name, 60, seed=seed, C=3.0)
            solution = SMO(tol=1e-8).solve(problem)
            optimum = clarabel(problem)
            allowed = optimum.error + 1e-8 * abs(optimum.value)
            assert problem.value(solution.alpha) == pytest.approx(optimum.value, abs=allowed)
            assert_feasible(problem, solution.alpha)

    def test_rows_and_variables_of_no_row_together(self):
        """Three families at once: two groups and variables that move alone."""
        rng = np.random.default_rng(1)
        F = rng.normal(size=(30, 8))
        group = np.arange(30) % 3
        A = np.array([group == 0, 2.5 * (group == 1)], dtype=float)
        start = rng.random(30)
        problem = dense(F @ F.T, rng.normal(size=30), A, A @ start)
        solution = SMO(tol=1e-8).solve(problem)
        optimum = clarabel(problem)
        assert problem.value(solution.alpha) == pytest.approx(optimum.value, rel=1e-7)
        assert certify(problem, *solution.point).proves(1e-6)

    def test_a_group_that_is_full(self):
        """ν = ν_max: one class is at its bounds and cannot move, the other must be solved."""
        rng = np.random.default_rng(2)
        y = np.where(np.arange(40) < 10, 1.0, -1.0)
        problem = NuSVC(y, np.ones(40), 0.5).build(open_access(RBF(0.5), rng.normal(size=(40, 2))))
        solution = SMO(tol=1e-8).solve(problem)
        np.testing.assert_array_equal(solution.alpha[:10], 1.0)
        assert problem.value(solution.alpha) == pytest.approx(clarabel(problem).value, rel=1e-8)

    def test_everything_at_its_bound(self):
        problem = OneClass(np.ones(20), 1.0).build(
            open_access(RBF(0.5), np.random.default_rng(3).normal(size=(20, 2)))
        )
        solution = SMO().solve(problem)
        assert solution.status is Status.SOLVED
        assert solution.iterations == 0
        np.testing.assert_array_equal(solution.alpha, 1.0)
