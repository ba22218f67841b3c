"""Tables of paths, arrays of parameter values, and weights of features agree with single values and certificates."""

import sys

import numpy as np
import pandas as pd
import pytest

import hinge

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(RNG.normal(size=(50, 3)), columns=["age", "income", "height"])
LABELS = np.where(FRAME["age"] - 0.5 * FRAME["height"] + 0.5 * RNG.normal(size=50) > 0, "yes", "no")
TARGETS = FRAME["age"].to_numpy() + 0.3 * RNG.normal(size=50)
GRADES = np.clip(np.round(FRAME["age"].to_numpy() + 1), 0, 2)

PATHS = {
    "C": lambda **k: hinge.regularization_path(FRAME, LABELS, C_min=0.01, C_max=10, **k),
    "regression": lambda **k: hinge.regularization_path(FRAME, TARGETS, C_min=0.01, C_max=10, task="regression", **k),
    "one class": lambda **k: hinge.nu_path(FRAME, nu_min=0.1, nu_max=0.9, task="one_class", **k),
    "nu": lambda **k: hinge.nu_path(FRAME, LABELS, nu_min=0.5, nu_max=0.8, **k),
    "theta": lambda **k: hinge.weight_path(FRAME, LABELS, np.ones(50), np.linspace(0, 2, 50), **k),
    "epsilon": lambda **k: hinge.epsilon_path(FRAME, TARGETS, epsilon_max=0.5, **k),
    "quadratic": lambda **k: hinge.quadratic_loss_path(FRAME, LABELS, loss="huberized_hinge", lambda_min=0.05, **k),
    "approximate": lambda **k: hinge.approximate_path(FRAME, LABELS, C_min=0.01, C_max=10, **k),
    "lp": lambda **k: hinge.lp_path(FRAME, LABELS, C_min=0.05, C_max=2.0, **k),
    "ranking": lambda **k: hinge.ranking_path(FRAME, GRADES, np.repeat(np.arange(5), 10), C=0.1, **k),
    "pairs": lambda **k: hinge.one_vs_one_paths(FRAME, np.arange(50) % 3, C_min=0.01, C_max=1.0, **k),
}  # fmt: skip
WITH_CERTIFICATE = ("C", "regression", "one class", "nu", "theta", "epsilon", "ranking")


def values_of(path):
    low, high = (path.lambda_min, path.lambda_max) if hasattr(path, "lambda_max") else (None, None)
    if low is None:
        low, high = (path.low, path.high) if hasattr(path, "low") else (path.breakpoints[0], path.breakpoints[-1])
    return np.linspace(low + 1e-3 * (high - low), high, 4)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_array_of_values_gives_the_results_of_its_values(name, kernel):
    path = PATHS[name](kernel=kernel)
    values = values_of(path)
    for method in ("alpha", "coefficients", "intercept", "gap_bound", "value", "places", "coef"):
        if hasattr(path, method) and not (method == "coef" and kernel == "rbf"):
            evaluate = getattr(path, method)
            np.testing.assert_allclose(evaluate(values), [evaluate(v) for v in values], rtol=1e-12, atol=1e-12)
    for method in ("decision_function", "decision_values", "predict"):
        if hasattr(path, method):
            evaluate = getattr(path, method)
            together, single = evaluate(FRAME, values), np.array([evaluate(FRAME, v) for v in values])
            assert together.shape == single.shape
            if together.dtype.kind == "f":
                np.testing.assert_allclose(together, single, rtol=1e-9, atol=1e-9)
            else:
                np.testing.assert_array_equal(together, single)
    if hasattr(path, "model"):
        models = path.model(values)
        assert len(models) == len(values)
        assert type(models[0]) is type(path.model(values[0]))
    with pytest.raises(ValueError, match="one-dimensional array"):
        path.predict(FRAME, np.ones((2, 2)))


@pytest.mark.parametrize("name", WITH_CERTIFICATE)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_table_has_the_values_of_the_certificate(name, kernel):
    path = PATHS[name](kernel=kernel)
    frame = path.to_frame()
    assert frame.index.name == path.parameter
    np.testing.assert_array_equal(frame.index, path.breakpoints)
    K = path.kernel(path.X)
    for theta, row in list(frame.iterrows())[:: max(1, len(frame) // 7)]:
        certificate, beta = path.certificate(theta), path.coefficients(theta)
        np.testing.assert_allclose(row["objective"], certificate.primal, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(row["norm"], np.sqrt(max(beta @ K @ beta, 0.0)), rtol=1e-6, atol=1e-6)
        assert row["support"] == np.count_nonzero(beta)
        variables = 50 if name != "ranking" else len(path.first)
        assert row["outside"] + row["margin"] + row["inside"] == variables
        if name != "ranking":
            assert [row["outside"], row["margin"], row["inside"]] == [len(s) for s in path.index_sets(theta)]
            assert row["intercept"] == path.intercept(theta)
        if kernel == "linear":
            weights = row[["coef_age", "coef_income", "coef_height"]].to_numpy(float)
            np.testing.assert_allclose(weights, beta @ path.X, atol=1e-12)
        else:
            np.testing.assert_array_equal(row[[f"beta_{i}" for i in range(50)]].to_numpy(float), beta)


def test_the_objective_of_a_quadratic_loss_path_is_the_primal_value():
    path = PATHS["quadratic"](kernel="rbf")
    frame = path.to_frame()
    for lam, row in list(frame.iterrows())[:: max(1, len(frame) // 5)]:
        beta, alpha = path.coefficients(lam), path.alpha(lam)
        K = path.kernel(path.X)
        dual = path.rho * alpha.sum() - 0.5 * alpha @ alpha - 0.5 * lam * beta @ K @ beta
        np.testing.assert_allclose(row["objective"], dual, rtol=1e-8)
        assert [row["outside"], row["margin"], row["inside"]] == np.bincount(path.places(lam), minlength=3).tolist()


def test_the_objective_of_an_approximate_path_is_within_the_gap():
    path, exact = PATHS["approximate"](kernel="rbf"), PATHS["C"](kernel="rbf")
    frame = path.to_frame(np.geomspace(0.01, 10, 9))
    optimum = exact.to_frame(frame.index)["objective"].to_numpy()
    assert np.all(frame["objective"] >= optimum * (1 - 1e-9))
    assert np.all(frame["objective"] - optimum <= frame["gap"] * frame["objective"] + 1e-9)


def test_the_table_of_a_linear_programming_path():
    path = PATHS["lp"](kernel="rbf")
    frame = path.to_frame()
    np.testing.assert_allclose(frame["objective"], frame["penalty"] + frame.index * frame["loss"])
    for C, row in frame.iterrows():
        a = path.coefficients(C)
        margins = np.where(LABELS == "yes", 1, -1) * path.decision_function(FRAME, C)
        assert row["inside"] == np.sum(margins < 1 - 1e-6)
        assert row["outside"] == np.sum(margins > 1 + 1e-6)
        assert row["support"] == np.count_nonzero(a)
        np.testing.assert_allclose(row["penalty"], np.abs(a).sum())


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_table_of_a_lasso_path(fit_intercept):
    weights = np.array([1.0, 0.0, 2.0])
    path = hinge.lasso_path(FRAME, TARGETS, weights=weights, fit_intercept=fit_intercept)
    other = hinge.lasso_weight_path(FRAME, TARGETS, weights, 2 * weights, fit_intercept=fit_intercept, lam=3.0)
    for frame, costs in (
        (path.to_frame(), [lam * weights for lam in path.breakpoints]),
        (other.to_frame([0.0, 0.4, 1.0]), [3.0 * weights * (1 + t) for t in (0.0, 0.4, 1.0)]),
    ):
        for (_, row), cost in zip(frame.iterrows(), costs, strict=True):
            w = row[["coef_age", "coef_income", "coef_height"]].to_numpy(float)
            residual = TARGETS - FRAME.to_numpy() @ w - row["intercept"]
            np.testing.assert_allclose(row["objective"], 0.5 * residual @ residual + cost @ np.abs(w), rtol=1e-9)
            assert row["nonzero"] == np.count_nonzero(w)
    np.testing.assert_array_equal(path.feature_names_in_, FRAME.columns)
    np.testing.assert_allclose(path.predict(FRAME, path.breakpoints[:3])[2], path.predict(FRAME, path.breakpoints[2]))


def test_pairs_are_levels_of_the_index():
    paths = PATHS["pairs"](kernel="linear")
    frame = paths.to_frame()
    assert frame.index.names == ["first", "second", "C"]
    pd.testing.assert_frame_equal(frame.loc[0, 2], paths[0, 2].to_frame())
    assert paths.coef(0.5).shape == (3, 3)
    assert paths.coef([0.1, 0.5]).shape == (2, 3, 3)
    np.testing.assert_array_equal(paths.feature_names_in_, FRAME.columns)


def test_long_tables_are_computed_in_blocks():
    path = PATHS["C"](kernel="rbf")
    values = np.geomspace(0.01, 10, 600)
    frame = path.to_frame(values, coefficients=False)
    assert list(frame.columns) == ["objective", "norm", "intercept", "outside", "margin", "inside", "support"]
    again = path.to_frame(values[300:301], coefficients=False)
    np.testing.assert_allclose(frame.iloc[300], again.iloc[0], rtol=1e-12)


def test_models_have_weights_and_feature_names(tmp_path):
    path = PATHS["C"](kernel="linear")
    model = path.model(2.0)
    np.testing.assert_allclose(model.coef_, [path.coef(2.0)])
    np.testing.assert_array_equal(model.intercept_, [path.intercept(2.0)])
    svc = hinge.SVC(C=2.0, kernel="linear", tol=1e-8).fit(FRAME, LABELS)
    np.testing.assert_allclose(model.coef_, svc.coef_, atol=1e-5)
    hinge.save(path, tmp_path / "path.hinge")
    hinge.save(model, tmp_path / "model.hinge")
    files = (tmp_path / "path.hinge", tmp_path / "model.hinge")
    for loaded in (*map(hinge.load, files), path.model([1.0, 2.0])[0]):
        np.testing.assert_array_equal(loaded.feature_names_in_, FRAME.columns)
    for function in (model.predict, lambda X: path.predict(X, 2.0)):
        with pytest.raises(ValueError, match="another order"):
            function(FRAME[["income", "age", "height"]])
        with pytest.raises(ValueError, match="missing"):
            function(FRAME.rename(columns={"age": "years"}))
        np.testing.assert_array_equal(function(FRAME), function(FRAME.to_numpy()))


def test_weights_need_the_linear_kernel_and_names_a_data_frame():
    path = hinge.regularization_path(FRAME.to_numpy(), LABELS, C_min=0.1, C_max=1.0)
    with pytest.raises(AttributeError, match="kernel='linear'"):
        path.coef(0.5)
    assert not hasattr(path, "feature_names_in_")
    assert not hasattr(path.model(0.5), "coef_")


def test_sparse_data_have_dense_weights():
    from scipy.sparse import csr_array

    sparse = hinge.regularization_path(csr_array(FRAME.to_numpy()), LABELS, kernel="linear", C_min=0.1, C_max=1.0)
    dense = hinge.regularization_path(FRAME.to_numpy(), LABELS, kernel="linear", C_min=0.1, C_max=1.0)
    np.testing.assert_allclose(sparse.coef([0.2, 0.7]), dense.coef([0.2, 0.7]), atol=1e-9)
    np.testing.assert_allclose(sparse.model(0.5).coef_, dense.model(0.5).coef_, atol=1e-9)


def test_without_pandas_the_error_states_the_remedy(monkeypatch):
    path = PATHS["C"](kernel="linear")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        path.to_frame()
