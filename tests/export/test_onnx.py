"""ONNX graphs agree with the estimators to rounding errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import hinge
from export.cases import KERNELS, NAMES, SCALERS, Case, assert_agreement, cases, fitted, targets
from hinge.io import to_onnx
from hinge.kernels import RBF, BSpline, Laplacian, Polynomial

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

every_estimator = pytest.mark.parametrize("name", NAMES)


def run(proto, X):
    """Outputs by name."""
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def check(case):
    proto = to_onnx(case.model)
    onnx.checker.check_model(proto, full_check=True)
    results = run(proto, case.X)
    if case.has_labels:
        assert set(results) == {"label", "decision_values"}
        assert_agreement(case, results["label"], results["decision_values"])
    else:
        assert set(results) == {"prediction"}
        assert_agreement(case, None, results["prediction"])


@every_estimator
@settings(max_examples=6)
@given(data=st.data())
def test_every_estimator_agrees_with_onnxruntime(name, data):
    check(data.draw(cases(name)))


@pytest.mark.slow
@every_estimator
@settings(max_examples=300)
@given(data=st.data())
def test_every_estimator_agrees_with_onnxruntime_on_many_data_sets(name, data):
    check(data.draw(cases(name)))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 0] += np.arange(60) % 3
    return X, rng.normal(size=(40, 3))


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(15, 0.3), Polynomial(2.5, 0.1, 20.0)], ids=repr)
def test_every_kernel_agrees(samples, kernel):
    X, T = samples
    check(Case(fitted(hinge.SVC(kernel=kernel, C=2.0), X, np.arange(60) % 3), T))


@pytest.mark.parametrize("scaler", SCALERS[1:], ids=repr)
def test_scalers_of_a_pipeline_are_part_of_the_graph(samples, scaler):
    X, T = samples
    shift = np.array([1e6, -3.0, 0.0])
    model = fitted(make_pipeline(scaler, hinge.SVR(C=2.0)), X + shift, np.sin(X[:, 0]))
    case = Case(model, T + shift)
    check(case)


def test_clusters_at_a_distance_do_not_lose_digits():
    """‖x‖² + ‖z‖² − 2x·z would have an error of about 1e-4 here."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2)) + 1e6 * (np.arange(40) % 2)[:, None]
    model = fitted(hinge.SVR(kernel=RBF(1.0), C=2.0), X, rng.normal(size=40))
    differences = X[:, None].astype(np.longdouble) - model.support_vectors_
    exact = np.exp(-np.sum(differences**2, axis=2)) @ model.dual_coef_[0] + model.intercept_
    assert np.allclose(run(to_onnx(model), X)["prediction"], exact.astype(np.float64), rtol=0, atol=1e-13)


def test_batches_of_any_size_are_accepted(samples):
    X, T = samples
    for kernel in ("rbf", "laplacian", "linear"):
        model = fitted(hinge.SVC(kernel=kernel), X, np.arange(60) % 3)
        proto = to_onnx(model)
        for n in (0, 1, 2, 40):
            results = run(proto, T[:n])
            assert results["label"].shape == (n,)
            assert results["decision_values"].shape == (n, 3)
        assert np.allclose(run(proto, T[:1])["decision_values"], run(proto, T)["decision_values"][:1], rtol=1e-13)


def test_graphs_use_float64_and_core_operators_only(samples):
    X, _ = samples
    kernel = RBF(0.4) * Laplacian(0.1) + 0.5 * BSpline(3, 0.2)
    proto = to_onnx(fitted(hinge.SVC(kernel=kernel), X, np.arange(60) % 3))
    assert [opset.domain for opset in proto.opset_import] == [""]
    graphs = [proto.graph]
    for graph in graphs:
        graphs += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        assert not {node.domain for node in graph.node} - {""}
        assert onnx.TensorProto.FLOAT not in {tensor.data_type for tensor in graph.initializer}
    assert len(graphs) == 3  # two Scan nodes


def test_training_samples_on_the_boundary_of_a_one_class_model_have_equal_labels():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = fitted(hinge.OneClassSVM(nu=0.1, tol=1e-10), X, None)
    results = run(to_onnx(model), X)
    assert np.any(model.decision_function(X) == 0.0)
    assert np.array_equal(results["label"], model.predict(X))


def test_file_has_the_returned_graph(samples, tmp_path):
    X, _ = samples
    path = tmp_path / "model.onnx"
    proto = to_onnx(fitted(hinge.LinearSVC(), X, np.arange(60) % 3), path)
    assert path.read_bytes() == proto.SerializeToString()


def test_sparse_and_float32_training_data_are_exported(samples):
    X, T = samples
    for data in (sparse.csr_matrix(X), X.astype(np.float32)):
        model = fitted(hinge.SVC(), data, np.arange(60) % 3)
        values = run(to_onnx(model), T)["decision_values"]
        reference = model.decision_function(sparse.csr_matrix(T) if sparse.issparse(data) else T)
        assert np.allclose(values, reference, rtol=1e-12, atol=1e-12)


class TestSkl2onnx:
    """Pipelines with steps that only skl2onnx knows."""

    @pytest.fixture(autouse=True)
    def converters(self):
        pytest.importorskip("skl2onnx")
        hinge.io.register_onnx_converters()

    @every_estimator
    def test_registered_converters_agree(self, samples, name):
        import skl2onnx

        X, T = samples
        n_classes = 2 if name == "TransductiveSVC" else 3
        model = make_pipeline(PCA(2), getattr(hinge, name)())
        model = fitted(model, X, targets(name, len(X), n_classes, np.array(["a", "b", "ž"])))
        case = Case(model, T)
        results = run(skl2onnx.to_onnx(model, X[:1]), T)
        values = results["decision_values" if case.has_labels else "prediction"]
        assert_agreement(case, results.get("label"), values, rtol=1e-10)
