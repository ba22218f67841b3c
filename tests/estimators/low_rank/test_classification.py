"""LowRankSVC: certificates, precision, limits, input formats and files."""

import signal
import time
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge import SVC, LowRankSVC, Status, _core
from hinge.estimators.low_rank import training


def blobs(m=600, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=m)
    return rng.standard_normal((m, 3)) + 2 * rng.standard_normal((classes, 3))[y], np.array(["a", "b", "c", "d"])[y]


X, y = blobs()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("basis", ["loss", "random"])
def test_certify_agrees_with_the_fit(classes, basis):
    X, y = blobs(classes=classes)
    weight = np.random.default_rng(1).uniform(0, 2, len(y)) * (np.arange(len(y)) % 7 > 0)
    model = LowRankSVC(C=3, n_basis=60, basis=basis, tol=1e-5, class_weight="balanced").fit(X, y, weight)
    recomputed = model.certify(X, y, weight)
    assert model.status_ is Status.SOLVED
    assert recomputed.primal == pytest.approx(model.certificate_.primal, rel=1e-4)
    assert recomputed.dual == pytest.approx(model.certificate_.dual, rel=1e-4)
    assert recomputed.relative_gap < 1e-2
    assert recomputed.dual <= recomputed.primal
    assert len(model.certificates_) == (1 if classes == 2 else classes)
    assert len(model.support_) == 60
    assert np.all(weight[model.support_] > 0)


@pytest.mark.parametrize(("tol", "steps", "half"), [(0.1, 2, True), (0.099, 2, False), (0.1, -1, False)])
def test_half_precision_is_used_for_large_tolerances_and_few_steps_only(tol, steps, half, monkeypatch):
    X, y = blobs(m=2000)
    seen, make = [], training.make_columns
    monkeypatch.setattr(training, "make_columns", lambda *a, **o: seen.append(make(*a, **o)) or seen[-1])
    with nullcontext() if steps < 0 else pytest.warns(ConvergenceWarning):
        model = LowRankSVC(C=3, n_basis=150, basis="random", tol=tol, max_iter=steps).fit(X, y)
    assert [columns.is_half() for columns in seen] == [half and _core.has_float16_loops()]
    if steps < 0:
        assert model.status_ is Status.SOLVED
        assert max(model.certificate_.relative_gap, model.certify(X, y).relative_gap) <= tol


@pytest.mark.parametrize("steps", [1, 2, 4, 50])
@pytest.mark.parametrize("gamma", [0.05, 1.0])
def test_bounds_in_half_precision_are_valid(steps, gamma):
    X, y = blobs(m=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LowRankSVC(C=3, n_basis=150, basis="random", tol=0.1, max_iter=steps, gamma=gamma).fit(X, y)
    exact = model.certify(X, y)
    assert model.certificate_.dual <= exact.dual * (1 + 1e-5)
    assert model.certificate_.primal >= exact.primal * (1 - 1e-5)
    assert model.status_ is not Status.SOLVED or exact.relative_gap <= 0.1


@pytest.mark.skipif(not _core.has_float16_loops(), reason="this processor has no float16")
@pytest.mark.parametrize("steps", [2, 20])
def test_single_precision_is_used_if_half_precision_is_not_accurate(steps):
    """Kernel values close to 1 and large weights: in float16 the risk would be 30 times too small."""
    X, y = load_digits(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [
            LowRankSVC(C=1e3, gamma=0.001, n_basis=300, tol=tol, max_iter=steps).fit(X / 16, y) for tol in (0.1, 0.0999)
        ]
    exact = models[0].certify(X / 16, y)
    assert exact.primal == pytest.approx(models[1].certificate_.primal, rel=0.2)
    assert models[0].certificate_.dual <= exact.dual * (1 + 1e-3)
    assert models[0].certificate_.primal >= exact.primal * (1 - 1e-3)


def test_rounding_errors_of_equal_kernel_values_are_bounded():
    """With binary features rounding errors do not average out, and the gap must not be underestimated."""
    rng = np.random.default_rng(378)
    X = rng.integers(0, 2, (10_000, 5)).astype(float)
    y = (X.sum(axis=1) + rng.normal(size=len(X)) > 2.5).astype(int)
    for steps in (-1, 50):
        model = LowRankSVC(C=1e5, tol=0.1, n_basis=10, gamma=0.3, random_state=378, max_iter=steps).fit(X, y)
        assert model.status_ is Status.SOLVED
        assert model.certify(X, y).relative_gap <= 0.1


def test_solved_means_that_the_certificate_meets_tol():
    X, y = blobs(m=1500, classes=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for tol in (1e-3, 1e-5, 1e-6, 1e-7, 1e-8):
            model = LowRankSVC(C=10, n_basis=100, tol=tol).fit(X.astype(np.float32), y)
            assert model.certificate_.relative_gap >= 2.0**-24
            assert (model.status_ is Status.SOLVED) == (model.certificate_.relative_gap <= tol)


def test_time_limit_holds_with_a_slow_callable_kernel():
    def slow(A, B):
        time.sleep(2e-6 * len(A) * len(B))
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    X, y = blobs(m=2000)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = LowRankSVC(kernel=slow, n_basis=400, max_time=0.4).fit(X, y)
    assert time.monotonic() - began < 1.5  # without a limit: four seconds
    assert 0 < len(model.support_) < 400


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_basis_loss_selects_samples_with_large_losses(kernel):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(1500, 2)) + [far, 0] for far in (-9, 9)] + [rng.normal(size=(600, 2))])
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, -1)
    given = hinge.kernels.RBF(0.5)(X) if kernel == "precomputed" else X
    options = dict(C=10, gamma=0.5, n_basis=200, kernel=kernel, tol=0.1, max_iter=20)
    middle = {basis: np.mean(LowRankSVC(basis=basis, **options).fit(given, y).support_ >= 3000)
              for basis in ("loss", "random")}  # fmt: skip
    assert middle["random"] < 0.3
    assert middle["loss"] > 0.8


def test_full_basis_gives_the_exact_solution():
    X, y = blobs(m=200, classes=2)
    model = LowRankSVC(C=2, gamma=0.5, n_basis=200, tol=1e-7).fit(X, y)
    exact = SVC(C=2, gamma=0.5, loss="squared_hinge", tol=1e-8).fit(X, y)
    # the basis is regularized, and kernel values are float32
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=2e-3)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=0.02)


def test_largest_decision_value_is_the_predicted_class():
    model = LowRankSVC(n_basis=50).fit(X, y)
    values = model.decision_function(X)
    assert values.shape == (len(y), 4)
    np.testing.assert_array_equal(model.predict(X), model.classes_[np.argmax(values, axis=1)])
    X2, y2 = blobs(classes=2)
    two = LowRankSVC(n_basis=50).fit(X2, y2)
    assert two.decision_function(X2).shape == (len(y2),)
    np.testing.assert_array_equal(two.predict(X2), two.classes_[(two.decision_function(X2) > 0).astype(int)])
    assert two.score(X2, y2) > 0.8


def test_sparse_float32_precomputed_and_python_kernels_agree():
    options = dict(C=2, gamma=0.3, n_basis=40, basis="random", tol=1e-6)
    values = LowRankSVC(**options).fit(X, y).decision_function(X)
    K = hinge.kernels.RBF(0.3)(X)
    from_sparse = LowRankSVC(**options).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(from_sparse.decision_function(sp.csr_matrix(X)), values, atol=2e-3)
    single = LowRankSVC(**options).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.decision_function(X.astype(np.float32)), values, atol=2e-2)
    precomputed = LowRankSVC(**{**options, "kernel": "precomputed"}).fit(K, y)
    np.testing.assert_allclose(precomputed.decision_function(K), values, atol=2e-3)
    assert precomputed.certify(K, y).primal == pytest.approx(precomputed.certificate_.primal, rel=1e-3)
    plain = LowRankSVC(**{**options, "kernel": lambda A, B: hinge.kernels.RBF(0.3)(A, B)}).fit(X, y)
    np.testing.assert_allclose(plain.decision_function(X), values, atol=2e-3)


@pytest.mark.parametrize("basis", ["loss", "random"])
def test_degenerate_data_give_a_model(basis):
    repeated = np.concatenate([X[:50]] * 4)
    model = LowRankSVC(n_basis=120, basis=basis, tol=1e-4).fit(repeated, np.concatenate([y[:50]] * 4))
    assert model.status_ is Status.SOLVED
    many = LowRankSVC(n_basis=1000, basis=basis).fit(X[:30], y[:30])
    assert len(many.support_) == 30
    same = LowRankSVC(n_basis=5, basis=basis).fit(np.ones((40, 2)), np.arange(40) % 2)
    assert np.isfinite(same.decision_function(np.ones((3, 2)))).all()
    zero = LowRankSVC(n_basis=5, basis=basis, kernel="linear").fit(np.zeros((40, 2)), np.arange(40) % 3)
    assert np.isfinite(zero.decision_function(np.zeros((3, 2)))).all()


def test_integer_weights_equal_repeated_samples():
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    options = dict(n_basis=len(y), basis="random", gamma=0.5, tol=1e-7)
    weighted = LowRankSVC(**options).fit(X, y, weight)
    options["n_basis"] = int(weight.sum())
    copied = LowRankSVC(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=0.02)


def test_result_does_not_depend_on_threads_but_on_the_seed():
    options = dict(n_basis=50, tol=1e-4)
    one, two = LowRankSVC(n_jobs=1, **options).fit(X, y), LowRankSVC(n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    other = LowRankSVC(random_state=5, **options).fit(X, y)
    assert not np.array_equal(one.support_, other.support_)


def test_limits_warn_and_saved_models_are_complete(tmp_path):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        early = LowRankSVC(n_basis=60, tol=1e-9, max_iter=1).fit(X, y)
    assert early.status_ is Status.MAX_ITER
    assert early.certificate_.primal >= early.certificate_.dual
    with pytest.warns(ConvergenceWarning, match="max_time"):
        LowRankSVC(n_basis=60, basis="random", max_time=1e-9).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LowRankSVC(n_basis=60).fit(X, y)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.certify(X, y).primal == pytest.approx(model.certificate_.primal, rel=1e-4)


def test_invalid_arguments_are_named():
    for options, message in (
        ({"n_basis": 0}, "n_basis"), ({"basis": "best"}, "basis"), ({"C": np.inf}, "C="),
        ({"class_weight": "some"}, "class_weight"), ({"kernel": lambda A, B: -(A @ B.T)}, "positive semidefinite"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            LowRankSVC(**{"n_basis": 20, "basis": "random", **options}).fit(X, y)


INEXACT = "random basis functions and float32 kernel values: equal to 1e-5, not to 1e-7"


@parametrize_with_checks(
    [LowRankSVC()],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": INEXACT,
        "check_sample_weight_equivalence_on_sparse_data": INEXACT,
    },
)
def test_common_checks(estimator, check):
    check(estimator)


def slow_kernel(seconds, calls=None):
    """Gaussian kernel that takes `seconds` for every value and raises SIGINT in the third call."""

    def kernel(A, B):
        if calls is not None:
            calls.append(len(A) * len(B))
            if len(calls) == 3:
                signal.raise_signal(signal.SIGINT)
        time.sleep(seconds * len(A) * len(B))
        return np.exp(-np.square(np.asarray(A)[:, None] - np.asarray(B)[None]).sum(axis=2))

    return kernel


def test_time_limit_holds_while_kernel_values_are_computed():
    """All kernel values take 1.5 s. Within 0.5 s the model has fewer basis functions and a certificate."""
    X, y = blobs(classes=2)
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = LowRankSVC(kernel=slow_kernel(5e-6), n_basis=500, basis="random", max_time=0.5).fit(X, y)
    taken = time.monotonic() - began
    assert taken < 1.4
    assert model.status_ is Status.TIME_LIMIT
    assert 0 < len(model.support_) < 500
    assert list(model.support_[: model.n_support_[0]]) == sorted(model.support_[: model.n_support_[0]])
    recomputed = model.certify(X, y)
    assert recomputed.infeasibility <= 1e-9
    assert recomputed.dual <= recomputed.primal


def test_interrupt_while_kernel_values_are_computed():
    calls, model = [], LowRankSVC(n_basis=500, basis="random")
    model.kernel = slow_kernel(0.0, calls)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        assert signal.signal(signal.SIGINT, before) is signal.default_int_handler
    assert len(calls) == 3
    assert not hasattr(model, "status_")


def test_bounds_of_a_stopped_fit_are_valid():
    """The free offset requires Σβ = 0, which the dual point of an intermediate function violates."""
    X, y = blobs(classes=2)
    y[:120] = "a"
    optimum = LowRankSVC(n_basis=60, basis="random", tol=1e-6).fit(X, y).certificate_
    for steps in (0, 1, 2):
        with pytest.warns(ConvergenceWarning):
            stopped = LowRankSVC(n_basis=60, basis="random", tol=1e-6, max_iter=steps).fit(X, y).certificate_
        assert stopped.infeasibility <= 1e-9
        assert stopped.dual <= optimum.primal <= stopped.primal * (1 + 1e-5)
