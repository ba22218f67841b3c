"""Solving several linear problems, in order or in parallel, and the solutions that remain when a run is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from hinge.control import RunControl
from hinge.problems import Array, LinearProblem, LinearSolution, Status, constant_function

#: Seconds between two checks of the interrupt flag while other threads solve.
POLL_PERIOD = 0.05

#: (problem, initial dual point, control) → solution.
Solve = Callable[[LinearProblem, Array | None, RunControl], LinearSolution]


def report_end(solution: LinearSolution, control: RunControl) -> bool:
    """Report the last snapshot of a run; False if the callback asks to stop."""
    return control.callback is None or not len(solution.history) or control.report(solution.history.last())


def solve_in_order(
    solve: Solve, problems: Sequence[LinearProblem], starts: Sequence[Array | None], control: RunControl
) -> list[LinearSolution]:
    """Solve the problems one after the other, until a run is interrupted or the callback returns False."""
    solutions: list[LinearSolution] = []
    for problem, start in zip(problems, starts, strict=True):
        solution = solve(problem, start, control)  # returns at once if the interrupt flag was set before
        solutions.append(solution)
        if solution.status is Status.INTERRUPTED or not report_end(solution, control):
            break
    return _complete(solutions, problems, control)


def solve_in_parallel(
    solve: Solve,
    problems: Sequence[LinearProblem],
    starts: Sequence[Array | None],
    threads: int,
    control: RunControl,
) -> list[LinearSolution]:
    """Solve every problem in a task of a thread pool.

    The calling thread receives Ctrl-C, stops the other threads and waits for them. Calls of the callback do not
    overlap; if it returns False, all runs stop.
    """
    stop, callback_lock = threading.Event(), threading.Lock()

    def report(snapshot: dict[str, Any]) -> bool:
        with callback_lock:
            if not control.report(snapshot):
                stop.set()
        return not stop.is_set()

    part = control.with_callback(report)

    def run(k: int) -> LinearSolution | None:
        if stop.is_set():
            return None
        solution = solve(problems[k], starts[k], part)
        if solution.status is not Status.INTERRUPTED:
            report_end(solution, part)
        return solution

    with ThreadPoolExecutor(min(threads, len(problems))) as pool:
        futures = [pool.submit(run, k) for k in range(len(problems))]
        try:
            _wait(futures, control)
        finally:  # after a second Ctrl-C, too, the threads must end soon
            if not all(future.done() for future in futures):
                stop.set()
    return _complete([future.result() for future in futures], problems, control)


def _wait(futures: Sequence[Future[Any]], control: RunControl) -> None:
    """Wait until all tasks are done, one has failed, or the interrupt flag is set."""
    pending: Any = futures
    while pending and control.interrupt is None:
        done, pending = wait(futures, timeout=POLL_PERIOD, return_when=FIRST_EXCEPTION)
        if any(future.exception() is not None for future in done):
            return


def _complete(
    solutions: Sequence[LinearSolution | None], problems: Sequence[LinearProblem], control: RunControl
) -> list[LinearSolution]:
    """Add null models for problems without a solution, and the exception of an interrupt, which `fit` raises later."""
    missing = [None] * (len(problems) - len(solutions))
    completed = [
        constant_function(problem, Status.INTERRUPTED) if solution is None else solution
        for solution, problem in zip([*solutions, *missing], problems, strict=True)
    ]
    error = control.interrupt
    if error is None:
        return completed
    return [replace(each, error=error) if each.status is Status.INTERRUPTED else each for each in completed]
