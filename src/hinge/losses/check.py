"""Numerical checks that a loss is convex and that its derivative and conjugate match it.      docs/math (305)"""

from __future__ import annotations

import numpy as np

from hinge.losses.loss import Array, Loss

#: Arguments at which a loss is evaluated.
ARGUMENTS = np.sort(
    np.concatenate([np.linspace(-4.0, 4.0, 81), *(s * np.geomspace(1e-3, 60.0, 40) for s in (1.0, -1.0))])
)

#: Differences up to this fraction of the numbers compared are taken for rounding errors.
ROUNDING = 1e-6


def check_loss(loss: Loss) -> None:
    """Raise a ValueError that names the first inconsistency of `loss`, if there is one.

    Examples
    --------
    >>> from hinge.losses import Huber, check_loss
    >>> check_loss(Huber(sigma=2.0))
    """
    name = f"loss={loss!r}"
    z = ARGUMENTS
    value, slope = (_evaluate(loss, what, z, name) for what in ("value", "derivative"))
    for what, numbers in (("value", value), ("derivative", slope)):
        bad = ~np.isfinite(numbers)
        if bad.any():
            raise ValueError(f"{name}: {what}({z[bad][0]:g}) = {numbers[bad][0]}, but it must be finite everywhere")
    _check_convex(value, slope, z, name)
    _check_conjugate(loss, value, slope, z, name)
    _check_kinks(loss, slope, z, name)
    low, high = loss.slopes
    if not low <= 0 <= high:
        raise ValueError(
            f"{name}: its slopes lie between {low:g} and {high:g}, so it is unbounded below and has no minimum; "
            "the slopes of a loss must include zero, at least in the limit"
        )


def _evaluate(loss: Loss, method: str, at: Array, name: str) -> Array:
    values = np.asarray(getattr(loss, method)(at), dtype=np.float64)
    if values.shape != at.shape:
        raise ValueError(
            f"{name}: {method} of an array of shape {at.shape} has shape {values.shape}; losses must work elementwise"
        )
    return values


def _check_convex(value: Array, slope: Array, z: Array, name: str) -> None:
    step = np.diff(z)
    chord = np.diff(value) / step
    scale = 1.0 + np.abs(chord[1:]) + np.abs(chord[:-1])
    rounding = 1e-12 * (1 + np.abs(value[:-2])) / np.minimum(step[1:], step[:-1])
    negative = chord[1:] - chord[:-1] < -ROUNDING * scale - rounding
    if negative.any():
        at = z[1:-1][negative][0]
        raise ValueError(f"{name} is not convex: value has negative curvature at {at:.4g}")
    decreasing = np.diff(slope) < -ROUNDING * (1 + np.abs(slope[1:]) + np.abs(slope[:-1]))
    if decreasing.any():
        raise ValueError(f"{name} is not convex: derivative decreases after {z[:-1][decreasing][0]:.4g}")
    slack = ROUNDING * (1 + np.abs(chord)) + 1e-12 * (1 + np.abs(value[:-1])) / step
    outside = (chord < slope[:-1] - slack) | (chord > slope[1:] + slack)
    if outside.any():
        k = np.flatnonzero(outside)[0]
        raise ValueError(
            f"{name}: derivative does not match value: between {z[k]:.4g} and {z[k + 1]:.4g} the slope of value is "
            f"{chord[k]:.6g}, and derivative goes from {slope[k]:.6g} to {slope[k + 1]:.6g}"
        )


def _check_conjugate(loss: Loss, value: Array, slope: Array, z: Array, name: str) -> None:
    """Check that φ*(φ'(z)) = z φ'(z) − φ(z), and that φ(z) + φ*(s) ≥ s z for all other s."""
    conjugate = _evaluate(loss, "conjugate", slope, name)
    expected = z * slope - value
    scale = 1.0 + np.abs(z * slope) + np.abs(value)
    wrong = ~(np.abs(conjugate - expected) <= ROUNDING * scale)
    if wrong.any():
        k = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"{name}: conjugate({slope[k]:.6g}) = {conjugate[k]:.6g}, but the maximum of s z - value(z) at this s, "
            f"taken at z = {z[k]:.4g}, is {expected[k]:.6g}"
        )
    low, high = loss.slopes
    ends = [e for e in (low, high) if np.isfinite(e)]
    between = np.concatenate([slope, 0.5 * (slope[1:] + slope[:-1]), ends])
    between = between[(between >= low) & (between <= high)]
    conjugates = _evaluate(loss, "conjugate", between, name)
    products = np.outer(between, z)
    below = conjugates[:, None] + value - products < -ROUNDING * (1 + np.abs(value) + np.abs(products))
    if below.any():
        k, j = np.argwhere(below)[0]
        raise ValueError(
            f"{name}: value({z[j]:.4g}) + conjugate({between[k]:.6g}) is below their product, which contradicts "
            "the Fenchel–Young inequality; conjugate(s) must be the maximum over z of s z - value(z)"
        )


def _check_kinks(loss: Loss, slope: Array, z: Array, name: str) -> None:
    """Check that the slopes of linear pieces between curved ones, where the conjugate has kinks, are declared."""
    low, high = loss.slopes
    known = np.array([0.0, low, high, *loss.kinks])
    line = (slope[2:] == slope[:-2]) & (slope[2:] != slope[-1]) & (slope[2:] != slope[0])
    declared = np.any(np.isclose(slope[2:][:, None], known, rtol=1e-9, atol=1e-12), axis=1)
    if np.any(line & ~declared):
        k = np.flatnonzero(line & ~declared)[0]
        raise ValueError(
            f"{name} is linear with slope {slope[k]:.6g} from {z[k]:.4g} on, so its conjugate has a kink there; "
            f"declare such slopes in an attribute: kinks = ({slope[k]:.6g},)"
        )
