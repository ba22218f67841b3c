"""What an estimator says when it stops early, what it shows on the way, and what its certificate is worth."""

import re
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, data

every_machine = pytest.mark.parametrize("name", NAMES)


def machine(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, **PARAMETERS[name], **options})


class TestStatus:
    @pytest.mark.parametrize(("name", "C"), [("SVC", 1.0), ("NuSVR", 1e4)])
    def test_is_one_that_the_certificate_bears_out(self, name, C):
        """One feature of size 10⁶: with a linear kernel the sixteenth digit of the function is above `tol`."""
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
            found = model.certificate_
            assert not solved or found.kkt_violation <= 2e-3 or found.relative_gap <= 1e-3
        assert hinge.Status.NUMERICAL in statuses, "all are solved: the test tests nothing"


class TestWarnings:
    @pytest.mark.parametrize("seed", range(5))
    def test_say_nothing_of_rounding_errors_beside_an_optimum_of_zero(self, seed):
        """Samples that belong to both classes: the function is zero, and the gap 1e-18 of nothing."""
        X = np.repeat(np.random.default_rng(seed).normal(size=(6, 2)), 2, axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", ConvergenceWarning)
            model = hinge.NuSVC(nu=0.1, gamma=1.0).fit(X, np.tile([0, 1], 6))
        assert model.status_ is hinge.Status.SOLVED

    @every_machine
    @pytest.mark.parametrize("limit", [dict(max_iter=3), dict(max_time=1e-6)], ids=str)
    def test_state_the_limit_and_the_gap(self, name, limit):
        X, y = data(name, n=200)
        model = machine(name, tol=1e-8, **limit)
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
    def test_point_at_the_caller(self, name):
        X, y = data(name, n=200)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine(name, tol=1e-8, max_iter=1).fit(X, y)
        assert [warning.filename for warning in caught] == [__file__]

    @every_machine
    def test_are_silent_when_all_is_well(self, name):
        X, y = data(name)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = machine(name).fit(X, y)
        assert model.status_ is hinge.Status.SOLVED
        assert model.fit_status_ == 0

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_come_once_for_all_pairs(self, name):
        X, y = data(name, n=200, classes=4)
        model = machine(name, tol=1e-8, max_iter=3)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit(X, y)
        assert len(caught) == 1
        assert np.all(model.n_iter_ <= 3)
        assert len(model.certificates_) == len(model.history_) == 6

    def test_say_nothing_about_nu_before_it_is_known(self):
        """Stopped before the first step: there is nothing to be said of the smallest admissible ν."""
        X, y = data("NuSVC", n=200)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine("NuSVC", max_time=1e-6).fit(X, y)
        assert [warning.category for warning in caught] == [ConvergenceWarning]

    def test_max_iter_counts_the_iterations_of_a_refined_tolerance_too(self):
        """ν-classification solves again with a finer tolerance; `max_iter` is for all of it."""
        X, y = data("NuSVC", n=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for limit in (5, 50, 100, 200):
                model = machine("NuSVC", nu=0.3, tol=1e-3, max_iter=limit, solver="smo").fit(X, y)
                assert model.n_iter_[0] <= limit

    @every_machine
    def test_a_stopped_model_predicts(self, name):
        X, y = data(name, n=200)
        with pytest.warns(ConvergenceWarning):
            model = machine(name, tol=1e-8, max_iter=2).fit(X, y)
        assert np.isfinite(np.asarray(model.predict(X), float)).all()
        certificate = model.certificate_
        assert certificate.dual <= certificate.best_dual <= certificate.best_primal <= certificate.primal


class TestVerbose:
    def slow(self, verbose, seconds=0.5):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 5)) * 10.0 ** np.arange(5)
        model = hinge.SVC(kernel="linear", C=1e6, max_time=seconds, verbose=verbose)
        with pytest.warns(ConvergenceWarning):
            return model.fit(X, np.arange(3000) % 2)

    def test_one_line_on_stderr_and_nothing_on_stdout(self, capfd):
        model = self.slow(True)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert re.match(r"SVC +[\d,]+ iterations .* relative gap \S+", err)
        assert float(re.search(r"relative gap (\S+)", err).group(1)) > 0
        assert model.status_ is hinge.Status.TIME_LIMIT

    def test_nothing_without(self, capfd):
        self.slow(False, seconds=0.3)
        assert capfd.readouterr() == ("", "")

    @every_machine
    def test_a_short_fit_says_no_more_than_a_line(self, name, capfd):
        X, y = data(name)
        machine(name, verbose=True).fit(X, y)
        out, err = capfd.readouterr()
        assert out == ""
        assert err.count("\n") <= 1

    def test_a_broken_stderr_is_told(self, monkeypatch):
        """What goes wrong while the line is written reaches the caller, and the model is there."""

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
    @every_machine
    def test_agrees_with_the_attribute(self, name):
        """The solver's gradient against formulas in NumPy."""
        X, y = data(name, n=150)
        weight = np.random.default_rng(0).uniform(0.5, 2, 150)
        for tol in (1e-1, 1e-3):
            model = machine(name, tol=tol, solver=hinge.solvers.SMO(tol=tol, polish=False))
            model.fit(X, y, sample_weight=weight)
            told, found = model.certificate_, model.certify(X, y, sample_weight=weight)
            scale = abs(found.primal)
            assert told.primal == pytest.approx(found.primal, rel=1e-9)
            assert told.dual == pytest.approx(found.dual, rel=1e-9)
            assert told.gap == pytest.approx(found.gap, abs=1e-9 * scale)
            assert told.kkt_violation == pytest.approx(found.kkt_violation, abs=1e-9)
            np.testing.assert_allclose(told.mu, found.mu, atol=1e-9)

    @pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
    def test_agrees_with_rows_in_single_precision(self, name):
        """n > 4096 and the default tolerance: rows are kept in float32, the certificate is not about them."""
        X, y = data(name, n=4200)
        model = machine(name).fit(X, y)
        told, found = model.certificate_, model.certify(X, y)
        assert told.primal == pytest.approx(found.primal, rel=1e-6)
        assert told.dual == pytest.approx(found.dual, rel=1e-6)
        assert told.gap == pytest.approx(found.gap, abs=1e-6 * abs(found.primal))
        assert told.best_dual <= found.primal + 1e-6 * abs(found.primal)
        assert found.relative_gap < 1e-3

    def test_agrees_far_from_the_origin(self):
        """Rows of a linear kernel near 10⁶ have two decimals in float32: a proof from them would be none."""
        X, y = data("SVC", n=4200)
        X += 1000.0
        model = hinge.SVC(kernel="linear", max_time=20.0).fit(X, y)
        told, found = model.certificate_, model.certify(X, y)
        assert found.kkt_violation <= 2e-3
        assert told.dual == pytest.approx(found.dual, rel=1e-6)
        assert told.gap == pytest.approx(found.gap, abs=1e-6 * found.primal)
        assert told.best_dual <= told.best_primal * (1 + 1e-9)

    def test_hard_margins_are_bounded_from_both_sides(self):
        X, y = data("SVC", n=60)
        model = machine("SVC", C=np.inf, gamma=2.0, tol=1e-5).fit(X, y)
        told, found = model.certificate_, model.certify(X, y)
        assert found.infeasibility <= 1e-5
        assert told.best_dual <= told.best_primal * (1 + 1e-4)
        assert told.best_primal == pytest.approx(found.primal, rel=1e-3)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_several_classes(self, name):
        X, y = data(name, n=90, classes=3)
        model = machine(name, tol=1e-2).fit(X, y)
        found = model.certify(X, y)
        assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert found.dual == pytest.approx(model.certificate_.dual, rel=1e-9)
        assert len(found.mu) == 3 * (1 if name == "SVC" else 2)


class TestCertifyRefuses:
    """Other data than those of `fit`, where that can be seen."""

    @every_machine
    def test_another_number_of_samples(self, name):
        X, y = data(name)
        model = machine(name).fit(X, y)
        with pytest.raises(ValueError, match=r"50 samples.*60.*training data"):
            model.certify(X[:50], y[:50])

    @every_machine
    def test_another_number_of_features(self, name):
        X, y = data(name)
        model = machine(name).fit(X, y)
        with pytest.raises(ValueError, match="features"):
            model.certify(X[:, :2], y)

    @every_machine
    def test_before_fit(self, name):
        X, y = data(name)
        with pytest.raises(NotFittedError):
            machine(name).certify(X, y)

    @pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR"])
    def test_no_targets(self, name):
        X, y = data(name)
        with pytest.raises(ValueError, match="y"):
            machine(name).fit(X, y).certify(X)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    def test_a_label_that_was_not_there(self, name):
        X, y = data(name)
        model = machine(name).fit(X, y)
        y[5] = 7
        with pytest.raises(ValueError, match=r"label|class"):
            model.certify(X, y)

    @every_machine
    def test_support_vectors_without_weight(self, name):
        """A sample that carries the function cannot have been left out."""
        X, y = data(name)
        model = machine(name).fit(X, y)
        weight = np.ones(len(y))
        weight[model.support_[0]] = 0
        with pytest.raises(ValueError, match="weight"):
            model.certify(X, y, sample_weight=weight)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, bad):
        X, y = data("SVC")
        model = machine("SVC").fit(X, y)
        X[3, 1] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            model.certify(X, y)

    def test_does_not_touch_the_model(self):
        X, y = data("SVC")
        model = machine("SVC").fit(X, y)
        before = model.certificate_, model.dual_coef_.copy(), model.n_features_in_, model.shape_fit_
        model.certify(X + 1, y)
        assert model.certificate_ is before[0]
        np.testing.assert_array_equal(model.dual_coef_, before[1])
        assert (model.n_features_in_, model.shape_fit_) == before[2:]
