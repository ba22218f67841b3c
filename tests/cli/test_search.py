"""`hinge grid` and `hinge path`: results agree with the library, and a search can be continued."""

import json

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.selection import path_search


def grid_scores(result):
    return {json.dumps(c["params"], sort_keys=True): c["mean"] for c in result["candidates"]}


def sklearn_scores(search):
    names = [json.dumps({k.split("__")[-1]: v for k, v in p.items()}, sort_keys=True)
             for p in search.cv_results_["params"]]  # fmt: skip
    return dict(zip(names, search.cv_results_["mean_test_score"].tolist(), strict=True))


@pytest.mark.parametrize(
    ("words", "estimator", "axes"),
    [
        (["-p", "C=0.1,10", "-p", "gamma=0.01,0.1"], hinge.SVC(), {"C": [0.1, 10.0], "gamma": [0.01, 0.1]}),
        (["-p", "C=0.1,10", "-p", "kernel=rbf,linear"], hinge.SVC(), {"C": [0.1, 10.0], "kernel": ["rbf", "linear"]}),
        (["-e", "LinearSVC", "-p", "C=0.01:1:3"], hinge.LinearSVC(), {"C": [0.01, 0.1, 1.0]}),
        (["-e", "NuSVC", "-p", "nu=0.2,0.4", "-p", "gamma=0.1"], hinge.NuSVC(gamma=0.1), {"nu": [0.2, 0.4]}),
        (["-p", "C=1,2", "-p", "loss=squared_hinge"], hinge.SVC(loss="squared_hinge"), {"C": [1.0, 2.0]}),
        (["-p", "gamma=0.01,0.1,scale"], hinge.SVC(), {"gamma": [0.01, 0.1, "scale"]}),
    ],
    ids=["C-gamma", "kernels", "linear", "nu", "loss", "gamma"],
)
@pytest.mark.parametrize("scale", [False, True])
def test_scores_are_those_of_a_search_in_scikit_learn(words, estimator, axes, scale, run, classes):
    file, X, y = classes
    done = run("grid", file, *words, "--cv", "3", "--json", *(["--scale", "standard"] if scale else []))
    assert done.code == 0, done.err
    model = make_pipeline(StandardScaler(), estimator) if scale else estimator
    prefix = f"{type(estimator).__name__.lower()}__" if scale else ""
    search = GridSearchCV(model, {prefix + k: v for k, v in axes.items()}, cv=3).fit(X, y)
    result = json.loads(done.out)
    assert grid_scores(result) == pytest.approx(sklearn_scores(search), abs=1e-12)
    assert result["best_score"] == pytest.approx(search.best_score_)


def test_regression_and_scoring(run, targets):
    file, X, y = targets
    words = ["-e", "SVR", "-p", "C=1,10", "-p", "epsilon=0.01,0.1", "--scoring", "neg_mean_absolute_error"]
    result = json.loads(run("grid", file, *words, "--cv", "3", "--json").out)
    axes = {"C": [1.0, 10.0], "epsilon": [0.01, 0.1]}
    search = GridSearchCV(hinge.SVR(), axes, cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    assert grid_scores(result) == pytest.approx(sklearn_scores(search), rel=1e-3)


def test_seed_shuffles_the_folds(run, classes):
    file, X, y = classes
    result = json.loads(run("grid", file, "-p", "C=0.1,10", "--cv", "3", "--seed", "5", "--json").out)
    folds = StratifiedKFold(3, shuffle=True, random_state=5)
    assert grid_scores(result) == sklearn_scores(GridSearchCV(hinge.SVC(), {"C": [0.1, 10.0]}, cv=folds).fit(X, y))


def test_best_candidate_is_fitted_to_all_samples(run, classes):
    file, X, y = classes
    done = run("grid", file, "-p", "C=0.1,10", "-p", "gamma=0.1", "--scale", "standard", "-o", "m.hinge", "--json")
    C = json.loads(done.out)["best_params"]["C"]
    expected = make_pipeline(StandardScaler(), hinge.SVC(C=C, gamma=0.1)).fit(X, y)
    assert np.array_equal(hinge.load("m.hinge").decision_function(X), expected.decision_function(X))
    assert hinge.load("m.hinge")[-1].n_jobs is None


def test_search_of_a_ranking_keeps_queries_together(run, classes, tmp_path):
    _, X, y = classes
    hinge.io.dump_libsvm(X, (y > 0) + 0.0, tmp_path / "q.svm", query_id=np.repeat(np.arange(6), 10))
    done = run("grid", "q.svm", "-e", "RankingSVM", "-p", "C=0.1,1", "--cv", "3", "--json")
    assert done.code == 0, done.err
    assert all(0 < score <= 1 for score in grid_scores(json.loads(done.out)).values())


WORDS = ["-p", "C=0.1,10", "-p", "gamma=0.01,0.1,1", "--cv", "3", "--json"]


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("keep", [0, 10, 1.0])
def test_search_is_continued_from_its_record(run, classes, tmp_path, monkeypatch, scale, keep):
    """`keep`: lines of the record that a killed process left; 1.0: only a part of the first line."""
    words = ["grid", classes[0], *WORDS, "--scale", scale, "--state", "s.jsonl"]
    first = run(*words)
    record = tmp_path / "s.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    if keep == 1.0:
        record.write_bytes(lines[0][:20])
    else:
        whole = lines[: min(1 + keep, len(lines) - 1)]
        record.write_bytes(b"".join(whole) + lines[len(whole)][:13])

    computed = []
    from hinge.cli.search import parts

    monkeypatch.setattr(parts, "grid", lambda *a, grid=parts.grid, **k: computed.append(1) or grid(*a, **k))
    second = run(*words)
    assert second.code == 0, second.err
    assert grid_scores(json.loads(second.out)) == grid_scores(json.loads(first.out))
    missing = len(lines) - 1 if keep in (0, 1.0) else len(lines) - len(whole)
    assert len(computed) == missing
    scores = [tuple(cell[:2]) for line in record.read_bytes().splitlines()[1:] for cell in json.loads(line)["scores"]]
    assert len(scores) == len(set(scores)) == 6 * 3  # candidates × folds, each of them once
    assert run(*words).code == 0
    assert len(computed) == missing  # nothing is left to compute


@pytest.mark.parametrize("change", [["-p", "tol=1e-4"], ["--scale", "maxabs"], ["--seed", "1"], ["--scoring", "f1"]])
def test_record_of_another_search_is_an_error(run, classes, change):
    assert run("grid", classes[0], *WORDS, "--state", "s.jsonl").code == 0
    done = run("grid", classes[0], *WORDS, *change, "--state", "s.jsonl")
    assert (done.code, "s.jsonl belongs to another search (different" in done.err) == (1, True)


@pytest.mark.parametrize("content", [b"text\n", b"x", b'{"a": 1}\n', b"[]\n"])
def test_other_file_is_not_overwritten_by_a_record(run, classes, tmp_path, content):
    (tmp_path / "s.jsonl").write_bytes(content)
    done = run("grid", classes[0], *WORDS, "--state", "s.jsonl")
    assert (done.code, "s.jsonl is not the record of a search" in done.err) == (1, True)
    assert (tmp_path / "s.jsonl").read_bytes() == content


def test_time_limit_keeps_the_finished_scores(run, classes):
    done = run("grid", classes[0], *WORDS, "--max-time", "1e-9")
    assert done.code == 3
    assert json.loads(done.out)["complete"] is False


def test_interrupt_names_the_record(run, classes, monkeypatch):
    from hinge.cli.search import parts

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(parts, "grid", interrupted)
    done = run("grid", classes[0], *WORDS, "--state", "s.jsonl")
    assert done.code == 130
    assert done.err == "hinge: interrupted; 0 of 3 parts are in s.jsonl, and the same command continues\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-p", "C=1,,2"], "has an empty value"),
        (["-p", "C=0:1:5"], "must have two positive numbers"),
        (["-p", "C=1,-2"], "C=-2.0 must lie in"),
        (["-p", "C=1,2", "-p", "C=3"], "repeats the parameter 'C'"),
        (["-p", "C=1,2", "--scoring", "luck"], "--scoring luck"),
        (["-p", "c=1,2"], "SVC has no parameter 'c'"),
    ],
)
def test_invalid_search_is_a_usage_error(run, words, reason):
    done = run("grid", "absent.svm", *words)
    assert done.code == 2
    assert reason in done.err


def test_values_with_brackets_are_not_split():
    from hinge.cli.search.axes import parse_values

    assert parse_values(hinge.SVC, "class_weight", "{1: 2, -1: 1},balanced,none") == [{1: 2, -1: 1}, "balanced", None]


# ---- paths ----------------------------------------------------------------------------------------------------------


def test_path_agrees_with_the_library(run, classes, tmp_path):
    file, X, y = classes
    done = run("path", file, "-p", "gamma=0.1", "--max", "10", "-o", "p.hinge", "--breakpoints", "b.txt", "--json")
    expected = hinge.regularization_path(X, y, gamma=0.1, C_max=10)
    assert json.loads(done.out)["breakpoints"] == len(expected.breakpoints)
    assert np.array_equal(np.loadtxt(tmp_path / "b.txt"), expected.breakpoints)
    assert np.array_equal(hinge.load("p.hinge").alpha(1.0), expected.alpha(1.0))


def test_page_of_the_path(run, classes, tmp_path):
    file = classes[0]
    done = run("path", file, "-p", "gamma=0.1", "--max", "10", "--validation", file, "--explore", "p.html", "--json")
    assert json.loads(done.out)["page"] == "p.html"
    page = (tmp_path / "p.html").read_text()
    assert page.startswith("<!doctype html>")
    assert '"validation":{' in page


def test_best_cost_on_validation_data(run, classes):
    file, X, y = classes
    words = ["-p", "gamma=0.1", "--validation", file, "--model", "m.hinge", "--json"]
    best = json.loads(run("path", file, *words).out)["best"]
    expected = hinge.regularization_path(X, y, gamma=0.1).best(X, y)
    assert (best["low"], best["high"], best["error"]) == tuple(expected)
    model = hinge.load("m.hinge")
    assert best["value"] == model.C
    assert np.mean(model.predict(X) != y) == pytest.approx(expected.error)


def test_cross_validated_cost_is_that_of_a_path_search(run, classes):
    file, X, y = classes
    best = json.loads(run("path", file, "-p", "gamma=0.1", "--cv", "3", "--json").out)["best"]
    expected = path_search(X, y, gamma=0.1, cv=3).best
    assert best["error"] == pytest.approx(expected.error)
    assert (best["low"], best["high"]) == pytest.approx((expected.low, expected.high))


def test_paths_of_several_classes_and_other_parameters(run, tmp_path, targets):
    X = np.random.default_rng(0).normal(size=(30, 3))
    hinge.io.dump_libsvm(X, np.arange(30) % 3, tmp_path / "three.svm")
    done = run("path", "three.svm", "--validation", "three.svm", "--json")
    assert done.code == 0, done.err
    assert 0 <= json.loads(done.out)["best"]["error"] < 1
    assert run("path", targets[0], "--over", "epsilon", "--task", "regression", "--validation", targets[0]).code == 0
    assert run("path", targets[0], "--task", "regression", "--cv", "3", "--scale", "standard").code == 0
    assert run("path", targets[0], "--over", "nu", "--task", "one_class").code == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--over", "epsilon"], "--over epsilon needs --task regression"),
        (["-p", "tol=1"], "-p tol is not a parameter of this path"),
        (["-p", "C=1"], "-p C is not a parameter of this path"),
        (["--cv", "3", "--validation", "x"], "exclude each other"),
        (["--over", "nu", "--cv", "3"], "--cv is for paths over C"),
    ],
)
def test_invalid_path_is_a_usage_error(run, words, reason):
    done = run("path", "absent.svm", *words)
    assert done.code == 2
    assert reason in done.err
