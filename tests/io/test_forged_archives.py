"""Malicious archives with valid checksums raise a ModelFileError."""

import io
import os
import pickle
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import hinge
from hinge.io import ModelFileError, archive
from reference.archives import assert_load_fails, forge, npy


@pytest.mark.usefixtures("carrier")
class TestContainer:
    @pytest.mark.parametrize(
        "name",
        ["../0.npy", "/etc/passwd", "a/0.npy", "00.npy", "0.npy/", "-1.npy", "x", "0.NPY", "٣.npy", ".."],
    )
    def test_invalid_entry_names(self, path, name):
        forge(path, entries=[(name, npy(np.zeros(2)))], parameters={"value": {"array": 0}})
        assert_load_fails(path, "entry that hinge does not write")

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    @pytest.mark.parametrize("name", ["0.npy", "hinge.json"])
    def test_duplicate_entries(self, path, name):
        forge(path, entries=[("0.npy", npy(np.zeros(2)))], parameters={"value": {"array": 0}})
        with zipfile.ZipFile(path) as file:
            content = file.read(name)
        with zipfile.ZipFile(path, "a") as file:
            file.writestr(name, content)
        assert_load_fails(path, "twice")

    def test_missing_array(self, path):
        forge(path, parameters={"value": {"array": 0}})
        assert_load_fails(path, "array 0 is missing")

    def test_additional_array(self, path):
        forge(path, entries=[("0.npy", npy(np.zeros(2)))])
        assert_load_fails(path, "does not mention")

    def test_decompression_bomb(self, path):
        bomb = npy(np.zeros(50_000_000, dtype=np.int8))
        forge(
            path,
            entries=[("0.npy", bomb)],
            parameters={"value": {"array": 0}},
            compression=zipfile.ZIP_DEFLATED,
        )
        assert path.stat().st_size < 100_000
        tracemalloc.start()
        assert_load_fails(path, "compressed")
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
        tracemalloc.stop()

    def test_overlapping_entries(self, path):
        """Many entries refer to the same bytes."""
        size, count = 100_000, 50
        parameters = {"value": [{"array": i} for i in range(count)]}
        forge(path, entries=[("0.npy", npy(np.zeros(size, dtype=np.int8)))], parameters=parameters)
        content = path.read_bytes()
        start = content.index(b"PK\x01\x02")
        first = content.index(b"PK\x01\x02", start + 1)
        end = content.index(b"PK\x05\x06")
        one, record = content[first:end], bytearray(content[end:])
        directory = content[start:first] + b"".join(
            one.replace(b"0.npy", f"{i:05}"[-1].encode() + b".npy") for i in range(count)
        )
        struct.pack_into("<HHII", record, 8, count + 1, count + 1, len(directory), start)
        path.write_bytes(content[:start] + directory + bytes(record))
        assert_load_fails(path, "twice|more bytes than the file")

    def test_wrong_sizes(self, path):
        forge(path, entries=[("0.npy", npy(np.zeros(4)))], parameters={"value": {"array": 0}})
        content = bytearray(path.read_bytes())
        entry = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
        struct.pack_into("<II", content, entry + 20, 2**31, 2**31)
        path.write_bytes(bytes(content))
        assert_load_fails(path, "claims 2147483648 bytes")

    def test_encrypted_entry(self, path):
        forge(path, entries=[("0.npy", npy(np.zeros(4)))], parameters={"value": {"array": 0}})
        content = bytearray(path.read_bytes())
        entry = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
        content[entry + 8] |= 1
        path.write_bytes(bytes(content))
        assert_load_fails(path, "encrypted")

    def test_large_manifest(self, path, monkeypatch):
        monkeypatch.setattr(archive, "MAX_MANIFEST", 1000)
        forge(path, parameters={"value": "a" * 1000})
        assert_load_fails(path, "at most 1000 are possible")


class Launch:
    """Object that creates a file when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch launched",)


@pytest.mark.usefixtures("carrier")
class TestArrays:
    def load(self, path, content):
        forge(path, entries=[("0.npy", content)], parameters={"value": {"array": 0}})
        return hinge.load(path).value

    def test_valid_array(self, path):
        assert self.load(path, npy(np.arange(3))).tolist() == [0, 1, 2]

    def test_pickled_objects(self, path, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.array([Launch()], dtype=object), allow_pickle=True)
        for content in (stream.getvalue(), pickle.dumps(Launch()), npy(np.zeros(2), descr="|O")):
            with pytest.raises(ModelFileError, match="array"):
                self.load(path, content)
        assert not (tmp_path / "launched").exists()

    @pytest.mark.parametrize(
        "header",
        [
            {"shape": (10**18,)},
            {"shape": (2**62, 2**62)},
            {"shape": (2**63, 0)},
            {"shape": (0, 2**62, 2**62)},
            {"shape": (-2,)},
            {"shape": (True, 2)},
            {"shape": (1.0, 2)},
            {"shape": (3,)},
            {"shape": (1,)},
            {"shape": (1,) * 65 + (2,)},
            {"descr": "<f4"},
            {"descr": "|V16"},
            {"descr": "<U0"},
            {"descr": "<f3"},
            {"descr": "<U4294967295"},
            {"descr": [("a", "<f8")]},
            {"descr": "f8,f8"},
            {"descr": "<M8[xy]"},
            {"descr": ("<f8", (2,))},
            {"fortran_order": 1},
        ],
        ids=str,
    )
    def test_invalid_headers(self, path, header):
        with pytest.raises(ModelFileError):
            self.load(path, npy(np.zeros(2), **header))

    @pytest.mark.parametrize(
        "text",
        [
            b"{" * 5000,
            b"-" * 9000 + b"1",
            b"__import__('os').system('touch launched')",
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }" + b"\n\n",
            b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n" % (b"9" * 5000),
            b"\xff\x00",
            b"",
        ],
        ids=range(7),
    )
    def test_invalid_header_texts(self, path, text):
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(16)
        with pytest.raises(ModelFileError, match="header"):
            self.load(path, content)

    @pytest.mark.parametrize(
        "change", [lambda c: c[:-1], lambda c: c + b"\0", lambda c: c[:5], lambda c: b""]
    )
    def test_wrong_lengths(self, path, change):
        with pytest.raises(ModelFileError):
            self.load(path, change(npy(np.zeros(2))))

    @pytest.mark.parametrize("version", [b"\x02\x00", b"\x03\x00", b"\x09\x00"])
    def test_unsupported_versions(self, path, version):
        content = npy(np.zeros(2))
        with pytest.raises(ModelFileError, match=r"version 1\.0"):
            self.load(path, content[:6] + version + content[8:])

    def test_invalid_booleans_and_characters(self, path):
        with pytest.raises(ModelFileError, match="booleans"):
            self.load(path, npy(np.array([0, 1, 255], dtype=np.uint8), descr="|b1"))
        for order in "<>":
            with pytest.raises(ModelFileError, match="character"):
                self.load(path, npy(np.array([65, 2**31], dtype=f"{order}u4"), descr=f"{order}U1"))

    def test_large_shape_allocates_no_memory(self, path):
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="needs 8000000000128 bytes but has 144"):
            self.load(path, npy(np.zeros(2), shape=(10**12,)))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
        tracemalloc.stop()

    def test_memory_use_is_that_of_the_array(self, carrier, path):
        value = np.arange(4_000_000, dtype=np.float64)
        tracemalloc.start()
        hinge.save(carrier(value), path)
        saving = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        loaded = hinge.load(path)
        loading = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        np.testing.assert_array_equal(loaded.value, value)
        assert saving < 0.8 * value.nbytes  # NumPy writes in blocks of 16 MiB
        assert loading < 1.2 * value.nbytes
