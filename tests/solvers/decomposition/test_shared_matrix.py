"""Problems that share samples: one kernel matrix, stages with polishing, and bounds computed with the solution."""

from dataclasses import replace

import numpy as np
import pytest

from hinge import Status
from hinge.formulations import CSVC, NuSVC
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import certify, optimal_offset
from hinge.solvers import SMO, WorkingSet

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
CLASSES = rng.permutation(np.repeat([0, 1, 2], 30))
X += CLASSES[:, None]


GAUSSIAN = RBF(0.5)


def pair_problems(kernel=GAUSSIAN, C=1.0):
    access = open_access(kernel, X)
    problems = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        rows = np.flatnonzero((first == CLASSES) | (second == CLASSES))
        y = np.where(CLASSES[rows] == first, 1.0, -1.0)
        problems.append(CSVC(y, np.full(len(y), C)).build(access.subset(rows)))
    return problems


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()], ids=repr)
@pytest.mark.parametrize("threads", [1, 2])
def test_problems_of_a_batch_have_the_solutions_of_single_problems(kernel, threads):
    problems = pair_problems(kernel)
    together = WorkingSet(tol=1e-8, threads=threads).solve_batch(problems)
    for problem, solution in zip(problems, together, strict=True):
        alone = SMO(tol=1e-8).solve(problem)
        assert solution.status is Status.SOLVED
        assert problem.value(solution.alpha) == pytest.approx(problem.value(alone.alpha), rel=1e-10)
        np.testing.assert_allclose(solution.gradient, problem.gradient(solution.alpha), atol=1e-10)


def test_solutions_of_a_batch_do_not_depend_on_the_number_of_threads():
    problems = pair_problems()
    for one, two in zip(
        WorkingSet(threads=1).solve_batch(problems), WorkingSet(threads=2).solve_batch(problems), strict=True
    ):
        np.testing.assert_array_equal(one.alpha, two.alpha)
        np.testing.assert_array_equal(one.gradient, two.gradient)


def test_known_bounds_are_those_of_the_certificate():
    for problem, solution in zip(pair_problems(), WorkingSet().solve_batch(pair_problems()), strict=True):
        assert solution.bounds_of(problem) is None  # of an equal problem, which is not the same object
    problems = pair_problems()
    for problem, solution in zip(problems, WorkingSet().solve_batch(problems), strict=True):
        known = solution.bounds_of(problem)
        error = np.array([solution.gradient_error])
        expected = certify(problem, solution.alpha, solution.mu, solution.gradient, True, error=error)
        assert (known.upper, known.lower) == (expected.primal, expected.dual)
        np.testing.assert_array_equal(solution.mu, optimal_offset(problem, solution.alpha, solution.gradient))
        assert replace(solution, alpha=solution.alpha.copy()).bounds_of(problem) is None


def test_history_of_a_run_in_stages_is_monotone():
    problem = pair_problems(Linear(), C=1e5)[0]
    history = WorkingSet(tol=1e-9, max_iter=20_000).solve(problem).history
    assert len(history) > 1
    assert np.all(np.diff(history.iteration) >= 0)
    assert np.all(np.diff(history.seconds) >= 0)
    assert history.best_dual <= history.best_primal


def test_step_limit_of_a_problem_in_stages():
    problem = pair_problems(Linear(), C=1e6)[0]
    solution = WorkingSet(tol=1e-12, max_iter=1_500).solve(problem)
    assert solution.iterations <= 1_500


def test_rows_that_share_variables_are_refused():
    access = open_access(RBF(0.5), X)
    y = np.where(CLASSES == 0, 1.0, -1.0)
    problem = NuSVC(y, np.ones(90), 0.3).build(access)
    shared = replace(problem, A=np.ones((2, 90)), d=np.full(2, 10.0))
    with pytest.raises(ValueError, match="of A: this solver needs equality rows"):
        WorkingSet().solve(shared, np.full(90, 1 / 9))
