"""Input formats: every format gives the same model, and messages state the file and the line."""

import bz2
import gzip
import io
import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import hinge


def formats(folder, X, y):
    """Write the samples in every format; return {name of the file: further options}."""
    pytest.importorskip("pyarrow")
    hinge.io.dump_libsvm(X, y, folder / "a.svm")
    text = (folder / "a.svm").read_bytes()
    (folder / "a.svm.gz").write_bytes(gzip.compress(text))
    (folder / "a.svm.bz2").write_bytes(bz2.compress(text))
    (folder / "windows.svm").write_bytes(text.replace(b"\n", b"\r\n"))
    (folder / "cut.svm").write_bytes(text.rstrip(b"\n"))
    hinge.io.dump_libsvm(X, y, folder / "zero.svm", zero_based=True)
    hinge.io.dump_table(X, y, folder / "a.csv", target="label")
    hinge.io.dump_table(X, y, folder / "a.parquet", target="label")
    csv = (folder / "a.csv").read_bytes()
    (folder / "a.csv.gz").write_bytes(gzip.compress(csv))
    (folder / "a.tsv").write_bytes(csv.replace(b",", b"\t"))
    (folder / "semicolon.csv").write_bytes(csv.replace(b",", b";"))
    (folder / "headless.csv").write_bytes(csv.split(b"\n", 1)[1])
    np.savez(folder / "a.npz", X=X, y=y)
    sparse = sp.csr_matrix(X)
    parts = {"data": sparse.data, "indices": sparse.indices, "indptr": sparse.indptr, "shape": sparse.shape}
    np.savez(folder / "sparse.npz", **parts, y=y)
    target = ["--target", "label"]
    return {
        "a.svm": [], "a.svm.gz": [], "a.svm.bz2": [], "windows.svm": [], "cut.svm": [], "zero.svm": ["--zero-based"],
        "a.csv": target, "a.csv.gz": target, "a.tsv": target, "a.parquet": target, "a.npz": [], "sparse.npz": [],
        "semicolon.csv": [*target, "--delimiter", ";"], "headless.csv": ["--no-header", "--target", "-1"],
    }  # fmt: skip


def test_all_formats_give_the_same_model(run, classes, tmp_path):
    _, X, y = classes
    expected = hinge.SVC().fit(X, y).decision_function(X)
    for file, options in formats(tmp_path, X, y).items():
        done = run("train", file, *options, "-o", "m.hinge")
        assert done.code == 0, (file, done.err)
        model = hinge.load("m.hinge")
        assert np.allclose(model.decision_function(X), expected, atol=1e-6), file
        done = run("predict", "m.hinge", file, *options, "--values", "decision")
        assert done.code == 0, (file, done.err)
        assert np.allclose(np.fromstring(done.out, sep="\n"), expected, atol=1e-6), file


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("kind", ["libsvm", "csv"])
def test_data_are_read_from_standard_input(kind, compress, run, classes, tmp_path, monkeypatch):
    file, X, y = classes
    text = (tmp_path / file).read_bytes()
    options = []
    if kind == "csv":
        pytest.importorskip("pyarrow")
        hinge.io.dump_table(X, y, tmp_path / "a.csv")
        text, options = (tmp_path / "a.csv").read_bytes(), ["--format", "csv", "--target", "target"]

    def pipe():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(compress(text)))))

    pipe()
    assert run("train", "-", *options, "-o", "m.hinge").code == 0
    pipe()
    done = run("predict", "m.hinge", "-", *options)
    assert np.array_equal(np.fromstring(done.out, sep="\n"), hinge.SVC().fit(X, y).predict(X))


def test_columns_of_a_table_are_found_by_the_names_of_the_features(run, classes, tmp_path):
    pytest.importorskip("pyarrow")
    _, X, y = classes
    names = ["width", "height", "depth", "mass"]
    hinge.io.dump_table(X, np.where(y > 0, "yes", "no"), tmp_path / "train.csv", feature_names=names, target="class")
    words = ["--target", "class", "--drop", "depth", "--scale", "maxabs", "-o", "m.hinge"]
    assert run("train", "train.csv", *words).code == 0
    model = hinge.load("m.hinge")
    assert model.feature_names_in_.tolist() == ["width", "height", "mass"]
    assert model.classes_.tolist() == ["no", "yes"]

    order = ["mass", "colour", "width", "height"]
    columns = {"mass": X[:, 3], "colour": np.zeros(len(X)), "width": X[:, 0], "height": X[:, 1]}
    hinge.io.dump_table(np.column_stack([columns[n] for n in order]), None, tmp_path / "new.csv", feature_names=order)
    done = run("predict", "m.hinge", "new.csv")
    assert done.out.split() == model.predict(X[:, [0, 1, 3]]).tolist()
    assert done.err == ""

    hinge.io.dump_table(X[:, :2], None, tmp_path / "short.csv", feature_names=names[:2])
    done = run("predict", "m.hinge", "short.csv")
    assert done.code == 1
    assert "'mass' is not a column of short.csv; its columns are 'width', 'height'" in done.err


def test_dense_storage_depends_on_the_share_of_zeros(run, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 10)) * (random.random((40, 10)) < 0.2)
    hinge.io.dump_libsvm(X, np.arange(40) % 2, tmp_path / "a.svm")
    assert json.loads(run("info", "a.svm", "--json").out)["sparse"] is True
    assert json.loads(run("info", "a.svm", "--storage", "dense", "--json").out)["sparse"] is False


INVALID = {
    "a.svm": (b"1 1:2\n1 2:x\n", "a.svm, line 2"),
    "b.svm": (b"1 1:2 1:3\n", "b.svm, line 1"),
    "c.svm.gz": (gzip.compress(b"1 1:2\n" * 1000)[:-20], "c.svm.gz, line"),
    "empty.svm": (b"", "empty.svm has no samples"),
    "a.csv": (b"x,y\n1,a\n2\n", "a.csv, line 3: Expected 2 columns, got 1"),
    "b.csv": (b"x,y\n1,a\n\n\ntwo,b\n", "b.csv, line 5, column 'x': 'two' is not a number"),
    "c.csv": (b"x,y\n1,a\n,b\n", "c.csv, line 3, column 'x': the value is missing"),
    "d.csv": (b"x,z\n1,a\n", "target='y' is not a column of d.csv; its columns are 'x', 'z'"),
    "e.csv": (b"x,y\n", "e.csv has no rows of data"),
    "f.csv": (b"", "f.csv: not a valid CSV file"),
    "a.parquet": (b"PAR1 but not really", "a.parquet: not a valid Parquet file"),
    "a.npz": (b"PK\x03\x04 but not really", "a.npz: not an .npz file"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_file_is_reported_with_its_line(name, run, tmp_path):
    if name.endswith((".csv", ".parquet")):
        pytest.importorskip("pyarrow")
    content, reason = INVALID[name]
    (tmp_path / name).write_bytes(content)
    options = ["--target", "y"] if name.endswith((".csv", ".parquet")) else []
    done = run("train", name, *options, "-o", "m.hinge")
    assert done.code == 1
    assert reason in done.err
    assert done.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_table_without_a_target_is_an_error_with_a_remedy(run, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,z\n1,2\n3,4\n")
    done = run("train", "a.csv", "-o", "m.hinge")
    assert (done.code, "a.csv has no labels: name their column with --target" in done.err) == (1, True)


def test_missing_package_is_reported_with_its_extra(run, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    done = run("train", "a.csv", "--target", "y", "-o", "m.hinge")
    assert done.code == 1
    assert "pip install 'hinge[tables]'" in done.err


def test_index_beyond_the_features_of_the_model_is_an_error(run, classes, tmp_path):
    assert run("train", classes[0], "-o", "m.hinge").code == 0
    (tmp_path / "wide.svm").write_text("1 1:1 4:1\n1 1:1 5:1\n")
    done = run("predict", "m.hinge", "wide.svm")
    assert done.code == 1
    assert "wide.svm, line 2" in done.err
    assert done.out == ""


class TestOutputs:
    """Names of output files that would destroy an input, or that are no files."""

    COMMANDS = (
        "train train.svm -o {}",
        "grid train.svm -p C=1,2 -o {}",
        "grid train.svm -p C=1,2 -o g.hinge --state {}",
        "path train.svm -o {}",
        "scale train.svm -o {}",
        "scale train.svm --save {}",
        "convert train.svm --to libsvm {}",
    )

    TO_DEVICES = ("predict m.hinge train.svm -o {}", "path train.svm --breakpoints {}")

    @pytest.mark.parametrize("command", [*COMMANDS, *TO_DEVICES])
    def test_output_does_not_replace_an_input(self, run, classes, tmp_path, command):
        assert run("train", "train.svm", "-o", "m.hinge").code == 0
        before = (tmp_path / "train.svm").read_bytes()
        (tmp_path / "link.svm").symlink_to("train.svm")
        for name in ("train.svm", "./train.svm", "link.svm"):
            done = run(*command.format(name).split())
            assert done.code == 1
            assert "is an input, which the output would replace" in done.err
            assert (tmp_path / "train.svm").read_bytes() == before

    @pytest.mark.parametrize("command", COMMANDS)
    def test_standard_output_is_not_a_file_called_minus(self, run, classes, tmp_path, command):
        done = run(*command.format("-").split())
        assert done.code == 2
        assert "pass the name of a file" in done.err
        assert not (tmp_path / "-").exists()

    def test_predictions_may_go_to_standard_output(self, run, classes, tmp_path):
        assert run("train", "train.svm", "-o", "m.hinge").code == 0
        done = run("predict", "m.hinge", "train.svm", "-o", "-")
        assert done.code == 0
        assert done.out.splitlines() == run("predict", "m.hinge", "train.svm").out.splitlines()
        assert "written to standard output" in done.err


def test_messages_name_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "<stdin> has no samples" in run("train", "-", "-o", "m.hinge").err


@pytest.mark.parametrize(
    ("text", "line"), [("a,b\n1,yes\n2,\n3,no\n", 3), ("a,b\n1,2.5\n\n2,1\n3,\n", 5), ("a,b\n1,inf\n2,1\n", 2)]
)
def test_missing_and_infinite_labels_are_errors_with_their_line(text, line, run, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text(text)
    done = run("train", "a.csv", "--target", "b", "-o", "m.hinge")
    assert done.code == 1
    assert f"a.csv, line {line}, column 'b': " in done.err


def test_damaged_compressed_standard_input_is_one_message(run, classes, tmp_path, monkeypatch):
    text = gzip.compress((tmp_path / classes[0]).read_bytes())[:-20]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
    done = run("train", "-", "-o", "m.hinge")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "the compressed file is damaged or cut off" in done.err
