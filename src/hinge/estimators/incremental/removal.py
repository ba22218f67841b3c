"""Exact solutions without some samples, for estimators whose dual problem is quadratic.   docs/math (523), (524)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from hinge.control import RunControl
from hinge.estimators.common.validation import ClassificationData
from hinge.estimators.kernel.base import DualEstimator
from hinge.estimators.kernel.classification import label_sign
from hinge.estimators.kernel.regression import KernelRegressor, NuSVR
from hinge.formulations import CSVC, ConvexLoss
from hinge.kernels import FunctionKernel, Kernel, cache_bytes, make_kernel, with_ridge
from hinge.paths.engine import Engine, path_access
from hinge.paths.leave_one_out import MarginInverse, has_unique_offset
from hinge.problems import Array, Dual, ParametricProblem, Status
from hinge.problems.parametric import Values, parametric_problem
from hinge.threads import effective_n_jobs

#: Bounds that replace infinite bounds are this multiple of a value that no variable exceeds.
BOUND_FACTOR = 2.0


def estimator_kernel(estimator: Any) -> Kernel:
    """Return the kernel of an estimator; raise a ValueError if the problem is not convex."""
    kernel = make_kernel(estimator.kernel, degree=estimator.degree, gamma=estimator.gamma, coef0=estimator.coef0)
    if kernel.psd is False:
        raise ValueError(f"kernel={estimator.kernel!r} is not positive semidefinite: paths need a convex problem")
    return kernel


def check_path_regressor(estimator: Any) -> None:
    """Raise unless samples can be removed from the regressor along paths."""
    name = type(estimator).__name__
    if not isinstance(estimator, KernelRegressor):
        raise TypeError(
            f"estimator is a {name}: samples are removed along paths for SVR, NuSVR and IncrementalSVR only (use "
            "SVR(kernel='linear') for linear functions). Use one of them, or method='refit'"
        )
    if isinstance(estimator, NuSVR) and estimator.tube is not None:
        raise ValueError("NuSVR with a tube has no path; leave tube out, or use method='refit'")


class ReducedSolution(NamedTuple):
    """Solution without some samples.

    Attributes
    ----------
    removed : ndarray of int
        Positions of the missing samples.
    beta : ndarray
        Coefficients of all samples; zero for the missing ones.
    intercept : float
    values : ndarray
        Values of the function at the missing samples.
    """

    removed: NDArray[np.intp]
    beta: Array
    intercept: float
    values: Array


class RemovalProblem:
    """The exact solution of an estimator on its training data, from which groups of samples are removed.

    Attributes
    ----------
    data : TrainingData
        Validated samples of positive weight.
    kernel : Kernel
        With γ resolved for all samples.
    """

    def __init__(self, estimator: DualEstimator, X: Any, y: Any, sample_weight: Any = None) -> None:
        estimator._check_parameters()
        kernel = estimator_kernel(estimator)
        self.data = data = estimator._validate(X, y, sample_weight, kernel)
        self.kernel = kernel if isinstance(kernel, FunctionKernel) else kernel.resolve(data.X, data.weight)
        subproblems = estimator._subproblems(data)
        formulation: Any = subproblems[0].formulation
        if len(subproblems) > 1 or not isinstance(estimator, KernelRegressor) | isinstance(formulation, CSVC):
            raise ValueError(
                f"{type(estimator).__name__} cannot be used here: samples are removed along paths for regressors, and "
                "for SVC and IncrementalSVC with the hinge loss and two classes"
            )
        #: −1 if the decision function is the negative of the function of the problem.
        self.sign = label_sign(data.classes) if isinstance(data, ClassificationData) else 1.0
        if isinstance(formulation, ConvexLoss) and formulation.loss.quadratic_conjugate is None:
            raise ValueError(
                f"loss={estimator.loss!r} has no path, because its conjugate is not quadratic; use another loss, or "
                "method='refit'"
            )
        dual: Dual = formulation.dual()
        self.cost = formulation.cost
        self.nu = float(estimator.nu) if isinstance(estimator, NuSVR) else None
        parametric = _bounded(parametric_problem(dual), dual, self.cost)
        self.values, self.slots = parametric.at(0.0), parametric.size // data.n
        budget = cache_bytes(estimator.cache_size)
        access = path_access(self.kernel, data.X, budget)
        if dual.ridge is not None and dual.ridge.any():
            access = with_ridge(access, dual.ridge)
        self.threads, self.max_time = effective_n_jobs(estimator.n_jobs), estimator.max_time
        self.control = RunControl(self.max_time)
        self.engine = Engine(access, parametric.group, self.slots, budget)
        self.engine.start(parametric, 0.0, None, self.control)
        self._start = self.engine.active_set.snapshot()
        #: Whether the offset is unique or zero. Otherwise samples without a coefficient bound it, too.
        self.has_unique_offset = has_unique_offset(self.engine, self.values)
        #: Whether removing a sample changes the solution. Without other samples than support vectors it is the same,
        #: except in ν-regression and if the offset is not unique.
        self.changes = (self.beta != 0) | (self.nu is not None or not self.has_unique_offset)

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.data.n

    @property
    def beta(self) -> Array:
        """Coefficients of the current solution."""
        beta: Array = self.engine.active_set.beta
        return beta if self.slots == 1 else beta.reshape(self.slots, -1).sum(axis=0)

    @property
    def intercept(self) -> float:
        """b of the current solution; with ν the multipliers are b + ε and b − ε."""
        mu = self.engine.active_set.mu
        return float(np.mean(mu)) if len(mu) else 0.0

    def values_at(self, samples: NDArray[np.intp]) -> Array:
        """Values of the function of the current solution at samples."""
        return self.engine.active_set.f[samples] + self.intercept

    def _reduced(self, group: NDArray[np.intp]) -> ReducedSolution:
        return ReducedSolution(group, self.beta, self.intercept, self.values_at(group))

    def without(self, group: NDArray[np.intp]) -> ReducedSolution:
        """Return the solution without the samples at these positions."""
        zero, total = np.zeros_like(self.values.linear), np.zeros_like(self.values.total)
        members = (group[None, :] + self.n * np.arange(self.slots)[:, None]).ravel()
        lower, upper = zero.copy(), zero.copy()
        lower[members], upper[members] = -self.values.lower[members], -self.values.upper[members]
        if self.nu is not None:
            total[:] = -0.5 * self.nu * float(self.cost[group].sum()) * np.array([1.0, -1.0])
        elif not self.changes[group].any():
            return self._reduced(group)
        try:
            _, status = self.engine.follow_rates(Values(zero, lower, upper, total), self.control)
            if status is not Status.SOLVED:
                self._raise_timeout()
            return self._reduced(group)
        finally:
            self.engine.active_set.restore(self._start)

    def without_each(self, samples: NDArray[np.intp]) -> Iterator[ReducedSolution]:
        """Remove the samples at these positions one at a time."""
        inverse = None
        if self.nu is None:
            inverse = MarginInverse.of(self.engine, self.values, len(samples), self.control)
        if inverse is None:
            yield from (self.without(np.array([i])) for i in samples)
            return
        for found in inverse.removals(samples, self.threads):
            if self.control.expired():
                self._raise_timeout()
            for k, i in enumerate(found.samples):
                removed = np.array([i])
                if found.exact[k]:
                    yield ReducedSolution(removed, found.beta[k], float(found.intercept[k]), found.value[k : k + 1])
                else:
                    yield self.without(removed)

    def _raise_timeout(self) -> NoReturn:
        raise TimeoutError(f"removing samples took more than max_time={self.max_time} s; increase it")


def _bounded(parametric: ParametricProblem, dual: Dual, cost: Array) -> ParametricProblem:
    """Replace infinite bounds of quadratic losses by bounds that are never reached.                docs/math (524)"""
    lower, upper = parametric.lower.copy(), parametric.upper.copy()
    if np.isfinite(lower).all() and np.isfinite(upper).all():
        return parametric
    if dual.ridge is None or not np.isfinite(cost).all():
        raise ValueError("C=inf has no path; use a finite C, or method='refit'")
    excess = np.maximum(np.abs(dual.target - dual.target.mean()) - dual.tube, 0.0)
    objective = float(np.sum(excess**2 / (2 * dual.ridge)))
    if not dual.total.size:  # without an intercept the null model is zero
        objective = float(np.sum(np.maximum(np.abs(dual.target) - dual.tube, 0.0) ** 2 / (2 * dual.ridge)))
    limit = np.tile(BOUND_FACTOR * np.sqrt(2 * (objective + 1.0) / dual.ridge), lower.shape[1] // len(cost))
    for bound, sign in ((lower, -1.0), (upper, 1.0)):
        infinite = ~np.isfinite(bound[0])
        bound[0, infinite], bound[1, infinite] = sign * limit[infinite], 0.0
    return ParametricProblem(parametric.linear, lower, upper, parametric.total, parametric.group, parametric.sign)
