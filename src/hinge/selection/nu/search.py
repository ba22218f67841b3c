"""Grid search over ν."""

from __future__ import annotations

import time
import warnings
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target

from hinge.estimators import NuSVC, NuSVR
from hinge.estimators.common.validation import TrainingData
from hinge.problems import Status
from hinge.selection.axes import values_of
from hinge.selection.nu.interval import largest_common_nu
from hinge.selection.result import GridResult
from hinge.selection.search import Search
from hinge.validation import as_labels, check_integer, check_number, check_sample_weight

INFEASIBLE = "specified nu is infeasible"


class NuSearch(Search):
    """Search that fits every candidate on every split; an infeasible ν has the score `error_score`."""

    def validated(self, estimator: Any, X: Any, y: Any) -> TrainingData:
        """Return the training data as `fit` of the estimator validates them, without sample weights."""
        return estimator._validate(X, y, None, estimator._settings().kernel)

    def run(self) -> None:
        """Fill the tables, one candidate after the other."""
        for row, candidate in enumerate(self.candidates):
            for k in range(len(self.splits)):
                if self.control.expired():
                    return
                if not self.known[row, k] and self.can_train(k):
                    self._evaluate(row, k, candidate)
                    self.report()

    def _evaluate(self, row: int, k: int, candidate: dict[str, Any]) -> None:
        train, test = self.train(k), self.splits[k][1]
        precomputed = self.template._is_precomputed()
        model = clone(self.template).set_params(**candidate)
        remaining = self.control.remaining()
        if remaining is not None:
            model.set_params(max_time=max(remaining, 1e-3))
        start = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # counted in `unsolved`
                model.fit(self._rows(train, train, precomputed), self.y[train], sample_weight=self.weight[train])
        except ValueError as error:
            if isinstance(self.error_score, str) or INFEASIBLE not in str(error):
                raise
            self.failed.add(f"nu={candidate['nu']:g} is infeasible for split {k}")
            self.scores[row, k], self.known[row, k] = self.error_score, True
            return
        if self.control.expired() and model.status_ is not Status.SOLVED:
            return
        self.unsolved += int(model.status_ is not Status.SOLVED)
        fitted = time.monotonic()
        X, y = self._rows(test, train, precomputed), self.y[test]
        self.scores[row, k] = model.score(X, y) if self.scorer is None else self.score(model, X, y)
        self.known[row, k] = True
        self.fit_time[row, k], self.score_time[row, k] = fitted - start, time.monotonic() - fitted

    def _rows(self, rows: Any, columns: Any, precomputed: bool) -> Any:
        return self.X[np.ix_(rows, columns)] if precomputed else self.X[rows]


def nu_grid(
    X: Any,
    y: Any,
    *,
    nu: Any,
    gamma: Any = None,
    C: Any = None,
    estimator: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    error_score: Any = np.nan,
    refit: bool = True,
    max_time: float | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> GridResult:
    """Cross-validate every combination of ν, gamma (and C in regression), and fit the best one.

    ν is a fraction, so a linear grid in (0, 1] is natural. `nu_range` returns the admissible interval; candidates
    outside of it on a split have the score `error_score`, and a warning names them.                ν tutorial §8

    Parameters
    ----------
    X, y
        As for the estimator's `fit`.
    nu : float, sequence of floats, or int
        An integer m of at least 2 stands for m equally spaced values between 0 and the largest value that is
        admissible for all pairs of classes, (91): its multiples by (k − ½)/m, k = 1 … m.
    gamma : float, "scale", "auto", or a sequence of them, optional
        The value of the estimator by default.
    C : float or sequence of floats, optional
        For `NuSVR`.
    estimator : NuSVC or NuSVR, optional
        By default `NuSVR` if y is continuous or C is given, else `NuSVC`.
    cv, scoring, sample_weight, groups, error_score, refit, max_time, verbose
        As in `grid`.
    **parameters
        Any other parameter of the estimator.

    Returns
    -------
    GridResult

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.selection import nu_grid
    >>> X, y = load_iris(return_X_y=True)
    >>> search = nu_grid(X, y, nu=[0.05, 0.2, 0.5], gamma=[0.1, 1.0])
    >>> bool(search.best_score_ > 0.95)
    True
    """
    if estimator is None:
        is_regression = C is not None or type_of_target(y, input_name="y").startswith("continuous")
        estimator = NuSVR() if is_regression else NuSVC()
    if type(estimator) not in (NuSVC, NuSVR):
        raise TypeError(f"estimator={estimator!r} must be a hinge.NuSVC or NuSVR")
    template = clone(estimator).set_params(**parameters)
    axes = {"nu": _equally_spaced(nu, template, y, sample_weight) if is_count(nu) else values_of("nu", nu)}
    if gamma is not None:
        axes["gamma"] = values_of("gamma", gamma)
    if C is not None:
        if not isinstance(template, NuSVR):
            raise ValueError(f"C={C!r} is not a parameter of NuSVC; remove it")
        axes["C"] = values_of("C", C)
    for name, values in axes.items():
        for value in values:
            clone(template).set_params(**{name: value})._check_parameters()
    if max_time is not None:
        check_number("max_time", max_time, 0.0, open_low=True)
    search = NuSearch(template, X, y, sample_weight, axes, cv, groups, scoring, error_score, max_time, verbose)
    try:
        search.search()
    except KeyboardInterrupt as interrupted:
        interrupted.result = search.result()  # type: ignore[attr-defined]
        raise
    result = search.result()
    search.warn()
    if refit and result.best_params_ is not None:
        best = clone(template).set_params(**result.best_params_)
        object.__setattr__(result, "best_estimator_", best.fit(X, y, sample_weight=sample_weight))
    return result


def is_count(nu: Any) -> bool:
    """Whether ν is a number of values; 1 is a value of ν."""
    return isinstance(nu, Integral) and not isinstance(nu, bool) and int(nu) != 1


def _equally_spaced(count: Any, template: NuSVC | NuSVR, y: Any, sample_weight: Any) -> list[float]:
    check_integer("nu", count, 2)
    high = 1.0
    if isinstance(template, NuSVC):
        labels = as_labels(y)
        high = largest_common_nu(labels, check_sample_weight(sample_weight, len(labels)), template.balance)
    return [float(v) for v in high * (np.arange(int(count)) + 0.5) / int(count)]
