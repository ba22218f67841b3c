"""ONNX graph of a prediction function: float64 and core operators only."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hinge.export.description import KernelTerm, Output, Prediction, QuadraticTerm
from hinge.export.labels import plain_labels
from hinge.export.onnx_kernels import KernelNodes
from hinge.export.onnx_nodes import NodeList, Nodes
from hinge.export.onnx_probabilities import calibrated, own

#: Version of the operators: the oldest with which the graphs have been tested. Runtimes accept older versions.
OPSET = 17
IR_VERSION = 8
#: Largest size of a model file in bytes: the limit of the Protocol Buffers format.
MAX_BYTES = (1 << 31) - (1 << 16)

INPUT = "X"
LABEL, VALUES, PROBABILITIES, PREDICTION = "label", "decision_values", "probabilities", "prediction"


def onnx_model(prediction: Prediction) -> Any:
    """Return the `onnx.ModelProto` of a prediction function.

    Input: `X`, float64, (n × n_features) for any n. Outputs: `prediction` for regression and ranking; otherwise
    `label`, `decision_values`, and `probabilities` if the estimator has them.
    """
    _check_size(prediction)
    graph = NodeList()
    outputs = [
        _named_output(graph, name, value, prediction) for name, value in add_prediction(graph, INPUT, prediction)
    ]
    X = helper.make_tensor_value_info(INPUT, TensorProto.DOUBLE, ["n", prediction.n_features])
    proto = helper.make_graph(graph.nodes, "hinge", [X], outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=IR_VERSION, producer_name="hinge")


def add_prediction(graph: Nodes, X: str, prediction: Prediction) -> list[tuple[str, str]]:
    """Add the nodes of a prediction function; return pairs of an output and its value."""
    functions = _functions(graph, _scaled(graph, X, prediction), prediction)
    if prediction.output is Output.VALUE:
        return [(PREDICTION, _column(graph, functions))]
    values = functions
    if prediction.output is Output.PAIRS and prediction.by_class:
        values = _votes_and_confidence(graph, functions, prediction)
    outputs = [(VALUES, _column(graph, values) if prediction.n_values == 1 else values)]
    if prediction.calibration is None:
        position = _position(graph, functions, values, prediction)
        outputs = [(LABEL, _label_at(graph, position, prediction)), *outputs]
        if prediction.own_calibration is not None:
            probabilities = own(graph, functions, position, prediction.own_calibration, prediction.n_classes)
            outputs.append((PROBABILITIES, probabilities))
        return outputs
    probabilities = calibrated(graph, values, prediction.calibration, prediction.n_classes)
    return [(LABEL, _label_at(graph, _largest(graph, probabilities), prediction)), *outputs,
            (PROBABILITIES, probabilities)]  # fmt: skip


def label_type(prediction: Prediction) -> int:
    """Return the ONNX type of the labels."""
    if prediction.classes is None:
        return int(TensorProto.INT64)
    labels = plain_labels(prediction.classes)
    return int(TensorProto.STRING if labels.dtype == object else helper.np_dtype_to_tensor_dtype(labels.dtype))


# ---- decision values ------------------------------------------------------------------------------------------------

_SCALING = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "minimum": "Min", "maximum": "Max"}


def _scaled(graph: Nodes, X: str, prediction: Prediction) -> str:
    for step in prediction.scaling:
        X = graph.node(_SCALING[step.operation], X, graph.constant(step.operand))
    return X


def _functions(graph: Nodes, X: str, prediction: Prediction) -> str:
    """Values of all functions, (n × n_functions)."""
    total = graph.constant(prediction.intercept)
    for term in prediction.terms:
        if isinstance(term, KernelTerm):
            product = graph.product(KernelNodes(graph, X, term).values(), term.coefficients)
        elif isinstance(term, QuadraticTerm):
            first, second = np.triu_indices(prediction.n_features)
            factors = [graph.node("Gather", X, graph.constant(index), axis=1) for index in (first, second)]
            product = graph.product(graph.node("Mul", *factors), term.weights.T)
        else:
            product = graph.product(X, term.weights.T)
        total = graph.node("Add", product, total)
    if prediction.zero_below > 0:
        is_small = graph.node("LessOrEqual", graph.node("Abs", total), graph.constant(np.array(prediction.zero_below)))
        total = graph.node("Where", is_small, graph.constant(np.array(0.0)), total)
    return total


def _votes(graph: Nodes, is_first: str, prediction: Prediction) -> str:
    """Number of pairs that every class wins; class k is the second of k pairs."""
    won = graph.node("Cast", is_first, to=int(TensorProto.DOUBLE))
    gained = graph.product(won, prediction.pair_signs())
    return graph.node("Add", gained, graph.constant(np.arange(float(prediction.n_classes))))


def _votes_and_confidence(graph: Nodes, functions: str, prediction: Prediction) -> str:
    """Votes plus s / (3 (|s| + 1)), where s is the sum of the functions in favor of a class."""
    is_second = graph.node("Less", functions, graph.constant(np.array(0.0)))
    votes = _votes(graph, graph.node("Not", is_second), prediction)
    sums = graph.product(functions, prediction.pair_signs())
    larger = graph.node("Add", graph.node("Abs", sums), graph.constant(np.array(1.0)))
    confidence = graph.node("Div", sums, graph.node("Mul", larger, graph.constant(np.array(3.0))))
    return graph.node("Add", votes, confidence)


def _column(graph: Nodes, values: str) -> str:
    return graph.node("Squeeze", values, graph.constant(np.array([1])))


# ---- labels and probabilities ---------------------------------------------------------------------------------------


def _position(graph: Nodes, functions: str, values: str, prediction: Prediction) -> str:
    """Position of the label of every row."""
    if prediction.output is Output.INLIER:
        is_inlier = graph.node("GreaterOrEqual", _column(graph, functions), graph.constant(np.array(0.0)))
        return graph.node("Cast", is_inlier, to=int(TensorProto.INT64))
    if prediction.output is Output.SIGN:
        is_second = graph.node("Greater", _column(graph, functions), graph.constant(np.array(0.0)))
        return graph.node("Cast", is_second, to=int(TensorProto.INT64))
    if prediction.output is Output.PAIRS and prediction.break_ties:
        by_class = values
    elif prediction.output is Output.PAIRS:
        is_first = graph.node("Greater", functions, graph.constant(np.array(0.0)))
        by_class = _votes(graph, is_first, prediction)
    else:
        by_class = functions
    return _largest(graph, by_class)


def _largest(graph: Nodes, values: str) -> str:
    """Position of the largest value in every row, of the first if there are several."""
    return graph.node("ArgMax", values, axis=1, keepdims=0)


def _label_at(graph: Nodes, position: str, prediction: Prediction) -> str:
    labels = np.array([-1, 1]) if prediction.classes is None else plain_labels(prediction.classes)
    return graph.node("Gather", graph.constant(labels), position)


# ---- graph ----------------------------------------------------------------------------------------------------------


def _named_output(graph: NodeList, name: str, value: str, prediction: Prediction) -> Any:
    graph.nodes.append(helper.make_node("Identity", [value], [name]))
    if name in (LABEL, PREDICTION):
        kind = label_type(prediction) if name == LABEL else TensorProto.DOUBLE
        return helper.make_tensor_value_info(name, kind, ["n"])
    width = prediction.n_classes or 2 if name == PROBABILITIES else prediction.n_values
    return helper.make_tensor_value_info(
        name, TensorProto.DOUBLE, ["n"] if name == VALUES and width == 1 else ["n", width]
    )


def _check_size(prediction: Prediction) -> None:
    """Raise a ValueError if the arrays exceed the limit of the format."""
    arrays = [array for term in prediction.terms for array in vars(term).values() if isinstance(array, np.ndarray)]
    size = sum(array.nbytes for array in arrays)
    if size > MAX_BYTES:
        raise ValueError(
            f"the model has {size:,} bytes of support vectors and coefficients; an ONNX file holds at most "
            f"{MAX_BYTES:,}: train with fewer support vectors (LowRankSVC) or features, or with a linear kernel"
        )


