"""Writing of files, completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from typing import IO

Path = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` once it is on disk, and is deleted after an error."""
    target = os.path.realpath(os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"path={os.fspath(path)!r} is not a regular file: pass the name of a file")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".hinge-{secrets.token_hex(8)}.tmp")
    with _named(path, temporary):
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


@contextlib.contextmanager
def _named(path: Path, temporary: str | None = None) -> Iterator[None]:
    """Give errors of the system, such as a full disk, the name of the file that the caller knows."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename in (None, temporary):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        raise


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing: a regular file is replaced as by `replacing`, a device or a pipe is written directly."""
    name = os.fspath(path)
    if name.startswith("/dev/") or (os.path.exists(name) and not os.path.isfile(name)):
        with _named(name), open(name, "wb") as file:
            yield file
    else:
        with replacing(name) as file:
            yield file


def _sync_folder(folder: str) -> None:
    """Make the rename durable, so that it survives a power failure, if the system supports this."""
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
