"""Archives made by hand, and what must become of them."""

import io
import json
import re
import zipfile

import numpy as np
import pytest

import hinge
from hinge.io import ModelFileError


def npy(array, **header):
    """The bytes of an array, with a header that lies."""
    stream = io.BytesIO()
    truth = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(stream, {**truth, **header})
    return stream.getvalue() + array.tobytes()


def forge(path, manifest=None, entries=(), compression=zipfile.ZIP_STORED, **parts):
    """Write an archive with a manifest of one's own."""
    honest = {"format": "hinge model", "version": 1, "hinge": "0", "class": "Carrier"}
    honest.update({"parameters": {}, "state": {}})
    text = json.dumps({**honest, **parts}) if manifest is None else manifest
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("hinge.json", text)
        for name, content in entries:
            file.writestr(name, content)


def refused(path, message=None):
    with pytest.raises(ModelFileError, match=message) as caught:
        hinge.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert re.search(r"; (restore|load reads only|upgrade)", str(caught.value))


def assert_altered_is_refused(altered, file, monkeypatch):
    """Neither written nor, where somebody else wrote it, read."""
    with pytest.raises(ValueError, match="inconsistent"):
        hinge.save(altered, file)
    monkeypatch.setattr("hinge.io.files.check_fitted", lambda model: None)
    hinge.save(altered, file)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="altered"):
        hinge.load(file)
