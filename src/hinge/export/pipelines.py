"""Description of pipelines of scalers and an estimator, and of calibrated classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from hinge.export.description import Calibration, Prediction, Scaling
from hinge.export.estimators import describe_estimator

Operation = Literal["add", "subtract", "multiply", "divide", "minimum", "maximum"]
Steps = Iterator[tuple[Operation, Any]]


def _standard(scaler: Any) -> Steps:
    if scaler.with_mean:
        yield "subtract", scaler.mean_
    if scaler.with_std:
        yield "divide", scaler.scale_


def _min_max(scaler: Any) -> Steps:
    yield "multiply", scaler.scale_
    yield "add", scaler.min_
    if scaler.clip:
        low, high = scaler.feature_range
        yield "maximum", low
        yield "minimum", high


def _max_abs(scaler: Any) -> Steps:
    yield "divide", scaler.scale_
    if getattr(scaler, "clip", False):  # a parameter of recent versions of scikit-learn
        yield "maximum", -1.0
        yield "minimum", 1.0


def _robust(scaler: Any) -> Steps:
    if scaler.with_centering:
        yield "subtract", scaler.center_
    if scaler.with_scaling:
        yield "divide", scaler.scale_


#: The operations of every scaler, in the order in which its `transform` applies them.
SCALERS: dict[type, Callable[[Any], Steps]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
    RobustScaler: _robust,
}


def describe(model: Any) -> Prediction:
    """Return the description of a fitted estimator, or of a pipeline of scalers and such an estimator.

    Parameters
    ----------
    model : estimator, Pipeline or CalibratedClassifierCV
        An estimator of hinge; a `Pipeline` whose last step is one, after scalers; or a `CalibratedClassifierCV` with
        ``ensemble=False`` of an estimator or a pipeline.
    """
    if isinstance(model, Pipeline):
        *first, (_, last) = model.steps
        scaling = [operation for name, step in first for operation in _scaling(name, step)]
        description = describe(last)
        return replace(description, scaling=(*scaling, *description.scaling))
    if isinstance(model, CalibratedClassifierCV):
        return _calibrated(model)
    return describe_estimator(model)


def _scaling(name: str, step: Any) -> Iterator[Scaling]:
    """The operations of a step of a pipeline."""
    if step is None or step == "passthrough":
        return
    if type(step) not in SCALERS:
        known = ", ".join(cls.__name__ for cls in SCALERS)
        raise TypeError(
            f"the step {name!r} of the pipeline is a {type(step).__name__}, which cannot be exported: known steps are "
            f"{known}. Apply other steps before the exported model; for ONNX, skl2onnx converts them after a call of "
            "hinge.io.register_onnx_converters()"
        )
    check_is_fitted(step)
    for operation, operand in SCALERS[type(step)](step):
        values = np.broadcast_to(np.asarray(operand, dtype=np.float64), (step.n_features_in_,))
        yield Scaling(operation, np.array(values))


def _calibrated(model: Any) -> Prediction:
    """The description of a calibrated classifier with one set of calibrators."""
    check_is_fitted(model)
    if len(model.calibrated_classifiers_) != 1:
        raise TypeError(
            f"the CalibratedClassifierCV averages {len(model.calibrated_classifiers_)} models, which cannot be "
            "exported: pass ensemble=False to it, which trains one model"
        )
    (calibrated,) = model.calibrated_classifiers_
    estimator, calibrators = calibrated.estimator, calibrated.calibrators
    description = describe(estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator)
    # The estimator may have been given codes of the labels.
    description = replace(description, classes=model.classes_, own_calibration=None)
    if description.n_values not in (1, description.n_classes):
        raise TypeError("calibration needs one decision value per class: use decision_function_shape='ovr'")
    if calibrated.method == "sigmoid":
        slope, offset = (np.array([getattr(each, name) for each in calibrators]) for name in ("a_", "b_"))
        return replace(description, calibration=Calibration("sigmoid", slope, offset))
    if calibrated.method == "temperature":
        slope = np.full(description.n_values, float(calibrators[0].beta_))
        return replace(description, calibration=Calibration("softmax", slope, np.zeros_like(slope)))
    raise TypeError(
        f"method={calibrated.method!r} of CalibratedClassifierCV cannot be exported: use 'sigmoid' or 'temperature'"
    )
