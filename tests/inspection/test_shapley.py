"""Exact Shapley values, compared with the definition: the sum over all coalitions."""

import sys
import warnings
from collections import namedtuple
from itertools import combinations
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hinge
from hinge.inspection import shapley_values
from hinge.kernels import RBF, BSpline, Laplacian, Linear, Polynomial, ProductBSpline, Sigmoid


def coalition_values(f, x, background, members):
    """Mean of f over the background for every coalition, a bit mask of groups; `members` are their features."""
    G = len(members)
    rows = np.repeat(background[None], 2**G, axis=0)
    for mask in range(2**G):
        for g in range(G):
            if mask >> g & 1:
                rows[mask][:, members[g]] = x[members[g]]
    flat = rows.reshape(-1, rows.shape[2])
    return f(flat).reshape(2**G, len(background), -1).mean(axis=1)


def enumerated(f, x, background, members=None):
    """Shapley values and interaction indices by enumeration."""
    d = len(x)
    members = [[j] for j in range(d)] if members is None else members
    G = len(members)
    v = coalition_values(f, x, background, members)
    values, pairs = np.zeros((G, v.shape[1])), np.zeros((G, G, v.shape[1]))
    for mask in range(2**G):
        size = mask.bit_count()
        for g in range(G):
            if not mask >> g & 1:
                weight = factorial(size) * factorial(G - size - 1) / factorial(G)
                values[g] += weight * (v[mask | 1 << g] - v[mask])
        for g, h in combinations(range(G), 2):
            if not (mask >> g & 1 or mask >> h & 1):
                weight = factorial(size) * factorial(G - size - 2) / factorial(G - 1)
                pairs[g, h] += weight * (v[mask | 1 << g | 1 << h] - v[mask | 1 << g] - v[mask | 1 << h] + v[mask])
    return values, pairs + pairs.transpose(1, 0, 2)


def regression(rng, n=40, d=6):
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1 % d] * X[:, 2 % d] + 0.1 * rng.normal(size=n)


KERNELS = [
    RBF(0.3),
    RBF(5.0),
    Laplacian(0.2),
    Linear(),
    Polynomial(3, 0.5, 1.0),
    Polynomial(2, 0.5, 0.0),
    Polynomial(1, 0.5, 1.0),
    Polynomial(0, 0.5, 1.0),
    Polynomial(7, 0.1, 1.0),
    RBF(0.2) + 2 * Linear(),
    RBF(0.2) * Laplacian(0.1),
    RBF(0.2) * Polynomial(2, 0.5, 1.0),
    Polynomial(2, 0.5, 1.0) * Linear() + 0.3 * Laplacian(0.5),
    Polynomial(2, 0.5, 1.0) * Polynomial(1, 0.5, 1.0),
    RBF(0.0),
    ProductBSpline(1, 0.1),
    ProductBSpline(3, 0.3),
    ProductBSpline(3, 5.0),  # most kernel values are zero
    ProductBSpline(5, 0.1) * Laplacian(0.1) + ProductBSpline(3, 0.1) * Polynomial(2, 0.5, 1.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 2, 6])
def test_values_and_interactions_equal_enumeration(kernel, d):
    rng = np.random.default_rng(d)
    X, y = regression(rng, d=d)
    model = hinge.SVR(C=3.0, kernel=kernel, tol=1e-6).fit(X, y)
    rows, background = rng.normal(size=(3, d)), X[:4]
    found = shapley_values(model, rows, background, interactions=True)
    for i, x in enumerate(rows):
        values, pairs = enumerated(model.predict, x, background)
        scale = 1 + np.abs(model.predict(rows)).max()
        assert_allclose(found.values[i], values[:, 0], atol=1e-12 * scale)
        off = ~np.eye(d, dtype=bool)
        assert_allclose(found.interactions[i][off], 0.5 * pairs[off][:, 0], atol=1e-12 * scale)
    assert_allclose(found.interactions.sum(axis=2), found.values, atol=1e-12 * scale)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 30.0])
def test_twelve_features_equal_enumeration(gamma):
    rng = np.random.default_rng(0)
    X, y = regression(rng, n=30, d=12)
    model = hinge.SVR(C=3.0, gamma=gamma).fit(X, y)
    rows, background = X[:2] + 0.1, X[5:8]
    found = shapley_values(model, rows, background)
    for i, x in enumerate(rows):
        assert_allclose(found.values[i], enumerated(model.predict, x, background)[0][:, 0], atol=1e-13)


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_spline_of_one_feature(degree):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(30, 1))
    model = hinge.SVR(kernel=BSpline(degree, 1.0), C=5.0).fit(X, np.sin(X[:, 0]))
    found = shapley_values(model, X[:4], X[10:20])
    assert_allclose(found.values[:, 0], model.predict(X[:4]) - model.predict(X[10:20]).mean(), atol=1e-14)
    both = hinge.SVR(kernel=BSpline(degree, 1.0) * RBF(0.2), C=5.0).fit(X, np.sin(X[:, 0]))
    found = shapley_values(both, X[:4], X[10:20])
    assert_allclose(found.values[:, 0], both.predict(X[:4]) - both.predict(X[10:20]).mean(), atol=1e-14)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(3, 0.5, 1.0), Linear()], ids=repr)
def test_groups_equal_enumeration_over_groups(kernel):
    rng = np.random.default_rng(1)
    X, y = regression(rng)
    model = hinge.SVR(C=3.0, kernel=kernel).fit(X, y)
    found = shapley_values(model, X[:2], X[10:14], groups=["b", "a", "b", "c", "a", "a"])
    assert found.feature_names.tolist() == ["b", "a", "c"]
    for i in range(2):
        values, _ = enumerated(model.predict, X[i], X[10:14], [[0, 2], [1, 4, 5], [3]])
        assert_allclose(found.values[i], values[:, 0], atol=1e-12)
    named = shapley_values(model, X[:2], X[10:14], groups={"b": [0, 2], "a": [1, 4, 5]})
    assert named.feature_names.tolist() == ["b", "a", 3]
    assert_array_equal(named.values, found.values)
    assert np.isnan(named.group_data()[:, :2]).all()
    assert_array_equal(named.group_data()[:, 2], X[:2, 3])


def classes_data(rng, classes=4):
    X = rng.normal(size=(80, 5))
    return X, np.array(["p", "q", "r", "s"])[np.argmax(X[:, :classes], axis=1)]


def test_several_classes():
    rng = np.random.default_rng(2)
    X, y = classes_data(rng)
    model = hinge.SVC(C=3.0, gamma=0.3, decision_function_shape="ovo").fit(X, y)
    pairs = shapley_values(model, X[:3], X[20:25], output="pairs")
    assert pairs.values.shape == (3, 5, 6)
    assert pairs.output_names.tolist() == list(combinations(["p", "q", "r", "s"], 2))
    for i in range(3):
        assert_allclose(pairs.values[i], enumerated(model.decision_function, X[i], X[20:25])[0], atol=1e-12)
    classes = shapley_values(model, X[:3], X[20:25])
    expected = (-pairs.of(("p", "r")).values - pairs.of(("q", "r")).values + pairs.of(("r", "s")).values) / 3
    assert_allclose(classes.of("r").values, expected, atol=1e-13)
    assert classes.of("r").base_values == classes.base_values[2]


MODELS = [
    hinge.SVC(C=2.0),
    hinge.NuSVC(nu=0.3),
    hinge.LinearSVC(),
    hinge.LowRankSVC(),
    hinge.LPSVC(),
    hinge.IncrementalSVC(),
    hinge.OnlineSVC(gamma=0.5),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_classifier_is_additive(model, classes):
    X, y = classes_data(np.random.default_rng(3), classes)
    model = model.fit(X, y)
    found = shapley_values(model, X[:7], X[30:50])
    total = found.values.sum(axis=1) + found.base_values
    if classes == 2:
        assert_allclose(total, model.decision_function(X[:7]), rtol=1e-12, atol=1e-13)
    elif hasattr(model, "decision_function_shape"):
        assert total.shape == (7, 3)
        assert_allclose(total.sum(axis=1), 0.0, atol=1e-12)
    else:
        assert_allclose(total, model.decision_function(X[:7]), rtol=1e-12, atol=1e-13)


OTHERS = [
    hinge.SVR(kernel="poly"), hinge.NuSVR(), hinge.LinearSVR(), hinge.LPSVR(), hinge.IncrementalSVR(),
    hinge.OnlineSVR(gamma=0.5), hinge.OneClassSVM(nu=0.2), hinge.OnlineNoveltyDetector(gamma=0.5),
]  # fmt: skip


@pytest.mark.parametrize("model", OTHERS, ids=lambda model: type(model).__name__)
def test_every_other_estimator_is_additive(model):
    X, y = regression(np.random.default_rng(4))
    model = model.fit(X, y)
    found = shapley_values(model, X[:7], X[30:40])
    total = found.values.sum(axis=1) + found.base_values
    values = model.decision_function(X[:7]) if hasattr(model, "decision_function") else model.predict(X[:7])
    assert_allclose(total, values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 1e-1, 10.0])
def test_many_features_are_additive(gamma):
    """Fewer nodes than half the number of features are used, without a loss of accuracy."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 300))
    model = hinge.SVR(C=10.0, gamma=gamma).fit(X, X[:, 0])
    found = shapley_values(model, X[:5], X[10:20])
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(X[:5]), rtol=1e-12, atol=1e-13)


def test_one_dominant_feature_among_many():
    """The integrand is close to a power of t, for which few nodes would not suffice."""
    rng = np.random.default_rng(6)
    X = 1e-3 * rng.normal(size=(20, 60))
    X[:, :12] *= 6e3
    model = hinge.SVR(C=10.0, gamma=0.5, epsilon=0.01).fit(X, X[:, 0])
    found = shapley_values(model, X[:3], X[10:13], groups=np.minimum(np.arange(60), 12))
    for i in range(3):
        values, _ = enumerated(model.predict, X[i], X[10:13], [[j] for j in range(12)] + [list(range(12, 60))])
        assert_allclose(found.values[i], values[:, 0], rtol=1e-11, atol=1e-12)


def test_constant_and_equal_features_have_value_zero():
    rng = np.random.default_rng(7)
    X, y = regression(rng)
    X[:, 4] = 3.0
    for kernel in ("rbf", "poly", "linear", "laplacian"):
        model = hinge.SVR(kernel=kernel).fit(X, y)
        found = shapley_values(model, X[:5], X, interactions=True)
        assert_array_equal(found.values[:, 4], 0.0)
        assert_array_equal(found.interactions[:, 4, :4], 0.0)
    assert_array_equal(shapley_values(model, X[:1], X[:1]).values, 0.0)


def test_symmetric_features_have_equal_values():
    rng = np.random.default_rng(8)
    X, y = regression(rng)
    X[:, 3] = X[:, 0]
    found = shapley_values(hinge.SVR(C=5.0).fit(X, y), X[:5], X[20:])
    assert_allclose(found.values[:, 3], found.values[:, 0], rtol=1e-13, atol=1e-15)


def test_distant_samples_do_not_produce_nan():
    rng = np.random.default_rng(9)
    X, y = regression(rng)
    model = hinge.SVR(gamma=1.0).fit(X, y)
    far = X[:4].copy()
    far[0, 0], far[1], far[2, :3], far[3] = 1e3, 30.0, 26.6, 1e200
    found = shapley_values(model, far, np.vstack([X[:5], far[:1], far[:2] + 1e-3]), interactions=True)
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.interactions).all()
    assert_allclose(found.values.sum(axis=1) + found.base_values, model.predict(far), rtol=1e-12, atol=1e-13)


def test_result_does_not_depend_on_threads_and_sparse_equals_dense():
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(10)
    X, y = regression(rng, n=80)
    X[X < 0] = 0
    model = hinge.SVR().fit(X, y)
    found = shapley_values(model, X, X[:20])
    assert_array_equal(shapley_values(model, X, X[:20], n_jobs=3).values, found.values)
    sparse = hinge.SVR(gamma=model.model_.kernel.gamma).fit(csr_matrix(X), y)
    assert_allclose(shapley_values(sparse, csr_matrix(X), csr_matrix(X[:20])).values, found.values, atol=1e-10)


def test_feature_names_and_shap():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(11)
    X, y = regression(rng)
    X = pd.DataFrame(X, columns=list("uvwxyz"))
    model = hinge.SVR().fit(X, y)
    found = shapley_values(model, X[:5], X, groups={"first": ["u", "v"]})
    assert found.feature_names.tolist() == ["first", "w", "x", "y", "z"]
    shap = pytest.importorskip("shap")
    explanation = found.to_shap()
    assert isinstance(explanation, shap.Explanation)
    assert_array_equal(explanation.values, found.values)
    assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, model.predict(X[:5]), rtol=1e-12)


def test_explanation_of_several_classes_for_shap(monkeypatch):
    """The arguments of `shap.Explanation`; shap itself is not needed."""
    names = "values base_values data feature_names output_names"
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=namedtuple("Explanation", names)))
    X = np.random.default_rng(12).normal(size=(40, 3))
    model = hinge.SVC().fit(X, np.array(["a", "b", "c"])[np.arange(40) % 3])
    found = shapley_values(model, X[:5], X, groups={"first": [0, 1]})
    explanation = found.to_shap()
    assert explanation.values.shape == (5, 2, 3)
    assert explanation.base_values.shape == (5, 3)
    total = found.values.sum(axis=1) + found.base_values
    assert_allclose(explanation.values.sum(axis=1) + explanation.base_values, total)
    assert explanation.data.shape == (5, 2)
    assert explanation.feature_names == ["first", "2"]
    assert explanation.output_names == ["a", "b", "c"]


def test_no_support_vectors():
    X = np.arange(6.0).reshape(3, 2)
    model = hinge.SVR().fit(X, np.ones(3))
    found = shapley_values(model, X, X)
    assert_array_equal(found.values, 0.0)
    assert found.base_values == model.predict(X)[0]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Sigmoid(0.1), "neither a product over features"),
        (BSpline(3, 0.1), "for one feature only, X has 6"),
        (Polynomial(1.5, 0.01, 5.0), "not an integer"),
        (RBF(0.1) + Sigmoid(0.1), "train with RBF"),
        (lambda X, Z: X @ Z.T, "Python function has no formula"),
    ],
)
def test_other_kernels_are_rejected_with_a_remedy(kernel, message):
    X, y = regression(np.random.default_rng(12))
    model = hinge.SVR(kernel=kernel, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        shapley_values(model, X, X)


def test_invalid_arguments():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    X, y = regression(np.random.default_rng(13))
    model = hinge.SVR().fit(X, y)
    with pytest.raises(TypeError, match="pass its last step"):
        shapley_values(make_pipeline(StandardScaler(), hinge.SVR()).fit(X, y), X, X)
    with pytest.raises(TypeError, match="fitted estimator of hinge"):
        shapley_values(SVR().fit(X, y), X, X)
    with pytest.raises(ValueError, match="background has one dimension"):
        shapley_values(model, X, X[0])
    with pytest.raises(ValueError, match="features"):
        shapley_values(model, X[:, :3], X)
    with pytest.raises(ValueError, match="one label per feature"):
        shapley_values(model, X, X, groups=[1, 2])
    with pytest.raises(ValueError, match="in 'a' and in 'b'"):
        shapley_values(model, X, X, groups={"a": [0], "b": [0, 1]})
    with pytest.raises(ValueError, match="which X does not have"):
        shapley_values(model, X, X, groups={"a": ["nothing"]})
    with pytest.raises(ValueError, match="must be one of"):
        shapley_values(model, X, X, output="votes")
    with pytest.raises(ValueError, match="have one output"):
        shapley_values(model, X, X).of("a")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": [1.5]}, "1.5"),
        ({"a": [True]}, "True"),
        ({"x1": ["x0"]}, "'x1', which is also the name of a feature"),
    ],
)
def test_ambiguous_groups_are_rejected(groups, message):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["x0", "x1", "x2"])
    model = hinge.SVR().fit(X, X["x0"])
    with pytest.raises(ValueError, match=message):
        shapley_values(model, X, X, groups=groups)


def test_names_are_plain_python_values():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = hinge.SVC().fit(X, np.arange(30) % 3)
    result = shapley_values(model, X[:2], X, groups={"first": [0, 1]}, output="pairs")
    assert repr(result.output_names.tolist()) == "[(0, 1), (0, 2), (1, 2)]"
    assert repr(result.feature_names.tolist()) == "['first', 2]"
