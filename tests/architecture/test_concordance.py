"""The concordance with the literature: names, tests and files exist, and no entry is empty without a remark."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "concordance.md").read_text(encoding="utf-8")
HEADER = ["item", "subject", "name", "test", "figure, benchmark or remark"]


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


ROWS = [
    row for line in PAGE.splitlines() if line.startswith("|")
    if (row := cells(line)) != HEADER and set(row) != {"---"}
]  # fmt: skip


#: Heading of each document; its equations, as the prefix, the first and the last of their numbers; its figures, tables
#: and algorithms; and its statements.
DOCUMENTS = {
    "Learning with Kernels": (
        [("10.", 1, 148)],
        {"Fig.": ("10.", 1, 7), "Table": ("10.", 1, 3), "Algorithm": ("10.", 1, 6)},
        ["Prop. 10.1", "Th. 10.2", "Lemma 10.3", "Prop. 10.4", "Th. 10.5", "Lemma 10.6", "Th. 10.7", "Prop. 10.8"],
    ),
    "SMO supplement": ([("", 1, 32)], {}, []),
    "Parametric optimization": (
        [("2.", 1, 13), ("3.", 1, 19), ("4.", 1, 38), ("5.", 1, 25), ("A.", 1, 2), ("C.", 1, 4)],
        {"Fig.": [("2.", 1, 2), ("3.", 1, 19), ("4.", 1, 17), ("5.", 1, 6), ("C.", 1, 2)],
         "Table": [("3.", 1, 1), ("4.", 1, 2), ("5.", 1, 10)]},
        [],
    ),
    "support vector regression": (
        [("", 1, 93)],
        {"Fig.": ("", 1, 5), "Table": ("", 1, 2), "Algorithm": ("", 1, 1), "Th.": [("", 2, 2), ("", 5, 9)]},
        ["Cor. 3", "Prop. 1", "Remark 10"],
    ),
    "ν-SVMs": ([("", 1, 91)], {"Fig.": ("", 1, 8), "Table": ("", 1, 2), "Prop.": ("", 1, 5)}, []),
}  # fmt: skip


def items_of(heading):
    """The first cells of the rows of a document."""
    section = next(part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE) if heading in part.split("\n")[0])
    return [cells(line)[0] for line in section.splitlines() if line.startswith("|")]


def numbers_in(text):
    """Numbers such as 10.3, C.1 or 12 of a list like "10.1, 10.3–10.5"; ranges are expanded."""
    found = set()
    for low, high in re.findall(r"((?:[A-Z\d]+\.)?\d+)(?:–((?:[A-Z\d]+\.)?\d+))?", text):
        prefix, first = low.rpartition(".")[::2]
        last = (high or low).rpartition(".")[2]
        found |= {f"{prefix}.{n}" if prefix else str(n) for n in range(int(first), int(last) + 1)}
    return found


def labelled(item, label):
    """The numbers after a label, up to the next label: "Fig. 5.2, 5.3, Table 5.1"."""
    text = re.sub(rf"\b{re.escape(label.rstrip('.'))}s\b", label, item)
    pattern = rf"{re.escape(label)} ((?:(?:[A-Z]\.|\d+\.)?\d+(?:–(?:[A-Z]\.|\d+\.)?\d+)?(?:, )?)+)"
    return set().union(*(numbers_in(match) for match in re.findall(pattern, text)))


def equations_of(item):
    """Equation numbers, in parentheses: "(10.3)–(10.5), (10.7)"."""
    spans = re.findall(r"\(((?:[A-Z\d]+\.)?\d+)\)(?:–\(((?:[A-Z\d]+\.)?\d+)\))?", item)
    return set().union(*(numbers_in(f"{low}–{high}" if high else low) for low, high in spans))


def expected(spans):
    return {f"{prefix}{n}" for prefix, low, high in spans for n in range(low, high + 1)}


@pytest.mark.parametrize("heading", DOCUMENTS)
def test_every_numbered_item_of_the_documents_has_an_entry(heading):
    equations, labels, statements = DOCUMENTS[heading]
    items = items_of(heading)
    missing = expected(equations) - set().union(*map(equations_of, items))
    assert not missing, f"equations without an entry: {sorted(missing)}"
    for label, spans in labels.items():
        spans = spans if isinstance(spans, list) else [spans]
        missing = expected(spans) - set().union(*(labelled(item, label) for item in items))
        assert not missing, f"{label} without an entry: {sorted(missing)}"
    for statement in statements:
        label, number = statement.rsplit(" ", 1)
        assert any(number in labelled(item, label) for item in items), statement


def resolve(name):
    """The object of a dotted public name, which may be an attribute that `fit` sets and the class documents."""
    path, *attributes = name.split(".")
    found = import_module(path)
    for position, attribute in enumerate(attributes):
        if attribute.endswith("_") and attribute in (inspect.getdoc(found) or ""):
            return None
        if position == 0 and not hasattr(found, attribute):
            found = import_module(f"hinge.{attribute}")
        elif attribute in getattr(found, "__dataclass_fields__", {}):
            return None
        else:
            found = getattr(found, attribute)
    return found


def test_the_page_covers_the_five_documents():
    assert len(ROWS) > 100
    for heading in ("Learning with Kernels", "SMO supplement", "Parametric optimization", "Lecture slides",
                    "support vector regression", "ν-SVMs"):  # fmt: skip
        assert re.search(rf"^## .*{heading}", PAGE, re.MULTILINE)
    items = " ".join(row[0] for row in ROWS)
    for algorithm in range(1, 7):
        assert f"Algorithm 10.{algorithm}" in items
    for problem in (*range(1, 8), *range(10, 20)):
        assert any(re.match(rf"10\.{problem}\b", row[0]) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_entry_has_a_name_and_a_test_or_a_remark(row):
    assert len(row) == len(HEADER)
    assert row[0]
    assert row[1]
    if row[2] == "–":
        assert row[3] == "–"
        assert len(row[4]) > 6, "an entry without a name needs a remark"
    else:
        assert re.search(r"`hinge\.", row[2])
        assert row[3].startswith("`")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_names_parameters_tests_and_files_exist(row):
    for cell in (row[2], row[4]):
        for name, arguments in re.findall(r"`(hinge\.[\w.]+)(?:\((.*?)\))?`", cell):
            found = resolve(name)
            for parameter in re.findall(r"(\w+)=", arguments):
                assert parameter in inspect.signature(found).parameters, f"{name} has no parameter {parameter}"
    for path in re.findall(r"`([\w/]+\.py)`", row[3]):
        assert (ROOT / "tests" / path).is_file(), path
    for path in re.findall(r"`((?:benchmarks|examples)/[\w/]+\.py)`", row[4]):
        assert (ROOT / path).is_file(), path


def test_solvers_in_the_page_accept_the_values_shown():
    solvers = import_module("hinge.solvers")
    shown = re.findall(r"`hinge\.solvers\.(SMO|WorkingSet|CoordinateDescent)\((\w+)=\"(\w+)\"\)`", PAGE)
    assert len(shown) > 8
    for cls, argument, value in shown:
        assert getattr(getattr(solvers, cls)(**{argument: value}), argument) == value
