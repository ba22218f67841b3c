"""Problems and decision values of one split for all costs: pairs of classes, or one regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hinge.formulations import Formulation
from hinge.problems import Array

Index = NDArray[np.intp]
Formulate = Callable[[Array, Array, float], Formulation]  # labels ±1 or targets, cost of every sample for C = 1, C
Expand = Callable[[Array, Index, Index], Array]  # coefficients (functions × train), train, test → functions × test


@dataclass(frozen=True)
class Part:
    """One problem of a fold: its samples, and its formulation as a function of C."""

    samples: Index
    formulation: Callable[[float], Formulation]


@dataclass(frozen=True)
class PartSolutions:
    """Solutions of a part: coefficients (costs × samples), offsets (costs)."""

    coefficients: Array
    offsets: Array


class Fold(Protocol):
    """Problems of a split, and the decision values that follow from their solutions."""

    @property
    def test(self) -> Index: ...

    def parts(self) -> list[Part]: ...

    def decide(self, solved: list[PartSolutions], expand: Expand, run: Callable[..., Any]) -> Array:
        """Return decision values (problems × costs × test samples); `run` maps a function on several threads."""
        ...


@dataclass(frozen=True)
class PairFold:
    """One-vs-one classification; the first class of a pair is positive."""

    test: Index
    members: list[Index]  # training samples of every class
    cost: Array  # of every sample for C = 1
    formulate: Formulate

    def parts(self) -> list[Part]:
        return [self._part(first, second) for first, second in combinations(self.members, 2)]

    def _part(self, first: Index, second: Index) -> Part:
        samples = np.concatenate([first, second])
        sign = np.repeat([1.0, -1.0], [len(first), len(second)])
        cost = self.cost[samples]
        return Part(samples, lambda C: self.formulate(sign, cost, C))

    def decide(self, solved: list[PartSolutions], expand: Expand, run: Callable[..., Any]) -> Array:
        """Return decision values. The kernel values of a class are used once, for all pairs and costs together."""
        costs, classes = len(solved[0].offsets), len(self.members)
        pairs = list(combinations(range(classes), 2))

        def of_class(a: int) -> Array:
            size, rows = len(self.members[a]), []
            for (first, second), pair in zip(pairs, solved, strict=True):
                if a in (first, second):
                    rows.append(pair.coefficients[:, :size] if a == first else pair.coefficients[:, -size:])
            return expand(np.concatenate(rows), self.members[a], self.test).reshape(classes - 1, costs, -1)

        parts = list(run(of_class, range(classes)))
        values = np.empty((len(pairs), costs, len(self.test)))
        for k, ((first, second), pair) in enumerate(zip(pairs, solved, strict=True)):
            np.add(parts[first][second - 1], parts[second][first], out=values[k])
            values[k] += pair.offsets[:, None]
        return values


@dataclass(frozen=True)
class RegressionFold:
    """Regression."""

    test: Index
    train: Index
    y: Array
    cost: Array
    formulate: Formulate

    def parts(self) -> list[Part]:
        y, cost = self.y[self.train], self.cost[self.train]
        return [Part(self.train, lambda C: self.formulate(y, cost, C))]

    def decide(self, solved: list[PartSolutions], expand: Expand, run: Callable[..., Any]) -> Array:
        values = np.asarray(expand(solved[0].coefficients, self.train, self.test), dtype=np.float64)
        return (values + solved[0].offsets[:, None])[None]


def votes(values: Array, n_classes: int) -> NDArray[np.intp]:
    """Return the class with most votes, the first one in case of a tie.

    Positive values (pairs × ...) vote for the first class of a pair.
    """
    if n_classes == 2:
        return (values[0] < 0).astype(np.intp)
    count = np.zeros((n_classes, *values.shape[1:]), dtype=np.int16)
    for k, (first, second) in enumerate(combinations(range(n_classes), 2)):
        won = values[k] > 0
        count[first] += won
        count[second] += ~won
    return np.argmax(count, axis=0)
