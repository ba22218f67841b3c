"""Noise of a regression as a Laplace distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

MAX_DEVIATIONS = 5.0  # residuals beyond this many standard deviations are left out as outliers


def laplace_scale(residuals: ArrayLike) -> float:
    """Return σ of the density e^(−|z|/σ) / (2σ): the mean absolute residual without outliers.

    The residuals should be those of samples that were not used for training. [Lin and Weng, Simple probabilistic
    predictions for support vector regression, 2004]

    Examples
    --------
    >>> from hinge.calibration import laplace_scale
    >>> laplace_scale([1.0, -1.0, 2.0, -2.0])
    1.5
    """
    z = np.abs(np.asarray(residuals, dtype=np.float64))
    scale = float(z.mean())
    kept = z[z <= MAX_DEVIATIONS * np.sqrt(2.0) * scale]  # √2 σ is the standard deviation
    return float(kept.mean())
