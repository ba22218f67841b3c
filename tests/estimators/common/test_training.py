"""Training of kernel estimators: objects are built once, reports set the public attributes, models are checked."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.estimators.common import training
from hinge.estimators.common.report import FitReport, rollback
from hinge.problems import Certificate, History, Status
from hinge.solvers import SMO, CoordinateDescent
from reference.cases import data

ESTIMATORS = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"]


@pytest.fixture
def built(monkeypatch):
    """Names of the functions that built a kernel or a solver."""
    calls = []
    for name in ("make_kernel", "choose"):
        make = getattr(training, name)

        def counted(*args, _make=make, _name=name, **options):
            calls.append(_name)
            return _make(*args, **options)

        monkeypatch.setattr(training, name, counted)
    return calls


@pytest.mark.parametrize("name", ESTIMATORS)
def test_kernel_and_solver_are_built_once_per_fit(name, built):
    X, y = data(name)
    getattr(hinge, name)().fit(X, y)
    assert sorted(built) == ["choose", "make_kernel"]


def test_class_weights_of_nu_classification_need_no_further_solver(built):
    X, y = data("NuSVC")
    hinge.NuSVC(nu=0.2, class_weight="balanced").fit(X, y)
    assert sorted(built) == ["choose", "make_kernel"]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    "alter",
    [
        lambda model: model._n_support.__setitem__(0, 10**6),
        lambda model: setattr(model, "support_", model.support_[:-1]),
        lambda model: setattr(model, "support_", model.support_ + 10**6),
        lambda model: setattr(model, "support_vectors_", model.support_vectors_[:-1]),
        lambda model: setattr(model, "intercept_", np.zeros(7)),
        lambda model: setattr(model, "n_features_in_", 1000),
    ],
)
def test_altered_attributes_are_rejected(name, alter):
    X, y = data(name)
    model = getattr(hinge, name)().fit(X, y)
    alter(model)
    with pytest.raises(ValueError, match=f"The internal representation of {name} was altered|features"):
        model.predict(X)


def test_rollback_restores_attributes_after_an_exception():
    model = hinge.SVC(C=3.0)
    model.fitted_ = 1
    with pytest.raises(KeyError), rollback(model):
        model.fitted_, model.other_ = 2, 3
        raise KeyError
    assert model.fitted_ == 1
    assert not hasattr(model, "other_")


class TestFitReport:
    def report(self, *statuses, error=None):
        certificate = Certificate(1.0, 1.0, 0.0, 0.0, 0.0, 0.0, np.zeros(1), 1.0, 1.0, True)
        histories = [History.empty() for _ in statuses]
        return FitReport(max(statuses), [certificate] * len(statuses), histories, [5, 7][: len(statuses)], error)

    def test_store_sets_the_public_attributes(self):
        model = hinge.SVC()
        self.report(Status.SOLVED, Status.MAX_ITER).store(model)
        assert model.status_ is Status.MAX_ITER
        assert model.fit_status_ == 1
        assert model.n_iter_ == 7
        assert len(model.certificates_) == len(model.history_) == 2
        assert model.certificate_.primal == 2.0

    def test_one_subproblem_has_one_history(self):
        model = hinge.SVR()
        self.report(Status.SOLVED).store(model)
        assert isinstance(model.history_, History)
        assert model.fit_status_ == 0

    def test_solved_is_silent(self):
        model, report = hinge.SVC(), self.report(Status.SOLVED)
        report.store(model)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report.conclude(model)

    def test_early_end_is_a_warning(self):
        model, report = hinge.SVC(max_iter=7), self.report(Status.MAX_ITER)
        report.store(model)
        with pytest.warns(ConvergenceWarning, match="max_iter=7"):
            report.conclude(model)

    def test_interrupt_is_raised_at_the_end(self):
        model, report = hinge.SVC(), self.report(Status.INTERRUPTED, error=KeyboardInterrupt())
        report.store(model)
        with pytest.raises(KeyboardInterrupt):
            report.conclude(model)
        assert model.status_ is Status.INTERRUPTED


def test_warnings_name_the_options_of_a_solver_object():
    """Not those of the estimator, which such a solver does not use."""
    X, y = load_breast_cancer(return_X_y=True)
    for model in (
        hinge.LinearSVC(solver=CoordinateDescent(tol=1e-9, max_iter=3)),
        hinge.SVC(solver=SMO(tol=1e-9, max_iter=3)),
    ):
        with pytest.warns(ConvergenceWarning, match=r"max_iter=3\)"):
            model.fit(X / X.std(axis=0), y)
    report = FitReport(Status.NUMERICAL, [model.certificate_], [model.history_], [3])
    with pytest.warns(ConvergenceWarning, match="before tol=1e-09"):
        report.conclude(model)
