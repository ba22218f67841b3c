"""Model files written by hand, and checks that `load` rejects them."""

import io
import json
import re
import zipfile

import numpy as np
import pytest

import hinge
from hinge.io import ModelFileError


def npy(array, **header):
    """Bytes of an array in NPY format; `header` replaces entries of the correct header."""
    stream = io.BytesIO()
    correct = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, {**correct, **header})
    return stream.getvalue() + array.tobytes()


def forge(path, manifest=None, entries=(), compression=zipfile.ZIP_STORED, **parts):
    """Write an archive; `parts` replace entries of a valid manifest, `manifest` replaces all of it."""
    valid = {"format": "hinge model", "version": 1, "hinge": "0", "class": "Carrier"}
    valid.update({"parameters": {}, "state": {}})
    text = json.dumps({**valid, **parts}) if manifest is None else manifest
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("hinge.json", text)
        for name, content in entries:
            file.writestr(name, content)


def assert_load_fails(path, message=None):
    """`load` raises a ModelFileError that names the file and a remedy."""
    with pytest.raises(ModelFileError, match=message) as caught:
        hinge.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert re.search(r"; (restore|load reads only|upgrade)", str(caught.value))


def assert_inconsistent_is_rejected(altered, file, monkeypatch):
    """`save` does not write an inconsistent model, and `load` does not read a file of one."""
    with pytest.raises(ValueError, match="inconsistent"):
        hinge.save(altered, file)
    monkeypatch.setattr("hinge.io.files.check_fitted", lambda model: None)
    hinge.save(altered, file)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="inconsistent"):
        hinge.load(file)
