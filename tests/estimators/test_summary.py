"""Reports about fitted estimators, their hints, and the answers of `explain`."""

import time
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error

import hinge
from hinge.solvers import explain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
LABELS = np.where(X[:, 0] + 0.3 * RNG.normal(size=80) > 0, "yes", "no")
TARGETS = X[:, 0] - X[:, 1] ** 2

CLASSIFIERS = [
    hinge.SVC(), hinge.NuSVC(nu=0.3), hinge.LinearSVC(), hinge.LowRankSVC(), hinge.LPSVC(), hinge.ParzenClassifier(),
    hinge.IncrementalSVC(gamma=0.5), hinge.OnlineSVC(), hinge.OnlineNuSVC(),
]  # fmt: skip
REGRESSORS = [
    hinge.SVR(), hinge.NuSVR(), hinge.LinearSVR(), hinge.LPSVR(), hinge.IncrementalSVR(gamma=0.5), hinge.OnlineSVR(),
]  # fmt: skip
DETECTORS = [
    hinge.OneClassSVM(nu=0.2), hinge.LinearOneClassSVM(nu=0.2), hinge.IncrementalOneClassSVM(nu=0.2, gamma=0.5),
    hinge.OnlineNoveltyDetector(),
]  # fmt: skip


def fitted(model, X=X, y=LABELS):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def hints(model, *data):
    return " | ".join(model.summary(*data).hints)


class Checker(HTMLParser):
    """Checks that all elements are closed in order, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


# ---- summary --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *DETECTORS], ids=lambda model: type(model).__name__)
def test_every_estimator_has_a_summary(model):
    y = LABELS if model in CLASSIFIERS else TARGETS
    fitted(model, X, y)
    plain, scored = model.summary(), model.summary(X, y)
    assert str(plain).startswith(type(model).__name__)
    assert plain.sections["data"]["features"] == "3"
    assert not plain.scores
    predicted = model.predict(X)
    if model in CLASSIFIERS:
        expected = {
            "accuracy": np.mean(predicted == y), "balanced accuracy": balanced_accuracy_score(y, predicted)
        }  # fmt: skip
    elif model in REGRESSORS:
        expected = {"R²": model.score(X, y), "mean absolute error": mean_absolute_error(y, predicted)}
    else:
        expected = {"share of inliers": np.mean(predicted == 1)}
    assert scored.scores == pytest.approx(expected)
    checker = Checker()
    checker.feed(scored.to_html())
    assert not checker.open
    for rows in scored.sections.values():
        for label, text in rows.items():
            assert label in checker.text
            assert text in checker.text
            assert text in str(scored)
    assert scored._repr_html_() == scored.to_html()


def test_selection_estimators_report_the_best_estimator():
    report = hinge.SVCCV(Cs=[0.1, 1.0], gammas=[0.1, 1.0], cv=3).fit(X, LABELS).summary(X, LABELS)
    assert report.title == "SVCCV"
    assert "best parameters" in report.sections["search"]
    assert report.scores["accuracy"] > 0.8


def test_summary_needs_a_fitted_estimator_and_targets():
    with pytest.raises(NotFittedError):
        hinge.SVC().summary()
    with pytest.raises(ValueError, match="needs y"):
        hinge.SVC().fit(X, LABELS).summary(X)


def test_the_certificate_sentence_states_the_bound():
    model = hinge.SVC(tol=0.5).fit(X, LABELS)
    sentence = model.summary().sections["training"]["certificate"]
    assert f"{model.certificate_.primal:.6g}" in sentence
    assert f"{model.certificate_.gap:.2g}" in sentence
    indefinite = fitted(hinge.SVC(kernel="sigmoid", gamma=2.0, coef0=-1.0))
    assert "not positive semidefinite" in indefinite.summary().sections["training"]["certificate"]


def test_labels_are_escaped():
    model = hinge.SVC().fit(X, np.where(LABELS == "yes", "<script>", "b & c"))
    html = model.summary(X, np.where(LABELS == "yes", "<script>", "b & c")).to_html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


# ---- hints ----------------------------------------------------------------------------------------------------------


def test_all_samples_are_support_vectors_because_gamma_is_too_large():
    assert "gamma=1000 is too large" in hints(hinge.SVC(C=10.0, gamma=1000.0).fit(X, LABELS))
    assert "gamma" not in hints(hinge.SVC(C=10.0, gamma=0.3).fit(X, LABELS))


def test_all_samples_are_support_vectors_because_C_is_too_small():
    assert "C is too small" in hints(hinge.SVC(C=1e-4).fit(X, LABELS))
    assert "C is too small" not in hints(hinge.SVC(C=1.0).fit(X, LABELS))


@pytest.mark.parametrize("model", [hinge.SVC(), hinge.LinearSVC()], ids=repr)
def test_features_with_different_scales(model):
    wide = X * [1.0, 1e4, 1.0]
    assert "standard deviation of feature 1" in hints(fitted(model, wide), wide, LABELS)
    assert "scales" not in hints(fitted(model), X, LABELS)


def test_features_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X * [1.0, 1e4, 1.0], columns=["age", "income", "height"]).assign(constant=1.0)
    text = hints(fitted(hinge.LinearSVC(), table), table, LABELS)
    assert "'income'" in text
    assert "'constant'" in text


def test_rare_classes_and_constant_predictions():
    rare = np.where(np.arange(80) < 3, "rare", "common")
    assert "all predictions are the same class" in hints(hinge.SVC(C=0.01).fit(X, rare), X, rare)
    assert "'rare' has 3.8 %" in hints(hinge.SVC(C=1e3, gamma=5.0).fit(X, rare), X, rare)
    assert "rare" not in hints(hinge.SVC(C=1e3, gamma=5.0, class_weight="balanced").fit(X, rare), X, rare)


def test_unfinished_fits():
    assert "increase max_iter" in hints(fitted(hinge.SVC(max_iter=1)))


# ---- explain --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS, *DETECTORS], ids=lambda model: type(model).__name__)
def test_explain_supports_every_estimator(model):
    y = LABELS if model in CLASSIFIERS else TARGETS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = explain(model, X, y)
    assert explanation.seconds > 0
    assert "expected time" in str(explanation)
    assert "MB" in str(explanation)
    assert explain(model, X, y, measure=False).seconds is None


def test_explain_supports_the_estimators_with_model_selection():
    explanation = explain(hinge.LinearSVCCV(Cs=[0.1, 1.0], cv=2), X, LABELS)
    assert "every candidate" in explanation.reasons[0]
    assert explanation.seconds > 0


def test_expected_time_has_the_order_of_the_time():
    n = 1500
    wide = np.random.default_rng(1).normal(size=(n, 5))
    labels = (wide[:, 0] * wide[:, 1] > 0).astype(int)

    expected = explain(hinge.SVC(C=10.0), wide, labels).seconds
    started = time.perf_counter()
    hinge.SVC(C=10.0).fit(wide, labels)
    ratio = expected / (time.perf_counter() - started)
    assert 0.02 < ratio < 50  # the machine may be busy with other work


@pytest.mark.parametrize(
    ("model", "alternative"),
    [
        (hinge.SVC(kernel="linear"), "LinearSVC"), (hinge.SVR(kernel=hinge.kernels.Linear()), "LinearSVR"),
        (hinge.OneClassSVM(kernel="linear"), "LinearOneClassSVM"), (hinge.OnlineSVR(), "SVR"), (hinge.SVC(), ""),
    ],
)  # fmt: skip
def test_explain_names_the_estimator_to_use_instead(model, alternative):
    found = explain(model, X, LABELS if "SVC" in type(model).__name__ else TARGETS, measure=False)
    assert found.alternative.partition(":")[0].partition(",")[0] == alternative
    assert ("use instead" in str(found)) == bool(alternative)


def test_explain_does_not_measure_samples_of_one_class():
    labels = np.zeros(2000, dtype=int)
    labels[-1] = 1
    assert explain(hinge.LinearSVC(), np.zeros((2000, 1)), labels).seconds is None
