"""Exhaustive search with cross-validation."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from hinge.estimators import SVC, SVR, LinearSVC, LinearSVR
from hinge.kernels import Kernel
from hinge.selection.kernel_search import KernelSearch
from hinge.selection.linear_search import LinearSearch
from hinge.selection.result import GridResult
from hinge.selection.tables import Search


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

    The same scores as ``GridSearchCV(SVC(), ...)``, sooner: the kernel matrix of each gamma is made once for all folds,
    values of C and pairs of classes, all problems run side by side, and each solution starts that of the next C
    (decreasing; LwK 10.1.2). Linear machines (``estimator=LinearSVC()``) need no matrix: there C goes up.

    Parameters
    ----------
    X, y
        As for the estimator's `fit`.
    C : float or sequence of floats
    gamma : float, "scale", "auto", or a sequence of them, optional
        The estimator's own when left out. "scale" is that of each training part.
    epsilon : float or sequence of floats, optional
        Regression only.
    estimator : SVC, SVR, LinearSVC or LinearSVR, optional
        What is tuned, with parameters of its own. When left out: `SVR` if y is continuous or epsilon
        is given, else `SVC`.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn; a number means stratified folds for classifiers.
    scoring : str or callable, optional
        One name or one scorer of scikit-learn; accuracy or R² when left out. A callable sees an estimator that knows
        its `predict` and `decision_function` on the test part only.
    sample_weight : array-like of shape (n_samples,), optional
        Multiplies the costs in training. Scores are not weighted (scikit-learn from 1.9 on weighs them, too).
    groups : array-like of shape (n_samples,), optional
        For splitters that keep groups of samples together, such as `GroupKFold`.
    error_score : "raise" or float, default=nan
        The score of a split that cannot be trained on (one class), and where the scorer raises an error; a warning says
        why. "raise": the error itself.
    refit : bool, default=True
        Fit the best candidate to all data.
    n_jobs : int, optional
        Threads.
    cache_size : float or "auto", optional
        Megabytes for the kernel matrix. Where it does not fit, rows are computed when they are needed.
    max_time : float, optional
        Seconds for the search, without the refit. Scores that are not known by then are NaN, and a warning says so.
    verbose : bool, default=False
        Say on standard error which gamma (which split, for linear machines) is done.
    **parameters
        Any other parameter of the estimator: `kernel`, `degree`, `coef0`, `class_weight`, `tol`, ...

    Returns
    -------
    GridResult

    Notes
    -----
    Ctrl-C raises KeyboardInterrupt, with what is known by then as its attribute `result`.

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
    given = {"n_jobs": n_jobs, "cache_size": cache_size}
    if estimator is None:
        real = epsilon is not None or type_of_target(y, input_name="y").startswith("continuous")
        estimator = SVR() if real else SVC()
    template = _template(estimator, {**parameters, **{k: v for k, v in given.items() if v is not None}})
    axes = _axes(template, C, gamma, epsilon)
    if max_time is not None and not (isinstance(max_time, Real) and max_time > 0):
        raise ValueError(f"max_time={max_time!r} must be None or a positive number of seconds")
    named = isinstance(error_score, str) and error_score == "raise"
    if not named and (isinstance(error_score, bool) or not isinstance(error_score, Real)):
        raise ValueError(f"error_score={error_score!r} must be 'raise' or a number")
    kind: type[Search] = LinearSearch if isinstance(template, LINEAR) else KernelSearch
    search = kind(template, X, y, sample_weight, axes, cv, groups, scoring, error_score, max_time, verbose)
    interrupted: KeyboardInterrupt | None = None
    try:
        search.run()
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
    best.fit(X, y) if sample_weight is None else best.fit(X, y, sample_weight=sample_weight)
    object.__setattr__(result, "best_estimator_", best)
    return result


#: What can be searched: kernel machines with the loss that the search has a solver for, and linear machines.
KERNEL = {SVC: "hinge", SVR: "epsilon_insensitive"}
LINEAR = (LinearSVC, LinearSVR)


def _template(estimator: Any, parameters: dict[str, Any]) -> Any:
    """The estimator that is tuned."""
    if type(estimator) not in (*KERNEL, *LINEAR):
        raise TypeError(
            f"estimator={estimator!r} must be a hinge.SVC, SVR, LinearSVC or LinearSVR; for others use "
            "sklearn.model_selection.GridSearchCV"
        )
    template = clone(estimator).set_params(**parameters)
    if isinstance(template, LINEAR):
        return template
    if template.loss != KERNEL[type(template)]:
        raise ValueError(
            f"loss={template.loss!r} cannot be searched here, only {KERNEL[type(template)]!r}; use "
            "sklearn.model_selection.GridSearchCV"
        )
    if not template.fit_intercept:
        raise ValueError(
            "fit_intercept=False cannot be searched here: the search finds an intercept for every machine; use "
            "sklearn.model_selection.GridSearchCV"
        )
    if template.solver not in ("auto", "working_set"):
        raise ValueError(
            f"solver={template.solver!r}: the search has a solver of its own; leave solver='auto', or use "
            "sklearn.model_selection.GridSearchCV"
        )
    return template


def _axes(template: Any, C: Any, gamma: Any, epsilon: Any) -> dict[str, list[Any]]:
    """The values of every parameter, each one checked."""
    axes = {"C": _values("C", C)}
    if gamma is not None:
        if isinstance(template, LINEAR):
            raise ValueError(f"gamma={gamma!r} has no meaning for {type(template).__name__}; leave it out")
        if isinstance(template.kernel, Kernel) or callable(template.kernel) or template.kernel == "precomputed":
            raise ValueError(f"gamma={gamma!r} has no meaning for kernel={template.kernel!r}; leave it out")
        axes["gamma"] = _values("gamma", gamma)
    if epsilon is not None:
        if not isinstance(template, SVR | LinearSVR):
            raise ValueError(f"epsilon={epsilon!r} is for regression; leave it out, or pass estimator=SVR()")
        axes["epsilon"] = _values("epsilon", epsilon)
    if any(np.ndim(value) > 0 for value in axes.get("epsilon", [getattr(template, "epsilon", 0.0)])):
        raise ValueError("an epsilon for every sample cannot be cut into folds; give one number, or a list of numbers")
    for name, values in axes.items():
        for value in values:
            clone(template).set_params(**{name: value})._check_parameters()
    if not np.isfinite(axes["C"]).all():
        raise ValueError(f"C={C!r} must be finite here")
    return axes


def _values(name: str, given: Any) -> list[Any]:
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    one = isinstance(given, str | Real) or not isinstance(given, Iterable)
    values = [given] if one else [v.item() if isinstance(v, np.generic) else v for v in given]
    if not values:
        raise ValueError(f"{name}={given!r} is empty; pass at least one value")
    return values
