"""The regularization path of quadratic losses: piecewise rational in λ.   Karasuyama ch. 5, docs/math (231)–(236)"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.kernels import Kernel, Precomputed, cross, expand, open_access
from hinge.model import KernelModel
from hinge.paths.engine import PathError, Progress
from hinge.paths.path import PathModel
from hinge.paths.piecewise import check_rows
from hinge.paths.quadratic_loss.rational import RationalFunctions
from hinge.paths.quadratic_loss.subproblem import CENTRE, LEFT, Subproblem
from hinge.paths.regularization import check_samples
from hinge.paths.ties import Rounding
from hinge.paths.validation_error import Best, StepFunction
from hinge.problems import Array
from hinge.solvers.blas_threads import single_thread

LOSSES = {"squared_hinge": (1.0, np.inf), "modified_huber": (1.0, 2.0), "huberized_hinge": (1.1, 0.2)}

#: Steps without progress in λ before the path is given up.
MAX_IDLE = 1000


@dataclass(frozen=True)
class QuadraticLossPath:
    """The exact solution for every λ between `lambda_min` and `lambda_max`; made by `quadratic_loss_path`.

    Attributes
    ----------
    breakpoints : ndarray
        The event points, ascending, with both ends.
    n_events : int
    kkt_violation : float
        Largest over all breakpoints, relative.
    mean_evaluations : float
        Evaluations per function and search: close to 1 thanks to the cutoff.
    """

    kernel: Kernel
    X: Any
    y: Array
    classes: Any
    rho: float
    h: float
    bias: bool
    knots: Array
    changed: NDArray[np.int64]
    place: NDArray[np.int8]
    offset: NDArray[np.int64]
    kkt_violation: float
    mean_evaluations: float

    @property
    def lambda_min(self) -> float:
        """The lower end."""
        return float(self.knots[-1])

    @property
    def lambda_max(self) -> float:
        """The upper end."""
        return float(self.knots[0])

    @property
    def n_events(self) -> int:
        """Changes of the index sets between the ends."""
        return int(len(self.changed) - self.offset[1])

    @cached_property
    def breakpoints(self) -> Array:
        """Every λ at which a sample changes its index set, ascending."""
        return np.unique(self.knots)

    @cached_property
    def _machine(self) -> Subproblem:
        access = open_access(self.kernel, self.X)
        everyone = np.arange(len(self.y))
        return Subproblem(access.block(everyone, everyone), self.y, self.rho, self.h, self.bias)

    @cached_property
    def _rounding(self) -> Rounding:
        return Rounding.of(self.kernel, open_access(self.kernel, self.X).diagonal(), self.X.shape[1])

    def _segment(self, lam: float) -> int:
        lam = float(lam)
        if not self.lambda_min * (1 - 1e-12) <= lam <= self.lambda_max * (1 + 1e-12):
            raise ValueError(f"lambda={lam!r} is outside the path, from {self.lambda_min!r} to {self.lambda_max!r}")
        return int(np.clip(np.searchsorted(-self.knots, -lam, side="right") - 1, 0, len(self.knots) - 2))

    def places(self, lam: float) -> NDArray[np.int8]:
        """0: α = 0 (right of the loss), 1: between, 2: α = h."""
        places = np.zeros(len(self.y), dtype=np.int8)
        last = self.offset[self._segment(lam) + 1]
        places[self.changed[:last]] = self.place[:last]
        return places

    def set_sizes(self) -> NDArray[np.int64]:
        """|R|, |C| and |L| on every segment, from the largest λ down."""
        places, rows = np.zeros(len(self.y), dtype=np.int8), []
        for first, last in zip(self.offset[:-1], self.offset[1:], strict=True):
            places[self.changed[first:last]] = self.place[first:last]
            rows.append(np.bincount(places, minlength=3))
        return np.array(rows)

    def _solution(self, lam: float) -> tuple[Array, float]:
        return self._machine.solution(self.places(lam), float(lam))

    def alpha(self, lam: float) -> Array:
        """The dual variables of (5.10)."""
        return self._solution(lam)[0]

    def coefficients(self, lam: float) -> Array:
        """β with f(x) = Σ βᵢ k(xᵢ, x) + b:  β = y ∘ α / λ."""
        return self.y * self.alpha(lam) / lam

    def intercept(self, lam: float) -> float:
        """b; zero without bias."""
        return self._solution(lam)[1]

    def decision_function(self, X: Any, lam: float) -> Array:
        """Decision values at the rows of X."""
        alpha, offset = self._solution(lam)
        beta = self.y * alpha / lam
        X = check_rows(self.kernel, X, self.X.shape[1])
        known = X @ beta if isinstance(self.kernel, Precomputed) else expand(self.kernel, X, self.X, beta)
        return self._rounding.zero_ties(np.asarray(known) + offset, X, beta, offset)

    def model(self, lam: float) -> PathModel:
        """The machine at λ."""
        alpha, offset = self._solution(lam)
        support = np.flatnonzero(alpha)
        vectors = None if isinstance(self.kernel, Precomputed) else self.X[support]
        machine = KernelModel(self.kernel, vectors, (self.y * alpha / lam)[support][:, None], np.array([offset]))
        return PathModel(machine, self.classes, support, len(self.y), self._rounding)

    def validation_error(self, X: Any, y: ArrayLike) -> StepFunction:
        """The 0-1 error on other data as an exact step function of λ: sign changes of rational functions. (236)

        It is that of `model(lam).predict`: a decision value that is zero, to rounding, speaks for ``classes[0]``. (480)
        """
        y = np.asarray(y)
        truth, at, step = y == self.classes[1], [], []
        X = check_rows(self.kernel, X, self.X.shape[1])
        K = X if isinstance(self.kernel, Precomputed) else cross(self.kernel, X, self.X)
        machine, positive, reach = self._machine, None, self._rounding.reach(X)
        for k in range(len(self.knots) - 1):
            top, bottom = self.knots[k], self.knots[k + 1]
            places = self.places(0.5 * (top + bottom))
            functions = self._scores(machine, K, places)
            inside = 0.5 * float(top + bottom)
            alpha, offset = machine.solution(places, inside)
            tie = self._rounding.bound(reach, self._rounding.size(alpha), inside * offset)  # of λ f
            values = np.stack([functions.values(lam) for lam in (top, inside, bottom)])
            now = values[0] > tie if positive is None else positive.copy()
            where = np.full(len(y), top)
            for i in np.flatnonzero(now & np.all(np.abs(values) <= tie, axis=0)):  # zero from here on
                now[i] = False
                at.append(float(top))
                step.append((1.0 if truth[i] else -1.0) / len(y))
            while True:  # every sign change in this segment, one after the other for each sample
                signed, moved = functions.times(np.where(now, 1.0, -1.0)), False
                for i in np.flatnonzero((values[-1] > tie) != now) if top > bottom else []:
                    found = signed.only(int(i)).first_crossing(float(where[i]), float(bottom))
                    if found.which < 0:
                        continue
                    at.append(found.at)
                    now = now.copy()
                    now[i] = not now[i]
                    where[i] = found.at
                    step.append((1.0 if now[i] != truth[i] else -1.0) / len(y))
                    moved = True
                if not moved:
                    break
            positive = now
        assert positive is not None
        steps = -np.array(step[::-1], dtype=float)  # the path runs downwards, the step function upwards
        low_value = float(np.mean(positive != truth))
        found_function = StepFunction.of_steps(
            self.lambda_min, self.lambda_max, low_value, np.array(at[::-1], dtype=float), steps
        )
        return StepFunction(found_function.knots, np.rint(found_function.values * len(y)) / len(y))

    def _scores(self, machine: Subproblem, K: Array, places: NDArray[np.int8]) -> RationalFunctions:
        """λ f at the validation points."""
        pull = machine.pull(places)
        curve = machine.curve(places, pull)
        block = K[:, curve.members] * self.y[curve.members]
        left = np.flatnonzero(places == LEFT)
        constant = block @ curve.level + curve.shift[0]
        if len(left):
            constant = constant + self.h * (K[:, left] @ self.y[left])
        linear = np.full(len(K), curve.shift[1])
        return RationalFunctions(constant, linear, block @ curve.zeta - curve.shift_poles, curve.pole)

    def best(self, X: Any, y: ArrayLike) -> Best:
        """The exact minimiser of the validation error: (low, high, error), and `theta`, a λ inside the interval."""
        return self.validation_error(X, y).best()

    def _check_loaded(self) -> None:
        """The arrays belong together (they may come from a file)."""
        n, knots = self.X.shape[0], self.knots
        checks = (
            len(self.y) == n and len(knots) >= 2 and bool(np.all(np.diff(knots) <= 0) and knots[-1] > 0),
            self.offset.shape == knots.shape and self.offset[0] == 0 and bool(np.all(np.diff(self.offset) >= 0)),
            self.changed.shape == self.place.shape
            and int(self.offset[-1]) <= len(self.changed)
            and len(self.changed) >= n,
            bool(
                self.changed.min() >= 0 and self.changed.max() < n and set(np.unique(self.place).tolist()) <= {0, 1, 2}
            ),
        )
        if not all(checks):
            raise ValueError("the internal representation of the path was altered")

    def __repr__(self) -> str:
        return (
            f"<path of {len(self.y)} samples over lambda in [{self.lambda_min:g}, {self.lambda_max:g}], "
            f"rho={self.rho:g}, h={self.h:g}: {self.n_events} events, KKT violation {self.kkt_violation:.1e}>"
        )


def quadratic_loss_path(
    X: Any,
    y: Any,
    *,
    loss: str | tuple[float, float] = "squared_hinge",
    lambda_max: float | None = None,
    lambda_min: float = 1e-5,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    fit_intercept: bool = False,
    progress: Progress | None = None,
) -> QuadraticLossPath:
    """The exact regularization path of min ½λ‖w‖² + ½Σφ(ρ − yᵢf(xᵢ)), φ quadratic up to h and linear beyond.

    Parameters
    ----------
    X, y : as in `regularization_path`; two classes
    loss : {"squared_hinge", "modified_huber", "huberized_hinge"} or (rho, h)
        (1, ∞), (1, 2) and (1.1, 0.2); or any 0 < ρ, 0 < h ≤ ∞.
    lambda_max : float, optional
        The upper end; when left out, a λ from which on upwards no sample changes its index set.
    lambda_min : float
    kernel, degree, gamma, coef0
        As in `SVC`.
    fit_intercept : bool
        With a bias that is not penalised; the dissertation has none.
    progress : callable, optional
        Called now and then with {"events", "lambda"}; returning False stops the path.

    Returns
    -------
    QuadraticLossPath
    """
    samples = check_samples(X, y, "classification", kernel, degree, gamma, coef0)
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r} must be one of {', '.join(map(repr, LOSSES))} or a pair (rho, h)")
        rho, h = LOSSES[loss]
    else:
        rho, h = (float(v) for v in loss)
    if not (rho > 0 and np.isfinite(rho) and h > 0):
        raise ValueError(f"loss=(rho={rho!r}, h={h!r}) needs 0 < rho < inf and 0 < h <= inf")
    if not (np.isfinite(lambda_min) and lambda_min > 0):
        raise ValueError(f"lambda_min={lambda_min!r} must be positive and finite")
    if lambda_max is not None and not lambda_min < lambda_max < np.inf:
        hint = "; exchange them" if lambda_min > lambda_max else ""
        raise ValueError(f"lambda_min={lambda_min!r} must be below lambda_max={lambda_max!r}{hint}")
    access = open_access(samples.kernel, samples.X)
    everyone = np.arange(samples.n)
    machine = Subproblem(access.block(everyone, everyone), samples.y, rho, h, bool(fit_intercept))
    with single_thread():
        start, places = _begin(machine, lambda_max)
        return _follow(machine, samples, start, places, lambda_max, float(lambda_min), progress)


def _begin(machine: Subproblem, lambda_max: float | None) -> tuple[float, NDArray[np.int8]]:
    """A λ large enough for trivial index sets, and these.                                 (235); Karasuyama 5.3.4"""
    y, n = machine.y, len(machine.y)
    guesses = [np.full(n, CENTRE, dtype=np.int8)]
    if np.isfinite(machine.h):
        guesses.append(np.full(n, LEFT, dtype=np.int8))
        for larger in (1.0, -1.0):
            guesses.append(np.where(y == larger, CENTRE, LEFT).astype(np.int8))
        if machine.rho == machine.h:
            guesses.append(_on_the_kink(machine))
    lam = max(1e-3, float(np.max(np.sum(np.abs(machine.K), axis=1))) / 64)
    for _ in range(30):
        for places in guesses:
            if machine.bias and not np.any(places == CENTRE) and np.sum(y) != 0:
                continue
            alpha, offset = machine.solution(places, lam)
            if np.any(alpha < 0) or np.any(alpha > machine.h):
                continue
            if machine.residual(places, lam, alpha, offset) < 1e-12:
                return (lam if lambda_max is None else max(lam, lambda_max)), places
        lam *= 4
    raise PathError(
        f"no solution for large lambda was found for loss=({machine.rho}, {machine.h}); use a slightly different h"
    )


def _on_the_kink(machine: Subproblem) -> NDArray[np.int8]:
    """ρ = h: every α tends to h, and αᵢ = h − max(0, qᵢ + yᵢν)/λ for large λ, ν such that Σ yᵢαᵢ = 0.        (235)"""
    y, pull = machine.y, machine.pull(np.full(len(machine.y), LEFT, dtype=np.int8))
    nu = 0.0
    if machine.bias:
        low, high = -float(np.max(np.abs(pull))) - 1.0, float(np.max(np.abs(pull))) + 1.0
        for _ in range(200):
            nu = 0.5 * (low + high)
            above = np.sum(y * np.maximum(0.0, pull + y * nu)) > 0
            low, high = (low, nu) if above else (nu, high)
    return np.where(pull + y * nu > 0, CENTRE, LEFT).astype(np.int8)


def _follow(
    machine: Subproblem, samples: Any, start: float, places: NDArray[np.int8], highest: float | None, lowest: float,
    progress: Progress | None,
) -> QuadraticLossPath:  # fmt: skip
    lam, knots = start, [start]
    changed, place, offset = [np.arange(samples.n)], [places.copy()], [0, samples.n]
    evaluations = functions = idle = 0
    worst = 0.0
    pull = machine.pull(places)
    while lam > lowest:
        step = _next(machine, places, pull, lam, lowest)
        evaluations, functions = evaluations + step.evaluations, functions + step.functions
        idle = 0 if step.at < lam * (1 - 1e-14) else idle + 1
        if idle > MAX_IDLE:
            raise PathError(f"ties could not be resolved at lambda={lam:.6g}; perturb the data slightly")
        alpha, b = machine.solution(places, step.at, pull)
        worst = max(worst, machine.residual(places, step.at, alpha, b))
        lam = step.at
        knots.append(lam)
        if len(step.who) == 0:
            break
        for i, to in zip(step.who, step.to, strict=True):
            if LEFT in (places[i], to):
                pull = pull + (1.0 if to == LEFT else -1.0) * machine.h * machine.y * machine.K[:, i] * machine.y[i]
            places[i] = to
            changed.append(np.array([i]))
            place.append(np.array([to], dtype=np.int8))
        offset.append(offset[-1] + len(step.who))
        if len(knots) % 200 == 0:
            pull = machine.pull(places)
        if progress is not None and progress({"events": len(knots), "lambda": lam}) is False:
            break
    path = QuadraticLossPath(
        samples.kernel, samples.X, samples.y, samples.classes, machine.rho, machine.h, machine.bias,
        np.array(knots), np.concatenate(changed), np.concatenate(place).astype(np.int8), np.array(offset[: len(knots)]),
        worst, evaluations / max(functions, 1),
    )  # fmt: skip
    return path if highest is None or highest >= start else _cut(path, highest)


@dataclass(frozen=True)
class _Step:
    at: float
    who: list[int]
    to: list[int]
    evaluations: int
    functions: int


def _next(machine: Subproblem, places: NDArray[np.int8], pull: Array, lam: float, lowest: float) -> _Step:
    """The next event below λ."""
    if machine.bias and not np.any(places == CENTRE):
        met = machine.meeting(places, pull, 1.0 / lam, 1.0 / lowest)
        if met is None:
            return _Step(lowest, [], [], 0, 0)
        return _Step(1.0 / met[0], list(met[1]), [CENTRE, CENTRE], 1, 1)
    curve = machine.curve(places, pull)
    functions, who, to = machine.constraints(places, pull, curve)
    found = functions.first_crossing(lam, lowest)
    if found.which < 0:
        return _Step(lowest, [], [], found.evaluations, found.functions)
    return _Step(found.at, [int(who[found.which])], [int(to[found.which])], found.evaluations, found.functions)


def _cut(path: QuadraticLossPath, highest: float) -> QuadraticLossPath:
    """The part below `highest`."""
    k = path._segment(highest)
    places, keep = path.places(highest), path.offset[k + 1]
    n = len(path.y)
    return QuadraticLossPath(
        path.kernel, path.X, path.y, path.classes, path.rho, path.h, path.bias,
        np.concatenate([[highest], path.knots[k + 1 :]]), np.concatenate([np.arange(n), path.changed[keep:]]),
        np.concatenate([places, path.place[keep:]]).astype(np.int8),
        np.concatenate([[0], path.offset[k + 1 :] - keep + n]), path.kkt_violation, path.mean_evaluations,
    )  # fmt: skip
