"""Several classes: one path per pair of classes, all over the same C, and their votes.       docs/math (251)"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hinge.kernels import FunctionKernel, Precomputed, make_kernel
from hinge.paths.engine import Progress
from hinge.paths.path import SolutionPath
from hinge.paths.regularization import check_vector, regularization_path
from hinge.paths.validation import Best, StepFunction
from hinge.problems import Array


@dataclass(frozen=True)
class OneVsOnePaths:
    """The exact regularization paths of all pairs of classes; made by `one_vs_one_paths`.

    Attributes
    ----------
    classes : ndarray
    paths : tuple of SolutionPath
        In the order of `pairs`.
    members : tuple of ndarray
        The rows of X that belong to each path.
    """

    classes: NDArray[Any]
    paths: tuple[SolutionPath, ...]
    members: tuple[Any, ...]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """(smaller, larger) label of each path."""
        return list(combinations(self.classes.tolist(), 2))

    def __getitem__(self, pair: tuple[Any, Any]) -> SolutionPath:
        """The path of two labels; its decision values are positive for the larger one."""
        first, second = sorted(pair)
        return self.paths[self.pairs.index((first, second))]

    @property
    def kkt_violation(self) -> float:
        """The largest over all paths and breakpoints."""
        return max(path.kkt_violation for path in self.paths)

    @property
    def breakpoints(self) -> Array:
        """Every C at which one of the machines turns, ascending."""
        return np.unique(np.concatenate([path.breakpoints for path in self.paths]))

    @property
    def _codes(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes)), 2))

    def _part(self, X: Any, k: int) -> Any:
        """X as path k reads it."""
        return X[:, self.members[k]] if isinstance(self.paths[k].kernel, Precomputed) else X

    def decision_values(self, X: Any, C: float) -> Array:
        """One column per pair; positive speaks for the larger label."""
        values = [path.decision_function(self._part(X, k), C) for k, path in enumerate(self.paths)]
        return np.stack(values, axis=1)

    def predict(self, X: Any, C: float) -> NDArray[Any]:
        """The label with most votes; the smallest of those that tie, as in `SVC`."""
        votes = np.zeros((X.shape[0], len(self.classes)), dtype=np.int64)
        for (a, b), values in zip(self._codes, self.decision_values(X, C).T, strict=True):
            votes[:, b] += values > 0
            votes[:, a] += values <= 0
        return self.classes[np.argmax(votes, axis=1)]

    def validation_error(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> StepFunction:
        """The (weighted) share of wrong labels as an exact step function of C.

        A vote changes where a decision value of a pair changes its sign, (221); between these C nothing changes.
        """
        y = np.asarray(y)
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if len(y) == 0 or len(y) != X.shape[0] or weight.shape != y.shape:
            raise ValueError(f"X has {X.shape[0]} rows, y {len(y)}, sample_weight {len(weight)}; they must agree")
        unknown = ~np.isin(y, self.classes)
        if unknown.any():
            raise ValueError(f"y has the label {y[unknown][0]!r}; the classes of the paths are {list(self.classes)}")
        truth = np.searchsorted(self.classes, y)
        votes = np.zeros((len(y), len(self.classes)), dtype=np.int64)
        at, blur, who, gains, loses = [], [], [], [], []
        for k, (a, b) in enumerate(self._codes):
            changes = self.paths[k].sign_changes(self._part(X, k))
            votes[:, b] += changes.first
            votes[:, a] += ~changes.first
            at.append(changes.at)
            blur.append(changes.blur)
            who.append(changes.column)
            gains.append(np.where(changes.positive, b, a))
            loses.append(np.where(changes.positive, a, b))
        where, width, column, gained, lost = (np.concatenate(parts) for parts in (at, blur, who, gains, loses))
        return _count(votes, truth, weight / np.sum(weight), where, width, column, gained, lost, self._range)

    @property
    def _range(self) -> tuple[float, float]:
        return max(path.low for path in self.paths), min(path.high for path in self.paths)

    def best(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Best:
        """The exact minimiser of the validation error: (low, high, error), and `theta`, a C inside the interval."""
        return self.validation_error(X, y, sample_weight).best()

    def _check_loaded(self) -> None:
        """The paths belong together (they may come from a file)."""
        count = len(self.classes) * (len(self.classes) - 1) // 2
        if not len(self.paths) == len(self.members) == count > 0:
            raise ValueError("the internal representation of the paths was altered")
        for path, rows in zip(self.paths, self.members, strict=True):
            path._check_loaded()
            if len(rows) != path.n_samples:
                raise ValueError("the internal representation of the paths was altered")

    def __repr__(self) -> str:
        low, high = self._range
        return f"<{len(self.paths)} paths over C in [{low:g}, {high:g}], KKT violation {self.kkt_violation:.1e}>"


def _count(
    votes: NDArray[np.int64], truth: NDArray[np.intp], weight: Array, at: Array, blur: Array, who: NDArray[np.intp],
    gains: NDArray[np.intp], loses: NDArray[np.intp], ends: tuple[float, float],
) -> StepFunction:  # fmt: skip
    """Errors while votes go from one class to another, one after the other."""
    wrong = np.argmax(votes, axis=1) != truth
    first, steps = float(weight @ wrong), np.zeros(len(at))
    order = np.argsort(at, kind="stable")
    for j in order:
        i = who[j]
        votes[i, gains[j]] += 1
        votes[i, loses[j]] -= 1
        now = bool(np.argmax(votes[i]) != truth[i])
        steps[j] = weight[i] * (int(now) - int(wrong[i]))
        wrong[i] = now
    return StepFunction.of_steps(*ends, first, at, steps, blur).counted(weight)


def one_vs_one_paths(
    X: Any,
    y: Any,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    progress: Progress | None = None,
) -> OneVsOnePaths:
    """The exact regularization paths of all pairs of classes, as `SVC` trains them.

    Parameters as in `regularization_path`; `max_time` is that of each path, ``gamma="scale"`` that of all samples.

    Returns
    -------
    OneVsOnePaths

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge import one_vs_one_paths
    >>> X, y = load_iris(return_X_y=True)
    >>> paths = one_vs_one_paths(X[::2], y[::2], gamma=0.5)
    >>> paths.best(X[1::2], y[1::2]).error <= 0.05
    True
    """
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    if not isinstance(made, FunctionKernel):
        X = check_array(X, dtype=np.float64, order="C", accept_sparse="csr")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows and y {len(y)}; they must agree")
    weight = check_vector("sample_weight", sample_weight, len(y), 1.0)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has {len(classes)} class; give it at least two")
    precomputed = isinstance(made, Precomputed)
    kernel = made if precomputed else made.resolve(X, weight)
    paths, members = [], []
    for first, second in combinations(classes, 2):
        rows = np.flatnonzero((y == first) | (y == second))
        part = np.ascontiguousarray(X[np.ix_(rows, rows)]) if precomputed else X[rows]
        path = regularization_path(
            part, y[rows], C_min=C_min, C_max=C_max, kernel=kernel, sample_weight=weight[rows],
            cache_size=cache_size, max_time=max_time, progress=progress,
        )  # fmt: skip
        paths.append(path)
        members.append(rows)
    return OneVsOnePaths(classes, tuple(paths), tuple(members))
