"""Description of fitted estimators: which functions they hold, and how predictions follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hinge import estimators
from hinge._core import KernelNode
from hinge.calibration import OneVsRestSigmoids, PairwiseSigmoids, RankedScores, SoftmaxScaling
from hinge.estimators.common.prediction import BOUNDARY_TOL
from hinge.estimators.kernel.classification import KernelClassifier
from hinge.estimators.kernel.one_class import OneClassEstimator
from hinge.estimators.kernel.regression import KernelRegressor
from hinge.estimators.online.classification import OnlineClassifier
from hinge.estimators.semiparametric.functions import FUNCTIONS, linear_part
from hinge.export.description import KernelTerm, LinearTerm, Output, OwnCalibration, Prediction, QuadraticTerm, Term
from hinge.kernels import FunctionKernel, Kernel, Precomputed
from hinge.model import DictionaryModel, KernelModel, LinearModel, PartlyLinearModel

Model: TypeAlias = KernelModel | DictionaryModel | LinearModel | PartlyLinearModel
Terms: TypeAlias = tuple[Term, ...]


@dataclass(frozen=True)
class Rule:
    """Rule by which predictions follow from the functions of an estimator.

    Attributes
    ----------
    functions : callable
        Returns the model with the fitted functions.
    output : Output
        For classifiers: with more than two classes. With two classes it is `Output.SIGN`.
    offset : callable, optional
        Returns a number that is subtracted from the functions.
    boundary_tol : float
        Function values below this multiple of the intercept are set to zero.
    """

    functions: Callable[[Any], Model]
    output: Output
    offset: Callable[[Any], float] | None = None
    boundary_tol: float = 0.0


def _online_model(estimator: Any) -> KernelModel:
    return estimator._learner.model()


def _semiparametric_model(estimator: Any) -> PartlyLinearModel:
    if estimator.functions not in FUNCTIONS:
        raise TypeError(
            f"functions={estimator.functions!r} is a Python function and cannot be exported: train with functions="
            f"{', '.join(map(repr, FUNCTIONS))}"
        )
    return linear_part(estimator)


_FITTED, _LINEAR = attrgetter("model_"), methodcaller("_model")

#: The rule of every family of estimators. Subclasses have the rule of their base class.
RULES: dict[type, Rule] = {
    KernelClassifier: Rule(_FITTED, Output.PAIRS),
    estimators.TransductiveSVC: Rule(_FITTED, Output.SIGN),
    estimators.ParzenClassifier: Rule(_FITTED, Output.LARGEST),
    estimators.SemiparametricSVC: Rule(_semiparametric_model, Output.LARGEST),
    estimators.SemiparametricSVR: Rule(_semiparametric_model, Output.VALUE),
    estimators.RegularizationNetwork: Rule(_semiparametric_model, Output.VALUE),
    estimators.LowRankSVC: Rule(_FITTED, Output.LARGEST),
    estimators.LPSVC: Rule(_FITTED, Output.LARGEST),
    estimators.LinearSVC: Rule(_LINEAR, Output.LARGEST),
    OnlineClassifier: Rule(_online_model, Output.LARGEST),
    KernelRegressor: Rule(_FITTED, Output.VALUE),
    estimators.RankingSVM: Rule(_FITTED, Output.VALUE),
    estimators.LPSVR: Rule(_FITTED, Output.VALUE),
    estimators.LinearSVR: Rule(_LINEAR, Output.VALUE),
    estimators.OnlineSVR: Rule(_online_model, Output.VALUE),
    OneClassEstimator: Rule(_FITTED, Output.INLIER, boundary_tol=BOUNDARY_TOL),
    estimators.LinearOneClassSVM: Rule(_LINEAR, Output.INLIER, boundary_tol=BOUNDARY_TOL),
    estimators.OnlineNoveltyDetector: Rule(_online_model, Output.INLIER, offset=attrgetter("offset_")),
}


def rule_of(cls: type) -> Rule | None:
    """Return the rule of a class of estimators; None if it is not a class of hinge."""
    return next((RULES[base] for base in cls.__mro__ if base in RULES), None)


def describe_estimator(estimator: Any) -> Prediction:
    """Return the description of a fitted estimator of hinge."""
    rule = rule_of(type(estimator))
    if rule is None:
        raise TypeError(
            f"model is a {type(estimator).__name__}, which cannot be exported: pass a fitted estimator of hinge, or a "
            "Pipeline of scalers and such an estimator"
        )
    check_is_fitted(estimator)
    model = rule.functions(estimator)
    intercept = np.array(model.intercept, dtype=np.float64)
    if rule.offset is not None:
        intercept -= rule.offset(estimator)
    classes: NDArray | None = getattr(estimator, "classes_", None)
    by_pairs = rule.output is Output.PAIRS
    if by_pairs and estimator.break_ties and estimator.decision_function_shape == "ovo":
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo'; set one of them, then export")
    terms = (*_terms(model), *_quadratic_terms(estimator))
    return Prediction(
        n_features=estimator.n_features_in_,
        scaling=(),
        terms=terms or (LinearTerm(np.zeros((len(intercept), estimator.n_features_in_))),),
        intercept=intercept,
        output=Output.SIGN if classes is not None and len(classes) == 2 else rule.output,
        classes=classes,
        zero_below=float(rule.boundary_tol * np.abs(intercept[0])),
        by_class=not by_pairs or estimator.decision_function_shape == "ovr",
        break_ties=by_pairs and bool(estimator.break_ties),
        own_calibration=_own_calibration(getattr(estimator, "calibration_", None), classes),
    )


def _own_calibration(calibration: Any, classes: NDArray | None) -> OwnCalibration | None:
    """The probabilities of an estimator that was fitted with ``probability=True``."""
    none = np.empty(0)
    if isinstance(calibration, RankedScores):
        return OwnCalibration("ranks", none, none, np.asarray(calibration.scores, dtype=np.float64))
    if isinstance(calibration, PairwiseSigmoids):
        kind: Any = "pair" if classes is not None and len(classes) == 2 else "pairs"
        return OwnCalibration(kind, calibration.A, calibration.B, none)
    if isinstance(calibration, OneVsRestSigmoids):
        return OwnCalibration("sigmoids", calibration.A, calibration.B, none)
    if isinstance(calibration, SoftmaxScaling):
        return OwnCalibration("softmax", np.full(len(calibration.offset), calibration.scale), calibration.offset, none)
    return None


def _terms(model: Model) -> Terms:
    """The terms of the functions, without those whose coefficients are zero."""
    if isinstance(model, LinearModel):
        return (LinearTerm(np.asarray(model.weights, dtype=np.float64)),)
    if isinstance(model, PartlyLinearModel):
        return (*_terms(model.expansion), *_terms(model.linear))
    if isinstance(model, DictionaryModel):
        return tuple(term for part in model.parts for term in _terms(part))
    nodes = kernel_nodes(model.kernel)
    used = np.flatnonzero(np.any(model.coefficients != 0, axis=1))
    if len(used) == 0:
        return ()
    vectors = model.vectors[used]
    vectors = np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, dtype=np.float64)
    coefficients = np.asarray(model.coefficients[used], dtype=np.float64)
    if (factor := _linear_factor(nodes)) is not None:
        return (LinearTerm(factor * (coefficients.T @ vectors)),)
    return (KernelTerm(nodes, vectors, coefficients),)


def _quadratic_terms(estimator: Any) -> Terms:
    """The products of features of a semiparametric estimator."""
    if getattr(estimator, "functions", None) != "quadratic":
        return ()
    weights = np.ascontiguousarray(estimator.function_coef_[:, 1 + estimator.n_features_in_ :])
    return (QuadraticTerm(weights),) if np.any(weights) else ()


def kernel_nodes(kernel: Kernel) -> tuple[KernelNode, ...]:
    """Return the formula of a kernel as a postfix program; raise a TypeError if it has none."""
    nodes = kernel.nodes()
    if nodes is not None:
        return tuple(nodes)
    if isinstance(kernel, Precomputed):
        raise TypeError(
            "kernel='precomputed' cannot be exported: the model contains no samples and no formula. Train with a named "
            "kernel or an object of hinge.kernels"
        )
    if isinstance(kernel, FunctionKernel):
        raise TypeError(
            f"kernel={kernel.function!r} is a Python function and cannot be exported: train with a named kernel, or "
            "express the function as a sum or product of objects of hinge.kernels"
        )
    raise TypeError(
        f"kernel={kernel!r} cannot be exported: its class or a part of it has no formula for the compiled core "
        "(`nodes` returns None). Train with the kernels of hinge.kernels, their sums and products"
    )


def _linear_factor(nodes: tuple[KernelNode, ...]) -> float | None:
    """Return c if the kernel is c⟨x, z⟩, whose expansion is one vector of weights; None for other kernels."""
    first, *others = nodes
    if first.name != "linear" or any(node.name != "scale" for node in others):
        return None
    return float(np.prod([node.gamma for node in others]))

