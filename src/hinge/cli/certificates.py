"""Certificates as one sentence and as JSON."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from hinge.problems import Certificate


def sentence(certificate: Certificate) -> str:
    """Return the meaning of a certificate in one sentence."""
    if certificate.convex is False:
        return "the kernel is not positive semidefinite; the gap is not a proof of optimality"
    if not math.isfinite(certificate.gap):
        return f"the optimum is at least {certificate.dual:.6g}; no upper bound was computed"
    text = (
        f"the objective value {certificate.primal:.6g} exceeds the optimum by at most {certificate.gap:.2g} (relative "
        f"gap {certificate.relative_gap:.1e})"
    )
    return text if certificate.convex else text + " if the kernel matrix is positive semidefinite"


def as_dict(certificate: Certificate) -> dict[str, Any]:
    """Return the numbers of a certificate."""
    return {f.name: getattr(certificate, f.name) for f in fields(certificate) if f.name != "mu"}
