"""The code of the how-to guides runs from the top to the bottom of a page."""

import re
import warnings

import matplotlib as mpl
import pytest

from architecture.sources import ROOT

mpl.use("Agg")

import matplotlib.pyplot as plt

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "index.md"], ids=lambda page: page.stem)
def test_code_runs(page, tmp_path, monkeypatch):
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in blocks:
            exec(compile(block, page.name, "exec"), namespace)
    plt.close("all")


def test_index_lists_every_page():
    index = (ROOT / "docs" / "how-to" / "index.md").read_text("utf-8")
    assert all(f"]({page.name})" in index for page in PAGES if page.name != "index.md")
