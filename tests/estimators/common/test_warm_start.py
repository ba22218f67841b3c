"""`warm_start=True` along a path: the models of cold fits, for less work."""

import numpy as np
import pytest
from sklearn.base import clone

import hinge
from hinge.solvers import SMO
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, data, values

WITH_C = ("SVC", "SVR", "NuSVR")

every_machine = pytest.mark.parametrize("name", NAMES)


def machine(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, "tol": 1e-4, **PARAMETERS[name], **options})


def along(name, path, X, y, solver="smo", **options):
    """Fit a cold and a warm machine at every point; the work of both, after comparing them."""
    warm, cold_steps, warm_steps = machine(name, warm_start=True, solver=solver, **options), 0, 0
    for point in path:
        cold = machine(name, solver=solver, **{**options, **point}).fit(X, y)
        warm.set_params(**point).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)
        assert warm.status_ is hinge.Status.SOLVED
        cold_steps += np.sum(cold.n_iter_)
        warm_steps += np.sum(warm.n_iter_)
    return cold_steps, warm_steps


class TestPaths:
    @pytest.mark.parametrize("name", WITH_C)
    def test_over_C(self, name):
        """The last solution is rescaled to the new C (LwK 10.1.2)."""
        X, y = data(name, n=150)
        cold, warm = along(name, [dict(C=C) for C in 1.1 ** np.arange(10)], X, y)
        assert warm < 0.9 * cold

    @every_machine
    def test_over_gamma(self, name):
        X, y = data(name, n=150)
        cold, warm = along(name, [dict(gamma=gamma) for gamma in 0.4 * 1.03 ** np.arange(10)], X, y)
        assert warm < 0.9 * cold

    @pytest.mark.parametrize("name", ["NuSVC", "NuSVR", "OneClassSVM"])
    def test_over_nu(self, name):
        """The equality rows move: the last solution is made feasible."""
        X, y = data(name, n=150)
        along(name, [dict(nu=nu) for nu in (0.3, 0.32, 0.31, 0.6, 0.1)], X, y)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_over_several_classes(self, name):
        X, y = data(name, n=150, classes=3)
        cold, warm = along(name, [dict(gamma=gamma) for gamma in 0.4 * 1.03 ** np.arange(6)], X, y)
        assert warm < 0.9 * cold

    def test_from_a_hard_margin_and_back(self):
        """C = ∞ has no fraction of C to rescale."""
        X, y = data("SVC", n=60)
        along("SVC", [dict(C=C) for C in (100.0, np.inf, 10.0, np.inf)], X, y, gamma=2.0)

    def test_by_the_default_solver(self):
        X, y = data("SVC", n=150)
        along("SVC", [dict(C=C) for C in (1.0, 2.0, 4.0)], X, y, solver="auto")

    @every_machine
    def test_the_same_again_costs_nothing(self, name):
        X, y = data(name, n=150)
        warm = machine(name, warm_start=True, solver="smo").fit(X, y)
        before = values(warm, X)
        warm.fit(X, y)
        assert np.max(warm.n_iter_) <= 1
        np.testing.assert_allclose(values(warm, X), before, atol=1e-9)


class TestFallsBack:
    """A start that does not fit is no start, and no error."""

    @every_machine
    @pytest.mark.parametrize("n", [40, 80])
    def test_other_samples(self, name, n):
        X, y = data(name)
        warm = machine(name, warm_start=True).fit(*data(name, n=n, seed=5))
        assert warm.fit(X, y).dual_coef_.tobytes() == machine(name).fit(X, y).dual_coef_.tobytes()

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_other_classes(self, name):
        X, y = data(name, classes=3)
        warm = machine(name, warm_start=True).fit(*data(name, classes=2))
        np.testing.assert_allclose(values(warm.fit(X, y), X), values(machine(name).fit(X, y), X), atol=1e-6)

    @every_machine
    def test_a_sample_less(self, name):
        """A weight of zero leaves a sample out."""
        X, y = data(name)
        weight = np.ones(len(y))
        weight[7] = 0
        warm = machine(name, warm_start=True).fit(X, y).fit(X, y, sample_weight=weight)
        cold = machine(name).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)

    @every_machine
    def test_other_values_of_as_many_samples(self, name):
        """That is what a warm start is for: a bad start, but a start."""
        X, y = data(name)
        warm = machine(name, warm_start=True).fit(*data(name, seed=5)).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(machine(name).fit(X, y), X), atol=1e-6)

    @every_machine
    def test_other_weights(self, name):
        X, y = data(name)
        weight = np.random.default_rng(0).uniform(0.3, 3, len(y))
        warm = machine(name, warm_start=True).fit(X, y).fit(X, y, sample_weight=weight)
        cold = machine(name).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)

    def test_after_a_fit_that_was_stopped(self):
        X, y = data("SVC", n=150)
        warm = machine("SVC", warm_start=True, solver=SMO(tol=1e-4, max_iter=20))
        with pytest.warns(match="max_iter"):
            warm.fit(X, y)
        warm.set_params(solver="smo").fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(machine("SVC").fit(X, y), X), atol=1e-6)

    def test_a_class_weight_on_top_of_nu(self):
        """Two machines are trained one after the other: the second must not start from the first's."""
        X, y = data("NuSVC")
        options = dict(class_weight={0: 2.0}, nu=0.4)
        warm = machine("NuSVC", warm_start=True, **options).fit(X, y).fit(X, y)
        cold = machine("NuSVC", **options).fit(X, y)
        np.testing.assert_allclose(values(warm, X), values(cold, X), atol=1e-6)


class TestForgets:
    @every_machine
    def test_a_clone_starts_cold(self, name):
        X, y = data(name, n=150)
        warm = machine(name, warm_start=True, solver="smo").fit(X, y)
        cold = machine(name, solver="smo").fit(X, y)
        copy = clone(warm).fit(X, y)
        np.testing.assert_array_equal(copy.n_iter_, cold.n_iter_)
        assert copy.dual_coef_.tobytes() == cold.dual_coef_.tobytes()

    @every_machine
    def test_without_warm_start_nothing_is_kept(self, name):
        X, y = data(name, n=150)
        model = machine(name, solver="smo").fit(X, y)
        steps = model.n_iter_
        np.testing.assert_array_equal(model.fit(X, y).n_iter_, steps)

    @every_machine
    def test_switching_it_off_forgets(self, name):
        X, y = data(name, n=150)
        model = machine(name, warm_start=True, solver="smo").fit(X, y)
        steps = model.n_iter_
        np.testing.assert_array_equal(model.set_params(warm_start=False).fit(X, y).n_iter_, steps)
