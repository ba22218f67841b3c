"""Numbers of threads agree with joblib, which is consulted only if it is loaded."""

import os
import subprocess
import sys

import joblib
import pytest

from hinge import threads


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 7, -1, -2, -3, -100])
@pytest.mark.parametrize("limit", [None, "1", "3"])
def test_numbers_are_those_of_joblib(n_jobs, limit, monkeypatch):
    if limit is not None:
        monkeypatch.setenv("LOKY_MAX_CPU_COUNT", limit)
    expected = joblib.effective_n_jobs(n_jobs)
    assert threads.effective_n_jobs(n_jobs) == expected
    monkeypatch.delitem(sys.modules, "joblib")
    assert threads.effective_n_jobs(n_jobs) == expected
    assert "joblib" not in sys.modules
    assert threads.processors() == joblib.cpu_count()


def test_configuration_of_joblib_is_respected():
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert threads.effective_n_jobs(None) == 3


def test_zero_is_an_error(monkeypatch):
    monkeypatch.delitem(sys.modules, "joblib")
    with pytest.raises(ValueError, match="n_jobs=0"):
        threads.effective_n_jobs(0)


@pytest.mark.parametrize(
    ("text", "expected"), [("max 100000", 8), ("150000 100000\n", 2), ("50000 100000", 1), ("-1 100000", 8), ("", 8)]
)
def test_limit_of_a_control_group(text, expected, tmp_path, monkeypatch):
    (tmp_path / "cpu.max").write_text(text)
    monkeypatch.setattr(threads, "CPU_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(threads, "OLD_CPU_LIMIT", (tmp_path / "none", tmp_path / "none"))
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert threads.processors() == expected


def test_limit_in_the_first_version_of_control_groups(tmp_path, monkeypatch):
    names = tmp_path / "quota", tmp_path / "period"
    names[0].write_text("300000\n")
    names[1].write_text("100000\n")
    monkeypatch.setattr(threads, "CPU_LIMIT", tmp_path / "none")
    monkeypatch.setattr(threads, "OLD_CPU_LIMIT", names)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert threads.processors() == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs sched_setaffinity")
def test_affinity_limits_the_threads():
    one = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    code = f"import os; {one}; from hinge.threads import effective_n_jobs as f; print(f(-1))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "1\n"
