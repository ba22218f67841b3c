"""Models in files: `save` and `load`.

A model file is an uncompressed ZIP archive: the entry `hinge.json`, and `0.npy`, `1.npy`, ... for the arrays.
`hinge.json` says what the file is and holds the machine as a tree (see `hinge.io.encode`):

    {"format": "hinge model", "version": 1, "hinge": "0.1.0", "class": "SVC",
     "parameters": {"C": {"float": "0x1.0000000000000p+0"}, ...}, "state": {"dual_coef_": {"array": 0}, ...}}

The same model gives the same bytes.  What reads ZIP, JSON and .npy reads the file; nothing in it is code.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from importlib import metadata
from typing import IO, Any

from hinge.io import archive
from hinge.io.decode import Decoder, expect
from hinge.io.encode import Encoder
from hinge.io.errors import FOREIGN, RESTORE, Flaw, ModelFileError
from hinge.io.estimators import check_fitted, check_whole, rebuild, split
from hinge.io.registry import ESTIMATORS, SAVED, WHOLE, name_of

FORMAT = "hinge model"
VERSION = 1

Path = str | os.PathLike[str]


def save(model: Any, path: Path) -> None:
    """Write a machine, fitted or not, a path, or what a search found, to a file that `load` reads.

    The file appears whole or not at all: a failure leaves what was there before.

    Parameters
    ----------
    model : estimator
        A machine of hinge, a path, a `GridResult`, a `CovariateShift` or a `DensityRatio`.
    path : str or path
        Where to; a file that is there is replaced.

    Raises
    ------
    TypeError
        If the machine holds something that only code can describe, such as a Python function as its kernel.

    Examples
    --------
    >>> import hinge, os, tempfile
    >>> model = hinge.SVC(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.hinge")
    >>> hinge.save(model, path)
    >>> hinge.load(path).predict([[0.5], [2.5]]).tolist()
    ['a', 'b']
    """
    name = name_of(type(model), {**ESTIMATORS, **WHOLE})  # the tests add classes
    if name is None:
        raise TypeError(f"model is a {type(model).__name__}; save writes {', '.join(sorted(SAVED))}")
    encoder = Encoder()
    parameters, state = ({}, {"path": model}) if name in WHOLE else split(model)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "hinge": _hinge_version(),
        "class": name,
        "parameters": {key: encoder.encode(parameters[key], key) for key in sorted(parameters)},
        "state": {key: encoder.encode(state[key], key) for key in sorted(state)},
    }
    try:
        check_fitted(model)
    except Exception as error:
        raise ValueError(f"the model is not whole ({error}): fit it again, or save a clone of it") from error
    text = archive.manifest_bytes(manifest)
    with replacing(path) as file:
        archive.write(file, text, encoder.arrays)


def load(path: Path) -> Any:
    """Read a machine that `save` wrote.  It predicts exactly what the saved one predicted.

    Loading runs no code from the file: it makes classes of hinge, of plain values that are checked first.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or was written by a newer hinge.
    OSError
        If there is no such file, or it may not be read.
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        try:
            return _read(file)
        except Flaw as flaw:
            raise ModelFileError(f"{name}: {flaw.what}; {flaw.remedy}") from flaw.__cause__
        except MemoryError:  # only what the file fills is allocated: it is as large as it says
            raise
        except Exception as error:  # ZIP and JSON have many ways to say that bytes make no sense
            reason = f"{type(error).__name__}: {error}"
            raise ModelFileError(f"{name}: the file is damaged ({reason[:200]}); {RESTORE}") from error


def _read(file: IO[bytes]) -> Any:
    with archive.Archive(file) as source:
        manifest = source.manifest()
        _check_version(manifest)  # before all else: a newer file may differ in everything else
        source.check_entries()
        model = _rebuild(manifest, Decoder(source.array))
        source.check_all_used()
    return model


def _check_version(manifest: dict[str, Any]) -> None:
    if manifest.get("format") != FORMAT:
        raise Flaw("it does not say that it is a model file", FOREIGN)
    version = expect(manifest.get("version"), int)
    if version > VERSION:
        writer = str(manifest.get("hinge"))[:40]
        raise Flaw(
            f"it was written by a newer hinge ({writer}, format version {version}, this one reads {VERSION})",
            "upgrade hinge",
        )
    if version < 1 or set(manifest) != {"format", "version", "hinge", "class", "parameters", "state"}:
        raise Flaw("its description has parts missing or too many")
    expect(manifest["hinge"], str)


def _rebuild(manifest: dict[str, Any], decoder: Decoder) -> Any:
    name = expect(manifest["class"], str)
    parameters, state = expect(manifest["parameters"], dict), expect(manifest["state"], dict)
    if name in WHOLE:
        return _rebuild_whole(parameters, state, decoder, WHOLE[name])
    return rebuild(name, parameters, state, decoder.decode)


def _rebuild_whole(parameters: dict[str, Any], state: dict[str, Any], decoder: Decoder, cls: Any) -> Any:
    if set(state) != {"path"} or parameters:
        raise Flaw(f"a {cls.__name__} has parts missing or too many")
    found = decoder.decode(state["path"])
    if type(found) is not cls:
        raise Flaw(f"it holds a {type(found).__name__} where a {cls.__name__} belongs")
    check_whole(found)
    return found


def _hinge_version() -> str:
    try:
        return metadata.version("hinge")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file that takes the place of `path` when all of it is on the disk, and disappears otherwise."""
    target = os.path.realpath(os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"path={os.fspath(path)!r} is not a regular file: give the name of a file to write")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".hinge-{secrets.token_hex(8)}.tmp")
    file = open(temporary, "xb")  # noqa: SIM115  (closed before it is renamed)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the renaming itself last through a power failure, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)
