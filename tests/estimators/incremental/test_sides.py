"""Updates of `IncrementalSVR` with costs and tubes of single samples that differ above and below the function."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_friedman1, make_regression

import hinge
from hinge import SVR, IncrementalSVR
from hinge.inspection import influence

GAMMA = 0.3


def data_sets():
    """Five data sets; the last two have duplicated and rounded samples."""
    X, y = load_diabetes(return_X_y=True)
    yield pytest.param(20 * X[:48], (y[:48] - y.mean()) / y.std(), id="diabetes")
    X, y = make_friedman1(40, 5, noise=1.0, random_state=0)
    yield pytest.param(X, y / y.std(), id="friedman")
    X, y = make_regression(36, 3, noise=5.0, random_state=1)
    yield pytest.param(X, y / y.std(), id="linear")
    yield pytest.param(np.repeat(X[:14], 3, axis=0), np.repeat(y[:14], 3) / y.std(), id="duplicates")
    yield pytest.param(X.round(), (y / y.std()).round(1), id="rounded")


class Samples:
    """The expected training samples of a model, and the fit that it must agree with."""

    def __init__(self, X, y, C):
        self.X, self.y, self.C = X, y, C
        n = len(y)
        self.weight, self.side, self.tube = np.ones(n), np.ones((n, 2)), np.full((n, 2), 0.1)

    def keep(self, index):
        for name in ("X", "y", "weight", "side", "tube"):
            setattr(self, name, getattr(self, name)[index])

    def fitted(self):
        costs = self.weight[:, None] * self.side * np.array(self.C)
        positive = costs.any(axis=1)
        model = SVR(C=costs[positive], epsilon=self.tube[positive], gamma=GAMMA, tol=1e-11)
        return model.fit(self.X[positive], self.y[positive])

    def check(self, model):
        expected, certificate = self.fitted(), model.certificate_
        assert certificate.relative_gap < 1e-8
        assert certificate.primal == pytest.approx(expected.certificate_.primal, rel=1e-8, abs=1e-9)
        np.testing.assert_allclose(model.predict(self.X), expected.predict(self.X), atol=1e-6)


def sides_and_tubes(n):
    rng = np.random.default_rng(n)
    side, tube = rng.uniform(0.1, 2, (n, 2)), rng.uniform(0, 0.4, (n, 2))
    side[::4, 0], side[1::4, 1], tube[::3] = 0.0, 0.0, 0.0
    return side, tube


@pytest.mark.parametrize(("X", "y"), list(data_sets()))
@pytest.mark.parametrize("C", [2.0, (1.0, 3.0)], ids=["number", "pair"])
def test_updates_agree_with_fits(X, y, C, tmp_path):
    n, half = len(y), len(y) // 2
    samples, (side, tube) = Samples(X, y, C), sides_and_tubes(n)
    model = IncrementalSVR(C=C, gamma=GAMMA).fit(X[:half], y[:half])
    model.partial_fit(X[half:], y[half:], side_weight=side[half:], epsilon=tube[half:])
    samples.side[half:], samples.tube[half:] = side[half:], tube[half:]
    samples.check(model)
    samples.keep(np.setdiff1d(np.arange(n), [0, 3, n - 1]))
    samples.check(model.forget([0, 3, n - 1]))
    m = len(samples.y)
    samples.weight = np.linspace(0.5, 2, m)
    samples.check(model.reweight(samples.weight))
    samples.side, tube = sides_and_tubes(m)
    given = samples.side.copy()
    model.reweight(side_weight=given)
    given[:] = np.nan  # the model has a copy
    samples.check(model)
    samples.tube = tube
    samples.check(model.reweight(epsilon=tube))
    hinge.save(model, tmp_path / "model.hinge")
    model = hinge.load(tmp_path / "model.hinge")
    samples.tube = np.zeros((m, 2))
    samples.check(model.reweight(epsilon=0.0))
    samples.tube = np.full((m, 2), (0.2, 0.05))
    samples.check(model.reweight(epsilon=(0.2, 0.05)))
    with pytest.raises(ValueError, match="C is zero for all targets below"):
        model.reweight(side_weight=[[1.0, 0.0]] * m)
    samples.check(model)
    (left_out,) = model.leave_out([[0]])
    first = samples.X[:1]
    samples.keep(np.arange(1, m))
    np.testing.assert_allclose(left_out, samples.fitted().predict(first), atol=1e-6)


def test_first_fit_with_sides_and_influence():
    X, y = make_friedman1(25, noise=1.0, random_state=3)
    side, tube = sides_and_tubes(25)
    weight = np.arange(25) % 3.0  # samples of weight zero are left out, with their sides
    model = IncrementalSVR(gamma=GAMMA).fit(X, y, weight, side_weight=side, epsilon=tube)
    samples = Samples(X, y, 1.0)
    samples.weight, samples.side, samples.tube = weight, side, tube
    samples.keep(weight > 0)
    samples.check(model)
    batch = samples.fitted().set_params(C=samples.weight[:, None] * samples.side, epsilon=samples.tube)
    batch.fit(samples.X, samples.y)
    np.testing.assert_allclose(influence(model, X[:3]), influence(batch, X[:3], samples.X, samples.y), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side_weight": np.ones(6)}, r"side_weight has shape \(6,\), but X has 6 samples"),
        ({"side_weight": -np.ones((6, 2))}, "side_weight must be zero or positive"),
        ({"side_weight": np.full((6, 2), np.nan)}, "side_weight must be zero or positive, and finite"),
        ({"side_weight": [[0.0, 1.0]] * 6}, "C is zero for all targets above"),
        ({"epsilon": -0.1}, "epsilon=-0.1 must lie in"),
        ({"epsilon": [0.1, 0.2]}, r"epsilon has shape \(2,\), but X has 6 samples"),
    ],
)
def test_invalid_input(options, message):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
    with pytest.raises(ValueError, match=message):
        IncrementalSVR().fit(X, y, **options)
    model = IncrementalSVR().fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.reweight(**options)
    if "C is" not in message:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, **options)
    with pytest.raises(ValueError, match="belongs to new samples, but X is None"):
        model.update(**options)
    assert model.n_samples_ == 6


@pytest.mark.parametrize("estimator", [hinge.LinearSVR, hinge.IncrementalSVR])
def test_arrays_in_the_constructor_are_rejected_with_their_shape(estimator):
    X, y = np.arange(30.0).reshape(10, 3), np.arange(10.0)
    with pytest.raises(TypeError, match=r"epsilon has shape \(10, 2\), but it must be one number, or a tuple"):
        estimator(epsilon=np.ones((10, 2))).fit(X, y)
