"""Sums over samples that the passes return. The sum over two sets of samples is the sum of their fields."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hinge import _core
from hinge.problems import Array


class AddedFields:
    """Mixin of dataclasses that are merged by adding their fields; None remains None."""

    def merge(self, other: Self) -> Self:
        """Return the sum over the samples of both."""
        values = {}
        for each in fields(self):  # type: ignore[arg-type]
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            values[each.name] = None if mine is None else mine + theirs
        return type(self)(**values)


@dataclass(frozen=True)
class NewtonSums(AddedFields):
    """Value, derivative and curvature of the losses at (w, b).                                      docs/math (111)

    The dual point β is that of (102), or (651) for smoothed losses. Pairs contain the sums over β > 0 and over β < 0.

    Attributes
    ----------
    exact, smooth : float
        Sums of the losses, and of the smoothed losses.
    total, linear, squares : ndarray of shape (2,)
        Σβ, Σ(target β − tube |β|) and Σ ½ ridge β².
    combined : ndarray of shape (2, d)
        Σ β x.
    near : ndarray of shape (2,)
        Number of samples that are free, and of samples within the width of smoothing of a kink.
    border, corner : ndarray of shape (d,), float
        X_Fᵀ S 1 and 1ᵀ S 1.
    diagonal : ndarray of shape (d,)
        The diagonal of X_Fᵀ S X_F.
    hessian : ndarray of shape (d, d) or None
        X_Fᵀ S X_F.
    """

    exact: float
    smooth: float
    total: Array
    linear: Array
    squares: Array
    combined: Array
    near: Array
    border: Array
    corner: float
    diagonal: Array
    hessian: Array | None


@dataclass(frozen=True)
class Slopes(AddedFields):
    """Derivatives of the losses along a direction, at several step lengths.                         docs/math (114)"""

    slope: Array


@dataclass(frozen=True)
class HessianProduct(AddedFields):
    """X_Fᵀ S X_F v, a term of (113)."""

    product: Array


@dataclass(frozen=True)
class Band:
    """Samples near a kink, or across it, with their data and their dual variables.                  docs/math (125)

    Attributes
    ----------
    partition, row : ndarray of int
        Position of the samples.
    X : ndarray or csr_matrix
    target, lower, upper : ndarray
    beta : ndarray
        The dual variable that belongs to the side of the kink on which the sample was.
    """

    partition: NDArray[np.int64]
    row: NDArray[np.int64]
    X: Any
    target: Array
    lower: Array
    upper: Array
    beta: Array

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.row)

    def merge(self, other: Band) -> Band:
        """Return the samples of both."""
        parts: Any = [self.X, other.X]
        values = {"X": sp.vstack(parts).tocsr() if sp.issparse(self.X) else np.vstack(parts)}
        for name in ("partition", "row", "target", "lower", "upper", "beta"):
            values[name] = np.concatenate([getattr(self, name), getattr(other, name)])
        return Band(**values)

    def in_partition(self, index: int) -> NDArray[np.intp]:
        """Positions of the samples of one partition."""
        return np.flatnonzero(self.partition == index)


@dataclass(frozen=True)
class NearSamples:
    """The samples of a band, and the sums Σ β x and Σ β over all other samples."""

    band: Band
    combined: Array
    total: float

    def merge(self, other: NearSamples) -> NearSamples:
        """Return the samples and sums of both."""
        return NearSamples(self.band.merge(other.band), self.combined + other.combined, self.total + other.total)


@dataclass(frozen=True)
class CertificateSums:
    """The sums from which the bounds are computed, rounding errors included.                        docs/math (654)

    `tube` and `bounds_error` are those of the problem. `above` and `below` bound the influence of the errors of rounded
    targets on the upper and the lower bound.
    """

    part: _core.LinearPart
    tube: float
    bounds_error: float
    above: float
    below: float

    def merge(self, other: CertificateSums) -> CertificateSums:
        """Return the sums over the samples of both. Results of tasks must not change, hence the copy."""
        part = copy.copy(self.part)
        part.merge(other.part)
        return replace(self, part=part, above=self.above + other.above, below=self.below + other.below)


@dataclass(frozen=True)
class Verification:
    """Sums of a certificate, and the samples outside a band that have crossed a kink; at most `limit` of them."""

    certificate: CertificateSums
    crossed: Band
    violation: Array
    limit: int

    def merge(self, other: Verification) -> Verification:
        """Return the sums of both, and the samples with the largest violations."""
        crossed, violation = self.crossed.merge(other.crossed), np.concatenate([self.violation, other.violation])
        kept = np.sort(np.argsort(-violation, kind="stable")[: self.limit])
        return Verification(
            self.certificate.merge(other.certificate), select(crossed, kept), violation[kept], self.limit
        )


def select(band: Band, index: NDArray[Any]) -> Band:
    """Return some of the samples of a band."""
    return Band(**{each.name: getattr(band, each.name)[index] for each in fields(band)})
