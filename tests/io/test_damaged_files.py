"""Damaged files and inconsistent models raise an error and never crash or execute code."""

import io
import json
import pickle
import random
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import hinge
from hinge.io import ModelFileError
from hinge.kernels import RBF, Linear
from reference.cases import data, values


@pytest.fixture(scope="module")
def fitted():
    X, y = data("SVC", n=25, features=2, classes=3)
    model = hinge.SVC(kernel=RBF(0.5) + Linear()).fit(X, np.array(["a", "b", "c"], dtype=object)[y])
    return model, X


@pytest.fixture(scope="module")
def content(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("content") / "model.hinge"
    hinge.save(fitted[0], path)
    return path.read_bytes()


def loads_identically_or_fails(path, content, fitted):
    path.write_bytes(content)
    try:
        loaded = hinge.load(path)
    except ModelFileError:
        return False
    model, X = fitted
    assert values(loaded, X).tobytes() == values(model, X).tobytes()
    assert loaded.get_params() == model.get_params()
    assert vars(loaded).keys() == vars(model).keys()
    return True


class TestDamage:
    def test_truncated_files_fail(self, path, content, fitted):
        lengths = {*range(0, len(content), 47), *range(len(content) - 200, len(content))}
        for length in lengths:
            assert not loads_identically_or_fails(path, content[:length], fitted), length

    def test_flipped_bits_are_detected_or_harmless(self, path, content, fitted):
        rng = random.Random(0)
        directory = content.index(b"PK\x01\x02")
        positions = [*range(100), *range(100, directory, 31), *range(directory, directory + 110)]
        positions += [*range(directory + 110, len(content) - 80, 11), *range(len(content) - 80, len(content))]
        for position in positions:
            damaged = bytearray(content)
            damaged[position] ^= 1 << rng.randrange(8)
            loads_identically_or_fails(path, bytes(damaged), fitted)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
    @given(source=st.data())
    def test_overwritten_removed_and_repeated_parts(self, path, content, fitted, source):
        positions = st.integers(0, len(content))
        start, stop = sorted((source.draw(positions), source.draw(positions)))
        filling = source.draw(st.binary(max_size=40) | st.just(content[start:stop] * 2))
        loads_identically_or_fails(path, content[:start] + filling + content[stop:], fitted)

    @pytest.mark.parametrize("extra", [b"\0", b"PK\x05\x06", b"x" * 70_000])
    def test_additional_bytes(self, path, content, fitted, extra):
        assert not loads_identically_or_fails(path, extra + content, fitted)
        loads_identically_or_fails(path, content + extra, fitted)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(content=st.binary(max_size=300))
    def test_random_bytes_fail(self, path, content):
        for start in (b"", b"PK\x03\x04"):
            path.write_bytes(start + content)
            with pytest.raises(ModelFileError):
                hinge.load(path)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "empty"),
            (pickle.dumps([1, 2]), "not a model file"),
            (b"PK\x05\x06" + bytes(18), "not a model file"),
        ],
        ids=["empty", "pickle", "empty zip"],
    )
    def test_other_files_are_rejected(self, path, content, message):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message) as caught:
            hinge.load(path)
        assert str(path) in str(caught.value)

    def test_npz_file_is_rejected(self, path):
        np.savez(path.with_suffix(".npz"), a=np.zeros(3))
        with pytest.raises(ModelFileError, match=r"no hinge.json.*only what hinge.save"):
            hinge.load(path.with_suffix(".npz"))


def references(node):
    """The numbers of all arrays in a manifest."""
    if isinstance(node, dict):
        if "array" in node:
            yield node["array"]
        yield from node["csr"][2:] if "csr" in node else ()
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from references(child)


def rewrite(path, change):
    """Rewrite a file with a changed manifest and changed arrays, and valid checksums."""
    with zipfile.ZipFile(path) as file:
        manifest = json.loads(file.read("hinge.json"))
        arrays = {
            name: np.load(io.BytesIO(file.read(name))) for name in file.namelist() if name != "hinge.json"
        }
    change(manifest["state"], arrays)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("hinge.json", json.dumps(manifest))
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array, allow_pickle=False)
            file.writestr(name, stream.getvalue())


@pytest.mark.filterwarnings("ignore:Casting complex values")
class TestForgedModels:
    """Valid files with inconsistent models: rejected, or an ordinary exception at prediction."""

    def test_rewritten_file_is_identical(self, path, fitted):
        model, X = fitted
        hinge.save(model, path)
        rewrite(path, lambda state, arrays: None)
        assert values(hinge.load(path), X).tobytes() == values(model, X).tobytes()

    @pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
    def test_arrays_of_another_shape_or_type(self, path, kind):
        X, y = data("SVC", n=25, features=2, classes=3)
        X = {"dense": X, "sparse": sparse.csr_array(X), "precomputed": X @ X.T}[kind]
        model = hinge.SVC(kernel="precomputed" if kind == "precomputed" else "rbf").fit(X, y)
        hinge.save(model, path)
        content = path.read_bytes()
        with zipfile.ZipFile(path) as file:
            state = json.loads(file.read("hinge.json"))["state"]
        for name in ("certificate_", "certificates_", "history_"):  # not used for prediction
            del state[name]
        names = [f"{number}.npy" for number in sorted(set(references(state)))]
        changes = [
            lambda a: a[:-1],
            lambda a: a[:0],
            lambda a: np.concatenate([a, a]),
            lambda a: a.ravel()[:, None],
            lambda a: a[None],
            lambda a: a.astype(np.int8),
            lambda a: a.astype(np.complex128),
            lambda a: a.astype(str),
            lambda a: a[..., :0],
            lambda a: np.full_like(a, -1),
            lambda a: np.full_like(a, 2**31 - 1) if a.dtype.kind in "iu" else np.full_like(a, np.nan),
        ]
        for name in names:
            for change in changes:
                path.write_bytes(content)

                def apply(state, arrays, name=name, change=change):
                    if arrays[name].ndim:
                        arrays[name] = np.ascontiguousarray(change(arrays[name]))

                rewrite(path, apply)
                self.use(path, X)

    @pytest.mark.parametrize(
        "value", [None, 3, "text", [], {"tuple": []}, {"array": 0}, {"enum": ["Status", "SOLVED"]}]
    )
    def test_attributes_of_another_type(self, path, fitted, value):
        model, X = fitted
        hinge.save(model, path)
        content = path.read_bytes()
        for key in vars(model).keys() - model.get_params().keys():
            for replacement in (value, ...):
                path.write_bytes(content)

                def apply(state, arrays, key=key, replacement=replacement):
                    if replacement is ...:
                        del state[key]
                    else:
                        state[key] = replacement
                    for name in arrays.keys() - {f"{number}.npy" for number in references(state)}:
                        del arrays[name]

                rewrite(path, apply)
                self.use(path, X)

    @staticmethod
    def use(path, X):
        try:
            model = hinge.load(path)
        except ModelFileError:
            return
        try:
            model.predict(X)
            values(model, X)
        except (ValueError, TypeError, AttributeError, IndexError):
            pass
