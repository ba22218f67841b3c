"""An estimator with one parameter, to save any value."""

import pytest
from sklearn.base import BaseEstimator

from hinge.io import registry
from hinge.io.checks import estimators


class Carrier(BaseEstimator):
    def __init__(self, value=None):
        self.value = value


@pytest.fixture
def carrier(monkeypatch):
    """The class `Carrier`, registered during a test."""
    monkeypatch.setitem(registry.ESTIMATORS, "Carrier", Carrier)
    monkeypatch.setitem(estimators.ATTRIBUTES, "Carrier", estimators.Declaration({}))
    return Carrier


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hinge"
