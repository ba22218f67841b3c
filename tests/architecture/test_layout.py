"""Directories have few source files, and files have few lines."""

from collections import Counter

import pytest

from architecture.sources import ROOT, tracked_files

MAX_FILES = 16  # largest number of source files in one directory; if it has more, divide it into sub-packages by family
MAX_LINES = 400
SOURCES = {".py", ".cpp", ".hpp", ".inl"}
FOLDERS = ("src/hinge", "cpp", "tests", "benchmarks", "examples")

#: Reasons of files with more lines.
LONG_FILES = {
    "cpp/src/certificate/bounds.cpp": "one class: the bounds share its arrays, and rows with common variables",
    "cpp/src/linear/descent/descent.cpp": "one class whose loops must be inlined into each other",
    "cpp/src/smo/smo.cpp": "one class: the steps of the main loop share its arrays",
    "cpp/src/working_set/working_set.cpp": "one class: the steps of the outer loop share its arrays",
    "src/hinge/cli/catalog.py": "a table of all commands and their options",
    "src/hinge/estimators/kernel/classification.py": "base classes of kernel classifiers, parameters of SVC",
    "src/hinge/estimators/online/classification.py": "two estimators; docstrings and constructors of 15 parameters",
    "src/hinge/paths/regularization.py": "five path functions with documented parameters",
    "tests/reference/exact/models.py": "the convex programs of all estimators",
}


def source_files(top):
    folder = ROOT / top
    return [path for path in tracked_files() if path.is_relative_to(folder) and path.suffix in SOURCES]


@pytest.mark.parametrize("top", FOLDERS)
def test_directories_have_few_source_files(top):
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in source_files(top))
    assert counts
    assert not {name: count for name, count in counts.items() if count > MAX_FILES}


def test_chapters_of_the_mathematics_are_in_directories():
    pages = [path for path in tracked_files() if path.parent == ROOT / "docs" / "math"]
    assert [path.name for path in pages] == ["index.md"]


def test_files_have_few_lines():
    files = [path for top in FOLDERS for path in source_files(top)]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in files}
    too_long = {name for name, lines in lengths.items() if lines > MAX_LINES}
    assert too_long <= set(LONG_FILES)
