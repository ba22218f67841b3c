"""Several linear machines, one after another or side by side, and what is left of them when somebody stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from hinge.control import RunControl
from hinge.problems import LinearProblem, LinearSolution, Status, constant_function

#: Seconds between two looks at whether a signal has come, while other threads work.
POLL = 0.05

#: (machine, threads, control) → its solution.
Solve = Callable[[int, int, RunControl], LinearSolution]


def one_by_one(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, control: RunControl
) -> list[LinearSolution]:
    """One machine after another. Who is stopped keeps what there is: those not begun are constant functions."""
    found: list[LinearSolution | None] = [None] * len(problems)
    for k in range(len(problems)):
        solution = found[k] = solve(k, threads, control)  # ends at once where a signal came between two machines
        if solution.status is Status.INTERRUPTED:
            break
        if len(solution.history) and not control.report(solution.history.last()):
            break
    return _completed(found, problems, control)


def side_by_side(
    solve: Solve, problems: Sequence[LinearProblem], threads: int, control: RunControl
) -> list[LinearSolution]:
    """One machine per thread; Ctrl-C reaches the calling thread, which asks the others to stop and waits for them."""
    stop, one_at_a_time = threading.Event(), threading.Lock()  # monitors know nothing of threads
    machines = len(problems)
    share = max(1, threads // machines)

    def go_on(snapshot: dict[str, Any]) -> bool:
        with one_at_a_time:
            if not control.report(snapshot):
                stop.set()
        return not stop.is_set()

    def run(k: int) -> LinearSolution | None:
        solution = None if stop.is_set() else solve(k, share, control.with_callback(go_on))
        if solution is not None and solution.status is not Status.INTERRUPTED and len(solution.history):
            go_on(solution.history.last())
        return solution

    with ThreadPoolExecutor(min(threads, machines)) as pool:
        waiting = [pool.submit(run, k) for k in range(machines)]
        try:
            _wait(waiting, control)
        finally:  # a second Ctrl-C, too, must not wait for all of them
            if not all(future.done() for future in waiting):
                stop.set()
    return _completed([future.result() for future in waiting], problems, control)


def _wait(waiting: Sequence[Future[Any]], control: RunControl) -> None:
    """Until all are done, or one has failed, or a signal has come."""
    busy: Any = waiting
    while busy and control.interrupt is None:
        done, busy = wait(waiting, timeout=POLL, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            return


def _completed(
    found: Sequence[LinearSolution | None], problems: Sequence[LinearProblem], control: RunControl
) -> list[LinearSolution]:
    """Constant functions for those not begun; an interrupt is kept, for `fit` to raise when the model is in place."""
    solutions = [
        constant_function(problem, Status.INTERRUPTED) if solution is None else solution
        for solution, problem in zip(found, problems, strict=True)
    ]
    error = control.interrupt
    if error is None:
        return solutions
    return [replace(each, error=error) if each.status is Status.INTERRUPTED else each for each in solutions]
