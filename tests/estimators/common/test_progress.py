"""verbose=True shows one progress line on stderr."""

import contextlib
import gzip
import io
import re
import sys
import types

import numpy as np
import pytest

import hinge
from hinge.control import Counter
from hinge.estimators.common import progress
from hinge.estimators.common.progress import PathProgress, ProgressLine, describe, describe_count
from hinge.selection import grid, leave_one_out, nu_grid, path_search


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Replacement of the module time."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def snapshot(iteration=10, gap=0.5, primal=100.5, dual=99.5):
    return {
        "iteration": iteration,
        "seconds": 0.25,
        "violation": 0.125,
        "primal": primal,
        "dual": dual,
        "gap": gap,
        "active": 42,
    }


def run(stream, clock, snapshots, step, **kwargs):
    with contextlib.redirect_stderr(stream), ProgressLine("SVC", **kwargs) as line:
        for s in snapshots:
            clock.now += step
            line.update(s)
    return stream.getvalue()


def plain(text):
    """Text without terminal control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_line_states_iteration_time_violation_and_relative_gap():
    text = describe("SVC", snapshot(iteration=1234))
    assert "1,234 iterations" in text
    assert "0.25 s" in text
    assert "violation 1.25e-01" in text
    assert "relative gap 5.00e-03" in text
    assert "active 42" in text


def test_infinite_gap_is_shown():
    assert "relative gap inf" in describe("SVC", snapshot(gap=float("inf"), dual=-1.0))


def test_log_has_a_line_every_two_seconds_and_the_last_one(clock):
    lines = run(io.StringIO(), clock, [snapshot(i) for i in range(1, 51)], 0.125).splitlines()
    assert [int(line.split()[1]) for line in lines] == [16, 32, 48, 50]


def test_short_fit_writes_one_line_to_a_log(clock):
    text = run(io.StringIO(), clock, [snapshot(1), snapshot(2)], 0.01)
    assert text.count("\n") == 1
    assert "        2 iterations" in text


@pytest.mark.parametrize("rich", [True, False], ids=["rich", "plain"])
def test_terminal_shows_one_line_that_is_rewritten(clock, monkeypatch, rich):
    if rich:
        pytest.importorskip("rich")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "140")
    else:
        monkeypatch.setattr(progress, "Console", None)
    text = plain(run(Terminal(), clock, [snapshot(1), snapshot(2), snapshot(3)], 1.0))
    assert text.count("\n") <= 1
    assert [int(i) for i in re.findall(r"(\d+) iterations", text)][-1] == 3
    assert text.index("1 iterations") < text.index("2 iterations")


def test_shorter_line_overwrites_a_longer_one(clock, monkeypatch):
    monkeypatch.setattr(progress, "Console", None)
    text = run(Terminal(), clock, [snapshot(gap=-1e-300), snapshot(gap=0.5)], 1.0)
    first, second = text.split("\r")[1:3]
    assert len(second) >= len(first)


@pytest.mark.parametrize("stream", [io.StringIO, Terminal], ids=["log", "terminal"])
def test_no_output_without_snapshots(clock, stream):
    assert run(stream(), clock, [], 1.0) == ""


@pytest.mark.parametrize("stream", [io.StringIO, Terminal], ids=["log", "terminal"])
def test_silent_unless_verbose(clock, stream):
    assert run(stream(), clock, [snapshot(i) for i in range(5)], 10.0, verbose=False) == ""


def test_stdout_is_not_used(clock, capfd):
    with ProgressLine("SVC") as line:
        clock.now += 10
        line.update(snapshot())
    out, err = capfd.readouterr()
    assert out == ""
    assert "relative gap" in err


def test_interrupted_fit_shows_its_last_state_and_ends_the_line(clock, monkeypatch):
    monkeypatch.setattr(progress, "Console", None)
    stream = Terminal()
    with contextlib.redirect_stderr(stream), pytest.raises(KeyboardInterrupt), ProgressLine("SVC") as line:
        line.update(snapshot(7))
        raise KeyboardInterrupt
    assert "7 iterations" in stream.getvalue()
    assert stream.getvalue().endswith("\n")


def test_missing_stderr_is_not_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with ProgressLine("SVC") as line:
        line.update(snapshot())


def test_path_progress_is_one_line(monkeypatch):
    monkeypatch.setattr(progress, "Console", None)
    stream = Terminal()
    with contextlib.redirect_stderr(stream), hinge.PathProgress("C-path") as line:
        path = hinge.regularization_path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], gamma=1.0, progress=line)
        line(snapshot(iteration=1234))  # the path is too short to call it
    assert path.status == hinge.Status.SOLVED
    assert stream.getvalue().count("\n") == 1
    assert re.search(r"C-path  at 100\.5 +1,234 events .* margin 42", stream.getvalue())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_linear_estimator_of_several_classes_is_verbose(n_jobs, capfd):
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [1.0, 3.0], [4.0, 4.0]]
    hinge.LinearSVC(verbose=1, n_jobs=n_jobs).fit(X, [0, 1, 2, 0, 1, 2])
    assert "LinearSVC" in capfd.readouterr().err


# ---- operations with a known number of steps


def test_a_counter_states_the_remaining_time_and_a_note():
    text = describe_count("search", {"done": 30, "total": 120, "unit": "fits", "seconds": 60.0, "note": "best 0.9"})
    assert text == "search  30 of 120 fits    60.00 s  about 3 min left  best 0.9"
    finished = describe("search", {"done": 120, "total": 120, "unit": "fits", "seconds": 90.0, "note": ""})
    assert finished == "search  120 of 120 fits    90.00 s"


def test_a_counter_reports_seldom_and_always_the_last_step():
    seen = []
    count = Counter(seen.append, 10_000, "steps")
    assert all(count.advance() for _ in range(10_000))
    assert seen[-1]["done"] == 10_000
    assert len(seen) < 100
    assert Counter(None, 3, "steps").advance()
    assert not Counter(lambda _: False, 1, "steps").advance()


class Shell:
    kernel = object()


class Handle:
    def __init__(self, contents):
        self.contents = contents

    def update(self, content, raw):
        assert raw
        self.contents.append(content["text/plain"])


def test_a_notebook_has_one_output_that_is_updated(clock, monkeypatch):
    shown, outputs = [], []

    def display(content, raw, display_id):
        assert raw
        assert display_id
        outputs.append(content)
        shown.append(content["text/plain"])
        return Handle(shown)

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = Shell
    ipython.display = types.SimpleNamespace(display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    stream = io.StringIO()
    assert run(stream, clock, [snapshot(i) for i in range(1, 6)], 0.3) == ""
    assert len(outputs) == 1
    assert [int(line.split()[1]) for line in shown] == [1, 2, 3, 4, 5, 5]
    ipython.get_ipython = lambda: None  # a program that imports IPython
    assert run(stream, clock, [snapshot(1)], 0.3) != ""


X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.where(X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60) > 0, 1, -1)

#: Operations that take a function `progress`.
WITH_FUNCTION = {
    "regularization_path": lambda p: hinge.regularization_path(X, Y, progress=p),
    "quadratic_loss_path": lambda p: hinge.quadratic_loss_path(X, Y, lambda_min=1e-3, progress=p),
    "approximate_path": lambda p: hinge.approximate_path(X, Y, progress=p),
    "one_vs_one_paths": lambda p: hinge.one_vs_one_paths(X, np.arange(60) % 3, progress=p),
    "lp_path": lambda p: hinge.lp_path(X, Y, C_max=1.0, progress=p),
    "lasso_path": lambda p: hinge.lasso_path(X, X[:, 0] + X[:, 1] ** 2, progress=p),
    "ranking_path": lambda p: hinge.ranking_path(X, Y + 1, np.repeat(np.arange(6), 10), C=0.1, progress=p),
    "best": lambda p: hinge.regularization_path(X, Y).best(X, Y, progress=p),
    "best of regression": lambda p: hinge.regularization_path(X, X[:, 0], task="regression").best(X, Y, progress=p),
    "best of pairs": lambda p: hinge.one_vs_one_paths(X, np.arange(60) % 3).best(X, np.arange(60) % 3, progress=p),
    "best of quadratic losses": lambda p: hinge.quadratic_loss_path(X, Y, lambda_min=0.1).best(X, Y, progress=p),
    "best ranking": lambda p: hinge.ranking_path(X, Y + 1, C=0.1).best(X, Y + 1, progress=p),
    "low-rank approximation": lambda p: hinge.lowrank.SGMA(rank=5).fit(hinge.kernels.RBF(1.0), X, progress=p),
}


@pytest.mark.parametrize("name", WITH_FUNCTION)
def test_paths_and_approximations_report_to_a_function(name, monkeypatch):
    for module in ("hinge.control", "hinge.paths.quadratic_loss.tracking"):
        monkeypatch.setattr(f"{module}.REPORT_PERIOD", 0.0)
    seen, stream = [], io.StringIO()
    WITH_FUNCTION[name](seen.append)
    if name not in ("regularization_path", "one_vs_one_paths", "lasso_path", "ranking_path"):  # the core reports seldom
        assert seen
    with contextlib.redirect_stderr(stream), PathProgress("it") as line:
        WITH_FUNCTION[name](line)
        line({"iteration": 3, "primal": 0.5, "seconds": 1.0, "violation": 1e-12, "active": 4})
    assert stream.getvalue().startswith("it  ")


#: Operations with `verbose`.
VERBOSE = {
    "grid": (lambda v: grid(X, Y, C=[0.1, 1.0], gamma=[0.1, 1.0], cv=3, verbose=v), "12 of 12 fits"),
    "linear grid": (
        lambda v: grid(X, Y, C=[0.1, 1.0], estimator=hinge.LinearSVC(), cv=3, verbose=v), "6 of 6 fits"),
    "nu_grid": (lambda v: nu_grid(X, Y, nu=[0.4, 0.5], cv=3, verbose=v), "6 of 6 fits"),
    "SVCCV": (lambda v: hinge.SVCCV(Cs=2, gammas=2, cv=3, verbose=v).fit(X, Y), "12 of 12 fits"),
    "path_search": (lambda v: path_search(X, Y, gamma=[0.1, 1.0], cv=3, verbose=v), "6 of 6 paths"),
    "leave_one_out": (lambda v: leave_one_out(X, Y, verbose=v), "left out"),
    "LowRankSVC": (lambda v: hinge.LowRankSVC(n_basis=20, verbose=v).fit(X, Y), "60 of 60 rows"),
    "low-rank solver": (
        lambda v: hinge.SVC(solver="low_rank_interior_point", verbose=v).fit(X, Y), "iterations"),
}  # fmt: skip


@pytest.mark.parametrize("name", VERBOSE)
def test_verbose_operations_show_a_line(name, capsys):
    operation, expected = VERBOSE[name]
    operation(False)
    assert capsys.readouterr() == ("", "")
    operation(True)
    out, err = capsys.readouterr()
    assert out == ""
    assert expected in err
    if "fits" in expected:
        assert re.search(r"best 0\.\d+ with (C|nu)=", err)


def test_readers_show_the_megabytes(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(20_000, 8))
    labels = np.ones(len(rows))
    hinge.io.dump_libsvm(rows, labels, tmp_path / "data.txt")
    with open(tmp_path / "data.txt", "rb") as text, gzip.open(tmp_path / "data.txt.gz", "wb") as packed:
        packed.write(text.read())
    for name in ("data.txt", "data.txt.gz"):
        expected = hinge.io.load_libsvm(tmp_path / name)
        assert capsys.readouterr().err == ""
        found = hinge.io.load_libsvm(tmp_path / name, verbose=True)
        size = -(-(tmp_path / name).stat().st_size // 1_000_000)
        assert f"reading {name}  {size} of {size} MB" in capsys.readouterr().err
        np.testing.assert_array_equal(found[0].toarray(), expected[0].toarray())
    pytest.importorskip("pyarrow")
    hinge.io.dump_table(rows, labels, tmp_path / "data.csv")
    plain_table = hinge.io.load_table(tmp_path / "data.csv", target="target")
    assert capsys.readouterr().err == ""
    table = hinge.io.load_table(tmp_path / "data.csv", target="target", verbose=True)
    assert "reading data.csv" in capsys.readouterr().err
    np.testing.assert_array_equal(table.X, plain_table.X)
