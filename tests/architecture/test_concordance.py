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
