"""Exact interventional Shapley values of kernel and linear models.      docs/math (501)–(511)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.control import effective_n_jobs
from hinge.inspection.functions import Functions, dense_samples, functions_of
from hinge.inspection.groups import feature_groups
from hinge.inspection.normal_form import Term, normal_form
from hinge.problems import Array
from hinge.validation import check_choice


@dataclass(frozen=True, eq=False)
class ShapleyValues:
    """Result of `shapley_values`.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        Contribution of every feature, or group of features, to the decision value. The contributions of a sample add
        up to its decision value minus `base_values`.
    base_values : float or ndarray of shape (n_outputs,)
        Mean decision value over the background.
    data : ndarray of shape (n_samples, n_features)
        The explained samples.
    feature_names : ndarray
        Names of the features or groups.
    output_names : ndarray or None
        Class, or pair of classes, of every output; None if there is one output.
    interactions : ndarray or None
        (n_samples, n_features, n_features[, n_outputs]): a symmetric matrix for every sample whose rows add up to
        `values`. Off-diagonal entries are half the Shapley interaction index of two features, the diagonal is the
        remaining main effect.
    group : ndarray of int
        Position in `feature_names` of every column of `data`.

    Examples
    --------
    >>> import hinge
    >>> from hinge.inspection import shapley_values
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = hinge.SVC().fit(X[y > 0], y[y > 0])
    >>> result = shapley_values(model, X[y > 0][:5], background=X[y > 0])
    >>> difference = result.values.sum(axis=1) + result.base_values - model.decision_function(X[y > 0][:5])
    >>> result.values.shape, bool(abs(difference).max() < 1e-9)
    ((5, 4), True)
    """

    values: Array
    base_values: Any
    data: Array
    feature_names: NDArray[Any]
    output_names: NDArray[Any] | None
    interactions: Array | None
    group: NDArray[np.int32]

    def __repr__(self) -> str:
        outputs = "" if self.output_names is None else f", {len(self.output_names)} outputs"
        return f"<Shapley values of {len(self.values)} samples, {len(self.feature_names)} features{outputs}>"

    def of(self, output: Any) -> ShapleyValues:
        """Return the values of one output: a class or, with ``output="pairs"``, a pair of classes."""
        if self.output_names is None:
            raise ValueError(f"output={output!r} cannot be selected: these values have one output; use them directly")
        matches = [k for k, name in enumerate(self.output_names.tolist()) if name == output]
        if not matches:
            raise ValueError(f"output={output!r} must be one of {self.output_names.tolist()}")
        k = matches[0]
        pairs = None if self.interactions is None else self.interactions[..., k]
        base = float(self.base_values[k])
        return ShapleyValues(self.values[..., k], base, self.data, self.feature_names, None, pairs, self.group)

    def group_data(self) -> Array:
        """Return the value of every feature at every sample; NaN for groups of several features."""
        counts = np.bincount(self.group, minlength=len(self.feature_names))
        shown = np.full((len(self.data), len(self.feature_names)), np.nan)
        single = counts[self.group] == 1
        shown[:, self.group[single]] = self.data[:, single]
        return shown

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` for the plots of the package shap, which must be installed."""
        try:
            from shap import Explanation  # optional: shap loads numba and pandas
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap") from error
        base = np.broadcast_to(self.base_values, (len(self.values), *self.values.shape[2:])).copy()
        outputs = None if self.output_names is None else [str(name) for name in self.output_names]
        names = [str(name) for name in self.feature_names]
        return Explanation(self.values, base, self.group_data(), feature_names=names, output_names=outputs)


def shapley_values(
    model: Any,
    X: Any,
    background: Any,
    *,
    groups: Any = None,
    interactions: bool = False,
    output: str = "classes",
    n_jobs: int | None = None,
) -> ShapleyValues:
    """Compute exact interventional Shapley values of the decision function or prediction of a model.

    The value of a coalition of features is the mean decision value if these features are those of the sample and the
    other features those of a background sample. The mean over all orders in which features can join is computed in
    closed form: no coalitions are sampled, and the result is exact up to rounding.

    Parameters
    ----------
    model : estimator
        A fitted estimator of hinge, with the kernel RBF, Laplacian, ProductBSpline, Linear, Polynomial of integer
        degree, BSpline for one feature, or sums and products of them; or a linear estimator.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples to explain.
    background : {array-like, sparse matrix} of shape (n_background, n_features)
        Samples whose features replace those that are absent, with equal weights. The cost is proportional to their
        number; 50 to 200 samples of the training data are common.
    groups : array-like of shape (n_features,) or mapping, optional
        Features that are explained together: one label per feature, or a dict of names and lists of features.
    interactions : bool, default=False
        Whether to compute the interactions of all pairs of features.
    output : {"classes", "pairs"}, default="classes"
        For SVC and NuSVC with more than two classes: explain the mean decision value of every class against the other
        classes, or the decision value of every pair of classes. (Votes are not continuous, so they have no useful
        explanation.)
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    ShapleyValues

    Notes
    -----
    The cost of a kernel that is a product over features is proportional to samples × background × support vectors ×
    features × nodes. The number of quadrature nodes is at most half the number of features, and about ten if no feature
    dominates, such that the quadrature error is below the rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import SVR
    >>> from hinge.inspection import shapley_values
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3)); y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    >>> model = SVR(C=10.0, gamma=0.3).fit(X, y)
    >>> explanation = shapley_values(model, X[:5], X)
    >>> total = explanation.values.sum(axis=1) + explanation.base_values
    >>> bool(np.allclose(total, model.predict(X[:5]), rtol=1e-12))
    True
    """
    check_choice("output", output, ("classes", "pairs"))
    functions = functions_of(model, output)
    X, background = dense_samples(model, "X", X), dense_samples(model, "background", background)
    d = X.shape[1]
    terms = [(part, normal_form(part.kernel, d)) for part in functions.parts]
    names = np.asarray(getattr(model, "feature_names_in_", np.arange(d)))
    group, titles = feature_groups(groups, names)
    threads = effective_n_jobs(n_jobs)
    n, G, F = len(X), len(titles), functions.n_functions
    values = np.zeros((n, G, F))
    pairs = np.zeros((n, G, G, F)) if interactions else None
    shift = np.ascontiguousarray(X - background.mean(axis=0))
    _add_linear(values, shift, functions.weights, group)
    for part, part_terms in terms:
        for term in part_terms:
            if term.is_linear:
                slope = term.multiple * term.gamma * (term.polynomial[1] if len(term.polynomial) > 1 else 0.0)
                _add_linear(values, shift, slope * (part.coefficients.T @ part.vectors), group)
            else:
                coefficients = term.multiple * part.coefficients
                _add_term(values, pairs, X, background, part.vectors, coefficients, group, term, threads)
    if pairs is not None:
        diagonal = np.arange(G)
        pairs[:, diagonal, diagonal] = values - pairs.sum(axis=2)
    base = functions.values(background, threads).mean(axis=0)
    return _result(functions, values, pairs, base, X, titles, group)


def _add_linear(values: Array, shift: Array, weights: Array, group: NDArray[np.int32]) -> None:
    """Add the values w_j (x_j − z̄_j) of linear functions.                                       docs/math (504)"""
    for f, w in enumerate(weights):
        if w.any():
            for j, g in enumerate(group):
                values[:, g, f] += shift[:, j] * w[j]


def _add_term(
    values: Array,
    pairs: Array | None,
    X: Array,
    background: Array,
    vectors: Array,
    coefficients: Array,
    group: NDArray[np.int32],
    term: Term,
    threads: int,
) -> None:
    flat = np.empty(0) if pairs is None else pairs.reshape(-1)
    _core.add_shapley_values(
        X,
        background,
        vectors,
        np.ascontiguousarray(coefficients),
        group,
        list(term.factors),
        list(term.polynomial),
        term.gamma,
        term.coef0,
        values.reshape(-1),
        flat,
        threads,
    )


def _result(
    functions: Functions,
    values: Array,
    pairs: Array | None,
    base: Array,
    X: Array,
    titles: NDArray[Any],
    group: NDArray[np.int32],
) -> ShapleyValues:
    if functions.names is None:
        pairs = None if pairs is None else pairs[..., 0]
        return ShapleyValues(values[..., 0], float(base[0]), X, titles, None, pairs, group)
    return ShapleyValues(values, base, X, titles, functions.names, pairs, group)
