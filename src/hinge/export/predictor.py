"""`predictor`: a fitted prediction function without the validation of estimators, for one row in microseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hinge import _core
from hinge.export.description import KernelTerm, LinearTerm, Output, Prediction, QuadraticTerm, Scaling
from hinge.export.pipelines import describe
from hinge.kernels.algebra import Array

#: Scaling operations of the description as functions of NumPy.
OPERATIONS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
}


def predictor(model: Any) -> Predictor:
    """Return the prediction function of a fitted estimator or pipeline, without validation of its arguments.

    Calls of `predict` validate their data and look at the state of the estimator, which takes longer than the
    evaluation of a function at one row. The predictor is a copy of the fitted function: later changes of the estimator
    do not affect it. It uses one thread and can be called from several.

    Parameters
    ----------
    model : estimator or pipeline
        What `hinge.io.to_c` accepts: fitted estimators of hinge with a kernel that has a formula, and pipelines of
        scalers and such an estimator.

    Returns
    -------
    Predictor
        ``predictor(x)`` is the prediction for a row, a float64 array of shape (n_features,), or an array of
        predictions for the rows of a C-contiguous float64 array. NaN and infinity are not detected.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> model = hinge.SVC().fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> predict = hinge.predictor(model)
    >>> print(predict(np.array([0.2])), predict(np.array([[0.2], [2.8]])))
    low ['low' 'high']
    """
    return Predictor(describe(model))


class Predictor:
    """A frozen prediction function; see `predictor`."""

    def __init__(self, prediction: Prediction) -> None:
        if prediction.calibration is not None:
            raise TypeError("predictors do not evaluate probabilities: pass the estimator without its calibration")
        self._prediction = prediction
        self._scaling = tuple(prediction.scaling)
        self._terms = [_compiled(term) for term in prediction.terms if isinstance(term, KernelTerm)]
        linear = [term.weights.T for term in prediction.terms if isinstance(term, LinearTerm)]
        self._weights: Any = np.ascontiguousarray(sum(linear)) if linear else None
        self._products: Any = next((t.weights.T for t in prediction.terms if isinstance(t, QuadraticTerm)), None)
        self._intercept = np.array(prediction.intercept, dtype=np.float64)
        self._signs = prediction.pair_signs() if prediction.output is Output.PAIRS else None
        self._zero_below = prediction.zero_below
        self._classes: Any = prediction.classes
        self._combine: Callable[[Array], Any] = {
            Output.VALUE: self._value,
            Output.INLIER: self._inlier,
            Output.SIGN: self._sign,
            Output.LARGEST: self._largest,
            Output.PAIRS: self._by_votes,
        }[prediction.output]

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self._prediction.n_features

    def __call__(self, X: Array) -> Any:
        """Return the prediction for a row, or the predictions for the rows of an array."""
        if X.ndim == 1:
            return self._combine(self.functions(X[None]))[0]
        return self._combine(self.functions(X))

    def functions(self, X: Array) -> Array:
        """Return the values of all functions at the rows of X, before they are combined to a prediction."""
        for step in self._scaling:
            X = _scaled(step, X)
        if self._terms:
            samples = _core.Samples.dense(X)
            vectors, kernel, coefficients = self._terms[0]
            values = _core.expand(samples, vectors, kernel, coefficients, 1) + self._intercept
            for vectors, kernel, coefficients in self._terms[1:]:
                values += _core.expand(samples, vectors, kernel, coefficients, 1)
            if self._weights is not None:
                values += X @ self._weights
        elif self._weights is not None:
            values = X @ self._weights + self._intercept
        else:
            values = np.tile(self._intercept, (len(X), 1))
        if self._products is not None:
            first, second = np.triu_indices(X.shape[1])
            values += (X[:, first] * X[:, second]) @ self._products
        if self._zero_below > 0:
            values[np.abs(values) <= self._zero_below] = 0.0
        return values

    def _value(self, values: Array) -> Array:
        return values[:, 0]

    def _inlier(self, values: Array) -> Any:
        return np.where(values[:, 0] >= 0, 1, -1)

    def _sign(self, values: Array) -> Any:
        return self._classes[(values[:, 0] > 0).view(np.int8)]

    def _largest(self, values: Array) -> Any:
        return self._classes[values.argmax(axis=1)]

    def _by_votes(self, values: Array) -> Any:
        return self._classes[self._votes(values).argmax(axis=1)]

    def _votes(self, values: Array) -> Array:
        """Return the votes of every class; with `break_ties`, ties for zero count for the first class of a pair."""
        signs = self._signs
        assert signs is not None
        first, second = (signs > 0).astype(float), (signs < 0).astype(float)
        if not self._prediction.break_ties:
            wins = (values > 0).astype(float)
            return wins @ first + (1 - wins) @ second
        wins, total = (values >= 0).astype(float), values @ signs
        return wins @ first + (1 - wins) @ second + total / (3 * (np.abs(total) + 1))


def _compiled(term: KernelTerm) -> tuple[Any, Any, Array]:
    """Return the support vectors, the kernel and the coefficients as the compiled core reads them."""
    vectors = np.ascontiguousarray(term.vectors, dtype=np.float64)
    coefficients = np.ascontiguousarray(term.coefficients, dtype=np.float64)
    return _core.Samples.dense(vectors), _core.Kernel(list(term.nodes)), coefficients


def _scaled(step: Scaling, X: Array) -> Array:
    return np.ascontiguousarray(OPERATIONS[step.operation](X, step.operand))
