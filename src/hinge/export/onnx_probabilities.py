"""Probabilities of classes as ONNX nodes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from hinge.calibration.agreement import TIE_SHARE
from hinge.calibration.coupling import MIN_PROBABILITY
from hinge.export.description import Calibration, OwnCalibration
from hinge.export.onnx_nodes import Nodes


def calibrated(graph: Nodes, values: str, calibration: Calibration, n_classes: int) -> str:
    """Add the probabilities of a `CalibratedClassifierCV`."""
    scaled = graph.node("Mul", values, graph.constant(calibration.slope))
    if calibration.link == "softmax":
        if n_classes == 2:
            scaled = graph.node("Concat", graph.node("Neg", scaled), scaled, axis=1)
        return graph.node("Softmax", scaled, axis=1)
    sigmoid = _sigmoid(graph, graph.node("Add", scaled, graph.constant(calibration.offset)))
    if n_classes == 2:
        return graph.node("Concat", graph.node("Sub", _number(graph, 1.0), sigmoid), sigmoid, axis=1)
    total = _row_sums(graph, sigmoid)
    is_zero = graph.node("Equal", total, _number(graph, 0.0))
    equal = graph.constant(np.full(n_classes, 1.0 / n_classes))
    return graph.node("Where", is_zero, equal, graph.node("Div", sigmoid, total))


def own(graph: Nodes, functions: str, position: str, calibration: OwnCalibration, n_classes: int) -> str:
    """Add the probabilities of an estimator with ``probability=True``; `position` is that of the predicted class."""
    if calibration.kind == "pair":
        return _of_two_classes(graph, functions, calibration)
    if calibration.kind == "ranks":
        return _from_ranks(graph, functions, calibration)
    scaled = graph.node("Mul", functions, graph.constant(calibration.slope))
    scaled = graph.node("Add", scaled, graph.constant(calibration.offset))
    if calibration.kind == "softmax":
        p = graph.node("Softmax", scaled, axis=1)
    elif calibration.kind == "sigmoids":
        p = graph.node("Max", _sigmoid(graph, scaled), _number(graph, float(np.finfo(np.float64).tiny)))
        p = graph.node("Div", p, _row_sums(graph, p))
    else:
        p = _coupled(graph, _sigmoid(graph, scaled), n_classes)
    return _agreeing(graph, p, position, n_classes)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _number(graph: Nodes, value: float) -> str:
    return graph.constant(np.array(value))


def _sigmoid(graph: Nodes, z: str) -> str:
    """1 / (1 + exp(z))."""
    return graph.node("Div", _number(graph, 1.0), graph.node("Add", graph.node("Exp", z), _number(graph, 1.0)))


def _sums(graph: Nodes, values: str, axis: int, keepdims: int = 1) -> str:
    return graph.node("ReduceSum", values, graph.constant(np.array([axis])), keepdims=keepdims)


def _row_sums(graph: Nodes, values: str) -> str:
    return _sums(graph, values, 1)


def _row_maxima(graph: Nodes, values: str) -> str:
    """Maximum of every row. The arguments of ReduceMax depend on the version of the operators."""
    return graph.node("GatherElements", values, graph.node("ArgMax", values, axis=1, keepdims=1), axis=1)


def _of_two_classes(graph: Nodes, functions: str, calibration: OwnCalibration) -> str:
    """(740): the probability of the predicted class is at least ½ plus a small increasing function of |f|."""
    one = _number(graph, 1.0)
    scaled = graph.node("Mul", functions, graph.constant(-calibration.slope))
    first = _sigmoid(graph, graph.node("Add", scaled, graph.constant(calibration.offset)))
    is_second = graph.node("Greater", functions, _number(graph, 0.0))
    p = graph.node("Where", is_second, graph.node("Sub", one, first), first)
    size = graph.node("Abs", functions)
    share = graph.node("Div", size, graph.node("Add", size, one))
    excess = graph.node("Mul", graph.node("Add", share, _number(graph, 1e-3)), _number(graph, TIE_SHARE))
    p = graph.node("Max", p, graph.node("Add", excess, _number(graph, 0.5)))
    first = graph.node("Where", is_second, graph.node("Sub", one, p), p)
    return graph.node("Concat", first, graph.node("Sub", one, first), axis=1)


def _from_ranks(graph: Nodes, functions: str, calibration: OwnCalibration) -> str:
    """(742): probabilities of an outlier and an inlier."""
    scores, one, half = calibration.scores, _number(graph, 1.0), _number(graph, 0.5)
    scale = len(scores) + 1.0
    boundary = (1.0 + np.searchsorted(scores, 0.0, side="right")) / scale
    below = (1.0 + np.searchsorted(scores, 0.0, side="left")) / scale
    at_most = graph.node("GreaterOrEqual", functions, graph.constant(scores[None, :]))
    count = _row_sums(graph, graph.node("Cast", at_most, to=int(TensorProto.DOUBLE)))
    p = graph.node("Div", graph.node("Add", count, one), _number(graph, scale))
    outside = graph.node("Div", graph.node("Mul", p, half), _number(graph, below))
    rest = graph.node("Mul", graph.node("Sub", one, p), half)
    inside = graph.node("Sub", one, graph.node("Div", rest, _number(graph, max(1.0 - boundary, 1.0 / scale))))
    inside = graph.node("Min", graph.node("Max", inside, _number(graph, 0.5 + TIE_SHARE)), one)
    outside = graph.node("Min", graph.node("Max", outside, _number(graph, 0.0)), _number(graph, 0.5 - TIE_SHARE))
    is_inlier = graph.node("GreaterOrEqual", functions, _number(graph, 0.0))
    inlier = graph.node("Where", is_inlier, inside, outside)
    return graph.node("Concat", graph.node("Sub", one, inlier), inlier, axis=1)


def _coupled(graph: Nodes, pairwise: str, n_classes: int) -> str:
    """Probabilities p with Qp + b1 = 0 and 1ᵀp = 1, from (Q + 11ᵀ)p ∝ 1 by elimination.

    Q + 11ᵀ is positive definite, so that no rows have to be exchanged: Q is positive semidefinite, and Qp = 0 only for
    multiples of a positive vector.
    """
    K, one = n_classes, _number(graph, 1.0)
    first, second = np.triu_indices(K, 1)
    pair = np.arange(len(first))
    of_first, of_second = np.zeros((len(first), K * K)), np.zeros((len(first), K * K))
    of_first[pair, first * K + second] = of_second[pair, second * K + first] = 1.0
    clipped = graph.node("Max", pairwise, _number(graph, MIN_PROBABILITY))
    clipped = graph.node("Min", clipped, _number(graph, 1.0 - MIN_PROBABILITY))
    rest = graph.node("Sub", one, clipped)
    r = graph.node("Add", graph.product(clipped, of_first), graph.product(rest, of_second))
    r = graph.node("Reshape", r, graph.constant(np.array([0, K, K])))  # 0: the number of samples
    squares = _sums(graph, graph.node("Mul", r, r), 1)  # Q_ii in row vectors
    products = graph.node("Mul", r, graph.node("Transpose", r, perm=[0, 2, 1]))
    diagonal = graph.node("Mul", squares, graph.constant(np.eye(K)[None]))
    matrix = graph.node("Add", graph.node("Sub", one, products), diagonal)
    ones = graph.node("Add", graph.node("Mul", squares, _number(graph, 0.0)), one)
    system = graph.node("Concat", matrix, graph.node("Transpose", ones, perm=[0, 2, 1]), axis=2)
    for k in range(K):
        row = graph.node("Gather", system, graph.constant(np.array([k])), axis=1)
        column = graph.node("Gather", system, graph.constant(np.array([k])), axis=2)
        pivot = graph.node("Gather", row, graph.constant(np.array([k])), axis=2)
        others = graph.constant((np.arange(K) != k).astype(np.float64)[None, :, None])
        factor = graph.node("Mul", graph.node("Div", column, pivot), others)
        system = graph.node("Sub", system, graph.node("Mul", factor, row))
    left = graph.node("Gather", system, graph.constant(np.arange(K)), axis=2)
    pivots = _sums(graph, graph.node("Mul", left, graph.constant(np.eye(K)[None])), 2, keepdims=0)
    right = graph.node("Gather", system, graph.constant(np.array(K)), axis=2)
    p = graph.node("Relu", graph.node("Div", right, pivots))
    return graph.node("Div", p, _row_sums(graph, p))


def _agreeing(graph: Nodes, p: str, position: str, n_classes: int) -> str:
    """(741): if another class has a probability of at least that of the predicted class, project the probabilities.

    The common level is the largest mean of the predicted class and of all classes above a threshold.
    """
    classes = graph.constant(np.arange(n_classes)[None, :])
    is_own = graph.node("Equal", classes, graph.node("Unsqueeze", position, graph.constant(np.array([1]))))
    others = graph.node("Where", is_own, _number(graph, -1.0), p)
    own_value = _row_sums(graph, graph.node("Where", is_own, p, _number(graph, 0.0)))
    largest = _row_maxima(graph, others)
    conflict = graph.node("GreaterOrEqual", largest, own_value)
    thresholds = graph.node("Unsqueeze", p, graph.constant(np.array([2])))
    values = graph.node("Unsqueeze", others, graph.constant(np.array([1])))
    above = graph.node("Cast", graph.node("GreaterOrEqual", values, thresholds), to=int(TensorProto.DOUBLE))
    total = graph.node("Add", _sums(graph, graph.node("Mul", above, values), 2, keepdims=0), own_value)
    count = graph.node("Add", _sums(graph, above, 2, keepdims=0), _number(graph, 1.0))
    level = _row_maxima(graph, graph.node("Div", total, count))
    excess = graph.node("Mul", level, _number(graph, TIE_SHARE))  # onnxruntime removes factors close to one
    pooled = graph.node("Where", is_own, graph.node("Add", level, excess), graph.node("Min", p, level))
    return graph.node("Where", conflict, graph.node("Div", pooled, _row_sums(graph, pooled)), p)
