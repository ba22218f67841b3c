"""The command `hinge`: version, help, invalid arguments, and the demonstration."""

import re
import subprocess
import sys
from importlib import import_module, metadata

import pytest

import hinge
from hinge.cli import main
from hinge.cli.catalog import COMMANDS

PNG = b"\x89PNG\r\n\x1a\n"


def test_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hinge {hinge.__version__}\n"


def test_module_can_be_run():
    done = subprocess.run([sys.executable, "-m", "hinge", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"hinge {hinge.__version__}\n")


@pytest.mark.parametrize("name", ["hinge", "hinge-svm-train", "hinge-svm-predict", "hinge-svm-scale", "hinge-easy"])
def test_scripts_end_with_the_exit_code_of_the_function(name, capfd):
    (entry,) = metadata.entry_points(group="console_scripts", name=name)
    assert entry.attr == "run_process"
    code = f"import atexit; from {entry.module} import run_process; atexit.register(print, 'end'); run_process()"
    words = ["--invalid"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == import_module(entry.module).main(words) != 0
    assert done.stdout.endswith("end\n")  # exit functions are called
    assert done.stderr == capfd.readouterr().err


def test_processes_wait_for_their_threads():
    code = (
        "import threading, time; from hinge.cli.startup import leave\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print('end'))).start(); leave(3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "end\n")


def test_help_is_shown_without_a_command(capsys):
    assert main([]) == 0
    text = capsys.readouterr().out
    assert all(f"  {command.name} " in text for command in COMMANDS)


@pytest.mark.parametrize("argv", [["--help"], *([command.name, "--help"] for command in COMMANDS)], ids=" ".join)
def test_help_option_succeeds(argv, capsys):
    assert main(argv) == 0
    assert "usage: hinge" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_describes_every_argument(command, capsys):
    assert main([command.name, "--help"]) == 0
    text = capsys.readouterr().out
    for argument in command.arguments():
        assert argument.value_name in text if argument.is_positional else all(name in text for name in argument.names)


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["fly"], "'fly' is not a command"),
        (["trian"], "did you mean 'train'?"),
        (["demo", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["--out", "x"], "unrecognized arguments"),
        (["train"], "required: DATA"),
        (["train", "data.svm"], "pass it with -o FILE"),
        (["train", "data.svm", "-o", "m", "--jobs", "0"], "'0' must be a positive number of threads"),
        (["train", "data.svm", "-o", "m", "--memory", "2XB"], "'2XB' must be a positive number of megabytes"),
        (["train", "data.svm", "-o", "m", "--max-time", "soon"], "'soon' must be a positive number of seconds"),
        (["train", "data.svm", "-o", "m", "-e", "SVX"], "invalid choice: 'SVX'"),
        (["grid", "data.svm", "-p", "C=1"], "no parameter has several values"),
        (["grid", "data.svm", "-p", "C=1,2", "--cv", "1"], "'1' must be an integer of at least 2"),
        (["path", "data.svm", "--model", "m"], "pass --validation FILE or --cv N"),
        (["man", "fly"], "'fly' is not a command"),
    ],
)
def test_invalid_arguments_exit_with_code_2_and_one_message(argv, reason, capsys):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert reason in err
    assert err.startswith("hinge: ")
    assert err.count("\n") == 1
    assert "--help`)" in err


def figures(text, name):
    """Both columns of a row of the printed certificate."""
    return [float(value) for value in re.search(rf"^  {name}  +(\S+) +(\S+)$", text, re.M).groups()]


def test_demo_prints_a_certificate_and_draws_two_figures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "folder"
    assert main(["demo", "--out", str(out)]) == 0
    text = capsys.readouterr().out

    right, total = map(int, re.search(r"\((\d+) of (\d+)\)", text).groups())
    assert right > 0.93 * total
    assert int(re.search(r"support vectors +(\d+)", text)[1]) > 0

    for primal, dual, gap, relative in zip(
        *(figures(text, name) for name in ("primal value", "dual value", "gap", "relative gap")), strict=True
    ):
        assert primal >= dual
        assert gap == pytest.approx(primal - dual, rel=0.01, abs=2e-10)
        assert 0 <= relative < 1e-4
    assert max(figures(text, "KKT violation")) < 1e-5

    pictures = sorted(out.iterdir())
    assert [p.name for p in pictures] == ["convergence.png", "decision-boundary.png"]
    for picture in pictures:
        assert str(picture) in text
        assert picture.read_bytes().startswith(PNG)
        assert picture.stat().st_size > 20_000


def test_demo_without_matplotlib_prints_the_results(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "accuracy" in text
    assert "relative gap" in text
    assert "pip install 'hinge[plot]'" in text
    assert not list(tmp_path.iterdir())


def test_demo_rejects_an_impossible_output_folder_before_training(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("in the way")
    assert main(["demo", "--out", str(file / "folder")]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hinge: ")
    assert str(file) in err


def test_interrupt_exits_with_code_130(monkeypatch, capsys):
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("hinge.cli.commands.demo.run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "hinge: interrupted\n"


def test_unexpected_exception_is_reported_as_an_internal_error(monkeypatch, capsys):
    def broken(arguments):
        raise AssertionError("the invariant")

    monkeypatch.setattr("hinge.cli.commands.demo.run", broken)
    assert main(["demo"]) == 1
    assert "internal error: AssertionError: the invariant; set HINGE_TRACEBACK=1" in capsys.readouterr().err
    monkeypatch.setenv("HINGE_TRACEBACK", "1")
    assert main(["demo"]) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_warnings_are_one_line_each(monkeypatch, capsys):
    import warnings

    def warned(arguments):
        for _ in range(3):
            warnings.warn("the same\n  text", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr("hinge.cli.commands.demo.run", warned)
    assert main(["demo"]) == 0
    assert capsys.readouterr().err == "hinge: warning: the same text\n"
