"""Properties of every loss, the registry, and errors for custom losses that violate them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hinge import losses
from hinge.losses import (
    MARGIN_LOSSES,
    RESIDUAL_LOSSES,
    EpsilonInsensitive,
    Huber,
    HuberizedHinge,
    Loss,
    PiecewisePolynomial,
    PolynomialLoss,
    SmoothedHinge,
    as_loss,
    check_loss,
)
from losses.cases import Pinball, TwoSlopes, TwoSlopesWithKink

EVERY = [
    *(cls() for cls in (MARGIN_LOSSES | RESIDUAL_LOSSES).values()),
    HuberizedHinge(1.0, 0.5), SmoothedHinge(0.4), EpsilonInsensitive(0.0), EpsilonInsensitive(1.5), Huber(0.3),
    PolynomialLoss(1.5), PolynomialLoss(3.0), PolynomialLoss(1.1),
    PiecewisePolynomial(3.0, 0.5), PiecewisePolynomial(1.3, 2.0),
]  # fmt: skip
Z = np.concatenate([np.linspace(-5, 5, 2001), [0.1, -0.1, 0.2, 1.0, -1.0, 1e3, -300.0]])

every_loss = pytest.mark.parametrize("loss", EVERY, ids=repr)


@every_loss
def test_fenchel_young_inequality(loss):
    slope = loss.derivative(Z)
    np.testing.assert_allclose(loss.value(Z) + loss.conjugate(slope), Z * slope, rtol=1e-12, atol=1e-12)
    low, high = max(loss.slopes[0], -7.0), min(loss.slopes[1], 7.0)
    s = np.linspace(low, high, 301)
    assert np.all(loss.value(Z) + loss.conjugate(s)[:, None] - np.outer(s, Z) >= -1e-9 * (1 + np.abs(np.outer(s, Z))))
    outside = [e + 0.1 * np.sign(e - (low + high) / 2) for e in loss.slopes if np.isfinite(e)]
    assert np.all(np.isinf(loss.conjugate(outside)))


@every_loss
def test_derivatives_agree_with_differences(loss):
    z, h = np.linspace(-3.017, 3.0, 400), 1e-6
    numeric = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.derivative(z), numeric, rtol=1e-6, atol=1e-6)
    numeric = (loss.derivative(z + h) - loss.derivative(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.second_derivative(z), numeric, rtol=1e-4, atol=1e-5)


@every_loss
def test_conjugate_derivatives_agree_with_differences(loss):
    for piece in loss.pieces:
        low, high = max(piece.low, -3.0), min(piece.high, 3.0)
        s, h = low + (high - low) * np.linspace(0.013, 0.98, 50), 1e-7
        numeric = (loss.conjugate(s + h) - loss.conjugate(s - h)) / (2 * h)
        np.testing.assert_allclose(loss.conjugate_derivative(s), numeric, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(Loss.conjugate_derivative(loss, s), numeric, rtol=1e-6, atol=1e-6)
        numeric = (loss.conjugate_derivative(s + h) - loss.conjugate_derivative(s - h)) / (2 * h)
        np.testing.assert_allclose(loss.conjugate_second_derivative(s), numeric, rtol=1e-5, atol=1e-6)


@every_loss
def test_quadratic_conjugates_have_the_declared_parameters(loss):
    if loss.quadratic_conjugate is None:
        assert not loss.quadratic
        return
    threshold, curvature, bound = loss.quadratic_conjugate
    a = np.linspace(0.0, min(bound, 3.0), 21)
    linear = -threshold if loss.form == "margin" else threshold
    expected = linear * a + curvature * a**2 / 2
    for s in (-a,) if loss.form == "margin" else (-a, a):
        np.testing.assert_allclose(loss.conjugate(s) - loss.conjugate(0.0), expected, atol=1e-14)
    assert loss.slopes[0] == -bound


@every_loss
def test_derivative_at_a_kink_is_the_slope_closest_to_zero(loss):
    for kink in (0.0, 1.0, 0.1, -0.1, 1.5):
        before, at, after = loss.derivative(np.array([kink - 1e-9, kink, kink + 1e-9]))
        if after - before > 1e-3:
            assert at == np.clip(0.0, before, after)


@every_loss
def test_losses_of_hinge_pass_the_checks_of_custom_losses(loss):
    check_loss(loss)
    assert as_loss(loss, loss.form) is loss


def test_epsilon_may_differ_between_samples():
    loss = EpsilonInsensitive(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(loss.value([2.0, 2.0, 2.0]), [2.0, 1.0, 0.0])
    np.testing.assert_array_equal(loss.derivative([0.5, -2.0, 2.0]), [1.0, -1.0, 0.0])


def test_values_at_selected_arguments():
    assert losses.SquaredHinge().value(-1.0) == 4.0
    assert losses.ModifiedHuber().value(-2.0) == 8.0
    assert losses.ModifiedHuber().value(-1.0) == 4.0
    assert losses.Gaussian().value(3.0) == 4.5
    assert losses.Huber(2.0).value(5.0) == 4.0
    assert losses.PiecewisePolynomial(3.0, 2.0).value(5.0) == pytest.approx(5 - 2 * 2 / 3)


def _invalid(**changes):
    return type("Spoiled", (Pinball,), {"__repr__": lambda self: "spoiled", **changes})()


def test_slopes_and_pieces_of_a_custom_loss_are_computed():
    loss = as_loss(Pinball(), "residual")
    assert loss.slopes == (-0.2, 0.8)
    assert [(p.low, p.high) for p in loss.pieces] == [(0.0, 0.8), (-0.2, 0.0)]
    np.testing.assert_allclose(loss.conjugate_derivative([0.5, -0.1]), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": lambda self, z: np.minimum(0.8 * z, -0.2 * z)}, "not convex: value has negative curvature"),
        ({"derivative": lambda self, z: np.where(z > 0, -0.2, 0.8)}, "not convex: derivative decreases"),
        ({"derivative": lambda self, z: np.where(z > 0, 0.7, -0.2)}, "derivative does not match value"),
        ({"conjugate": lambda self, s: 0.1 * s}, "conjugate("),
        ({"conjugate": lambda self, s: np.where((s == 0.8) | (s == -0.2) | (s == 0), 0.0, -0.1)}, "Fenchel"),
        ({"value": lambda self, z: 1.0}, "elementwise"),
        ({"value": lambda self, z: np.where(z > 2, np.nan, 0.0)}, "finite"),
    ],
)  # fmt: skip
def test_the_error_names_what_is_wrong_with_a_custom_loss(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        as_loss(_invalid(**changes), "residual")


def test_a_loss_without_a_minimum_is_an_error():
    class Down:
        def value(self, z):
            return -z

        def derivative(self, z):
            return -np.ones_like(z)

        def conjugate(self, s):
            return np.where(s == -1, 0.0, np.inf)

    with pytest.raises(ValueError, match="no minimum"):
        as_loss(Down(), "residual")


def test_an_undeclared_kink_of_the_conjugate_is_an_error():
    with pytest.raises(ValueError, match=r"kinks = \(1,\)"):
        as_loss(TwoSlopes(), "residual")
    assert [(p.start, p.low, p.high) for p in as_loss(TwoSlopesWithKink(), "residual").pieces] == [(0, 0, 1), (1, 1, 2)]


def test_invalid_arguments_are_errors():
    with pytest.raises(TypeError, match="has no method derivative, conjugate"):
        as_loss(type("Half", (), {"value": abs})(), "residual")
    with pytest.raises(TypeError, match=r"pass an object: Huber\(\.\.\.\)"):
        as_loss(Huber, "residual")
    with pytest.raises(ValueError, match="of the residual, but this estimator needs one of the margin"):
        as_loss(Huber(), "margin")
    bad = (
        lambda: PolynomialLoss(1.0), lambda: Huber(0.0), lambda: EpsilonInsensitive(-1.0), lambda: HuberizedHinge(0),
        lambda: SmoothedHinge(0),
    )  # fmt: skip
    for make in bad:
        with pytest.raises(ValueError):
            make()


def test_the_smoothed_hinge_is_the_loss_of_the_dissertation():
    z = np.linspace(-2, 3, 1001)
    for epsilon in (0.05, 0.3, 1.0):
        middle = (1 + epsilon - z) ** 2 / (4 * epsilon)  # Karasuyama (5.5)
        expected = np.where(z > 1 + epsilon, 0.0, np.where(z < 1 - epsilon, 1 - z, middle))
        np.testing.assert_allclose(SmoothedHinge(epsilon).value(z), expected, atol=1e-14)
        huberized = HuberizedHinge(1 + epsilon, 2 * epsilon)
        np.testing.assert_allclose(huberized.value(z), 2 * epsilon * expected, atol=1e-14)
