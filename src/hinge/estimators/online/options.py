"""Parameters of the online estimators: rules, kernel, options of the learner, and warnings about the scale of data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from hinge.estimators.common.rules import (
    KERNEL_RULES,
    LIMIT_RULES,
    POSITIVE,
    Choice,
    Flag,
    Integer,
    Number,
    Rule,
    Threads,
)
from hinge.estimators.common.validation import check_parameters
from hinge.kernels import FunctionKernel, Kernel, Precomputed, make_kernel
from hinge.losses import Form
from hinge.online import OnlineOptions, online_loss, online_loss_names
from hinge.problems import Array
from hinge.validation import check_choice, check_integer

#: `fit` warns that the samples are nearly equal if the mean of γ‖x − z‖² is below this: a few steps cannot separate
#: samples whose kernel values are all close to 1.
MIN_MEAN_DISTANCE = 0.05

#: `fit` warns that the targets are not standardized if their standard deviation is at least MIN_UNSCALED_DEVIATION, and
#: all steps together move the function by less than MIN_TOTAL_STEP standard deviations.
MIN_UNSCALED_DEVIATION = 2.0
MIN_TOTAL_STEP = 10.0


@dataclass(frozen=True)
class OnlineLoss:
    """The name of a loss of online estimators, or a loss object with a quadratic conjugate."""

    form: Form
    compiled: tuple[str, ...]

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            check_choice(name, value, online_loss_names(self.form, *self.compiled))
        else:
            online_loss(value, self.form)


@dataclass(frozen=True)
class Budget:
    """A positive integer, or None."""

    def check(self, name: str, value: Any) -> None:
        if value is not None:
            check_integer(name, value, 1)


#: Rules of the parameters that all online estimators share.
ONLINE_RULES: dict[str, Rule] = {
    **KERNEL_RULES,
    "learning_rate": Choice(("constant", "invscaling")),
    "eta0": POSITIVE,
    "power_t": Number(0.0),
    "budget": Budget(),
    "max_time": LIMIT_RULES["max_time"],
    "n_passes": Integer(1),
    "shuffle": Flag(),
    "n_jobs": Threads(),
}


def check_online_parameters(estimator: Any, rules: Mapping[str, Rule], regularization: float) -> None:
    """Raise a TypeError or ValueError if a parameter is not valid; `regularization` is λ."""
    check_parameters(estimator, rules)
    if regularization * estimator.eta0 > 1:
        raise ValueError(
            f"eta0={estimator.eta0!r} times the regularization {regularization:g} exceeds 1: a step would change the "
            "sign of the coefficients. Reduce one of them"
        )
    if isinstance(online_kernel(estimator), Precomputed | FunctionKernel):
        raise ValueError(
            f"kernel={estimator.kernel!r} cannot be evaluated at later samples; use a name or an object of "
            "hinge.kernels (sums and products are supported)"
        )


def online_kernel(estimator: Any) -> Kernel:
    """Build the kernel; its parameters may still depend on the data."""
    return make_kernel(estimator.kernel, degree=estimator.degree, gamma=estimator.gamma, coef0=estimator.coef0)


def needs_variance(kernel: Kernel) -> bool:
    """Whether the kernel depends on the variance of the data, as with gamma="scale"."""
    try:
        kernel.nodes()
    except ValueError:  # a parameter depends on the data: compare the kernels of two data sets of different variance
        narrow, wide = np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])
        return kernel.resolve(narrow).nodes() != kernel.resolve(wide).nodes()
    return False


def step_decay(estimator: Any) -> float:
    """The exponent p of the step eta0 / t**p."""
    return 0.0 if estimator.learning_rate == "constant" else float(estimator.power_t)


def online_options(
    estimator: Any, regularization: float, n_functions: int, loss: dict[str, Any]
) -> OnlineOptions:
    """Build the options of the learner; `loss` holds the loss and its parameters."""
    return OnlineOptions(
        rate=float(estimator.eta0),
        power=step_decay(estimator),
        regularization=float(regularization),
        budget=0 if estimator.budget is None else int(estimator.budget),
        machines=n_functions,
        **loss,
    )


def warn_if_nearly_equal(estimator: Any, X: Any) -> None:
    """Warn if gamma="auto", which assumes features of variance about 1, makes all samples nearly equal."""
    is_auto = isinstance(estimator.kernel, str) and estimator.kernel == "rbf" and estimator.gamma == "auto"
    if not is_auto or sp.issparse(X):
        return
    mean_distance = 2.0 * float(np.mean(np.var(X, axis=0)))  # mean of γ‖x − z‖²
    if 0.0 < mean_distance < MIN_MEAN_DISTANCE:
        warnings.warn(
            f"gamma='auto' is {1 / X.shape[1]:.3g}, for which these samples are nearly equal: gamma·|x − z|² is "
            f"{mean_distance:.2g} on average. Standardize X, or use gamma='scale'",
            UserWarning,
            stacklevel=4,
        )


def warn_if_unscaled(estimator: Any, y: Array) -> None:
    """Warn if all steps together are too small for the spread of the targets (for losses of bounded slope)."""
    steps, deviation = estimator.n_passes * y.shape[0], float(np.std(y))
    total_step = float(estimator.eta0) * float(np.sum(np.arange(1, steps + 1) ** -step_decay(estimator)))
    loss = online_loss(estimator.loss, "residual", vars(estimator))
    unbounded = loss["loss"] == "squared" or loss.get("bound") == np.inf
    if unbounded or deviation < MIN_UNSCALED_DEVIATION or total_step >= MIN_TOTAL_STEP * deviation:
        return
    warnings.warn(
        f"the standard deviation of the targets is {deviation:.3g}, and a step changes the function by "
        f"eta0={estimator.eta0:g} at most: {steps} steps are too few. Standardize y (TransformedTargetRegressor with "
        "StandardScaler), increase eta0, or use loss='squared', whose steps are proportional to the error",
        UserWarning,
        stacklevel=3,
    )
