"""Record of the scores of a search in a file of JSON lines, so that a killed search can be continued.

The first line describes the search, each other line has the scores of a part, which are on disk before the next part
begins. An incomplete last line, which a
killed process can leave, is removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
import scipy.sparse as sp

from hinge.cli.datafile import Samples
from hinge.cli.failures import CommandError
from hinge.cli.output import plain

FORMAT, VERSION = "hinge grid", 1

#: A candidate and a fold.
Cell = tuple[int, int]

#: Score of a candidate on a fold, and the seconds of its fit.
Scores = dict[Cell, tuple[float, float]]


def fingerprint(samples: Samples) -> str:
    """Return a hash of the samples: a search is continued only with the same data."""
    X = samples.X
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    digest = hashlib.sha256(repr(X.shape).encode())
    for array in (*arrays, samples.y, samples.sample_weight, samples.query_id):
        if array is not None:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


class Record:
    """Scores in a file; without a file they are kept in memory only.

    Parameters
    ----------
    path : str or None
    search : dict
        Description of the search. A file of another search is an error.
    """

    def __init__(self, path: str | None, search: dict[str, Any]) -> None:
        self.path = path
        self.search = json.loads(json.dumps(plain(search)))
        self.scores: Scores = {}
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self.path is None:
            return self
        self._file = open(self.path, "a+b")
        try:
            self._read(self._file)
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, scores: Scores) -> None:
        """Store scores; they are on disk when this method returns."""
        self.scores |= scores
        self._append({"scores": [[*cell, *value] for cell, value in scores.items()]})

    def has(self, cells: Iterable[Cell]) -> bool:
        """Whether the scores of all these candidates and folds are known."""
        return all(cell in self.scores for cell in cells)

    def _read(self, file: IO[bytes]) -> None:
        file.seek(0)
        text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            if text and not text.startswith(b'{"format"'[: len(text)]):
                raise self._foreign()
            file.truncate(0)
            self._append({"format": FORMAT, "version": VERSION, "search": self.search})
            return
        try:
            head, *lines = [json.loads(line) for line in whole.splitlines()]
            is_record = head.get("format") == FORMAT and head.get("version") == VERSION
        except (ValueError, AttributeError):
            raise self._foreign() from None
        if not is_record:
            raise self._foreign()
        if head["search"] != self.search:
            reason = self._difference(head["search"])
            raise CommandError(f"{self.path} belongs to another search ({reason}): remove it, or use another file")
        for line in lines:
            for c, k, score, seconds in line["scores"]:
                self.scores[int(c), int(k)] = (float("nan") if score is None else float(score), float(seconds))
        file.truncate(len(whole))

    def _foreign(self) -> CommandError:
        return CommandError(f"{self.path} is not the record of a search: remove it, or use another file")

    def _difference(self, other: dict[str, Any]) -> str:
        names = [key for key in self.search if self.search[key] != other.get(key)]
        return f"different {', '.join(names)}" if names else "different options"

    def _append(self, line: dict[str, Any]) -> None:
        if self._file is None:
            return
        self._file.write(json.dumps(plain(line), allow_nan=False).encode("ascii") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
