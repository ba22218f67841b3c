"""Whether a loss is convex and its derivative and conjugate belong to it, by numbers.        docs/math (305)"""

from __future__ import annotations

import numpy as np

from hinge.losses.loss import Array, Loss

#: Arguments at which a loss is looked at.
ARGUMENTS = np.unique(
    np.concatenate([np.linspace(-4.0, 4.0, 81), *(s * np.geomspace(1e-3, 60.0, 40) for s in (1.0, -1.0))])
)

#: Errors up to this fraction of the numbers compared are rounding.
ROUNDING = 1e-6


def check_loss(loss: Loss) -> None:
    """Raise a ValueError that names what is wrong with `loss`, if anything is."""
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
            f"{name}: its slopes lie between {low:g} and {high:g}, so it falls without end and there is no minimum; a "
            "loss needs a slope of zero, at least in the limit"
        )


def _evaluate(loss: Loss, what: str, at: Array, name: str) -> Array:
    found = np.asarray(getattr(loss, what)(at), dtype=np.float64)
    if found.shape != at.shape:
        raise ValueError(
            f"{name}: {what} of an array of shape {at.shape} has shape {found.shape}; losses work elementwise on arrays"
        )
    return found


def _check_convex(value: Array, slope: Array, z: Array, name: str) -> None:
    step = np.diff(z)
    chord = np.diff(value) / step
    scale = 1.0 + np.abs(chord[1:]) + np.abs(chord[:-1])
    rounding = 1e-12 * (1 + np.abs(value[:-2])) / np.minimum(step[1:], step[:-1])
    dents = chord[1:] - chord[:-1] < -ROUNDING * scale - rounding
    if dents.any():
        at = z[1:-1][dents][0]
        raise ValueError(f"{name} is not convex: value bends downwards at {at:.4g}")
    falls = np.diff(slope) < -ROUNDING * (1 + np.abs(slope[1:]) + np.abs(slope[:-1]))
    if falls.any():
        raise ValueError(f"{name} is not convex: derivative falls after {z[:-1][falls][0]:.4g}")
    slack = ROUNDING * (1 + np.abs(chord)) + 1e-12 * (1 + np.abs(value[:-1])) / step
    outside = (chord < slope[:-1] - slack) | (chord > slope[1:] + slack)
    if outside.any():
        k = np.flatnonzero(outside)[0]
        raise ValueError(
            f"{name}: derivative is not that of value: between {z[k]:.4g} and {z[k + 1]:.4g} value rises at "
            f"{chord[k]:.6g}, derivative goes from {slope[k]:.6g} to {slope[k + 1]:.6g}"
        )


def _check_conjugate(loss: Loss, value: Array, slope: Array, z: Array, name: str) -> None:
    """φ*(φ'(z)) = z φ'(z) − φ(z), and φ(z) + φ*(s) ≥ s z for all others."""
    conjugate = _evaluate(loss, "conjugate", slope, name)
    wanted = z * slope - value
    scale = 1.0 + np.abs(z * slope) + np.abs(value)
    wrong = ~(np.abs(conjugate - wanted) <= ROUNDING * scale)
    if wrong.any():
        k = np.flatnonzero(wrong)[0]
        raise ValueError(
            f"{name}: conjugate({slope[k]:.6g}) = {conjugate[k]:.6g}, but the maximum of s z - value(z) for it, "
            f"which is at z = {z[k]:.4g}, is {wanted[k]:.6g}"
        )
    low, high = loss.slopes
    ends = [e for e in (low, high) if np.isfinite(e)]
    between = np.concatenate([slope, 0.5 * (slope[1:] + slope[:-1]), ends])
    between = between[(between >= low) & (between <= high)]
    least = _evaluate(loss, "conjugate", between, name)
    products = np.outer(between, z)
    short = least[:, None] + value - products < -ROUNDING * (1 + np.abs(value) + np.abs(products))
    if short.any():
        k, j = np.argwhere(short)[0]
        raise ValueError(
            f"{name}: value({z[j]:.4g}) + conjugate({between[k]:.6g}) is below their product, which no conjugate "
            "allows (Fenchel and Young); give conjugate(s) = max over z of s z - value(z)"
        )


def _check_kinks(loss: Loss, slope: Array, z: Array, name: str) -> None:
    """A loss that is a line between two others has a conjugate with a kink, and must say where."""
    low, high = loss.slopes
    known = np.array([0.0, low, high, *loss.kinks])
    line = (slope[2:] == slope[:-2]) & (slope[2:] != slope[-1]) & (slope[2:] != slope[0])
    told = np.any(np.isclose(slope[2:][:, None], known, rtol=1e-9, atol=1e-12), axis=1)
    if np.any(line & ~told):
        k = np.flatnonzero(line & ~told)[0]
        raise ValueError(
            f"{name} is a line of slope {slope[k]:.6g} from {z[k]:.4g} on, so its conjugate has a kink there; name "
            f"such slopes in an attribute: kinks = ({slope[k]:.6g},)"
        )
