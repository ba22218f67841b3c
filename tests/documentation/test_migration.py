"""The statements of the pages docs/how-to/from-*.md about scikit-learn, LIBSVM and LIBLINEAR."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
import sklearn.svm
from liblinear import liblinearutil
from libsvm import svmutil
from sklearn.base import is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning

import hinge

NAMES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture(scope="module")
def pair():
    """Two classes that overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=80) > 0, 1, -1)


@pytest.fixture(scope="module")
def targets():
    X, y = load_diabetes(return_X_y=True)
    return X[:80] / X.std(), (y[:80] - y.mean()) / y.std()


def predictions(model, X):
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


class TestScikitLearn:
    @pytest.mark.parametrize("name", NAMES)
    def test_parameters_and_defaults(self, name):
        theirs, ours = (inspect.signature(getattr(m, name)).parameters for m in (sklearn.svm, hinge))
        assert set(theirs) <= set(ours)
        different = {k for k in theirs if theirs[k].default != ours[k].default}
        assert different <= {"cache_size", "probability"}
        assert all(theirs[k].kind == ours[k].kind for k in theirs)

    @pytest.mark.parametrize("name", NAMES)
    def test_attributes(self, name, iris):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = getattr(sklearn.svm, name)().fit(*iris)
        ours = getattr(hinge, name)().fit(*iris)
        missing = {k for k in dir(theirs) if k.endswith("_") and not k.startswith("_") and not hasattr(ours, k)}
        assert missing <= {"probA_", "probB_"}

    @pytest.mark.parametrize("name", NAMES[:5])
    def test_kernel_estimators_have_the_same_solution(self, name, iris):
        theirs, ours = (getattr(m, name)(gamma=0.3, tol=1e-8).fit(*iris) for m in (sklearn.svm, hinge))
        np.testing.assert_allclose(predictions(ours, iris[0]), predictions(theirs, iris[0]), atol=1e-5)

    def test_layout_of_dual_coefficients(self, iris):
        X, first = np.unique(iris[0], axis=0, return_index=True)  # with equal samples, α is not unique
        theirs, ours = (m.SVC(tol=1e-8).fit(X, iris[1][first]) for m in (sklearn.svm, hinge))
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)

    def test_intercept_of_linear_estimators_is_free_by_default(self, pair):
        theirs = sklearn.svm.LinearSVC(tol=1e-10, max_iter=100_000).fit(*pair)
        free, penalized = hinge.LinearSVC(tol=1e-10).fit(*pair), hinge.LinearSVC(tol=1e-10, penalize_intercept=True)
        np.testing.assert_allclose(penalized.fit(*pair).intercept_, theirs.intercept_, atol=1e-6)
        assert abs(free.intercept_[0] - theirs.intercept_[0]) > 1e-4
        shifted = hinge.LinearSVC(tol=1e-10).fit(pair[0] + 5, pair[1])
        np.testing.assert_allclose(shifted.coef_, free.coef_, atol=1e-6)

    def test_tolerance_of_linear_estimators_is_a_relative_gap(self, pair):
        assert hinge.LinearSVC(tol=1e-6, loss="hinge").fit(*pair).certificate_.relative_gap <= 1e-6

    def test_iteration_limit_warns_and_keeps_a_model(self, pair):
        with pytest.warns(ConvergenceWarning):
            model = hinge.SVC(C=1e4, max_iter=3, tol=1e-9).fit(*pair)
        assert model.status_.name == "MAX_ITER"
        assert model.fit_status_ == 1
        assert np.isfinite(model.certificate_.primal)

    def test_class_weights_of_nu_svc(self, pair):
        plain, weighted = (sklearn.svm.NuSVC(nu=0.4, class_weight=w, tol=1e-8).fit(*pair) for w in (None, {1: 3.0}))
        np.testing.assert_allclose(plain.decision_function(pair[0]), weighted.decision_function(pair[0]), atol=1e-5)
        plain, weighted = (hinge.NuSVC(nu=0.4, class_weight=w, tol=1e-8).fit(*pair) for w in (None, {1: 1.5}))
        assert np.max(np.abs(plain.decision_function(pair[0]) - weighted.decision_function(pair[0]))) > 1e-2

    def test_zero_weight_removes_a_sample_also_from_gamma(self, pair):
        X, y = pair[0] * np.where(np.arange(80) < 40, 1.0, 5.0)[:, None], pair[1]
        weight = np.where(np.arange(80) < 40, 1.0, 0.0)
        ours = hinge.SVC(tol=1e-8).fit(X, y, sample_weight=weight).decision_function(X)
        np.testing.assert_allclose(ours, hinge.SVC(tol=1e-8).fit(X[:40], y[:40]).decision_function(X), atol=1e-6)
        theirs = sklearn.svm.SVC().fit(X, y, sample_weight=weight).decision_function(X)
        assert np.max(np.abs(theirs - sklearn.svm.SVC().fit(X[:40], y[:40]).decision_function(X))) > 1e-2

    def test_negative_weights_are_an_error(self, pair):
        weight = np.where(np.arange(80) < 40, 1.0, -1.0)
        sklearn.svm.SVC().fit(*pair, sample_weight=weight)
        with pytest.raises(ValueError, match="sample_weight"):
            hinge.SVC().fit(*pair, sample_weight=weight)

    def test_probabilities_are_deterministic_and_agree_with_predict(self, iris):
        models = [hinge.SVC(probability=True).fit(*iris) for _ in range(2)]
        np.testing.assert_array_equal(*(model.predict_proba(iris[0]) for model in models))
        largest = models[0].classes_[np.argmax(models[0].predict_proba(iris[0]), axis=1)]
        np.testing.assert_array_equal(largest, models[0].predict(iris[0]))
        assert not hasattr(hinge.SVC().fit(*iris), "predict_proba")

    def test_pickle(self, iris):
        model = hinge.SVC().fit(*iris)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.decision_function(iris[0]), model.decision_function(iris[0]))


def libsvm(X, y, options):
    model = svmutil.svm_train(list(y), X.tolist(), options + " -q")
    return np.array(svmutil.svm_predict([], X.tolist(), model, "-q")[2])


KERNELS = {
    "-t 0": dict(kernel="linear"),
    "-t 1 -g 0.5 -r 1 -d 2": dict(kernel="poly", gamma=0.5, coef0=1.0, degree=2),
    "-t 2 -g 0.5": dict(kernel="rbf", gamma=0.5),
    "-t 2": dict(kernel="rbf", gamma="auto"),
    "-t 3 -g 0.01 -r 0": dict(kernel="sigmoid", gamma=0.01, coef0=0.0),
}
FLAG = "-c 2 -n 0.3 -p 0.2 -e 1e-8 "


class TestLIBSVM:
    @pytest.mark.parametrize("flags", KERNELS)
    def test_kernels(self, flags, pair):
        X, y = pair
        model = hinge.SVC(C=2.0, tol=1e-8, **KERNELS[flags]).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), libsvm(X, y, FLAG + flags)[:, 0], atol=1e-4)

    @pytest.mark.parametrize(
        ("svm_type", "make"),
        [
            (0, lambda: hinge.SVC(C=2.0, gamma=0.5, tol=1e-8)),
            (1, lambda: hinge.NuSVC(nu=0.3, gamma=0.5, tol=1e-8)),
            (2, lambda: hinge.OneClassSVM(nu=0.3, gamma=0.5, tol=1e-8)),
            (3, lambda: hinge.SVR(C=2.0, epsilon=0.2, gamma=0.5, tol=1e-8)),
            (4, lambda: hinge.NuSVR(C=2.0, nu=0.3, gamma=0.5, tol=1e-8)),
        ],
    )
    def test_types(self, svm_type, make, pair, targets):
        X, y = targets if svm_type >= 3 else pair
        theirs = libsvm(X, y, FLAG + f"-s {svm_type} -g 0.5")[:, 0]
        np.testing.assert_allclose(predictions(make().fit(X, y), X), theirs, atol=1e-4)

    @pytest.mark.parametrize(("labels", "sign"), [((3, 7), -1), ((7, 3), 1), ((-1, 1), 1), ((1, -1), 1)])
    def test_order_of_the_labels(self, labels, sign, pair):
        """LIBSVM: the first label in the data is positive, except for the labels ±1; hinge: the larger label."""
        X, y = pair[0], np.where(pair[1] == pair[1][0], *labels)
        theirs, ours = libsvm(X, y, FLAG), hinge.SVC(C=2.0, gamma="auto", tol=1e-8).fit(X, y).decision_function(X)
        np.testing.assert_allclose(ours, sign * theirs[:, 0], atol=1e-4)

    def test_class_weights(self, pair):
        X, y = pair
        ours = hinge.SVC(C=2.0, gamma=0.5, tol=1e-8, class_weight={1: 3.0}).fit(X, y).decision_function(X)
        np.testing.assert_allclose(ours, libsvm(X, y, FLAG + "-g 0.5 -w1 3")[:, 0], atol=1e-4)

    def test_model_files(self, pair, tmp_path):
        X, y = pair
        model = hinge.SVC(C=2.0, gamma=0.5).fit(X, y)
        hinge.io.save_libsvm_model(model, tmp_path / "model")
        theirs = svmutil.svm_predict([], X.tolist(), svmutil.svm_load_model(str(tmp_path / "model")), "-q")
        np.testing.assert_array_equal(theirs[0], model.predict(X))
        loaded = hinge.io.load_libsvm_model(tmp_path / "model")
        np.testing.assert_allclose(loaded.decision_function(X), model.decision_function(X), atol=1e-9)


def liblinear(X, y, options):
    """Weights and intercept of LIBLINEAR; the sign is that of the larger label."""
    model = liblinearutil.train(list(y), X.tolist(), options + " -q -e 1e-10")
    w, b = model.get_decfun()
    return np.array(w), b


def objective(flags, X, y, w, b, bias):
    """½‖w‖² or ‖w‖₁, where w includes the weight b / bias of the constant feature, plus ½ Σ loss."""
    svm_type, f = int(flags.split()[1]), X @ w + b
    slack = np.maximum(0, 1 - y * f) if svm_type < 10 else np.maximum(0, np.abs(y - f) - 0.2)
    loss = slack if svm_type in (3, 13) else slack**2
    weights = np.append(w, b / bias)
    return (np.abs(weights).sum() if svm_type == 5 else 0.5 * weights @ weights) + 0.5 * loss.sum()


class TestLIBLINEAR:
    @pytest.mark.parametrize(
        ("flags", "make"),
        [
            ("-s 1", lambda **o: hinge.LinearSVC(**o)),
            ("-s 2", lambda **o: hinge.LinearSVC(**o)),
            ("-s 3", lambda **o: hinge.LinearSVC(loss="hinge", **o)),
            ("-s 5", lambda **o: hinge.LinearSVC(penalty="l1", **o)),
            ("-s 11 -p 0.2", lambda **o: hinge.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, **o)),
            ("-s 12 -p 0.2", lambda **o: hinge.LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, **o)),
            ("-s 13 -p 0.2", lambda **o: hinge.LinearSVR(loss="epsilon_insensitive", epsilon=0.2, **o)),
        ],
    )
    @pytest.mark.parametrize(
        ("bias", "options"),
        [("", dict(fit_intercept=False)), (" -B 2", dict(penalize_intercept=True, intercept_scaling=2.0))],
    )
    def test_types_and_bias(self, flags, make, bias, options, pair, targets):
        """LIBLINEAR has no intercept by default; with -B v it is the weight of a constant feature v.

        Both objectives are evaluated here. LIBLINEAR stops the types 3 and 13 after a fixed number of passes, so that
        its objective may be larger.
        """
        X, y = targets if "-p" in flags else pair
        w, b = liblinear(X, y, flags + bias + " -c 0.5")
        model = make(C=0.5, tol=1e-10, **options).fit(X, y)
        reached = objective(flags, X, y, w, b, 2.0)
        optimum = objective(flags, X, y, model.coef_.ravel(), float(np.ravel(model.intercept_)[0]), 2.0)
        assert optimum == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert reached >= optimum * (1 - 1e-9)
        assert reached <= optimum * (1 + (1e-2 if flags.split()[1] in ("3", "13") else 1e-3))

    def test_crammer_singer(self, iris):
        X, y = iris
        theirs = liblinearutil.train(list(y), X.tolist(), "-s 4 -c 0.5 -q -e 1e-8")
        values = np.array(liblinearutil.predict([], X.tolist(), theirs, "-q")[2])
        model = hinge.LinearSVC(multi_class="crammer_singer", C=0.5, tol=1e-8, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), values, atol=1e-3)

    def test_one_class(self, pair):
        X = pair[0] + 4
        model = liblinearutil.train([1] * len(X), X.tolist(), "-s 21 -n 0.2 -q -e 1e-10")
        values = np.array(liblinearutil.predict([], X.tolist(), model, "-q")[2])[:, 0]
        ours = hinge.LinearOneClassSVM(nu=0.2, tol=1e-10).fit(X).decision_function(X)
        scale = np.ptp(ours) / np.ptp(values)
        np.testing.assert_allclose(ours, scale * values, atol=1e-4 * np.ptp(ours))

    def test_free_intercept(self, pair):
        """-R leaves the intercept without a penalty, as hinge does by default."""
        X, y = pair
        w, b = liblinear(X, y, "-s 2 -B 1 -R -c 0.5")
        model = hinge.LinearSVC(C=0.5, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), np.append(w, b), atol=1e-5)

    def test_logistic_regression_is_a_kernel_estimator(self, pair):
        X, y = pair
        w, _ = liblinear(X, y, "-s 0 -c 0.5")
        model = hinge.SVC(loss="logistic", kernel="linear", C=0.5, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.coef_[0], w, atol=1e-4)

    def test_default_epsilon_of_regression(self):
        assert hinge.LinearSVR().epsilon == 0.0

    def test_model_files(self, pair, tmp_path):
        X, y = pair
        model = hinge.LinearSVC().fit(X, y)
        hinge.io.save_libsvm_model(model, tmp_path / "model")
        theirs = liblinearutil.predict([], X.tolist(), liblinearutil.load_model(str(tmp_path / "model")), "-q")
        np.testing.assert_array_equal(theirs[0], model.predict(X))
