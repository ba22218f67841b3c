"""Rounds of smaller tolerances, until the function has the tolerance of the fit and the relative gaps are small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hinge.control import RunControl
from hinge.estimators.common.report import MAX_LATE_SAMPLES, MAX_SOLVED_GAP, certify_exact, has_large_gap
from hinge.formulations import Formulation
from hinge.problems import Certificate, Problem, Solution, Status
from hinge.solvers import Solver

#: ν-classification divides the function by the margin ρ. Its tolerance is therefore tol · ρ, but not less than this.
MIN_REFINED_TOL = 1e-12

#: If ρ is below the tolerance, the problem is solved again with the tolerance times UNRESOLVED_MARGIN_FACTOR, but not
#: less than MIN_MARGIN_TOL. If ρ is still below the tolerance, it counts as zero.
UNRESOLVED_MARGIN_FACTOR = 1e-6
MIN_MARGIN_TOL = 1e-9

#: If the relative gap of a solution is large, the smaller of its tolerance and its KKT violation is multiplied by
#: GAP_ROUND_FACTOR at most MAX_GAP_ROUNDS times, as long as the gap decreases at least by the factor MIN_GAP_REDUCTION.
GAP_ROUND_FACTOR, MAX_GAP_ROUNDS, MIN_GAP_REDUCTION = 0.1, 6, 0.9

#: Steps of each of these rounds for few samples, unless the estimator has a limit, and further steps per sample.
GAP_ROUND_STEPS, GAP_ROUND_STEPS_PER_SAMPLE = 500_000, 1_000


def refine(
    problem: Problem, formulation: Formulation, solution: Solution, solver: Solver, control: RunControl
) -> Solution:
    """Continue with smaller tolerances until the recovered function has the tolerance of the solver."""
    reached = solver.tol
    while solution.status is Status.SOLVED and not solution.polished and solution.error is None:
        margin = formulation.scale(solution.mu)
        resolved = margin > reached
        wanted = margin * solver.tol if resolved else max(reached * UNRESOLVED_MARGIN_FACTOR, MIN_MARGIN_TOL)
        wanted = max(wanted, MIN_REFINED_TOL)
        if reached <= wanted:
            break
        reached = wanted
        solution = solution.then(replace(solver, tol=reached).solve(problem, solution, control))
    return solution


def reduce_gaps(
    problems: Sequence[Problem], solutions: list[Solution], certificates: list[Certificate], solver: Solver,
    tol: float, convex: bool | None, control: RunControl,
) -> None:  # fmt: skip
    """Continue with smaller tolerances until the relative gaps are small; solutions and certificates are replaced.

    A tolerance of the KKT violation does not bound the gap. Solvers that stop on the gap reached it up to rounding. The
    problems of a round are solved in a batch, so that they share kernel rows and threads. A problem whose violation is
    already below the tolerance of a round waits for a later round.
    """
    members, reached = [], solver.tol
    if solver.capabilities.tol == "kkt_violation":
        for k, (solution, certificate) in enumerate(zip(solutions, certificates, strict=True)):
            if solution.status is Status.SOLVED and certificate.relative_gap > MAX_SOLVED_GAP:
                members.append(k)
    for _ in range(MAX_GAP_ROUNDS):
        members = [k for k in members if _gap_can_be_reduced(certificates[k], tol)]
        largest = max((certificates[k].kkt_violation for k in members), default=0.0)
        reached = max(GAP_ROUND_FACTOR * min(reached, largest), MIN_REFINED_TOL)
        active = [k for k in members if not certificates[k].kkt_violation <= reached]
        for k, following in _continue_batch(problems, solutions, active, replace(solver, tol=reached), control):
            ended = following.status is not Status.SOLVED  # the tolerance of the fit was reached before
            if ended and (following.error is not None or not following.exact):
                solutions[k] = replace(solutions[k], error=following.error)
                members.remove(k)
                continue
            solutions[k], before = replace(following, status=Status.SOLVED), certificates[k].gap
            certificates[k] = certify_exact(problems[k], solutions[k], convex, tol, control)
            if ended or certificates[k].gap > MIN_GAP_REDUCTION * before:
                members.remove(k)


def _gap_can_be_reduced(certificate: Certificate, tol: float) -> bool:
    """Whether the gap is large, and not mostly due to rounding."""
    return certificate.rounding <= 0.5 * certificate.gap and has_large_gap(certificate, tol)


def _continue_batch(
    problems: Sequence[Problem], solutions: Sequence[Solution], members: Sequence[int], solver: Solver,
    control: RunControl,
) -> list[tuple[int, Solution]]:  # fmt: skip
    """Continue from the solutions of some problems; those with few samples have a step limit of their own."""
    found = []
    for limited in (True, False):
        group = [k for k in members if (problems[k].Q.n <= MAX_LATE_SAMPLES and solver.max_iter < 0) is limited]
        if not group:
            continue
        steps = GAP_ROUND_STEPS + GAP_ROUND_STEPS_PER_SAMPLE * max(problems[k].Q.n for k in group)
        limit = replace(solver, max_iter=steps) if limited else solver
        later = limit.solve_batch([problems[k] for k in group], [solutions[k] for k in group], control)
        found += [(k, solutions[k].then(each)) for k, each in zip(group, later, strict=True)]
    return found
