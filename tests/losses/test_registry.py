"""A loss that is registered once is available to every estimator and path whose mathematics allows it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import hinge
from hinge import losses
from hinge.losses import (
    MARGIN_LOSSES,
    RESIDUAL_LOSSES,
    QuadraticConjugate,
    QuadraticMarginLoss,
    QuadraticResidualLoss,
    loss_names,
    losses_of,
    make_loss,
    register,
)


@dataclass(frozen=True)
class SoftHinge(QuadraticMarginLoss):
    """Hinge that is quadratic for margins between 0.5 and 1.5."""

    width: float = 1.0

    @property
    def quadratic_conjugate(self):
        return QuadraticConjugate(1.5, self.width, 1.0)


@dataclass(frozen=True)
class SoftTube(QuadraticResidualLoss):
    """ε-insensitive loss that is quadratic between ε and ε + 0.5."""

    epsilon: float = 0.1

    @property
    def quadratic_conjugate(self):
        return QuadraticConjugate(self.epsilon, 0.5, 1.0)


@pytest.fixture
def registered():
    register("soft_hinge")(SoftHinge)
    register("soft_tube")(SoftTube)
    yield
    del MARGIN_LOSSES["soft_hinge"], RESIDUAL_LOSSES["soft_tube"]


def samples(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1), np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


def test_names_are_selected_by_declared_properties():
    assert loss_names("margin") == tuple(MARGIN_LOSSES)
    quadratic, smooth = set(loss_names("margin", quadratic=True)), set(loss_names("margin", smooth=True))
    assert quadratic == {name for name, loss in MARGIN_LOSSES.items() if loss.quadratic}
    assert {"squared_hinge", "modified_huber", "huberized_hinge"} <= smooth <= quadratic
    assert "hinge" in quadratic - smooth
    assert "logistic" not in quadratic
    assert "polynomial" not in loss_names("residual", quadratic=True)
    assert losses_of("residual") is RESIDUAL_LOSSES


def test_named_losses_take_the_parameters_they_declare():
    assert make_loss("huber", "residual", {"sigma": 2.0, "epsilon": 0.3}).sigma == 2.0
    assert make_loss("hinge", "margin", {"sigma": 2.0}) == losses.Hinge()


def test_a_registered_margin_loss_is_available_to_all_classifiers(registered):
    X, y, _ = samples()
    kernel = hinge.SVC(kernel="linear", loss="soft_hinge", tol=1e-8).fit(X, y)
    linear = hinge.LinearSVC(loss="soft_hinge", tol=1e-8).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-4)
    assert hinge.OnlineSVC(loss="soft_hinge", gamma=1.0).fit(X, y).score(X, y) > 0.7
    search = hinge.SVCCV(Cs=[0.1], gammas=[0.3], loss="soft_hinge").fit(X, y)
    assert search.best_estimator_.certificate_ == hinge.SVC(C=0.1, gamma=0.3, loss="soft_hinge").fit(X, y).certificate_
    assert hinge.LinearSVCCV(Cs=[0.1, 1.0], loss="soft_hinge").fit(X, y).score(X, y) > 0.7
    assert hinge.SemiparametricSVC(loss="soft_hinge").fit(X, y).score(X, y) > 0.7
    ranking = hinge.RankingSVM(C=0.01, loss="soft_hinge").fit(X[:40], y[:40])
    assert ranking.status_ is hinge.Status.SOLVED
    path = hinge.quadratic_loss_path(X, y, loss="soft_hinge", gamma=0.3, lambda_min=0.1)
    assert path.kkt_violation < 1e-9
    assert (path.rho, path.h) == (1.5, 1.0)


def test_a_registered_residual_loss_is_available_to_all_regressors(registered):
    X, _, y = samples()
    kernel = hinge.SVR(kernel="linear", loss="soft_tube", epsilon=0.2, tol=1e-8).fit(X, y)
    linear = hinge.LinearSVR(loss="soft_tube", epsilon=0.2, tol=1e-8).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-6)
    assert hinge.OnlineSVR(loss="soft_tube", epsilon=0.2, gamma=1.0).fit(X, y).score(X, y) > 0.3
    search = hinge.SVRCV(Cs=[1.0], gammas=[0.3], epsilons=0.2, loss="soft_tube").fit(X, y)
    assert search.best_estimator_.loss == "soft_tube"
    assert search.score(X, y) > 0.3
    assert hinge.LinearSVRCV(Cs=[0.1, 1.0], epsilons=0.2, loss="soft_tube").fit(X, y).score(X, y) > 0.3
    assert hinge.SemiparametricSVR(loss="soft_tube", epsilon=0.2).fit(X, y).score(X, y) > 0.3


#: The rows of the table in docs/guide/losses.md: the losses that each estimator accepts.
ACCEPTED = {
    "all": ("SVC", "SVCCV", "SemiparametricSVC", "SVR", "SVRCV", "SemiparametricSVR", "RegularizationNetwork",
            "RankingSVM"),
    "quadratic": ("LinearSVC", "LinearSVCCV", "LinearSVR", "LinearSVRCV", "OnlineSVC", "OnlineSVR"),
}  # fmt: skip


@pytest.mark.parametrize(("losses_", "name"), [(kind, name) for kind, names in ACCEPTED.items() for name in names])
def test_every_estimator_accepts_the_losses_of_its_row_in_the_guide(losses_, name):
    estimator = getattr(hinge, name)
    form = "residual" if "SVR" in name or name == "RegularizationNetwork" else "margin"
    accepted = set(loss_names(form, quadratic=True)) if losses_ == "quadratic" else set(loss_names(form))
    extra = {"logistic", "exponential"} if name == "OnlineSVC" else set()
    X, labels, targets = samples(24)
    y = (labels > 0).astype(int) if name == "RankingSVM" else labels if form == "margin" else targets
    grids = {"Cs": [1.0]} if name.endswith("CV") else {}
    for loss in loss_names(form):
        model = estimator(loss=loss, **grids)
        if loss in accepted | extra:
            model.fit(X, y)
        else:
            with pytest.raises(ValueError, match="loss"):
                model.fit(X, y)


def test_the_table_of_the_guide_lists_every_estimator_with_a_loss():
    guide = (Path(__file__).parents[2] / "docs/guide/losses.md").read_text("utf-8")
    table = guide.partition("## Which estimators accept which losses")[2].partition("\n## ")[0]
    listed = {name for names in ACCEPTED.values() for name in names}
    assert {name for name in listed if f"`{name}`" not in table} == set()
    having = {name for name in hinge.__all__ if "loss" in inspect.signature(getattr(hinge, name).__init__).parameters
              and hasattr(getattr(hinge, name), "fit")}  # fmt: skip
    assert having == listed


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", loss_names("margin", quadratic=True))
def test_linear_and_kernel_classifiers_solve_the_same_problem(name, C):
    X, y, _ = samples()
    kernel = hinge.SVC(kernel="linear", loss=name, C=C, tol=1e-8).fit(X, y).certificate_
    linear = hinge.LinearSVC(loss=name, C=C, tol=1e-8, max_iter=10_000).fit(X, y).certificate_
    assert linear.primal == pytest.approx(kernel.primal, rel=1e-7)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", loss_names("residual", quadratic=True))
def test_linear_and_kernel_regressors_solve_the_same_problem(name, C):
    X, _, y = samples()
    kernel = hinge.SVR(kernel="linear", loss=name, C=C, epsilon=0.1, tol=1e-8).fit(X, y).certificate_
    linear = hinge.LinearSVR(loss=name, C=C, epsilon=0.1, tol=1e-8, max_iter=10_000).fit(X, y).certificate_
    assert linear.primal == pytest.approx(kernel.primal, rel=1e-7)


@pytest.mark.parametrize(
    ("estimator", "name", "loss"),
    [
        (hinge.OnlineSVC, "hinge", losses.Hinge()),
        (hinge.OnlineSVR, "squared", "gaussian"),
        (hinge.OnlineSVC, "logistic", losses.Logistic()),
        (hinge.OnlineSVC, "exponential", losses.Exponential()),
        (hinge.OnlineSVR, "epsilon_insensitive", losses.EpsilonInsensitive(0.1)),
    ],
)
def test_online_steps_of_a_conjugate_are_those_of_the_named_loss(estimator, name, loss):
    X, labels, targets = samples()
    y = labels if estimator is hinge.OnlineSVC else targets
    named, by_conjugate = (estimator(loss=each, gamma=1.0, eta0=0.05).fit(X, y) for each in (name, loss))
    np.testing.assert_array_equal(named.dual_coef_, by_conjugate.dual_coef_)


@pytest.mark.parametrize("estimator", [hinge.LinearSVC, hinge.OnlineSVR])
def test_a_loss_without_a_quadratic_conjugate_is_rejected(estimator):
    X, labels, targets = samples()
    y, name, loss = labels, "logistic", losses.Logistic()
    if estimator is hinge.OnlineSVR:
        y, name, loss = targets, "polynomial", losses.PolynomialLoss(1.5)
    with pytest.raises(ValueError, match="must be one of '"):
        estimator(loss=name).fit(X, y)
    with pytest.raises(ValueError, match="conjugate is quadratic"):
        estimator(loss=loss).fit(X, y)
    with pytest.raises(ValueError, match="no quadratic part"):
        hinge.quadratic_loss_path(X, labels, loss=losses.Hinge())
