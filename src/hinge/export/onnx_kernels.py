"""Kernel values of the rows of X with the support vectors, as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hinge._core import KernelNode
from hinge.export.description import KernelTerm
from hinge.export.onnx_nodes import Nodes
from hinge.export.spline import bernstein_table

#: γ times the squared distance of a support vector from the mean up to which ‖x‖² + ‖z‖² − 2x·z is accurate enough for
#: exp(−γ‖x − z‖²): the exponent then has a relative error of a few hundred units in the last place. Above, squared
#: distances are computed from differences, which takes longer.
MAX_SPREAD = 64.0


@dataclass
class KernelNodes:
    """The values of a kernel at the rows of X and at the vectors of a term. Inner products and distances are shared."""

    graph: Nodes
    X: str
    term: KernelTerm
    _known: dict[str, str] = field(default_factory=dict)

    def values(self) -> str:
        """Add all nodes of the kernel; return the name of the matrix (n_rows × n_vectors)."""
        stack: list[str] = []
        for node in self.term.nodes:
            if node.name in _COMBINE:
                second = stack.pop()
                stack.append(self.graph.node(_COMBINE[node.name], stack.pop(), second))
            elif node.name == "scale":
                stack.append(self._multiplied(stack.pop(), node.gamma))
            else:
                stack.append(_FORMULAS[node.name](self, node))
        (result,) = stack
        return result

    # ---- inner products and distances ---------------------------------------------------------------------------

    def _base(self, name: str, add: Callable[[], str]) -> str:
        if name not in self._known:
            self._known[name] = add()
        return self._known[name]

    def _dots(self) -> str:
        return self._base("dot", lambda: self.graph.product(self.X, self.term.vectors.T))

    def _absolute(self) -> str:
        return self._base("l1", lambda: self.graph.distances(self.X, self.term.vectors, absolute=True))

    def _squared(self) -> str:
        return self._base("squared", self._from_norms if self._norms_suffice() else self._from_differences)

    def _norms_suffice(self) -> bool:
        centered = self.term.vectors - self.term.vectors.mean(axis=0)
        spread = float(np.max(np.einsum("ij,ij->i", centered, centered), initial=0.0))
        return all(_accurate_from_norms(node, spread) for node in self.term.nodes)

    def _from_differences(self) -> str:
        return self.graph.distances(self.X, self.term.vectors, absolute=False)

    def _from_norms(self) -> str:
        """‖x − z‖² = ‖x‖² + ‖z‖² − 2x·z of samples relative to the mean of the vectors."""
        graph, vectors = self.graph, self.term.vectors
        center = vectors.mean(axis=0)
        centered = vectors - center
        rows = graph.node("Sub", self.X, graph.constant(center))
        of_rows = graph.node(
            "ReduceSum", graph.node("Mul", rows, rows), graph.constant(np.array([1])), keepdims=1
        )
        products = graph.product(rows, -2.0 * centered.T)
        norms = graph.node("Add", of_rows, graph.constant(np.einsum("ij,ij->i", centered, centered)))
        return graph.node("Relu", graph.node("Add", norms, products))  # at least zero

    # ---- formulas -----------------------------------------------------------------------------------------------

    def _multiplied(self, value: str, factor: float) -> str:
        return self.graph.node("Mul", value, self.graph.constant(np.array(factor)))

    def _added(self, value: str, number: float) -> str:
        return self.graph.node("Add", value, self.graph.constant(np.array(number)))

    def _linear(self, node: KernelNode) -> str:
        return self._dots()

    def _polynomial(self, node: KernelNode) -> str:
        base = self._added(self._multiplied(self._dots(), node.gamma), node.coef0)
        return self.graph.node("Pow", base, self.graph.constant(np.array(node.degree)))

    def _sigmoid(self, node: KernelNode) -> str:
        return self.graph.node("Tanh", self._added(self._multiplied(self._dots(), node.gamma), node.coef0))

    def _rbf(self, node: KernelNode) -> str:
        return self.graph.node("Exp", self._multiplied(self._squared(), -node.gamma))

    def _laplacian(self, node: KernelNode) -> str:
        return self.graph.node("Exp", self._multiplied(self._absolute(), -node.gamma))

    def _bspline(self, node: KernelNode) -> str:
        graph, q = self.graph, int(node.degree)
        table = bernstein_table(q)
        t = graph.node("Sqrt", self._multiplied(self._squared(), node.gamma))
        x = graph.node("Relu", self._added(graph.node("Neg", t), 0.5 * (q + 1)))
        floor = graph.node("Floor", x)
        cell = graph.node("Cast", floor, to=7)  # int64
        u = graph.node("Sub", x, floor)
        v = self._added(graph.node("Neg", u), 1.0)
        total = None
        for k in range(q + 1):
            term = graph.node("Gather", graph.constant(np.ascontiguousarray(table[:, k])), cell)
            for base, exponent in ((u, k), (v, q - k)):
                if exponent:
                    power = graph.node("Pow", base, graph.constant(np.array(float(exponent))))
                    term = graph.node("Mul", term, power)
            total = term if total is None else graph.node("Add", total, term)
        assert total is not None
        return total


def _accurate_from_norms(node: KernelNode, spread: float) -> bool:
    """Whether squared distances from norms suffice; B-splines take their square root, which amplifies errors at 0."""
    return node.name != "bspline" and (node.name != "rbf" or node.gamma * spread <= MAX_SPREAD)


_COMBINE = {"sum": "Add", "product": "Mul"}
_FORMULAS: dict[str, Callable[[KernelNodes, KernelNode], str]] = {
    "linear": KernelNodes._linear,
    "polynomial": KernelNodes._polynomial,
    "sigmoid": KernelNodes._sigmoid,
    "rbf": KernelNodes._rbf,
    "laplacian": KernelNodes._laplacian,
    "bspline": KernelNodes._bspline,
}
