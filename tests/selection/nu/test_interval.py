"""The admissible interval of ν agrees with its definition as a limit and with quadratic programs.  docs/math (806)"""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

import hinge
from hinge.kernels import RBF, Linear, Polynomial
from hinge.selection import nu_range
from reference.data_sets import binary_data
from reference.qp import solve_with_clarabel


def overlap(X, y, seed=0):
    """Two features of the data, so that a linear function does not separate the classes."""
    return X[:, :2], y


@pytest.mark.parametrize("data", binary_data())
def test_the_lower_end_is_the_limit_of_large_costs(data):
    X, y = overlap(*binary_data()[data])
    interval = nu_range(X, y, kernel="linear")
    C = 1e5
    model = hinge.SVC(C=C, kernel="linear", tol=1e-9, solver="interior_point").fit(X, y)
    limit = np.sum(np.abs(model.dual_coef_)) / (C * len(y))
    assert interval.low == pytest.approx(limit, abs=2e-5)
    assert interval.high == pytest.approx(2 * min(np.mean(y > 0), np.mean(y < 0)))


@pytest.mark.parametrize("data", binary_data())
def test_the_optimal_value_is_zero_up_to_the_lower_end_only(data):
    X, y = overlap(*binary_data()[data])
    low = nu_range(X, y, kernel=Polynomial(2, gamma=1.0, coef0=1.0)).low
    K = (X @ X.T + 1) ** 2
    Q, n = K * np.outer(y, y), len(y)

    def optimum(nu):
        A = np.stack([y, np.ones(n)])
        return solve_with_clarabel(Q, np.zeros(n), A, np.array([0.0, nu * n]), np.zeros(n), np.ones(n)).value

    above = min(low + 0.02, nu_range(X, y).high)
    assert optimum(above) > 1e-4
    if low > 0.05:
        assert optimum(low - 0.02) < 1e-6 * optimum(above)


@pytest.mark.parametrize("data", binary_data())
def test_the_lower_end_is_the_largest_common_part_of_the_reduced_hulls(data):
    # The same program in the convex coefficients of both classes: max t with equal means of the reduced hulls.
    X, y = overlap(*binary_data()[data])
    n = len(y)
    A = np.vstack([(X * y[:, None]).T, y])
    program = linprog(-np.ones(n), A_eq=A, b_eq=np.zeros(3), bounds=(0, 1), method="highs-ds")
    assert nu_range(X, y, kernel="linear").low == pytest.approx(-program.fun / n, abs=1e-7)


def test_equal_samples_of_both_classes_raise_the_lower_end_of_positive_definite_kernels():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.0]])
    y = np.array([1, 1, -1, -1, 1, -1])
    # at 0: min(2, 1); at 2: min(1, 1)
    assert nu_range(X, y, gamma=1.0).low == pytest.approx(2 * (1 + 1) / 6)
    C = 1e7
    model = hinge.SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y)
    assert np.sum(np.abs(model.dual_coef_)) / (C * 6) == pytest.approx(4 / 6, abs=1e-5)
    assert nu_range(np.arange(6.0)[:, None], y, gamma=1.0).low == 0.0


def test_weights_are_repetitions():
    X, y = overlap(*binary_data()["moons"])
    weight = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    for kernel in (Linear(), RBF(0.5)):
        weighted = nu_range(X, y, kernel=kernel, sample_weight=weight)
        repeated = nu_range(X[rows], y[rows], kernel=kernel)
        assert (weighted.low, weighted.high) == pytest.approx((repeated.low, repeated.high))


@pytest.mark.parametrize("balance", ["class", "min"])
def test_balanced_variants_admit_every_nu_up_to_one(balance):
    X, y = overlap(*binary_data()["iris"])
    interval = nu_range(X, y, kernel="linear", balance=balance)
    assert interval.high == pytest.approx(1.0)
    model = hinge.NuSVC(nu=min(interval.low + 0.02, 1.0), kernel="linear", balance=balance).fit(X, y)
    assert model.margin_[0] > 0


def test_several_classes_share_the_intersection_of_their_intervals():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 2))
    y = np.repeat(["a", "b", "c"], [50, 30, 10])
    interval = nu_range(X, y, kernel="linear")
    assert set(interval.pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert interval.high == pytest.approx(2 * 10 / 60)
    assert interval.low == max(low for low, _ in interval.pairs.values())
    assert (0.5 * (interval.low + interval.high) in interval) == (interval.low < interval.high)


def test_sparse_and_precomputed_data_have_the_same_interval():
    X, y = overlap(*binary_data()["circles"])
    low = nu_range(X, y, kernel="linear").low
    assert nu_range(sparse.csr_matrix(X), y, kernel="linear").low == pytest.approx(low, abs=1e-7)
    assert nu_range(X @ X.T, y, kernel="precomputed").low == pytest.approx(low, abs=1e-6)


def test_invalid_arguments_are_rejected():
    X, y = overlap(*binary_data()["iris"])
    with pytest.raises(ValueError, match="needs at least two"):
        nu_range(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="not positive semidefinite"):
        nu_range(X, y, kernel="sigmoid")
    with pytest.raises(ValueError, match="balance"):
        nu_range(X, y, balance="both")
