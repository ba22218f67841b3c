"""Numbers of threads: `n_jobs` of estimators and functions, with the meaning that joblib defines.

joblib is consulted only in programs that have loaded it: its import takes longer than many fits, and nothing has
configured it before. scikit-learn loads it, but the command line postpones that (`hinge.cli.startup`).
"""

from __future__ import annotations

import math
import os
import sys

#: Limit of the processor time of a group of processes in Linux: microseconds per period, or "max", and the period.
CPU_LIMIT = "/sys/fs/cgroup/cpu.max"

#: The two numbers in the first version of control groups; negative means unlimited.
OLD_CPU_LIMIT = ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us")


def effective_n_jobs(n_jobs: int | None = None) -> int:
    """Return the number of threads that `n_jobs` stands for.

    Parameters
    ----------
    n_jobs : int or None
        A positive number of threads; −1 for all processors, −2 for all but one, and so on; None for one thread, or
        for what `joblib.parallel_config` sets.

    Examples
    --------
    >>> from hinge.threads import effective_n_jobs
    >>> effective_n_jobs(2)
    2
    """
    joblib = sys.modules.get("joblib")
    if joblib is not None and "effective_n_jobs" in vars(joblib):
        return int(joblib.effective_n_jobs(n_jobs))
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning: pass a number of threads, or -1 for all processors")
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, processors() + 1 + n_jobs)


def processors() -> int:
    """Return the number of processors that the process may use, as `joblib.cpu_count`."""
    count = os.cpu_count() or 1
    limits = [count, int(os.environ.get("LOKY_MAX_CPU_COUNT", count)), _limit_of_group(count)]
    if hasattr(os, "sched_getaffinity"):
        limits.append(len(os.sched_getaffinity(0)))
    return max(1, min(limits))


def _limit_of_group(count: int) -> int:
    words = _read(CPU_LIMIT).split()
    if len(words) != 2:
        words = [_read(name).strip() for name in OLD_CPU_LIMIT]
    try:
        limit, period = map(int, words)
    except ValueError:  # "max", or the files do not exist
        return count
    return math.ceil(limit / period) if limit > 0 and period > 0 else count


def _read(name: str) -> str:
    try:
        with open(name, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""
