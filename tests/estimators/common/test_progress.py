"""verbose=True shows one progress line on stderr."""

import contextlib
import io
import re
import sys

import pytest

import hinge
from hinge.estimators.common import progress
from hinge.estimators.common.progress import ProgressLine, describe


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
