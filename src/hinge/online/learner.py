"""Online learner: stochastic gradient descent in feature space with a budget of terms."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import Kernel
from hinge.kernels.samples import view
from hinge.losses import Exponential, Form, Logistic, loss_names
from hinge.losses.registry import quadratic_conjugate
from hinge.model import KernelModel

Array = NDArray[np.float64]

#: Losses that the compiled learner knows by name. Other losses need a quadratic conjugate.
COMPILED_LOSSES = (
    "hinge", "perceptron", "logistic", "exponential", "nu_margin", "novelty", "squared", "epsilon_insensitive", "huber",
)  # fmt: skip

#: Those of them whose derivative is unbounded.
UNBOUNDED_LOSSES = ("squared", "exponential")


@dataclass(frozen=True, kw_only=True)
class OnlineOptions:
    """Options of a learner. The step size is Λₜ = rate / t^power. A negative `nu` keeps the level (ρ, ε or σ) fixed.

    `loss` is one of `COMPILED_LOSSES`, or "quadratic_margin" or "quadratic_residual" with the parameters `threshold`,
    `curvature` and `bound` of the conjugate (`online_loss`).
    """

    loss: str
    rate: float
    power: float
    regularization: float
    nu: float = -1.0
    level: float = 0.0
    offset: bool = True
    budget: int = 0
    machines: int = 1
    threshold: float = 0.0
    curvature: float = 0.0
    bound: float = 1.0

    def steps(self, t: Array) -> Array:
        """Return Λ at the times t = 1, 2, ..."""
        return self.rate / t**self.power

    @property
    def max_slope(self) -> float:
        """Largest absolute derivative of the loss, which may be infinite."""
        if self.loss in COMPILED_LOSSES:
            return np.inf if self.loss in UNBOUNDED_LOSSES else 1.0
        return self.bound


def online_loss(loss: Any, form: Form, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the fields of `OnlineOptions` for the name of a compiled loss or a loss with a quadratic conjugate."""
    if isinstance(loss, str) and loss in COMPILED_LOSSES:
        return {"loss": loss}
    if isinstance(loss, Logistic | Exponential):
        return {"loss": "logistic" if isinstance(loss, Logistic) else "exponential"}
    threshold, curvature, bound = quadratic_conjugate(loss, form, parameters)
    return {"loss": f"quadratic_{form}", "threshold": float(threshold), "curvature": curvature, "bound": bound}


def online_loss_names(form: Form, *compiled: str) -> tuple[str, ...]:
    """Return the names of the losses of an online estimator: `compiled`, and all with a quadratic conjugate."""
    return (*compiled, *(name for name in loss_names(form, quadratic=True) if name not in compiled))


@dataclass(frozen=True)
class OnlineState:
    """State of a learner; a learner that is restored from it continues with identical results."""

    kernel: Kernel
    options: OnlineOptions
    vectors: Any
    coefficients: Any
    norms: Any
    offset: Any
    level: Any
    dropped: Any
    beyond: Any
    scale: float
    largest: float
    seen: int
    head: int

    @property
    def oldest_first(self) -> NDArray[np.intp]:
        """Terms in the order in which they were added."""
        return np.roll(np.arange(len(self.norms)), -self.head)


class Learner:
    """Stochastic gradient descent in feature space.                       LwK 10.6.3, docs/math (401)-(411)

    Parameters
    ----------
    kernel : Kernel
        A compiled kernel with fixed parameters.
    options : OnlineOptions
    features : int
    """

    def __init__(self, kernel: Kernel, options: OnlineOptions, features: int) -> None:
        nodes = kernel.nodes()
        if nodes is None:
            raise ValueError(
                f"kernel={kernel!r} has no formula in the compiled core, which online learners need; use the name of a "
                "kernel such as 'rbf', or an object of hinge.kernels (sums and products are supported)"
            )
        self.kernel, self.options, self.features = kernel, options, features
        self._lock = threading.Lock()
        self._native = _core.OnlineLearner(
            _core.Kernel(nodes), options.loss, options.rate, options.power, options.regularization, options.nu,
            options.level, options.offset, options.budget, features, options.machines,
            options.threshold, options.curvature, options.bound,
        )  # fmt: skip

    @classmethod
    def of(cls, state: OnlineState, features: int) -> Learner:
        """Return a learner with the given state. Raise a ValueError if its parts are inconsistent.

        The arrays are compared with the options before memory for the options is allocated.
        """
        functions, terms = state.options.machines, len(state.norms)
        lengths = [np.size(getattr(state, name)) for name in ("offset", "level", "dropped", "beyond")]
        shapes = np.shape(state.vectors) == (terms, features) and np.shape(state.coefficients) == (functions, terms)
        if not shapes or lengths != [functions] * 4 or not 0 <= state.head <= terms:
            raise ValueError("online: the sizes of the arrays are inconsistent with the options")
        self = cls(state.kernel, state.options, features)
        self._restore(state)
        return self

    def learn(self, X: Any, target: Array) -> Array:
        """Learn the rows of X in order; return the function values before each step (samples × functions).

        Raise a ValueError if a kernel value overflows, and a FloatingPointError if a function value does. The learner
        is unchanged in both cases.
        """
        n = X.shape[0]
        before = np.empty((n, self.options.machines))
        samples = view(X).native
        with self._lock:  # another thread must not learn between the copy of the state and its restoration
            state = self._native.state() if n > 1 else None
            learned = self._native.learn(samples, target, before)
            if learned < n and state is not None:
                self._native.restore(state)
        if learned < n:
            row = X[learned : learned + 1]
            raise self._error(row.toarray() if sp.issparse(row) else row, f"at sample {learned} of {n}")
        return before

    def learn_one(self, x: Array, target: float) -> Any:
        """Learn one sample; return the function values before the step."""
        with self._lock:
            before = self._native.learn_one(x, target)
        if before is None:
            raise self._error(x[None, :], "at this sample")
        return before

    def decide_one(self, x: Array) -> Any:
        """Return g(x): a number, or one per function."""
        return self._native.decide_one(x)

    def _error(self, row: Array, where: str) -> ValueError | FloatingPointError:
        """Return the error for a sample that was not learned: kernel values or function values overflow."""
        with np.errstate(all="ignore"):
            values = self.kernel(np.asarray(row, dtype=np.float64), np.vstack([row, self.model().vectors]))
        if not np.isfinite(values).all():
            return ValueError(
                f"a kernel value of {self.kernel!r} is not finite {where}: features of size "
                f"{np.max(np.abs(row)):.3g} overflow. Scale the data (StandardScaler), or omit the sample. The model "
                "is unchanged"
            )
        return FloatingPointError(
            f"the function diverges {where}: eta0={self.options.rate:g} is too large for these data. Use a smaller "
            "one, or scale the data (StandardScaler). The model is unchanged"
        )

    # ---- state ------------------------------------------------------------------------------------------------

    @property
    def seen(self) -> int:
        """Number of samples learned."""
        return int(self._native.seen)

    @property
    def terms(self) -> int:
        """Number of terms of the expansion."""
        return int(self._native.terms)

    @property
    def offset(self) -> Array:
        """b of every function."""
        return np.array(self._native.summary().offset)

    @property
    def level(self) -> Array:
        """ρ, ε or σ of every function."""
        return np.array(self._native.summary().level)

    @property
    def beyond(self) -> NDArray[np.int64]:
        """Number of samples beyond the level (margin errors, or outside the tube) when learned, per function."""
        return np.array(self._native.summary().beyond)

    def state(self) -> OnlineState:
        """Return a copy of the state."""
        state = self._native.state()
        terms = len(state.norms)
        return OnlineState(
            self.kernel,
            self.options,
            vectors=state.vectors.reshape(terms, self.features),
            coefficients=state.coefficients.reshape(self.options.machines, terms),
            norms=state.norms,
            offset=state.offset,
            level=state.level,
            dropped=state.dropped,
            beyond=state.beyond,
            scale=state.scale,
            largest=state.largest,
            seen=state.seen,
            head=state.head,
        )

    def _restore(self, state: OnlineState) -> None:
        parts: dict[str, Any] = {
            name: np.ascontiguousarray(getattr(state, name), dtype=np.float64).ravel()
            for name in ("vectors", "coefficients", "norms", "offset", "level", "dropped")
        }
        parts["beyond"] = np.ascontiguousarray(state.beyond, dtype=np.int64)
        native = _core.OnlineState(
            **parts, scale=state.scale, largest=state.largest, seen=state.seen, head=state.head
        )
        self._native.restore(native)

    def model(self) -> KernelModel:
        """Return the current functions, oldest term first."""
        state = self.state()
        order = state.oldest_first
        coefficients = np.ascontiguousarray(state.scale * state.coefficients[:, order].T)
        return KernelModel(self.kernel, state.vectors[order], coefficients, np.array(state.offset))

    def truncation_error(self) -> Array:
        """Return a bound on ‖f − f_trunc‖ of each function, from the terms that were dropped.       docs/math (409)"""
        dropped = np.array(self._native.summary().dropped)
        return np.full_like(dropped, np.inf) if self.kernel.psd is False and dropped.any() else dropped

    def truncation_bound(self) -> float:
        """Return the a priori bound on ‖f − f_trunc‖.                                 LwK (10.130), docs/math (410)"""
        options, seen = self.options, self.seen
        if not options.budget or seen <= options.budget:
            return 0.0
        if np.isinf(options.max_slope) or options.regularization == 0 or self.kernel.psd is False:
            return float("inf")
        last = np.arange(seen - options.budget + 1, seen + 1, dtype=np.float64)
        kept = np.prod(1 - options.regularization * options.steps(last))
        return float(kept * self._native.summary().largest * options.max_slope / options.regularization)
