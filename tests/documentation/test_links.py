"""Relative links of the documentation and of the README lead to files of the repository or to pages of the gallery."""

import re

import pytest

from architecture.sources import ROOT, tracked_files

LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
PAGES = [path for path in tracked_files() if path.suffix == ".md" and path.is_relative_to(ROOT / "docs")]
PAGES += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]


def exists(target):
    """Whether a link target exists; pages of the gallery are generated from scripts in examples."""
    gallery = ROOT / "docs" / "gallery"
    if target.is_relative_to(gallery):
        page = target.relative_to(gallery)
        source = ROOT / "examples" / page
        return source.with_suffix(".py").is_file() if page.stem != "index" else source.parent.is_dir()
    return target.exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_have_a_target(page):
    links = [link for link in LINK.findall(page.read_text("utf-8")) if not re.match(r"[a-z]+:", link)]
    broken = [link for link in links if not exists((page.parent / link).resolve())]
    assert not broken
