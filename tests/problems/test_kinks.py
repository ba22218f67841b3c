"""The minimum of a convex, piecewise linear function, beside one that sorts its kinks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hinge import _core


def by_sorting(places, jumps, slope, flat):
    order = np.argsort(places, kind="stable")
    slopes = slope + np.cumsum(jumps[order])
    reached, beyond = np.flatnonzero(slopes >= -flat), np.flatnonzero(slopes > flat)
    return tuple(places[order][found[0]] if found.size else np.inf for found in (reached, beyond))


@given(
    n=st.sampled_from([0, 1, 2, 7, 239, 240, 241, 1000, 3001]),
    values=st.sampled_from([1, 2, 5, 50, 10**6]),
    share=st.floats(-0.1, 1.1),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=300, deadline=None)
def test_like_sorting(n, values, share, seed):
    rng = np.random.default_rng(seed)
    places = rng.integers(0, values, n) / 8.0  # ties
    jumps = rng.integers(0, 4, n) / 4.0  # sums without rounding, some jumps zero
    slope = -np.round(4 * share * jumps.sum()) / 4
    for flat in (0.0, 0.25, 2.0):
        assert _core.level_stretch(places, jumps, slope, flat) == by_sorting(places, jumps, slope, flat)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.999999, 1.0])
def test_where_sums_round(share):
    rng = np.random.default_rng(0)
    for _ in range(20):
        places, jumps = rng.normal(size=5000), 10.0 ** rng.uniform(-8, 8, 5000)
        slope = -share * jumps.sum()
        flat = 1e-12 * (jumps.sum() + abs(slope))
        left, right = _core.level_stretch(places, jumps, slope, flat)
        assert left <= right
        for place, level in ((left, -flat), (right, flat)):
            upto = slope + jumps[places <= place].sum()
            before = slope + jumps[places < place].sum()
            assert upto >= level - flat
            assert before <= level + flat


def test_a_place_that_is_none():
    for n in (3, 1000):
        places = np.zeros(n)
        places[n // 2] = np.nan
        assert np.isnan(_core.level_stretch(places, np.ones(n), -1.0, 0.0)).all()
