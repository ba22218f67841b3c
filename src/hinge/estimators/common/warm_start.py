"""Warm starts: from the last fit, and between the clones that a search makes of one estimator.    LwK 10.1.2"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from hinge.estimators.common.data import Data, length
from hinge.problems import Array, Solution

#: The last solutions of so many pairs of a data set and a kernel are remembered for other clones, in so many bytes.
REMEMBERED = 64
REMEMBERED_BYTES = 64 << 20

#: Rows by which a data set is recognised.  A mistake costs steps, nothing else: a start is only a start.
LOOKED_AT = 64


class SharedWarmStarts:
    """Solutions by data set and kernel, for all clones of an estimator in this process."""

    def __init__(self) -> None:
        self._found: OrderedDict[Any, WarmStart] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[SharedWarmStarts], tuple[()]]:
        return SharedWarmStarts, ()  # another process, or a file, begins with none

    def get(self, key: Any) -> WarmStart | None:
        with self._lock:
            return self._found.get(key)

    def put(self, key: Any, stand: WarmStart) -> None:
        with self._lock:
            self._found[key] = stand
            self._found.move_to_end(key)
            while len(self._found) > REMEMBERED or sum(s.nbytes for s in self._found.values()) > REMEMBERED_BYTES:
                self._found.popitem(last=False)


@dataclass(frozen=True)
class WarmStart:
    """Where the variables of every machine ended, and their upper bounds."""

    alpha: list[Array]
    upper: list[Array]

    @property
    def nbytes(self) -> int:
        """Memory it takes."""
        return sum(each.nbytes for each in (*self.alpha, *self.upper))

    def fits(self, upper: Sequence[Array]) -> bool:
        """Whether other bounds are for as many variables."""
        return [each.shape for each in self.upper] == [each.shape for each in upper]

    def adapted_to(self, upper: Sequence[Array]) -> list[Array | None]:
        """The same with other bounds: who was at the bound goes to the new one, the others stay if they can."""
        triples = zip(self.alpha, self.upper, upper, strict=True)
        return [np.where(a >= old, np.where(np.isfinite(new), new, a), np.minimum(a, new)) for a, old, new in triples]


class WarmStartMixin:
    """What `warm_start` does: a fit begins where the last one ended.

    A search fits clones. With `warm_start` they share their solutions, so that the next value of C on the same fold
    and with the same kernel begins where the last one ended.
    """

    _stand: WarmStart | None = None
    _shared: SharedWarmStarts | None = None
    _transient: ClassVar[tuple[str, ...]] = ("_shared",)

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        if getattr(self, "warm_start", False):
            self._shared = copy._shared = self._shared or SharedWarmStarts()
        return copy

    def _warm_starts(self, data: Data, kernel: Any, upper: Sequence[Array]) -> list[Array | None]:
        """The last solution, moved to the new bounds, where `warm_start` asks for it and it still fits."""
        stand = self._stand if self.warm_start else None  # type: ignore[attr-defined]
        if self.warm_start and self._shared is not None and (stand is None or not stand.fits(upper)):  # type: ignore[attr-defined]
            stand = self._shared.get(self._key(data, kernel))
        return stand.adapted_to(upper) if stand is not None and stand.fits(upper) else [None] * len(upper)

    def _remember(self, data: Data, kernel: Any, upper: Sequence[Array], solutions: Sequence[Solution]) -> None:
        self._stand = WarmStart([s.alpha for s in solutions], list(upper)) if self.warm_start else None  # type: ignore[attr-defined]
        if self._stand is not None and self._shared is not None:
            self._shared.put(self._key(data, kernel), self._stand)

    def _key(self, data: Data, kernel: Any) -> Any:
        n = length(data.X)
        rows = slice(None, None, max(1, n // LOOKED_AT))
        values = data.X[rows].data if sp.issparse(data.X) and data.X.format == "csr" else None
        values = data.X[rows] if isinstance(data.X, np.ndarray) else values
        seen = b"" if values is None else np.ascontiguousarray(values).tobytes()
        return type(self).__name__, repr(kernel), n, hash(np.asarray(data.y).tobytes()), hash(seen)
