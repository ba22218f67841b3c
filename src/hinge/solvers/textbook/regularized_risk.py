"""Gradient descent in the coefficients, with regularisers that no dual problem (1) has.

    R(α, b) = Σ Cᵢ φ(yᵢ, (Kα)ᵢ + b) + λ Ω(α).                       LwK (10.97), Table 10.3; docs/math (372)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hinge.control import RunControl
from hinge.losses import Loss
from hinge.problems import Array, History, Status
from hinge.solvers.blas_threads import single_thread
from hinge.solvers.run_log import RunLog

#: Ω of Table 10.3: ½‖f‖², ‖f‖, Σ|αᵢ|, Σf(xᵢ)².
REGULARIZERS = ("rkhs", "norm", "sparsity", "values")


@dataclass(frozen=True)
class RegularizedRisk:
    """The risk of f = Σαᵢk(xᵢ, ·) + b on the samples, and λ times a regulariser of LwK Table 10.3.

    Parameters
    ----------
    K : ndarray
        The kernel matrix.
    y : ndarray
        ±1 for a loss of the margin, targets for one of the residual.
    loss : Loss
        An object of `hinge.losses`: "exponential" makes it Boosting.
    cost : ndarray
        Cᵢ.
    regularizer : {"rkhs", "norm", "sparsity", "values"}
        ½αᵀKα; (αᵀKα)^½; Σ|αᵢ|; Σ(Kα)ᵢ².
    strength : float
        λ.
    bias : bool
    """

    K: Array
    y: Array
    loss: Loss
    cost: Array
    regularizer: str = "rkhs"
    strength: float = 1.0
    bias: bool = True

    def __post_init__(self) -> None:
        if self.regularizer not in REGULARIZERS:
            raise ValueError(
                f"regularizer={self.regularizer!r} must be one of {', '.join(map(repr, REGULARIZERS))}"
            )
        if not self.strength > 0:
            raise ValueError(f"strength={self.strength!r} must be positive")
        n = len(self.y)
        if self.K.shape != (n, n) or np.shape(self.cost) != (n,):
            raise ValueError(f"K must be {n} × {n} and cost have {n} values, got {self.K.shape}, {np.shape(self.cost)}")

    def _argument(self, f: Array) -> Array:
        return self.y * f if self.loss.form == "margin" else self.y - f

    def losses(self, f: Array) -> float:
        """Σ Cᵢ φ"""
        return float(self.cost @ self.loss.value(self._argument(f)))

    def slopes(self, f: Array) -> Array:
        """The derivatives of the losses by f."""
        inner = self.y if self.loss.form == "margin" else -1.0
        return self.cost * inner * self.loss.derivative(self._argument(f))

    def curvatures(self, f: Array) -> Array:
        """Their second derivatives."""
        return self.cost * self.loss.second_derivative(self._argument(f))

    def penalty(self, alpha: Array, f: Array) -> float:
        """λ Ω, f = Kα."""
        value = {
            "rkhs": lambda: 0.5 * float(alpha @ f),
            "norm": lambda: np.sqrt(max(0.0, float(alpha @ f))),
            "sparsity": lambda: float(np.abs(alpha).sum()),
            "values": lambda: float(f @ f),
        }[self.regularizer]()
        return self.strength * float(value)

    def penalty_gradient(self, alpha: Array, f: Array) -> Array:
        """Its gradient in the coefficients; zero where it has none (a sparsity penalty is for `shrunk`)."""
        if self.regularizer == "rkhs":
            return self.strength * f
        if self.regularizer == "norm":
            norm = np.sqrt(max(0.0, float(alpha @ f)))
            return self.strength * f / norm if norm > 0 else np.zeros_like(f)
        if self.regularizer == "values":
            return 2 * self.strength * (self.K @ f)
        return np.zeros_like(f)

    def shrunk(self, alpha: Array, step: float) -> Array:
        """argmin over x of ½‖x − α‖² + step · λ Σ|xᵢ|."""
        if self.regularizer != "sparsity":
            return alpha
        return np.sign(alpha) * np.maximum(np.abs(alpha) - step * self.strength, 0.0)

    def lower_bound(self, f: Array) -> float:
        """The dual value at the slopes of the losses, scaled to be feasible.                     docs/math (372)

        θ = −slopes: min R ≥ −Σ ψ*(−θ) − (λΩ)*(Kθ), if Σθ = 0 for a free offset.
        """
        theta = -self.slopes(f)
        if self.bias:
            theta = _without_sum(theta)
        image = self.K @ theta
        scale, conjugate = 1.0, 0.0
        if self.regularizer == "rkhs":
            conjugate = 0.5 * max(0.0, float(theta @ image)) / self.strength
        elif self.regularizer == "norm":
            size = np.sqrt(max(0.0, float(theta @ image)))
            scale = min(1.0, self.strength / size) if size > 0 else 1.0
        elif self.regularizer == "sparsity":
            size = float(np.max(np.abs(image), initial=0.0))
            scale = min(1.0, self.strength / size) if size > 0 else 1.0
        else:
            conjugate = float(theta @ theta) / (4 * self.strength)
        theta = scale * theta
        if self.loss.form == "margin":
            inner = self.loss.conjugate(-self.y * theta / self.cost)
            return float(-(self.cost @ inner) - conjugate)
        inner = self.loss.conjugate(theta / self.cost)
        return float(self.y @ theta - self.cost @ inner - conjugate)


@dataclass(frozen=True)
class Descent:
    """What gradient descent on a risk found.

    `value` − `lower_bound` bounds the distance to the minimum.
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
) -> Descent:
    """Minimise a regularised risk by gradient descent in the coefficients with line search.

    A step is accelerated (Nesterov), its length found by backtracking; the sparsity penalty is met by soft
    thresholding, so that coefficients become exactly zero.  Stops when value − lower bound ≤ tol · value.

    Parameters
    ----------
    risk : RegularizedRisk
        With a smooth loss.
    tol : float
        Relative gap.
    max_iter : int
    max_time : float or None
    control : RunControl, optional
        Deadline, progress callback and interrupt flag.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.kernels import RBF
    >>> from hinge.losses import Exponential
    >>> from hinge.solvers import RegularizedRisk, descend
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> y = np.sign(np.sin(4 * X[:, 0]))
    >>> found = descend(RegularizedRisk(RBF(2.0)(X), y, Exponential(), np.ones(20)))
    >>> found.value - found.lower_bound <= 1e-3 * found.value
    True
    """
    if not np.isfinite(risk.loss.second_derivative(np.linspace(-3.0, 3.0, 601))).all():
        raise ValueError(
            f"gradient descent needs a loss with a derivative everywhere, got {risk.loss!r}; use 'logistic', "
            "'exponential', 'squared_hinge' or 'huber'"
        )
    control = RunControl(max_time) if control is None else control.limited_to(max_time)
    run, story = _Descending(risk), RunLog(tol, max_iter, control)
    with single_thread():
        status = story.run(lambda: run.follow(story))
    return Descent(run.alpha, run.b, run.value, run.bound, status, story.iterations, story.history(), story.error)


class _Descending:
    """Accelerated proximal steps with backtracking, started anew when the risk rises."""

    def __init__(self, risk: RegularizedRisk) -> None:
        self.risk = risk
        n = len(risk.y)
        self.alpha, self.f, self.b = np.zeros(n), np.zeros(n), 0.0
        self.b = self._offset(self.f, 0.0)
        self.value = self._value(self.alpha, self.f, self.b)
        self.bound, self.length = -np.inf, 1.0

    def _value(self, alpha: Array, f: Array, b: float) -> float:
        return self.risk.losses(f + b) + self.risk.penalty(alpha, f)

    def _offset(self, f: Array, b: float) -> float:
        """argmin over b: Newton on the sum of the slopes, kept within a bracket."""
        if not self.risk.bias:
            return 0.0
        low, high, step = -np.inf, np.inf, 1.0
        for _ in range(200):
            slopes = self.risk.slopes(f + b)
            total = float(np.sum(slopes))
            if abs(total) <= 1e-13 * float(np.abs(slopes).sum()):
                break
            low, high = (b, high) if total < 0 else (low, b)
            curvature = float(np.sum(self.risk.curvatures(f + b)))
            ahead = b - total / curvature if curvature > 0 else np.nan
            if not np.isfinite(high - low) and not low < ahead < high:
                ahead, step = (b + step if total < 0 else b - step), 4 * step
            elif not low < ahead < high:
                ahead = 0.5 * (low + high)
            if ahead == b or not low <= ahead <= high:
                break
            b = ahead
        return b

    def follow(self, story: RunLog) -> Status:
        risk, K = self.risk, self.risk.K
        ahead, ahead_f, momentum = self.alpha, self.f, 1.0
        for iteration in range(story.max_iter + 1):
            self.bound = max(self.bound, risk.lower_bound(self.f + self.b))
            gap = self.value - self.bound
            status = story.note(iteration, self.value, self.bound, gap, gap, int(np.count_nonzero(self.alpha)))
            if status is not None:
                return status
            b = self._offset(ahead_f, self.b)
            slopes = risk.slopes(ahead_f + b)
            gradient = K @ slopes + risk.penalty_gradient(ahead, ahead_f)
            smooth = risk.losses(ahead_f + b) + (0 if risk.regularizer == "sparsity" else risk.penalty(ahead, ahead_f))
            self.length *= 1.5
            for _ in range(80):
                alpha = risk.shrunk(ahead - self.length * gradient, self.length)
                f = K @ alpha
                way = alpha - ahead
                here = risk.losses(f + b) + (0 if risk.regularizer == "sparsity" else risk.penalty(alpha, f))
                model = smooth + float(gradient @ way) + 0.5 * float(way @ way) / self.length
                if here <= model + 1e-13 * abs(smooth):
                    break
                self.length *= 0.5
            else:
                return Status.NUMERICAL
            b = self._offset(f, b)
            value = self._value(alpha, f, b)
            if value > self.value and momentum > 1.0:
                ahead, ahead_f, momentum = self.alpha, self.f, 1.0  # without momentum again
                continue
            following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
            push = (momentum - 1) / following
            ahead, ahead_f = alpha + push * (alpha - self.alpha), f + push * (f - self.f)
            momentum = following
            if value <= self.value:
                self.alpha, self.f, self.b, self.value = alpha, f, b, value
        return Status.MAX_ITER


def _without_sum(theta: Array) -> Array:
    """θ with Σθ = 0: the side that has too much is scaled down, which keeps every θᵢ between 0 and itself."""
    up, down = float(theta[theta > 0].sum()), float(-theta[theta < 0].sum())
    if up > down:
        return np.where(theta > 0, theta * (down / up), theta)
    return np.where(theta < 0, theta * (up / down if down > 0 else 1.0), theta)
