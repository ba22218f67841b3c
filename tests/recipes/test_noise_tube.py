"""`noise_tube` estimates the scale of noise that is known; Karasuyama ch. 6."""

import numpy as np
import pytest
from scipy import stats

from hinge import SVC, SVR
from hinge.recipes import noise_tube
from hinge.selection import epsilon_for_noise


def heteroscedastic(seed, noise=stats.norm, n=400):
    """Targets sin 6x + s(x) ξ and the scale s at the samples."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 1, size=n))
    scale = 0.05 + 0.6 * x**2
    return x[:, None], np.sin(6 * x) + scale * noise.rvs(size=n, random_state=rng), scale


@pytest.mark.parametrize(("noise", "name"), [(stats.norm, "gaussian"), (stats.laplace, "laplace"), (stats.t(4), None)])
def test_the_widths_are_proportional_to_the_known_scale(noise, name):
    X, y, scale = heteroscedastic(0, noise)
    tube = noise_tube(SVR(C=10.0, gamma=3.0), X, y, noise=name or noise)
    assert tube.converged
    assert np.mean(np.abs(np.log(tube.scale(X) / scale))) < 0.3
    factor = epsilon_for_noise(name or noise)
    np.testing.assert_allclose(tube.epsilon, factor * tube.scale(X), rtol=1e-12)
    np.testing.assert_array_equal(tube.model.epsilon, tube.epsilon)
    assert tube.model.certify(X, y).relative_gap < 1e-2


def test_the_estimate_is_better_than_with_one_width():
    """Uniform noise: the best tube contains it; one width fits either the quiet or the noisy half."""
    errors, common = [], []
    for seed in range(3):
        X, y, _ = heteroscedastic(seed, stats.uniform(-1, 2), n=200)
        truth = np.sin(6 * X[:, 0])
        estimator = SVR(C=100.0, gamma=3.0)
        errors.append(np.mean((noise_tube(estimator, X, y, noise="uniform").model.predict(X) - truth) ** 2))
        fits = [SVR(C=100.0, gamma=3.0, epsilon=epsilon).fit(X, y) for epsilon in (0.01, 0.05, 0.1, 0.2, 0.4)]
        common.append(min(np.mean((fit.predict(X) - truth) ** 2) for fit in fits))
    assert np.mean(errors) < 0.7 * np.mean(common)


def test_the_widths_scale_with_the_targets():
    X, y, _ = heteroscedastic(3, n=150)
    one = noise_tube(SVR(C=10.0, gamma=3.0, epsilon=0.1, tol=1e-8), X, y)
    ten = noise_tube(SVR(C=10.0, gamma=3.0, epsilon=1.0, tol=1e-8), X, 10 * y)
    assert len(one.changes) >= 1
    assert np.median(ten.epsilon / one.epsilon) == pytest.approx(10.0, rel=0.3)


def test_invalid_arguments_are_rejected():
    X, y, _ = heteroscedastic(0, n=30)
    with pytest.raises(TypeError, match="pass an SVR"):
        noise_tube(SVC(), X, y)
    with pytest.raises(ValueError, match="cv=1"):
        noise_tube(SVR(), X, y, cv=1)
    with pytest.raises(ValueError, match="tol=0"):
        noise_tube(SVR(), X, y, tol=0)
    with pytest.raises(ValueError, match="no noise"):
        noise_tube(SVR(epsilon=0.0), X, np.zeros(30))
