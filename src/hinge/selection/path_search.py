"""Cross-validation for all values of C, along regularization paths."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv

from hinge.control import RunControl
from hinge.estimators import SVC, SVR
from hinge.estimators.common.progress import counter
from hinge.kernels import Precomputed, make_kernel
from hinge.paths import (
    Best,
    OneVsOnePaths,
    PiecewiseQuadratic,
    SolutionPath,
    StepFunction,
    one_vs_one_paths,
    regularization_path,
)
from hinge.paths.regularization import SUPERVISED, check_samples, check_training_rows, check_vector
from hinge.selection.result import SearchResult
from hinge.validation import as_labels, check_same_length

#: Smallest time limit of the final fit, in seconds.
MIN_REFIT_SECONDS = 0.05


@dataclass(frozen=True)
class PathSearch(SearchResult):
    """Result of `path_search`, with the attributes and methods of `GridResult` for the best candidate.

    Attributes
    ----------
    error : StepFunction or PiecewiseQuadratic
        The cross-validated error as an exact function of C, for the best gamma.
    best : Best
        (low, high, error): the smallest error, and the interval of C in which it is attained.
    best_C : float
        A C inside that interval, away from its ends, at which predictions change.
    best_gamma : object
        The gamma with the smallest error.
    errors : list
        The error as a function of C, for every gamma.
    gammas : list
    paths : list of SolutionPath or OneVsOnePaths
        The paths of the folds, for the best gamma.
    best_params_, best_score_
        ``{"C": best_C, "gamma": best_gamma}``, and the accuracy or minus the mean squared error.
    best_estimator_ : SVC, SVR or None
        Trained on all samples with the best parameters, unless ``refit=False``; see `predict` and `score`.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> search = hinge.selection.path_search(X, y, C_min=0.1, C_max=10.0, gamma=1.0, cv=3)
    >>> bool(search.best.low < search.best_C < search.best.high), search.best_gamma
    (True, 1.0)
    """

    error: StepFunction | PiecewiseQuadratic
    best: Best
    best_C: float
    best_gamma: Any
    errors: list[StepFunction | PiecewiseQuadratic]
    gammas: list[Any]
    paths: list[SolutionPath | OneVsOnePaths]
    best_estimator_: Any = None

    @property
    def best_params_(self) -> dict[str, Any]:
        """The best C and γ."""
        return {"C": self.best_C, "gamma": self.best_gamma}

    @property
    def best_score_(self) -> float:
        """The best score: the accuracy, or minus the mean squared error of regression."""
        return 1.0 - self.best.error if isinstance(self.error, StepFunction) else -self.best.error

    def __repr__(self) -> str:
        return (
            f"<path search over {len(self.gammas)} gamma and {len(self.paths)} folds: error {self.best.error:.6g} at "
            f"C = {self.best_C:.6g}, gamma = {self.best_gamma!r}>"
        )


def path_search(
    X: Any,
    y: Any,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    task: str = "classification",
    epsilon: float = 0.1,
    sample_weight: ArrayLike | None = None,
    cv: Any = 5,
    cache_size: float | str = "auto",
    max_time: float | None = None,
    refit: bool = True,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> PathSearch:
    """Cross-validate `SVC` or `SVR` for every C in [C_min, C_max], and return the exact minimum of the error.

    One regularization path is computed for each fold. The validation errors of the folds are step functions of C
    (piecewise quadratic for regression), and so is their mean, whose minimum is computed exactly. With more than two
    classes a fold has one path per pair of classes, and the error is that of their votes.

    Parameters
    ----------
    X, y, C_min, C_max, kernel, degree, coef0, task, epsilon, sample_weight
        As in `regularization_path`. Sample weights enter training and the error.
    gamma : float, {"scale", "auto"}, or a sequence of them
        All values are searched.
    cv : int, splitter or iterable
        As in scikit-learn: stratified folds for classification when an integer.
    max_time : float, optional
        Seconds. Values of gamma whose paths were not finished are left out, with a warning. A TimeoutError is raised
        if no gamma was finished.
    refit : bool, default=True
        Whether to train `SVC` or `SVR` on all samples with the best parameters.
    n_jobs : int, optional
        Threads of this fit.
    verbose : bool, default=False
        Whether to show a progress line with the number of paths, the remaining time and the best candidate so far.

    Returns
    -------
    PathSearch

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from hinge.selection import path_search
    >>> X, y = load_iris(return_X_y=True)
    >>> found = path_search(X[50:], y[50:], gamma=[0.1, 1.0], cv=3)
    >>> found.best.error <= found.error(1.0)
    True
    """
    gammas = list(gamma) if isinstance(gamma, Sequence | np.ndarray) and not isinstance(gamma, str) else [gamma]
    X, y, is_multiclass, precomputed = _validate(X, y, task, kernel, degree, gammas[0], coef0)
    weight = check_vector("sample_weight", sample_weight, len(y), 1.0)
    folds = list(check_cv(cv, y, classifier=task == "classification").split(X, y))
    errors: list[StepFunction | PiecewiseQuadratic] = []
    all_paths = []
    control = RunControl(max_time)
    with counter("path search", len(gammas) * len(folds), "paths", verbose=verbose) as progress:
        for value in gammas:
            if control.expired():
                break
            paths, functions, shares = [], [], []
            for train, test in folds:
                inner = X[np.ix_(train, train)] if precomputed else X[train]
                options: dict[str, Any] = dict(
                    C_min=C_min, C_max=C_max, kernel=kernel, degree=degree, gamma=value, coef0=coef0,
                    sample_weight=weight[train], cache_size=cache_size, max_time=control.remaining(),
                )  # fmt: skip
                path: SolutionPath | OneVsOnePaths | None
                if is_multiclass:
                    path = _in_time(control, one_vs_one_paths, inner, y[train], **options)
                else:
                    options |= {"task": task, "epsilon": epsilon}
                    path = _in_time(control, regularization_path, inner, y[train], **options)
                if path is None:
                    break
                outer = X[np.ix_(test, train)] if precomputed else X[test]
                paths.append(path)
                functions.append(path.validation_error(outer, y[test], weight[test]))
                shares.append(float(np.sum(weight[test])))
                progress.advance(note=_best_so_far(errors, gammas))
            if len(paths) < len(folds):
                break
            mean = (StepFunction if task == "classification" else PiecewiseQuadratic).mean
            errors.append(mean(functions, np.array(shares) / sum(shares)))  # type: ignore[arg-type]
            all_paths.append(paths)
            progress.advance(0, _best_so_far(errors, gammas))
    if len(errors) < len(gammas):
        done = len(errors)
        if done == 0:
            raise TimeoutError(f"max_time={max_time} s did not suffice for the paths of one gamma; allow more time")
        warnings.warn(
            f"max_time={max_time} s ended the search after {done} of {len(gammas)} values of gamma; allow more time",
            ConvergenceWarning,
            stacklevel=2,
        )
        gammas = gammas[:done]
    optima = [error.best() for error in errors]
    k = int(np.argmin([optimum.error for optimum in optima]))
    best = optima[k]
    found = PathSearch(errors[k], best, best.theta, gammas[k], errors, gammas, all_paths[k])
    if not refit:
        return found
    shared: dict[str, Any] = dict(
        **found.best_params_, kernel=kernel, degree=degree, coef0=coef0, cache_size=cache_size, n_jobs=n_jobs,
        max_time=None if max_time is None else max(control.remaining() or 0.0, MIN_REFIT_SECONDS),
    )  # fmt: skip
    estimator = SVC(**shared) if task == "classification" else SVR(epsilon=epsilon, **shared)
    return replace(found, best_estimator_=estimator.fit(X, y, sample_weight=weight))


def _best_so_far(errors: list[Any], gammas: list[Any]) -> str:
    """Return the smallest error of the values of gamma that are finished, as text."""
    if not errors:
        return ""
    optima = [error.best() for error in errors]
    k = int(np.argmin([optimum.error for optimum in optima]))
    return f"best error {optima[k].error:.4g} with C={optima[k].theta:.4g}, gamma={gammas[k]}"


def _in_time(control: RunControl, function: Any, *data: Any, **options: Any) -> Any:
    """Return the path, or None if it does not reach its end before the deadline."""
    if control.deadline is None:
        return function(*data, **options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = function(*data, **options)
    except TimeoutError:
        return None
    return None if control.expired() else path


def _validate(
    X: Any, y: Any, task: str, kernel: Any, degree: float, gamma: Any, coef0: float
) -> tuple[Any, Any, bool, bool]:
    """Return X and y as arrays, whether there are more than two classes, and whether X is a kernel matrix."""
    y = np.asarray(y)
    is_multiclass = task == "classification" and y.ndim == 1 and len(np.unique(y)) > 2
    if not is_multiclass:
        samples = check_samples(X, y, task, kernel, degree, gamma, coef0, tasks=SUPERVISED)
        return samples.X, y, False, isinstance(samples.kernel, Precomputed)
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    X, y = check_training_rows(made, X), as_labels(y)
    check_same_length(X, y)
    return X, y, True, isinstance(made, Precomputed)
