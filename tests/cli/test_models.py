"""Commands that use a model: predict, evaluate, certify, scale, convert, explain and info."""

import json

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

import hinge
from hinge.cli.options import ESTIMATORS
from hinge.io import load_libsvm
from hinge.io.registry import ESTIMATORS as REGISTERED


@pytest.fixture
def model(run, classes):
    """A trained pipeline with its training data."""
    file, X, y = classes
    assert run("train", file, "--scale", "standard", "-p", "C=10", "-p", "gamma=0.5", "-o", "m.hinge").code == 0
    return hinge.load("m.hinge"), X, y


def test_labels_are_written_as_in_the_data(run, model, tmp_path):
    fitted, X, _ = model
    expected = "".join(f"{int(label)}\n" for label in fitted.predict(X))
    assert run("predict", "m.hinge", "train.svm").out == expected
    done = run("predict", "m.hinge", "train.svm", "-o", "labels.txt")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "labels.txt").read_text() == expected
    assert json.loads(run("predict", "m.hinge", "train.svm", "--json").out)["labels"] == fitted.predict(X).tolist()


def test_decision_values_are_exact(run, model):
    fitted, X, _ = model
    done = run("predict", "m.hinge", "train.svm", "--values", "decision")
    assert np.array_equal([float(line) for line in done.out.split()], fitted.decision_function(X))


def test_decision_values_of_several_classes_are_columns(run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    hinge.io.dump_libsvm(X, np.arange(30) % 3, tmp_path / "a.svm")
    assert run("train", "a.svm", "-o", "m.hinge").code == 0
    done = run("predict", "m.hinge", "a.svm", "--values", "decision")
    values = np.array([[float(v) for v in line.split()] for line in done.out.splitlines()])
    assert np.array_equal(values, hinge.load("m.hinge").decision_function(X))


def test_blocks_of_a_file_give_the_same_predictions(run, model, monkeypatch):
    whole = run("predict", "m.hinge", "train.svm", "--values", "decision").out
    monkeypatch.setattr("hinge.io.libsvm.READ_BYTES", 300)
    parts = run("predict", "m.hinge", "train.svm", "--values", "decision").out
    assert np.allclose(np.fromstring(parts, sep="\n"), np.fromstring(whole, sep="\n"), rtol=1e-12)


@pytest.mark.parametrize("options", [[], ["--scale", "standard"], ["--scale", "minmax"], ["-e", "LinearSVC"]])
def test_models_of_dense_data_accept_files_with_few_values(run, classes, tmp_path, options):
    """The storage follows the model: a file with mostly zeros would otherwise be read as a sparse matrix."""
    file, X, y = classes
    assert run("train", file, *options, "-o", "m.hinge").code == 0
    few = X * (np.arange(X.size).reshape(X.shape) % 4 == 0)
    hinge.io.dump_libsvm(few, y, tmp_path / "few.svm")
    done = run("predict", "m.hinge", "few.svm", "--values", "decision")
    assert done.code == 0, done.err
    expected = hinge.load("m.hinge").decision_function(few)
    assert np.allclose([float(line) for line in done.out.split()], expected, rtol=1e-12)
    assert run("evaluate", "m.hinge", "few.svm").code == 0


def test_libsvm_models_are_used_like_models_of_hinge(run, classes, tmp_path):
    file, X, y = classes
    assert run("train", file, "-p", "C=5", "-p", "gamma=0.02", "-o", "m.hinge").code == 0
    assert run("convert", "m.hinge", "m.model").code == 0
    assert run("predict", "m.model", file).out == run("predict", "m.hinge", file).out
    assert run("evaluate", "m.model", file).out == run("evaluate", "m.hinge", file).out
    done = run("certify", "m.model", file, "-p", "C=5", "--json")
    expected = hinge.load("m.hinge").certify(X, y)
    assert json.loads(done.out)["certificate"]["primal"] == pytest.approx(expected.primal, rel=1e-9)
    assert "C=1 is not the value" in run("certify", "m.model", file).err
    assert run("certify", "m.hinge", file, "-p", "C=5").code == 2
    assert run("convert", "m.model", "again.hinge").code == 0
    assert run("predict", "again.hinge", file).out == run("predict", "m.hinge", file).out
    (tmp_path / "wide.svm").write_text("1 1:1 9:2\n")
    assert run("predict", "m.model", "wide.svm", "--features", 9).code == 0


def test_missing_method_is_an_error_with_alternatives(run, model):
    done = run("predict", "m.hinge", "train.svm", "--values", "probability")
    assert (done.code, "use labels or decision" in done.err) == (1, True)


def test_evaluation_of_a_classifier(run, model):
    fitted, X, y = model
    result = json.loads(run("evaluate", "m.hinge", "train.svm", "--metric", "roc_auc", "--json").out)
    assert result["accuracy"] == accuracy_score(y, fitted.predict(X))
    assert result["roc_auc"] == pytest.approx(roc_auc_score(y, fitted.decision_function(X)))
    assert np.sum(result["confusion"]) == len(y)
    text = run("evaluate", "m.hinge", "train.svm").out
    assert f"({result['correct']} of {len(y)})" in text
    assert "confusion matrix" in text


def test_evaluation_of_a_regressor(run, targets):
    file, X, y = targets
    assert run("train", file, "-e", "SVR", "-o", "m.hinge").code == 0
    result = json.loads(run("evaluate", "m.hinge", file, "--json").out)
    predicted = hinge.load("m.hinge").predict(X)
    assert result["r2"] == pytest.approx(r2_score(y, predicted))
    assert result["mean_squared_error"] == pytest.approx(np.mean((y - predicted) ** 2))


def test_evaluation_of_a_novelty_detector(run, classes):
    file, X, _ = classes
    assert run("train", file, "-e", "OneClassSVM", "-p", "nu=0.2", "-o", "m.hinge").code == 0
    result = json.loads(run("evaluate", "m.hinge", file, "--json").out)
    assert result["outliers"] == np.mean(hinge.load("m.hinge").predict(X) == -1)


def test_evaluation_of_a_ranking(run, tmp_path, classes):
    _, X, y = classes
    queries = np.repeat(np.arange(6), 10)
    hinge.io.dump_libsvm(X, (y > 0) + 0.0, tmp_path / "q.svm", query_id=queries)
    assert run("train", "q.svm", "-e", "RankingSVM", "-o", "m.hinge").code == 0
    result = json.loads(run("evaluate", "m.hinge", "q.svm", "--json").out)
    expected = hinge.RankingSVM().fit(X, y > 0, qid=queries).score(X, (y > 0) + 0.0, qid=queries)
    assert result["ndcg_at_10"] == pytest.approx(expected)
    assert run("certify", "m.hinge", "q.svm").code == 0


def test_unknown_metric_is_a_usage_error(run):
    done = run("evaluate", "m.hinge", "a.svm", "--metric", "luck")
    assert (done.code, "'luck' is not a score of scikit-learn" in done.err) == (2, True)


def test_certificate_is_recomputed_from_the_data(run, model):
    fitted, X, y = model
    result = json.loads(run("certify", "m.hinge", "train.svm", "--json").out)
    certificate = fitted[-1].certify(fitted[0].transform(X), y)
    assert result["certificate"]["gap"] == certificate.gap
    assert result["certificate"]["primal"] == certificate.primal


def test_certificate_above_the_tolerance_exits_with_code_3(run, classes):
    assert run("train", classes[0], "-p", "solver=SMO(max_iter=20)", "-o", "m.hinge").code == 3
    done = run("certify", "m.hinge", classes[0], "--tol", "1e-6")
    assert (done.code, "not reached" in done.out) == (3, True)
    assert run("certify", "m.hinge", classes[0], "--tol", "1e6").code == 0
    assert run("certify", "m.hinge", classes[0]).code == 0


def test_certificate_of_other_data_is_an_error(run, model, tmp_path):
    hinge.io.dump_libsvm(model[1][:20], model[2][:20], tmp_path / "other.svm")
    done = run("certify", "m.hinge", "other.svm")
    assert (done.code, "20 samples" in done.err) == (1, True)


def test_scaled_file_equals_the_scaled_samples(run, model, tmp_path):
    fitted, X, y = model
    assert run("scale", "train.svm", "--method", "standard", "--save", "s.hinge", "-o", "scaled.svm").code == 0
    scaled, labels = load_libsvm(tmp_path / "scaled.svm")
    assert np.array_equal(scaled.toarray(), fitted[0].transform(X))
    assert np.array_equal(labels, y)
    for source in ("s.hinge", "m.hinge"):  # a saved scaler, and the scaler of a model
        assert run("scale", "train.svm", "--restore", source, "-o", "again.svm").code == 0
        assert (tmp_path / "again.svm").read_bytes() == (tmp_path / "scaled.svm").read_bytes()
    assert run("scale", "train.svm").code == 2
    assert run("train", "train.svm", "-o", "plain.hinge").code == 0
    assert "without a scaler" in run("scale", "train.svm", "--restore", "plain.hinge", "-o", "x.svm").err


def test_data_are_converted_without_loss(run, classes, tmp_path):
    pytest.importorskip("pyarrow")
    file, X, y = classes
    steps = [(file, "a.csv", []), ("a.csv", "a.parquet", ["--target", "target"]),
             ("a.parquet", "a.npz", ["--target", "target"]), ("a.npz", "b.svm", [])]  # fmt: skip
    for source, target, options in steps:
        done = run("convert", source, target, *options)
        assert done.code == 0, done.err
    X_back, y_back = load_libsvm(tmp_path / "b.svm")
    assert np.array_equal(X_back.toarray(), X)
    assert np.array_equal(y_back, y)


def test_names_of_columns_survive_a_conversion(run, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("width,kind,height\n1,a,2\n3,b,4\n")
    assert run("convert", "a.csv", "a.parquet", "--target", "kind").code == 0
    table = hinge.io.load_table(tmp_path / "a.parquet", target="kind")
    assert (table.feature_names, table.y.tolist()) == (("width", "height"), ["a", "b"])
    done = run("convert", "a.csv", "a.svm", "--target", "kind")
    assert (done.code, "LIBSVM text holds numbers only" in done.err) == (1, True)


def test_unclear_conversions_are_errors(run, model):
    assert run("convert", "m.hinge", "m.xyz").code == 2
    assert run("convert", "train.svm", "m.onnx").code == 1
    assert run("convert", "m.hinge", "m2.hinge").code == 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_info_lists_the_parameters_of_an_estimator(name, run):
    result = json.loads(run("info", name, "--json").out)
    assert set(result["parameters"]) == set(REGISTERED[name]().get_params(deep=False))
    assert all(f"  {key} " in run("info", name).out for key in result["parameters"])


def test_info_describes_models_data_and_the_installation(run, model):
    text = run("info", "m.hinge").out
    assert "Pipeline" in text
    assert "StandardScaler()" in text
    assert "C=10.0" in text
    data = json.loads(run("info", "train.svm", "--json").out)
    assert (data["samples"], data["features"], data["labels"]) == (60, 4, {"-1": 30, "1": 30})
    assert json.loads(run("info", "--json").out)["versions"]["hinge"] == hinge.__version__
    assert run("info", "nothing").code == 2


def test_explanation_is_that_of_the_library(run, model):
    _, X, y = model
    result = json.loads(run("explain", "train.svm", "-p", "C=3", "--json").out)
    assert result["reasons"] == list(hinge.solvers.explain(hinge.SVC(C=3.0), X, y).reasons)
    assert json.loads(run("explain", "train.svm", "-e", "LinearSVC", "--json").out)["solver"] == "coordinate_descent"


def test_explain_uses_the_queries_of_the_file(run, tmp_path):
    X, grades = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    hinge.io.dump_libsvm(X, grades + 0.0, tmp_path / "q.svm", query_id=np.repeat(np.arange(6), 10))
    result = json.loads(run("explain", tmp_path / "q.svm", "-e", "RankingSVM", "--json").out)
    assert "of 6 queries" in result["reasons"][0]
