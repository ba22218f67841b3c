"""Tube widths that follow the noise of the samples.               Karasuyama ch. 6, docs/math (855), (856)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from hinge.estimators import SVR
from hinge.losses.noise import epsilon_for_noise, mean_log_size
from hinge.problems import Array
from hinge.validation import as_rows, as_targets, check_integer, check_number, check_same_length

#: Residuals below this share of their root mean square are replaced by it before their logarithm is taken.
SMALLEST_RESIDUAL = 1e-3


@dataclass(frozen=True)
class NoiseTube:
    """Result of `noise_tube`.

    Attributes
    ----------
    model : SVR
        Fitted with the tube widths, which are its parameter `epsilon`.
    noise_model : SVR
        Regression of log|e| on the samples, where e are cross-validated residuals.
    epsilon : ndarray of shape (n_samples,)
        Half widths of the tube.
    changes : list of float
        Mean of |log(s_new / s_old)| over the samples, of every update of the estimated scales s.
    converged : bool
        Whether the last change is at most `tol`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.recipes import noise_tube
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 1, 80)[:, None]; noise = np.where(X[:, 0] < 0.5, 0.02, 0.5)
    >>> result = noise_tube(SVR(), X, X[:, 0] + noise * rng.normal(size=80))
    >>> type(result).__name__, bool(result.epsilon[:40].mean() < result.epsilon[40:].mean())
    ('NoiseTube', True)
    """

    model: SVR
    noise_model: SVR
    epsilon: Array
    changes: list[float]
    converged: bool
    _offset: float = 0.0

    def scale(self, X: Any) -> Array:
        """Return the estimated scale of the noise at the rows of X."""
        return np.asarray(np.exp(self.noise_model.predict(X) - self._offset))


def noise_tube(
    estimator: SVR,
    X: Any,
    y: Any,
    *,
    noise: Any = "gaussian",
    noise_model: SVR | None = None,
    cv: int = 5,
    max_updates: int = 10,
    tol: float = 0.02,
) -> NoiseTube:
    """Fit `SVR` with a tube width for every sample that is proportional to the scale of its noise.  Karasuyama ch. 6

    For noise s(x) ξ, the asymptotically best width is proportional to s(x); `epsilon_for_noise` is the factor for the
    distribution of ξ. The scale is estimated from cross-validated residuals e by a regression of log|e| on x, since
    log|e| = log s(x) + log|ξ|. Fits and estimates alternate until the widths do not change.

    Parameters
    ----------
    estimator : SVR
        Its `epsilon` is used for the first fit only. It is not changed.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    noise : str or scipy.stats distribution, default="gaussian"
        Distribution of ξ, as in `hinge.selection.epsilon_for_noise`.
    noise_model : SVR, optional
        The regression of log|e|. By default squared loss, C = 1 and the kernel of `estimator`.
    cv : int, default=5
        Number of folds for the residuals.
    max_updates : int, default=10
    tol : float, default=0.02
        Mean change of log s at which the estimated scales have converged.

    Returns
    -------
    NoiseTube

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.recipes import noise_tube
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, size=(200, 1))
    >>> y = np.sin(6 * x.ravel()) + (0.02 + 0.5 * x.ravel()) * rng.normal(size=200)
    >>> tube = noise_tube(SVR(gamma=5.0), x, y)
    >>> bool(tube.scale([[0.9]])[0] > 2 * tube.scale([[0.1]])[0])
    True
    """
    if not isinstance(estimator, SVR):
        raise TypeError(f"estimator is a {type(estimator).__name__}; pass an SVR")
    check_integer("cv", cv, 2)
    check_integer("max_updates", max_updates, 1)
    check_number("tol", tol, 0.0, open_low=True)
    factor, offset = epsilon_for_noise(noise), mean_log_size(noise)
    if noise_model is None:
        noise_model = clone(estimator).set_params(loss="gaussian", C=1.0, epsilon=0.1)
    targets = as_targets(y)
    check_same_length(as_rows(X), targets)
    model = clone(estimator)
    folds = KFold(cv, shuffle=True, random_state=0)
    changes: list[float] = []
    widths: Array | None = None
    log_scale: Array | None = None
    while len(changes) < max_updates and not (changes and changes[-1] <= tol):
        predicted = _cross_validated(model, X, targets, folds, widths)
        regression = clone(noise_model).fit(X, _log_sizes(targets - predicted))
        found = regression.predict(X) - offset
        if log_scale is not None:
            changes.append(float(np.mean(np.abs(found - log_scale))))
        log_scale = found
        widths = factor * np.exp(found)
    fitted = clone(estimator).set_params(epsilon=widths).fit(X, y)
    return NoiseTube(fitted, regression, np.asarray(widths), changes, changes[-1] <= tol, offset)


def _cross_validated(model: SVR, X: Any, y: Array, folds: KFold, widths: Array | None) -> Array:
    """Predictions of models that were fitted without the sample."""
    if widths is None:
        return np.asarray(cross_val_predict(model, X, y, cv=folds))
    predicted, X = np.empty(len(y)), np.asarray(X) if not hasattr(X, "tocsr") else X.tocsr()
    for train, test in folds.split(np.empty(len(y))):
        predicted[test] = clone(model).set_params(epsilon=widths[train]).fit(X[train], y[train]).predict(X[test])
    return predicted


def _log_sizes(residuals: Array) -> Array:
    """log|e|, where |e| is at least a small share of its root mean square."""
    size = float(np.sqrt(np.mean(residuals**2)))
    if size == 0:
        raise ValueError("all cross-validated residuals are zero: the targets have no noise that determines a tube")
    return np.asarray(np.log(np.maximum(np.abs(residuals), SMALLEST_RESIDUAL * size)))
