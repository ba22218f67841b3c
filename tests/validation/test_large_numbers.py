"""Numbers beyond the range of float64 raise a ValueError that names the argument."""

import numpy as np
import pytest

import hinge
from hinge import kernels

HUGE = 10**400
X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1, -1)

#: Parameters for which a huge integer is a valid request.
UNLIMITED = {"max_iter", "n_passes", "random_state", "budget", "n_basis", "batch"}
ESTIMATORS = [getattr(hinge, name) for name in hinge.__all__ if isinstance(getattr(hinge, name), type)]
ESTIMATORS = [cls for cls in ESTIMATORS if hasattr(cls, "get_params") and hasattr(cls, "fit")]


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_parameters_of_estimators(cls):
    for name in sorted(set(cls().get_params()) - UNLIMITED):
        with pytest.raises((ValueError, TypeError), match=name):
            cls(**({"kernel": "rbf"} if name == "gamma" else {}), **{name: HUGE}).fit(X, Y)


@pytest.mark.parametrize("name", ["C_min", "C_max", "gamma", "degree", "coef0", "cache_size", "max_time"])
@pytest.mark.parametrize("path", [hinge.regularization_path, hinge.approximate_path, hinge.one_vs_one_paths])
def test_parameters_of_paths(path, name):
    with pytest.raises(ValueError, match=name):
        path(X, Y, kernel="poly", **{name: HUGE})


@pytest.mark.parametrize("name", ["sample_weight", "epsilon"])
@pytest.mark.parametrize("as_list", [False, True])
def test_values_per_sample(name, as_list):
    for path in (hinge.regularization_path, hinge.approximate_path):
        with pytest.raises(ValueError, match=f"{name}.*too large"):
            path(X, X[:, 0], task="regression", **{name: [HUGE] * 30 if as_list else HUGE})


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("X", lambda: hinge.SVC().fit([[HUGE], [1]], [0, 1])),
        ("X", lambda: hinge.LinearSVC().fit([[HUGE], [1]], [0, 1])),
        ("X", lambda: hinge.OnlineSVC().fit([[HUGE], [1]], [0, 1])),
        ("X", lambda: hinge.SVC().fit(X, Y).predict([[HUGE, 1, 1]])),
        ("X", lambda: hinge.regularization_path([[HUGE], [1]], [0, 1])),
        ("X", lambda: kernels.RBF(1.0)([[HUGE], [1]])),
        ("x", lambda: hinge.OnlineSVC().fit(X, Y).learn_one([HUGE, 1, 1], 1)),
        ("y", lambda: hinge.SVR().fit([[0], [1]], [HUGE, 1])),
        ("y", lambda: hinge.regularization_path([[0], [1]], [HUGE, 1], task="regression")),
        ("sample_weight", lambda: hinge.SVC().fit([[0], [1]], [0, 1], sample_weight=[HUGE, 1])),
        ("multiple of a kernel", lambda: HUGE * kernels.Linear()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data(name, call):
    with pytest.raises(ValueError, match=f"{name} is too large for a floating-point number"):
        call()
