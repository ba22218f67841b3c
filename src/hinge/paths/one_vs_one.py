"""Regularization paths of several classes: one path per pair of classes, and votes.       docs/math (251)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hinge.control import Counter
from hinge.kernels import Precomputed, make_kernel
from hinge.paths.engine import Progress
from hinge.paths.evaluation.table import import_pandas
from hinge.paths.evaluation.validation_data import check_validation_data
from hinge.paths.evaluation.weights import feature_names
from hinge.paths.path import SolutionPath
from hinge.paths.regularization import check_training_rows, check_vector, regularization_path
from hinge.paths.validation_error import Best, StepFunction
from hinge.problems import Array
from hinge.validation import as_labels, check_same_length

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class OneVsOnePaths:
    """Exact regularization paths of all pairs of classes; returned by `one_vs_one_paths`.

    Methods with an argument `C` accept a value or an array of values; the first axis of the result then corresponds to
    the values.

    Attributes
    ----------
    classes : ndarray
    paths : tuple of SolutionPath
        In the order of `pairs`.
    members : tuple of ndarray
        The rows of X that belong to each path.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> paths = hinge.one_vs_one_paths(X, y, C_min=0.1, C_max=1.0)
    >>> len(paths.paths), paths.classes
    (3, array([0, 1, 2]))
    """

    classes: NDArray[Any]
    paths: tuple[SolutionPath, ...]
    members: tuple[Any, ...]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """(smaller, larger) label of each path."""
        return list(combinations(self.classes.tolist(), 2))

    def __getitem__(self, pair: tuple[Any, Any]) -> SolutionPath:
        """Return the path of two labels; its decision values are positive for the larger one."""
        first, second = sorted(pair)
        return self.paths[self.pairs.index((first, second))]

    @property
    def kkt_violation(self) -> float:
        """Largest KKT violation of all paths and breakpoints."""
        return max(path.kkt_violation for path in self.paths)

    @property
    def breakpoints(self) -> Array:
        """Breakpoints of all paths, ascending."""
        return np.unique(np.concatenate([path.breakpoints for path in self.paths]))

    @property
    def _codes(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.classes)), 2))

    def _part(self, X: Any, k: int) -> Any:
        """Return X for path k: if the kernel is precomputed, only the columns of its samples."""
        return X[:, self.members[k]] if isinstance(self.paths[k].kernel, Precomputed) else X

    def decision_values(self, X: Any, C: Any) -> Array:
        """Return decision values, one column per pair; positive values vote for the larger label."""
        values = [path.decision_function(self._part(X, k), C) for k, path in enumerate(self.paths)]
        return np.stack(values, axis=-1)

    def predict(self, X: Any, C: Any) -> NDArray[Any]:
        """Return the label with most votes; the smallest of them in case of a tie, as in `SVC`."""
        values = self.decision_values(X, C)
        votes = np.zeros((*values.shape[:-1], len(self.classes)), dtype=np.int64)
        for k, (a, b) in enumerate(self._codes):
            votes[..., b] += values[..., k] > 0
            votes[..., a] += values[..., k] <= 0
        return self.classes[np.argmax(votes, axis=-1)]

    def coef(self, C: Any) -> Array:
        """Return the weights of the features for the linear kernel, one row per pair."""
        return np.stack([path.coef(C) for path in self.paths], axis=-2)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the training data were a DataFrame whose column names are all text."""
        return self.paths[0].feature_names_in_

    def to_frame(self, values: ArrayLike | None = None, *, coefficients: bool = True) -> pd.DataFrame:
        """Return the tables of all pairs (`SolutionPath.to_frame`); the index is (first, second, C)."""
        frames = [path.to_frame(values, coefficients=coefficients) for path in self.paths]
        return import_pandas().concat(frames, keys=self.pairs, names=["first", "second", "C"])

    def validation_error(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> StepFunction:
        """Return the (weighted) error rate as an exact step function of C.

        Votes change only where a decision value of a pair changes sign, (221).
        """
        X, y, weight = check_validation_data(X, y, sample_weight, self.classes)
        truth = np.searchsorted(self.classes, y)
        votes = np.zeros((len(y), len(self.classes)), dtype=np.int64)
        at, blur, samples, gains, loses = [], [], [], [], []
        counter = Counter(progress, len(self.paths), "pairs of classes")
        for k, (a, b) in enumerate(self._codes):
            changes = self.paths[k].sign_changes(self._part(X, k))
            counter.advance()
            votes[:, b] += changes.first
            votes[:, a] += ~changes.first
            at.append(changes.at)
            blur.append(changes.blur)
            samples.append(changes.column)
            gains.append(np.where(changes.positive, b, a))
            loses.append(np.where(changes.positive, a, b))
        theta, width, sample, gained, lost = (np.concatenate(parts) for parts in (at, blur, samples, gains, loses))
        weight = weight / np.sum(weight)
        return _count_errors(votes, truth, weight, theta, width, sample, gained, lost, self._range)

    @property
    def _range(self) -> tuple[float, float]:
        return max(path.low for path in self.paths), min(path.high for path in self.paths)

    def best(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> Best:
        """Return the exact minimizer of the validation error: (low, high, error), and `theta`, a C inside it."""
        return self.validation_error(X, y, sample_weight, progress=progress).best()

    def __repr__(self) -> str:
        low, high = self._range
        return f"<{len(self.paths)} paths over C in [{low:g}, {high:g}], KKT violation {self.kkt_violation:.1e}>"


def _count_errors(
    votes: NDArray[np.int64], truth: NDArray[np.intp], weight: Array, at: Array, blur: Array, sample: NDArray[np.intp],
    gains: NDArray[np.intp], loses: NDArray[np.intp], ends: tuple[float, float],
) -> StepFunction:  # fmt: skip
    """Return the weighted error rate while votes change from one class to another, in the order of `at`."""
    wrong = np.argmax(votes, axis=1) != truth
    first, steps = float(weight @ wrong), np.zeros(len(at))
    order = np.argsort(at, kind="stable")
    for j in order:
        i = sample[j]
        votes[i, gains[j]] += 1
        votes[i, loses[j]] -= 1
        is_wrong = bool(np.argmax(votes[i]) != truth[i])
        steps[j] = weight[i] * (int(is_wrong) - int(wrong[i]))
        wrong[i] = is_wrong
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
    """Compute the exact regularization paths of the one-vs-one problems that `SVC` solves.

    Parameters as in `regularization_path`. `max_time` limits every path; ``gamma="scale"`` is that of all samples.

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
    names = None if isinstance(made, Precomputed) else feature_names(X)
    X, y = check_training_rows(made, X), as_labels(y)
    check_same_length(X, y)
    weight = check_vector("sample_weight", sample_weight, len(y), 1.0)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"y has {len(classes)} class; at least two are needed")
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
        paths.append(replace(path, feature_names=names))
        members.append(rows)
    return OneVsOnePaths(classes, tuple(paths), tuple(members))
