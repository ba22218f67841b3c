"""The bound on the error of the gradient that decomposition methods report.           docs/math (610), (611)"""

import numpy as np
import pytest

from hinge.formulations import CSVC
from hinge.kernels import RBF, Linear, Polynomial, open_access
from hinge.solvers import SMO, WorkingSet


@pytest.mark.parametrize("polish", [False, True])
@pytest.mark.parametrize("solver", [SMO, WorkingSet], ids=lambda s: s.__name__)
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.1), Polynomial(3, 0.5, 1.0)], ids=repr)
def test_the_error_of_the_gradient_is_within_its_bound(kernel, solver, polish):
    """The accurate product shows the error; it is not zero, so that a bound of zero would fail."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, 0.0]
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1.0, -1.0)
    problem = CSVC(y, np.full(120, 10.0)).build(open_access(kernel, X))
    solution = solver(tol=1e-2, max_iter=2000, polish=polish).solve(problem)
    if solution.gradient_error is None:  # computed anew by the certificate
        assert polish
        return
    gradient, error = problem.bounded_gradient(solution.alpha, accurate=True)
    difference = np.abs(solution.gradient - gradient)
    assert 0 < np.max(difference) <= solution.gradient_error + np.max(error) + 1e-15 * np.max(np.abs(gradient))
    assert solution.gradient_error > np.max(difference) - np.max(error)
    assert solution.gradient_error <= 1e-6 * np.max(np.abs(gradient))
