"""Shared by the tests of invalid input: estimators by name, a time limit, and expected errors."""

from __future__ import annotations

import pytest

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, REGRESSORS

SECONDS = 20  # time limit of a test with invalid input

every_estimator = pytest.mark.parametrize("name", NAMES)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def make(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, **PARAMETERS[name], **options})


def rejected(match, exception=ValueError):
    return pytest.raises(exception, match=match)
