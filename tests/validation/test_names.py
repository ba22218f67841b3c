"""Names of the columns of precomputed matrices."""

import numpy as np
import pandas as pd
import pytest

import hinge

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1, -1)
NAMES = [f"s{i}" for i in range(30)]
K = pd.DataFrame(X @ X.T, index=NAMES, columns=NAMES)
ORDER = rng.permutation(30)


@pytest.mark.parametrize("cls", [hinge.SVC, hinge.SVR, hinge.OneClassSVM, hinge.NuSVC])
def test_permuted_columns_are_rejected(cls):
    model = cls(kernel="precomputed").fit(K, Y)
    expected = cls(kernel="precomputed").fit(K.to_numpy(), Y).predict(K.to_numpy())
    np.testing.assert_array_equal(model.predict(K), expected)
    with pytest.raises(ValueError, match=r"the columns of X have another order.*Reorder them by name"):
        model.predict(K.iloc[:, ORDER])
    with pytest.raises(ValueError, match="column 'other'"):
        model.predict(K.rename(columns={"s3": "other"}))
    np.testing.assert_array_equal(model.predict(K.iloc[:, ORDER][K.columns]), expected)


def test_columns_of_the_support_vectors():
    model = hinge.SVC(kernel="precomputed").fit(K, Y)
    support = K.iloc[:, model.support_]
    np.testing.assert_array_equal(model.predict(support), model.predict(K))
    with pytest.raises(ValueError, match="another order"):
        model.predict(support.iloc[:, ::-1])


@pytest.mark.parametrize(
    "fit", [lambda M: hinge.SVC(kernel="precomputed").fit(M, Y),
            lambda M: hinge.regularization_path(M, Y, kernel="precomputed")],
    ids=["estimator", "path"],
)  # fmt: skip
def test_rows_and_columns_in_different_orders_are_rejected_in_training(fit):
    """A constant matrix is symmetric in every order: the names alone show the mistake."""
    constant = pd.DataFrame(np.eye(30) * 0 + 1.0, index=NAMES, columns=NAMES)
    with pytest.raises(ValueError, match=r"rows and columns of the precomputed matrix .* different orders"):
        fit(constant.iloc[:, ORDER])
