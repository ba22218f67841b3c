"""The multiplier with the smallest gap, compared with a search over all kinks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge import _core


def gap(mu, row, alpha, gradient, lower, upper):
    """Return Σ max over x in the box of r (α − x) for every μ; infinite if r points to an infinite bound."""
    r = gradient + np.atleast_1d(mu)[:, None] * row
    towards = np.where(r > 0, lower, upper)
    with np.errstate(invalid="ignore"):
        shares = np.where(r == 0, 0.0, r * (alpha - towards))
    return shares.sum(axis=1)


def level_stretch(row, alpha, gradient, lower, upper):
    """Return the outermost kinks with the smallest gap."""
    places = np.unique(-gradient[row != 0] / row[row != 0])
    values = gap(places, row, alpha, gradient, lower, upper)
    lowest = places[values <= values.min()]
    return lowest[0], lowest[-1]


def draw(seed, n, values, open_share):
    """Return a random row, point, gradient and box of small fractions: sums are exact, and ties are frequent."""
    rng = np.random.default_rng(seed)
    row = rng.choice([-2.0, -1.0, 0.0, 1.0], n)
    lower, upper = -rng.integers(0, 4, n) / 4.0, rng.integers(0, 4, n) / 4.0
    alpha = np.round(4 * rng.uniform(lower, upper)) / 4
    gradient = rng.integers(-values, values + 1, n) / 8.0
    lower[rng.random(n) < open_share] = -np.inf
    upper[rng.random(n) < open_share] = np.inf
    return row, alpha, gradient, lower, upper


@given(
    n=st.sampled_from([1, 2, 7, 60, 300]),
    values=st.sampled_from([0, 1, 5, 50, 10**6]),
    open_share=st.sampled_from([0.0, 0.0, 0.02, 0.5]),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=300, deadline=None)
def test_no_kink_is_better(n, values, open_share, seed):
    case = draw(seed, n, values, open_share)
    row, gradient = case[0], case[2]
    mu = _core.best_multiplier(*case)
    assert np.isfinite(mu)
    if not row.any():
        assert mu == 0.0
        return
    left, right = level_stretch(*case)
    least = gap(left, *case)[0]
    if np.isinf(least):
        return  # for every multiplier a gradient points to an infinite bound
    assert gap(mu, *case)[0] == pytest.approx(least, abs=1e-12 * (1 + np.abs(gradient).sum()))
    if (gap([left - 1.0, right + 1.0], *case) > least).all():
        assert left <= mu <= right
        if gap(0.5 * (left + right), *case)[0] == least:
            assert mu == 0.5 * (left + right)  # the middle of the interval


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.999999, 1.0])
def test_no_kink_is_better_with_rounding_errors(share):
    rng = np.random.default_rng(0)
    for _ in range(10):
        n = 800
        upper = 10.0 ** rng.uniform(-8, 8, n)
        case = (np.ones(n), (1 - share) * upper, rng.normal(size=n), np.zeros(n), upper)
        mu, (left, _) = _core.best_multiplier(*case), level_stretch(*case)
        assert gap(mu, *case)[0] <= gap(left, *case)[0] + 1e-11 * upper.sum()
        assert -10 < mu < 10


def test_gradients_do_not_point_to_infinite_bounds():
    free = np.array([np.inf, np.inf])
    row, alpha = np.ones(2), np.zeros(2)
    assert _core.best_multiplier(row, alpha, np.array([-1.0, -3.0]), np.zeros(2), free) == 3.0  # both r ≥ 0
    assert _core.best_multiplier(row, alpha, np.array([-1.0, -3.0]), -free, np.zeros(2)) == 1.0  # both r ≤ 0
    assert _core.best_multiplier(row, alpha, np.array([-1.0, -3.0]), -free, free) == 2.0  # infeasible: the middle


def test_nan_in_the_gradient_gives_zero():
    for n in (3, 1000):
        gradient = np.zeros(n)
        gradient[n // 2] = np.nan
        assert _core.best_multiplier(np.ones(n), np.ones(n) / 2, gradient, np.zeros(n), np.ones(n)) == 0.0


def test_nan_in_the_gradient_with_an_infinite_bound():
    open_above = np.array([np.inf, 1.0])
    assert _core.best_multiplier(np.ones(2), np.zeros(2), np.array([np.nan, -3.0]), np.zeros(2), open_above) == 0.0


def test_different_lengths_are_rejected():
    with pytest.raises(ValueError, match="must have the same length"):
        _core.best_multiplier(np.ones(3), np.ones(3), np.ones(2), np.zeros(3), np.ones(3))
