"""Nodes and constants of ONNX graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from hinge.kernels.algebra import Array


class Nodes(ABC):
    """A graph that consists of nodes and constants."""

    @abstractmethod
    def constant(self, value: NDArray[Any]) -> str: ...

    @abstractmethod
    def node(self, operator: str, *inputs: str, **attributes: Any) -> str: ...

    def product(self, rows: str, columns: Array) -> str:
        """Add a matrix product as Gemm: onnxruntime merges factors next to MatMul into an attribute in float32."""
        return self.node("Gemm", rows, self.constant(np.ascontiguousarray(columns)))

    def distances(self, rows: str, vectors: Array, absolute: bool) -> str:
        """Add a Scan over the rows. It needs at least one row: a batch without rows gets a row, which is removed."""
        n = self.node("Shape", rows, end=1)
        missing = self.node("Max", self.node("Sub", self.constant(np.array([1])), n), self.constant(np.array([0])))
        shape = self.node("Concat", missing, self.constant(np.array([vectors.shape[1]])), axis=0)
        padding = self.node("Expand", self.constant(np.zeros((1, 1))), shape)
        padded = self.node("Concat", rows, padding, axis=0)
        sums = self.node("Scan", padded, num_scan_inputs=1, body=distance_body(vectors, absolute))
        return self.node("Slice", sums, self.constant(np.array([0])), n)


class NodeList(Nodes):
    """Nodes and constants of a graph, in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(tensor(name, value))
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name


def distance_body(vectors: Array, absolute: bool) -> Any:
    """Return the graph of a Scan over rows: sums of |z − x| or (z − x)² for all vectors z.

    One row at a time needs the memory of the vectors; all rows at once would need n times as much.
    """
    rowwise = ("Abs", ["difference"]) if absolute else ("Mul", ["difference", "difference"])
    nodes = [
        helper.make_node("Sub", ["vectors", "row"], ["difference"]),
        helper.make_node(*rowwise, ["parts"]),
        helper.make_node("ReduceSum", ["parts", "features"], ["sums"], keepdims=0),
    ]
    row = helper.make_tensor_value_info("row", TensorProto.DOUBLE, [vectors.shape[1]])
    sums = helper.make_tensor_value_info("sums", TensorProto.DOUBLE, [vectors.shape[0]])
    constants = [tensor("vectors", vectors), tensor("features", np.array([1]))]
    return helper.make_graph(nodes, "distances", [row], [sums], constants)


def tensor(name: str, value: NDArray[Any]) -> Any:
    """Return an array as a constant; text has dtype object."""
    if value.dtype == object:
        return helper.make_tensor(name, TensorProto.STRING, value.shape, [text.encode("utf-8") for text in value])
    return numpy_helper.from_array(np.ascontiguousarray(value) if value.ndim else value, name)
