"""Minimization of a regularized risk: Newton's method, accelerated proximal gradient steps, or a fixed rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.control import RunControl
from hinge.problems import Array, History, Status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.run_log import RunLog
from hinge.solvers.textbook.regularized_risk import RegularizedRisk
from hinge.solvers.textbook.risk_newton import FixedRate, RiskNewton

#: Factor on the step length before each line search, and halvings before it fails with Status.NUMERICAL.
STEP_GROWTH = 1.5
MAX_HALVINGS = 80

#: Steps of the search for the offset before the last value is taken.
MAX_OFFSET_STEPS = 200


@dataclass(frozen=True)
class Descent:
    """Result of gradient descent on a regularized risk.

    `value` is an upper bound on the risk of the result, and `value` − `lower_bound` bounds its distance to the minimum.
    """

    coefficients: Array
    intercept: float
    value: float
    lower_bound: float
    status: Status
    iterations: int
    history: History
    error: BaseException | None = None


def descend(
    risk: RegularizedRisk,
    tol: float = 1e-3,
    max_iter: int = 20_000,
    max_time: float | None = None,
    control: RunControl | None = None,
    rate: float | None = None,
) -> Descent:
    """Minimize a regularized risk.                                             LwK §10.6.1, Table 10.3; docs/math (372)

    "rkhs" and "values" use Newton's method in coordinates in which the regularizer has condition number 1. "norm" and
    "sparsity" use accelerated (Nesterov) gradient steps in the coefficients, with a length found by backtracking; for
    "sparsity" they include soft thresholding, so that coefficients become exactly zero. With `rate`, all of them use
    gradient steps of this fixed length. Stops if value − lower bound ≤ tol · value.

    Parameters
    ----------
    risk : RegularizedRisk
        A risk with a smooth loss.
    tol : float
        Relative gap.
    max_iter : int
        Steps.
    max_time : float or None
        Seconds.
    control : RunControl, optional
        Deadline, progress callback and interrupt flag.
    rate : float, optional
        Fixed learning rate Λ of LwK (10.98), for the coefficients and the offset. The run ends with
        `Status.NUMERICAL` if it diverges.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.losses import Exponential
    >>> from hinge.solvers import RegularizedRisk, descend
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> y = np.sign(np.sin(4 * X[:, 0]))
    >>> result = descend(RegularizedRisk(RBF(2.0)(X), y, Exponential(), np.ones(20)))
    >>> result.value - result.lower_bound <= 1e-3 * result.value
    True
    """
    if not np.isfinite(risk.loss.second_derivative(np.linspace(-3.0, 3.0, 601))).all():
        raise ValueError(
            f"gradient descent needs a loss with a derivative everywhere, got {risk.loss!r}; use 'logistic', "
            "'exponential', 'squared_hinge' or 'huber'"
        )
    control = RunControl(max_time) if control is None else control.limited_to(max_time)
    if rate is not None and not 0 < rate < np.inf:
        raise ValueError(f"rate={rate!r} must be a positive number, or None for a line search")
    run: RiskNewton | FixedRate | _ProximalGradient
    if rate is not None:
        run = FixedRate(risk, rate)
    else:
        run = RiskNewton(risk) if risk.regularizer in ("rkhs", "values") else _ProximalGradient(risk)
    log = RunLog(tol, max_iter, control)
    with single_thread():
        status = log.run(lambda: run.run(log))
    return Descent(run.alpha, run.b, run.value, run.bound, status, log.iterations, log.history(), log.error)


class _ProximalGradient:
    """Accelerated proximal gradient steps with backtracking, restarted if the risk increases."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = len(risk.y)
        self.alpha, self.f, self.b = np.zeros(n), np.zeros(n), 0.0
        self.b = self._offset(self.f, 0.0)
        self.risk_value = self._value(self.alpha, self.f, self.b)
        self.value, self.bound, self.length = self.risk_value, -np.inf, 1.0

    def run(self, log: RunLog) -> Status:
        risk = self.risk
        point, f_point, momentum = self.alpha, self.f, 1.0
        for iteration in range(log.max_iter + 1):
            self.value = risk.upper_bound(self.alpha, self.f, self.b)
            self.bound = max(self.bound, risk.lower_bound(self.f + self.b))
            gap = self.value - self.bound
            status = log.record(iteration, self.value, self.bound, gap, gap, int(np.count_nonzero(self.alpha)))
            if status is not None:
                return status
            b = self._offset(f_point, self.b)
            step = self._step(point, f_point, b)
            if step is None:
                return Status.NUMERICAL
            alpha, f = step
            b = self._offset(f, b)
            value = self._value(alpha, f, b)
            if value > self.risk_value and momentum > 1.0:
                point, f_point, momentum = self.alpha, self.f, 1.0  # restart without momentum
                continue
            next_momentum = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
            weight = (momentum - 1) / next_momentum
            point, f_point = alpha + weight * (alpha - self.alpha), f + weight * (f - self.f)
            momentum = next_momentum
            if value <= self.risk_value:
                self.alpha, self.f, self.b, self.risk_value = alpha, f, b, value
        return Status.MAX_ITER

    def _step(self, point: Array, f_point: Array, b: float) -> tuple[Array, Array] | None:
        """α and f = Kα after a proximal gradient step from `point`; None if no step length decreases the risk."""
        risk, K = self.risk, self.risk.K
        gradient = K @ risk.slopes(f_point + b) + risk.penalty_gradient(point, f_point)
        smooth = risk.losses(f_point + b) + risk.smooth_penalty(point, f_point)
        self.length *= STEP_GROWTH
        for _ in range(MAX_HALVINGS):
            alpha = risk.proximal_point(point - self.length * gradient, self.length)
            f = K @ alpha
            change = alpha - point
            value = risk.losses(f + b) + risk.smooth_penalty(alpha, f)
            model = smooth + float(gradient @ change) + 0.5 * float(change @ change) / self.length
            if value <= model + 1e-13 * abs(smooth):
                return alpha, f
            self.length *= 0.5
        return None

    def _value(self, alpha: Array, f: Array, b: float) -> float:
        """R(α, b)."""
        return self.risk.losses(f + b) + self.risk.penalty(alpha, f)

    def _offset(self, f: Array, b: float) -> float:
        """argmin over b: Newton steps on the sum of the slopes, safeguarded by a bracket."""
        if not self.risk.bias:
            return 0.0
        low, high, step = -np.inf, np.inf, 1.0
        for _ in range(MAX_OFFSET_STEPS):
            slopes = self.risk.slopes(f + b)
            total = float(np.sum(slopes))
            if abs(total) <= 1e-13 * float(np.abs(slopes).sum()):
                break
            low, high = (b, high) if total < 0 else (low, b)
            curvature = float(np.sum(self.risk.curvatures(f + b)))
            trial = b - total / curvature if curvature > 0 else np.nan
            if not np.isfinite(high - low) and not low < trial < high:
                trial, step = (b + step if total < 0 else b - step), 4 * step
            elif not low < trial < high:
                trial = 0.5 * (low + high)
            if trial == b or not low <= trial <= high:
                break
            b = trial
        return b
