"""scikit-learn's common checks of the kernel estimators, without expected failures."""

import pytest
import sklearn.svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from reference.cases import NAMES


def checked(name):
    """Some checks use classes of 3 and 10 samples, for which ν must not exceed 0.46."""
    return getattr(hinge, name)(**({"nu": 0.3} if name == "NuSVC" else {}))


@parametrize_with_checks([checked(name) for name in NAMES])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_and_defaults_are_those_of_scikit_learn(name):
    """All parameters except `probability`, and all defaults except that of `cache_size`."""
    ours, theirs = getattr(hinge, name)().get_params(), getattr(sklearn.svm, name)().get_params()
    theirs.pop("probability", None)
    assert ours.pop("cache_size") == "auto"
    theirs.pop("cache_size")
    assert {key: ours.get(key, "absent") for key in theirs} == theirs
