"""Problem (1), to which every kernel estimator reduces, its matrix Q, and dual problems in signed variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from hinge import _core
from hinge.kernels import Access, GramAccess, Precomputed, SubsetAccess, open_access
from hinge.kernels.algebra import UNIT_ROUNDOFF
from hinge.problems.separable import Array, Diagonal, Separable


def dot(a: Array, b: Array) -> float:
    """Return aᵀb, computed on the calling thread: BLAS threads cost more than they save for two vectors."""
    return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Quadratic:
    """Q[v, w] = sign[v] · K[v mod n, w mod n] · sign[w].                 docs/math (2)

    Attributes
    ----------
    access : Access
        Access to K.
    sign : ndarray
        +1 or −1 for every variable.
    n : int
        Number of samples.
    size : int
        Number of variables.
    slots : int
        Variables per sample.
    """

    access: Access
    sign: Array
    n: int = field(init=False)
    size: int = field(init=False)
    slots: int = field(init=False)

    def __post_init__(self) -> None:
        sign, n = np.ascontiguousarray(self.sign, dtype=np.float64), self.access.n
        if sign.ndim != 1 or sign.size % max(n, 1) or not (np.abs(sign) == 1.0).all():
            raise ValueError(f"sign must hold +1 or -1 for every variable, and a multiple of n={n} values")
        vars(self).update(sign=sign, n=n, size=sign.size, slots=sign.size // max(n, 1))

    @classmethod
    def of_signs(cls, access: Access, sign: Array) -> Quadratic:
        """Return Q for signs that have been checked: a contiguous array of float64, ±1 for every variable."""
        n, size = access.n, sign.size
        quadratic = cls.__new__(cls)
        vars(quadratic).update(access=access, sign=sign, n=n, size=size, slots=size // max(n, 1))
        return quadratic

    @classmethod
    def dense(cls, matrix: Array) -> Quadratic:
        """Return Q given as a symmetric matrix."""
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        return cls(open_access(Precomputed(), matrix), np.ones(len(matrix)))

    def coefficients(self, alpha: Array) -> Array:
        """Return β of every sample: the sum of its signed variables."""
        return (self.sign * alpha).reshape(self.slots, self.n).sum(axis=0)

    def spread(self, f: Array) -> Array:
        """Return values per variable, sign ∘ f, from values per sample f = Kβ."""
        return self.sign * np.tile(f, self.slots)

    def matvec(self, alpha: Array) -> Array:
        """Return Qα."""
        return self.spread(self.access.matvec(self.coefficients(alpha)))

    def bounded_matvec(
        self, alpha: Array, accurate: bool = False, deadline: float | None = None
    ) -> tuple[Array, Array]:
        """Return Qα and bounds on its errors: one for all variables, or one for each.

        The accurate product raises a TimeoutError if it would not be complete at the deadline.
        """
        beta = self.coefficients(alpha)
        f, error = self.access.accurate_matvec(beta, deadline) if accurate else self.access.bounded_matvec(beta)
        error = error + self._coefficient_error(alpha)
        return self.spread(f), error if len(error) == 1 else np.tile(error, self.slots)

    def matvec_error(self, alpha: Array) -> float | None:
        """Return a bound on the errors of Qα from kernel values in double precision, for any order of summation.

        It is None if the access has no such bound.
        """
        if not isinstance(self.access, GramAccess | SubsetAccess):
            return None
        return float(self.access.matvec_error(self.coefficients(alpha))[0]) + self._coefficient_error(alpha)

    def _coefficient_error(self, alpha: Array) -> float:
        """Return a bound on the effect of rounding β where several variables of a sample are not zero."""
        if self.slots == 1 or not (np.count_nonzero(alpha.reshape(self.slots, self.n), axis=0) > 1).any():
            return 0.0
        return UNIT_ROUNDOFF * self.slots * self.access.largest() * float(np.sum(np.abs(alpha)))

    def diagonal(self) -> Array:
        """Return the diagonal of Q."""
        return np.tile(self.access.diagonal(), self.slots)

    def block(self, rows: NDArray[np.intp], cols: NDArray[np.intp]) -> Array:
        """Return Q[rows, cols]."""
        inner = self.access.block(np.asarray(rows) % self.n, np.asarray(cols) % self.n)
        return self.sign[rows][:, None] * inner * self.sign[cols][None, :]

    def kernel_matrix(self) -> Array:
        """Return all of K."""
        if not isinstance(self.access, GramAccess | SubsetAccess):
            return self.access.block(np.arange(self.n), np.arange(self.n))
        K = np.empty((self.n, self.n))
        self.access.gram.fill(K)
        return K


@dataclass(frozen=True)
class Problem:
    """min ½αᵀQα + pᵀα + h(α)  subject to  Aα = d,  lower ≤ α ≤ upper.              docs/math (1), (311)

    Most formulations have zero, one or two rows A; only interior-point methods accept rows that share variables. Bounds
    may be infinite. h, the `term`, is a sum of convex functions of one variable each, and None for most formulations.
    `size` is the number of variables.

    `bounds_error` and `totals_error` bound the relative rounding errors of the bounds (and of h) and of d, which
    certificates include: the costs of samples are rounded products of C and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge.formulations import CSVC
    >>> from hinge.kernels import RBF, open_access
    >>> X, sign = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, -1.0])
    >>> problem = CSVC(sign, np.ones(3)).build(open_access(RBF(1.0), X))
    >>> problem.size, problem.A, problem.upper
    (3, array([[ 1.,  1., -1.]]), array([1., 1., 1.]))
    """

    Q: Quadratic
    p: Array
    A: Array
    d: Array
    lower: Array
    upper: Array
    term: Separable | None = None
    bounds_error: float = 0.0
    totals_error: float = 0.0
    size: int = field(init=False)

    def __post_init__(self) -> None:
        size, rows = self.Q.size, np.size(self.d)
        shapes = (("p", (size,)), ("lower", (size,)), ("upper", (size,)), ("d", (rows,)), ("A", (rows, size)))
        arrays = {}
        for name, shape in shapes:
            value = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if value.size == 0 and 0 in shape:
                value = value.reshape(shape)
            if value.shape != shape:
                raise ValueError(f"{name} has shape {value.shape}, expected {shape}")
            arrays[name] = value
        vars(self).update(arrays, size=size)
        if not (np.isfinite(self.p).all() and np.isfinite(self.A).all() and np.isfinite(self.d).all()):
            raise ValueError("p, A and d must be finite")
        if not (self.lower <= self.upper).all():  # also if one of them is NaN
            raise ValueError("lower must not exceed upper, and neither may be NaN")
        highest, lowest = np.maximum.reduce(self.lower, initial=-np.inf), np.minimum.reduce(self.upper, initial=np.inf)
        if highest == np.inf or lowest == -np.inf:
            raise ValueError("lower = +inf or upper = -inf leaves no finite value for a variable")

    @cached_property
    def has_zero(self) -> bool:
        """Whether zero is within the bounds of every variable."""
        return not ((self.lower > 0).any() or (self.upper < 0).any())

    @cached_property
    def is_box(self) -> bool:
        """Whether every variable has finite bounds."""
        return bool(np.isfinite(self.upper - self.lower).all())

    def gradient(self, alpha: Array) -> Array:
        """Return Qα + p, the gradient of the objective without h."""
        return self.Q.matvec(alpha) + self.p

    def bounded_gradient(
        self, alpha: Array, accurate: bool = False, deadline: float | None = None
    ) -> tuple[Array, Array]:
        """Return Qα + p and bounds on its errors; see `Quadratic.bounded_matvec`."""
        product, error = self.Q.bounded_matvec(alpha, accurate, deadline)
        return product + self.p, error

    def value(self, alpha: Array, gradient: Array | None = None) -> float:
        """Return ½αᵀQα + pᵀα + h(α)."""
        gradient = self.gradient(alpha) if gradient is None else gradient
        smooth = 0.5 * dot(alpha, gradient + self.p)
        return smooth if self.term is None else smooth + float(np.sum(self.term.value(alpha)))

    def objective_gradient(self, alpha: Array, gradient: Array | None = None) -> Array:
        """Return Qα + p + h'(α), the gradient of the objective."""
        gradient = self.gradient(alpha) if gradient is None else gradient
        return gradient if self.term is None else gradient + self.term.gradient(alpha)

    def reduced_gradient(self, gradient: Array, mu: Array) -> Array:
        """Return gradient + Aᵀμ."""
        reduced = gradient
        for row, multiplier in zip(self.A, mu, strict=True):
            reduced = reduced + multiplier * row
        return reduced

    def sample_diagonal(self) -> Array:
        """Return the diagonal term d of every sample, if h is one and all variables of a sample have the same dᵥ."""
        if not isinstance(self.term, Diagonal):
            raise ValueError(
                "this solver needs a loss whose conjugate is quadratic, such as 'squared_hinge' or 'huber'; use "
                "solver='interior_point' (or 'auto') for others"
            )
        parts = self.term.d.reshape(self.Q.slots, self.Q.n)
        if not np.all(parts == parts[0]):
            raise ValueError(
                "this solver needs the same quadratic term for all variables of a sample; use interior point"
            )
        if self.has_common_descent():
            raise ValueError(
                "this solver needs p + p* ≥ 0 for the two variables α and α* of every sample with a quadratic term, so "
                "that one of them is zero at the optimum; use interior point"
            )
        return np.asarray(parts[0], dtype=np.float64)

    def has_common_descent(self) -> bool:
        """Whether increasing both variables α and α* of a sample, which does not change f, decreases the objective.

        A quadratic term of α and α* then differs from one of α − α*.
        """
        n = self.Q.n
        return self.Q.slots == 2 and bool(np.any(self.p[:n] + self.p[n:] < 0))

    def equality_residual(self, alpha: Array) -> Array:
        """Return Aα − d."""
        return np.array([dot(row, alpha) for row in self.A], dtype=np.float64) - self.d


@dataclass(frozen=True)
class Dual:
    """Dual problem in signed variables, without its kernel matrix.

    min ½βᵀKβ + Σᵢ (½ ridgeᵢ βᵢ² + tubeᵢ |βᵢ| − targetᵢ βᵢ),  lower ≤ β ≤ upper,  Σ_{v ∈ g} βᵥ = total_g

    There is one value per sample. Every array may be a linear function of a parameter θ: it then has two rows, the
    value at θ = 0 and the rate.

    Attributes
    ----------
    target, lower, upper : ndarray
    sign : ndarray
        Sign of βᵢ where it has one: the α of problem (1) is sign ∘ β. Not used if `split`.
    total : ndarray
        Right-hand sides of the equality rows: none, one or two.
    tube : float or ndarray
    tube_star : float, ndarray or None
        Replaces `tube` where βᵢ < 0; None: equal to `tube`.
    ridge : ndarray or None
        Zero if None.
    split : bool
        Whether problem (1) has two variables for every sample, α and α*, with β = α − α*.
    group : ndarray or None
        Equality row of every variable; None: all belong to the first row, if there is one.
    row_factors : tuple of float
        Factors by which (1) multiplies the equality rows. −1 makes the coefficients of a row of negative variables
        positive.
    bounds_error, totals_error : float
        Relative rounding errors, as in `Problem`.
    """

    target: Array
    lower: Array
    upper: Array
    sign: Array
    total: Array
    tube: float | Array = 0.0
    ridge: Array | None = None
    split: bool = False
    group: NDArray[np.int8] | None = None
    row_factors: tuple[float, ...] = (1.0, 1.0)
    bounds_error: float = 0.0
    totals_error: float = 0.0
    tube_star: float | Array | None = None

    def variables(self) -> tuple[Array, Array, Array, Array]:
        """Return (sign, linear, lower, upper) of every signed variable, those of α before those of −α*."""
        if not self.split:
            return self.sign, 0.0 - self.target, self.lower, self.upper
        zero = np.zeros_like(self.upper)
        star = self.tube if self.tube_star is None else self.tube_star
        return (
            np.repeat([1.0, -1.0], self.target.shape[-1]),
            np.concatenate([self.tube - self.target, -(star + self.target)], axis=-1),
            np.concatenate([zero, self.lower], axis=-1),
            np.concatenate([self.upper, zero], axis=-1),
        )

    def problem(self, access: Access) -> Problem:
        """Return the kernel form, problem (1)."""
        sign, linear, lower, upper = self.variables()
        factors = np.array(self.row_factors[: len(self.total)])
        if self.group is not None:
            rows = group_rows(self.group, sign, factors)
        else:
            rows = sign[None, :] if len(self.total) else np.empty((0, len(sign)))
        term = None
        if self.ridge is not None and self.ridge.any():
            term = Diagonal(np.tile(self.ridge, 2) if self.split else self.ridge)
        errors = (self.bounds_error, self.totals_error)
        return unsigned_problem(access, sign, linear, lower, upper, rows, factors * self.total, term, *errors)


def unsigned_problem(
    access: Access,
    sign: Array,
    linear: Array,
    lower: Array,
    upper: Array,
    rows: Array,
    total: Array,
    term: Separable | None = None,
    bounds_error: float = 0.0,
    totals_error: float = 0.0,
) -> Problem:
    """Return problem (1) in α = sign ∘ β from the linear term and the bounds of β.

    The arrays are checked by the compiled core: there is a problem for every pair of classes.
    """
    sign, linear, lower, upper = map(np.ascontiguousarray, (sign, linear, lower, upper), repeat(np.float64))
    found = _core.unsigned_variables(sign, linear, lower, upper)
    p, low, high = found.linear, found.lower, found.upper
    if not found.valid or sign.size % max(access.n, 1) or not all(map(isfinite, total.tolist())):
        quadratic = Quadratic(access, sign)  # raises the error, as does the problem
        return Problem(quadratic, p, rows, total, low, high, term, bounds_error, totals_error)
    problem = Problem.__new__(Problem)
    vars(problem).update(
        Q=Quadratic.of_signs(access, sign), p=p, A=np.ascontiguousarray(rows), d=total, lower=low, upper=high,
        term=term, bounds_error=bounds_error, totals_error=totals_error, size=sign.size,
    )  # fmt: skip
    return problem


def group_rows(group: NDArray[np.int8], sign: Array, factors: Array) -> Array:
    """Return the equality rows in α: factor · Σ_{v ∈ g} βᵥ for every group g."""
    rows = np.empty((len(factors), len(sign)))
    for g, factor in enumerate(factors):
        rows[g] = np.where(group == g, factor * sign, 0.0)
    return rows
