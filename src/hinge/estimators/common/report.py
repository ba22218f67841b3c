"""What every machine says about its training: progress, how it ended, and a warning where it ended early."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hinge.estimators.common.progress import ProgressLine
from hinge.kernels import check_cache_size
from hinge.problems import Certificate, Status, combine
from hinge.solvers import Monitor
from hinge.validation import check_integer, check_number

#: A relative gap of so many tolerances is said, although the tolerance (of the KKT conditions) is met.
LOOSE = 20

#: A gap below that is the rounding error of an optimum that is zero, however large it is beside it.
ROUNDING = 1e-15


def proven_status(status: Status, certificates: Sequence[Certificate]) -> Status:
    """A certificate that is not a number proves nothing, whatever the solver says of itself."""
    numbers = [value for c in certificates for value in (c.primal, c.dual, c.gap)]
    return Status.NUMERICAL if status is Status.SOLVED and np.isnan(numbers).any() else status


class Reported:
    """Limits that are checked, and attributes that tell what came of them."""

    certificate_: Certificate
    n_iter_: Any
    tol: Any
    max_iter: Any
    max_time: Any
    n_jobs: Any
    cache_size: Any
    verbose: Any

    def _check_limits(self) -> None:
        """Tolerance, limits and threads: parameters that every machine has."""
        check_number("tol", self.tol, 0.0, open_low=True)
        check_integer("max_iter", self.max_iter, -1)
        if self.max_time is not None:
            check_number("max_time", self.max_time, 0.0, open_low=True)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31))
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 has no meaning; use 1, or -1 for all cores")
        check_cache_size(self.cache_size)

    @contextmanager
    def _progress(self) -> Iterator[Monitor | None]:
        """The monitor of a solver, for as long as it works; None where nobody asked to see it."""
        with ProgressLine(type(self).__name__) if self.verbose else nullcontext() as line:
            yield None if line is None else line.update

    def _tell(self, solutions: Sequence[Any], certificates: Sequence[Certificate]) -> None:
        """Attributes that say how training went."""
        self.certificates_ = list(certificates)
        self.certificate_ = combine(certificates)
        self.status_ = proven_status(max(solution.status for solution in solutions), certificates)
        self._error = next((s.error for s in solutions if s.error is not None), None)
        histories = [solution.history for solution in solutions]
        self.history_ = histories[0] if len(histories) == 1 else histories
        self.n_iter_ = self._iterations(np.array([s.iterations for s in solutions], dtype=np.int32))

    def _iterations(self, counts: NDArray[np.int32]) -> Any:
        """`n_iter_` of several machines."""
        return int(np.max(counts))

    def _iteration_limit(self) -> int | None:
        return int(self.max_iter)

    def _check_end(self) -> None:
        """An error for ends that no model can come from."""

    def _is_loose(self) -> bool:
        """Whether the gap is large although the tolerance, which is not one of the gap, is met."""
        limit = LOOSE * max(self.tol, 1e-3)
        return bool(self.certificate_.gap > ROUNDING and limit < self.certificate_.relative_gap < np.inf)

    def _reason(self) -> str:
        """Why the solver ended before it was done."""
        limit = self._iteration_limit()
        if self.status_ is Status.MAX_ITER and (limit is None or limit < 0):
            return f"The solver gave up after {np.max(self.n_iter_)} steps."
        return {
            Status.MAX_ITER: f"Solver terminated early (max_iter={limit}).",
            Status.TIME_LIMIT: f"Solver terminated early (max_time={self.max_time} s).",
            Status.NUMERICAL: f"Rounding errors stopped the solver before tol={self.tol:g}.",
            Status.INTERRUPTED: "Solver was stopped by its monitor.",
        }[self.status_]

    def _finish(self) -> Self:
        """Warn about a solver that stopped early; raise what interrupted it, now that the model is in place."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        self._check_end()
        if self.status_ is not Status.SOLVED:
            warnings.warn(
                f"{self._reason()}  Consider pre-processing your data with StandardScaler or MinMaxScaler, or "
                "increase the limit. It failed to converge: the model is kept, and the relative duality gap reached is "
                f"{self.certificate_.relative_gap:.2g}.",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif self._is_loose():
            warnings.warn(
                f"The optimality conditions hold to tol={self.tol:g}, but the relative duality gap is above "
                f"{LOOSE * max(self.tol, 1e-3):.2g} (see certificate_). For a smaller gap use a smaller tol; where "
                "that takes long, pre-process your data with StandardScaler or MinMaxScaler, or use a smaller C.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return self
