"""scikit-learn's common checks of the online estimators, without expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge


@parametrize_with_checks(
    [hinge.OnlineSVC(), hinge.OnlineNuSVC(nu=0.2), hinge.OnlineSVR(), hinge.OnlineNoveltyDetector()]
)
def test_common_checks(estimator, check):
    check(estimator)
