"""`hinge train`: every estimator, its parameters, scaling, resources and exit codes."""

import inspect
import json

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import hinge
from hinge.cli.options import ESTIMATORS
from hinge.io import dump_libsvm
from hinge.io.registry import ESTIMATORS as REGISTERED
from hinge.kernels import RBF, Linear
from hinge.problems import Status


def test_every_estimator_of_model_files_can_be_trained():
    searches = {"SVCCV", "SVRCV", "LinearSVCCV", "LinearSVRCV"}  # the command for them is `hinge grid`
    assert set(ESTIMATORS) == set(REGISTERED) - searches


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_trained_like_in_python(name, run, classes, targets, tmp_path):
    cls = REGISTERED[name]
    file, X, y = classes if is_classifier(cls()) or name == "RankingSVM" else targets
    options = []
    if name == "RankingSVM":
        queries = np.repeat(np.arange(6), 10)
        dump_libsvm(X, y, tmp_path / "queries.svm", query_id=queries)
        file = "queries.svm"
        expected = cls().fit(X, y, qid=queries)
    elif name == "TransductiveSVC":
        dump_libsvm(X[:10], y[:10], tmp_path / "unlabeled.svm")
        options = ["--unlabeled", "unlabeled.svm"]
        expected = cls().fit(X, y, X_unlabeled=X[:10])
    elif "OneClass" in name or "Novelty" in name:
        expected = cls().fit(X)
    else:
        expected = cls().fit(X, y)
    done = run("train", file, "-e", name, "-o", "m.hinge", *options)
    assert done.code == (0 if getattr(expected, "status_", Status.SOLVED) is Status.SOLVED else 3), done.err
    model = hinge.load("m.hinge")
    assert type(model) is cls
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert model.get_params() == cls().get_params()  # threads, memory and progress are not stored


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_can_be_given_as_text(name):
    from hinge.cli.parameters import parse_parameters

    cls = REGISTERED[name]
    defaults = {p.name: p.default for p in inspect.signature(cls).parameters.values()}
    assert parse_parameters(cls, [f"{key}={value}" for key, value in defaults.items()]) == defaults


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("C=10", 10.0),
        ("C=1e-3", 1e-3),
        ("C=inf", np.inf),
        ("max_iter=1e4", 10_000),
        ("max_time=None", None),
        ("shrinking=no", False),
        ("shrinking=1", True),
        ("break_ties=true", True),
        ("gamma=auto", "auto"),
        ("gamma=0.5", 0.5),
        ("class_weight=balanced", "balanced"),
        ("class_weight={1: 2.5, -1: 1}", {1: 2.5, -1: 1}),
        ("class_weight={'a': 2}", {"a": 2}),
        ("kernel=RBF(0.5) + 2 * Linear()", RBF(0.5) + 2 * Linear()),
        ("kernel=RBF(gamma=0.5)", RBF(0.5)),
        ("solver=SMO(tol=1e-6)", hinge.solvers.SMO(tol=1e-6)),
        ("loss=SquaredHinge()", hinge.losses.SquaredHinge()),
    ],
)
def test_value_has_the_type_of_the_parameter(text, value):
    from hinge.cli.parameters import parse_parameters

    ((_, parsed),) = parse_parameters(hinge.SVC, [text]).items()
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gama=1", "SVC has no parameter 'gama'; did you mean 'gamma'? its parameters are C, kernel,"),
        ("C", "-p 'C' must have the form NAME=VALUE"),
        ("C=", "-p 'C=' must have the form NAME=VALUE"),
        ("C=-1", "SVC: C=-1.0 must lie in (0, inf]"),
        ("C=big", "SVC: C='big' must be a number, not str"),
        ("kernel=foo", "kernel='foo' must be one of 'linear', 'poly', 'rbf'"),
        ("decision_function_shape=all", "decision_function_shape='all' must be one of 'ovr', 'ovo'"),
        ("loss=fake", "loss='fake'"),
        ("solver=fast", "solver='fast'"),
        ("kernel=RBF(", "kernel=RBF( is not a valid expression"),
        ("kernel=__import__('os').system('true')", "is not valid"),
        ("kernel=open('file')", "'open' is not a kernel, loss or solver"),
        ("kernel=RBF(x)", "'x' must be a number"),
        ("kernel=RBF(-1)", "is not valid"),
    ],
)
def test_invalid_parameter_is_a_usage_error_that_names_it(text, reason, run):
    done = run("train", "absent.svm", "-p", text, "-o", "m.hinge")
    assert done.code == 2
    assert reason in done.err
    assert done.err.count("\n") == 1


def test_repeated_parameter_is_an_error(run):
    assert "repeats the parameter 'C'" in run("train", "absent.svm", "-p", "C=1", "-p", "C=2", "-o", "m").err


SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler, "maxabs": MaxAbsScaler}


@pytest.mark.parametrize("scale", SCALERS)
def test_scaling_is_part_of_the_model(scale, run, classes):
    file, X, y = classes
    assert run("train", file, "--scale", scale, "-p", "C=3", "-o", "m.hinge").code == 0
    expected = make_pipeline(SCALERS[scale](), hinge.SVC(C=3.0)).fit(X, y)
    assert np.array_equal(hinge.load("m.hinge").decision_function(X), expected.decision_function(X))


def test_sparse_data_are_not_centered(run, classes):
    file = classes[0]
    done = run("train", file, "--scale", "standard", "--storage", "sparse", "-o", "m.hinge")
    assert "not centered" in done.out
    assert hinge.load("m.hinge")[0].with_mean is False
    assert run("train", file, "--scale", "minmax", "--storage", "sparse", "-o", "m.hinge").code == 2


def test_json_output_has_the_certificate(run, classes):
    file, X, y = classes
    done = run("train", file, "-p", "C=10", "-o", "m.hinge", "--json")
    result = json.loads(done.out)
    certificate = hinge.SVC(C=10.0).fit(X, y).certificate_
    assert result["status"] == "SOLVED"
    assert result["certificate"]["primal"] == pytest.approx(certificate.primal)
    assert result["data"] == {"file": file, "samples": 60, "features": 4, "sparse": False, "mapped": False}
    assert result["parameters"]["C"] == 10.0
    assert set(result["seconds"]) == {"read", "fit", "save"}


def test_text_output_states_the_certificate_in_one_sentence(run, classes):
    done = run("train", classes[0], "-o", "m.hinge")
    (line,) = [line for line in done.out.splitlines() if line.startswith("certificate")]
    assert "exceeds the optimum by at most" in line


def test_quiet_prints_nothing(run, classes):
    assert run("train", classes[0], "-o", "m.hinge", "-q") == (0, "", "")


def test_fit_without_convergence_writes_its_model_and_exits_with_code_3(run, classes):
    done = run("train", classes[0], "-p", "max_iter=1", "-p", "C=1e4", "-p", "solver=SMO(max_iter=1)", "-o", "m.hinge")
    assert done.code == 3
    assert "MAX_ITER" in done.out
    assert hinge.load("m.hinge").status_ is Status.MAX_ITER


def test_time_limit_is_for_this_run_only(run, classes):
    assert run("train", classes[0], "--max-time", "1h", "--memory", "10MB", "-j", "1", "-o", "m.hinge").code == 0
    model = hinge.load("m.hinge")
    assert (model.max_time, model.cache_size, model.n_jobs) == (None, "auto", None)
    assert run("train", classes[0], "-p", "max_time=3600", "-o", "m.hinge").code == 0
    assert hinge.load("m.hinge").max_time == 3600


@pytest.mark.parametrize("name", ["OnlineSVC", "IncrementalSVC", "LPSVC"])
def test_every_estimator_accepts_a_time_limit(run, classes, name):
    assert run("train", classes[0], "-e", name, "--max-time", "5", "-o", "m.hinge").code == 0


def test_seed_is_the_random_state(run, classes):
    assert run("train", classes[0], "-e", "LinearSVC", "--seed", "7", "-o", "m.hinge").code == 0
    assert hinge.load("m.hinge").random_state == 7


def test_sample_weights_are_read_from_a_file(run, classes, tmp_path):
    file, X, y = classes
    weight = np.linspace(0.5, 2.0, len(y))
    (tmp_path / "w.txt").write_text("".join(f"{float(w)!r}\n" for w in weight))
    assert run("train", file, "--sample-weight", "w.txt", "-o", "m.hinge").code == 0
    expected = hinge.SVC().fit(X, y, sample_weight=weight)
    assert np.array_equal(hinge.load("m.hinge").decision_function(X), expected.decision_function(X))
    assert run("train", file, "--sample-weight", "w.txt", "-e", "OnlineSVC", "-o", "m.hinge").code == 2


def test_files_larger_than_the_memory_are_mapped_for_linear_estimators(run, classes, tmp_path):
    file, X, y = classes
    before = set(tmp_path.iterdir())
    done = run("train", file, "-e", "LinearSVC", "--memory", "1kB", "-o", "m.hinge", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["data"]["mapped"] is True
    assert set(tmp_path.iterdir()) - before == {tmp_path / "m.hinge"}
    expected = hinge.LinearSVC().fit(X, y)
    assert np.allclose(hinge.load("m.hinge").decision_function(X), expected.decision_function(X), atol=1e-3)

    assert run("train", file, "-e", "LinearSVC", "--map", "arrays", "-o", "m.hinge").code == 0
    assert list((tmp_path / "arrays").glob("*/values.npy"))
    assert run("train", file, "--map", "arrays", "-o", "m.hinge").code == 2
    assert run("train", file, "-e", "LinearSVC", "--map", "arrays", "--scale", "maxabs", "-o", "n.hinge").code == 2
    assert not (tmp_path / "n.hinge").exists()


def test_impossible_output_is_reported_before_the_data_are_read(run, classes, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, reason in (("no/m.hinge", "does not exist"), ("folder", "is a directory")):
        for words in (["train"], ["grid", "-p", "C=1,2"], ["path"]):
            done = run(*words, "nothing.svm", "-o", name)
            assert done.code == 1
            assert name in done.err
            assert reason in done.err
    for words in (["predict", "m.hinge", "a.svm"], ["convert", "a.svm"], ["scale", "a.svm", "-o"]):
        done = run(*words, *(["-o"] if words[0] == "predict" else []), "no/out.svm")
        assert (done.code, "no/out.svm" in done.err) == (1, True)
