"""Progress lines of readers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hinge.control import Counter

#: Bytes of a megabyte, the unit of the progress line.
MEGABYTE = 1_000_000

#: Called with an open file whose position is the number of bytes that were read.
Watch = Callable[[Any], None]


@contextmanager
def reading(name: str) -> Iterator[Watch]:
    """Show a progress line with the megabytes of a file that were read; yield a function that is called after reads."""
    from hinge.estimators.common.progress import ProgressLine  # local: estimators are not needed to read files

    counters: list[Counter] = []
    began = time.monotonic()
    with ProgressLine(f"reading {os.path.basename(name)}") as line:

        def watch(file: Any) -> None:
            try:
                position, size = file.seek(0, os.SEEK_CUR), os.fstat(file.fileno()).st_size
            except OSError:  # a pipe, or a file in memory
                return
            if not counters:
                counters.append(Counter(line.update, -(-size // MEGABYTE), "MB"))
                counters[0].start = began
            counters[0].advance(-(-position // MEGABYTE) - counters[0].done)

        yield watch
