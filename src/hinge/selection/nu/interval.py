"""Admissible interval of ν.                             ν tutorial Proposition 3 and (91); docs/math (806), (807)"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from hinge.kernels import Kernel, Linear, Precomputed, make_kernel
from hinge.paths.regularization import check_training_rows
from hinge.problems import Array
from hinge.validation import as_labels, check_choice, check_same_length, check_sample_weight

#: Eigenvalues below this part of the largest one count as zero when a kernel matrix is factorized.
RELATIVE_RANK_TOLERANCE = 1e-12

#: Number of samples above which a kernel matrix is not factorized.
MAX_FACTORIZED = 5000

#: Tolerance of the linear program.
LP_TOLERANCE = 1e-9

BALANCES = (None, "class", "min")


@dataclass(frozen=True)
class NuRange:
    """Admissible interval of ν.

    Attributes
    ----------
    low, high : float
        For every ν in (low, high] `NuSVC` has a solution with a positive margin. For ν ≤ low the optimal function is
        zero, and above high the problem is infeasible. If low ≥ high, no common ν is admissible for all pairs.
    pairs : dict
        (low, high) of each pair of classes.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> interval = hinge.selection.nu_range(X[:50], y[:50], gamma=1.0)
    >>> type(interval).__name__, bool(0 <= interval.low < interval.high <= 1)
    ('NuRange', True)
    """

    low: float
    high: float
    pairs: dict[tuple[Any, Any], tuple[float, float]]

    def __contains__(self, nu: float) -> bool:
        return self.low < nu <= self.high


def nu_range(
    X: Any,
    y: Any,
    *,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    sample_weight: ArrayLike | None = None,
    balance: str | None = None,
) -> NuRange:
    """Return the interval of ν for which ν-classification has a solution with a positive margin.

    The upper end depends on the class sizes only. The lower end is zero if the kernel matrix is positive definite;
    otherwise it is the solution of a linear program.

    Parameters
    ----------
    X, y, kernel, degree, gamma, coef0, sample_weight, balance
        As in `NuSVC`. The kernel must be positive semidefinite. Kernel matrices that are not known to be positive
        definite are factorized, for at most 5,000 samples; linear kernels have no limit.

    Returns
    -------
    NuRange

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.selection import nu_range
    >>> X = np.array([[0.0], [1.0], [1.0], [2.0]])
    >>> interval = nu_range(X, [0, 0, 1, 1], kernel="linear")
    >>> round(interval.low, 6), interval.high
    (0.5, 1.0)
    """
    check_choice("balance", balance, BALANCES)
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    X, labels = check_training_rows(made, X), as_labels(y)
    check_same_length(X, labels)
    weight = check_sample_weight(sample_weight, len(labels))
    resolved = made if isinstance(made, Precomputed) else made.resolve(X, weight)
    if resolved.psd is False:
        raise ValueError(f"{resolved!r} is not positive semidefinite: nu_range needs a positive semidefinite kernel")
    classes = np.unique(labels[weight > 0])
    if len(classes) < 2:
        raise ValueError(
            f"y has {len(classes)} class with positive weight; nu_range needs at least two. Check y and sample_weight"
        )
    pairs = {}
    for first, second in combinations(classes, 2):
        rows = np.flatnonzero(((labels == first) | (labels == second)) & (weight > 0))
        sign = np.where(labels[rows] == second, 1.0, -1.0)
        upper = _upper_bounds(weight[rows], sign, balance)
        low = _lower_end(resolved, X, rows, sign, upper, float(np.sum(weight[rows])))
        high = _upper_end(upper, sign, float(np.sum(weight[rows])))
        pairs[_plain(first), _plain(second)] = (min(low, high), high)
    return NuRange(max(low for low, _ in pairs.values()), min(high for _, high in pairs.values()), pairs)


def largest_common_nu(labels: NDArray[Any], weight: Array, balance: str | None) -> float:
    """Return the upper end of the interval of all pairs, which depends on the class sizes only."""
    ends = []
    for first, second in combinations(np.unique(labels[weight > 0]), 2):
        rows = np.flatnonzero(((labels == first) | (labels == second)) & (weight > 0))
        sign = np.where(labels[rows] == second, 1.0, -1.0)
        upper = _upper_bounds(weight[rows], sign, balance)
        ends.append(_upper_end(upper, sign, float(np.sum(weight[rows]))))
    return min(ends, default=1.0)


def _upper_end(upper: Array, sign: Array, total: float) -> float:
    """Twice the sum of the bounds of the smaller class, as a fraction of the total weight.    ν tutorial Prop. 3"""
    return min(1.0, 2 * min(float(np.sum(upper[sign == s])) for s in (-1.0, 1.0)) / total)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _upper_bounds(weight: Array, sign: Array, balance: str | None) -> Array:
    """The bounds u of problem (12)."""
    total, sums = float(np.sum(weight)), {s: float(np.sum(weight[sign == s])) for s in (-1.0, 1.0)}
    if balance == "class":
        return weight * total / (2 * np.where(sign > 0, sums[1.0], sums[-1.0]))
    return weight * total / (2 * min(sums.values())) if balance == "min" else weight


def _lower_end(kernel: Kernel, X: Any, rows: NDArray[np.intp], sign: Array, upper: Array, total: float) -> float:
    if kernel.strictly_positive:
        return _of_equal_samples(X[rows], sign, upper, total)
    features = _factor(kernel, X, rows)
    scale = np.sqrt(np.asarray(features.multiply(features).sum(axis=0)).ravel() if sp.issparse(features)
                    else np.sum(features**2, axis=0))  # fmt: skip
    scale = 1.0 / np.where(scale > 0, scale, 1.0)
    scaled = features @ sp.diags(scale) if sp.issparse(features) else features * scale
    signed = sp.csc_matrix(scaled).multiply(sign[:, None]).T
    rows_of_program = sp.vstack([signed, sp.csr_matrix(sign[None, :])], format="csc")
    program = linprog(
        -np.ones(len(sign)), A_eq=rows_of_program, b_eq=np.zeros(rows_of_program.shape[0]),
        bounds=np.c_[np.zeros(len(sign)), upper], method="highs",
        options={"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE},
    )  # fmt: skip
    if not program.success:
        raise RuntimeError(f"the linear program (806) was not solved: {program.message}")
    return -float(program.fun) / total


def _of_equal_samples(X: Any, sign: Array, upper: Array, total: float) -> float:
    """(807): equal samples of both classes."""
    dense = sp.csr_matrix(X).toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    _, group = np.unique(dense + 0.0, axis=0, return_inverse=True)
    group = group.ravel()
    sums = [np.bincount(group[sign == s], upper[sign == s], group.max() + 1) for s in (-1.0, 1.0)]
    return 2 * float(np.sum(np.minimum(*sums))) / total


def _factor(kernel: Kernel, X: Any, rows: NDArray[np.intp]) -> Any:
    """F with K = F Fᵀ: the samples for a linear kernel, otherwise from the eigenvectors of K."""
    if isinstance(kernel, Linear):
        return X[rows]
    if len(rows) > MAX_FACTORIZED:
        raise ValueError(
            f"{kernel!r} is not known to be positive definite, and {len(rows)} samples are too many to factorize its "
            f"matrix (at most {MAX_FACTORIZED}): use a subset of the samples, or a kernel such as 'rbf'"
        )
    K = np.asarray(X, dtype=np.float64)[np.ix_(rows, rows)] if isinstance(kernel, Precomputed) else kernel(X[rows])
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    kept = values > RELATIVE_RANK_TOLERANCE * max(float(values[-1]), 0.0)
    return vectors[:, kept] * np.sqrt(values[kept])
