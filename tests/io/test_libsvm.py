"""LIBSVM text format: round trips, agreement with scikit-learn, errors with line numbers, memory maps."""

import bz2
import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import hinge
from hinge.io import dump_libsvm, load_libsvm, map_libsvm
from hinge.io import libsvm as module

finite = st.floats(allow_nan=False, allow_infinity=False)


def write(tmp_path, text):
    path = tmp_path / "data.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class TestRoundTrip:
    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        X=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite),
        seed=st.integers(0, 99),
        zero_based=st.booleans(),
    )
    def test_values_are_identical_to_the_bit(self, X, seed, zero_based, tmp_path):
        y = np.random.default_rng(seed).normal(size=len(X)) * 10.0 ** np.random.default_rng(seed).integers(-300, 300)
        path = tmp_path / "data.txt"
        dump_libsvm(X, y, path, zero_based=zero_based)
        back, labels = load_libsvm(path, n_features=X.shape[1], zero_based=zero_based)
        assert np.array_equal(back.toarray(), X)
        assert np.array_equal(labels, y)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
    def test_storage(self, tmp_path, dtype, kind):
        rng = np.random.default_rng(0)
        X = np.where(rng.random((50, 7)) < 0.5, rng.normal(size=(50, 7)), 0).astype(dtype)
        path = tmp_path / "data.txt"
        dump_libsvm(kind(X), np.arange(50), path, query_id=np.arange(50) // 3)
        back, y, qid = load_libsvm(path, dtype=dtype, query_id=True)
        assert back.dtype == dtype
        assert np.array_equal(back.toarray(), X)
        assert np.array_equal(qid, np.arange(50) // 3)
        assert np.array_equal(y, np.arange(50))

    def test_files_are_exchanged_with_scikit_learn(self, tmp_path):
        X = sp.random(200, 30, 0.2, format="csr", random_state=0)
        y = np.random.default_rng(0).normal(size=200)
        dump_libsvm(X, y, tmp_path / "ours.txt")
        dump_svmlight_file(X, y, str(tmp_path / "theirs.txt"), zero_based=False, comment="a comment")
        theirs, labels = load_svmlight_file(str(tmp_path / "ours.txt"))
        assert abs(theirs - X).max() == 0
        assert np.array_equal(labels, y)
        ours, labels = load_libsvm(tmp_path / "theirs.txt")
        other, others = load_svmlight_file(str(tmp_path / "theirs.txt"))
        assert abs(ours - other).max() == 0
        assert np.array_equal(labels, others)

    @pytest.mark.parametrize(("ending", "opener"), [(".gz", gzip.open), (".bz2", bz2.open)])
    def test_compressed(self, tmp_path, ending, opener):
        path = tmp_path / f"data.txt{ending}"
        with opener(path, "wb") as file:
            file.write(b"1 1:2\n-1 3:4\n")
        X, y = load_libsvm(path)
        assert X.toarray().tolist() == [[2, 0, 0], [0, 0, 4]]
        assert y.tolist() == [1, -1]


def test_numbers_are_read_exactly(tmp_path):
    words = ["1", "-0.5", "+3", "1e5", "1E-3", ".5", "5.", "0.1", "123456789012345678901234567890", "4.9e-324",
             "2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993", "0.30000000000000004",
             "1e-400", "0.000000000000000000000000000000000000123", "123456.7890123456789"]  # fmt: skip
    X, _ = load_libsvm(write(tmp_path, "".join(f"0 1:{word}\n" for word in words)))
    assert X.toarray().ravel().tolist() == [float(word) for word in words]


def test_blanks_comments_and_samples_without_features(tmp_path):
    X, y = load_libsvm(write(tmp_path, "# a comment\n1 1:2\t3:4  # the first\n\n2\n  3   2:1 \n"))
    assert X.toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 1, 0]]
    assert y.tolist() == [1, 2, 3]


def test_an_empty_file_has_no_samples(tmp_path):
    X, y = load_libsvm(write(tmp_path, ""))
    assert X.shape == (0, 0)
    assert len(y) == 0


@pytest.mark.parametrize(
    "text",
    [
        b"+1 1:2\n-1 2:3\n",
        b"1\t1:2\t2:3\n",
        b"  1 1:2   \n",
        b"\n\n1 1:2\n\n",
        b"# \xff\xfe \x00\n1 1:2\n",
        b"1 1:2#c\n",
        b"1 0000000000000000000000001:2\n",
        b"123456789012345678901234567890 1:1\n",
        b"1e3 1:1e-3 2:-0.0 3:0 4:4.9e-324\n",
        b"5. 1:.5\n",
        b"1 qid:-3 1:2\n2 qid:7 2:1\n",
        b"1 " + b" ".join(b"%d:1.5" % k for k in range(1, 50_001)) + b"\n",
        b"1 1:2\r\n# c\r\n2 2:3",
    ],
    ids=range(13),
)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2"])
def test_scikit_learn_reads_the_same(tmp_path, text, ending):
    path = tmp_path / f"data{ending}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending](text))
    query = b"qid" in text
    ours = load_libsvm(path, strict=False, query_id=query)
    theirs = load_svmlight_file(str(path), zero_based=False, query_id=query)
    assert ours[0].shape == theirs[0].shape
    assert (ours[0] != theirs[0]).nnz == 0
    for one, other in zip(ours[1:], theirs[1:], strict=True):
        assert np.array_equal(one, other)


class TestMalformed:
    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("x 1:2", "label"),
            ("nan 1:2", "label"),
            ("1,2 1:2", "label"),
            ("1 1", "index:value"),
            ("1 1:", "value"),
            ("1 :2", "index:value"),
            ("1 a:2", "index:value"),
            ("1 1:2x", "value"),
            ("1 1:2 :", "index:value"),
            ("1 1:nan", "finite"),
            ("1 1:NaN", "finite"),
            ("1 1:inf", "finite"),
            ("1 1:-inf", "finite"),
            ("1 1:1e999", "finite"),
            ("1 1:0x10", "value"),
            ("1 1:--2", "value"),
            ("1 1:+-2", "value"),
            ("1 0:2", "index 0"),
            ("1 -1:2", "negative"),
            ("1 2147483648:1", "larger"),
            ("1 99999999999999999:1", "larger"),
            ("1 99999999999999999999999:1", "larger"),
            ("1 1234567890123456789:1", "larger"),
            ("1 2:1 1:1", "ascend"),
            ("\ufeff1 1:2", "byte order mark"),
            ("1 qid:99999999999999999999 1:1", "qid"),
            ("1 qid:3 qid:4 1:2", "index:value"),
            ("1 1:2 qid:3", "index:value"),
            ("1 1 :2", "index:value"),
            ("1 1: 2", "value"),
            ("1 1::2", "value"),
            ("1 1:1_000", "value"),
            ("1 1:1d5", "value"),
            ("1 1:1,5", "value"),
            ("1 1:1e+", "value"),
            ("1 1:.", "value"),
            ("- 1:2", "label"),
            ('"1" 1:2', "label"),
            ("1\u00a01:2", "label"),
            ("\uff11 1:2", "label"),
            ("1 1:2\r2 1:3", "value"),
            ("1 2:1 2:1", "ascend"),
            ("1 1.5:1", "index:value"),
            ("1 qid:a 1:1", "qid"),
            ("1 1:2\r", "carriage return"),
            ("1 1:2 \x00", "index:value"),
        ],
    )
    @pytest.mark.parametrize("threads", [1, 2])
    def test_error_names_the_line(self, tmp_path, line, words, threads):
        good = "1 1:2 3:4\n"
        path = write(tmp_path, good * 7 + line + "\n" + good * 5)
        with pytest.raises(ValueError, match=rf"line 8: .*{words}") as caught:
            load_libsvm(path, n_jobs=threads, strict=True)
        assert str(path) in str(caught.value)
        with pytest.raises(ValueError, match="line 8"):
            map_libsvm(path, tmp_path / "map", strict=True)

    def test_truncated_file(self, tmp_path):
        text = b"1 1:2 3:4\n1 1:2 3:45"
        for cut in range(11, len(text) + 1):
            with pytest.raises(ValueError, match="line 2"):
                load_libsvm(write(tmp_path, text[:cut]), strict=True)

    def test_windows_line_ends_and_missing_final_newline(self, tmp_path):
        X, y = load_libsvm(write(tmp_path, "1 1:2\r\n-1 2:3"))
        assert X.toarray().tolist() == [[2, 0], [0, 3]]
        assert y.tolist() == [1, -1]

    def test_several_files_have_a_common_number_of_features(self, tmp_path):
        train, test = tmp_path / "train", tmp_path / "test"
        train.write_text("1 1:2\n-1 2:3\n")
        test.write_text("-1 5:1\n")
        X, y, X_test, y_test = load_libsvm(train, test)
        assert X.shape == (2, 5)
        assert X_test.shape == (1, 5)
        assert (y.tolist(), y_test.tolist()) == ([1, -1], [-1])
        assert len(load_libsvm(train, test, query_id=False, n_features=7)) == 4
        assert load_libsvm(train, test, n_features=7)[2].shape == (1, 7)

    def test_number_of_features(self, tmp_path):
        path = write(tmp_path, "1 1:2\n1 5:1\n")
        assert load_libsvm(path, n_features=9)[0].shape == (2, 9)
        with pytest.raises(ValueError, match=r"line 2: .*n_features=4"):
            load_libsvm(path, n_features=4)

    @pytest.mark.parametrize(
        ("value", "error"),
        [(2.5, TypeError), ("a", TypeError), (True, TypeError), (2**40, ValueError), (-1, ValueError)],
    )
    def test_invalid_number_of_features(self, tmp_path, value, error):
        path = write(tmp_path, "1 1:2\n")
        for read in (load_libsvm, lambda *a, **k: map_libsvm(*a, tmp_path / "map", **k)):
            with pytest.raises(error, match=r"n_features=.*None for the largest index"):
                read(path, n_features=value)
        assert load_libsvm(path, n_features=np.int64(3))[0].shape == (1, 3)

    def test_float32_overflow(self, tmp_path):
        most = np.finfo(np.float32).max
        dump_libsvm(np.array([[most, -most]]), [1], tmp_path / "most.txt")
        assert load_libsvm(tmp_path / "most.txt", dtype=np.float32)[0].toarray().tolist() == [[most, -most]]
        with pytest.raises(ValueError, match=r"line 1: .*float32"):
            load_libsvm(write(tmp_path, "1 1:1e39\n"), dtype=np.float32)

    def test_line_numbers_in_large_files(self, tmp_path):
        """Lines beyond the limits of chunks and blocks."""
        good = b"1 1:2 7:0.25\n"
        path = write(tmp_path, good * 700_000 + b"1 1:oops\n" + good * 10)
        blocks = lambda: list(module.read_blocks(path, None, "f4", False, True, 2))  # noqa: E731
        for read in (lambda: load_libsvm(path, n_jobs=2), blocks):
            with pytest.raises(ValueError, match="line 700001: "):
                read()

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=st.binary(max_size=60))
    def test_arbitrary_bytes_do_not_crash(self, tmp_path, text):
        path = write(tmp_path, text)
        try:
            X, y = load_libsvm(path, strict=False)
        except ValueError as error:
            assert "line " in str(error)  # noqa: PT017
        else:
            assert X.shape[0] == len(y)
            assert np.isfinite(X.data).all()

    def test_invalid_arguments(self, tmp_path):
        path = write(tmp_path, "1 1:2\n")
        with pytest.raises(ValueError, match="dtype"):
            load_libsvm(path, dtype=np.int32)
        with pytest.raises(ValueError, match="n_features"):
            load_libsvm(path, n_features=-1)
        with pytest.raises(ValueError, match="qid"):
            load_libsvm(path, query_id=True)
        with pytest.raises(ValueError, match="one entry"):
            dump_libsvm(np.ones((2, 2)), [1], path)
        with pytest.raises(ValueError, match="NaN"):
            dump_libsvm(np.full((2, 2), np.nan), [1, 2], path)
        with pytest.raises(FileNotFoundError):
            load_libsvm(tmp_path / "nowhere")


class TestMap:
    def test_map_agrees_with_load(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "READ_BYTES", 1000)
        X = sp.random(300, 40, 0.2, format="csr", random_state=0, dtype=np.float32)
        y = np.sign(np.random.default_rng(0).normal(size=300))
        path = tmp_path / "data.txt"
        dump_libsvm(X, y, path)
        mapped, labels = map_libsvm(path, tmp_path / "map", n_features=40)
        assert isinstance(mapped.data, np.memmap)
        assert abs(mapped - X).max() == 0
        assert np.array_equal(labels, y)
        before = list((tmp_path / "map").glob("*/values.npy"))
        map_libsvm(path, tmp_path / "map", n_features=40)
        assert list((tmp_path / "map").glob("*/values.npy")) == before  # opened, not rewritten
        dump_libsvm(X[:10], y[:10], path)
        assert map_libsvm(path, tmp_path / "map", n_features=40)[0].shape == (10, 40)

    def test_linear_estimator_is_trained_in_blocks(self, tmp_path):
        rng = np.random.default_rng(0)
        X = sp.random(4000, 200, 0.05, format="csr", random_state=0, dtype=np.float32)
        y = np.where(X @ rng.normal(size=200) + 0.1 * rng.normal(size=4000) > 0, 1.0, -1.0)
        dump_libsvm(X, y, tmp_path / "data.txt")
        mapped, labels = map_libsvm(tmp_path / "data.txt", tmp_path / "map")
        for loss in ("hinge", "squared_hinge"):
            parts = hinge.LinearSVC(loss=loss, cache_size=0.2).fit(mapped, labels)
            whole = hinge.LinearSVC(loss=loss).fit(X, y)
            assert parts.certify(mapped, labels).relative_gap <= 1.01e-4
            assert parts.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-4)


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b"1 1:2\n", lambda b: b[:40] + b"\0" * 40 + b[80:]])
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_damaged_compressed_file_is_an_error_with_a_line(tmp_path, pack, damage):
    rng = np.random.default_rng(0)
    text = "".join(f"1 1:{value!r}\n" for value in rng.normal(size=3000).tolist())
    path = tmp_path / ("data.gz" if pack is gzip.compress else "data.bz2")
    path.write_bytes(damage(pack(text.encode())))
    with pytest.raises(ValueError, match=r"line 1 or later: the compressed file is damaged or cut off"):
        load_libsvm(path)
    with pytest.raises(ValueError, match=r"line 1 or later"):
        map_libsvm(path, tmp_path / "map")
