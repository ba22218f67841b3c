"""An estimator with one parameter, to save any value."""

import pytest
from sklearn.base import BaseEstimator

from hinge.io import registry


class Carrier(BaseEstimator):
    def __init__(self, value=None):
        self.value = value


@pytest.fixture
def carrier(monkeypatch):
    """The class `Carrier`, registered during a test."""
    monkeypatch.setitem(registry.ESTIMATORS, "Carrier", Carrier)
    return Carrier


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.hinge"
