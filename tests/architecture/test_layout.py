"""No directory has too many source files."""

from collections import Counter

import pytest

from architecture.sources import ROOT, tracked_files

MAX_FILES = 16  # largest number of source files in one directory; if it has more, divide it into sub-packages by family
SOURCES = {".py", ".cpp", ".hpp", ".inl"}


@pytest.mark.parametrize("top", ["src/hinge", "cpp", "tests", "benchmarks", "examples"])
def test_directories_have_few_source_files(top):
    folder = ROOT / top
    counts = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in tracked_files()
        if path.is_relative_to(folder) and path.suffix in SOURCES
    )
    assert counts
    assert not {name: count for name, count in counts.items() if count > MAX_FILES}
