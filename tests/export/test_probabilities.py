"""Probabilities in ONNX graphs and C programs are those of the estimators."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from export.cases import fitted, row_by_row
from export.test_c_source import COMPILER, run
from hinge.calibration import OneVsRestSigmoids, SoftmaxScaling
from hinge.export.pipelines import describe
from hinge.io import to_c, to_onnx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
T = RNG.normal(scale=3.0, size=(40, 3))


def labels(n_classes):
    return np.array(["a", "b", "ž", "c", "d"])[np.arange(len(X)) % n_classes]


def shifted(n_classes):
    """Classes that overlap, so that pairs contradict each other at many points."""
    return X + 0.7 * (np.arange(len(X)) % n_classes)[:, None]


def calibrated(n_classes, method):
    inner = make_pipeline(StandardScaler(), hinge.SVC(C=2.0))
    model = CalibratedClassifierCV(inner, method=method, cv=3, ensemble=False)
    return fitted(model, shifted(n_classes), labels(n_classes))


def own(n_classes, estimator):
    return fitted(make_pipeline(StandardScaler(), estimator), shifted(n_classes), labels(n_classes))


def with_calibration(kind, n_classes):
    """A linear classifier whose calibration is of the given kind; `fit` chooses one of them."""
    model = own(n_classes, hinge.LinearSVC(probability=True))
    k = np.arange(float(n_classes))
    model[-1].calibration_ = (
        SoftmaxScaling(1.5, 0.3 * k) if kind is SoftmaxScaling else OneVsRestSigmoids(-1.0 - 0.2 * k, 0.5 * k - 1.0)
    )
    return model


MODELS = {
    **{f"{method} {k}": (lambda k=k, method=method: calibrated(k, method))
       for k in (2, 3) for method in ("sigmoid", "temperature")},
    **{f"SVC {k}": (lambda k=k: own(k, hinge.SVC(probability=True))) for k in (2, 3, 5)},
    "SVC with ties": lambda: own(4, hinge.SVC(probability=True, break_ties=True)),
    "SVC by pairs": lambda: own(4, hinge.SVC(probability=True, decision_function_shape="ovo")),
    **{f"NuSVC {k}": (lambda k=k: own(k, hinge.NuSVC(nu=0.2, probability=True))) for k in (2, 4)},
    **{f"LinearSVC {k}": (lambda k=k: own(k, hinge.LinearSVC(probability=True))) for k in (2, 3)},
    "softmax": lambda: with_calibration(SoftmaxScaling, 4),
    "sigmoids": lambda: with_calibration(OneVsRestSigmoids, 4),
    "OneClassSVM": lambda: fitted(make_pipeline(StandardScaler(), hinge.OneClassSVM(nu=0.3, probability=True)), X,
                                  None),
}  # fmt: skip


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def onnx_results(model, X):
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    graph = to_onnx(model)
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities"], {"X": X})


def assert_same(model, label, probabilities, atol=1e-11):
    expected = row_by_row(model.predict_proba, T)
    assert np.all(np.abs(probabilities - expected) <= atol)
    assert [str(a) for a in label] == [str(b) for b in model.predict(T)]
    estimator = model[-1] if hasattr(model, "steps") else None
    classes = np.array([-1, 1]) if isinstance(estimator, hinge.OneClassSVM) else model.classes_
    if estimator is not None:  # the largest probability is that of the label
        assert [str(a) for a in classes[probabilities.argmax(axis=1)]] == [str(b) for b in label]


def test_graphs_have_probabilities(model):
    assert_same(model, *onnx_results(model, T))
    label, probabilities = onnx_results(model, T[:0])
    assert (len(label), len(probabilities)) == (0, 0)


def test_programs_have_probabilities(model, tmp_path):
    if COMPILER is None:
        pytest.skip("no C compiler")
    rows = run(tmp_path, model, T)
    width = model.predict_proba(T[:1]).shape[1]
    assert_same(model, [row[0] for row in rows], np.array([row[-width:] for row in rows], dtype=float))


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_contradiction_of_pairs_is_projected_as_in_the_estimator(data):
    """Sigmoids that contradict the votes, so that the probabilities of several classes are pooled."""
    n_classes = data.draw(st.integers(2, 5))
    model = own(n_classes, hinge.SVC(probability=True))
    n_pairs = n_classes * (n_classes - 1) // 2
    numbers = st.lists(st.floats(-6, 6), min_size=n_pairs, max_size=n_pairs)
    calibration = model[-1].calibration_
    slope, offset = -np.abs(data.draw(numbers)), np.array(data.draw(numbers))
    model[-1].calibration_ = type(calibration)(slope, offset)
    assert_same(model, *onnx_results(model, T), atol=1e-9)  # coupled systems with probabilities of 1e-7 are worse


def test_skl2onnx_converts_probabilities():
    skl2onnx, onnxruntime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    hinge.io.register_onnx_converters()
    model = own(3, hinge.SVC(probability=True))
    session = onnxruntime.InferenceSession(skl2onnx.to_onnx(model[-1], X[:1]).SerializeToString())
    label, probabilities = session.run(["label", "probabilities"], {"X": T})
    assert np.allclose(probabilities, model[-1].predict_proba(T), rtol=0, atol=1e-11)
    assert np.array_equal(label, model[-1].predict(T))


def test_probabilities_need_an_estimator_that_was_fitted_with_them():
    model = own(3, hinge.SVC())
    assert describe(model).own_calibration is None
    assert "probabilities" not in to_c(model)


def test_frozen_estimators_are_exported():
    model = fitted(hinge.LinearSVC(), X, labels(2))
    frozen = fitted(CalibratedClassifierCV(FrozenEstimator(model), ensemble=False), X, labels(2))
    assert describe(frozen).calibration is not None


def test_predictors_have_no_probabilities():
    with pytest.raises(TypeError, match="without its calibration"):
        hinge.predictor(calibrated(2, "sigmoid"))
    model = own(3, hinge.SVC(probability=True))
    assert np.array_equal(hinge.predictor(model)(T), model.predict(T))
