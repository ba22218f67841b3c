"""Optimal ν and ε for a known noise model.                            SVR tutorial Remark 10; docs/math (341)"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import integrate, optimize, stats

#: Noise models by name.
MODELS: dict[str, Any] = {
    "gaussian": stats.norm(),
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "uniform": stats.uniform(-1.0, 2.0),
    "logistic": stats.logistic(),
    "student_t3": stats.t(3),
}

#: The minimizer ν is computed up to this error; a smaller one is below the rounding errors of the variance.
NU_TOL = 1e-9

#: The minimization starts from the best of GRID_SIZE values between SMALLEST_NU and 1. A minimizer of at most twice
#: SMALLEST_NU is returned as 0.
SMALLEST_NU, GRID_SIZE = 1e-4, 2000


def nu_for_noise(noise: Any) -> float:
    """Return the ν for which `NuSVR` estimates a location most efficiently, given the density of the noise.

    Half the width ε of the tube is the (1 − ν) quantile of the absolute noise. The asymptotic variance of the estimate
    is smallest for the ε that minimizes P(|ξ| > ε) / p(ε)², where p is the density (symmetric, of any scale). ν is the
    fraction of samples outside this tube.

    Parameters
    ----------
    noise : str or scipy.stats distribution
        "gaussian" (ν = 0.54), "laplace" (ν = 1), "uniform" (ν = 0), "logistic", "student_t3", "polynomial:p" for a
        density proportional to exp(−|ξ|ᵖ/p), or a frozen symmetric distribution of `scipy.stats`.

    Returns
    -------
    float
        Between 0 and 1; `NuSVR` needs a value above 0.

    Examples
    --------
    >>> round(nu_for_noise("gaussian"), 2)
    0.54
    """
    model = _model(noise)
    median = float(model.median())
    if abs(median) > 1e-8 * float(model.std() if np.isfinite(model.std()) else 1.0):
        raise ValueError(f"noise={noise!r} must be symmetric around zero, but its median is {median:g}")
    values = np.linspace(SMALLEST_NU, 1.0, GRID_SIZE)
    best = float(values[np.argmin([_inefficiency(model, nu) for nu in values])])
    low, high = max(best - 1e-3, 1e-9), min(best + 1e-3, 1.0)
    minimum = optimize.minimize_scalar(
        lambda nu: _inefficiency(model, nu), bounds=(low, high), method="bounded", options={"xatol": NU_TOL}
    )
    candidates = {nu: _inefficiency(model, nu) for nu in (low, high)} | {float(minimum.x): float(minimum.fun)}
    nu = min(candidates, key=lambda nu: candidates[nu])
    return 0.0 if nu <= 2 * SMALLEST_NU else nu


def epsilon_for_noise(noise: Any, scale: float = 1.0) -> float:
    """Return the ε for which `SVR` estimates a location most efficiently, given the density of the noise.

    It minimizes the same asymptotic variance as `nu_for_noise`; the fraction ν of the noise is outside the tube.

    Parameters
    ----------
    noise : str or scipy.stats distribution
        As in `nu_for_noise`. The names have a standard scale: variance 1 for "gaussian", density ½ exp(−|ξ|) for
        "laplace", the interval [−1, 1] for "uniform".
    scale : float
        Factor by which the noise is larger than the given distribution.

    Examples
    --------
    >>> round(epsilon_for_noise("gaussian", scale=2.0), 3)
    1.224
    """
    if not (isinstance(scale, Real) and np.isfinite(scale) and scale > 0):
        raise ValueError(f"scale={scale!r} must be a positive number")
    return float(scale) * float(_model(noise).ppf(1.0 - 0.5 * nu_for_noise(noise)))


def mean_log_size(noise: Any) -> float:
    """Return the mean of log|ξ|, by which the mean of log|s ξ| differs from log s."""
    model = _model(noise)
    return float(integrate.quad(lambda u: np.log(model.ppf(0.5 + 0.5 * u)), 0.0, 1.0, epsabs=1e-10, limit=200)[0])


def _inefficiency(model: Any, nu: float) -> float:
    """Return P(|ξ| > ε) / (2 p(ε))² with P(|ξ| > ε) = ν."""
    epsilon = model.ppf(1.0 - 0.5 * nu)
    density = float(model.pdf(epsilon))
    return np.inf if density <= 0 or not np.isfinite(density) else nu / (4.0 * density**2)


def _model(noise: Any) -> Any:
    if not isinstance(noise, str):
        if all(hasattr(noise, name) for name in ("pdf", "ppf", "median")):
            return noise
        raise TypeError(f"noise={noise!r} must be a name or a frozen distribution such as scipy.stats.norm()")
    if noise in MODELS:
        return MODELS[noise]
    name, _, power = noise.partition(":")
    if name == "polynomial" and power:
        p = float(power)
        if not p >= 1:
            raise ValueError(f"noise={noise!r}: the power must be at least 1")
        return stats.gennorm(p, scale=p ** (1 / p))  # the density of gennorm(p) is proportional to exp(−|ξ|ᵖ)
    names = ", ".join(map(repr, [*MODELS, "polynomial:p"]))
    raise ValueError(f"noise={noise!r} is unknown; choose one of {names}, or a frozen distribution of scipy.stats")

