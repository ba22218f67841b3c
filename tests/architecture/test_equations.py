"""Citations of equations and decisions in the code and the documentation."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MATH = ROOT / "docs" / "math"
PAGES = sorted(set(MATH.rglob("*.md")) - {MATH / "index.md"})
SOURCES = {".py", ".pyi", ".cpp", ".hpp", ".inl", ".h", ".md", ".txt"}

TAG = re.compile(r"\\tag\{(\d+)\}")
TARGET = re.compile(r"^\(eq-(\d+)\)=$", re.MULTILINE)
#: Equation numbers after the name of the pages: docs/math (9), docs/math/linear/problem.md (101), (104)–(106)
CITATION = re.compile(r"docs/math(?:/([\w/-]+)\.md)? ((?:\(\d+\)(?:–|-|, | and )?)+)")
#: Numbers of three digits stand alone in comments: "the gap of both points   (440)". Calls such as f(100) do not match.
BARE = re.compile(r"(?<![\w\])>'\"}])\((\d{3})\)")


def sources(*folders):
    """Return the text files below the given folders, as (path relative to the root, text)."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    hidden = ("_build", "generated", "gallery", "build")
    return [
        (path.relative_to(ROOT), path.read_text(encoding="utf-8"))
        for path in paths
        if path.suffix in SOURCES and path.is_file() and not set(hidden) & set(path.parts[len(ROOT.parts) :])
    ]


def chapter(page):
    """Return the name of a page in the index, such as "linear/newton"."""
    return page.relative_to(MATH).with_suffix("").as_posix()


def equations():
    """Return {number: chapters that define it}; every `(eq-N)=` target is a definition."""
    defined = {}
    for page in PAGES:
        for number in TARGET.findall(page.read_text(encoding="utf-8")):
            defined.setdefault(int(number), []).append(chapter(page))
    return defined


def expand(ranges):
    """Return the set of numbers in text such as "(101)–(107), (127)"."""
    numbers = set()
    for first, last in re.findall(r"\((\d+)\)(?:–\((\d+)\))?", ranges):
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def test_every_equation_is_defined_once():
    repeated = {number: pages for number, pages in equations().items() if len(pages) > 1}
    assert not repeated


@pytest.mark.parametrize("page", PAGES, ids=chapter)
def test_targets_stand_before_their_equations_or_tables(page):
    text = page.read_text(encoding="utf-8")
    tables = re.findall(r"^\(eq-(\d+)\)=\n\|", text, re.MULTILINE)
    assert Counter(TAG.findall(text)) + Counter(tables) == Counter(TARGET.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=chapter)
def test_the_page_and_the_index_state_its_equation_numbers(page):
    text = page.read_text(encoding="utf-8")
    numbers = {int(number) for number in TARGET.findall(text)}
    heading = re.search(r"^Equations? ([^.]*)\.$", text, re.MULTILINE)
    row = re.search(rf"^\|.*\({chapter(page)}\.md\).*\| (.*) \|$", (MATH / "index.md").read_text("utf-8"), re.MULTILINE)
    assert heading is not None
    assert expand(heading[1]) == numbers
    assert row is not None
    assert expand(row[1]) == numbers


def test_cited_equations_exist():
    defined = equations()
    missing = []
    for path, text in sources("src", "cpp", "tests", "benchmarks", "examples", "docs"):
        for name, numbers in CITATION.findall(text):
            for number in map(int, re.findall(r"\d+", numbers)):
                if number not in defined or (name and name not in defined[number]):
                    missing.append(f"{path}: docs/math{'/' + name if name else ''} ({number})")
        if path.suffix not in {".md", ".txt"}:
            missing += [f"{path}: ({number})" for number in BARE.findall(text) if int(number) not in defined]
        if "docs/" + "math.md" in text:
            missing.append(f"{path}: cites the pages as docs/" + "math.md")
    assert not missing, missing


def test_cited_decisions_and_notes_exist():
    missing = []
    for path, text in sources("src", "cpp", "tests", "benchmarks", "examples", "docs"):
        for name in re.findall(r"docs/((?:decisions|notes)/[\w.-]*\w)", text):
            if not (ROOT / "docs" / name).is_file():
                missing.append(f"{path}: docs/{name}")
        missing += [f"{path}: {name}" for name in re.findall(r"[Dd]ecision \d+", text)]
    assert not missing, missing


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "decisions").glob("*.md")), ids=lambda page: page.stem)
def test_decisions_have_the_same_sections(page):
    if page.stem == "index":
        pytest.skip("the index is a list")
    headings = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == ["Context", "Decision", "Consequences", "Evidence"]
