"""Gradients of decision values, individual conditional expectation (ICE) and partial dependence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from hinge.inspection.functions import Functions, dense_samples, functions_of
from hinge.inspection.normal_form import Term, normal_form
from hinge.kernels import ProductBSpline
from hinge.problems import Array
from hinge.validation import check_integer

#: Number of values of an array that are computed at a time.
MAX_BLOCK = 1 << 22


def gradient(model: Any, X: Any, *, output: str = "classes") -> Array:
    """Compute the gradient of the decision values with respect to the features.

    Parameters
    ----------
    model : estimator
        As in `shapley_values`, without B-splines. The Laplacian kernel is not differentiable at the coordinates of
        support vectors; there the mean of both one-sided derivatives is returned.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    output : {"classes", "pairs"}, default="classes"
        As in `shapley_values`.

    Returns
    -------
    ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import gradient
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(40, centers=[(-2, 0), (2, 0)], random_state=0)
    >>> model = hinge.SVC(kernel="linear").fit(X, y)
    >>> bool(abs(gradient(model, X[:1]) - model.coef_).max() < 1e-12)
    True
    """
    functions, X = functions_of(model, output), dense_samples(model, "X", X)
    d = X.shape[1]
    result = np.repeat(functions.weights.T[None], len(X), axis=0)
    for part in functions.parts:
        for term in normal_form(part.kernel, d):
            if any(factor.name == "bspline" for factor in term.factors):
                raise ValueError("gradients of B-spline kernels are not supported; use the RBF or Laplacian kernel")
            block = max(1, MAX_BLOCK // max(1, len(part.vectors) * d))
            for first in range(0, len(X), block):
                rows = slice(first, first + block)
                result[rows] += _term_gradient(term, X[rows], part.vectors, part.coefficients)
    return result[..., 0] if functions.names is None else result


def _term_gradient(term: Term, X: Array, S: Array, coefficients: Array) -> Array:
    """Σ_s c_s ∇[Π κ · q] = Σ_s c_s (Π κ) (q ∇ log Π κ + q′ γ s)."""
    y = term.gamma * (X @ S.T) + term.coef0
    product = term.multiple * _factors(term, X, S)
    slope = product * poly.polyval(y, poly.polyder(term.polynomial)) if len(term.polynomial) > 1 else np.zeros_like(y)
    result = np.einsum("ns,sd,sf->ndf", term.gamma * slope, S, coefficients, optimize=True)
    value = product * poly.polyval(y, term.polynomial)
    if term.factors:
        difference = X[:, None, :] - S[None, :, :]
        logarithmic = np.zeros_like(difference)
        for factor in term.factors:
            logarithmic -= factor.gamma * (2 * difference if factor.name == "rbf" else np.sign(difference))
        result += np.einsum("ns,nsd,sf->ndf", value, logarithmic, coefficients, optimize=True)
    return result


def _factors(term: Term, X: Array, S: Array) -> Array:
    """Π κ(x_j, s_j) over the columns of X and S."""
    exponent, product = np.zeros((len(X), len(S))), np.ones((len(X), len(S)))
    for factor in term.factors:
        if factor.name == "bspline":
            product *= ProductBSpline(int(factor.degree), factor.gamma)(X, S) if X.shape[1] else 1.0
        else:
            exponent -= factor.gamma * cdist(X, S, "sqeuclidean" if factor.name == "rbf" else "cityblock")
    return product * np.exp(exponent)


@dataclass(frozen=True, eq=False)
class Dependence:
    """Result of `partial_dependence`.

    Attributes
    ----------
    feature : int
        Column of the feature.
    grid : ndarray of shape (n_grid,)
        Values of the feature.
    ice : ndarray of shape (n_samples, n_grid) or (n_samples, n_grid, n_outputs)
        Decision value of each sample if its feature has the value of the grid.
    average : ndarray of shape (n_grid,) or (n_grid, n_outputs)
        Partial dependence: the mean of `ice` over the samples.

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import partial_dependence
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = partial_dependence(hinge.SVR(C=100.0).fit(X[:100], y[:100]), X[:20], feature=2, grid=5)
    >>> result.feature, result.ice.shape
    (2, (20, 5))
    """

    feature: int
    grid: Array
    ice: Array

    @property
    def average(self) -> Array:
        """Mean of `ice` over the samples."""
        return self.ice.mean(axis=0)


def partial_dependence(
    model: Any, X: Any, feature: int | str, *, grid: ArrayLike | int = 50, output: str = "classes"
) -> Dependence:
    """Compute ICE curves and partial dependence of one feature.

    The kernel is a product of a function of the feature and a function of the others, so that each is evaluated only
    once: the cost is samples × support vectors × (features + grid), not samples × support vectors × features × grid.

    Parameters
    ----------
    model, output
        As in `shapley_values`.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples whose other features are kept.
    feature : int or str
        Column, or name of the feature.
    grid : array-like or int, default=50
        Values of the feature; or their number, between its smallest and largest value in X.

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import partial_dependence
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = hinge.SVR(C=100.0).fit(X[:100], y[:100])
    >>> result = partial_dependence(model, X[:100], feature=2, grid=5)
    >>> result.average.shape, bool(result.average[-1] > result.average[0])
    ((5,), True)
    """
    functions, X = functions_of(model, output), dense_samples(model, "X", X)
    j = _column(model, feature, X.shape[1])
    if np.ndim(grid) == 0:
        check_integer("grid", grid, 2)
        values = np.linspace(X[:, j].min(), X[:, j].max(), int(grid))  # type: ignore[arg-type]
    else:
        values = np.asarray(grid, dtype=np.float64)
        if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
            raise ValueError(
                f"grid has the shape {values.shape}; pass a one-dimensional sequence of at least one finite number, or "
                "the number of values"
            )
    ice = _curves(functions, X, j, values)
    return Dependence(j, values, ice[..., 0] if functions.names is None else ice)


def _column(model: Any, feature: int | str, d: int) -> int:
    names = list(getattr(model, "feature_names_in_", []))
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature={feature!r} is not a feature of the model; its features are {names or range(d)}")
        return names.index(feature)
    check_integer("feature", feature, 0)
    if feature >= d:
        raise ValueError(f"feature={feature} must be below the number of features, {d}")
    return int(feature)


def _curves(functions: Functions, X: Array, j: int, grid: Array) -> Array:
    others = np.delete(np.arange(X.shape[1]), j)
    rest = X[:, others]
    linear = rest @ functions.weights[:, others].T + functions.intercept
    result = linear[:, None, :] + grid[:, None] * functions.weights[:, j]
    for part in functions.parts:
        S, T = part.vectors[:, others], part.vectors[:, [j]]
        for term in normal_form(part.kernel, X.shape[1]):
            own, product = _factors(term, grid[:, None], T), term.multiple * _factors(term, rest, S)
            if len(term.polynomial) == 1:
                weighted = term.polynomial[0] * product
                result += np.einsum("ns,gs,sf->ngf", weighted, own, part.coefficients, optimize=True)
                continue
            y, step = term.gamma * (rest @ S.T) + term.coef0, term.gamma * (grid[:, None] * T[:, 0])
            for g in range(len(grid)):
                value = product * own[g] * poly.polyval(y + step[g], term.polynomial)
                result[:, g] += value @ part.coefficients
    return result
