"""The method for linear problems, run in this process: agreement with the local estimators, and certificates."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

pytest.importorskip("distributed", reason="hinge.dask needs the packages dask and distributed")

import hinge
from dask_collections.in_process import fit_in_process
from hinge import dask as hd
from hinge.dask.cluster import ClusterError, Stopped
from hinge.problems import Status

MARGIN_LOSSES = ("squared_hinge", "hinge", "modified_huber", "huberized_hinge")
RESIDUAL_LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "huber", "laplace")
INTERCEPTS = {
    "free": {},
    "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}
TOL = 1e-12  # relative gap; the weights then differ by at most the square root of the gap, and by much less in practice


def samples(n=900, d=6, shift=2.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + shift
    f = X @ rng.normal(size=d)
    return X, f - np.mean(f) + rng.normal(size=n)


def assert_same_model(distributed, local, X, atol=1e-8):
    assert distributed.status_ is Status.SOLVED
    assert_allclose(distributed.coef_, local.coef_, atol=atol)
    assert_allclose(distributed.intercept_, local.intercept_, atol=atol)
    # the optimum lies between the bounds of both certificates
    assert distributed.certificate_.dual <= local.certificate_.primal
    assert local.certificate_.dual <= distributed.certificate_.primal


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_classification_agrees_with_the_local_estimator(loss, intercept):
    X, f = samples()
    y = np.where(f > 0, 1, 0)
    options = {"loss": loss, "C": 0.5, "tol": TOL, **INTERCEPTS[intercept]}
    model, _ = fit_in_process(hd.LinearSVC(**options), X, y)
    assert_same_model(model, hinge.LinearSVC(**options).fit(X, y), X)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", RESIDUAL_LOSSES)
def test_regression_agrees_with_the_local_estimator(loss, intercept):
    X, y = samples()
    options = {"loss": loss, "C": 0.5, "epsilon": 0.3, "tol": TOL, **INTERCEPTS[intercept]}
    model, _ = fit_in_process(hd.LinearSVR(**options), X, y)
    assert_same_model(model, hinge.LinearSVR(**options).fit(X, y), X)


@pytest.mark.parametrize("C", [(2.0, 0.5), 1.0])
@pytest.mark.parametrize("epsilon", [(0.1, 0.4), 0.0])
def test_costs_and_tubes_that_differ_above_and_below(C, epsilon):
    X, y = samples()
    options = {"C": C, "epsilon": epsilon, "tol": 1e-11}
    model, _ = fit_in_process(hd.LinearSVR(**options), X, y)
    assert_same_model(model, hinge.LinearSVR(**options).fit(X, y), X)


@pytest.mark.parametrize("solver", ["newton", "newton_cg"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_several_classes_weights_and_types_of_samples(loss, solver, convert):
    X, f = samples()
    X, y = convert(np.where(np.abs(X - 2.0) > 0.3, X, 0.0)), np.array(["a", "b", "c"])[np.digitize(f, [-1.0, 1.0])]
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    tol = 1e-9 if solver == "newton_cg" and loss == "hinge" else TOL  # many samples on a kink: larger rounding errors
    options = {"loss": loss, "C": 0.1, "tol": tol, "class_weight": "balanced"}
    model, _ = fit_in_process(hd.LinearSVC(solver=solver, **options), X, y, sample_weight=weight)
    local = hinge.LinearSVC(**{**options, "tol": TOL}).fit(X, y, weight)
    assert model.method_.solver == solver
    assert_allclose(model.class_weight_, local.class_weight_)
    # inexact Newton steps end at a gap of tol, factorized ones far below it
    assert_same_model(model, local, X, atol={"newton": 1e-8, "newton_cg": 1e-5}[solver])


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_features_far_from_the_origin(loss):
    X, f = samples(shift=1e4)
    y = np.where(f > 0, 1, -1)
    model, _ = fit_in_process(hd.LinearSVC(loss=loss, tol=1e-8), X, y)
    centered = hinge.LinearSVC(loss=loss, tol=1e-12).fit(X - 1e4, y)
    assert model.status_ is Status.SOLVED
    assert_allclose(model.coef_, centered.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_separable_samples(loss):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 200)
    X = rng.normal(size=(400, 3)) * 0.1 + y[:, None] + 10.0
    options = {"loss": loss, "C": 100.0, "tol": 1e-10}
    model, _ = fit_in_process(hd.LinearSVC(**options), X, y)
    assert_same_model(model, hinge.LinearSVC(**options).fit(X, y), X, atol=1e-6)


def test_many_samples_on_a_kink():
    """The optimum is a constant function: all samples of the larger class lie on their kink."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(np.abs(X[:, 0]) < 0.3, 1, -1)  # not linearly separable, and few positive samples
    model, names = fit_in_process(hd.LinearSVC(loss="hinge", C=1e-3, tol=1e-10), X, y)
    assert model.status_ is Status.SOLVED
    assert_allclose(model.intercept_, -1.0, atol=1e-6)
    assert "collect" not in names  # too many samples for the client: the proximal-point method


def test_the_client_receives_few_samples():
    X, f = samples(n=4000)
    model, names = fit_in_process(hd.LinearSVC(loss="hinge", tol=1e-10), X, np.sign(f))
    assert model.status_ is Status.SOLVED
    assert 0 < names.count("collect") <= 2


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("partitions", [1, 2, 7, 40])
def test_any_partition_gives_the_same_model(loss, partitions):
    X, f = samples(n=400)
    y = np.where(f > 0, 1, 0)
    reference, _ = fit_in_process(hd.LinearSVC(loss=loss, tol=TOL), X, y, 1)
    model, _ = fit_in_process(hd.LinearSVC(loss=loss, tol=TOL), X, y, partitions)
    assert_allclose(model.coef_, reference.coef_, atol=1e-9)
    assert_allclose(model.intercept_, reference.intercept_, atol=1e-9)


def test_limits_of_iterations_keep_a_certified_model():
    X, f = samples()
    model, _ = fit_in_process(hd.LinearSVC(tol=1e-12, max_iter=1), X, np.sign(f))
    assert model.status_ is Status.MAX_ITER
    best = hinge.LinearSVC(tol=1e-12).fit(X, np.sign(f)).certificate_
    assert model.certificate_.dual <= best.primal
    assert best.dual <= model.certificate_.primal < np.inf


@pytest.mark.parametrize("rounds", [3, 5])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_runs_that_are_stopped_keep_the_best_model(loss, rounds):
    X, f = samples()

    def stop(count, error):
        if count >= rounds:
            raise error

    best = hinge.LinearSVC(loss=loss, tol=1e-12).fit(X, np.sign(f)).certificate_
    late, _ = fit_in_process(hd.LinearSVC(loss=loss, tol=1e-14), X, np.sign(f), stop=partial(stop, error=Stopped()))
    assert late.status_ is Status.TIME_LIMIT
    assert late.certificate_.dual <= best.primal
    assert best.dual <= late.certificate_.primal < np.inf  # certified by a pass after the deadline
    lost = ClusterError("scheduler")
    model, _ = fit_in_process(hd.LinearSVC(loss=loss, tol=1e-14), X, np.sign(f), stop=partial(stop, error=lost))
    assert model.status_ is Status.INTERRUPTED
    assert_allclose(model.coef_, late.coef_)
    assert model.certificate_.dual <= best.primal
