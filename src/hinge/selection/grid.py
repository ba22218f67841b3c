"""Exhaustive search with cross-validation."""

from __future__ import annotations

import time
import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target

from hinge.control import RunControl
from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR
from hinge.kernels import Kernel
from hinge.losses import Loss
from hinge.selection.axes import values_of
from hinge.selection.kernel_search import KernelSearch
from hinge.selection.linear_search import LinearSearch
from hinge.selection.result import GridResult
from hinge.selection.search import Search
from hinge.validation import is_pair


def grid(
    X: Any,
    y: Any,
    *,
    C: Any,
    gamma: Any = None,
    epsilon: Any = None,
    estimator: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    error_score: Any = np.nan,
    refit: bool = True,
    n_jobs: int | None = None,
    cache_size: float | str | None = None,
    max_time: float | None = None,
    verbose: bool = False,
    **parameters: Any,
) -> GridResult:
    """Cross-validate every combination of C, gamma (and epsilon), and fit the best one.

    The scores are those of ``GridSearchCV(SVC(), ...)``. The search is faster: the kernel matrix of each gamma is
    computed once for all folds, values of C and pairs of classes, all problems run in parallel, and each solution is
    the start of the next, smaller C (LwK 10.1.2). For linear estimators (``estimator=LinearSVC()``) C increases.

    Parameters
    ----------
    X, y
        As for the estimator's `fit`.
    C : float or sequence of floats
        For regression also a list of tuples (C, C*), the costs above and below the function.
    gamma : float, "scale", "auto", or a sequence of them, optional
        The value of the estimator by default. "scale" is computed from the training samples of each split.
    epsilon : float or sequence of floats, optional
        Regression only; also a list of tuples (ε, ε*).
    estimator : SVC, SVR, LinearSVC or LinearSVR, optional
        The estimator to tune. By default `SVR` if y is continuous or epsilon is given, else `SVC`.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds for classifiers.
    scoring : str or callable, optional
        A name or a scorer of scikit-learn; accuracy or R² by default. A callable gets an estimator whose `predict` and
        `decision_function` return the values at the test samples only.
    sample_weight : array-like of shape (n_samples,), optional
        Multiplies the costs in training. Scores are not weighted (in scikit-learn they are, since version 1.9).
    groups : array-like of shape (n_samples,), optional
        For splitters that keep groups of samples together, such as `GroupKFold`.
    error_score : "raise" or float, default=nan
        The score of a split with training samples of one class only, and of a scorer that raises an error; a warning
        gives the reason. "raise": the error is raised.
    refit : bool, default=True
        Fit the best candidate to all data.
    n_jobs : int, optional
        Threads.
    cache_size : float or "auto", optional
        Megabytes for the kernel matrix. If it does not fit, rows are computed when they are needed.
    max_time : float, optional
        Seconds for the search and the refit. The grid is evaluated on subsets of increasing size first, and then on
        all samples, beginning with the gamma that was best. Missing scores are NaN, and a warning is issued. If no
        candidate was finished, the best one of the largest subset is returned.
    verbose : bool, default=False
        Whether to show a progress line on standard error (in notebooks: below the cell) with the number of fits, the
        remaining time and the best candidate so far.
    **parameters
        Any other parameter of the estimator: `kernel`, `degree`, `coef0`, `class_weight`, `tol`, ...

    Returns
    -------
    GridResult

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt; its attribute `result` holds the scores that were computed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.selection import grid
    >>> X, y = load_iris(return_X_y=True)
    >>> search = grid(X, y, C=[0.1, 1, 10], gamma=[0.01, 0.1, 1])
    >>> bool(search.best_score_ > 0.97)
    True
    >>> search.predict(X[:2])
    array([0, 0])
    >>> from hinge import LinearSVC
    >>> grid(X, y, C=[0.1, 1, 10], estimator=LinearSVC(loss="hinge")).best_params_["C"] > 0.1
    True
    """
    if estimator is None:
        is_regression = epsilon is not None or type_of_target(y, input_name="y").startswith("continuous")
        estimator = SVR() if is_regression else SVC()
    resources = {"n_jobs": n_jobs, "cache_size": cache_size}
    template = _template(estimator, {**parameters, **{k: v for k, v in resources.items() if v is not None}})
    axes = _axes(template, C, gamma, epsilon)
    if max_time is not None and not (isinstance(max_time, Real) and max_time > 0):
        raise ValueError(f"max_time={max_time!r} must be None or a positive number of seconds")
    raises = isinstance(error_score, str) and error_score == "raise"
    if not raises and (isinstance(error_score, bool) or not isinstance(error_score, Real)):
        raise ValueError(f"error_score={error_score!r} must be 'raise' or a number")
    search_type: type[Search] = LinearSearch if isinstance(template, LINEAR) else KernelSearch
    control = RunControl(max_time)
    limit = None if max_time is None else (SEARCH_TIME_SHARE if refit else 1.0) * max_time
    options = (axes, cv, groups, scoring, error_score)
    search = search_type(template, X, y, sample_weight, *options, limit, verbose)
    interrupted: KeyboardInterrupt | None = None
    try:
        if limit is not None and groups is None and (cv is None or isinstance(cv, Integral)):
            search.preliminary = _preliminary_search(search, options, verbose)
        search.search()
    except KeyboardInterrupt as error:
        interrupted = error
    result = search.result()
    if interrupted is not None:
        interrupted.result = result  # type: ignore[attr-defined]
        raise interrupted
    search.warn()
    if not refit or result.best_params_ is None:
        return result
    best = clone(template).set_params(**result.best_params_)
    if max_time is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the status of the estimator reports its time limit
            best.set_params(max_time=max(control.remaining() or 0.0, MIN_REFIT_SECONDS))
            best.fit(X, y) if sample_weight is None else best.fit(X, y, sample_weight=sample_weight)
        best.set_params(max_time=template.max_time)
        object.__setattr__(result, "best_estimator_", best)
        return result
    best.fit(X, y) if sample_weight is None else best.fit(X, y, sample_weight=sample_weight)
    object.__setattr__(result, "best_estimator_", best)
    return result


#: Share of the time limit for the search if the best candidate is fitted to all data afterwards.
SEARCH_TIME_SHARE = 0.75

#: Smallest time limit of this fit, in seconds.
MIN_REFIT_SECONDS = 0.05

#: Size of the first subset of a search with a time limit, the ratio of consecutive sizes, and the share of the
#: remaining time that a subset may take.
FIRST_SUBSET, SUBSET_RATIO, SUBSET_TIME_SHARE = 300, 4, 0.5


def _preliminary_search(search: Search, options: tuple[Any, ...], verbose: bool) -> Search | None:
    """Search on subsets of increasing size; return the search on the largest one that was finished.

    A subset is skipped if, by the time of the previous one, it would take too long.
    """
    found, seconds = None, 0.0
    n, order = len(search.y), np.random.default_rng(0).permutation(len(search.y))
    size = FIRST_SUBSET
    while size * SUBSET_RATIO <= n:
        remaining = search.control.remaining()
        assert remaining is not None
        limit = SUBSET_TIME_SHARE * remaining
        if SUBSET_RATIO**2 * seconds > limit:
            break
        rows = np.sort(order[:size])
        precomputed = not isinstance(search.template, LINEAR) and search.template._is_precomputed()
        X = search.X[np.ix_(rows, rows)] if precomputed else search.X[rows]
        start = time.monotonic()
        try:
            kind: Any = type(search)
            part = kind(search.template, X, search.y[rows], search.weight[rows], *options, limit, verbose)
            part.label = f"search on {size:,d} samples"
            part.search()
        except ValueError:  # for example a class without samples in the subset
            return found
        seconds = time.monotonic() - start
        if np.isfinite(part.scores.mean(axis=1)).any():
            found = part
        if not part.known.all():
            break
        size *= SUBSET_RATIO
    return found


#: Estimators that can be searched.
KERNEL = (SVC, SVR)
LINEAR = (LinearSVC, LinearSVR)


def _template(estimator: Any, parameters: dict[str, Any]) -> Any:
    """Return the estimator to tune, after checking that the search supports it."""
    if type(estimator) not in (*KERNEL, *LINEAR):
        raise TypeError(
            f"estimator={estimator!r} must be a hinge.SVC, SVR, LinearSVC or LinearSVR; for others use "
            "sklearn.model_selection.GridSearchCV"
        )
    template = clone(estimator).set_params(**parameters)
    reason = unsupported(template)
    if reason is not None:
        raise ValueError(reason)
    return template


def unsupported(estimator: Any) -> str | None:
    """Return why the search does not support an estimator, with the remedy; None if it does."""
    if isinstance(estimator, LINEAR):
        return None
    remedy = "sklearn.model_selection.GridSearchCV"
    if type(estimator) not in KERNEL:
        return f"{type(estimator).__name__} is not supported by this search; use {remedy}"
    if isinstance(estimator.loss, Loss) and any(np.ndim(value) > 0 for value in vars(estimator.loss).values()):
        return f"loss={estimator.loss!r} has one value per sample, which cannot be divided into folds; use {remedy}"
    if estimator.solver not in ("auto", "working_set"):
        return f"solver={estimator.solver!r} is not supported by this search: use solver='auto', or {remedy}"
    return None


def _axes(template: Any, C: Any, gamma: Any, epsilon: Any) -> dict[str, list[Any]]:
    """Return the validated values of every parameter of the grid."""
    axes = {"C": values_of("C", C)}
    if gamma is not None:
        if isinstance(template, LINEAR):
            raise ValueError(f"gamma={gamma!r} is not a parameter of {type(template).__name__}; remove it")
        if isinstance(template.kernel, Kernel) or callable(template.kernel) or template.kernel == "precomputed":
            raise ValueError(f"gamma={gamma!r} is not used by kernel={template.kernel!r}; remove it")
        axes["gamma"] = values_of("gamma", gamma)
    if epsilon is not None:
        if not isinstance(template, SVR | LinearSVR):
            raise ValueError(f"epsilon={epsilon!r} is a parameter of regression; remove it, or pass estimator=SVR()")
        if not isinstance(template.loss, str):
            raise ValueError(f"epsilon={epsilon!r} is not used by loss={template.loss!r}; remove it, or name the loss")
        axes["epsilon"] = values_of("epsilon", epsilon)
    tubes = axes.get("epsilon", [getattr(template, "epsilon", 0.0)])
    for name, values in (("C", axes["C"]), ("epsilon", tubes)):
        if any(np.ndim(value) > 0 and not is_pair(value) for value in values):
            raise ValueError(
                f"{name} must be a number, a list of numbers, or a list of tuples (above, below) for regression: one "
                "value per sample cannot be divided into folds"
            )
    for name, values in axes.items():
        for value in values:
            clone(template).set_params(**{name: value})._check_parameters()
    if not all(np.isfinite(C).all() for C in axes["C"]):
        raise ValueError(f"C={C!r} must be finite in a grid search")
    return axes
