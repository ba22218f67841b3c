"""Import rules: packages import downwards only, and the C++ core does not know Python."""

import ast
import importlib.util
import re

import pytest
from importlinter.cli import lint_imports

from architecture.sources import PACKAGE, ROOT, matching_lines


def test_packages_import_downwards_only(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    failed = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert not failed, capsys.readouterr().out


def top_level_imports(tree, packages):
    """Lines that import `hinge` itself, or a name from it that is not a package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names} & {"hinge"}
        elif isinstance(node, ast.ImportFrom) and node.module == "hinge":
            names = {alias.name for alias in node.names} - packages
        else:
            names = set()
        yield from ((node.lineno, name) for name in sorted(names))


def test_only_the_command_line_imports_the_top_level_package():
    """`import hinge` or `from hinge import SVC` inside a package would bypass the import order."""
    packages = {path.stem for path in PACKAGE.iterdir()}
    modules = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "__init__.py", "__main__.py")
    ]
    imports = {path: list(top_level_imports(ast.parse(path.read_text("utf-8")), packages)) for path in modules}
    assert not {path: lines for path, lines in imports.items() if lines}


def exists(module, name):
    loaded = importlib.import_module(module)
    is_package = hasattr(loaded, "__path__")
    return hasattr(loaded, name) or (is_package and importlib.util.find_spec(f"{module}.{name}") is not None)


def missing_imports(tree):
    """Modules and names that a file imports from hinge and that do not exist."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            wanted = [(node.module, alias.name) for alias in node.names]
        else:
            continue
        for module, name in wanted:
            if module.split(".")[0] != "hinge":
                continue
            if importlib.util.find_spec(module) is None:
                yield module
            elif name is not None and not exists(module, name):
                yield f"{module}.{name}"


@pytest.mark.parametrize("folder", ["benchmarks", "examples"])
def test_scripts_import_names_that_exist(folder):
    """No other test runs these scripts."""
    files = sorted((ROOT / folder).rglob("*.py"))
    missing = {str(path): list(missing_imports(ast.parse(path.read_text("utf-8")))) for path in files}
    assert files
    assert not {path: names for path, names in missing.items() if names}


def test_the_core_includes_no_python_header():
    core = [p for folder in ("src", "include") for p in (ROOT / "cpp" / folder).rglob("*") if p.is_file()]
    assert core
    assert not matching_lines(re.compile(r"#include\s*[<\"](Python\.h|nanobind|pybind)"), core)


def test_cpp_does_not_print():
    printing = re.compile(r"std::(cout|cerr|clog)|(?<![\w])f?printf\s*\(|(?<![\w])puts\s*\(")
    files = [p for folder in ("src", "include", "bind") for p in (ROOT / "cpp" / folder).rglob("*") if p.is_file()]
    assert not matching_lines(printing, files)
