"""scikit-learn's common checks, for all five machines, with no expected failure."""

import pytest
import sklearn.svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from reference.cases import NAMES


def checked(name):
    """Some checks draw classes of 3 and 10 samples, which admit ν up to 0.46: ν = 0.5 must be refused."""
    return getattr(hinge, name)(**({"nu": 0.3} if name == "NuSVC" else {}))


@parametrize_with_checks([checked(name) for name in NAMES])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_signature_holds_scikit_learns_defaults(name):
    """A drop-in replacement: every parameter scikit-learn has (but `probability`) is here, with its default.

    `cache_size` is the one exception: ours is "auto" (API.md).
    """
    ours, theirs = getattr(hinge, name)().get_params(), getattr(sklearn.svm, name)().get_params()
    theirs.pop("probability", None)
    assert ours.pop("cache_size") == "auto"
    theirs.pop("cache_size")
    assert {key: ours.get(key, "absent") for key in theirs} == theirs
