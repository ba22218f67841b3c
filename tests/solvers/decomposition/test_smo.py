"""SMO: options do not change the solution; stopping criteria, warm starts, history, two equality rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge import Status
from hinge.formulations import CSVC, NuSVC, OneClass
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import optimality
from hinge.solvers import SMO
from solvers.cases import FORMULATIONS, assert_feasible, certified, clarabel, dense, formulation, make_problem

every_formulation = pytest.mark.parametrize("name", FORMULATIONS)

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
    def test_invalid_options_are_rejected(self, options, word):
        with pytest.raises(ValueError, match=word):
            SMO(**options)

    @pytest.mark.parametrize("size", [0, -1.0, np.nan, "large"])
    def test_invalid_cache_size_is_rejected(self, size):
        with pytest.raises(ValueError, match="cache_size"):
            SMO(cache_size=size).solve(make_problem("CSVC", 10))

    def test_options_are_frozen(self):
        with pytest.raises(AttributeError):
            SMO().tol = 1.0


class TestOptionsDoNotChangeTheSolution:
    @every_formulation
    def test_shrinking_gives_the_same_objective(self, name):
        """Shrinking and reconstruction of the gradient give the same objective."""
        problem = make_problem(name, 400, C=10.0, kernel=RBF(2.0))
        runs = [SMO(tol=1e-6, shrinking=s, polish=False).solve(problem) for s in (True, False)]
        for run in runs:
            assert run.status is Status.SOLVED
            assert_feasible(problem, run.alpha)
            assert certified(problem, run).kkt_violation <= 1.01e-6
        shrunk, plain = (problem.value(run.alpha) for run in runs)
        assert shrunk == pytest.approx(plain, rel=1e-7)
        assert runs[0].history.active.min() < 400, "no sample was shrunk"
        assert runs[0].counters["reconstructions"] >= 1
        assert runs[1].history.active.min() == 400
        assert runs[1].counters["reconstructions"] == 0

    @every_formulation
    def test_cache_of_two_rows_gives_an_identical_solution(self, name):
        """Recomputed rows are identical to the bit."""
        problem = make_problem(name, 150, C=10.0)
        large, tiny = (SMO(tol=1e-5, cache_size=size).solve(problem) for size in (100, 1e-6))
        assert tiny.alpha.tobytes() == large.alpha.tobytes()
        assert tiny.iterations == large.iterations
        assert tiny.counters["row_misses"] > 2 * large.counters["row_misses"]
        assert large.counters["row_misses"] <= 150 * (2 + large.counters["reconstructions"])

    @every_formulation
    def test_single_precision_rows_give_the_same_objective(self, name):
        problem = make_problem(name, 200, C=3.0)
        double = SMO(tol=1e-4, precision="float64", polish=False).solve(problem)
        single = SMO(tol=1e-4, precision="float32", polish=False).solve(problem)
        assert single.status is double.status is Status.SOLVED
        assert_feasible(problem, single.alpha)
        assert problem.value(single.alpha) == pytest.approx(problem.value(double.alpha), rel=1e-5)
        # the rounding error of a row is 6e-8 of its entries
        rounding = 6e-8 * np.abs(single.alpha).sum()
        assert certified(problem, single).kkt_violation <= 1.01e-4 + 2 * rounding
        np.testing.assert_allclose(single.gradient, problem.gradient(single.alpha), atol=rounding + 1e-9)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("shift", [1e2, 1e4])
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_rows_too_coarse_for_the_tolerance_are_replaced_by_double_precision(self, dtype, shift, stop):
        """⟨x, z⟩ = 4·10⁸ has no decimals in float32. The solver detects that its point is not optimal."""
        X, dual = formulation("CSVC", 200)
        problem = dual.build(open_access(Linear(), (np.repeat(X[::2], 2, axis=0) + shift).astype(dtype)))
        solution = SMO(tol=1e-3, stop=stop, precision="float32", polish=False, max_time=10.0).solve(problem)
        assert solution.status is Status.SOLVED
        certificate = certified(problem, solution)
        assert (certificate.kkt_violation if stop == "kkt" else certificate.relative_gap) <= 1.001e-3
        assert solution.history.best_dual <= certificate.primal * (1 + 1e-6)
        assert optimality(problem, *solution.point, solution.gradient).dual == pytest.approx(certificate.dual, rel=1e-6)

    @pytest.mark.parametrize("limit", [dict(max_iter=20), dict(max_time=2e-3)], ids=str)
    def test_history_at_a_limit_has_only_bounds_in_double_precision(self, limit):
        """The history contains only bounds in double precision."""
        X, dual = formulation("CSVC", 800)
        problem = dual.build(open_access(Linear(), X + 1e5))
        solution = SMO(tol=1e-6, precision="float32", **limit).solve(problem)
        assert solution.status is (Status.MAX_ITER if "max_iter" in limit else Status.TIME_LIMIT)
        if not solution.alpha.any():
            return  # no step was made, and f = 0 is exact
        # iterations in single precision are not recorded; a fast computer may have started in double precision
        exact = certified(problem, solution).dual
        assert solution.history.best_dual <= exact + 1e-6 * abs(exact)
        assert "max_iter" not in limit or solution.history.best_dual == -np.inf
        assert solution.exact or "max_time" in limit
        if solution.exact:
            scale = np.abs(solution.alpha).sum() * 4e10
            np.testing.assert_allclose(
                solution.gradient, problem.gradient(solution.alpha), atol=1e-14 * scale
            )

    def test_small_problems_are_solved_in_double_precision(self):
        problem = make_problem("CSVC", 100, C=3.0)
        runs = {p: SMO(precision=p, polish=False).solve(problem) for p in ("auto", "float32", "float64")}
        assert runs["auto"].alpha.tobytes() == runs["float64"].alpha.tobytes()
        assert runs["auto"].alpha.tobytes() != runs["float32"].alpha.tobytes()

    @every_formulation
    def test_gradient_is_accurate_after_many_updates(self, name):
        problem = make_problem(name, 150, C=30.0, kernel=RBF(2.0))
        for polish in (False, True):
            solution = SMO(tol=1e-8, polish=polish).solve(problem)
            scale = 1 + np.abs(solution.alpha).sum()
            np.testing.assert_allclose(
                solution.gradient, problem.gradient(solution.alpha), atol=1e-13 * scale
            )


class TestStop:
    @every_formulation
    @pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
    def test_run_stops_at_the_requested_violation(self, name, tol):
        problem = make_problem(name, 120, C=5.0)
        solution = SMO(tol=tol, polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert certified(problem, solution).kkt_violation <= 1.001 * tol

    @every_formulation
    @pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-7])
    def test_run_stops_at_the_requested_gap(self, name, gap):
        problem = make_problem(name, 120, C=5.0)
        solution = SMO(tol=gap, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        certificate = certified(problem, solution)
        assert certificate.relative_gap <= 1.001 * gap
        assert certificate.infeasibility <= 1e-11

    def test_larger_gap_needs_fewer_iterations(self):
        problem = make_problem("CSVC", 200, C=100.0)
        steps = [SMO(tol=gap, stop="gap").solve(problem).iterations for gap in (1e-1, 1e-3, 1e-6)]
        assert steps[0] < steps[1] < steps[2]

    def test_run_stops_at_the_requested_gap_for_large_C(self):
        problem = make_problem("CSVC", 120, C=1e4)
        solution = SMO(tol=1e-5, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        assert certified(problem, solution).relative_gap <= 1.001e-5

    def test_run_stops_at_the_requested_gap_for_hard_margins(self):
        """C = ∞: gradients towards infinite bounds count as infeasibility, not in the gap."""
        rng = np.random.default_rng(0)
        y = np.repeat([1.0, -1.0], 40)
        problem = CSVC(y, np.full(80, np.inf)).build(open_access(RBF(2.0), rng.normal(size=(80, 2))))
        solution = SMO(tol=1e-3, stop="gap", polish=False).solve(problem)
        assert solution.status is Status.SOLVED
        certificate = certified(problem, solution)
        assert certificate.relative_gap <= 1.001e-3
        assert certificate.infeasibility <= 1.001e-3

    def test_optimum_of_zero_needs_no_step(self):
        """α = 0 is optimal, and the relative gap of equal values 0 is 0."""
        problem = dense(np.eye(3), np.ones(3))
        for stop in ("kkt", "gap"):
            solution = SMO(stop=stop).solve(problem)
            assert solution.status is Status.SOLVED
            assert solution.iterations == 0
            np.testing.assert_array_equal(solution.alpha, 0.0)


class TestWarmStart:
    @every_formulation
    @pytest.mark.parametrize("polish", [True, False])
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_start_at_the_solution_needs_at_most_one_step(self, name, stop, polish):
        problem = make_problem(name, 150, C=10.0)
        solver = SMO(tol=1e-4, stop=stop, polish=polish)
        cold = solver.solve(problem)
        for start in (cold, cold.alpha):
            warm = solver.solve(problem, start=start)
            assert warm.status is Status.SOLVED
            assert warm.iterations <= 1
            np.testing.assert_allclose(warm.alpha, cold.alpha, atol=1e-10 * 10)

    @pytest.mark.parametrize("name", ["CSVC", "SVR", "NuSVR"])
    def test_sequence_of_C_needs_fewer_iterations(self, name):
        """LwK 10.1.2: the previous solution times C_new / C_old needs fewer iterations in total."""
        cold = warm = 0
        last = None
        for C in 1.1 ** np.arange(10):
            problem = make_problem(name, 200, C=C)
            solver = SMO(tol=1e-4, polish=False)
            separate = solver.solve(problem)
            rescaled = solver.solve(problem, start=None if last is None else 1.1 * last.alpha)
            cold, warm, last = cold + separate.iterations, warm + rescaled.iterations, rescaled
            assert problem.value(rescaled.alpha) == pytest.approx(problem.value(separate.alpha), rel=1e-6)
        assert warm < 0.9 * cold

    @every_formulation
    def test_sequence_of_gamma_needs_fewer_iterations(self, name):
        X, dual = formulation(name, 200, C=3.0)
        cold = warm = 0
        last = None
        for gamma in 0.3 * 1.1 ** np.arange(8):
            problem = dual.build(open_access(RBF(gamma), X))
            solver = SMO(tol=1e-4, polish=False)
            separate, last = solver.solve(problem), solver.solve(problem, start=last)
            cold, warm = cold + separate.iterations, warm + last.iterations
            assert problem.value(last.alpha) == pytest.approx(problem.value(separate.alpha), rel=1e-6)
        assert warm < cold

    @every_formulation
    @given(seed=seeds)
    @settings(max_examples=10)
    def test_any_start_leads_to_the_solution(self, name, seed):
        """An infeasible start is projected, and the argument is not modified."""
        problem = make_problem(name, 30, C=2.0)
        rng = np.random.default_rng(seed)
        start = rng.normal(size=problem.size) * 10.0 ** rng.integers(-3, 6)
        before = start.copy()
        solution = SMO(tol=1e-7).solve(problem, start=start)
        np.testing.assert_array_equal(start, before)
        assert solution.status is Status.SOLVED
        assert_feasible(problem, solution.alpha)
        cold = problem.value(SMO(tol=1e-7).solve(problem).alpha)
        assert problem.value(solution.alpha) == pytest.approx(cold, rel=1e-9, abs=1e-9)

    def test_start_of_another_size_is_rejected(self):
        problem = make_problem("CSVC", 30)
        other = SMO().solve(make_problem("CSVC", 20))
        with pytest.raises(ValueError, match="30"):
            SMO().solve(problem, start=other)


class TestHistory:
    @every_formulation
    @pytest.mark.parametrize("stop", ["kkt", "gap"])
    def test_columns_are_consistent(self, name, stop):
        problem = make_problem(name, 200, C=20.0)
        solution = SMO(tol=1e-6, stop=stop, polish=False).solve(problem)
        h = solution.history
        lengths = {len(getattr(h, column)) for column in vars(h)}
        assert lengths == {len(h)}
        assert len(h) >= 5
        assert np.all(np.diff(h.iteration) > 0)
        assert h.iteration[-1] == solution.iterations
        assert np.all(np.diff(h.seconds) >= 0)
        scale = np.abs(h.dual[-1]) + np.abs(h.primal[0])
        assert np.all(np.diff(h.dual) >= -1e-12 * scale), "the dual value decreases"
        np.testing.assert_allclose(h.primal - h.dual, h.gap, atol=1e-12 * scale)
        assert np.all(h.gap[h.exact] >= -1e-12 * scale)
        assert np.all(h.active[h.exact] == 200)
        assert np.all(h.active[~h.exact] < 200)

    @every_formulation
    def test_last_entry_agrees_with_the_certificate(self, name):
        problem = make_problem(name, 150, C=20.0)
        solution = SMO(tol=1e-3, polish=False).solve(problem)
        certificate, h = certified(problem, solution), solution.history
        assert h.exact[-1]
        assert h.dual[-1] == pytest.approx(certificate.dual, rel=1e-5)
        assert h.violation[-1] <= 1e-3
        assert h.dual[-1] <= certificate.dual  # widened by rounding errors
        # the offset midway between the thresholds does not minimize the gap
        assert certificate.gap <= h.gap[-1] * (1 + 1e-9) + 1e-12

    @every_formulation
    def test_recorded_bounds_enclose_the_optimum(self, name):
        problem = make_problem(name, 60, C=20.0)
        h = SMO(tol=1e-3, polish=False).solve(problem).history
        optimum = clarabel(problem)
        slack = optimum.error + 1e-9 * abs(optimum.value)
        assert h.best_dual <= -optimum.value + slack
        assert h.best_primal >= -optimum.value - slack

    def test_hard_margins_have_no_upper_bound_while_violated(self):
        """C = ∞: while a margin is violated, (3) is −∞, and the primal value is not a bound."""
        rng = np.random.default_rng(0)
        y = np.repeat([1.0, -1.0], 40)
        problem = CSVC(y, np.full(80, np.inf)).build(open_access(RBF(2.0), rng.normal(size=(80, 2))))
        solution = SMO(tol=1e-4).solve(problem)
        h, optimum = solution.history, -problem.value(solution.alpha)
        assert h.primal[0] == np.inf
        assert h.best_primal >= optimum * (1 - 1e-3)
        assert h.best_dual <= optimum * (1 + 1e-9)

    def test_counters_match_the_number_of_steps(self):
        problem = make_problem("CSVC", 200, C=20.0)
        run = SMO(tol=1e-6, shrinking=False, polish=False, cache_size=100).solve(problem)
        hits, misses = run.counters["row_hits"], run.counters["row_misses"]
        assert misses <= 200
        # two rows for every step, and rows of nonzero coefficients for every recomputation
        assert hits + misses >= 2 * run.iterations
        assert hits + misses <= 2 * run.iterations + 2 + 200 * (1 + run.counters["recomputations"])


class TestTwoRows:
    @pytest.mark.parametrize("seed", range(4))
    def test_nu_problems_agree_with_clarabel(self, seed):
        for name in ("NuSVC", "NuSVR"):
            problem = make_problem(name, 60, seed=seed, C=3.0)
            solution = SMO(tol=1e-8).solve(problem)
            optimum = clarabel(problem)
            allowed = optimum.error + 1e-8 * abs(optimum.value)
            assert problem.value(solution.alpha) == pytest.approx(optimum.value, abs=allowed)
            assert_feasible(problem, solution.alpha)

    def test_two_rows_and_unconstrained_variables_are_solved(self):
        """Two groups of variables with an equality row, and variables without one."""
        rng = np.random.default_rng(1)
        F = rng.normal(size=(30, 8))
        group = np.arange(30) % 3
        A = np.array([group == 0, 2.5 * (group == 1)], dtype=float)
        start = rng.random(30)
        problem = dense(F @ F.T, rng.normal(size=30), A, A @ start)
        solution = SMO(tol=1e-8).solve(problem)
        optimum = clarabel(problem)
        assert problem.value(solution.alpha) == pytest.approx(optimum.value, rel=1e-7)
        assert optimality(problem, *solution.point).proves(1e-6)

    def test_group_at_its_bounds_is_solved(self):
        """ν = ν_max: the variables of one class are at their bounds."""
        rng = np.random.default_rng(2)
        y = np.where(np.arange(40) < 10, 1.0, -1.0)
        problem = NuSVC(y, np.ones(40), 0.5).build(open_access(RBF(0.5), rng.normal(size=(40, 2))))
        solution = SMO(tol=1e-8).solve(problem)
        np.testing.assert_array_equal(solution.alpha[:10], 1.0)
        assert problem.value(solution.alpha) == pytest.approx(clarabel(problem).value, rel=1e-8)

    def test_problem_with_all_variables_at_their_bounds_is_solved(self):
        problem = OneClass(np.ones(20), 1.0).build(
            open_access(RBF(0.5), np.random.default_rng(3).normal(size=(20, 2)))
        )
        solution = SMO().solve(problem)
        assert solution.status is Status.SOLVED
        assert solution.iterations == 0
        np.testing.assert_array_equal(solution.alpha, 1.0)
