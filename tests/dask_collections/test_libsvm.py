"""Reading of LIBSVM files by byte ranges."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

pytest.importorskip("distributed", reason="hinge.dask needs the packages dask and distributed")

import dask

import hinge
from hinge import dask as hd
from hinge.dask.libsvm import lines_of_range


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    X = sp.random_array((50, 7), density=0.3, rng=rng, format="csr")
    y = rng.integers(0, 3, 50).astype(float)
    path = tmp_path / "data.txt"
    hinge.io.dump_libsvm(X, y, path)
    return path, X, y


@pytest.mark.parametrize("blocksize", [60, "1kB", "64MB"])
@pytest.mark.parametrize("n_features", [7, 9, None])
def test_ranges_of_any_size_contain_every_line_once(file, blocksize, n_features):
    path, _, y = file
    with dask.config.set(scheduler="sync"):
        blocks, labels = hd.read_libsvm(path, blocksize=blocksize, n_features=n_features)
        rows = sp.vstack(dask.compute(*blocks.to_delayed().ravel()))
        assert_array_equal(labels.compute(), y)
    expected, _ = hinge.io.load_libsvm(path, n_features=n_features)
    assert rows.shape == expected.shape
    assert (rows != expected).nnz == 0


LINES = st.lists(st.sampled_from(["1 1:2", "", "-1 2:3 # note", "0"]), max_size=12)


@given(text=LINES, end=st.booleans(), data=st.data())
def test_ranges_cut_any_text_at_line_ends(tmp_path_factory, text, end, data):
    content = "\n".join(text) + ("\n" if end else "")
    path = tmp_path_factory.mktemp("text") / "file"
    path.write_text(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    ranges = pairwise([0, *cuts, len(content)])
    parts = [lines_of_range(path, a, b).decode() for a, b in ranges if a < b]
    assert "".join(parts) == content
    complete = [part for part in parts if part][:-1]
    assert all(part.endswith("\n") for part in complete)


def test_several_files_and_wildcards(file, tmp_path):
    _, X, y = file
    hinge.io.dump_libsvm(X, y + 10, tmp_path / "data2.txt")
    with dask.config.set(scheduler="sync"):
        _, labels = hd.read_libsvm(str(tmp_path / "data*.txt"), n_features=7)
        assert_array_equal(np.sort(labels.compute()), np.sort(np.concatenate([y, y + 10])))


def test_errors_name_file_and_remedy(tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("1 1:2\n1 x:3\n")
    _, labels = hd.read_libsvm(bad, n_features=3)
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match=r"bad\.txt.*line 2"):
        labels.compute()
    with pytest.raises(FileNotFoundError, match="no file matches"):
        hd.read_libsvm(str(tmp_path / "*.none"))
    with pytest.raises(ValueError, match="decompress it first"):
        hd.read_libsvm("data.txt.bz2")
    with pytest.raises(ValueError, match="at least one byte"):
        hd.read_libsvm(bad, blocksize=0)
