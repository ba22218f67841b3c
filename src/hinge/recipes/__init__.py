"""Applications of sample weights: time series, heteroscedastic noise, covariate shift.  Karasuyama ch. 4"""

from hinge.recipes.covariate_shift import CovariateShift, covariate_shift_path
from hinge.recipes.density_ratio import DensityRatio, density_ratio
from hinge.recipes.heteroscedastic import HeteroscedasticSVR
from hinge.recipes.sliding import SlidingSVC, SlidingSVR, recency_weights
from hinge.recipes.tube_widths import NoiseTube, noise_tube

__all__ = [
    "CovariateShift",
    "DensityRatio",
    "HeteroscedasticSVR",
    "NoiseTube",
    "SlidingSVC",
    "SlidingSVR",
    "covariate_shift_path",
    "density_ratio",
    "noise_tube",
    "recency_weights",
]
