"""Plots of the calibration of probabilities and of the coverage of prediction intervals and sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom
from sklearn.utils.validation import check_is_fitted

from hinge.plotting import canvas
from hinge.problems import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Share of correctly calibrated models whose points lie within the shown range of chance.
CHANCE_LEVEL = 0.9

#: Levels 1 − α at which coverage is shown by default.
LEVELS = np.linspace(0.5, 0.98, 25)


class CalibrationDisplay:
    """Observed frequencies against predicted probabilities, with the range that chance alone explains.

    The samples are sorted by probability and divided into bins of equal size. Use :meth:`from_estimator` or
    :meth:`from_predictions` to create a plot.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    predicted, observed : ndarray
        Mean probability and observed frequency of each bin.
    counts : ndarray of int
        Number of samples of each bin.
    low, high : ndarray
        Range of the frequency that contains 90 % of the bins if the probabilities are right (binomial distribution).
    error : float
        Mean of |observed − predicted|, weighted by the counts (expected calibration error).

    Examples
    --------
    >>> from hinge.plotting import CalibrationDisplay
    >>> y, probability = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.1, 0.7, 0.7, 0.7]
    >>> display = CalibrationDisplay.from_predictions(y, probability, n_bins=2)
    >>> display.predicted, display.observed.round(2), round(display.error, 3)
    (array([0.1, 0.7]), array([0.33, 0.67]), 0.133)
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, event: ArrayLike, probability: ArrayLike, n_bins: int = 10, title: str = "") -> None:
        event, p = np.asarray(event, dtype=bool).ravel(), np.asarray(probability, dtype=np.float64).ravel()
        if len(event) != len(p) or len(p) == 0:
            raise ValueError(f"y has {len(event)} values and probability {len(p)}; these must be equal and not 0")
        if not (np.min(p) >= 0 and np.max(p) <= 1):
            raise ValueError("probability has values outside of [0, 1]; pass predict_proba, not decision_function")
        if not 1 <= n_bins <= len(p):
            raise ValueError(f"n_bins={n_bins} must be between 1 and the number of samples, {len(p)}")
        bins = np.array_split(np.argsort(p, kind="stable"), n_bins)
        self.counts = np.array([len(rows) for rows in bins])
        self.predicted = np.array([p[rows].mean() for rows in bins])
        self.observed = np.array([event[rows].mean() for rows in bins])
        self.low, self.high = _chance(self.counts, self.predicted)
        self.error = float(np.abs(self.observed - self.predicted) @ self.counts / len(p))
        self.title = title
        self.labels = ("predicted probability", "observed frequency")

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, n_bins: int = 10, ax: Axes | None = None
    ) -> CalibrationDisplay:
        """Plot the calibration of a fitted classifier with `predict_proba`.

        With two classes, the probability is that of ``classes_[1]``. With more classes it is that of the predicted
        class, and the frequency is the accuracy.

        Parameters
        ----------
        estimator : classifier
        X : array-like of shape (n_samples, n_features)
            Data that were not used for training.
        y : array-like of shape (n_samples,)
        n_bins : int, default=10
        ax : matplotlib.axes.Axes, optional
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"{type(estimator).__name__} has no predict_proba: set probability=True and fit again")
        probabilities, classes, y = estimator.predict_proba(X), estimator.classes_, np.asarray(y)
        name = type(estimator).__name__
        if len(classes) == 2:
            return cls(event=y == classes[1], probability=probabilities[:, 1], n_bins=n_bins, title=name).plot(ax)
        best = np.argmax(probabilities, axis=1)
        display = cls(event=y == classes[best], probability=probabilities.max(axis=1), n_bins=n_bins, title=name)
        display.labels = ("probability of the predicted class", "accuracy")
        return display.plot(ax)

    @classmethod
    def from_predictions(
        cls, y: ArrayLike, probability: ArrayLike, *, n_bins: int = 10, ax: Axes | None = None
    ) -> CalibrationDisplay:
        """Plot the calibration of given probabilities of the event that `y` is true (or 1)."""
        return cls(event=y, probability=probability, n_bins=n_bins).plot(ax)

    def plot(self, ax: Axes | None = None) -> CalibrationDisplay:
        """Plot on `ax` or on a new figure."""
        self.ax_, self.figure_ = _axes(ax)
        ax = self.ax_
        ax.vlines(self.predicted, self.low, self.high, color=canvas.PALETTE[5], alpha=0.45, linewidth=7, zorder=1)
        ax.plot([0, 1], [0, 1], color=canvas.GREY, linestyle=":", zorder=2)
        ax.plot(self.predicted, self.observed, "o-", color=canvas.PALETTE[0], markersize=5, linewidth=1.4, zorder=3)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel(self.labels[0], color=canvas.BLACK)
        ax.set_ylabel(f"{self.labels[1]} (bars: {CHANCE_LEVEL:.0%} range of chance)", color=canvas.BLACK)
        canvas.tidy(ax)
        title = f"{self.title}: mean difference {self.error:.3f}, {self.counts.sum():,} samples"
        canvas.headline(ax, title.removeprefix(": "))
        return self


class CoverageDisplay:
    """Coverage of prediction intervals or sets against their level, with the range that chance alone explains.

    Use :meth:`from_estimator` to create a plot.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure
    levels, coverage : ndarray
        The levels 1 − α, and the share of the targets in their intervals or sets.
    sizes : ndarray
        Mean width of the intervals, or mean number of classes in the sets, of each level.
    low, high : ndarray
        Range of the coverage of 90 % of the test sets of this size if the coverage is 1 − α.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.conformal import CVPlus
    >>> from hinge.plotting import CoverageDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(200, 1)); y = X[:, 0] ** 2 + 0.2 * rng.normal(size=200)
    >>> model = CVPlus(SVR(C=10.0), random_state=0).fit(X[:100], y[:100])
    >>> display = CoverageDisplay.from_estimator(model, X[100:], y[100:], levels=[0.5, 0.9])
    >>> bool(np.all(display.coverage >= display.low)), bool(display.sizes[1] > display.sizes[0])
    (True, True)
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, *, levels: Array, coverage: Array, sizes: Array, n_samples: int, kind: str, title: str = ""):
        self.levels, self.coverage, self.sizes, self.kind, self.title = levels, coverage, sizes, kind, title
        self.n_samples = n_samples
        self.low, self.high = _chance(np.full(len(levels), n_samples), levels)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, levels: ArrayLike = LEVELS, ax: Axes | None = None
    ) -> CoverageDisplay:
        """Plot the coverage of a fitted estimator of `hinge.conformal`.

        Parameters
        ----------
        estimator : object
            With `predict_interval` (regression) or `predict_set` (classification).
        X : array-like of shape (n_samples, n_features)
            Data that were not used for training.
        y : array-like of shape (n_samples,)
        levels : array-like
            Levels 1 − α between 0 and 1.
        ax : matplotlib.axes.Axes, optional
        """
        check_is_fitted(estimator)
        levels, y = np.sort(np.asarray(levels, dtype=np.float64).ravel()), np.asarray(y)
        if not (len(levels) and levels[0] > 0 and levels[-1] < 1):
            raise ValueError("levels must be numbers between 0 and 1, for example [0.8, 0.9, 0.95]")
        alpha = (1 - levels).tolist()
        if hasattr(estimator, "predict_interval"):
            intervals = estimator.predict_interval(X, alpha)
            inside = (intervals[:, 0] <= y[:, None]) & (y[:, None] <= intervals[:, 1])
            sizes, kind = (intervals[:, 1] - intervals[:, 0]).mean(axis=0), "width"
        elif hasattr(estimator, "predict_set") and hasattr(estimator, "classes_"):
            sets = estimator.predict_set(X, alpha)
            label = np.searchsorted(estimator.classes_, y)
            inside, sizes, kind = sets[np.arange(len(y)), label], sets.sum(axis=1).mean(axis=0), "classes"
        else:
            raise TypeError(
                f"{type(estimator).__name__} has neither predict_interval nor predict_set: pass an estimator of "
                "hinge.conformal"
            )
        title = type(estimator).__name__
        coverage = np.asarray(inside, dtype=np.float64).mean(axis=0)
        return cls(levels=levels, coverage=coverage, sizes=sizes, n_samples=len(y), kind=kind, title=title).plot(ax)

    def plot(self, ax: Axes | None = None) -> CoverageDisplay:
        """Plot on `ax` or on a new figure."""
        self.ax_, self.figure_ = _axes(ax)
        ax = self.ax_
        ax.fill_between(self.levels, self.low, self.high, color=canvas.PALETTE[5], alpha=0.35, linewidth=0)
        ax.plot(self.levels, self.levels, color=canvas.GREY, linestyle=":")
        ax.plot(self.levels, self.coverage, "o-", color=canvas.PALETTE[0], markersize=4, linewidth=1.4)
        ax.set_xlabel("level 1 − α", color=canvas.BLACK)
        ax.set_ylabel(f"coverage (shaded: {CHANCE_LEVEL:.0%} range of chance)", color=canvas.BLACK)
        canvas.tidy(ax)
        middle = len(self.levels) // 2
        size = f"mean {'width' if self.kind == 'width' else 'number of classes'} {self.sizes[middle]:.3g}"
        title = f"{self.title}: at the level {self.levels[middle]:.0%}, {size}; {self.n_samples:,} samples"
        canvas.headline(ax, title.removeprefix(": "))
        return self


def _chance(counts: Any, probability: Any) -> tuple[Array, Array]:
    """Return the range of the observed frequency under the binomial distribution."""
    low, high = binom.interval(CHANCE_LEVEL, counts, probability)
    return np.asarray(low / counts), np.asarray(high / counts)


def _axes(ax: Axes | None) -> tuple[Axes, Figure]:
    if ax is None:
        _, ax = canvas.pyplot().subplots(figsize=(5.6, 5.0), layout="constrained")
    assert ax is not None
    return ax, ax.get_figure()  # type: ignore[return-value]
