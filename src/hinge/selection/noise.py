"""ν for a known noise model.                                    SVR tutorial Remark 10; docs/math (341)"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, stats

#: Noise models by name; those that scipy.stats knows under another name included.
MODELS: dict[str, Any] = {
    "gaussian": stats.norm(),
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "uniform": stats.uniform(-1.0, 2.0),
    "logistic": stats.logistic(),
    "student_t3": stats.t(3),
}


def nu_for_noise(noise: Any) -> float:
    """The ν for which `NuSVR` estimates a location most efficiently, given the density of the noise.

    The ε-insensitive estimator has its tube at the (1 − ν) quantile of the absolute noise. Its asymptotic variance is
    smallest for the ε that minimises P(|ξ| > ε) / p(ε)², p the density (symmetric, of any scale); ν is the share
    of samples outside this tube.

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
    outside = np.linspace(1e-4, 1.0, 2000)
    best = float(outside[np.argmin([_inefficiency(model, nu) for nu in outside])])
    low, high = max(best - 1e-3, 1e-9), min(best + 1e-3, 1.0)
    found = optimize.minimize_scalar(lambda nu: _inefficiency(model, nu), bounds=(low, high), method="bounded")
    candidates = {low: _inefficiency(model, low), high: _inefficiency(model, high), float(found.x): float(found.fun)}
    nu = min(candidates, key=lambda each: candidates[each])
    return 0.0 if nu <= 2e-4 else nu


def _inefficiency(model: Any, nu: float) -> float:
    """P(|ξ| > ε) / (2 p(ε))² with P(|ξ| > ε) = ν."""
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
        return stats.gennorm(p)
    names = ", ".join(map(repr, [*MODELS, "polynomial:p"]))
    raise ValueError(f"noise={noise!r} is unknown; choose one of {names}, or a frozen distribution of scipy.stats")

