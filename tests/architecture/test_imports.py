"""The shape of the library, as tests: who may import whom, and what may not stand in a file."""

import ast
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import hinge

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "src" / "hinge"


def tracked_files():
    """The files of the repository: what git tracks, and what it would if it were added."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def lines_that_match(pattern, files):
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a data file
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def test_rooms_import_downwards_only(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    failed = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert not failed, capsys.readouterr().out


def front_door_imports(tree, rooms):
    """Lines that import the package itself, or a name from it that is not a room."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names} & {"hinge"}
        elif isinstance(node, ast.ImportFrom) and node.module == "hinge":
            names = {alias.name for alias in node.names} - rooms
        else:
            names = set()
        yield from ((node.lineno, name) for name in sorted(names))


def test_no_room_but_the_command_line_imports_the_front_door():
    """`import hinge` or `from hinge import SVC` inside a room would be a way around the layers."""
    rooms = {path.stem for path in ROOMS.iterdir()}
    inside = [
        path
        for path in sorted(ROOMS.rglob("*.py"))
        if path.relative_to(ROOMS).parts[0] not in ("cli", "__init__.py", "__main__.py")
    ]
    found = {path: list(front_door_imports(ast.parse(path.read_text("utf-8")), rooms)) for path in inside}
    assert not {path: lines for path, lines in found.items() if lines}


def test_the_core_knows_no_python():
    core = [p for folder in ("src", "include") for p in (ROOT / "cpp" / folder).rglob("*") if p.is_file()]
    assert core
    assert not lines_that_match(re.compile(r"#include\s*[<\"](Python\.h|nanobind|pybind)"), core)


def test_nothing_prints_from_cpp():
    printing = re.compile(r"std::(cout|cerr|clog)|(?<![\w])f?printf\s*\(|(?<![\w])puts\s*\(")
    files = [
        p for folder in ("src", "include", "bind") for p in (ROOT / "cpp" / folder).rglob("*") if p.is_file()
    ]
    assert not lines_that_match(printing, files)


def test_files_name_no_machine():
    """No path of somebody's disk and no package registry: the library builds anywhere."""
    folders = "|".join(("work", "root", "home", "opt", "tmp", "Users", "mnt"))
    hosts = "|".join(("pypi" + r"\.org", "python" + "hosted", r"\bdeb\." + "debian", "conda" + r"\.anaconda"))
    pattern = re.compile(rf"(?<![\w./$}})])/({folders})/|{hosts}")
    assert not lines_that_match(pattern, tracked_files())


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hinge.__version__ == project["version"] == metadata.version("hinge")


def test_changelog_knows_the_version():
    assert f"[{hinge.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_public_names_exist():
    assert len(set(hinge.__all__)) == len(hinge.__all__)
    for name in hinge.__all__:
        assert hasattr(hinge, name), name
