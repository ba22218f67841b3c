"""The common checks of scikit-learn."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.conformal import (
    AdaptiveIntervals,
    ConformalClassifier,
    ConformalDetector,
    CVPlus,
    FullConformal,
    JackknifePlus,
)


def expected_failures(estimator):
    if isinstance(estimator, CVPlus):
        reason = "the check sets cv to a list of splits"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    return {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        JackknifePlus(hinge.SVR()),
        CVPlus(hinge.SVR(), cv=3),
        FullConformal(hinge.SVR()),
        ConformalClassifier(hinge.SVC()),
        ConformalClassifier(hinge.SVC(), method="cross", cv=3),
        ConformalClassifier(hinge.SVC(), method="full"),
        ConformalDetector(),
        ConformalDetector(method="full"),
        AdaptiveIntervals(),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)
