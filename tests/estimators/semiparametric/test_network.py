"""`RegularizationNetwork` agrees with its primal problem in the coefficients; SVR tutorial (64)–(67)."""

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.kernels import RBF, Laplacian, Linear
from reference.data_sets import regression_data

GAMMA = 0.5
GAMMAS = {"sinc": 500.0}  # one feature: wide kernels have a matrix of small rank


def not_invariant(estimator):
    """Two equal samples share their coefficient, so that ½‖α‖² depends on repetitions; ½αᵀKα does not."""
    if estimator.regularizer != "identity":
        return {}
    reason = "the penalty ½‖α‖² depends on repetitions of samples"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [hinge.RegularizationNetwork(), hinge.RegularizationNetwork(regularizer=None, tol=1e-6)],
    expected_failed_checks=not_invariant,
)
def test_common_checks(estimator, check):
    check(estimator)


def solve_primal(K, D, y, C, epsilon, functions):
    """min ½αᵀDα + C Σ(ξ + ξ*) over α, c and the slacks, by Clarabel: optimum and f."""
    n, m = len(y), functions.shape[1]
    P = sparse.block_diag([sparse.csc_matrix(np.triu(D)), sparse.csc_matrix((m + 2 * n, m + 2 * n))]).tocsc()
    q = np.r_[np.zeros(n + m), np.full(2 * n, C)]
    design = np.hstack([K, functions])
    eye, zero = sparse.eye(n), sparse.csc_matrix((n, n))
    A = sparse.vstack([
        sparse.hstack([-design, -eye, zero]), sparse.hstack([design, zero, -eye]),
        sparse.hstack([sparse.csc_matrix((2 * n, n + m)), -sparse.eye(2 * n)]),
    ]).tocsc()  # fmt: skip
    b = np.r_[epsilon - y, epsilon + y, np.zeros(2 * n)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    found = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(4 * n)], options).solve()
    x = np.array(found.x)
    return found.obj_val, K @ x[:n] + functions @ x[n : n + m]


def objective(model, K, D, X, y, C, epsilon):
    """The primal objective at the coefficients of the model."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    return 0.5 * alpha @ D @ alpha + C * np.sum(np.maximum(0, np.abs(y - model.predict(X)) - epsilon))


@pytest.mark.parametrize("regularizer", ["identity", "values", "laplacian", "wide"])
@pytest.mark.parametrize("data", regression_data())
def test_agreement_with_the_primal_problem(data, regularizer):
    X, y = regression_data()[data]
    X, y, gamma = X[:60], y[:60], GAMMAS.get(data, GAMMA)
    K, C, epsilon = RBF(gamma)(X), 2.0, 0.1
    D = {"identity": np.eye(len(y)), "values": K @ K, "laplacian": Laplacian(0.3)(X), "wide": np.diag(1 + y**2)}
    chosen = {"laplacian": Laplacian(0.3), "wide": D["wide"]}.get(regularizer, regularizer)
    model = hinge.RegularizationNetwork(C=C, epsilon=epsilon, gamma=gamma, regularizer=chosen).fit(X, y)
    optimum, f = solve_primal(K, D[regularizer], y, C, epsilon, np.ones((len(y), 1)))
    certificate = model.certificate_
    assert model.status_ == hinge.Status.SOLVED
    assert certificate.relative_gap <= 1e-6
    assert certificate.primal == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(model.predict(X), f, atol=1e-5 if regularizer == "values" else 1e-6)
    assert objective(model, K, D[regularizer], X, y, C, epsilon) == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert model.certify(X, y).relative_gap <= 1e-6


@pytest.mark.parametrize("data", regression_data())
def test_the_norm_of_the_kernel_gives_svr(data):
    """D = K, Prop. 1 of the SVR tutorial; also if D is passed as a kernel."""
    X, y = regression_data()[data]
    plain = hinge.SVR(C=2.0, gamma=GAMMA, tol=1e-10).fit(X, y)
    for regularizer in (None, RBF(GAMMA)):
        model = hinge.RegularizationNetwork(C=2.0, gamma=GAMMA, regularizer=regularizer, tol=1e-10).fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-6)


def test_the_square_loss_gives_the_classical_network():
    """With ½r² the solution satisfies the linear equations of Girosi, Jones and Poggio."""
    X, y = regression_data()["friedman"]
    K, C, D = RBF(GAMMA)(X), 5.0, np.eye(len(y))
    model = hinge.RegularizationNetwork(C=C, gamma=GAMMA, loss="gaussian").fit(X, y)
    n = len(y)
    system = np.block([[D + C * K.T @ K, C * K.T @ np.ones((n, 1))], [C * np.ones((1, n)) @ K, np.full((1, 1), C * n)]])
    solution = np.linalg.solve(system, C * np.r_[K.T @ y, np.sum(y)])
    np.testing.assert_allclose(model.predict(X), K @ solution[:n] + solution[n], atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_[0], solution[model.support_], atol=1e-6)


def test_functions_of_the_null_space_have_no_penalty():
    """Three coefficients have no penalty."""
    X, y = regression_data()["linnerud"]
    n = len(y)
    K, D = RBF(GAMMA)(X), np.diag(np.r_[np.zeros(3), np.ones(n - 3)])
    model = hinge.RegularizationNetwork(C=1.0, epsilon=0.05, gamma=GAMMA, regularizer=D).fit(X, y)
    optimum, _ = solve_primal(K, D, y, 1.0, 0.05, np.ones((n, 1)))
    assert optimum > 1
    assert objective(model, K, D, X, y, 1.0, 0.05) == pytest.approx(optimum, abs=1e-6)
    assert model.status_ == hinge.Status.SOLVED


def test_linear_functions_and_a_linear_regularizer():
    X, y = regression_data()["sparse linear"]
    K, D = RBF(GAMMA)(X), Linear()(X) + np.eye(len(y))
    model = hinge.RegularizationNetwork(C=1.0, gamma=GAMMA, regularizer=D, functions="linear").fit(X, y)
    optimum, _ = solve_primal(K, D, y, 1.0, 0.1, np.hstack([np.ones((len(y), 1)), X]))
    assert objective(model, K, D, X, y, 1.0, 0.1) == pytest.approx(optimum, rel=1e-6, abs=1e-7)


def test_weights_matrices_and_files(tmp_path):
    X, y = regression_data()["sinc"]
    weight = np.random.default_rng(0).integers(0, 2, size=len(y)).astype(float)
    rows = np.flatnonzero(weight)
    D = np.diag(1.0 + np.arange(len(y)) / 10)
    part = hinge.RegularizationNetwork(gamma=1.0, regularizer=D[np.ix_(rows, rows)]).fit(X[rows], y[rows])
    weighted = hinge.RegularizationNetwork(gamma=1.0, regularizer=D).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.predict(X), part.predict(X), atol=1e-8)
    assert weighted.certify(X, y, sample_weight=weight).relative_gap < 1e-6
    K = RBF(1.0)(X)
    matrix = hinge.RegularizationNetwork(kernel="precomputed", regularizer=D).fit(K, y)
    plain = hinge.RegularizationNetwork(gamma=1.0, regularizer=D).fit(X, y)
    np.testing.assert_allclose(matrix.predict(K), plain.predict(X), atol=1e-6)
    hinge.save(plain, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.predict(X), plain.predict(X))
    assert loaded.certify(X, y).primal == plain.certify(X, y).primal


def test_invalid_arguments_are_rejected():
    X, y = regression_data()["linnerud"]
    n = len(y)
    with pytest.raises(ValueError, match="regularizer='norm' must be one of"):
        hinge.RegularizationNetwork(regularizer="norm").fit(X, y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        hinge.RegularizationNetwork(regularizer=-np.eye(n)).fit(X, y)
    with pytest.raises(ValueError, match=rf"pass \({n}, {n}\)"):
        hinge.RegularizationNetwork(regularizer=np.eye(3)).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        hinge.RegularizationNetwork(regularizer=np.full((n, n), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match="symmetric"):
        hinge.RegularizationNetwork(regularizer=np.triu(np.ones((n, n)))).fit(X, y)
    with pytest.raises(ValueError, match="pass the matrix"):
        hinge.RegularizationNetwork(kernel="precomputed", regularizer=RBF(1.0)).fit(np.eye(n), y)
