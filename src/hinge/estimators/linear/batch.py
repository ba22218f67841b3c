"""Several linear machines, one after another or side by side, and what is left of them when somebody stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from hinge.control import heard
from hinge.problems import LinearProblem, LinearSolution, Status, constant_function
from hinge.solvers import Monitor

#: Seconds between two looks at whether a signal has come, while other threads work.
POLL = 0.05

#: (machine, threads, monitor) → its solution.
Solve = Callable[[int, int, Monitor | None], LinearSolution]


def one_by_one(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, show: Monitor | None
) -> list[LinearSolution]:
    """One machine after another. Who is stopped keeps what there is: those not begun are constant functions."""
    found: list[LinearSolution | None] = [None] * len(problems)
    for k in range(len(problems)):
        solution = found[k] = solve(k, threads, show)  # ends at once where a signal came between two machines
        if solution.status is Status.INTERRUPTED:
            break
        if show is not None and len(solution.history) and show(solution.history.last()) is False:
            break
    return _completed(found, problems)


def side_by_side(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, show: Monitor | None
) -> list[LinearSolution]:
    """One machine per thread; Ctrl-C reaches the calling thread, which asks the others to stop and waits for them."""
    stop, one_at_a_time = threading.Event(), threading.Lock()  # monitors know nothing of threads
    machines = len(problems)
    share = max(1, threads // machines)

    def go_on(snapshot: dict[str, Any]) -> bool:
        if show is not None:
            with one_at_a_time:
                if show(snapshot) is False:
                    stop.set()
        return not stop.is_set()

    def run(k: int) -> LinearSolution | None:
        solution = None if stop.is_set() else solve(k, share, go_on)
        if solution is not None and solution.status is not Status.INTERRUPTED and len(solution.history):
            go_on(solution.history.last())
        return solution

    with ThreadPoolExecutor(min(threads, machines)) as pool:
        waiting = [pool.submit(run, k) for k in range(machines)]
        try:
            _wait_or_hear(waiting)
        finally:  # a second Ctrl-C, too, must not wait for all of them
            if not all(future.done() for future in waiting):
                stop.set()
    return _completed([future.result() for future in waiting], problems)


def _wait_or_hear(waiting: Sequence[Future[Any]]) -> None:
    """Until all are done, or one has failed, or a signal has come."""
    busy: Any = waiting
    while busy and heard() is None:
        done, busy = wait(waiting, timeout=POLL, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            return


def _completed(
    found: Sequence[LinearSolution | None], problems: Sequence[LinearProblem]
) -> list[LinearSolution]:
    """Constant functions for those not begun; an interrupt is kept, for `fit` to raise when the model is in place."""
    solutions = [
        constant_function(problem, Status.INTERRUPTED) if solution is None else solution
        for solution, problem in zip(found, problems, strict=True)
    ]
    error = heard()
    if error is None:
        return solutions
    return [replace(each, error=error) if each.status is Status.INTERRUPTED else each for each in solutions]
