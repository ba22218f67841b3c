"""Drop-in mode: replacement of the classes, and agreement with scikit-learn."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.multiclass
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.svm import _classes as originals
from sklearn.utils._param_validation import InvalidParameterError

import hinge
from hinge.patch import is_patched, kernel, linear
from hinge.patch.replacement import REPLACEMENTS

IRIS, LABELS = load_iris(return_X_y=True)
IRIS = scale(IRIS)
NAMES = np.array(["setosa", "versicolor", "virginica"])[LABELS]
DIABETES, TARGETS = load_diabetes(return_X_y=True)
DIABETES, TARGETS = scale(DIABETES)[:150], scale(TARGETS)[:150]

KERNEL_CASES = [
    ("SVC", {"C": 3.0}),
    ("SVC", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
    ("SVC", {"class_weight": {"setosa": 2.0, "virginica": 0.5}}),
    ("SVC", {"kernel": "linear", "class_weight": "balanced", "decision_function_shape": "ovo"}),
    ("SVC", {"kernel": lambda A, B: A @ B.T}),
    ("SVC", {"break_ties": True}),
    ("NuSVC", {"nu": 0.3}),
    ("SVR", {"C": 3.0, "epsilon": 0.2}),
    ("SVR", {"kernel": "sigmoid", "gamma": 0.01}),
    ("NuSVR", {"nu": 0.4, "C": 2.0}),
    ("OneClassSVM", {"nu": 0.2}),
]
LINEAR_CASES = [
    ("LinearSVC", {}),
    ("LinearSVC", {"loss": "hinge", "intercept_scaling": 0.1}),
    ("LinearSVC", {"class_weight": {"setosa": 5.0, "virginica": 0.2}}),
    ("LinearSVC", {"class_weight": {"setosa": 0.0}}),
    ("LinearSVC", {"class_weight": "balanced", "fit_intercept": False}),
    ("LinearSVC", {"multi_class": "crammer_singer", "intercept_scaling": 3.0}),
    ("LinearSVC", {"penalty": "l1", "dual": False}),
    ("LinearSVR", {"epsilon": 0.1, "intercept_scaling": 0.2}),
    ("LinearSVR", {"loss": "squared_epsilon_insensitive", "fit_intercept": False}),
]
WEIGHTS = [None, np.where(np.arange(150) % 7 == 0, 0.0, 1.0 + np.arange(150) % 3)]
NEGATIVE = np.where(np.arange(150) % 5 == 0, -1.0, 1.0)


def pair(name, **parameters):
    """The estimator of scikit-learn and its replacement."""
    original = getattr(originals, name)
    return original(**parameters), REPLACEMENTS[original](**parameters)


def data(name, sparse=False):
    X, y = (DIABETES, TARGETS) if "SVR" in name or "SVR" in name[2:] else (IRIS, NAMES)
    return (sp.csr_matrix(X) if sparse else X), y


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.fixture
def patched():
    hinge.patch_sklearn()
    yield
    hinge.unpatch_sklearn()


# ---- agreement with scikit-learn ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weight", [*WEIGHTS, NEGATIVE], ids=["equal", "some zero", "some negative"])
@pytest.mark.parametrize(("name", "parameters"), KERNEL_CASES)
def test_kernel_estimators_agree(name, parameters, weight, sparse):
    if sparse and callable(parameters.get("kernel")):
        pytest.skip("scikit-learn passes sparse data to the function, which returns a matrix")
    X, y = data(name, sparse)
    expected, found = pair(name, tol=1e-7, **parameters)
    if callable(expected.kernel):  # scikit-learn 1.9 loses the order of the samples if some have weight zero
        expected.set_params(kernel="linear")
    found.fit(X, y, weight)
    expected.fit(X, y, weight)
    np.testing.assert_allclose(values(found, X), values(expected, X), atol=2e-4)
    if "SVR" not in name:  # samples on the boundary of the region of OneClassSVM may be on either side
        clear = np.abs(values(expected, X)).reshape(len(y), -1).min(axis=1) > 1e-4
        np.testing.assert_array_equal(found.predict(X)[clear], expected.predict(X)[clear])
    assert found.certificate_.relative_gap < 1e-3
    for attribute in ("intercept_", "dual_coef_", "support_", "n_support_", "n_iter_", "shape_fit_", "fit_status_"):
        ours, theirs = getattr(found, attribute), getattr(expected, attribute)
        assert np.ndim(ours) == np.ndim(theirs), attribute
        assert type(ours) is type(theirs) or np.isscalar(theirs), attribute
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-3)
    if parameters.get("kernel") == "linear":
        np.testing.assert_allclose(_dense(found.coef_), _dense(expected.coef_), atol=1e-4)
        assert not (found.coef_.data if sparse else found.coef_).flags.writeable


def _dense(matrix):
    return matrix.toarray() if sp.issparse(matrix) else matrix


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weight", [*WEIGHTS, NEGATIVE], ids=["equal", "some zero", "some negative"])
@pytest.mark.parametrize(("name", "parameters"), LINEAR_CASES)
def test_linear_estimators_agree(name, parameters, weight, sparse):
    X, y = data(name, sparse)
    expected, found = pair(name, tol=1e-8, max_iter=200_000, random_state=0, **parameters)
    found.fit(X, y, weight)
    expected.fit(X, y, weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-4)
    assert np.shape(found.intercept_) == np.shape(expected.intercept_)
    assert type(found.n_iter_) is int


def test_default_intercept_of_linear_estimators_is_penalized_with_its_scaling():
    shifted = DIABETES + 3.0
    coarse, fine = (linear.LinearSVR(intercept_scaling=s, tol=1e-6).fit(shifted, TARGETS + 50.0) for s in (0.01, 100.0))
    assert abs(coarse.intercept_) < 0.5 * abs(fine.intercept_)


def test_asymmetric_kernel_matrix_has_the_solution_of_its_symmetric_part():
    K = IRIS @ IRIS.T
    skew = np.triu(np.full(K.shape, 0.05), 1)
    model = kernel.SVC(kernel="precomputed", tol=1e-8).fit(K + skew - skew.T, LABELS)
    symmetric = kernel.SVC(kernel="precomputed", tol=1e-8).fit(K, LABELS)
    np.testing.assert_allclose(model.decision_function(K), symmetric.decision_function(K), atol=1e-6)


def test_class_without_samples_of_positive_weight_is_left_out():
    model = kernel.SVC().fit(IRIS, NAMES, np.where(LABELS == 1, 0.0, 1.0))
    assert model.classes_.tolist() == ["setosa", "virginica"]
    assert set(model.predict(IRIS)) == {"setosa", "virginica"}
    assert model.decision_function(IRIS).shape == (150,)


def test_probabilities_follow_predictions():
    with pytest.warns(FutureWarning) if "deprecated" in str(originals.SVC().probability) else warnings.catch_warnings():
        model = kernel.SVC(probability=True, random_state=0).fit(IRIS, NAMES)
    probabilities = model.predict_proba(IRIS)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(model.classes_[probabilities.argmax(axis=1)] == model.predict(IRIS)) > 0.98
    assert not hasattr(kernel.SVC(), "predict_proba")


# ---- errors and warnings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", REPLACEMENTS.values())
@pytest.mark.parametrize("parameters", [{"tol": -1.0}, {"C": 0.0}, {"max_iter": "many"}, {"intercept_scaling": 0.0}])
def test_invalid_parameters_raise_the_error_of_scikit_learn(cls, parameters):
    (name,) = parameters
    if name not in cls().get_params():
        pytest.skip("no such parameter")
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter of {cls.__name__}"):
        cls(**parameters).fit(IRIS, LABELS)


@pytest.mark.parametrize("cls", REPLACEMENTS.values())
def test_parameters_are_those_of_scikit_learn(cls):
    original = next(old for old, new in REPLACEMENTS.items() if new is cls)
    assert cls().get_params() == original().get_params()
    assert issubclass(cls, original)


@pytest.mark.parametrize("cls", [kernel.SVC, kernel.SVR, kernel.OneClassSVM, linear.LinearSVC, linear.LinearSVR])
def test_samples_without_positive_weights_are_an_error(cls):
    with pytest.raises(ValueError, match=r"zero or negative|at least one positive"):
        cls().fit(IRIS, LABELS, sample_weight=np.full(150, -1.0))


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_class_weights_of_zero_have_no_solution_in_one_vs_one_classification(weight):
    for model in pair("SVC", class_weight={1: weight}):
        with pytest.raises(ValueError, match="The dual coefficients or intercepts are not finite"):
            model.fit(IRIS, LABELS)


@pytest.mark.parametrize("dual", [True, False])
def test_combinations_that_liblinear_does_not_support_are_errors(dual):
    model = linear.LinearSVC(loss="hinge", dual=False) if not dual else linear.LinearSVC(penalty="l1", dual=True)
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        model.fit(IRIS, LABELS)


def test_iteration_limits_give_the_warnings_of_scikit_learn():
    with pytest.warns(ConvergenceWarning, match=r"Solver terminated early \(max_iter=1\)"):
        model = kernel.SVC(max_iter=1).fit(IRIS, LABELS)
    assert model.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match="Liblinear failed to converge"):
        linear.LinearSVR(max_iter=1, tol=1e-10).fit(DIABETES, TARGETS)


def test_solved_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.SVC(C=1e4, gamma=0.5, tol=0.1).fit(IRIS, LABELS)
        linear.LinearSVC().fit(IRIS, LABELS)


def test_integer_verbosity(capfd):
    kernel.SVC(verbose=2).fit(IRIS, LABELS)
    linear.LinearSVC(verbose=3).fit(IRIS, LABELS)
    assert capfd.readouterr().err.count("relative gap") == 2


# ---- replacement of the classes -------------------------------------------------------------------------------------


def test_classes_are_replaced_and_restored():
    assert not is_patched()
    hinge.patch_sklearn()
    hinge.patch_sklearn()
    try:
        assert is_patched()
        assert sklearn.svm.SVC is kernel.SVC
        assert sklearn.calibration.LinearSVC is linear.LinearSVC  # a module that imported it
        assert originals.SVC is not kernel.SVC
    finally:
        hinge.unpatch_sklearn()
    assert not is_patched()
    assert sklearn.svm.SVC is originals.SVC
    assert sklearn.calibration.LinearSVC is originals.LinearSVC


def test_objects_of_both_modes_can_be_pickled_in_both_modes(patched):
    ours, theirs = kernel.SVC().fit(IRIS, LABELS), originals.SVC().fit(IRIS, LABELS)
    texts = [pickle.dumps(ours), pickle.dumps(theirs)]
    hinge.unpatch_sklearn()
    loaded = [pickle.loads(text) for text in texts]
    assert [type(model) for model in loaded] == [kernel.SVC, originals.SVC]
    for model, again in zip((ours, theirs), loaded, strict=True):
        np.testing.assert_array_equal(model.decision_function(IRIS), again.decision_function(IRIS))


def test_meta_estimators_use_the_patched_classes(patched):
    model = sklearn.multiclass.OneVsRestClassifier(sklearn.svm.SVC()).fit(IRIS, LABELS)
    assert all(type(each) is kernel.SVC for each in model.estimators_)
    assert type(clone(sklearn.svm.LinearSVC(C=2.0))) is linear.LinearSVC


def test_scripts_and_modules_run_in_drop_in_mode(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import sys\nfrom sklearn.svm import SVC\nprint(SVC.__module__, sys.argv[1:], __name__)\n")
    for target in (["script.py"], ["-m", "script"]):
        command = [sys.executable, "-m", "hinge.patch", *target, "--option", "3"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split("\n")[0] == "hinge.patch.kernel ['--option', '3'] __main__"
    command = [sys.executable, "-m", "hinge.patch", "absent.py"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 2
