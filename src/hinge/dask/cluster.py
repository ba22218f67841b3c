"""Connection to a Dask cluster: blocks on the workers, and reductions over them as trees of tasks.

The order of a reduction is fixed by the partitions. It does not depend on the number of workers, on the order in which
tasks end, or on lost workers; results are therefore bit-identical for the same partitions.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from dask.delayed import Delayed, delayed
from distributed import Client, Future, KilledWorker, default_client, futures_of
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError

from hinge.control import RunControl

FAN_IN = 8  # results that one task of a reduction merges
WORKER_PERIOD = 10.0  # seconds without a result after which the number of workers is checked
POLL_PERIOD = 0.05  # seconds between two checks of the deadline and of the interrupt flag

LOST = (CommClosedError, CancelledError, FutureCancelledError, asyncio.CancelledError, OSError)


class ClusterError(RuntimeError):
    """The cluster cannot compute a result: the scheduler is lost, or a task ends its worker again and again.

    Examples
    --------
    >>> from hinge.dask import ClusterError
    >>> issubclass(ClusterError, RuntimeError)
    True
    """


class Stopped(Exception):
    """The deadline has passed, or a signal was received, while a reduction was computed."""


#: (index of the partition, block, argument) → results, each None or an object with `merge`, the sum of two results.
PartitionFunction = Callable[[int, Any, Any], Sequence[Any]]


def active_client(client: Client | None) -> Client:
    """Return `client`, or the client that was created last."""
    if client is not None:
        if not isinstance(client, Client):
            raise TypeError(f"client={client!r} must be a distributed.Client, not {type(client).__name__}")
        return client
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "there is no Dask client; create one with `from distributed import Client; client = Client()` for this "
            "machine, or Client(address) for a cluster, and pass it as client= if it is not the default"
        ) from None


class Workers:
    """The blocks of a training set on the workers of a cluster.

    Parameters
    ----------
    client : Client
    tasks : sequence of Delayed
        One per partition; their results stay on the workers, which write them to disk if they exceed their memory.
    label : str
        Prefix of the names of all tasks.
    control : RunControl
    """

    def __init__(self, client: Client, tasks: Sequence[Delayed], label: str, control: RunControl) -> None:
        self.client = client
        self.label = label
        self.control = control
        self.rounds = 0
        self.warned = False
        self.blocks = client.persist(list(tasks), optimize_graph=False)

    def reduce(self, name: str, function: PartitionFunction, argument: Any, *, final: bool = False) -> list[Any]:
        """Return the merged results of `function` on all blocks.

        Parameters
        ----------
        name : str
            Name of the tasks on the dashboard.
        function : callable
        argument : object
            Sent to the workers once, as the result of a task.
        final : bool
            Whether the deadline is ignored: a last reduction for the certificate.

        Raises
        ------
        Stopped
        ClusterError
        """
        prefix = f"{self.label}-{name}-{self.rounds}"
        self.rounds += 1
        shared = delayed(_identity, pure=False)(argument, dask_key_name=f"{prefix}-argument")
        level = [
            delayed(function, pure=False)(i, block, shared, dask_key_name=f"{prefix}-{i}")
            for i, block in enumerate(self.blocks)
        ]
        depth = 0
        while len(level) > 1 or depth == 0:
            groups = [level[k : k + FAN_IN] for k in range(0, len(level), FAN_IN)]
            level = [
                delayed(_merge, pure=False)(group, dask_key_name=f"{prefix}-merge-{depth}-{k}")
                for k, group in enumerate(groups)
            ]
            depth += 1
        return self._wait(self.client.compute(level[0], optimize_graph=False), final)

    def _wait(self, future: Future, final: bool) -> Any:
        """Return the result of a future; cancel it at the deadline or when a signal is received."""
        waiting_since, done = time.monotonic(), threading.Event()
        future.add_done_callback(lambda _: done.set())
        try:
            while not done.wait(POLL_PERIOD):
                if self.control.interrupt is not None or (self.control.expired() and not final):
                    raise Stopped
                if self.client.status not in ("running", "connecting"):
                    raise CommClosedError
                if time.monotonic() - waiting_since > WORKER_PERIOD:
                    waiting_since = time.monotonic()
                    self._check_workers()
            return future.result()
        except KilledWorker as error:
            raise ClusterError(
                f"a task ended its worker several times ({error}); the worker probably ran out of memory: use smaller "
                "partitions, or workers with more memory"
            ) from error
        except LOST as error:
            raise ClusterError(
                "the connection to the Dask scheduler was lost; check that it is running, and fit again with a new "
                "client"
            ) from error
        finally:
            if self.client.status == "running":
                future.release()

    def _check_workers(self) -> None:
        """Warn once if the cluster has no workers: tasks wait until there are some."""
        if self.warned or self.client.scheduler_info()["workers"]:
            return
        self.warned = True
        warnings.warn(
            "the Dask cluster has no workers; fit waits until there are some. Start workers, or set max_time",
            RuntimeWarning,
            stacklevel=2,
        )

    def release(self) -> None:
        """Let the workers delete their blocks."""
        if self.client.status == "running":
            for future in futures_of(self.blocks):
                future.release()
        self.blocks = []


def unique_label(name: str) -> str:
    """Return a prefix for the names of the tasks of one fit."""
    return f"{name}-{uuid.uuid4().hex[:8]}"


# ---- tasks ----------------------------------------------------------------------------------------------------------


def _identity(value: Any) -> Any:
    return value


def _merge(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Merge the results of several partitions, in their order; None is the result of a partition without samples."""
    merged = list(parts[0])
    for part in parts[1:]:
        for k, value in enumerate(part):
            if merged[k] is None:
                merged[k] = value
            elif value is not None:
                merged[k] = merged[k].merge(value)
    return merged
