"""The scripts of the gallery have a title and text, and run without warnings or output on standard error."""

import ast
import runpy
import warnings

import matplotlib as mpl
import pytest

from architecture.sources import ROOT

mpl.use("Agg")

import matplotlib.pyplot as plt

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
FOLDERS = sorted({script.parent for script in SCRIPTS})
MIN_SCRIPTS = 20


def name_of(path):
    return path.relative_to(EXAMPLES).as_posix()


def test_the_gallery_has_enough_examples_and_starts_with_the_decision_boundary(monkeypatch):
    assert len(SCRIPTS) >= MIN_SCRIPTS
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    import gallery_order

    names = [script.name for script in SCRIPTS if script.parent == EXAMPLES]
    assert min(names, key=gallery_order.ExampleOrder(EXAMPLES)) == "plot_decision_boundary.py"
    sections = [folder.name for folder in FOLDERS if folder != EXAMPLES]
    assert set(gallery_order.SECTIONS) <= set(sections)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_folders_have_a_title_and_text(folder):
    title, rule, *text = (folder / "GALLERY_HEADER.rst").read_text("utf-8").splitlines()
    assert title
    assert rule == "=" * len(title)
    assert any(text)


@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_scripts_have_a_title_text_and_a_plot(script):
    source = script.read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(source))
    title, rule, blank, *text = docstring.splitlines()
    assert script.name.startswith("plot_")  # sphinx-gallery runs only these
    assert rule == "=" * len(title)
    assert not blank
    assert len(" ".join(text).split()) >= 10
    assert "# %%" in source


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=name_of)
def test_scripts_run_without_warnings(script, tmp_path, monkeypatch, capfd):
    """The working directory is empty, so that no example depends on files outside of the repository."""
    monkeypatch.chdir(tmp_path)
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()
    plt.close("all")
    assert capfd.readouterr().err == ""
