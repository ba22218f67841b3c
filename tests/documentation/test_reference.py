"""Every public name of docs/api has an example, and the examples of all docstrings are correct."""

import doctest
import importlib
import inspect
import pkgutil
import re

import matplotlib as mpl
import pytest

import hinge
from architecture.sources import ROOT

mpl.use("Agg")

import matplotlib.pyplot as plt

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def public_names():
    """Return (module, name) for all names in the tables of docs/api/index.md."""
    names, module = [], None
    for line in (ROOT / "docs" / "api" / "index.md").read_text("utf-8").splitlines():
        if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.fullmatch(r"   (\w+)", line):
            names.append((module, match[1]))
    return names


def source_modules():
    """Names of all modules that contain an example."""
    for module in pkgutil.walk_packages(hinge.__path__, "hinge."):
        path = ROOT / "src" / (module.name.replace(".", "/") + ("/__init__.py" if module.ispkg else ".py"))
        if path.is_file() and ">>>" in path.read_text("utf-8"):
            yield module.name


def test_every_public_name_has_an_example():
    names = public_names()
    assert len(names) > 150
    missing = [
        f"{module}.{name}" for module, name in names
        if ">>>" not in (inspect.getdoc(getattr(importlib.import_module(module), name)) or "")
    ]  # fmt: skip
    assert not missing


@pytest.mark.parametrize("name", sorted(source_modules()))
def test_examples_are_correct(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    plt.close("all")
    assert result.attempted
    assert not result.failed
