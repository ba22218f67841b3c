"""`hinge` as a process: start-up, full disks, closed pipes, signals, and searches that are killed."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hinge

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX")

HINGE = [sys.executable, "-m", "hinge"]


def call(folder, *words, **options):
    return subprocess.run(
        [*HINGE, *map(str, words)], cwd=folder, stderr=subprocess.PIPE, text=True, check=False, **options
    )


def data(folder, n, name="train.svm", d=20):
    """Overlapping classes, on which a fit with a large C takes long."""
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    hinge.io.dump_libsvm(X, np.where(random.random(n) < 0.5, 1, -1), folder / name)
    return name


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_version_takes_a_quarter_of_a_second():
    seconds = []
    for _ in range(3):
        start = children_seconds()
        subprocess.run([*HINGE, "--version"], capture_output=True, check=True)
        seconds.append(children_seconds() - start)  # processor time: other processes do not count
    assert min(seconds) < 0.25


def test_numerical_libraries_are_loaded_by_commands_only():
    calls = ["['train', '--help']", "['completion', 'bash']", "['man']"]
    code = "import sys; from hinge.cli import main; " + "; ".join(f"main({words})" for words in calls)
    heavy = "[name for name in ('numpy', 'scipy', 'sklearn', 'pyarrow') if name in sys.modules]"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print({heavy}, file=sys.stderr)"], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("words", [["--version"], ["train", "--help"], ["predict", "m.hinge", "train.svm"]])
def test_full_standard_output_is_one_message(words, tmp_path):
    data(tmp_path, 40)
    hinge.save(hinge.SVC().fit(*hinge.io.load_libsvm(tmp_path / "train.svm")), tmp_path / "m.hinge")
    with open("/dev/full", "w") as full:
        done = call(tmp_path, *words, stdout=full)
    assert (done.returncode, done.stderr) == (1, "hinge: writing or reading failed: No space left on device\n")


@pytest.fixture
def small_disk():
    """Let every file end after 1000 bytes while the context is active, as a full disk would."""

    @contextlib.contextmanager
    def limited():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.mark.parametrize(
    "words",
    [
        ["train", "train.svm", "-o", "out"],
        ["predict", "m.hinge", "train.svm", "--values", "decision", "-o", "out"],
        ["scale", "train.svm", "-o", "out"],
        ["convert", "train.svm", "out.npz"],
        ["convert", "train.svm", "out.csv"],
        ["convert", "train.svm", "out.parquet"],
        ["convert", "m.hinge", "out.hinge"],
        ["path", "train.svm", "-o", "out"],
        ["grid", "train.svm", "-p", "C=1,2", "-o", "out"],
        ["train", "train.svm", "-e", "LinearSVC", "--memory", "1kB", "-o", "out"],
    ],
    ids=" ".join,
)
def test_full_disk_leaves_no_file(words, run, tmp_path, small_disk):
    data(tmp_path, 200)
    hinge.save(hinge.SVC().fit(*hinge.io.load_libsvm(tmp_path / "train.svm")), tmp_path / "m.hinge")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with small_disk():
        done = run(*words)
    assert (done.code, done.out) == (1, "")
    assert "File too large" in done.err
    assert done.err.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_full_disk_keeps_an_existing_model(run, tmp_path, small_disk):
    data(tmp_path, 200)
    (tmp_path / "m.hinge").write_text("the old one")
    with small_disk():
        assert run("train", "train.svm", "-o", "m.hinge").code == 1
    assert (tmp_path / "m.hinge").read_text() == "the old one"


def test_closed_pipe_is_one_message(tmp_path):
    data(tmp_path, 10_000, d=2)
    X, y = hinge.io.load_libsvm(tmp_path / "train.svm")
    hinge.save(hinge.LinearSVC().fit(X, y), tmp_path / "m.hinge")
    words = ["predict", "m.hinge", "train.svm", "--values", "decision"]
    with subprocess.Popen([*HINGE, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        error = process.stderr.read().decode()
    assert (process.returncode, error) == (1, "hinge: the output was closed before all of it was written\n")


def test_interrupt_during_a_fit_leaves_no_file(tmp_path):
    data(tmp_path, 4000)
    words = ["train", "train.svm", "-p", "C=1e6", "-p", "tol=1e-9", "-p", "gamma=0.01", "-o", "m.hinge"]
    with subprocess.Popen([*HINGE, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_processor_time(process, 3.0)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, b"", b"hinge: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["train.svm"]


def wait_for_processor_time(process, seconds):
    """Wait until a process has used this much processor time: by then it has read its data, also on a busy machine."""
    ticks = os.sysconf("SC_CLK_TCK")
    while process.poll() is None:
        with open(f"/proc/{process.pid}/stat") as file:
            values = file.read().rsplit(")", 1)[1].split()
        if (int(values[11]) + int(values[12])) / ticks > seconds:
            return
        time.sleep(0.02)
    raise AssertionError(f"the process ended too early: {process.stderr.read().decode()}")


def test_killed_search_is_continued(run, tmp_path):
    data(tmp_path, 600)
    words = ["grid", "train.svm", "-p", "C=0.1,1,10", "-p", "gamma=0.001:10:30", "--cv", "3", "--json"]
    command = [*HINGE, *words, "--state", "s.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            record = tmp_path / "s.jsonl"
            if record.exists() and record.read_bytes().count(b"\n") >= 3:
                process.kill()
                break
            time.sleep(0.002)
    assert process.returncode == -signal.SIGKILL
    done = run(*words, "--state", "s.jsonl")
    assert done.code == 0, done.err
    assert "hinge: continuing s.jsonl: " in done.err
    assert json.loads(done.out)["candidates"] == json.loads(run(*words).out)["candidates"]


@pytest.mark.slow
def test_training_takes_at_most_half_as_long_again_as_a_script(tmp_path):
    """Processor time of `hinge train` on 10,000 × 100, compared with a Python program that reads and fits."""
    random = np.random.default_rng(0)
    y = np.where(np.arange(10_000) % 2, 1, -1)
    hinge.io.dump_libsvm(random.normal(size=(10_000, 100)) + 0.1 * y[:, None], y, tmp_path / "a.svm")
    script = (
        "import hinge; X, y = hinge.io.load_libsvm('a.svm', n_jobs=1);"
        "hinge.SVC(n_jobs=1).fit(X.toarray(), y)"
    )
    programs = ["-c", script], ["-m", "hinge", "train", "a.svm", "-j", "1", "-q", "-o", "m.hinge"]
    reference, command = (min(processor_seconds(words, tmp_path) for _ in range(3)) for words in programs)
    assert command <= 1.5 * reference


def processor_seconds(words, folder):
    """Processor time of a Python process."""
    start = children_seconds()
    subprocess.run([sys.executable, *words], cwd=folder, check=True)
    return children_seconds() - start
