"""The command line: output, exit codes and error messages."""

import re
import subprocess
import sys
from importlib import metadata

import pytest

import hinge
from hinge.cli import main

PNG = b"\x89PNG\r\n\x1a\n"


def test_version_is_printed(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hinge {hinge.__version__}\n"


def test_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "hinge", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"hinge {hinge.__version__}\n")


def test_console_script_is_the_same_function():
    (entry,) = metadata.entry_points(group="console_scripts", name="hinge")
    assert entry.load() is main


def test_help_is_shown_without_a_command(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["--help"], ["demo", "--help"]])
def test_help_option_exits_with_code_0(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 0
    assert "usage: hinge" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["fly"], ["demo", "--nonsense"], ["--out", "x"]])
def test_unknown_command_or_option_exits_with_code_2(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: hinge" in capsys.readouterr().err


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

    monkeypatch.setattr("hinge.cli.demo.run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "hinge: interrupted\n"
