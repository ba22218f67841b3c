"""Kernel estimators by name, and comparison of two fitted ones."""

import numpy as np
import pytest

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, values

KERNELS = ("linear", "poly", "rbf", "sigmoid")
CLOSE = dict(rtol=1e-4, atol=1e-4)

every_estimator = pytest.mark.parametrize("name", NAMES)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)


def make(name, **options):
    # A numeric gamma: "scale" would make the kernel depend on scaled or repeated samples.
    return getattr(hinge, name)(**{"gamma": 0.5, "tol": 1e-7, **PARAMETERS[name], **options})


def assert_same(first, second, X, factor=1.0):
    np.testing.assert_allclose(values(second, X), factor * values(first, X), **CLOSE)


def random_weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.5, 2.0, n)
