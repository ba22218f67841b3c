"""Custom losses, defined by their values, derivatives and conjugates only."""

import numpy as np


class Pinball:
    """Pinball loss of the 80 % quantile: 0.8 r above zero and −0.2 r below."""

    def value(self, z):
        return np.maximum(0.8 * z, -0.2 * z)

    def derivative(self, z):
        return np.where(z > 0, 0.8, np.where(z < 0, -0.2, 0.0))

    def conjugate(self, s):
        return np.where((s >= -0.2) & (s <= 0.8), 0.0, np.inf)


class TwoSlopes:
    """0 below 0, slope 1 up to 1, slope 2 above. The conjugate has a kink at 1, which is not declared."""

    def value(self, z):
        return np.maximum(0, z) + np.maximum(0, z - 1)

    def derivative(self, z):
        return 1.0 * (z > 0) + (z > 1)

    def conjugate(self, s):
        return np.where((s < 0) | (s > 2), np.inf, np.maximum(0, s - 1))


class TwoSlopesWithKink(TwoSlopes):
    """The same loss with its declaration."""

    kinks = (1.0,)
