"""Completion scripts and manual pages contain every command and option, and are valid."""

import os
import shutil
import subprocess

import pytest

from hinge.cli.catalog import COMMANDS
from hinge.cli.completion import completion_script
from hinge.cli.manual import manual_pages

OPTIONS = [(c, a) for c in COMMANDS for a in c.arguments() if not a.is_positional]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_names_of_arguments_are_unique(command):
    names = [name for argument in command.arguments() for name in argument.names]
    keys = [argument.key for argument in command.arguments()]
    assert len(set(names)) == len(names)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_have_all_options(shell):
    script = completion_script(shell)
    for _, argument in OPTIONS:
        for name in argument.names:
            assert (f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name.lstrip("-")) in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(completion_script(shell))
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def bash_completions(*words):
    """Completions of the current word in bash."""
    line = " ".join(words)
    code = completion_script("bash") + (
        f'COMP_WORDS=({" ".join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; COMP_LINE={line!r}; _hinge; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("hinge", "tr"), ["train"]),
        (("hinge", "train", "--max"), ["--max-time"]),
        (("hinge", "train", "data.svm", "-e", "Linear"), ["LinearSVC", "LinearSVR", "LinearOneClassSVM"]),
        (("hinge", "train", "--scale", "m"), ["minmax", "maxabs"]),
        (("hinge", "completion", ""), ["bash", "zsh", "fish"]),
        (("hinge", "man", "ev"), ["evaluate"]),
    ],
)
def test_bash_completes_commands_options_and_values(words, expected):
    assert bash_completions(*words) == expected


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_manual_page_describes_every_argument(command):
    page = manual_pages()[f"hinge-{command.name}.1"]
    for argument in command.arguments():
        for name in argument.names if not argument.is_positional else [argument.value_name]:
            assert name.replace("-", "\\-") in page


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_manual_pages_are_valid(tmp_path):
    for name, text in manual_pages().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = ["man", "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", *map(str, sorted(tmp_path.iterdir()))]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert done.stderr == ""


def test_manual_pages_are_written_to_a_directory(run, tmp_path):
    done = run("man", "--out", "pages")
    assert done.code == 0
    assert {path.name for path in (tmp_path / "pages").iterdir()} == set(manual_pages())
    assert run("man").out == manual_pages()["hinge.1"]
    assert run("man", "train").out == manual_pages()["hinge-train.1"]
