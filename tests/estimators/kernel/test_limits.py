"""Status, warnings, progress output and certificates of the kernel estimators."""

import re
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, data

every_estimator = pytest.mark.parametrize("name", NAMES)


def make(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, **PARAMETERS[name], **options})


class TestStatus:
    @pytest.mark.parametrize(("name", "C"), [("SVC", 1.0), ("NuSVR", 1e4)])
    def test_solved_agrees_with_the_certificate(self, name, C):
        """One feature has size 10⁶. With a linear kernel, rounding errors of the function are larger than `tol`."""
        statuses = set()
        for seed in range(12):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(40, 3)) * [1e6, 1, 1]
            y = rng.normal(size=40) if name == "NuSVR" else rng.integers(0, 2, 40)
            model = getattr(hinge, name)(C=C, kernel="linear", tol=1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y)
            statuses.add(model.status_)
            solved = model.status_ is hinge.problems.Status.SOLVED
            certificate = model.certificate_
            assert not solved or certificate.kkt_violation <= 2e-3 or certificate.relative_gap <= 1e-3
        assert hinge.Status.NUMERICAL in statuses, "no case reaches the limit of double precision"


class TestWarnings:
    @pytest.mark.parametrize("seed", range(5))
    def test_no_warning_of_rounding_errors_if_the_optimum_is_zero(self, seed):
        """All samples belong to both classes: the function is 0, and the gap is a rounding error."""
        X = np.repeat(np.random.default_rng(seed).normal(size=(6, 2)), 2, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", ConvergenceWarning)
            model = hinge.NuSVC(nu=0.1, gamma=1.0).fit(X, np.tile([0, 1], 6))
        assert model.status_ is hinge.Status.SOLVED

    @every_estimator
    @pytest.mark.parametrize("limit", [dict(max_iter=3), dict(max_time=1e-6)], ids=str)
    def test_warning_states_the_limit_and_the_gap(self, name, limit):
        X, y = data(name, n=200)
        model = make(name, tol=1e-8, **limit)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, y)
        (text,) = {str(warning.message) for warning in caught if warning.category is ConvergenceWarning}
        ((parameter, value),) = limit.items()
        assert f"{parameter}={value}" in text
        assert "StandardScaler" in text
        stated = float(re.search(r"relative duality gap reached is (\S+)\.$", text).group(1))
        assert stated == pytest.approx(model.certificate_.relative_gap, rel=0.1)
        assert stated > 1e-4
        assert model.fit_status_ == 1

    @pytest.mark.parametrize("name", [*CLASSIFIERS, "SVR", "NuSVR", "OneClassSVM"])
    def test_warning_refers_to_the_line_of_the_caller(self, name):
        X, y = data(name, n=200)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make(name, tol=1e-8, max_iter=1).fit(X, y)
        assert [warning.filename for warning in caught] == [__file__]

    @every_estimator
    def test_no_warning_if_solved(self, name):
        X, y = data(name)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make(name).fit(X, y)
        assert model.status_ is hinge.Status.SOLVED
        assert model.fit_status_ == 0

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_one_warning_for_all_pairs_of_classes(self, name):
        X, y = data(name, n=200, classes=4)
        model = make(name, tol=1e-8, max_iter=3)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, y)
        assert len(caught) == 1
        assert np.all(model.n_iter_ <= 3)
        assert len(model.certificates_) == len(model.history_) == 6

    def test_no_warning_about_nu_after_an_early_stop(self):
        """Before the first step the smallest admissible ν is not known."""
        X, y = data("NuSVC", n=200)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make("NuSVC", max_time=1e-6).fit(X, y)
        assert [warning.category for warning in caught] == [ConvergenceWarning]

    def test_max_iter_includes_iterations_at_a_smaller_tolerance(self):
        """ν-classification solves again with a smaller tolerance; `max_iter` limits the sum."""
        X, y = data("NuSVC", n=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for limit in (5, 50, 100, 200):
                model = make("NuSVC", nu=0.3, tol=1e-3, max_iter=limit, solver="smo").fit(X, y)
                assert model.n_iter_[0] <= limit

    @every_estimator
    def test_model_of_a_stopped_fit_predicts(self, name):
        X, y = data(name, n=200)
        with pytest.warns(ConvergenceWarning):
            model = make(name, tol=1e-8, max_iter=2).fit(X, y)
        assert np.isfinite(np.asarray(model.predict(X), float)).all()
        certificate = model.certificate_
        assert certificate.dual <= certificate.best_dual <= certificate.best_primal <= certificate.primal


class TestVerbose:
    def long_fit(self, verbose, seconds=0.5):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 5)) * 10.0 ** np.arange(5)
        model = hinge.SVC(kernel="linear", C=1e6, max_time=seconds, verbose=verbose)
        with pytest.warns(ConvergenceWarning):
            return model.fit(X, np.arange(3000) % 2)

    def test_one_line_on_stderr_and_no_output_on_stdout(self, capfd):
        model = self.long_fit(True)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert re.match(r"SVC +[\d,]+ iterations .* relative gap \S+", err)
        assert float(re.search(r"relative gap (\S+)", err).group(1)) > 0
        assert model.status_ is hinge.Status.TIME_LIMIT

    def test_no_output_if_not_verbose(self, capfd):
        self.long_fit(False, seconds=0.3)
        assert capfd.readouterr() == ("", "")

    @every_estimator
    def test_short_fit_writes_at_most_one_line(self, name, capfd):
        X, y = data(name)
        make(name, verbose=True).fit(X, y)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") <= 1

    def test_error_of_stderr_reaches_the_caller(self, monkeypatch):

        class Broken:
            def isatty(self):
                return True

            def write(self, text):
                raise OSError("no space left")

            def flush(self):
                pass

        monkeypatch.setattr("hinge.estimators.common.progress.Console", None)
        monkeypatch.setattr(sys, "stderr", Broken())
        with pytest.raises(OSError, match="no space left"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            rng = np.random.default_rng(0)
            X = rng.normal(size=(3000, 5)) * 10.0 ** np.arange(5)
            hinge.SVC(kernel="linear", C=1e6, max_time=5.0, verbose=True).fit(X, np.arange(3000) % 2)


class TestCertify:
    @every_estimator
    def test_agrees_with_certificate_(self, name):
        """The gradient of the solver agrees with formulas in NumPy."""
        X, y = data(name, n=150)
        weight = np.random.default_rng(0).uniform(0.5, 2, 150)
        for tol in (1e-1, 1e-3):
            model = make(name, tol=tol, solver=hinge.solvers.SMO(tol=tol, polish=False))
            model.fit(X, y, sample_weight=weight)
            fitted, recomputed = model.certificate_, model.certify(X, y, sample_weight=weight)
            scale = abs(recomputed.primal)
            assert fitted.primal == pytest.approx(recomputed.primal, rel=1e-9)
            assert fitted.dual == pytest.approx(recomputed.dual, rel=1e-9)
            assert fitted.gap == pytest.approx(recomputed.gap, abs=1e-9 * scale)
            assert fitted.kkt_violation == pytest.approx(recomputed.kkt_violation, abs=1e-9)
            np.testing.assert_allclose(fitted.mu, recomputed.mu, atol=1e-9)

    @pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
    def test_agrees_with_rows_in_single_precision(self, name):
        """For n > 4096 and the default tolerance, rows are stored in float32; the certificate does not use them."""
        X, y = data(name, n=4200)
        model = make(name).fit(X, y)
        fitted, recomputed = model.certificate_, model.certify(X, y)
        assert fitted.primal == pytest.approx(recomputed.primal, rel=1e-6)
        assert fitted.dual == pytest.approx(recomputed.dual, rel=1e-6)
        assert fitted.gap == pytest.approx(recomputed.gap, abs=1e-6 * abs(recomputed.primal))
        assert fitted.best_dual <= recomputed.primal + 1e-6 * abs(recomputed.primal)
        assert recomputed.relative_gap < 1e-3

    def test_agrees_far_from_the_origin(self):
        """Linear kernel values of size 10⁶ have two decimals in float32, which is not enough for a certificate."""
        X, y = data("SVC", n=4200)
        X += 1000.0
        model = hinge.SVC(kernel="linear", max_time=20.0).fit(X, y)
        fitted, recomputed = model.certificate_, model.certify(X, y)
        assert recomputed.kkt_violation <= 2e-3
        assert fitted.dual == pytest.approx(recomputed.dual, rel=1e-6)
        assert fitted.gap == pytest.approx(recomputed.gap, abs=1e-6 * recomputed.primal)
        assert fitted.best_dual <= fitted.best_primal * (1 + 1e-9)

    def test_hard_margin_has_primal_and_dual_bounds(self):
        X, y = data("SVC", n=60)
        model = make("SVC", C=np.inf, gamma=2.0, tol=1e-5).fit(X, y)
        fitted, recomputed = model.certificate_, model.certify(X, y)
        assert recomputed.infeasibility <= 1e-5
        assert fitted.best_dual <= fitted.best_primal * (1 + 1e-4)
        assert fitted.best_primal == pytest.approx(recomputed.primal, rel=1e-3)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_certificate_of_several_classes_is_recomputed(self, name):
        X, y = data(name, n=90, classes=3)
        model = make(name, tol=1e-2).fit(X, y)
        recomputed = model.certify(X, y)
        assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert recomputed.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
        assert len(recomputed.mu) == 3 * (1 if name == "SVC" else 2)


class TestCertifyRejects:
    """Data that differ from those of `fit` in a detectable way."""

    @every_estimator
    def test_another_number_of_samples(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        with pytest.raises(ValueError, match=r"50 samples.*60.*training data"):
            model.certify(X[:50], y[:50])

    @every_estimator
    def test_another_number_of_features(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        with pytest.raises(ValueError, match="features"):
            model.certify(X[:, :2], y)

    @every_estimator
    def test_before_fit(self, name):
        X, y = data(name)
        with pytest.raises(NotFittedError):
            make(name).certify(X, y)

    @pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR"])
    def test_no_targets(self, name):
        X, y = data(name)
        with pytest.raises(ValueError, match="y"):
            make(name).fit(X, y).certify(X)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_unknown_label(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        y[5] = 7
        with pytest.raises(ValueError, match=r"label|class"):
            model.certify(X, y)

    @every_estimator
    def test_support_vector_with_weight_zero(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        weight = np.ones(len(y))
        weight[model.support_[0]] = 0
        with pytest.raises(ValueError, match="weight"):
            model.certify(X, y, sample_weight=weight)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_values_that_are_not_finite(self, bad):
        X, y = data("SVC")
        model = make("SVC").fit(X, y)
        X[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.certify(X, y)

    def test_certify_does_not_change_the_model(self):
        X, y = data("SVC")
        model = make("SVC").fit(X, y)
        before = model.certificate_, model.dual_coef_.copy(), model.n_features_in_, model.shape_fit_
        model.certify(X + 1, y)
        assert model.certificate_ is before[0]
        np.testing.assert_array_equal(model.dual_coef_, before[1])
        assert (model.n_features_in_, model.shape_fit_) == before[2:]
