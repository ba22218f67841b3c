"""Kernel estimators with the low-rank solver: optimal in the span of the basis, with valid bounds for all functions."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.kernels import RBF
from hinge.lowrank import SGMA, Nystrom, PivotedCholesky
from hinge.solvers import SMO, LowRankInteriorPoint

PARAMETERS = {
    "SVC": dict(C=5.0),
    "NuSVC": dict(nu=0.3),
    "SVR": dict(C=5.0, epsilon=0.1),
    "NuSVR": dict(C=5.0, nu=0.4),
    "OneClassSVM": dict(nu=0.2),
}
every_estimator = pytest.mark.parametrize("name", PARAMETERS)


def data(name, n=150, classes=3, seed=0):
    X, y = make_classification(n, 6, n_informative=4, n_classes=classes, random_state=seed)
    return X, (np.sin(X[:, 0]) + 0.2 * X[:, 1] if "SVR" in name else y)


def make(name, solver, **more):
    return getattr(hinge, name)(gamma=0.05, solver=solver, **PARAMETERS[name], **more)


@every_estimator
def test_bounds_enclose_the_optimum_of_the_full_problem(name):
    """certificate_, with both kinds of bounds, and certify (LwK §10.3.4)."""
    X, y = data(name)
    optimum = make(name, "auto", tol=1e-9).fit(X, y).certificate_.primal
    slack = 1e-6 * abs(optimum)
    gaps = {}
    for exact in (False, True):
        solver = LowRankInteriorPoint(approximation=SGMA(rank=25), tol=1e-8, exact_bound=exact)
        model = make(name, solver).fit(X, y)
        recomputed = model.certify(X, y)
        for certificate in (model.certificate_, recomputed):
            assert certificate.dual <= optimum + slack
            assert certificate.primal >= optimum - slack
            assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, rel=1e-9)
        assert model.certificate_.primal == pytest.approx(recomputed.primal, rel=1e-6)
        assert model.approximation_.certificate.relative_gap < 1e-6  # gap of the low-rank problem
        assert model.approximation_.exact_bound is exact
        gaps[exact] = model.certificate_.gap
    assert model.certificate_.gap == pytest.approx(recomputed.gap, rel=1e-4)
    assert gaps[True] <= gaps[False]
    assert model.certificate_.relative_gap > 1e-3  # 25 basis functions are not enough


@every_estimator
def test_full_basis_gives_the_exact_solution(name):
    X, y = data(name, n=80)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=80, tol=0), tol=1e-9)
    model = make(name, solver).fit(X, y)
    exact = make(name, "auto", tol=1e-9).fit(X, y)
    assert model.certificate_.relative_gap < 1e-6
    assert model.certify(X, y).relative_gap < 1e-6
    if name in ("SVC", "NuSVC"):
        model.set_params(decision_function_shape="ovo")
        exact.set_params(decision_function_shape="ovo")
    decide = "predict" if "SVR" in name else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(exact, decide)(X), atol=2e-4)


@every_estimator
def test_solution_is_optimal_in_the_span_of_the_basis(name):
    """Agrees with SMO on the matrix K^mn (K^nn)⁻¹ K^nm."""
    X, y = data(name, classes=2)
    solver = LowRankInteriorPoint(approximation=PivotedCholesky(rank=20, tol=0), tol=1e-9)
    model = make(name, solver).fit(X, y)
    kernel = RBF(0.05)
    basis = model.support_
    K = kernel(X, X[basis]) @ np.linalg.solve(kernel(X[basis]), kernel(X[basis], X))
    explicit = getattr(hinge, name)(kernel="precomputed", tol=1e-8, **PARAMETERS[name]).fit(0.5 * (K + K.T), y)
    assert model.certificate_.primal == pytest.approx(explicit.certificate_.primal, rel=1e-5)
    decide = "predict" if "SVR" in name else "decision_function"
    np.testing.assert_allclose(getattr(model, decide)(X), getattr(explicit, decide)(K), atol=5e-3)


@every_estimator
def test_reduced_model_can_be_saved(name, tmp_path):
    X, y = data(name)
    model = make(name, LowRankInteriorPoint(approximation=Nystrom(rank=15))).fit(X, y)
    assert model.support_vectors_.shape == (15, 6)
    assert model.n_support_.sum() == 15
    assert model.dual_coef_.shape[1] == 15
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.certify(X, y).gap == model.certify(X, y).gap
    assert loaded.approximation_.rank == 15


def test_sparse_data_precomputed_and_callable_kernels_give_the_same_model():
    X, y = data("SVC")
    solver = LowRankInteriorPoint(approximation=SGMA(rank=30))
    dense = make("SVC", solver).fit(X, y)
    assert make("SVC", solver).fit(sparse.csr_matrix(X), y).score(sparse.csr_matrix(X), y) == dense.score(X, y)
    K = RBF(0.05)(X)
    computed = hinge.SVC(kernel="precomputed", solver=solver, C=5.0).fit(K, y)
    np.testing.assert_array_equal(computed.predict(K), dense.predict(X))
    assert computed.certify(K, y).gap >= 0
    function = hinge.SVC(kernel=lambda A, B: RBF(0.05)(A, B), solver=solver, C=5.0).fit(X, y)
    np.testing.assert_array_equal(function.predict(X), dense.predict(X))


def test_linear_kernel_is_not_approximated():
    X, y = data("SVC", classes=2)
    model = hinge.SVC(kernel="linear", solver=LowRankInteriorPoint(tol=1e-8)).fit(X, y)
    assert not hasattr(model, "approximation_")
    assert model.certify(X, y).relative_gap < 1e-6
    exact = hinge.SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)
    wide = sparse.csr_matrix((np.ones(4), ([0, 1, 2, 3], [0, 5, 7, 5999])), shape=(4, 6000))
    with pytest.raises(ValueError, match="LinearSVC"):
        hinge.SVC(kernel="linear", solver="low_rank_interior_point").fit(wide, [0, 1, 0, 1])


def test_refit_with_another_solver_removes_the_approximation():
    X, y = data("SVC")
    model = make("SVC", LowRankInteriorPoint(approximation=SGMA(rank=20))).fit(X, y)
    model.set_params(solver=SMO(tol=1e-6)).fit(X, y)
    assert not hasattr(model, "approximation_")
    assert model.certify(X, y).relative_gap < 1e-4


def test_integer_weights_equal_repeated_samples():
    X, y = data("SVC", n=60, classes=2)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    rows = np.repeat(np.arange(60), weight)
    solver = LowRankInteriorPoint(approximation=SGMA(rank=60, tol=0), tol=1e-9)
    weighted = make("SVC", solver).fit(X, y, sample_weight=weight)
    repeated = make("SVC", solver).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("limit", [dict(max_iter=1), dict(max_time=1e-9)], ids=str)
def test_early_stop_is_reported(limit):
    X, y = data("SVC", classes=2)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model = hinge.SVC(solver=LowRankInteriorPoint(tol=1e-9, **limit)).fit(X, y)
    expected = hinge.Status.MAX_ITER if "max_iter" in limit else hinge.Status.TIME_LIMIT
    assert model.status_ is expected
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certify(X, y).gap > 0


def test_solver_by_name_uses_the_limits_of_the_estimator():
    X, y = data("SVC", classes=2)
    model = hinge.SVC(solver="low_rank_interior_point", n_jobs=2).fit(X, y)
    assert model.status_ is hinge.Status.SOLVED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert hinge.SVC(solver="low_rank_interior_point", max_iter=1).fit(X, y).status_ is hinge.Status.MAX_ITER


def test_unsupported_problems_are_rejected():
    X, y = data("SVC")
    with pytest.raises(ValueError, match="positive semidefinite"):
        hinge.SVC(kernel="sigmoid", solver="low_rank_interior_point").fit(X, y)
    with pytest.raises(ValueError, match="finite"):
        hinge.SVC(C=np.inf, solver="low_rank_interior_point").fit(X, y)
    with pytest.raises(ValueError, match="dtype"):
        LowRankInteriorPoint(dtype="float16")
