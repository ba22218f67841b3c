"""What tests of bad input share: machines by name, a limit of time, an error that names what is wrong."""

from __future__ import annotations

import pytest

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, REGRESSORS

SECONDS = 20

every_machine = pytest.mark.parametrize("name", NAMES)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


def machine(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, **PARAMETERS[name], **options})


def refused(match, exception=ValueError):
    return pytest.raises(exception, match=match)
