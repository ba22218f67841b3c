"""The solution of a regression problem as a function of the target of one added sample.     docs/math (526), (527)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hinge.conformal.p_value import PValue, p_value_of_pieces
from hinge.kernels import Kernel
from hinge.paths import PathError
from hinge.paths.window import Window, stack
from hinge.problems import Array, ParametricProblem, Status
from hinge.problems.parametric import Values

#: Share of the bound at which the variable of the added sample has reached it.
AT_BOUND = 1 - 1e-9

#: Rounding errors of f, relative to the largest possible sum |β|ᵀ|k|.
ROUNDING = 1e-14

#: The range of labels that is searched for the bound is doubled this number of times before a PathError.
MAX_EXTENSIONS = 60


class Branch(NamedTuple):
    """The solution for labels in one direction from the prediction.

    Attributes
    ----------
    labels : ndarray of shape (n_pieces, 2)
        Ends of the pieces.
    values : ndarray of shape (n_pieces, 2, n + 1)
        f at the training samples and the added one, at both ends.
    rounding : ndarray of shape (n_pieces,)
        Rounding errors of `values`.
    rate : float
        Derivative of b beyond the last label.
    """

    labels: Array
    values: Array
    rounding: Array
    rate: float


@dataclass
class LabelPaths:
    """Exact solutions with one added sample and any target, for several samples that are added one at a time.

    The window contains the added samples with cost zero. For each of them the cost is increased to its value, the
    target is moved, and the solution before is restored.
    """

    window: Window
    n: int
    cost: float
    offset: float

    @classmethod
    def open(
        cls,
        kernel: Kernel,
        X: Any,
        y: Array,
        cost: Array,
        epsilon: float,
        beta: Array,
        new: Any,
        C: float,
        cache_size: float | str = "auto",
    ) -> LabelPaths:
        """Return the paths of the samples `new` from the solution β of the samples X.

        Targets are centered at their median, which changes b alone, so that an offset causes no rounding errors.
        """
        m, offset = new.shape[0], float(np.median(y))
        window = Window(
            kernel, stack(X, new), np.append(y - offset, np.zeros(m)), np.append(cost, np.zeros(m)), task="regression",
            epsilon=epsilon, beta=np.append(beta, np.zeros(m)), cache_size=cache_size,
        )  # fmt: skip
        return cls(window, len(y), C, offset)

    def p_value(self, t: int) -> PValue:
        """Return the p-value of all labels of the added sample t."""
        window, active = self.window, self.window.engine.active_set
        position = self.n + t
        members = position + len(window.y) * np.arange(window.slots)
        before = active.snapshot()
        y = window.y[: self.n]
        # With two variables and a label inside the tube the variables are zero. With one variable (ε = 0) the label is
        # moved away from f, so that the variable follows its upper bound while that is opened.
        unit = float(np.ptp(y)) + window.epsilon
        label = float(window.decisions()[position]) + (0.0 if window.slots == 2 else 0.1 * unit + 1e-6)
        try:
            self._follow(members, linear=-label)
            if window.slots == 2:
                self._follow(members[:1], upper=self.cost)
                self._follow(members[1:], lower=-self.cost)
            else:
                self._follow(members, lower=-self.cost, upper=self.cost)
            opened, values = active.snapshot(), self._values(position)
            up = self._branch(members, label, values, unit, 1.0)
            active.restore(opened)
            down = self._branch(members, label, values, unit, -1.0)
        finally:
            active.restore(before)
        # The lower branch is recorded downwards; reverse it.
        labels = np.concatenate([down.labels[::-1, ::-1], up.labels])
        f = np.concatenate([down.values[::-1, ::-1], up.values])
        rounding = np.pad(np.concatenate([down.rounding[::-1], up.rounding]), 1, mode="edge")
        pieces = _with_rays(labels, y - f[:, :, :-1], labels - f[:, :, -1], down.rate, up.rate)
        return p_value_of_pieces(*pieces, rounding, self.offset)

    def _follow(self, members: Any, **rates: float) -> None:
        """Change the linear terms or bounds of variables by constants."""
        arrays = {name: np.zeros(len(self.window.engine.active_set.beta)) for name in ("linear", "lower", "upper")}
        for name, rate in rates.items():
            arrays[name][members] = rate
        _, status = self.window.engine.follow_rates(Values(**arrays, total=np.zeros(1)))
        assert status is Status.SOLVED

    def _values(self, position: int) -> Array:
        """Values f(x) + b at the training samples and the added one."""
        active = self.window.engine.active_set
        return np.append(active.f[: self.n], active.f[position]) + self.window.intercept

    def _branch(self, members: Any, label: float, f: Array, unit: float, direction: float) -> Branch:
        """Move the label upwards or downwards.

        The path ends where the coefficients do not change any more, because the variable of the sample is as large as
        it can be, and the label is beyond all values that can bound the offset.                                  (527)
        """
        engine, window = self.window.engine, self.window
        largest = AT_BOUND * min(self.cost, float(window.cost[: self.n].sum()))
        size = len(engine.active_set.beta)
        rates = np.zeros((2, size))
        rates[1, members] = -direction
        none = np.zeros((2, size))
        parametric = ParametricProblem(rates, none, none, np.zeros((2, 1)), engine.group, np.ones(size))
        theta, span = direction * label, unit + window.epsilon + 1.0
        assert window.access is not None
        ends, values, rounding = [], [], []
        position = int(members[0])
        rows = np.append(np.arange(self.n), position)
        norm = np.sqrt(np.maximum(window.access.diagonal(), 0.0))
        error_per_unit = ROUNDING * float(norm[rows].max()) * norm
        for _ in range(MAX_EXTENSIONS):
            before = window.coefficients
            pieces, _, _, _ = engine.follow(parametric, theta, theta + span)
            assert pieces is not None
            samples = np.unique(pieces.margin % len(window.y))
            slope = np.zeros((len(pieces), len(samples)))
            piece = np.repeat(np.arange(len(pieces)), np.diff(pieces.offset))
            np.add.at(slope, (piece, np.searchsorted(samples, pieces.margin % len(window.y))), pieces.rate)
            length = (pieces.stop - pieces.start)[:, None]
            change = (slope @ window.access.block(rows, samples).T + pieces.mu_rate) * length
            after = f + np.cumsum(change, axis=0)
            ends.append(direction * np.stack([pieces.start, pieces.stop], axis=1))
            values.append(np.stack([after - change, after], axis=1))
            step = slope * length
            moving = before[samples] + np.cumsum(step, axis=0)
            moving = np.maximum(np.abs(moving), np.abs(moving - step)) @ error_per_unit[samples]
            rounding.append(moving + np.delete(np.abs(before) * error_per_unit, samples).sum())
            theta, f = theta + span, self._values(position)
            beta = engine.active_set.beta[members]
            residuals = direction * (window.y[: self.n] - f[:-1])
            beyond = theta - direction * float(f[-1]) > float(residuals.max()) + 2 * window.epsilon
            if float(np.abs(beta).max()) >= largest and beyond:
                last = np.flatnonzero(pieces.stop > pieces.start)[-1]
                rate = float(pieces.mu_rate[last, 0])
                return Branch(np.concatenate(ends), np.concatenate(values), np.concatenate(rounding), rate)
            span *= 2
        raise PathError(
            f"the variable of the added sample did not reach C={self.cost!r} for labels up to {theta:.6g}. Scale X and "
            "y, for example with StandardScaler"
        )


def _with_rays(
    labels: Array, residuals: Array, own: Array, low_rate: float, high_rate: float
) -> tuple[Array, Array, Array]:
    """Add a piece on each side, on which only the offset changes, at the given rates.

    The pieces are so long that the order of the absolute residuals does not change beyond them.               (527)
    """
    length = 1.0 + 8.0 * (float(np.abs(residuals).max(initial=0.0)) + float(np.abs(own).max()))
    first, last = labels[0, 0], labels[-1, 1]
    labels = np.concatenate([[[first - length, first]], labels, [[last, last + length]]])
    below, above = residuals[0, 0], residuals[-1, 1]
    residuals = np.concatenate([
        [[below - low_rate * length, below]], residuals, [[above, above - high_rate * length]]
    ])  # fmt: skip
    low, high = own[0, 0], own[-1, 1]
    own = np.concatenate([
        [[low - (1.0 + low_rate) * length, low]], own, [[high, high + (1.0 - high_rate) * length]]
    ])  # fmt: skip
    return labels, residuals, own
