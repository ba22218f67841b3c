"""Writing of files, completely or not at all.

A file is written without a name (O_TMPFILE) where the system supports this, so that nothing remains of it if the
process is killed. It receives a temporary name only when it is complete and on disk, and then replaces its target by a
rename. Elsewhere it has a temporary name from the start. A temporary file that was left by a killed process is not
locked; it is removed by the next call for a file in the same directory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # not a POSIX system: temporary files cannot be locked, and stale ones are not removed
    fcntl = None  # type: ignore[assignment]

Path = str | os.PathLike[str]

_TEMPORARY = re.compile(r"\.hinge-[0-9a-f]{16}\.tmp")

#: Errors of file systems without unnamed files, and without /proc to give them a name.
_UNSUPPORTED = (errno.EISDIR, errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL, errno.EXDEV, errno.EPERM)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces `path` once it is on disk, and is deleted after an error.

    The new file has the permissions of the one that it replaces, and its owner and group if the system allows this.
    """
    target = os.path.realpath(os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise ValueError(f"path={os.fspath(path)!r} is not a regular file: pass the name of a file")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".hinge-{secrets.token_hex(8)}.tmp")
    with _named(path, temporary):
        try:
            with _open_new(folder, temporary, _status(target)) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if not os.path.lexists(temporary):
                    _give_name(file.fileno(), temporary)
                os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    sync_folder(folder)
    remove_stale(folder)


def _status(target: str) -> os.stat_result | None:
    try:
        return os.stat(target)
    except FileNotFoundError:
        return None


def _open_new(folder: str, temporary: str, replaced: os.stat_result | None) -> IO[bytes]:
    """Open a new file without a name, or with the temporary name, and lock it."""
    mode = 0o666 if replaced is None else 0o600  # the umask applies; the mode of the replaced file is set below
    file = _open_unnamed(folder, mode)
    if file is None:
        file = open(temporary, "x+b", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115
    try:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # some network file systems have no locks
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if replaced is not None and hasattr(os, "fchmod"):
            with contextlib.suppress(OSError):
                os.fchown(file.fileno(), replaced.st_uid, replaced.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(replaced.st_mode))
    except BaseException:
        file.close()
        raise
    return file


def _open_unnamed(folder: str, mode: int) -> IO[bytes] | None:
    """Open a file without a name; None if the system cannot do this, or could not give it a name later."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:  # the file object owns the descriptor from the start: an interrupt at any time closes it once
        return open(folder, "w+b", opener=lambda name, _: os.open(name, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, mode))
    except OSError as error:
        if error.errno in _UNSUPPORTED and os.path.isdir(folder):
            return None
        raise


def _give_name(descriptor: int, path: str) -> None:
    """Give a name to a file without one."""
    folder = os.open("/proc/self/fd", os.O_RDONLY)
    try:  # os.link follows the symbolic link of /proc only if a directory is given
        os.link(str(descriptor), path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def remove_stale(folder: str) -> None:
    """Remove temporary files of processes that were killed: those without a lock."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if _TEMPORARY.fullmatch(entry):
                _remove_unlocked(os.path.join(folder, entry))


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _named(path: Path, temporary: str | None = None) -> Iterator[None]:
    """Give errors of the system, such as a full disk, the name of the file that the caller knows."""
    try:
        yield
    except OSError as error:
        hidden = (None, temporary, os.path.dirname(temporary) if temporary else None)
        if error.errno is not None and error.filename in hidden:
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


def sync_folder(folder: str) -> None:
    """Make a rename durable, so that it survives a power failure, if the system supports this."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a directory that may be written but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(descriptor)
