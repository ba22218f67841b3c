"""The certificates of what a solver has found, with what it saw on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from hinge.problems import Certificate, History, Problem, Solution, certify_all

#: The history of a run of which nothing is known.
NOTHING = History(*(np.empty(0, dtype=bool if f.name == "exact" else float) for f in fields(History)))


def certificates_of(
    problems: Sequence[Problem], solutions: Sequence[Solution], convex: bool | None
) -> list[Certificate]:
    """One for every problem; bounds of its history count where they are bounds to the last digit."""
    found = certify_all(problems, [(s.alpha, s.mu, s.gradient) for s in solutions], convex)
    return [_with_story(*each) for each in zip(found, solutions, strict=True)]


def _with_story(found: Certificate, solution: Solution) -> Certificate:
    if not solution.exact:
        return found.unproven(NOTHING if solution.rounded else solution.history)
    return found if solution.rounded else found.with_history(solution.history)
