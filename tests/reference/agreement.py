"""Comparing machines by the value of their dual: random cases, LIBSVM and clarabel as witnesses.

A dual value is read off the fitted coefficients with a float64 kernel matrix, by the same textbook formula
for every library.  The larger value (of a feasible point) is the better one; where LIBSVM and hinge differ,
clarabel's proven optimum decides.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import sklearn.svm
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from .cases import CLASSIFIERS, NAMES
from .textbook import NuSVC, NuSVR, OneClass, coefficients, describe

LIBSVM_TOL = 1e-7


@dataclass(frozen=True)
class Case:
    """A data set, a machine and its parameters; `label` says what is special about it."""

    label: str
    name: str
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    options: dict = field(default_factory=dict)

    def kernel_matrix(self):
        kernel, gamma = self.options.get("kernel", "rbf"), self.options.get("gamma")
        if kernel == "linear":
            return linear_kernel(self.X)
        if kernel == "poly":
            return polynomial_kernel(self.X, gamma=gamma, degree=3, coef0=self.options.get("coef0", 0.0))
        return rbf_kernel(self.X, gamma=gamma)

    def unit(self):
        """Tolerances are on the gradient.  Where it has no linear term to give it a size near one, its size
        is that of the kernel values: a tolerance above it would stop any solver before it starts."""
        if self.name not in ("NuSVC", "OneClassSVM"):
            return 1.0
        mass = self.options["nu"] * (len(self.y) if self.weight is None else np.sum(self.weight))
        return min(1.0, mass * np.abs(self.kernel_matrix()).mean())

    def fit(self, library, **options):
        model = getattr(library, self.name)(**{**self.options, **options})
        return model.fit(self.X, self.y, sample_weight=self.weight)


@dataclass(frozen=True)
class Agreement:
    """Dual values and the relative distances of hinge's from the witnesses' (positive: hinge is worse)."""

    value: float
    infeasibility: float
    libsvm: float
    clarabel: float
    error: float
    gap: float
    floor: float

    def _relative(self, other):
        return (other - self.value) / max(abs(other), abs(self.value), self.floor)

    @property
    def to_libsvm(self):
        return self._relative(self.libsvm)

    @property
    def to_clarabel(self):
        return self._relative(self.clarabel)

    @property
    def clarabel_error(self):
        """How much of the distance may be clarabel's."""
        return self.error / max(abs(self.clarabel), abs(self.value), self.floor)

    @property
    def proven(self):
        """The textbook gap of hinge's point, by weak duality no less than its distance from the optimum."""
        return self.gap / max(abs(self.value), self.floor)

    def holds(self, tol):
        """Equal to LIBSVM's value, or, if that is off, to the optimum.

        Where clarabel's own proven error is too large to tell, the textbook gap must be small enough.
        """
        if self.infeasibility > tol:
            return False
        if abs(self.to_libsvm) <= tol or abs(self.to_clarabel) <= tol:
            return True
        return self.clarabel_error > tol and self.proven <= tol


def infeasibility(machine, coef):
    """Distance of the dual point to its box and sums, relative to their size."""
    size = max(machine.bounds().max(), 1e-300)
    box = np.max(np.abs(coef) - machine.bounds()) / size
    if isinstance(machine, OneClass):
        sums = abs(coef.sum() - machine.mass) / machine.mass
        box = max(box, np.max(-coef) / size)
    else:
        sums = abs(coef.sum()) / max(np.abs(coef).sum(), 1e-300) if np.any(coef) else 0.0
    if isinstance(machine, NuSVR):
        sums = max(sums, np.abs(coef).sum() / machine.mass - 1.0)
    if isinstance(machine, NuSVC) or type(machine).__name__ == "CSVC":
        box = max(box, np.max(-coef * machine.y) / size)
    return max(box, sums)


def agree(case, library, tol=1e-6, **options):
    """Fit `case` with `library` at `tol`, and with both witnesses."""
    model = case.fit(library, tol=tol * case.unit(), **options)
    machine = describe(model, case.kernel_matrix(), case.y, case.weight)
    coef = coefficients(model, machine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            libsvm = machine.dual(_libsvm_coefficients(case, machine))
        except ValueError:  # no witness: LIBSVM divides a ν-classifier by ρ = 0, or see below
            libsvm = np.nan
    optimum, error = machine.optimum()
    value, gap = machine.dual(coef), machine.gap(coef)
    return model, Agreement(value, infeasibility(machine, coef), libsvm, optimum, error, gap, machine.floor)


def _libsvm_coefficients(case, machine):
    """scikit-learn counts `support_` among the samples of positive weight only, so it is given no others."""
    if isinstance(machine, OneClass) and machine.nu > 1 - 1e-9:
        raise ValueError(
            "scikit-learn's LIBSVM writes past its arrays for nu=1 (rounding in solve_one_class)"
        )
    kept = np.flatnonzero(machine.weight > 0)
    weight = None if case.weight is None else case.weight[kept]
    part = replace(case, X=case.X[kept], y=case.y[kept], weight=weight)
    peer = part.fit(sklearn.svm, tol=LIBSVM_TOL * case.unit(), max_iter=500_000, cache_size=500)
    coef = np.zeros(len(case.y))
    coef[kept[peer.support_]] = np.asarray(
        peer.dual_coef_.todense() if sparse.issparse(peer.dual_coef_) else peer.dual_coef_
    )[0]
    return coef * machine.mass / np.abs(coef).sum() if isinstance(machine, NuSVC) else coef


def random_case(seed):
    """C from 1e-3 to 1e5, γ from 1e-3 to 1e2, weights, duplicates, one-point classes, constant features."""
    rng = np.random.default_rng(1000 + seed)
    name = NAMES[seed % len(NAMES)]
    n, features = int(rng.integers(6, 61)), int(rng.integers(1, 7))
    marks = []

    def chance(probability, mark):
        if rng.random() < probability:
            marks.append(mark)
            return True
        return False

    X = rng.normal(size=(n, features))
    if chance(0.3, "duplicates"):
        X = X[rng.integers(0, n, n)]
    if chance(0.3, "constant feature"):
        X[:, rng.integers(features)] = rng.normal()
    if name in CLASSIFIERS:
        y = np.where(X[:, 0] + rng.normal(size=n) * rng.choice([0.1, 1.0]) > 0, 1, 0)
        y[:2] = 0, 1
        if chance(0.2, "one-point class"):
            y[:] = 0
            y[rng.integers(n)] = 1
    else:
        y = np.sin(2 * X[:, 0]) + rng.normal(size=n) * 0.3
        y *= 10.0 ** rng.uniform(-1, 2)
    weight = None
    if chance(0.5, "weights"):
        weight = rng.uniform(0.1, 3.0, n)
        if chance(0.4, "some zero"):
            spare = rng.random(n) < 0.2
            if name in CLASSIFIERS:  # one sample of each class stays
                spare[[np.argmax(y == 0), np.argmax(y == 1)]] = False
            weight[spare & (np.arange(n) > 0)] = 0.0

    kernel = rng.choice(["rbf", "rbf", "rbf", "linear", "poly"])
    options = dict(kernel=str(kernel), gamma=10.0 ** rng.uniform(-3, 2))
    C = 10.0 ** rng.uniform(-3, 5)
    if name in ("SVC", "SVR", "NuSVR"):
        options["C"] = C
    if name == "SVR":
        options["epsilon"] = 10.0 ** rng.uniform(-3, 0)
    if name in ("NuSVR", "OneClassSVM"):
        options["nu"] = rng.uniform(0.05, 0.95)
    if name == "NuSVC":
        w = np.ones(n) if weight is None else weight
        options["nu"] = rng.uniform(0.1, 0.99) * 2 * min(w[y == 1].sum(), w[y == 0].sum()) / w.sum()
    return Case(", ".join(marks) or "plain", name, X, y, weight, options)
