"""Warm starts from the last fit, and between the clones of an estimator in a parameter search.    LwK 10.1.2

With ``warm_start=True`` an estimator keeps its last solution in `_last_solution` and starts the next fit from it, if
the subproblems have the same numbers of variables. With ``warm_start="rescale"`` it starts from α C′/C. Clones of the
estimator share solutions through `_shared_solutions`. The next value of C on the same fold and with the same kernel
then starts from the solution of the previous one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.estimators.common.validation import TrainingData, n_rows
from hinge.problems import Array, Solution

#: Limits on the solutions that clones share (one per data set and kernel). Beyond them the oldest are removed.
MAX_SHARED = 64
MAX_SHARED_BYTES = 64 << 20

#: Number of rows of X that identify a data set. A wrong match only costs iterations, because the solver converges from
#: any start.
KEY_ROWS = 64


class SharedWarmStarts:
    """Solutions by data set and kernel, shared by all clones of an estimator in one process."""

    def __init__(self) -> None:
        self._solutions: OrderedDict[Any, WarmStart] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[SharedWarmStarts], tuple[()]]:
        return SharedWarmStarts, ()  # solutions are not pickled

    def __len__(self) -> int:
        return len(self._solutions)

    def get(self, key: Any) -> WarmStart | None:
        """The last solution that was stored under this key."""
        with self._lock:
            return self._solutions.get(key)

    def put(self, key: Any, solution: WarmStart) -> None:
        """Store a solution; remove the oldest ones beyond the limits."""
        with self._lock:
            self._solutions[key] = solution
            self._solutions.move_to_end(key)
            while len(self._solutions) > MAX_SHARED or self._nbytes() > MAX_SHARED_BYTES:
                self._solutions.popitem(last=False)

    def _nbytes(self) -> int:
        return sum(solution.nbytes for solution in self._solutions.values())


@dataclass(frozen=True)
class WarmStart:
    """The variables of every subproblem at the end of a fit, and their upper bounds."""

    alpha: list[Array]
    upper: list[Array]

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in (*self.alpha, *self.upper))

    def fits(self, upper: Sequence[Array]) -> bool:
        """Whether subproblems with these upper bounds have the same numbers of variables."""
        return [array.shape for array in self.upper] == [array.shape for array in upper]

    def adapted_to(self, upper: Sequence[Array], rescale: bool = False) -> list[Array | None]:
        """The variables for other bounds: those at the old bound move to the new one, the others are clipped to it.

        `rescale`: all are multiplied by the ratio of the bounds, C′/C, which preserves Σ yᵢαᵢ = 0.         LwK 10.1.2
        """
        if rescale:
            return [_rescaled(a, old, new) for a, old, new in zip(self.alpha, self.upper, upper, strict=True)]
        triples = zip(self.alpha, self.upper, upper, strict=True)
        return [np.where(a >= old, np.where(np.isfinite(new), new, a), np.minimum(a, new)) for a, old, new in triples]


def _rescaled(alpha: Array, old: Array, new: Array) -> Array:
    """Return α C′/C; variables without finite bounds are not changed."""
    possible = np.isfinite(old) & np.isfinite(new) & (old > 0)
    ratio = np.where(possible, new, 1.0) / np.where(possible, old, 1.0)
    return np.minimum(alpha * ratio, new)


def initial_points(
    estimator: Any, data: TrainingData, kernel: Any, upper: Sequence[Array]
) -> list[Array | None] | None:
    """Return the last solution of the estimator or of its clones, adapted to the new upper bounds, or None."""
    last: WarmStart | None = estimator._last_solution
    if estimator._shared_solutions is not None and (last is None or not last.fits(upper)):
        last = estimator._shared_solutions.get(_key(estimator, data, kernel))
    if last is None or not last.fits(upper):
        return None
    return last.adapted_to(upper, estimator.warm_start == "rescale")


def remember_solutions(
    estimator: Any, data: TrainingData, kernel: Any, upper: Sequence[Array], solutions: Sequence[Solution]
) -> None:
    """Keep the solutions for the next fit, and share them with the clones of the estimator."""
    last = estimator._last_solution = WarmStart([s.alpha for s in solutions], list(upper))
    if estimator._shared_solutions is not None:
        estimator._shared_solutions.put(_key(estimator, data, kernel), last)


def forget_solutions(estimator: Any) -> None:
    """Remove the solutions of earlier fits with warm starts: they need memory and are written to model files."""
    del estimator._last_solution


def share_warm_starts(estimator: Any, copy: Any) -> None:
    """Let a clone share the solutions of the estimator, if both use warm starts."""
    if estimator.warm_start:
        if estimator._shared_solutions is None:
            estimator._shared_solutions = SharedWarmStarts()
        copy._shared_solutions = estimator._shared_solutions


def _key(estimator: Any, data: TrainingData, kernel: Any) -> Any:
    """Return a key for the class of the estimator, the kernel and the data, which are identified by some rows."""
    X, n = data.X, n_rows(data.X)
    rows = slice(None, None, max(1, n // KEY_ROWS))
    values = X[rows].data if sp.issparse(X) and X.format == "csr" else None
    values = X[rows] if isinstance(X, np.ndarray) else values
    content = b"" if values is None else np.ascontiguousarray(values).tobytes()
    return type(estimator).__name__, repr(kernel), n, hash(np.asarray(data.y).tobytes()), hash(content)
