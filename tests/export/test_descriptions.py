"""Every estimator that predicts has a description; models that cannot be exported raise an error with a remedy."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import hinge
from export.cases import NAMES, fitted
from hinge.export.description import KernelTerm, LinearTerm
from hinge.export.estimators import rule_of
from hinge.export.pipelines import describe
from hinge.export.spline import bernstein_table
from hinge.io import to_c, to_onnx
from hinge.kernels import BSpline, Kernel, Linear
from hinge.recipes import HeteroscedasticSVR, SlidingSVC, SlidingSVR

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), np.arange(40) % 2


def test_every_estimator_that_predicts_can_be_exported():
    predicting = {name for name in hinge.estimators.__all__ if hasattr(getattr(hinge, name), "predict")}
    assert predicting == set(NAMES)
    classes = [getattr(hinge, name) for name in NAMES]
    assert all(rule_of(cls) is not None for cls in [*classes, SlidingSVC, SlidingSVR, HeteroscedasticSVR])


def test_expansions_of_linear_kernels_become_weights():
    model = fitted(hinge.SVC(kernel=0.5 * Linear()), X, Y)
    (term,) = describe(model).terms
    assert isinstance(term, LinearTerm)
    assert np.allclose(term.weights, 0.5 * model.dual_coef_ @ model.support_vectors_)


def test_samples_without_coefficients_are_left_out():
    model = fitted(hinge.LPSVC(kernel=["rbf", "laplacian"], C=0.5), X, Y)
    terms = describe(model).terms
    assert all(isinstance(term, KernelTerm) and np.all(np.any(term.coefficients != 0, axis=1)) for term in terms)
    assert sum(len(term.coefficients) for term in terms) == model.n_terms_


def test_a_model_without_support_vectors_is_constant():
    model = fitted(hinge.SVR(epsilon=10.0), X, np.sin(X[:, 0]))
    assert len(model.support_) == 0
    description = describe(model)
    assert not np.any(description.terms[0].weights)
    assert description.intercept == pytest.approx(model.intercept_)


@pytest.mark.parametrize("degree", range(1, 16, 2))
def test_bernstein_form_of_b_splines(degree):
    table = bernstein_table(degree)
    assert np.all(table >= 0)
    t = np.linspace(0, (degree + 1) / 2, 101)[:-1]
    x = (degree + 1) / 2 - t
    cell = np.floor(x).astype(int)
    u = (x - cell)[:, None]
    k = np.arange(degree + 1)
    values = np.sum(table[cell] * u**k * (1 - u) ** (degree - k), axis=1)
    reference = BSpline(degree, 1.0)(t[:, None], np.zeros((1, 1)))[:, 0]
    assert np.allclose(values, reference, rtol=1e-6, atol=1e-7)  # the closed form loses digits at large degrees
    assert values[0] == pytest.approx(reference[0], rel=1e-6)


class Cosine(Kernel):
    """A kernel that only has a Python form."""

    psd = True

    def __call__(self, X, Z=None):
        Z = X if Z is None else Z
        return np.cos(X[:, :1] - Z[:, :1].T)

    def diag(self, X):
        return np.ones(len(X))

    def nodes(self):
        return None


def linear(X, Z):
    return X @ Z.T


@pytest.mark.parametrize("export", [to_onnx, to_c])
class TestErrors:
    def test_python_functions_cannot_be_exported(self, export):
        with pytest.raises(TypeError, match=r"Python function and cannot be exported: train with a named kernel"):
            export(fitted(hinge.SVC(kernel=linear), X, Y))

    def test_kernels_in_python_cannot_be_exported(self, export):
        with pytest.raises(TypeError, match=r"has no formula .* Train with the kernels of hinge.kernels"):
            export(fitted(hinge.SVC(kernel=Cosine()), X, Y))

    @pytest.mark.parametrize("estimator", [hinge.SVC(kernel="precomputed"), hinge.LPSVC(kernel="precomputed")])
    def test_precomputed_kernels_cannot_be_exported(self, export, estimator):
        with pytest.raises(TypeError, match=r"'precomputed' cannot be exported.*Train with a named kernel"):
            export(fitted(estimator, X @ X.T, Y))

    @pytest.mark.parametrize("cls", [hinge.SemiparametricSVC, hinge.SemiparametricSVR, hinge.RegularizationNetwork])
    def test_python_functions_without_penalty_cannot_be_exported(self, export, cls):
        with pytest.raises(TypeError, match=r"functions=.*is a Python function and cannot be exported: train with"):
            export(fitted(cls(functions=np.cos), X, Y))

    def test_unknown_steps_are_named(self, export):
        with pytest.raises(TypeError, match=r"step 'polynomialfeatures' .* known steps are StandardScaler"):
            export(fitted(make_pipeline(PolynomialFeatures(), hinge.SVC()), X, Y))

    @pytest.mark.parametrize("model", [LogisticRegression(), 3, "model"], ids=str)
    def test_other_objects_are_refused(self, export, model):
        with pytest.raises(TypeError, match="pass a fitted estimator of hinge"):
            export(model)

    @pytest.mark.parametrize("model", [hinge.SVC(), make_pipeline(StandardScaler(), hinge.SVC()), hinge.OnlineSVR()])
    def test_models_that_are_not_fitted_are_refused(self, export, model):
        with pytest.raises(NotFittedError):
            export(model)

    def test_labels_of_other_types_are_refused(self, export):
        labels = np.array([b"a", b"b"])[Y]
        with pytest.raises(TypeError, match=r"labels of type bytes cannot be exported .* train with labels"):
            export(fitted(hinge.SVC(), X, labels))

    def test_ties_of_pairs_are_refused_as_in_predict(self, export):
        model = fitted(hinge.SVC(break_ties=True, decision_function_shape="ovo"), X, np.arange(40) % 3)
        with pytest.raises(ValueError, match="break_ties must be False"):
            export(model)

    def test_ensembles_of_calibrated_models_are_refused(self, export):
        with pytest.raises(TypeError, match="ensemble=False"):
            export(fitted(CalibratedClassifierCV(hinge.LinearSVC(), cv=2, ensemble=True), X, Y))
        with pytest.raises(TypeError, match="'sigmoid' or 'temperature'"):
            export(fitted(CalibratedClassifierCV(hinge.LinearSVC(), method="isotonic", cv=2, ensemble=False), X, Y))

    def test_an_existing_file_is_kept_after_an_error(self, export, tmp_path):
        path = tmp_path / "model"
        path.write_text("before")
        with pytest.raises(TypeError):
            export(fitted(hinge.SVC(kernel=linear), X, Y), path)
        assert path.read_text() == "before"
        assert [each.name for each in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("package", "call"), [("onnx", "to_onnx(None)"), ("skl2onnx", "register_onnx_converters()")]
)
def test_a_missing_package_is_named_with_the_remedy(package, call):
    code = f"import sys; sys.modules[{package!r}] = None\nimport hinge\nhinge.io.{call}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"ImportError: {call.partition('(')[0]} needs the package {package}" in result.stderr
    assert "pip install" in result.stderr
