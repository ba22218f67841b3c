"""The online learner: samples and targets in, an expansion and a bound on what it has forgotten out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import Kernel
from hinge.kernels.samples import view
from hinge.model import KernelModel

Array = NDArray[np.float64]

#: Losses whose derivative is at most 1 in size.
LIPSCHITZ = ("hinge", "perceptron", "nu_margin", "novelty", "epsilon_insensitive", "huber")


@dataclass(frozen=True, kw_only=True)
class OnlineOptions:
    """What a learner is asked to do.  Λₜ = rate / t^power; `nu` below zero leaves the level where it is."""

    loss: str
    rate: float
    power: float
    regularization: float
    nu: float = -1.0
    level: float = 0.0
    offset: bool = True
    budget: int = 0
    machines: int = 1

    def steps(self, t: Array) -> Array:
        """Λ at the times t = 1, 2, ..."""
        return self.rate / t**self.power


@dataclass(frozen=True)
class OnlineState:
    """All that a learner knows: from it another one goes on with the same bits."""

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
        """Slots in the order in which their samples came."""
        return np.roll(np.arange(len(self.norms)), -self.head)


class Learner:
    """Stochastic gradient descent in feature space.                       LwK 10.6.3, docs/math (401)-(411)

    Parameters
    ----------
    kernel : Kernel
        With its width fixed, and compiled: no Python function.
    options : OnlineOptions
    features : int
    """

    def __init__(self, kernel: Kernel, options: OnlineOptions, features: int) -> None:
        nodes = kernel.nodes()
        if nodes is None:
            raise ValueError(
                f"kernel={kernel!r} is evaluated in Python; an online learner needs a kernel by name or an object of "
                "hinge.kernels (they add and multiply)"
            )
        self.kernel, self.options, self.features = kernel, options, features
        self._native = _core.OnlineLearner(
            _core.Kernel(nodes), options.loss, options.rate, options.power, options.regularization, options.nu,
            options.level, options.offset, options.budget, features, options.machines,
        )  # fmt: skip

    @classmethod
    def of(cls, state: OnlineState, features: int) -> Learner:
        """A learner that goes on where another stopped; ValueError if the parts do not belong together."""
        self = cls(state.kernel, state.options, features)
        self._restore(state)
        return self

    # ---- learning ---------------------------------------------------------------------------------------------

    def learn(self, X: Any, target: Array) -> Array:
        """Learn the rows of X in their order; returns what was said of each before it was learned, (n × machines).

        A kernel value that overflows is a ValueError, a function that does a FloatingPointError; both leave the learner
        as it was before the call.
        """
        n = X.shape[0]
        before = np.empty((n, self.options.machines))
        state = self._native.state() if n > 1 else None
        learned = self._native.learn(view(X).native, target, before)
        if learned < n:
            if state is not None:
                self._native.restore(state)
            row = X[learned : learned + 1]
            raise self._refusal(row.toarray() if sp.issparse(row) else row, f"at sample {learned} of {n}")
        return before

    def learn_one(self, x: Array, target: float) -> Any:
        """Learn one sample; returns what was said of it before."""
        before = self._native.learn_one(x, target)
        if before is None:
            raise self._refusal(x[None, :], "at this sample")
        return before

    def decide_one(self, x: Array) -> Any:
        """g(x): a number, or one per machine."""
        return self._native.decide_one(x)

    def _refusal(self, row: Array, where: str) -> ValueError | FloatingPointError:
        """Why a sample could not be learned: its own kernel values, or what the function has become."""
        with np.errstate(all="ignore"):
            values = self.kernel(np.asarray(row, dtype=np.float64), np.vstack([row, self.model().vectors]))
        if not np.isfinite(values).all():
            return ValueError(
                f"a kernel value of {self.kernel!r} is not finite {where}: features of size "
                f"{np.max(np.abs(row)):.3g} overflow. Scale the data (StandardScaler), or leave the sample out. "
                "The model is as it was"
            )
        return FloatingPointError(
            f"the function grew beyond all bounds {where}: eta0={self.options.rate:g} is too large for these data. "
            "Lower it, or scale the data (StandardScaler). The model is as it was"
        )

    # ---- what is known ----------------------------------------------------------------------------------------

    @property
    def seen(self) -> int:
        """Samples learned."""
        return int(self._native.seen)

    @property
    def terms(self) -> int:
        """Terms of the expansion."""
        return int(self._native.terms)

    @property
    def offset(self) -> Array:
        """b of every machine."""
        return np.array(self._native.summary().offset)

    @property
    def level(self) -> Array:
        """ρ, ε or σ of every machine."""
        return np.array(self._native.summary().level)

    @property
    def beyond(self) -> NDArray[np.int64]:
        """Samples that were beyond the level when they came, for every machine."""
        return np.array(self._native.summary().beyond)

    def state(self) -> OnlineState:
        """A copy of everything."""
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
        """The function as it is now, oldest term first."""
        state = self.state()
        order = state.oldest_first
        coefficients = np.ascontiguousarray(state.scale * state.coefficients[:, order].T)
        return KernelModel(self.kernel, state.vectors[order], coefficients, np.array(state.offset))

    def truncation_error(self) -> Array:
        """A bound on ‖f − f_trunc‖ of each machine, from the terms that were dropped.            docs/math (409)"""
        dropped = np.array(self._native.summary().dropped)
        return np.full_like(dropped, np.inf) if self.kernel.psd is False and dropped.any() else dropped

    def truncation_bound(self) -> float:
        """The same before any sample is seen, but for the size of the kernel.       LwK (10.130), docs/math (410)"""
        options, seen = self.options, self.seen
        if not options.budget or seen <= options.budget:
            return 0.0
        if options.loss not in LIPSCHITZ or options.regularization == 0 or self.kernel.psd is False:
            return float("inf")
        last = np.arange(seen - options.budget + 1, seen + 1, dtype=np.float64)
        kept = np.prod(1 - options.regularization * options.steps(last))
        return float(kept * self._native.summary().largest / options.regularization)
