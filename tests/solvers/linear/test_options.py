"""Options of linear solvers and estimators: methods, memory maps, limits and callbacks."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge import Status
from hinge.control import RunControl
from hinge.estimators.linear.batch import solve_in_order, solve_in_parallel
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, CrammerSingerProblem
from hinge.solvers import CoordinateDescent


class TestNewtonOnFiles:
    """Newton's method needs random access to the samples and is rejected for files that are read in blocks."""

    @pytest.fixture
    def mapped(self, tmp_path):
        X, y = make_classification(3000, 40, random_state=0)
        np.save(tmp_path / "X.npy", X)
        return np.load(tmp_path / "X.npy", mmap_mode="r"), y

    @pytest.mark.parametrize("method", [{"solver": "newton"}, {"dual": False}], ids=["solver", "dual"])
    @pytest.mark.parametrize("estimator", [hinge.LinearSVC, hinge.LinearSVR])
    def test_newton_is_rejected_with_a_remedy(self, mapped, estimator, method):
        X, y = mapped
        with pytest.raises(ValueError, match=r"solver='auto' or 'descent'.*cache_size.*np\.array"):
            estimator(cache_size=0.2, **method).fit(X, y)

    @pytest.mark.parametrize("options", [{}, {"solver": "descent"}, {"solver": "descent", "dual": False}])
    def test_descent_is_accepted(self, mapped, options):
        X, y = mapped
        model = hinge.LinearSVC(cache_size=0.2, **options).fit(X, y)
        assert model.status_ is Status.SOLVED

    def test_newton_is_accepted_if_the_file_fits_into_memory(self, mapped):
        X, y = mapped
        model = hinge.LinearSVC(solver="newton", cache_size=20).fit(X, y)
        assert np.array_equal(model.coef_, hinge.LinearSVC(solver="newton").fit(np.array(X), y).coef_)

    def test_solver_rejects_newton_with_blocks(self):
        with pytest.raises(ValueError, match=r"method='newton'.*block_bytes.*'auto' or 'descent'"):
            CoordinateDescent(method="newton", block_bytes=1 << 20)

    def test_auto_uses_descent_on_a_file(self, mapped):
        X, y = mapped
        problem = linear_classification(X, np.where(y > 0, 1.0, -1.0), np.ones(len(y)), "squared_hinge")
        solution = CoordinateDescent(block_bytes=1 << 16).solve_linear(problem)
        assert solution.status is Status.SOLVED
        assert solution.counters["newton_steps"] == 0


def test_crammer_singer_rejects_newton():
    X, y = make_classification(60, n_informative=5, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match=r"solver='newton'.*solver='auto' or 'descent'"):
        hinge.LinearSVC(multi_class="crammer_singer", solver="newton").fit(X, y)
    hinge.LinearSVC(multi_class="crammer_singer", dual=False).fit(X, y)  # `dual` is ignored, as in scikit-learn
    hinge.LinearSVC(multi_class="crammer_singer", solver="newton").fit(X, y > 0)  # two classes: the binary problem


class TestIterationLimit:
    """`n_iter_` is at most `max_iter`, and a limit that is too small is reported."""

    @pytest.mark.parametrize("max_iter", [0, 1, 50, 199, 200, 201, 203, 206, 250, 1000])
    @pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
    def test_limit_is_respected_by_crammer_singer(self, bias, max_iter):
        rng = np.random.default_rng(0)
        X, label = rng.normal(size=(18, 4)), (np.arange(18) % 3).astype(np.int32)
        problem = CrammerSingerProblem(X, label, np.full(18, 34.0), 3, bias, 0.7)
        solution = CoordinateDescent(tol=1e-8, max_iter=max_iter).solve_crammer_singer(problem)
        assert solution.iterations <= max_iter
        solved = solution.gap <= 1e-8 * solution.primal
        assert solution.status is (Status.SOLVED if solved else Status.MAX_ITER)
        assert solved or max_iter < 250

    @pytest.mark.parametrize("max_iter", [0, 1, 2, 7, 30, 100, 200, 210, 300, 1000])
    @pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
    def test_limit_is_respected_by_a_single_problem(self, bias, max_iter):
        X = 1e6 * np.random.default_rng(0).normal(size=(40, 3))
        y = X @ np.array([1.0, -2.0, 3.0]) / 1e6
        problem = linear_regression(X, y, np.ones(40), 0.0, "epsilon_insensitive", bias)
        solution = CoordinateDescent(max_iter=max_iter).solve_linear(problem)
        assert solution.iterations <= max_iter

    def test_limit_is_reported(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(18, 4)), np.arange(18) % 3
        model = hinge.LinearSVC(C=34.0, tol=1e-8, multi_class="crammer_singer", max_iter=200)
        with pytest.warns(ConvergenceWarning, match=r"max_iter=200\)"):
            model.fit(X, y)
        assert model.n_iter_ <= 200
        assert model.status_ is Status.MAX_ITER


@pytest.mark.parametrize("parallel", [False, True])
def test_callback_can_stop_between_two_problems(parallel):
    """It is called at the end of every problem; after it returns False, no further problem is solved."""
    X, y = make_classification(60, n_informative=5, n_classes=4, random_state=0)
    problems = [linear_classification(X, np.where(y == k, 1.0, -1.0), np.ones(60), "hinge") for k in range(4)]
    started = []

    def solve(problem, start, control):
        started.append(problem)
        return CoordinateDescent().solve_linear(problem, start)  # without the callback

    control = RunControl(callback=lambda snapshot: len(started) < 2)
    if parallel:
        solutions = solve_in_parallel(solve, problems, [None] * 4, 1, control)
    else:
        solutions = solve_in_order(solve, problems, [None] * 4, control)
    assert len(started) == 2
    assert [solution.status for solution in solutions] == [Status.SOLVED] * 2 + [Status.INTERRUPTED] * 2
    assert not any(np.any(solution.weights) for solution in solutions[2:])
