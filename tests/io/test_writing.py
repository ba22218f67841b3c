"""Values that cannot be saved are rejected before writing; a file is complete or unchanged."""

import json
import os
import stat
import threading
import zipfile

import numpy as np
import pytest
from scipy import sparse

import hinge
from hinge.io import archive, files
from hinge.kernels import RBF, FunctionKernel
from hinge.problems import Certificate
from hinge.solvers import SMO
from reference.cases import data


def recursive():
    value = []
    value.append(value)
    return value


class Label(str):
    pass


class TestInvalid:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (np.dot, "Python function.*hinge.kernels"),
            (lambda X, Z: X @ Z.T, "Python function.*support vectors"),
            (FunctionKernel(np.dot), "Python function.*hinge.kernels"),
            (RBF(1.0) + FunctionKernel(np.dot), r"value.parts\[1\] is a Python function"),
            (np.random.RandomState(0), "RandomState.*None or an integer"),
            (np.random.default_rng(0), "Generator.*None or an integer"),
            (KeyboardInterrupt(), "exception"),
            (ValueError("lost"), "exception.*lost"),
            (np.array([object()]), "object array"),
            (np.array([[1, 2], "a"], dtype=object), "object array"),
            (np.zeros(2, dtype=[("a", float)]), "array of type"),
            (np.zeros(2).view(np.recarray), "recarray.*numpy.array"),
            (np.zeros(2, dtype=[("a", float)])[0], "is of type"),
            (sparse.csc_matrix((2, 2)), "csc_matrix.*tocsr"),
            (sparse.coo_array((2, 2)), "coo_array.*tocsr"),
            ({(1, 2): 3}, "key"),
            ({1, 2}, "is a set"),
            (1 + 2j, "is a complex"),
            (2**5000, "is a int"),
            (Label("a"), "is a Label"),
            (recursive(), "contains itself"),
            (SMO, "Python function"),
            ([1, {"deep": (object(),)}], r"value\[1\]\['deep'\]\[0\] is a object"),
            (Certificate("high", 0, 0, 0, 0, 0, np.zeros(1), 0, 0), "value.primal is a str"),
        ],
        ids=lambda value: value if isinstance(value, str) else type(value).__name__,
    )
    def test_invalid_values(self, carrier, path, value, message):
        path.write_bytes(b"before")
        with pytest.raises(TypeError, match=message) as caught:
            hinge.save(carrier(value), path)
        assert "value" in str(caught.value)
        assert path.read_bytes() == b"before"
        assert os.listdir(path.parent) == [path.name]

    def test_invalid_sparse(self, carrier, path):
        matrix = sparse.csr_array(np.eye(3))
        matrix.indices = matrix.indices + 1
        with pytest.raises(TypeError, match="column index outside"):
            hinge.save(carrier(matrix), path)

    def test_callable_kernel(self, path):
        X, y = data("SVC")
        model = hinge.SVC(kernel=lambda X, Z: X @ Z.T)
        for candidate in (model, model.fit(X, y)):
            with pytest.raises(TypeError, match="kernel is a Python function"):
                hinge.save(candidate, path)

    @pytest.mark.parametrize(
        "model", [None, 3, "model", hinge.SVC, type("Own", (hinge.SVC,), {})()], ids=repr
    )
    def test_not_an_estimator(self, path, model):
        with pytest.raises(TypeError, match=r"save writes .*NuSVC"):
            hinge.save(model, path)

    def test_manifest_too_large(self, carrier, path, monkeypatch):
        monkeypatch.setattr(archive, "MAX_MANIFEST", 1000)
        with pytest.raises(ValueError, match="bytes of text"):
            hinge.save(carrier("a" * 1000), path)


class TestWriting:
    @pytest.fixture(params=[True, False], ids=["replacing", "new"])
    def before(self, request, path):
        if request.param:
            hinge.save(hinge.SVC(C=7.0), path)
            return path.read_bytes()
        return None

    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt, MemoryError])
    @pytest.mark.parametrize(
        ("where", "what"),
        [(archive, "write_array"), (archive, "write"), (os, "fsync"), (os, "replace")],
        ids=lambda part: part if isinstance(part, str) else "",
    )
    def test_failure_leaves_the_file_unchanged(self, monkeypatch, carrier, path, before, error, where, what):
        def fail(*arguments, **options):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(where, what, fail)
            with pytest.raises(error):
                hinge.save(carrier(np.zeros(10)), path)
        assert os.listdir(path.parent) == ([path.name] if before else [])
        if before:
            assert path.read_bytes() == before

    def test_failure_while_writing_arrays(self, monkeypatch, carrier, path, before):
        write, written = archive.write_array, []

        def fail_at_third(stream, array):
            if len(written) == 2:
                raise OSError("disk full")
            written.append(array)
            write(stream, array)

        monkeypatch.setattr(archive, "write_array", fail_at_third)
        with pytest.raises(OSError, match="disk full"):
            hinge.save(carrier([np.zeros(100), np.ones(100), np.full(100, 2.0)]), path)
        assert os.listdir(path.parent) == ([path.name] if before else [])

    def test_concurrent_readers_see_complete_files(self, carrier, path):
        hinge.save(carrier(np.zeros(10_000)), path)
        stop, seen = threading.Event(), set()

        def write():
            for i in range(60):
                hinge.save(carrier(np.full(10_000, float(i))), path)
            stop.set()

        writer = threading.Thread(target=write)
        writer.start()
        while not stop.is_set():
            found = np.unique(hinge.load(path).value)
            assert len(found) == 1
            seen.update(found)
        writer.join()
        assert hinge.load(path).value[0] == 59

    @pytest.mark.skipif(os.name != "posix", reason="permissions are a POSIX matter")
    def test_file_permissions(self, path):
        before = os.umask(0o027)
        try:
            hinge.save(hinge.SVC(), path)
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_links_are_followed(self, path, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(path)
        hinge.save(hinge.SVC(), link)
        assert link.is_symlink()
        assert hinge.load(path).C == 1.0

    def test_paths(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        hinge.save(hinge.SVC(C=3.0), "plain name")
        assert hinge.load(tmp_path / "plain name").C == 3.0
        assert hinge.load(str(tmp_path / "plain name")).C == 3.0
        with pytest.raises(ValueError, match="not a regular file"):
            hinge.save(hinge.SVC(), tmp_path)
        with pytest.raises(ValueError, match="not a regular file"):
            hinge.save(hinge.SVC(), "/dev/null")
        with pytest.raises(FileNotFoundError):
            hinge.save(hinge.SVC(), tmp_path / "no such folder" / "model")
        with pytest.raises(FileNotFoundError):
            hinge.load(tmp_path / "no such file")
        with pytest.raises(TypeError):
            hinge.save(hinge.SVC(), 3)

    def test_format_is_zip_json_and_npy(self, path):
        X, y = data("SVC")
        model = hinge.SVC(C=2.0).fit(X, y)
        hinge.save(model, path)
        with zipfile.ZipFile(path) as file:
            assert file.testzip() is None
            assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in file.infolist())
            manifest = json.loads(file.read("hinge.json"))
            number = manifest["state"]["dual_coef_"]["array"]
            with file.open(f"{number}.npy") as stream:
                found = np.lib.format.read_array(stream, allow_pickle=False)
        assert manifest["format"] == "hinge model"
        assert manifest["version"] == files.VERSION
        assert manifest["class"] == "SVC"
        assert manifest["parameters"]["C"] == {"float": (2.0).hex()}
        np.testing.assert_array_equal(found, model.dual_coef_)

    def test_64_bit_entries(self, carrier, path, monkeypatch):
        monkeypatch.setattr(archive, "ZIP64_BYTES", 100)
        value = [np.arange(1000.0), np.arange(3)]
        hinge.save(carrier(value), path)
        for found, expected in zip(hinge.load(path).value, value, strict=True):
            np.testing.assert_array_equal(found, expected)
