"""scikit-learn's common checks, for all five machines, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from reference.cases import NAMES


@parametrize_with_checks([getattr(hinge, name)() for name in NAMES])
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NAMES)
def test_signature_holds_scikit_learns_defaults(name):
    """A drop-in replacement: every parameter scikit-learn has (but `probability`) is here, with its default.

    `cache_size` is the one exception: ours is "auto" (API.md).
    """
    import sklearn.svm

    ours, theirs = getattr(hinge, name)().get_params(), getattr(sklearn.svm, name)().get_params()
    theirs.pop("probability", None)
    assert ours.pop("cache_size") == "auto"
    theirs.pop("cache_size")
    assert {key: ours.get(key, "absent") for key in theirs} == theirs
