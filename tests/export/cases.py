"""Fitted models of every estimator, reference values, and the tolerance of their rounding errors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import hinge
from hinge.estimators.semiparametric.functions import function_values
from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, Sigmoid
from hinge.model import DictionaryModel, KernelModel, LinearModel

#: Parameters of every estimator that predicts.
PARAMETERS = {
    "SVC": dict(C=2.0),
    "NuSVC": dict(nu=0.2),
    "SVR": dict(C=2.0, epsilon=0.01),
    "NuSVR": dict(C=2.0, nu=0.5),
    "OneClassSVM": dict(nu=0.4),
    "ParzenClassifier": dict(),
    "IncrementalSVC": dict(C=2.0),
    "IncrementalSVR": dict(C=2.0, epsilon=0.01),
    "IncrementalOneClassSVM": dict(nu=0.4),
    "LPSVC": dict(C=2.0),
    "LPSVR": dict(C=2.0, epsilon=0.01),
    "LowRankSVC": dict(n_basis=5),
    "RankingSVM": dict(C=2.0),
    "SemiparametricSVC": dict(C=2.0, functions="linear"),
    "SemiparametricSVR": dict(C=2.0, epsilon=0.01, functions="linear"),
    "RegularizationNetwork": dict(C=2.0, epsilon=0.01, functions="linear"),
    "TransductiveSVC": dict(C=2.0),
    "OnlineSVC": dict(),
    "OnlineNuSVC": dict(nu=0.2),
    "OnlineSVR": dict(epsilon=0.01),
    "OnlineNoveltyDetector": dict(nu=0.4),
    "LinearSVC": dict(C=2.0),
    "LinearSVR": dict(C=2.0),
    "LinearOneClassSVM": dict(nu=0.4),
}
NAMES = tuple(PARAMETERS)
LINEAR = ("LinearSVC", "LinearSVR", "LinearOneClassSVM")
TWO_CLASSES = ("TransductiveSVC",)
#: Paths require a convex problem, so that kernels that are not positive semidefinite are excluded.
CONVEX = (
    "IncrementalSVC",
    "IncrementalSVR",
    "IncrementalOneClassSVM",
    "TransductiveSVC",
    "RankingSVM",
    "LowRankSVC",
)

KERNELS = (
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Polynomial(2, 0.3),
    RBF(0.4),
    RBF(30.0),
    Sigmoid(0.2, 0.1),
    Laplacian(0.3),
    BSpline(1, 0.05),
    BSpline(3, 0.2),
    BSpline(7, 1.0),
    2.0 * Linear(),
    RBF(0.4) + Linear(),
    2.5 * RBF(0.4),
    RBF(0.4) * Laplacian(0.1) + 0.5 * Polynomial(2, 0.2, 1.0),
    3 * (Linear() + RBF(0.1)) * (RBF(0.2) + BSpline(3, 0.1)),
)
SCALERS = (
    None,
    StandardScaler(),
    StandardScaler(with_mean=False),
    MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(),
    RobustScaler(with_centering=False),
    RobustScaler(),
)
LABELS = (
    np.array([3, -7, 2**40, 11]),
    np.array(["no", 'say "yes"??/', "žluťoučký 🐎", "\\n"]),
    np.array(["a", "bb", "ccc", "d"], dtype=object),
    np.array([0.0, -2.0, 3.0, 1e15]),
)


@dataclass(frozen=True)
class Case:
    """A fitted model and samples to predict."""

    model: object
    X: np.ndarray

    @property
    def estimator(self):
        return self.model[-1] if hasattr(self.model, "steps") else self.model

    @property
    def features(self):
        """The samples that the estimator receives."""
        return self.model[:-1].transform(self.X) if hasattr(self.model, "steps") else self.X

    @property
    def has_labels(self):
        return is_classifier(self.estimator) or is_outlier_detector(self.estimator)


@st.composite
def cases(draw, name):
    """A fitted model of the class `name` with drawn data, kernel, scaler, number of classes and kind of labels."""
    n, d = draw(st.integers(8, 25)), draw(st.integers(1, 5))
    values = st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5, width=32))
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    X += np.random.default_rng(n).normal(scale=1e-3, size=X.shape)  # equal samples of different classes are rare
    T = np.concatenate([draw(hnp.arrays(np.float64, (4, d), elements=values)), X[:6], 100.0 * X[:1]])
    n_classes = 2 if name in TWO_CLASSES else draw(st.integers(2, 4))
    options = dict(PARAMETERS[name])
    if name not in LINEAR:
        allowed = [k for k in KERNELS if name not in CONVEX or k.psd]
        options["kernel"] = draw(st.sampled_from(allowed))
    if name in ("SVC", "NuSVC", "IncrementalSVC"):
        options |= draw(st.sampled_from(({"decision_function_shape": "ovo"}, {}, {"break_ties": True})))
    if "functions" in options:
        options["functions"] = draw(st.sampled_from(("constant", "linear", "quadratic")))
    y = targets(name, n, n_classes, draw(st.sampled_from(LABELS)))
    estimator, scaler = getattr(hinge, name)(**options), draw(st.sampled_from(SCALERS))
    model = estimator if scaler is None else make_pipeline(scaler, estimator)
    return Case(fitted(model, X, y), T)


def targets(name, n, n_classes, labels):
    """Labels of a classifier, targets of a regression estimator, None for a one-class estimator."""
    estimator = getattr(hinge, name)()
    if is_classifier(estimator):
        return labels[np.arange(n) % n_classes]
    if is_outlier_detector(estimator):
        return None
    return (np.arange(n) % 4).astype(float)


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X) if y is None else model.fit(X, y)


def functions(case):
    """Values of all functions, before votes are counted, and the size of the sums of which they consist."""
    model, X = fitted_functions(case.estimator), case.features
    offset = np.array([getattr(case.estimator, "offset_", 0.0)], dtype=float).ravel()
    shift = offset if type(case.estimator).__name__ == "OnlineNoveltyDetector" else 0.0
    values = row_by_row(model.decide, np.ascontiguousarray(X)) - shift
    return values, magnitude(model, X) + np.abs(offset).max()


def row_by_row(method, X):
    """Results of a method for one row at a time.

    Distances are then computed from differences. In batches they are computed from norms, whose rounding errors exceed
    1e-12 if γ times the squared distances from the mean is large.
    """
    return np.concatenate([method(X[i : i + 1]) for i in range(len(X))])


def fitted_functions(estimator):
    if hasattr(estimator, "_learner"):
        return estimator._learner.model()
    if hasattr(estimator, "function_coef_"):
        return WithFunctions(estimator.model_, estimator.functions, estimator.function_coef_)
    return estimator._model() if hasattr(estimator, "coef_") and hasattr(estimator, "_model") else estimator.model_


@dataclass(frozen=True)
class WithFunctions:
    """A kernel expansion and functions with coefficients."""

    expansion: KernelModel
    functions: str
    coef: np.ndarray

    @property
    def intercept(self):
        return self.expansion.intercept

    def values(self, X):
        return function_values(self.functions, X, self.expansion.kernel)

    def decide(self, X):
        return self.expansion.decide(X) + self.values(X) @ self.coef.T


def magnitude(model, X):
    """Σ |coefficients| × size of the kernel values, in which the absolute values of all products are summed."""
    intercept = np.abs(model.intercept)
    if isinstance(model, DictionaryModel):
        parts = (magnitude(part, X) for part in model.parts if len(part.coefficients))
        return sum(parts, np.tile(intercept, (len(X), 1)))
    if isinstance(model, WithFunctions):
        return magnitude(model.expansion, X) + np.abs(model.values(X)) @ np.abs(model.coef).T
    if isinstance(model, LinearModel):
        return np.abs(X) @ np.abs(model.weights).T + intercept
    if len(model.coefficients) == 0:
        return np.tile(intercept, (len(X), 1))
    return kernel_magnitude(model.kernel.nodes(), X, model.vectors) @ np.abs(model.coefficients) + intercept


def kernel_magnitude(nodes, X, Z):
    products = np.abs(X) @ np.abs(Z).T
    stack = []
    for node in nodes:
        name, affine = node.name, node.gamma * products + abs(node.coef0)
        if name in ("sum", "product"):
            second = stack.pop()
            stack.append(stack.pop() + second if name == "sum" else stack.pop() * second)
        elif name == "scale":
            stack.append(node.gamma * stack.pop())
        elif name in ("linear", "polynomial", "sigmoid"):
            stack.append({"linear": products, "polynomial": affine**node.degree, "sigmoid": affine}[name])
        else:
            stack.append(np.ones_like(products))  # kernels of a distance are at most one
    return stack.pop()


def assert_agreement(case, label, values, rtol=1e-12):
    """Compare labels and decision values with those of the estimator.

    Labels and votes are compared where they do not depend on rounding errors.
    """
    reference, size = functions(case)
    tolerance = rtol * size
    if not case.has_labels:
        assert values.shape == (len(case.X),)
        assert np.all(np.abs(values - row_by_row(case.model.predict, case.X)) <= tolerance[:, 0])
        return
    expected = row_by_row(case.model.decision_function, case.X)
    assert values.shape == expected.shape
    by_pairs = is_classifier(case.estimator) and reference.shape[1] not in (1, expected.shape[-1])
    by_pairs = by_pairs or hasattr(case.estimator, "break_ties")
    clear = np.all(np.abs(reference) > tolerance, axis=1)
    bound = tolerance.sum(axis=1) + rtol * np.abs(expected.reshape(len(values), -1)).max(axis=1)
    error = np.abs(values - expected).reshape(len(values), -1).max(axis=1)
    assert np.all(error[clear] <= bound[clear])
    if not by_pairs:
        assert np.all(error <= bound)
    if expected.ndim == 2:
        largest = np.sort(expected, axis=1)[:, -2:]
        unique = largest[:, 1] - largest[:, 0] > 2 * bound
        clear = clear & unique if getattr(case.estimator, "break_ties", False) or not by_pairs else clear
        clear = unique if not by_pairs else clear
    predicted = row_by_row(case.model.predict, case.X)
    assert label.shape == predicted.shape
    assert [str(a) for a in label[clear]] == [str(b) for b in predicted[clear]]
