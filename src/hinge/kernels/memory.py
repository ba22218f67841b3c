"""Memory budget for kernel rows: a number of megabytes, or a fraction of the free memory.

Free memory is MemAvailable, or less if a control group (of a container or a batch job) has a lower limit.
"""

from __future__ import annotations

import os
from functools import cache

from hinge.validation import check_cache_size

AUTO_FRACTION = 0.5  # of the free memory that "auto" uses
FALLBACK_BYTES = 1 << 30  # assumed to be free if the system does not report it
MIN_AUTO_BYTES = 1 << 24  # "auto" uses at least this
MEGABYTE = 1 << 20


def cache_bytes(cache_size: float | str) -> int:
    """Convert ``cache_size`` to bytes: megabytes, or "auto" for half of the memory that is free now."""
    check_cache_size(cache_size)
    if isinstance(cache_size, str):
        return max(MIN_AUTO_BYTES, int(AUTO_FRACTION * available_bytes()))
    return int(cache_size * MEGABYTE)


def available_bytes() -> int:
    """Return the number of bytes that this process could still allocate."""
    limits = [free for group in _groups() if (free := _group_free(*group)) is not None]
    return max(0, min([_system_free(), *limits]))


def _system_free() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return FALLBACK_BYTES


def _group_free(limit_file: str, usage_file: str, statistics_file: str) -> int | None:
    """Return limit minus usage, where file pages that can be dropped do not count; None if there is no limit."""
    try:
        limit, usage = int(_read(limit_file)), int(_read(usage_file))
    except ValueError:  # "max", or no such file
        return None
    if limit >= 1 << 60:  # version 1 writes a huge number for "unlimited"
        return None
    for line in _read(statistics_file).splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            usage -= int(value)
    return limit - usage


@cache
def _groups() -> tuple[tuple[str, str, str], ...]:
    """Return the files of the memory control groups that limit this process, from its own group up to the root."""
    version1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
    version2 = ("memory.max", "memory.current", "memory.stat")
    names = {"": ("/sys/fs/cgroup", version2), "memory": ("/sys/fs/cgroup/memory", version1)}
    found = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        controller = "memory" if "memory" in controllers.split(",") else controllers
        if controller not in names:
            continue
        root, files = names[controller]
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            folder = "/".join([root, *parts[:depth]])
            limit, usage, statistics = (f"{folder}/{file}" for file in files)
            if _group_free(limit, usage, statistics) is not None:
                found.append((limit, usage, statistics))
    return tuple(found)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
