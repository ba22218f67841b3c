"""Difficult data: agreement with an independent solver, valid certificates, errors for invalid values."""

import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge import Status
from hinge.control import RunControl
from hinge.estimators.common.report import confirmed_status
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import linear_optimality
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.small_problems import interior_point_fallback
from reference.linear import optimum
from solvers.linear.cases import BIASES

N, D = 50, 4


def _plain():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D)) + 0.5
    return X, np.where(X[:, 0] + rng.normal(size=N) > 0.5, 1.0, -1.0)


def _copies():
    X, y = _plain()
    X[:] = X[:3][np.arange(N) % 3]  # three different rows with contradicting labels
    return X, y


def _constant_features():
    X, y = _plain()
    X[:, 1], X[:, 2] = 1.0, 0.0
    return X, y


def _explicit_zeros():
    X, y = _plain()
    X[np.abs(X) < 0.5] = 0.0
    stored = sparse.csr_matrix(np.ones_like(X))
    stored.data[:] = X.ravel()  # zeros are stored explicitly
    return stored, y


def _empty_rows():
    X, y = _plain()
    X[::3] = 0.0
    X[:, 3] = 0.0
    return sparse.csr_matrix(X), y


def _class_of_one_sample():
    X, y = _plain()
    y[:], y[7] = 1.0, -1.0
    return X, y


def _unscaled():
    X, y = _plain()
    return X * np.array([1e4, 1.0, 1e-4, 1.0]), y


def _zeros():
    return np.zeros((N, D)), _plain()[1]


CASES = {
    "copies": _copies,
    "constant features": _constant_features,
    "explicit zeros": _explicit_zeros,
    "empty rows": _empty_rows,
    "class of one sample": _class_of_one_sample,
    "unscaled": _unscaled,
    "zeros": _zeros,
    "large": lambda: (1e6 * _plain()[0], _plain()[1]),
    "small": lambda: (1e-6 * _plain()[0], _plain()[1]),
    "float32": lambda: (_plain()[0].astype(np.float32), _plain()[1]),
    "int64 indices": lambda: (_int64(sparse.csr_matrix(_plain()[0])), _plain()[1]),
}


def _int64(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("bias", BIASES, ids=lambda bias: bias.name)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("kind", CASES)
def test_value_agrees_with_an_independent_solver(kind, loss, bias):
    X, y = CASES[kind]()
    cost = np.linspace(0.5, 2.0, N)
    if "epsilon" in loss:
        problem = linear_regression(X, y, cost, 0.1, loss, bias)
    else:
        problem = linear_classification(X, y, cost, loss, bias)
    solution = CoordinateDescent(tol=1e-9, max_time=20).solve_linear(problem)
    assert solution.status is Status.SOLVED
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    scale = max(abs(certificate.primal), 1e-12)
    assert certificate.gap <= 1e-8 * scale
    assert certificate.gap == pytest.approx(solution.gap, rel=1e-3, abs=1e-12 * scale)
    value = optimum(problem)
    # the value of clarabel is an upper bound, which is not tight for unscaled data
    assert solution.dual <= value + 1e-9 * scale
    if kind not in ("large", "unscaled"):
        assert abs(solution.primal - value) <= 1e-8 * scale


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_storage_has_no_effect(loss):
    """Explicit zeros, empty rows and dense rows of the same values give the same model."""
    X, y = _explicit_zeros()
    forms = [X, X.toarray(), sparse.csr_matrix(X.toarray()), _int64(X.copy()), sparse.csc_matrix(X)]
    models = [hinge.LinearSVC(loss=loss, tol=1e-10).fit(form, y) for form in forms]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-6, atol=1e-8)
        assert model.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("factor", [1e-5, 1e5])
def test_scaled_features_equal_a_scaled_C(loss, factor):
    """½‖w‖² + C Σ loss(⟨w, x⟩): scaling features by s equals scaling C by s² and weights by 1/s."""
    X, y = _plain()
    one = hinge.LinearSVC(loss=loss, C=1.0, tol=1e-9).fit(X, y)
    other = hinge.LinearSVC(loss=loss, C=factor**-2, tol=1e-9).fit(factor * X, y)
    np.testing.assert_allclose(factor * other.coef_, one.coef_, rtol=1e-5)
    assert other.certify(factor * X, y).relative_gap <= 1.01e-9


def test_zero_weights_remove_samples_but_not_classes():
    X, y = _plain()
    weight = np.where(y > 0, 1.0, 0.0)
    with pytest.raises(ValueError, match="same class"):
        hinge.LinearSVC().fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="class_weight"):
        hinge.LinearSVC(class_weight={1.0: 0.0}).fit(X, y)
    weight[np.flatnonzero(y < 0)[0]] = 1e-6
    model = hinge.LinearSVC(loss="hinge", tol=1e-8).fit(X, y, sample_weight=weight)
    assert model.certify(X, y, sample_weight=weight).relative_gap <= 1.01e-8
    left_out = np.flatnonzero(weight == 0)
    assert np.all(model.dual_coef_[0, left_out] == 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [(0, 0), (2999, 199), (1500, 7)])
def test_values_that_are_not_finite_are_rejected(form, value, dtype, place):
    """There are enough values for several threads."""
    X = np.ones((3000, 200), dtype=dtype)
    X[place] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        hinge.LinearSVC(n_jobs=2).fit(form(X), np.arange(3000) % 2)


def test_large_values_are_finite():
    """The sum of the features overflows although all of them are finite."""
    X = np.full((4, 2), 1e200)
    X[:2] *= -1
    assert hinge.kernels.samples.all_finite(X)
    assert hinge.kernels.samples.all_finite(np.full((4, 2), 3e38, dtype=np.float32))
    assert not hinge.kernels.samples.all_finite(np.array([[1.0, np.nan]]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("solver", ["auto", "descent"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_overflowing_norms_are_rejected(loss, solver, form):
    X, y = _plain()
    with pytest.raises(ValueError, match="norms of these samples overflow"):
        hinge.LinearSVC(loss=loss, solver=solver).fit(form(1e160 * X), y)


@pytest.mark.parametrize("solver", ["auto", "descent"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_small_optimum_is_not_taken_for_zero(loss, solver):
    """The optimum is 1e-13 of the loss at w = 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    f = X @ rng.normal(size=5)
    X, y = 1e4 * X[np.abs(f) > 0.3], np.sign(f[np.abs(f) > 0.3])
    model = hinge.LinearSVC(loss=loss, C=1e3, solver=solver, max_iter=200_000).fit(X, y)
    assert model.status_ is Status.SOLVED
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("C", [1e150, 1e300])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_very_large_costs_terminate(loss, C):
    X, y = _plain()
    with pytest.warns(ConvergenceWarning):
        hinge.LinearSVC(loss=loss, C=C, fit_intercept=False, solver="descent").fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "descent", "newton"])
@pytest.mark.parametrize("shift", [1e6, -1e8])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_shifted_targets_are_fitted(loss, solver, shift):
    """The offset compensates the shift, and w = 0 is not accepted as solution."""
    X, _ = _plain()
    original = hinge.LinearSVR(loss=loss, solver=solver).fit(X, 2 * X[:, 0])
    shifted = hinge.LinearSVR(loss=loss, solver=solver).fit(X, 2 * X[:, 0] + shift)
    assert shifted.status_ is Status.SOLVED
    assert shifted.certificate_.relative_gap <= 1e-4
    np.testing.assert_allclose(shifted.coef_, original.coef_, atol=0.05)


class TestExtremeCosts:
    """A certificate with NaN is never SOLVED; costs that would cause it are rejected."""

    @pytest.mark.parametrize("C", [5e-324, 1e-320, 1e-310, 1e301, 1.7e308])
    @pytest.mark.parametrize("estimator", [hinge.LinearSVC(), hinge.LinearSVR(loss="squared_epsilon_insensitive")])
    def test_costs_without_an_inverse_are_rejected(self, estimator, C):
        X, y = _plain()
        with pytest.raises(ValueError, match=r"products between 1e-300 and 1e\+300"):
            clone(estimator).set_params(C=C).fit(X, y)
        with pytest.raises(ValueError, match="a weight of 0 for samples that are to be left out"):
            clone(estimator).fit(X, y, sample_weight=np.where(np.arange(N) == 3, C, 1.0))

    @pytest.mark.parametrize("C", [1e-300, 1e300])
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_costs_at_the_limit_are_accepted(self, loss, C):
        X, y = _plain()
        model = hinge.LinearSVC(loss=loss, C=C, max_iter=100).fit(X, y)
        assert not np.isnan(model.certificate_.relative_gap)
        assert model.status_ is not Status.SOLVED or model.certificate_.relative_gap <= 1e-4

    def test_status_follows_the_certificate(self):
        null = linear_optimality(linear_classification(*_plain(), np.ones(N), "hinge"), np.zeros(D), 0.0, np.zeros(N))
        assert confirmed_status(Status.SOLVED, [null], 1e-3) is Status.NUMERICAL
        null = replace(null, dual=null.primal, gap=0.0, relative_gap=0.0)
        assert confirmed_status(Status.SOLVED, [null], 1e-3) is Status.SOLVED
        for name in ("primal", "dual", "gap"):
            wrong = [null, replace(null, **{name: float("nan")})]
            assert confirmed_status(Status.SOLVED, wrong, 1e-3) is Status.NUMERICAL
            assert confirmed_status(Status.TIME_LIMIT, wrong, 1e-3) is Status.TIME_LIMIT


@pytest.mark.parametrize("size", [1e5, 1e6, 1e7])
@pytest.mark.parametrize("bias", BIASES, ids=lambda bias: bias.name)
def test_small_problems_use_the_interior_point_fallback(bias, size):
    """Targets without noise and large features, for which descent and Newton steps converge slowly."""
    X = size * np.random.default_rng(0).normal(size=(40, 3))
    y = X @ np.array([1.0, -2.0, 3.0]) / size
    problem = linear_regression(X, y, np.ones(40), 0.0, "epsilon_insensitive", bias)
    solution = CoordinateDescent(max_iter=1000).solve_linear(problem)
    assert solution.status is not Status.MAX_ITER
    np.testing.assert_allclose(X @ solution.weights + solution.offset, y, atol=1e-12)
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    assert certificate.gap <= 1e-13 * np.abs(y).sum()


class TestOptimumOfZero:
    """The relative gap is meaningless; SOLVED means that the gap is a rounding error of the loss at w = 0."""

    @pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
    def test_perfect_fit_with_small_weights_is_solved(self, loss, recwarn):
        rng = np.random.default_rng(0)
        X = 1e8 * rng.normal(size=(40, 3))
        y = X @ np.array([1e-8, -2e-8, 3e-8])
        model = hinge.LinearSVR(loss=loss, C=10.0).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative_gap <= 1e-2  # relative to the loss of the null model
        assert model.certificate_.gap <= 1e-13 * 10.0 * np.sum(np.abs(y) if loss.startswith("e") else y**2)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
        assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]

    @pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
    def test_one_class_around_the_origin_gives_the_null_model_and_a_warning(self, nu, kind):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        X = kind(np.r_[X, -X])
        with pytest.warns(UserWarning, match="the origin lies among them"):
            model = hinge.LinearOneClassSVM(nu=nu).fit(X)
        assert model.status_ is Status.SOLVED
        assert not np.any(model.coef_)
        assert model.offset_[0] == 0 == model.intercept_[0]
        assert np.all(model.decision_function(X) == 0)
        assert np.all(model.predict(X) == 1)
        certificate = model.certify(X)
        assert certificate.primal == 0 == model.certificate_.primal
        assert certificate.gap == pytest.approx(model.certificate_.gap, rel=1e-6, abs=1e-30)
        assert certificate.gap <= 1e-6 * np.sum(model.dual_coef_) ** 2

    def test_one_class_away_from_the_origin_has_a_fraction_nu_of_outliers(self, recwarn):
        X = np.random.default_rng(0).normal(size=(200, 3)) + 4.0
        model = hinge.LinearOneClassSVM(nu=0.2).fit(X)
        assert model.offset_[0] > 0
        assert np.mean(model.predict(X) < 0) == pytest.approx(0.2, abs=0.02)
        assert not [w for w in recwarn if issubclass(w.category, UserWarning)]


def test_one_class_does_not_copy_the_samples():
    """The peak memory of a subprocess: X, vectors, and the samples close to the boundary."""
    code = """
        import resource, numpy as np, hinge
        rng = np.random.default_rng(0)
        X = np.empty((60_000, 300), dtype=np.float32)
        for row in range(0, len(X), 1000):
            X[row : row + 1000] = rng.normal(size=(1000, 300)) + 0.5
        hinge.LinearOneClassSVM(nu=0.2).fit(X[:3000])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        model = hinge.LinearOneClassSVM(nu=0.2).fit(X)
        print(model.status_.name, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / X.nbytes)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    status, share = run.stdout.split()
    assert status == "SOLVED"
    assert float(share) < 0.5


class TestShiftedSamples:
    """Separable samples far from the origin: offset and weights must change together."""

    X = np.array([[-2.2, -0.2], [0.9, 0.2], [-0.2, -1.3], [0.1, 1.2], [-0.4, -0.3]])
    y = np.array([-1, 1, 1, 1, -1])

    @pytest.mark.parametrize("shift", [0.0, 10.0, 100.0, 1000.0])
    def test_squared_hinge_loss_reaches_the_optimum(self, shift):
        X = self.X + shift
        model = hinge.LinearSVC(C=170).fit(X, self.y)
        assert model.status_ is Status.SOLVED
        certificate = model.certify(X, self.y)
        assert certificate.primal == pytest.approx(18.968843976821, rel=1e-6)
        assert certificate.relative_gap <= 1e-4
        assert certificate.primal == pytest.approx(model.certificate_.primal, rel=1e-9)

    @pytest.mark.parametrize("shift", [0.0, 10.0, 100.0, 1000.0])
    def test_newton_needs_few_steps(self, shift):
        model = hinge.LinearSVC(C=170, solver="newton", max_iter=20).fit(self.X + shift, self.y)
        assert model.status_ is Status.SOLVED
        assert model.certificate_.primal == pytest.approx(18.968843976821, rel=1e-6)

    @pytest.mark.parametrize("bias", BIASES)
    @pytest.mark.parametrize("tube", [None, 0.0, 0.1])
    def test_interior_point_fallback_solves_squared_losses(self, bias, tube):
        """The value agrees with that of Newton's method."""
        rng = np.random.default_rng(1)
        X, weight = rng.normal(size=(30, 3)), np.full(30, 20.0)
        if tube is None:
            problem = linear_classification(X, np.where(X[:, 0] > 0.1, 1.0, -1.0), weight, "squared_hinge", bias, 0.7)
        else:
            problem = linear_regression(X, X[:, 0] + 0.3, weight, tube, "squared_epsilon_insensitive", bias, 0.7)
        reference = CoordinateDescent(tol=1e-12).solve_linear(problem)
        first = CoordinateDescent(tol=1e-12, max_iter=1).solve_linear(problem)
        solution = interior_point_fallback(problem, first, 1e-10, RunControl())
        assert solution.status is Status.SOLVED
        assert solution.primal == pytest.approx(reference.primal, rel=1e-9)
        assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1e-10


@pytest.mark.parametrize("bias", BIASES, ids=lambda bias: bias.name)
@pytest.mark.parametrize("n", [40, 500, 2000])
def test_targets_without_noise_need_few_steps(n, bias):
    """All residuals are 0 at the solution."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    problem = linear_regression(X, X @ rng.normal(size=10) + 0.5, np.ones(n), 0.0, "epsilon_insensitive", bias)
    solution = CoordinateDescent().solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert solution.iterations <= 100
    assert np.isfinite(solution.history.gap).all()
    assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1e-4


@pytest.mark.parametrize("solver", ["auto", "descent", "newton"])
def test_targets_within_the_tube_give_the_null_model(solver):
    """A penalized offset must be exactly 0, since a rounding error would have a relative gap of 2."""
    rng = np.random.default_rng(0)
    for n in range(2, 40):
        X, y = rng.normal(size=(n, 3)), rng.uniform(-0.09, 0.09, n)
        weight = rng.uniform(0.1, 3.0, n)
        model = hinge.LinearSVR(epsilon=0.1, C=7.0, solver=solver, penalize_intercept=True, intercept_scaling=3.3)
        model.fit(X, y, sample_weight=weight)
        assert model.status_ is Status.SOLVED
        assert not np.any(model.coef_)
        assert model.intercept_[0] == 0
