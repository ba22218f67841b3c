"""`warm_start=True`: the same models as cold fits, with fewer iterations."""

import numpy as np
import pytest
from sklearn.base import clone

import hinge
from hinge.estimators.common.warm_start import WarmStart
from hinge.solvers import SMO
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, data, values

WITH_C = ("SVC", "SVR", "NuSVR")

every_estimator = pytest.mark.parametrize("name", NAMES)


def make(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, "tol": 1e-4, **PARAMETERS[name], **options})


def compare(name, path, X, y, solver="smo", **options):
    """Compare cold and warm fits for a sequence of parameters; return the iterations of both."""
    warm, cold_steps, warm_steps = make(name, warm_start=True, solver=solver, **options), 0, 0
    for point in path:
        cold = make(name, solver=solver, **{**options, **point}).fit(X, y)
        warm.set_params(**point).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)
        assert warm.status_ is hinge.Status.SOLVED
        cold_steps += np.sum(cold.n_iter_)
        warm_steps += np.sum(warm.n_iter_)
    return cold_steps, warm_steps


class TestParameterSequences:
    @pytest.mark.parametrize("name", WITH_C)
    def test_sequence_of_C_needs_fewer_iterations(self, name):
        """The previous solution is rescaled to the new C (LwK 10.1.2)."""
        X, y = data(name, n=150)
        cold, warm = compare(name, [dict(C=C) for C in 1.1 ** np.arange(10)], X, y)
        assert warm < 0.9 * cold

    @every_estimator
    def test_sequence_of_gamma_needs_fewer_iterations(self, name):
        X, y = data(name, n=150)
        cold, warm = compare(name, [dict(gamma=gamma) for gamma in 0.4 * 1.03 ** np.arange(10)], X, y)
        assert warm < 0.9 * cold

    @pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
    def test_sequence_of_nu_reaches_the_cold_solutions(self, name):
        """The equality constraints change: the previous solution is projected."""
        X, y = data(name, n=150)
        compare(name, [dict(nu=nu) for nu in (0.3, 0.32, 0.31, 0.6, 0.1)], X, y)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_several_classes_need_fewer_iterations(self, name):
        X, y = data(name, n=150, classes=3)
        cold, warm = compare(name, [dict(gamma=gamma) for gamma in 0.4 * 1.03 ** np.arange(6)], X, y)
        assert warm < 0.9 * cold

    def test_change_to_a_hard_margin_and_back_reaches_the_cold_solutions(self):
        """With C = ∞ the solution cannot be rescaled."""
        X, y = data("SVC", n=60)
        compare("SVC", [dict(C=C) for C in (100.0, np.inf, 10.0, np.inf)], X, y, gamma=2.0)

    def test_default_solver_reaches_the_cold_solutions(self):
        X, y = data("SVC", n=150)
        compare("SVC", [dict(C=C) for C in (1.0, 2.0, 4.0)], X, y, solver="auto")

    @every_estimator
    def test_refit_of_the_same_problem_needs_one_iteration(self, name):
        X, y = data(name, n=150)
        warm = make(name, warm_start=True, solver="smo").fit(X, y)
        before = values(warm, X)
        warm.fit(X, y)
        assert np.max(warm.n_iter_) <= 1
        np.testing.assert_allclose(values(warm, X), before, atol=1e-9)


class TestChangedData:
    """A previous solution that does not fit is adapted or ignored."""

    @every_estimator
    @pytest.mark.parametrize("n", [40, 80])
    def test_start_is_ignored_for_another_number_of_samples(self, name, n):
        X, y = data(name)
        warm = make(name, warm_start=True).fit(*data(name, n=n, seed=5))
        assert warm.fit(X, y).dual_coef_.tobytes() == make(name).fit(X, y).dual_coef_.tobytes()

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_other_classes_give_the_cold_solution(self, name):
        X, y = data(name, classes=3)
        warm = make(name, warm_start=True).fit(*data(name, classes=2))
        np.testing.assert_allclose(values(warm.fit(X, y), X), values(make(name).fit(X, y), X), atol=1e-6)

    @every_estimator
    def test_zero_weight_removes_a_sample(self, name):
        X, y = data(name)
        weight = np.ones(len(y))
        weight[7] = 0
        warm = make(name, warm_start=True).fit(X, y).fit(X, y, sample_weight=weight)
        cold = make(name).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)

    @every_estimator
    def test_other_samples_give_the_cold_solution(self, name):
        X, y = data(name)
        warm = make(name, warm_start=True).fit(*data(name, seed=5)).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(make(name).fit(X, y), X), atol=1e-6)

    @every_estimator
    def test_other_weights_give_the_cold_solution(self, name):
        X, y = data(name)
        weight = np.random.default_rng(0).uniform(0.3, 3, len(y))
        warm = make(name, warm_start=True).fit(X, y).fit(X, y, sample_weight=weight)
        cold = make(name).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)

    def test_after_a_fit_that_was_stopped_early(self):
        X, y = data("SVC", n=150)
        warm = make("SVC", warm_start=True, solver=SMO(tol=1e-4, max_iter=20))
        with pytest.warns(match="max_iter"):
            warm.fit(X, y)
        warm.set_params(solver="smo").fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(make("SVC").fit(X, y), X), atol=1e-6)

    def test_class_weight_with_nu_gives_the_cold_solution(self):
        """Two problems are solved in sequence. The second must not start from the solution of the first."""
        X, y = data("NuSVC")
        options = dict(class_weight={0: 2.0}, nu=0.4)
        warm = make("NuSVC", warm_start=True, **options).fit(X, y).fit(X, y)
        cold = make("NuSVC", **options).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)


class TestColdStart:
    @every_estimator
    def test_clone_starts_cold(self, name):
        X, y = data(name, n=150)
        warm = make(name, warm_start=True, solver="smo").fit(X, y)
        cold = make(name, solver="smo").fit(X, y)
        copy = clone(warm).fit(X, y)
        np.testing.assert_array_equal(copy.n_iter_, cold.n_iter_)
        assert copy.dual_coef_.tobytes() == cold.dual_coef_.tobytes()

    @every_estimator
    def test_without_warm_start_every_fit_is_cold(self, name):
        X, y = data(name, n=150)
        model = make(name, solver="smo").fit(X, y)
        steps = model.n_iter_
        np.testing.assert_array_equal(model.fit(X, y).n_iter_, steps)

    @every_estimator
    def test_disabled_warm_start_discards_the_solution(self, name):
        X, y = data(name, n=150)
        model = make(name, warm_start=True, solver="smo").fit(X, y)
        steps = model.n_iter_
        np.testing.assert_array_equal(model.set_params(warm_start=False).fit(X, y).n_iter_, steps)


@pytest.mark.parametrize("name", WITH_C)
@pytest.mark.parametrize("grid", [10.0 ** np.arange(2, -3, -1.0), 1.3 ** np.arange(8)])
def test_rescaled_starts_reach_the_cold_solutions(name, grid):
    X, y = data(name, n=120)
    warm, cold_steps, warm_steps = make(name, warm_start="rescale", solver="smo"), 0, 0
    for C in grid:
        cold = make(name, solver="smo", C=C).fit(X, y)
        warm.set_params(C=C).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)
        cold_steps, warm_steps = cold_steps + np.sum(cold.n_iter_), warm_steps + np.sum(warm.n_iter_)
    if grid[1] / grid[0] > 0.5 and name != "NuSVR":
        assert warm_steps < cold_steps


def test_rescaling_preserves_the_equality_constraint_and_is_not_clipping():
    last = WarmStart([np.array([0.0, 1.0, 4.0, 4.0])], [np.full(4, 4.0)])
    (rescaled,) = last.adapted_to([np.full(4, 1.0)], rescale=True)
    (clipped,) = last.adapted_to([np.full(4, 1.0)])
    np.testing.assert_array_equal(rescaled, [0.0, 0.25, 1.0, 1.0])
    np.testing.assert_array_equal(clipped, [0.0, 1.0, 1.0, 1.0])
    (unbounded,) = last.adapted_to([np.full(4, np.inf)], rescale=True)
    np.testing.assert_array_equal(unbounded, last.alpha[0])


def test_an_unknown_warm_start_is_rejected():
    X, y = data("SVC", n=40)
    with pytest.raises(ValueError, match="warm_start='scaled'"):
        hinge.SVC(warm_start="scaled").fit(X, y)
