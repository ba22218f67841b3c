"""`SemiparametricSVR` and `SemiparametricSVC` agree with their primal problems; LwK 10.3.1."""

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.kernels import RBF
from reference.data_sets import binary_data, regression_data

GAMMA = 0.2


def not_unique(estimator):
    """The data of these checks have 15 samples and 10 features: linear functions alone fit them, in many ways."""
    if estimator.functions == "constant":
        return {}
    reason = "the solution is not unique if the functions alone have no error"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        hinge.SemiparametricSVR(),
        hinge.SemiparametricSVC(),
        hinge.SemiparametricSVR(functions="constant", tol=1e-6),
        hinge.SemiparametricSVC(functions="constant", tol=1e-6),
    ],
    expected_failed_checks=not_unique,
)
def test_common_checks(estimator, check):
    check(estimator)


def solve_primal(F, functions, rows, right, cost):
    """min ½‖v‖² + cost·ξ, rows (F v + functions c) + ξ ≥ right, ξ ≥ 0; return the optimum, f and c."""
    n, r, m = len(F), F.shape[1], functions.shape[1]
    slack = len(right)
    P = sparse.diags(np.r_[np.ones(r), np.zeros(m + slack)]).tocsc()
    q = np.r_[np.zeros(r + m), cost]
    design = rows @ np.hstack([F, functions])
    A = sparse.vstack([
        sparse.hstack([-sparse.csc_matrix(design), -sparse.eye(slack)]),
        sparse.hstack([sparse.csc_matrix((slack, r + m)), -sparse.eye(slack)]),
    ]).tocsc()  # fmt: skip
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(2 * slack)]
    found = clarabel.DefaultSolver(P, q, A, np.r_[-right, np.zeros(slack)], cones, options).solve()
    x = np.array(found.x)
    assert n == len(functions)
    return found.obj_val, F @ x[:r] + functions @ x[r : r + m], x[r : r + m]


def factor(K):
    value, vector = np.linalg.eigh(K)
    return vector * np.sqrt(np.maximum(value, 0.0))


def psi(X, functions):
    columns = [np.ones((len(X), 1)), X]
    if functions == "quadratic":
        i, j = np.triu_indices(X.shape[1])
        columns.append(X[:, i] * X[:, j])
    return np.hstack(columns[: 1 if functions == "constant" else None])


@pytest.mark.parametrize("functions", ["constant", "linear"])
@pytest.mark.parametrize("data", regression_data())
def test_regression_agrees_with_the_primal_problem(data, functions):
    X, y = regression_data()[data]
    C, epsilon = 2.0, 0.1
    model = hinge.SemiparametricSVR(C=C, epsilon=epsilon, gamma=GAMMA, functions=functions).fit(X, y)
    n, values = len(y), psi(X, functions)
    rows = np.vstack([np.eye(n), -np.eye(n)])
    right = np.r_[y - epsilon, -y - epsilon]
    optimum, f, _ = solve_primal(factor(RBF(GAMMA)(X)), values, rows, right, np.full(2 * n, C))
    certificate = model.certificate_
    assert model.status_ == hinge.Status.SOLVED
    assert certificate.dual <= optimum * (1 + 1e-8) + 1e-8
    assert certificate.primal >= optimum * (1 - 1e-8) - 1e-8
    assert certificate.gap <= 1e-8 * max(1.0, optimum)
    if optimum > 1e-6:  # otherwise the functions alone fit the data, in many ways
        np.testing.assert_allclose(model.predict(X), f, atol=1e-6)
    assert model.certify(X, y).gap <= 1e-8 * max(1.0, optimum)


@pytest.mark.parametrize("data", binary_data())
def test_classification_agrees_with_the_primal_problem(data):
    X, y = binary_data()[data]
    C = 3.0
    model = hinge.SemiparametricSVC(C=C, gamma=GAMMA).fit(X, y)
    optimum, _, _ = solve_primal(
        factor(RBF(GAMMA)(X)), psi(X, "linear"), np.diag(y), np.ones(len(y)), np.full(len(y), C)
    )
    certificate = model.certify(X, y)
    assert model.status_ == hinge.Status.SOLVED
    assert certificate.dual - 1e-7 <= optimum <= certificate.primal + 1e-7
    assert certificate.gap <= 1e-7 * max(1.0, optimum)
    f = model.decision_function(X)
    K = RBF(GAMMA)(X)[:, model.support_]
    np.testing.assert_allclose(f, K @ model.dual_coef_[0] + psi(X, "linear") @ model.function_coef_[0], atol=1e-9)
    penalty = 0.5 * model.dual_coef_[0] @ K[model.support_] @ model.dual_coef_[0]
    assert penalty + C * np.sum(np.maximum(0, 1 - y * f)) == pytest.approx(optimum, rel=1e-7, abs=1e-7)


def test_one_constant_function_is_the_offset_of_other_estimators():
    X, y = regression_data()["friedman"]
    model = hinge.SemiparametricSVR(C=2.0, gamma=0.1, functions="constant", tol=1e-10).fit(X, y)
    plain = hinge.SVR(C=2.0, gamma=0.1, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-7)
    assert model.function_coef_[0, 0] == pytest.approx(plain.intercept_[0], abs=1e-7)


def test_every_scaling_and_shift_of_the_functions_gives_the_same_model():
    X, y = regression_data()["friedman"]
    reference = hinge.SemiparametricSVR(C=2.0, gamma=0.1).fit(X, y).predict(X)
    scaled = hinge.SemiparametricSVR(
        C=2.0, gamma=0.1, functions=lambda X: np.hstack([np.ones((len(X), 1)), 1e6 * X + 3.0])
    ).fit(X, y)
    np.testing.assert_allclose(scaled.predict(X), reference, atol=1e-6)


def test_a_trend_of_the_functions_is_not_penalized():
    """Adding a multiple of ψ to the targets adds it to the prediction."""
    X, y = regression_data()["sinc"]
    model = hinge.SemiparametricSVR(C=1.0, gamma=1.0).fit(X, y)
    tilted = hinge.SemiparametricSVR(C=1.0, gamma=1.0).fit(X, y + 7 * X[:, 0] - 2)
    np.testing.assert_allclose(tilted.predict(X), model.predict(X) + 7 * X[:, 0] - 2, atol=1e-6)


def test_losses_costs_and_tubes_are_those_of_svr():
    X, y = regression_data()["diabetes"]
    for options in (dict(loss="huber"), dict(loss="gaussian"), dict(C=(1.0, 3.0), epsilon=(0.1, 0.3))):
        model = hinge.SemiparametricSVR(**{"gamma": 0.1, "functions": "constant", **options}).fit(X, y)
        plain = hinge.SVR(**{"gamma": 0.1, "tol": 1e-9, **options}).fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-6)


def test_dependent_functions_have_the_coefficient_zero():
    X, y = regression_data()["diabetes"]
    doubled = np.hstack([X, X[:, :2], np.full((len(X), 1), 4.0)])
    model = hinge.SemiparametricSVR(kernel=RBF(0.1)).fit(doubled, y)
    d = X.shape[1]
    np.testing.assert_array_equal(model.function_coef_[0, 1 + d :], 0.0)
    assert model.certificate_.relative_gap < 1e-8


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 25),
    d=st.integers(1, 6),
    C=st.sampled_from([1e-3, 1.0, 1e3]),
    ties=st.booleans(),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_certificates_enclose_the_optimum_of_unusual_data(seed, n, d, C, ties, scale):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(n, d)).astype(float) if ties else rng.normal(size=(n, d))
    y = scale * (rng.integers(-2, 3, size=n) if ties else rng.normal(size=n))
    epsilon = 0.1 * scale
    model = hinge.SemiparametricSVR(C=C, epsilon=epsilon, gamma=0.5).fit(X, y)
    found, used = model.certificate_, model.function_coef_[0] != 0
    rows, right = np.vstack([np.eye(n), -np.eye(n)]), np.r_[y - epsilon, -y - epsilon]
    optimum, _, _ = solve_primal(factor(RBF(0.5)(X)), psi(X, "linear"), rows, right, np.full(2 * n, C))
    slack = 1e-6 * (abs(optimum) + C * epsilon * n)
    assert found.dual <= optimum + slack
    assert found.primal >= optimum - slack
    assert model.status_ == hinge.Status.SOLVED
    assert used.dtype == bool


@pytest.mark.parametrize("estimator", [hinge.SemiparametricSVR, hinge.SemiparametricSVC])
def test_weights_are_repetitions_and_zero_leaves_a_sample_out(estimator):
    X, y = binary_data()["moons"]
    weight = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = estimator(gamma=1.0).fit(X, y, sample_weight=weight)
    repeated = estimator(gamma=1.0).fit(X[rows], y[rows])
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)
    assert weighted.certify(X, y, sample_weight=weight).gap <= 1e-6


def test_sparse_precomputed_and_saved_models_agree(tmp_path):
    X, y = binary_data()["wine"]
    dense = hinge.SemiparametricSVC(gamma=0.1).fit(X, y)
    values = dense.decision_function(X)
    thin = hinge.SemiparametricSVC(gamma=0.1).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_matrix(X)), values, atol=1e-6)
    K = RBF(0.1)(X)
    matrix = hinge.SemiparametricSVC(kernel="precomputed", functions="constant").fit(K, y)
    constant = hinge.SemiparametricSVC(gamma=0.1, functions="constant").fit(X, y)
    np.testing.assert_allclose(matrix.decision_function(K), constant.decision_function(X), atol=1e-6)
    hinge.save(dense, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.decision_function(X), values)
    assert loaded.certify(X, y).primal == dense.certify(X, y).primal


def test_several_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.argmax(X + 0.3 * rng.normal(size=X.shape), axis=1)
    model = hinge.SemiparametricSVC(gamma=0.3).fit(X, y)
    for k in range(3):
        single = hinge.SemiparametricSVC(gamma=0.3).fit(X, y == k)
        np.testing.assert_allclose(model.decision_function(X)[:, k], single.decision_function(X), atol=1e-6)
    assert model.score(X, y) > 0.8


def test_explanations_include_the_functions():
    X, y = regression_data()["diabetes"]
    model = hinge.SemiparametricSVR(gamma=0.1).fit(X, y)
    found = hinge.inspection.shapley_values(model, X[:3], X[10:20])
    total = np.sum(found.values, axis=1) + found.base_values
    np.testing.assert_allclose(total, model.predict(X[:3]), atol=1e-8)
    quadratic = hinge.SemiparametricSVR(gamma=0.1, functions="quadratic").fit(X, y)
    with pytest.raises(TypeError, match="functions='quadratic'"):
        hinge.inspection.shapley_values(quadratic, X[:3], X[10:20])


def test_invalid_arguments_are_rejected():
    X, y = regression_data()["linnerud"]
    with pytest.raises(ValueError, match="functions='cubic' must be one of"):
        hinge.SemiparametricSVR(functions="cubic").fit(X, y)
    with pytest.raises(ValueError, match=r"functions\(X\) has shape"):
        hinge.SemiparametricSVR(functions=lambda X: np.ones((3, 2))).fit(X, y)
    with pytest.raises(ValueError, match="not finite"):
        hinge.SemiparametricSVR(functions=lambda X: np.full(len(X), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        hinge.SemiparametricSVR(kernel="precomputed").fit(np.eye(len(y)), y)
    with pytest.raises(ValueError, match="equality rows"):
        hinge.SemiparametricSVR(solver="smo").fit(X, y)
    with pytest.raises(ValueError, match="epsilon"):
        hinge.SemiparametricSVR(epsilon=-1.0).fit(X, y)
    with pytest.raises(TypeError, match="Python function"):
        hinge.save(hinge.SemiparametricSVR(functions=lambda X: X).fit(X, y), "unused.hinge")
    with pytest.raises(ValueError, match="semiparametric"):
        hinge.conformal.JackknifePlus(hinge.SemiparametricSVR()).fit(X, y)


@pytest.mark.parametrize("cls", [hinge.SemiparametricSVC, hinge.SemiparametricSVR])
def test_other_functions_than_at_fit_are_refused(cls):
    X = np.random.default_rng(0).normal(size=(20, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    model = cls(functions="linear").fit(X, y).set_params(functions="quadratic")
    with pytest.raises(ValueError, match="function_coef_ has 3 columns, but functions='quadratic' are 6"):
        model.certify(X, y)
