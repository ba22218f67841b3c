"""Description of a fitted prediction function, from which other programs are generated.

    x  →  scaling  →  f(x) = Σ terms + intercept  →  decision values  →  probabilities, label

The description holds arrays and names only. It does not refer to the estimator or to objects of scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hinge._core import KernelNode
from hinge.kernels.algebra import Array


@dataclass(frozen=True)
class Scaling:
    """One operation on every feature: x ← x op operand, elementwise, in this order of the operands.

    "minimum" and "maximum" limit the feature to at most or at least the operand.
    """

    operation: Literal["add", "subtract", "multiply", "divide", "minimum", "maximum"]
    operand: Array


@dataclass(frozen=True)
class KernelTerm:
    """Σᵢ coefficients[i] k(vectors[i], x), one column of `coefficients` per function.

    `nodes` is the kernel as a postfix program: see `hinge.kernels.Kernel.nodes`.
    """

    nodes: tuple[KernelNode, ...]
    vectors: Array
    coefficients: Array


@dataclass(frozen=True)
class LinearTerm:
    """⟨weights[f], x⟩, one row of `weights` per function."""

    weights: Array


@dataclass(frozen=True)
class QuadraticTerm:
    """Σ weights[f, k] xᵢxⱼ over all pairs i ≤ j of features, in the order of ``numpy.triu_indices``."""

    weights: Array


Term: TypeAlias = KernelTerm | LinearTerm | QuadraticTerm


class Output(Enum):
    """What the functions mean."""

    #: One function: the prediction of a regression or ranking estimator.
    VALUE = "value"
    #: One function: the label is +1 if it is at least zero, −1 otherwise.
    INLIER = "inlier"
    #: One function: the label is ``classes[1]`` if it is positive, ``classes[0]`` otherwise.
    SIGN = "sign"
    #: One function per class: the label is the class with the largest.
    LARGEST = "largest"
    #: One function per pair of classes, positive for the first of the pair: the label is the class with most votes.
    PAIRS = "pairs"


@dataclass(frozen=True)
class Calibration:
    """Probabilities of the classes, from the decision values v.

    "sigmoid": 1 / (1 + exp(slope·v + offset)), one value per column of v. With one column this is the probability of
    ``classes[1]``; with more, the values are divided by their sum (equal probabilities if the sum is zero).
    "softmax": exp(slope·v) divided by their sum; one column v stands for the two columns (−v, v).

    The label is the class with the largest probability.
    """

    link: Literal["sigmoid", "softmax"]
    slope: Array
    offset: Array


@dataclass(frozen=True)
class OwnCalibration:
    """Probabilities of an estimator with ``probability=True``, from its functions f and the predicted class.

    "pair": P(first class) = 1 / (1 + exp(−slope f + offset)) of two classes, where f > 0 means the second class. The
    probability of the predicted class is at least ½ (docs/math (740)).
    "pairs": 1 / (1 + exp(slope f + offset)) for the first class of every pair, coupled.
    "sigmoids": 1 / (1 + exp(slope f + offset)) for every class, divided by their sum.
    "softmax": exp(slope f + offset), divided by their sum.
    "ranks": of a one-class estimator, from the number of `scores` that are at most f (docs/math (742)).

    Except for "pair" and "ranks", the values are projected such that the predicted class has the largest probability
    (docs/math (741)).
    """

    kind: Literal["pair", "pairs", "sigmoids", "softmax", "ranks"]
    slope: Array
    offset: Array
    scores: Array


@dataclass(frozen=True)
class Prediction:
    """A fitted prediction function.

    Attributes
    ----------
    n_features : int
    scaling : tuple of Scaling
        Applied in this order before the functions are evaluated.
    terms : tuple of KernelTerm, LinearTerm or QuadraticTerm
    intercept : ndarray
        One value per function.
    output : Output
    classes : ndarray, optional
        Labels of a classifier.
    zero_below : float
        Function values of at most this size are set to zero.
    by_class : bool
        For `Output.PAIRS`: whether the decision values are votes plus confidence, one per class, or the functions.
    break_ties : bool
        For `Output.PAIRS`: whether the label is the class with the largest votes plus confidence.
    calibration : Calibration, optional
    own_calibration : OwnCalibration, optional
    """

    n_features: int
    scaling: tuple[Scaling, ...]
    terms: tuple[Term, ...]
    intercept: Array
    output: Output
    classes: NDArray | None = None
    zero_below: float = 0.0
    by_class: bool = True
    break_ties: bool = False
    calibration: Calibration | None = None
    own_calibration: OwnCalibration | None = None

    @property
    def n_functions(self) -> int:
        return len(self.intercept)

    @property
    def n_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

    @property
    def n_values(self) -> int:
        """Number of decision values per sample."""
        return self.n_classes if self.output is Output.PAIRS and self.by_class else self.n_functions

    def pair_signs(self) -> Array:
        """+1 for the first class of a pair, −1 for the second, 0 elsewhere: (n_pairs × n_classes)."""
        signs = np.zeros((self.n_functions, self.n_classes))
        for pair, (first, second) in enumerate(combinations(range(self.n_classes), 2)):
            signs[pair, first], signs[pair, second] = 1.0, -1.0
        return signs
