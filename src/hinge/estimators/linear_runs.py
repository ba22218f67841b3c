"""Several linear machines, one after another or side by side, and what is left of them when somebody stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from hinge.problems import LinearProblem, LinearSolution, Status, constant_function
from hinge.solvers import Monitor

#: (machine, threads, monitor) → its solution.
Solve = Callable[[int, int, Monitor | None], LinearSolution]


def one_by_one(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, show: Monitor | None
) -> list[LinearSolution]:
    """One machine after another. Who is stopped keeps what there is: those not begun are constant functions."""
    found: list[LinearSolution | None] = [None] * len(problems)
    try:
        for k in range(len(problems)):
            solution = found[k] = solve(k, threads, show)
            if solution.status is Status.INTERRUPTED:
                break
            if show is not None and len(solution.history):
                show(solution.history.last())
    except KeyboardInterrupt as error:  # between two machines
        if found[0] is None:
            raise
        return _completed(found, problems, error)
    return _completed(found, problems, None)


def side_by_side(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, monitor: Monitor | None
) -> list[LinearSolution]:
    """One machine per thread; Ctrl-C reaches the calling thread, which asks the others to stop and waits for them."""
    stop = threading.Event()

    machines = len(problems)
    interrupt: BaseException | None = None
    share = max(1, threads // machines)

    def go_on(snapshot: dict[str, Any]) -> bool:
        if monitor is not None and monitor(snapshot) is False:
            stop.set()
        return not stop.is_set()

    def run(k: int) -> LinearSolution | None:
        return None if stop.is_set() else solve(k, share, go_on)

    with ThreadPoolExecutor(min(threads, machines)) as pool:
        waiting = [pool.submit(run, k) for k in range(machines)]
        try:
            for future in waiting:
                future.result()
        except BaseException as error:
            stop.set()
            for future in waiting:
                future.cancel()
            if not isinstance(error, KeyboardInterrupt):
                raise
            interrupt = error
    return _completed([_result(future) for future in waiting], problems, interrupt)


def _result(future: Future[LinearSolution | None]) -> LinearSolution | None:
    return None if future.cancelled() else future.result()


def _completed(
    found: Sequence[LinearSolution | None], problems: Sequence[LinearProblem], interrupt: BaseException | None
) -> list[LinearSolution]:
    """Constant functions for those not begun; the interrupt is kept, for `fit` to raise when the model is in place."""
    solutions = [
        constant_function(problem, Status.INTERRUPTED) if solution is None else solution
        for solution, problem in zip(found, problems, strict=True)
    ]
    if interrupt is not None:
        solutions[-1] = replace(solutions[-1], status=Status.INTERRUPTED, error=interrupt)
    return solutions
