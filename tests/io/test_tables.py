"""CSV and Parquet files."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hinge.io import dump_table, load_table

pytest.importorskip("pyarrow")

TEXT = "width,kind,height,weight,query\n1.5,rose,2,0.5,1\n3,tulip,-4e-3,2,1\n"


@pytest.fixture
def flowers(tmp_path):
    (tmp_path / "flowers.csv").write_text(TEXT)
    return tmp_path / "flowers.csv"


def test_columns_have_their_roles(flowers):
    table = load_table(flowers, target="kind", sample_weight="weight", query_id="query")
    X, y = table
    assert X.tolist() == [[1.5, 2.0], [3.0, -4e-3]]
    assert y.tolist() == ["rose", "tulip"]
    assert table.feature_names == ("width", "height")
    assert table.sample_weight.tolist() == [0.5, 2.0]
    assert table.query_id.tolist() == [1, 1]
    assert table.target_name == "kind"


def test_columns_are_given_by_number(flowers):
    table = load_table(flowers, target=2, drop=[-1, -2])
    assert (table.feature_names, table.y.tolist()) == (("width", "height"), ["rose", "tulip"])


def test_features_are_selected_in_the_given_order(flowers):
    assert load_table(flowers, features=["height", "width"]).X.tolist() == [[2.0, 1.5], [-4e-3, 3.0]]


def test_open_files_compressed_files_and_files_without_a_header(flowers, tmp_path):
    X, _ = load_table(flowers, target="kind")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert np.array_equal(load_table(tmp_path / "a.csv.gz", target="kind").X, X)
    assert np.array_equal(load_table(io.BytesIO(TEXT.encode()), target="kind", format="csv").X, X)
    (tmp_path / "b.csv").write_text(TEXT.split("\n", 1)[1])
    table = load_table(tmp_path / "b.csv", target=2, header=False)
    assert np.array_equal(table.X, X)
    assert table.feature_names == ("1", "3", "4", "5")


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("x,y\n1,2\n3\n", {}, "line 3: Expected 2 columns, got 1"),
        ("x,y\n\n\n1,2\n3\n", {}, "line 5: Expected 2 columns"),
        ("x,y\n1,2\nz,3\n", {}, "line 3, column 'x': 'z' is not a number; encode the column as numbers, or drop it"),
        ("x,y\n1,2\n,3\n", {}, "line 3, column 'x': the value is missing"),
        ("x,y\n1,2\ninf,3\n", {}, "line 3, column 'x': inf is not a finite number"),
        ("x,y\n1,2\n", {"target": "z"}, "target='z' is not a column of .*; its columns are 'x', 'y'"),
        ("x,y\n1,2\n", {"target": 3}, "target=3 is not a column"),
        ("x,x\n1,2\n", {"target": "x"}, "has 2 columns 'x'; pass the number of one"),
        ("x,y\n1,2\n", {"target": "x", "drop": ["y"]}, "no feature columns"),
        ("x,y\n1,2\n2,\n", {"target": "y"}, "line 3, column 'y': the value is missing"),
        ("x,y\n1,2.5\n", {"query_id": "y"}, "line 2, column 'y': 2.5 is not an integer"),
        ("x,y\n2020-01-01,2\n", {"target": "y"}, "column 'x' has the type date32"),
        ("x,y\n", {}, "has no rows of data"),
        ("", {}, "not a valid CSV file"),
    ],
)
def test_invalid_table_is_an_error_with_its_place(text, options, reason, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=reason):
        load_table(tmp_path / "a.csv", **options)


def test_other_endings_need_a_format(tmp_path):
    (tmp_path / "a.txt").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match="must be 'csv' or 'parquet'"):
        load_table(tmp_path / "a.txt")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@settings(max_examples=25, deadline=None)
@given(
    X=hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e300, 1e300)),
    labels=st.sampled_from([[1, 2], [0.5, -1e-17], ["a", "b,c"], ['"x"', "é"], [True, False]]),
)
def test_numbers_and_labels_survive_unchanged(tmp_path_factory, ending, X, labels):
    path = tmp_path_factory.mktemp("tables") / f"a.{ending}"
    y = np.array([labels[i % 2] for i in range(len(X))])
    dump_table(X, y, path)
    table = load_table(path, target="target")
    assert np.array_equal(table.X, X)
    assert table.y.tolist() == y.tolist()
