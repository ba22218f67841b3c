"""Regression tests: each of them failed in an earlier version."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

import hinge
from hinge import Status
from hinge.kernels import RBF, Sigmoid

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:200]
y = y[:200]


@pytest.mark.parametrize("solver", ["auto", "smo", "working_set", "interior_point"])
@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_bounds_of_the_certificate_are_ordered(solver, tol):
    certificate = hinge.SVC(C=1.27, gamma=2.14, tol=tol, solver=solver).fit(X, y).certificate_
    assert certificate.best_dual <= certificate.best_primal + 1e-9 * abs(certificate.primal)
    assert certificate.best_dual >= certificate.dual
    assert certificate.best_primal <= certificate.primal


def test_certificate_of_an_indefinite_kernel_proves_no_gap():
    certificate = hinge.SVC(kernel=Sigmoid(1.0, -1.0), C=100).fit(X, y).certificate_
    assert certificate.convex is False
    assert not certificate.proves(1e9)


def test_infinite_cost_without_separation_is_an_error():
    same = np.vstack([X[:50], X[:50]])
    with pytest.raises(ValueError, match=r"C=inf.*finite C"):
        hinge.SVC(C=np.inf).fit(same, np.repeat([0, 1], 50))


@pytest.mark.parametrize("balance", [None, "class", "min"])
def test_equal_class_weights_have_no_effect(balance):
    plain = hinge.NuSVC(nu=0.3, gamma=0.05, balance=balance).fit(X, y)
    weighted = hinge.NuSVC(nu=0.3, gamma=0.05, balance=balance, class_weight={0: 1.0, 1: 1.0}).fit(X, y)
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(("balance", "class_weight"), [(None, None), ("min", None), ("class", "balanced")])
def test_equivalent_C_gives_the_same_function(balance, class_weight):
    nu = hinge.NuSVC(nu=0.3, gamma=0.05, balance=balance).fit(X, y)
    same = hinge.SVC(C=nu.equivalent_C_[0], gamma=0.05, class_weight=class_weight).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), nu.decision_function(X), atol=1e-7)


def test_equivalent_nu_gives_the_same_function():
    model = hinge.SVC(C=2.0, gamma=0.05).fit(X, y)
    same = hinge.NuSVC(nu=model.equivalent_nu_[0], gamma=0.05).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=1e-7)


def test_two_classes_are_trained_without_a_copy_of_the_data():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(4000, 400)).astype(np.float32)
    labels = (wide[:, 0] > 0).astype(int)
    model = hinge.SVC(gamma=0.001, max_iter=5)
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(wide, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * wide.nbytes  # validation allocates temporary arrays, but no copy of X


def test_failed_fit_keeps_the_previous_model():
    data, labels = load_iris(return_X_y=True)
    model = hinge.SVC(kernel=lambda A, B: RBF(0.5)(A, B)).fit(data, labels)
    before = model.decision_function(data)

    def broken(A, B):
        raise RuntimeError("broken")

    model.kernel = broken
    with pytest.raises(RuntimeError, match="broken"):
        model.fit(data[:100], labels[:100])
    np.testing.assert_array_equal(model.decision_function(data), before)
    assert model.status_ is Status.SOLVED


def test_precomputed_kernel_must_be_symmetric():
    K = X @ X.T
    K[3, 5] += 1.0
    with pytest.raises(ValueError, match="symmetric"):
        hinge.SVC(kernel="precomputed").fit(K, y)


def test_verbose_output_ends_with_the_final_state(capsys):
    model = hinge.SVC(verbose=True).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert str(model.history_.iteration[-1]) in shown.err.replace(",", "")


def test_history_covers_all_iterations():
    model = hinge.NuSVC(nu=0.1, gamma=0.01).fit(X, y)
    assert model.history_.iteration[-1] == model.n_iter_[0]


def test_plotting_is_an_attribute_of_the_package():
    assert hinge.plotting.DecisionBoundary.__name__ == "DecisionBoundary"


@pytest.mark.parametrize(
    "model",
    [hinge.SVC(), hinge.NuSVC(nu=0.3), hinge.LinearSVC(), hinge.LinearSVC(multi_class="crammer_singer"), hinge.LPSVC()],
    ids=repr,
)
def test_certify_ignores_a_class_of_weight_zero(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b", "c", "d"], 15)
    weight = np.where(y == "b", 0.0, rng.uniform(0.5, 2.0, 60))
    model.fit(X, y, sample_weight=weight)
    assert list(model.classes_) == ["a", "c", "d"]
    recomputed = model.certify(X, y, sample_weight=weight)
    assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    with pytest.raises(ValueError, match="labels that fit was not given"):
        model.certify(X, y)
