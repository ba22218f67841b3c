"""Converters of the estimators of hinge for skl2onnx."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    Int64TensorType,
    StringTensorType,
)
from skl2onnx.common.utils import check_input_and_output_numbers

from hinge import estimators
from hinge.export.description import Output
from hinge.export.estimators import describe_estimator, rule_of
from hinge.export.onnx_graph import LABEL, PREDICTION, PROBABILITIES, VALUES, add_prediction, label_type
from hinge.export.onnx_nodes import Nodes

#: Prefix of the names under which skl2onnx knows the estimators.
ALIAS = "Hinge"
_TYPES: dict[int, Any] = {
    TensorProto.INT64: Int64TensorType,
    TensorProto.STRING: StringTensorType,
    TensorProto.DOUBLE: DoubleTensorType,
    TensorProto.BOOL: BooleanTensorType,
}


def register() -> None:
    """Register a converter for every estimator of hinge that predicts."""
    for name in estimators.__all__:
        cls = getattr(estimators, name)
        if rule_of(cls) is not None:
            update_registered_converter(cls, ALIAS + name, _shapes, _convert, parser=_parse)


def _outputs(estimator: Any) -> list[tuple[str, Any]]:
    """Names and types of the outputs."""
    description = describe_estimator(estimator)
    if description.output is Output.VALUE:
        return [(PREDICTION, DoubleTensorType([None]))]
    width = description.n_values
    values = DoubleTensorType([None] if width == 1 else [None, width])
    outputs = [(LABEL, _TYPES[label_type(description)]([None])), (VALUES, values)]
    if description.own_calibration is not None:
        outputs.append((PROBABILITIES, DoubleTensorType([None, description.n_classes or 2])))
    return outputs


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    operator = scope.declare_local_operator(ALIAS + type(model).__name__, model)
    operator.inputs = inputs
    for name, kind in _outputs(model):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator: Any) -> None:
    check_input_and_output_numbers(operator, input_count_range=1, output_count_range=[1, 3])
    for output, (_, kind) in zip(operator.outputs, _outputs(operator.raw_operator), strict=True):
        output.set_type(kind)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    nodes = _ContainerNodes(scope, container)
    X = nodes.node("Cast", operator.inputs[0].full_name, to=int(TensorProto.DOUBLE))
    values = add_prediction(nodes, X, describe_estimator(operator.raw_operator))
    for output, (_, value) in zip(operator.outputs, values, strict=True):
        container.add_node("Identity", [value], [output.full_name], name=scope.get_unique_operator_name("output"))


class _ContainerNodes(Nodes):
    """Nodes and constants that are added to a container of skl2onnx."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope, self._container = scope, container

    def constant(self, value: NDArray[Any]) -> str:
        name: str = self._scope.get_unique_variable_name("c")
        is_text = value.dtype == object
        kind = TensorProto.STRING if is_text else helper.np_dtype_to_tensor_dtype(value.dtype)
        content = [text.encode("utf-8") for text in value] if is_text else np.ravel(value).tolist()
        self._container.add_initializer(name, kind, list(value.shape), content)
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        output: str = self._scope.get_unique_variable_name("v")
        name = self._scope.get_unique_operator_name("n")
        self._container.add_node(operator, list(inputs), [output], name=name, **attributes)
        return output
