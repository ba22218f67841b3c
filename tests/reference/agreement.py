"""Comparison of dual values with LIBSVM and clarabel on random problems.

The dual value is computed from the fitted coefficients with a float64 kernel matrix, by the same textbook formula for
every library. The larger value of a feasible point is the better one. Where LIBSVM and hinge differ, the certified
optimum of clarabel decides.
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
    """Data, the name of an estimator and its parameters; `label` describes the data."""

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

    def gradient_scale(self):
        """Scale of the gradient, to which tolerances are relative.

        Without a linear term the gradient has the size of the kernel values. A larger tolerance would stop a solver
        at its start.
        """
        if self.name not in ("NuSVC", "OneClassSVM"):
            return 1.0
        mass = self.options["nu"] * (len(self.y) if self.weight is None else np.sum(self.weight))
        return min(1.0, mass * np.abs(self.kernel_matrix()).mean())

    def fit(self, library, **options):
        model = getattr(library, self.name)(**{**self.options, **options})
        return model.fit(self.X, self.y, sample_weight=self.weight)


@dataclass(frozen=True)
class Agreement:
    """Dual values of hinge, LIBSVM and clarabel, and their relative differences (positive: hinge is worse)."""

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
        """Relative error bound of the optimum of clarabel."""
        return self.error / max(abs(self.clarabel), abs(self.value), self.floor)

    @property
    def relative_gap(self):
        """Textbook gap of the solution of hinge, an upper bound of its suboptimality by weak duality."""
        return self.gap / max(abs(self.value), self.floor)

    def holds(self, tol):
        """Return whether the value equals that of LIBSVM or the optimum.

        Where the error bound of clarabel is larger than `tol`, the textbook gap must be small enough.
        """
        if self.infeasibility > tol:
            return False
        if abs(self.to_libsvm) <= tol or abs(self.to_clarabel) <= tol:
            return True
        return self.clarabel_error > tol and self.relative_gap <= tol


def infeasibility(formulation, coef):
    """Violation of the bounds and equality constraints by a dual point, relative to their size."""
    size = max(formulation.bounds().max(), 1e-300)
    box = np.max(np.abs(coef) - formulation.bounds()) / size
    if isinstance(formulation, OneClass):
        sums = abs(coef.sum() - formulation.mass) / formulation.mass
        box = max(box, np.max(-coef) / size)
    else:
        sums = abs(coef.sum()) / max(np.abs(coef).sum(), 1e-300) if np.any(coef) else 0.0
    if isinstance(formulation, NuSVR):
        sums = max(sums, np.abs(coef).sum() / formulation.mass - 1.0)
    if isinstance(formulation, NuSVC) or type(formulation).__name__ == "CSVC":
        box = max(box, np.max(-coef * formulation.y) / size)
    return max(box, sums)


def agree(case, library, tol=1e-6, **options):
    """Fit `case` with `library` at `tol`, with LIBSVM and with clarabel; return the model and an `Agreement`."""
    model = case.fit(library, tol=tol * case.gradient_scale(), **options)
    formulation = describe(model, case.kernel_matrix(), case.y, case.weight)
    coef = coefficients(model, formulation)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            libsvm = formulation.dual(_libsvm_coefficients(case, formulation))
        except ValueError:  # LIBSVM divides a ν-classifier by ρ = 0, or see below
            libsvm = np.nan
    optimum, error = formulation.optimum()
    value, gap = formulation.dual(coef), formulation.gap(coef)
    return model, Agreement(value, infeasibility(formulation, coef), libsvm, optimum, error, gap, formulation.floor)


def _libsvm_coefficients(case, formulation):
    """Coefficients of scikit-learn's LIBSVM, fitted to the samples of positive weight, to which `support_` refers."""
    if isinstance(formulation, OneClass) and formulation.nu > 1 - 1e-9:
        raise ValueError(
            "scikit-learn's LIBSVM writes past its arrays for nu=1 (rounding in solve_one_class)"
        )
    kept = np.flatnonzero(formulation.weight > 0)
    weight = None if case.weight is None else case.weight[kept]
    part = replace(case, X=case.X[kept], y=case.y[kept], weight=weight)
    peer = part.fit(sklearn.svm, tol=LIBSVM_TOL * case.gradient_scale(), max_iter=500_000, cache_size=500)
    coef = np.zeros(len(case.y))
    coef[kept[peer.support_]] = np.asarray(
        peer.dual_coef_.todense() if sparse.issparse(peer.dual_coef_) else peer.dual_coef_
    )[0]
    return coef * formulation.mass / np.abs(coef).sum() if isinstance(formulation, NuSVC) else coef


def random_case(seed):
    """C from 1e-3 to 1e5, γ from 1e-3 to 1e2, weights, duplicates, classes of one sample, constant features."""
    rng = np.random.default_rng(1000 + seed)
    name = NAMES[seed % len(NAMES)]
    n, features = int(rng.integers(6, 61)), int(rng.integers(1, 7))
    labels = []

    def chance(probability, label):
        if rng.random() < probability:
            labels.append(label)
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
            removed = rng.random(n) < 0.2
            if name in CLASSIFIERS:  # one sample of each class stays
                removed[[np.argmax(y == 0), np.argmax(y == 1)]] = False
            weight[removed & (np.arange(n) > 0)] = 0.0

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
    return Case(", ".join(labels) or "plain", name, X, y, weight, options)
