"""`Kernel.bounded`: the exact value of every kernel lies within the bound on the rounding error."""

import numpy as np
import pytest

from kernels.cases import KERNELS, stored, values
from reference.exact.kernels import gram
from reference.exact.numbers import exact


@pytest.mark.parametrize("storage", ["float64", "float32", "csr64"])
@pytest.mark.parametrize("scale", [1.0, 300.0], ids="scale {:g}".format)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_bounds_enclose_the_exact_values(kernel, scale, storage):
    X = stored(scale * values(9, 4), storage)
    found, errors = kernel.bounded(X)
    K = gram(kernel, X)
    for (i, j), value in np.ndenumerate(found):
        assert abs(K[i, j] - exact(value)) <= exact(errors[i, j]), (i, j)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_bounds_are_small(kernel):
    """A bound that is too large would hide errors: it is a small multiple of the rounding error of the terms."""
    X = values(9, 4)
    found, errors = kernel.bounded(X)
    assert np.all(errors <= 1e-12 * (1.0 + np.abs(found).max()))
