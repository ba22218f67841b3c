"""`hinge batch`: runs from a TOML file."""

import json

import numpy as np
import pytest

import hinge

RUNS = """
[defaults]
scale = "standard"
parameter = { tol = 1e-4, C = 5 }

[[run]]
name = "kernel"
data = "train.svm"
parameter = { gamma = 0.5, shrinking = false, class_weight = "balanced" }
output = "kernel.hinge"

[[run]]
data = "train.svm"
estimator = "LinearSVC"
output = "linear.hinge"

[[run]]
command = "evaluate"
model = "kernel.hinge"
data = "train.svm"
metric = ["roc_auc", "f1"]

[[run]]
command = "grid"
data = "train.svm"
parameter = { C = [1, 10], gamma = 0.1, tol = 1e-3 }
cv = 3
"""


def test_runs_have_the_options_of_the_commands(run, classes, tmp_path):
    (tmp_path / "runs.toml").write_text(RUNS)
    done = run("batch", "runs.toml", "--json")
    assert done.code == 0, done.err
    runs = json.loads(done.out)["runs"]
    assert [(r["name"], r["run_command"], r["outcome"]) for r in runs] == [
        ("kernel", "train", "done"), ("2", "train", "done"), ("3", "evaluate", "done"), ("4", "grid", "done"),
    ]  # fmt: skip
    model = hinge.load("kernel.hinge")[-1]
    assert (model.tol, model.C, model.gamma, model.shrinking) == (1e-4, 5.0, 0.5, False)
    assert hinge.load("linear.hinge")[-1].C == 5.0
    assert {"roc_auc", "f1", "accuracy"} <= set(runs[2]["result"])
    assert len(runs[3]["result"]["candidates"]) == 2


def test_text_output_has_a_summary(run, classes, tmp_path):
    (tmp_path / "runs.toml").write_text(RUNS)
    lines = run("batch", "runs.toml").out.splitlines()
    assert lines[-5].split() == ["run", "command", "outcome", "time"]
    assert lines[-4].split()[:3] == ["kernel", "train", "done"]
    assert run("batch", "runs.toml", "-q").out == ""


def test_file_names_refer_to_the_directory_of_the_file(run, classes, tmp_path, monkeypatch):
    (tmp_path / "runs.toml").write_text('[[run]]\ndata = "train.svm"\noutput = "m.hinge"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    from hinge.cli import main

    assert main(["batch", "../runs.toml", "-q"]) == 0
    assert (tmp_path / "m.hinge").exists()


@pytest.mark.parametrize("stop", [False, True])
def test_failed_run_does_not_stop_the_others(run, classes, tmp_path, stop):
    text = '[[run]]\ndata = "absent.svm"\noutput = "a.hinge"\n\n[[run]]\ndata = "train.svm"\noutput = "b.hinge"\n'
    (tmp_path / "runs.toml").write_text(text)
    done = run("batch", "runs.toml", *(["--stop"] if stop else []))
    assert done.code == 1
    assert "absent.svm: No such file or directory" in done.err
    assert (tmp_path / "b.hinge").exists() is not stop


def test_run_without_convergence_gives_code_3(run, classes, tmp_path):
    text = '[[run]]\ndata = "train.svm"\noutput = "a.hinge"\nparameter = { solver = "SMO(max_iter=1)" }\n'
    (tmp_path / "runs.toml").write_text(text)
    assert run("batch", "runs.toml").code == 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[run]\n", "runs.toml: Expected ']]'"),
        ("a = 1\nb =\n", "line 2"),
        ("", "there is no [[run]]"),
        ("[runs]\n", "unknown table 'runs'"),
        ('[[run]]\ncommand = "fly"\n', "runs.toml, run 1: command must be one of"),
        ('[[run]]\ndata = "a"\noutptu = "b"\n', "runs.toml, run 1: train has no option 'outptu'"),
        ('[[run]]\noutput = "b"\n', "runs.toml, run 1: the following arguments are required: DATA"),
        ('[[run]]\ndata = "a"\nno_header = 3\n', "no_header=3 must be true or false"),
        ('[[run]]\ndata = "a"\nscale = "log"\n', "invalid choice: 'log'"),
    ],
)
def test_invalid_file_is_reported_before_any_run(run, tmp_path, text, reason):
    (tmp_path / "runs.toml").write_text(text)
    done = run("batch", "runs.toml")
    assert done.code == 1
    assert reason in done.err


def test_predictions_of_a_batch_are_part_of_the_json_output(run, classes, tmp_path):
    text = '[[run]]\ndata = "train.svm"\noutput = "m.hinge"\n\n[[run]]\ncommand = "predict"\nmodel = "m.hinge"\n'
    (tmp_path / "runs.toml").write_text(text + 'data = "train.svm"\n')
    runs = json.loads(run("batch", "runs.toml", "--json").out)["runs"]
    assert np.array_equal(runs[1]["result"]["labels"], hinge.load("m.hinge").predict(classes[1]))
