"""Problems with two variables per sample and a diagonal term."""

import numpy as np
import pytest

from hinge.kernels import Precomputed, open_access
from hinge.problems import Diagonal, Problem, Quadratic, Status, optimality
from hinge.solvers import SMO, Auto, Chunking, GradientDescent, InteriorPoint, Newton, WorkingSet


def problem(p):
    """Return min ½‖α − α*‖² + ¼‖α‖² + ¼‖α*‖² + p Σ (α + α*) for four samples."""
    Q = Quadratic(open_access(Precomputed(), np.eye(4)), np.repeat([1.0, -1.0], 4))
    rows, d = np.empty((0, 8)), np.empty(0)
    return Problem(Q, np.full(8, p), rows, d, np.zeros(8), np.full(8, 10.0), Diagonal(np.full(8, 0.5)))


@pytest.mark.parametrize("p", [-1.0, 0.5])
@pytest.mark.parametrize("solver", [Auto(tol=1e-6), InteriorPoint()], ids=lambda s: type(s).__name__)
def test_the_problem_is_solved(solver, p):
    posed = problem(p)
    solution = solver.solve(posed)
    assert solution.status is Status.SOLVED
    assert optimality(posed, *solution.point).kkt_violation <= 1e-5
    np.testing.assert_allclose(solution.alpha, 2.0 if p < 0 else 0.0, atol=1e-5)


@pytest.mark.parametrize("solver", [GradientDescent(), Newton()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("p", [-1.0, 0.5])
def test_status_solved_of_textbook_methods_is_confirmed(solver, p):
    posed = problem(p)
    solution = solver.solve(posed)
    assert solution.status is not Status.SOLVED or optimality(posed, *solution.point).relative_gap <= 2 * solver.tol


@pytest.mark.parametrize("solver", [SMO(), WorkingSet(), Chunking()], ids=lambda s: type(s).__name__)
def test_a_term_that_cannot_be_folded_is_rejected(solver):
    """If α and α* grow together, a quadratic term of both is not one of α − α*."""
    with pytest.raises(ValueError, match="use interior point"):
        solver.solve(problem(-1.0))
