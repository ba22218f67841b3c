"""Model files: `save` and `load`.

A model file is an uncompressed ZIP archive with the entry `hinge.json` and an entry `0.npy`, `1.npy`, ... per array.
`hinge.json` identifies the format and describes the estimator as a tree (see `hinge.io.encode`):

    {"format": "hinge model", "version": 1, "hinge": "0.1.0", "class": "SVC",
     "parameters": {"C": {"float": "0x1.0000000000000p+0"}, ...}, "state": {"dual_coef_": {"array": 0}, ...}}

Equal models give equal bytes. The file can be read with any ZIP, JSON and .npy reader. It contains no code.
"""

from __future__ import annotations

import os
from typing import IO, Any

from hinge import _core
from hinge.io import archive
from hinge.io.decode import Decoder, expect
from hinge.io.encode import Encoder
from hinge.io.errors import FOREIGN, RESTORE, Flaw, ModelFileError
from hinge.io.estimators import check_fitted, check_whole, rebuild, split
from hinge.io.registry import SAVED, WHOLE, estimator_name, name_of
from hinge.io.replacement import Path, replacing

FORMAT = "hinge model"
VERSION = 1


def save(model: Any, path: Path) -> None:
    """Save an estimator (fitted or not), a path or the result of a search to a file.

    The file is written completely or not at all: after a failure an existing file is unchanged.

    Parameters
    ----------
    model : estimator
        An estimator of hinge, a path or a model taken from it, a `GridResult`, a `CovariateShift` or a `DensityRatio`;
        or a `Pipeline`, a `ColumnTransformer`, or another class of scikit-learn that the user guide lists: scalers,
        encoders, imputers, selectors, PCA.
    path : str or path
        Name of the file; an existing file is replaced.

    Raises
    ------
    TypeError
        If the estimator holds an object that cannot be saved without code, such as a Python function as its kernel, or
        a step of an unknown class, which the message names.

    Examples
    --------
    >>> import hinge, os, tempfile
    >>> model = hinge.SVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.hinge")
    >>> hinge.save(model, path)
    >>> hinge.load(path).predict([[0.5], [2.5]]).tolist()
    ['a', 'b']
    """
    name = estimator_name(type(model)) or name_of(type(model), WHOLE)
    if name is None:
        raise TypeError(f"model is a {type(model).__name__}; save writes {', '.join(sorted(SAVED))}")
    encoder = Encoder()
    parameters, state = ({}, {"path": model}) if name in WHOLE else split(model)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "hinge": _core.VERSION,
        "class": name,
        "parameters": {key: encoder.encode(parameters[key], key) for key in sorted(parameters)},
        "state": {key: encoder.encode(state[key], key) for key in sorted(state)},
    }
    try:
        check_fitted(model)
    except Exception as error:
        raise ValueError(f"the fitted attributes are inconsistent ({error}): fit again, or save a clone") from error
    text = archive.manifest_bytes(manifest)
    with replacing(path) as file:
        archive.write(file, text, encoder.arrays)


def load(path: Path) -> Any:
    """Load an object that `save` wrote. Its predictions are bit-identical to those of the saved object.

    Loading runs no code from the file: it creates only known classes, from values that are checked first.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer version of hinge.
    OSError
        If the file does not exist or cannot be read.

    Examples
    --------
    >>> import hinge
    >>> model = hinge.SVC().fit([[0.0], [1.0]], [0, 1])
    >>> hinge.save(model, "model.hinge")
    >>> hinge.load("model.hinge").predict([[0.9]])
    array([1])
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        try:
            return _read(file)
        except Flaw as flaw:
            raise ModelFileError(f"{name}: {flaw.what}; {flaw.remedy}") from flaw.__cause__
        except MemoryError:  # the file really is that large: nothing beyond its size is allocated
            raise
        except Exception as error:  # zipfile and json raise many kinds of exceptions for damaged input
            reason = f"{type(error).__name__}: {error}"
            raise ModelFileError(f"{name}: the file is damaged ({reason[:200]}); {RESTORE}") from error


def _read(file: IO[bytes]) -> Any:
    with archive.Archive(file) as source:
        manifest = source.manifest()
        _check_version(manifest)  # first: files of a newer version may differ in everything else
        source.check_entries()
        model = _rebuild(manifest, Decoder(source.array))
        source.check_all_used()
    return model


def _check_version(manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise Flaw("it is not marked as a model file", FOREIGN)
    version = expect(manifest.get("version"), int)
    if version > VERSION:
        writer = str(manifest.get("hinge"))[:40]
        raise Flaw(
            f"it was written by a newer hinge ({writer}, format version {version}, this one reads {VERSION})",
            "upgrade hinge",
        )
    if version < 1 or set(manifest) != {"format", "version", "hinge", "class", "parameters", "state"}:
        raise Flaw("its description has missing or unknown keys")
    expect(manifest["hinge"], str)


def _rebuild(manifest: dict[str, Any], decoder: Decoder) -> Any:
    parts = manifest["class"], manifest["parameters"], manifest["state"]
    if tuple(map(type, parts)) != (str, dict, dict):
        raise Flaw("its description has values of types that hinge does not write")
    name, parameters, state = parts
    if name in WHOLE:
        return _rebuild_whole(parameters, state, decoder, WHOLE[name])
    return rebuild(name, parameters, state, decoder.decode)


def _rebuild_whole(parameters: dict[str, Any], state: dict[str, Any], decoder: Decoder, cls: Any) -> Any:
    if set(state) != {"path"} or parameters:
        raise Flaw(f"a {cls.__name__} has missing or unknown keys")
    result = decoder.decode(state["path"])
    if type(result) is not cls:
        raise Flaw(f"it holds a {type(result).__name__} where a {cls.__name__} is required")
    check_whole(result)
    return result
