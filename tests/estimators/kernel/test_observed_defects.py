"""Certificates, statuses and decision values that were wrong in earlier versions."""

import time
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hinge import SVC, SVR, NuSVC, NuSVR, OneClassSVM, Status
from hinge.solvers import SMO, GradientDescent
from reference.benchmark_data import data_folder
from reference.termination import output_of

#: Two samples whose kernel matrix has rank one up to its last digit.
FAR_X = np.array([[99999999.48476975], [100000001.62493937]])
FAR_Y = np.array([0.6934279939520602, 2.2329054822849232])


def fitted(estimator, *data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data)


def rational(values):
    return [Fraction(float(v)) for v in values]


def exact_interval(model, X, y):
    """Dual and primal value of a linear SVC with one function in rational arithmetic: bounds on the optimum.

    The lower bound belongs to the dual coefficients after clipping to [0, C] and shrinking of the larger side of the
    equality constraint.
    """
    C, beta = Fraction(model.C), dict(zip(model.support_.tolist(), rational(model.dual_coef_[0]), strict=True))
    sign = np.where(y == model.classes_[1], 1, -1).tolist()
    rows = [rational(row) for row in X]
    weights = [sum(b * rows[i][k] for i, b in beta.items()) for k in range(X.shape[1])]
    offset = Fraction(float(model.intercept_[0]))
    f = [sum(w * v for w, v in zip(weights, row, strict=True)) + offset for row in rows]
    primal = sum(w * w for w in weights) / 2 + C * sum(max(0, 1 - s * v) for s, v in zip(sign, f, strict=True))

    alpha = {i: min(max(sign[i] * b, 0), C) for i, b in beta.items()}
    sides = {s: sum(a for i, a in alpha.items() if sign[i] == s) for s in (1, -1)}
    smaller = min(sides.values())
    alpha = {i: a * smaller / sides[sign[i]] for i, a in alpha.items()}
    weights = [sum(a * sign[i] * rows[i][k] for i, a in alpha.items()) for k in range(X.shape[1])]
    dual = sum(alpha.values()) - sum(w * w for w in weights) / 2
    assert dual <= primal
    return dual, primal


class TestRounding:
    """The bounds include the rounding errors of their evaluation."""

    def assert_true(self, X, y, **parameters):
        model = fitted(SVC(kernel="linear", **parameters), X, y)
        low, high = exact_interval(model, X, y)
        for certificate in (model.certificate_, model.certify(X, y)):
            assert certificate.dual <= certificate.primal
            assert certificate.best_dual <= certificate.best_primal
            assert Fraction(certificate.best_dual) <= high
            assert Fraction(certificate.best_primal) >= low

    @pytest.mark.parametrize("tol", [1e-3, 1e-8])
    def test_bounds_of_unscaled_data_contain_the_optimum(self, tol):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 8)) * np.logspace(-1, 3, 8) + np.logspace(0, 3, 8)
        score = X @ np.logspace(1, -3, 8) + 3 * rng.normal(size=200)
        y = np.where(score > np.median(score), 1, -1)
        self.assert_true(X, y, C=100.0, tol=tol)

    @pytest.mark.skipif(data_folder() is None, reason="the data are not available")
    def test_bounds_of_pima_contain_the_optimum(self):
        with np.load(data_folder() / "pima_raw.npz") as arrays:
            self.assert_true(arrays["X"], arrays["y"], C=100.0)

    @pytest.mark.skipif(data_folder() is None, reason="the data are not available")
    def test_intervals_of_fit_and_certify_overlap(self):
        with np.load(data_folder() / "pima_raw.npz") as arrays:
            X, y = arrays["X"], arrays["y"]
        model = fitted(SVC(kernel="linear", C=100.0), X, y)
        first, second = model.certificate_, model.certify(X, y)
        assert max(first.dual, second.dual) <= min(first.primal, second.primal)

    def test_the_upper_bound_of_two_distant_samples_is_not_below_the_value_of_the_function(self):
        """Rounding errors of the offset change the primal value of the fitted function by half."""
        model = fitted(SVR(kernel="linear", solver=GradientDescent(max_time=5.0)), FAR_X, FAR_Y)
        beta, vectors = rational(model.dual_coef_[0]), rational(model.support_vectors_[:, 0])
        slope = sum(b * x for b, x in zip(beta, vectors, strict=True))
        offset, epsilon = Fraction(float(model.intercept_[0])), Fraction(model.epsilon)
        errors = [abs(y - slope * x - offset) for x, y in zip(rational(FAR_X[:, 0]), rational(FAR_Y), strict=True)]
        value = slope * slope / 2 + sum(max(0, e - epsilon) for e in errors)
        certificate = model.certificate_
        assert certificate.best_dual <= certificate.best_primal
        assert certificate.primal >= value * (1 - Fraction(1, 10**9))
        assert model.status_ is not Status.SOLVED or certificate.relative_gap <= 1e-2

    def test_the_lower_bound_is_printed_first(self):
        model = fitted(SVR(kernel="linear", solver=GradientDescent(max_time=5.0)), FAR_X, FAR_Y)
        words = str(model.certificate_).replace(":", " ").split()
        assert float(words[words.index("between") + 1]) <= float(words[words.index("and") + 1])


class TestInfiniteCost:
    @pytest.mark.parametrize(("solver", "tol"), [("smo", 0.3), ("working_set", 0.3), ("smo", 0.05)])
    def test_the_upper_bound_is_not_below_the_optimum(self, solver, tol):
        """The function of a loose solution violates the margin constraints: its norm is no upper bound."""
        false = 0
        for seed in (4, 5, 7, 9):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(200, 2))
            y = np.where(X.sum(axis=1) > 0, 1, -1)
            X += 0.02 * y[:, None]
            optimum = SVC(C=np.inf, kernel="linear", tol=1e-10).fit(X, y).certificate_.dual
            found = fitted(SVC(C=np.inf, kernel="linear", tol=tol, solver=solver), X, y).certificate_
            false += found.primal < optimum * (1 - 1e-9) or found.best_primal < optimum * (1 - 1e-9)
        assert false == 0


class TestSolved:
    """SOLVED means that `tol` was reached, and the gap is not large."""

    def test_a_small_regression_problem_is_solved_to_a_small_gap(self):
        x = np.linspace(-10, 10, 100)
        model = fitted(SVR(C=1e3, epsilon=0.1, gamma=0.5), x[:, None], np.sinc(x / np.pi))
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative_gap <= 1e-2
        assert model.certificate_.primal == pytest.approx(0.40917693, rel=1e-2)

    @pytest.mark.parametrize("C", [1.0, 10.0])
    def test_the_tolerance_is_passed_to_solvers_selected_by_name(self, C):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
        model = fitted(SVC(C=C, solver="adatron", tol=1e-8), X, y)
        assert model.status_ is not Status.SOLVED or model.certificate_.kkt_violation <= 1e-6

    @pytest.mark.parametrize("estimator", [OneClassSVM, NuSVC, NuSVR], ids=lambda e: e.__name__)
    @pytest.mark.parametrize("solver", ["auto", "smo", "interior_point"])
    def test_the_relative_gap_is_small_if_the_optimum_is_zero(self, estimator, solver):
        rng = np.random.default_rng(1)
        X = rng.normal(size=(30, 3))
        y = X @ [1e-9, 2e-9, 3e-9] if estimator is NuSVR else np.where(np.arange(30) % 2, 1.0, -1.0)
        model = fitted(estimator(kernel="linear", solver=solver), X, y)
        assert model.status_ is Status.SOLVED
        assert abs(model.certificate_.dual) < 1e-10
        assert model.certificate_.relative_gap <= 1e-2

    def test_a_large_gap_is_reduced_if_the_kkt_violation_is_far_below_the_tolerance(self):
        """The tolerances of further rounds start at the violation that was reached."""
        X = np.random.default_rng(1).normal(size=(30, 3))
        model = fitted(NuSVR(kernel="linear", solver=SMO(polish=False)), X, X @ [1e-9, 2e-9, 3e-9])
        assert model.status_ is Status.SOLVED
        assert model.certificate_.relative_gap <= 1e-2

    def test_the_status_is_printed_by_its_name(self):
        assert str(SVC().fit([[0.0], [1.0]], [0, 1]).status_) == "SOLVED"


class TestOverflow:
    """A fit raises an error, or its decision values are finite."""

    def assert_finite(self, X, y, **parameters):
        try:
            model = fitted(SVC(kernel="poly", gamma=1.0, **parameters), X, y)
        except ValueError:
            return
        assert np.isfinite(model.decision_function(X)).all()

    @pytest.mark.parametrize("seed", [11, 14, 23])
    def test_float32_features_of_size_2e6_and_a_cubic_kernel_give_finite_values(self, seed):
        rng = np.random.default_rng(seed)
        X = (2e6 * rng.normal(size=(10, 3))).astype(np.float32)
        y = np.where(np.arange(10) % 2, 1, -1)
        self.assert_finite(X, y, degree=3)

    def test_a_fractional_degree_of_negative_numbers_gives_finite_values(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 3))
        self.assert_finite(X, np.where(X[:, 0] > 0, 1, -1), degree=2.5)


class TestTime:
    def test_two_distant_samples_terminate_without_a_limit(self):
        status, steps = output_of(
            f"""
            from hinge import SVR
            model = SVR(kernel="linear", solver="smo").fit({FAR_X.tolist()}, {FAR_Y.tolist()})
            print(int(model.status_), int(model.n_iter_))
            """
        )
        assert Status(int(status)) is Status.NUMERICAL
        assert int(steps) <= 1_000_000  # the limit of steps is ten million

    def test_few_samples_end_after_fewer_than_ten_million_steps(self):
        """The columns agree to six digits: steps on single variables converge too slowly."""
        X = 15434156 + np.random.default_rng(0).integers(0, 4, size=(14, 3)).astype(np.float32)
        parameters = dict(C=4.5e-6, fit_intercept=False, kernel="linear", solver="smo")
        model = fitted(SVC(**parameters), X, np.arange(14) % 2)
        assert model.status_ is Status.MAX_ITER
        assert model.n_iter_ <= 1_140_000

    @pytest.mark.slow
    @pytest.mark.parametrize("estimator", [SVC, SVR], ids=lambda e: e.__name__)
    def test_a_fit_of_many_samples_ends_in_time_with_its_certificate(self, estimator):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300_000, 10)).astype(np.float32)
        y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1)
        start = time.monotonic()
        model = fitted(estimator(max_time=2.0), X, y)
        assert time.monotonic() - start <= 2.2
        assert model.certificate_.dual <= model.certificate_.primal

    @pytest.mark.slow
    def test_novelty_detection_with_many_samples_ends_in_time(self):
        assert output_of(
            """
            import time
            import numpy as np
            from hinge import OneClassSVM
            X = np.random.default_rng(0).normal(size=(300_000, 10)).astype(np.float32)
            start = time.monotonic()
            OneClassSVM(max_time=2.0).fit(X)
            print(time.monotonic() - start <= 2.2)
            """
        ) == ["True"]
