"""Random estimators and data: scales from 1e-8 to 1e8, offsets, duplicates, float32, sparse data, weights, C up to ∞.

Most costs, weights, ν and γ have few binary digits, so that products of them are exact: the problem that an estimator
solves is then the problem that its parameters define. In a part of the cases they have all digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

import hinge
from hinge import kernels

MAX_SAMPLES = 40

KERNEL_SOLVERS = ("smo", "working_set", "chunking", "interior_point", "low_rank_interior_point")
TEXTBOOK_SOLVERS = ("lagrangian", "gradient_descent", "adatron", "newton")

#: Seconds of a fit with a textbook solver, which may need very many iterations.
TEXTBOOK_TIME = 0.2


@dataclass
class Case:
    """A random fit. `fit` are further arguments of the methods fit and certify."""

    seed: int
    estimator: object
    X: object
    y: object
    fit: dict = field(default_factory=dict)
    notes: str = ""
    psd: bool = True  # whether the kernel matrix is positive semidefinite


def few_bits(value, bits=12):
    """Round to a number with few binary digits."""
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.round(mantissa * 2**bits), int(exponent) - bits))


def log_uniform(rng, low, high):
    return 10.0 ** rng.uniform(low, high)


class _Draw:
    """Random choices of one case."""

    def __init__(self, seed):
        self.seed, self.rng = seed, np.random.default_rng(seed)
        rng = self.rng
        self.all_digits = rng.random() < 0.15
        self.scale = log_uniform(rng, -8, 8) if rng.random() < 0.5 else 1.0
        self.offset = log_uniform(rng, -3, 8) * rng.choice([1.0, self.scale]) if rng.random() < 0.3 else 0.0
        self.notes = []

    def number(self, value):
        return float(value) if self.all_digits else few_bits(value)

    def samples(self, low=2, high=MAX_SAMPLES, plain=False):
        rng = self.rng
        n, d = int(rng.integers(low, high + 1)), int(rng.integers(1, 6))
        Z = rng.normal(size=(n, d))
        if rng.random() < 0.25:
            Z = rng.integers(-2, 3, size=(n, d)).astype(float)
        if rng.random() < 0.2:
            Z[rng.integers(0, n, n // 2)] = Z[rng.integers(0, n, n // 2)]
            self.notes.append("duplicates")
        self.Z = Z
        X = self.scale * Z + self.offset
        if rng.random() < 0.2:
            X = X.astype(np.float32)
            self.notes.append("float32")
        if not plain and rng.random() < 0.2:
            X = sparse.csr_matrix(np.where(rng.random(X.shape) < 0.5, X, X.dtype.type(0)))
            self.notes.append("sparse")
        return X

    def labels(self, n, classes):
        score = self.Z[:, 0] + self.rng.choice([0.0, 0.3, 2.0]) * self.rng.normal(size=n)
        order = np.argsort(np.argsort(score))
        y = (order * classes) // n
        y[self.rng.permutation(n)[:classes]] = np.arange(classes)
        return y

    def targets(self, n):
        rng = self.rng
        y = self.Z[:, 0] + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
        if rng.random() < 0.15:
            y = np.full(n, float(rng.normal()))
        return y * (log_uniform(rng, -8, 8) if rng.random() < 0.3 else 1.0) + (rng.random() < 0.2) * self.offset

    def C(self, infinite=False):
        if infinite and self.rng.random() < 0.1:
            return np.inf
        value = log_uniform(self.rng, -6, 6) if self.rng.random() < 0.6 else log_uniform(self.rng, -1, 2)
        return self.number(value / (self.scale**2 if self.rng.random() < 0.3 else 1.0))

    def tol(self):
        return 1e-3 if self.rng.random() < 0.4 else float(log_uniform(self.rng, -10, -0.5))

    def nu(self):
        value = self.rng.uniform(0.05, 0.95)
        return float(value) if self.all_digits else np.ceil(value * 64) / 64

    def weight(self, y=None):
        """Sample weights or None; zeros leave at least two samples of every class."""
        rng, n = self.rng, len(self.Z)
        if rng.random() < 0.6:
            return {}
        weight = rng.integers(1, 17, n) / 8 if not self.all_digits else rng.uniform(0.1, 3.0, n)
        if rng.random() < 0.4:
            weight[rng.random(n) < 0.3] = 0.0
        for label in np.unique(y) if y is not None else [0]:
            members = np.flatnonzero(y == label) if y is not None else np.arange(n)
            weight[members[:2]] = np.maximum(weight[members[:2]], 0.5)
        self.notes.append("weights")
        return {"sample_weight": weight}

    def kernel(self, X):
        """Return (X or a kernel matrix, parameters, whether the kernel is positive semidefinite)."""
        rng = self.rng
        unit = 1.0 / max(float(self.scale) ** 2, 1e-300)
        gamma = "scale" if rng.random() < 0.4 else self.number(log_uniform(rng, -3, 2) * unit)
        kind = rng.choice(["linear", "rbf", "poly", "laplacian", "precomputed", "sum", "sigmoid", "bspline"],
                          p=[0.3, 0.3, 0.12, 0.08, 0.08, 0.06, 0.03, 0.03])  # fmt: skip
        if kind == "precomputed":
            G = rng.integers(-3, 4, size=(len(self.Z), int(rng.integers(1, len(self.Z) + 2)))).astype(float)
            return few_bits(self.scale) * (G @ G.T), {"kernel": "precomputed"}, True
        if kind == "sum":
            width = self.number(log_uniform(rng, -2, 1) * unit)
            part = kernels.RBF(width) + self.number(log_uniform(rng, -2, 2)) * kernels.Linear()
            return X, {"kernel": part if rng.random() < 0.5 else kernels.RBF(width) * kernels.Linear()}, True
        parameters = {"kernel": str(kind), "gamma": gamma}
        if kind == "poly":
            return X, {**parameters, "degree": int(rng.integers(1, 5)), "coef0": float(rng.choice([0.0, 1.0]))}, True
        if kind == "bspline":
            return X, {**parameters, "degree": int(rng.choice([1, 3, 5]))}, False
        if kind == "linear":
            return X, {"kernel": "linear"}, True
        return X, parameters, kind != "sigmoid"

    def solver(self, kernel, losses=False):
        """Return the parameters solver, max_time and max_iter."""
        rng = self.rng
        name = str(rng.choice(["auto", "main", "textbook"], p=[0.5, 0.4, 0.1]))
        if name == "main":
            names = [*KERNEL_SOLVERS, "coordinate_descent"] if kernel == "linear" else KERNEL_SOLVERS
            name = str(rng.choice(names))
        elif name == "textbook":
            name = str(rng.choice(TEXTBOOK_SOLVERS))
        parameters = {"solver": name}
        if name in TEXTBOOK_SOLVERS:
            parameters["max_time"] = TEXTBOOK_TIME
        return {**parameters, **self.limits("max_time" not in parameters)}

    def limits(self, time=True):
        parameters, rng = {}, self.rng
        if time and rng.random() < 0.2:
            parameters["max_time"] = float(rng.choice([0.001, 0.05, 0.3]))
        if rng.random() < 0.1:
            parameters["max_iter"] = int(rng.choice([1, 5, 50]))
        return parameters

    def case(self, estimator, X, y, fit=None, psd=True):
        if self.scale != 1:
            self.notes.append(f"scale {self.scale:.0e}")
        if self.offset:
            self.notes.append(f"offset {self.offset:.0e}")
        return Case(self.seed, estimator, X, y, fit or {}, ", ".join(self.notes), psd)

    def classification(self, low=4, multiclass=True):
        X = self.samples(low=max(low, 6))
        classes = int(self.rng.choice([2, 3, 4], p=[0.75, 0.15, 0.1])) if multiclass else 2
        return X, self.labels(len(self.Z), min(classes, len(self.Z) // 2))


# ---- estimators -----------------------------------------------------------------------------------------------------


def svc(draw):
    X, y = draw.classification()
    X, kernel, psd = draw.kernel(X)
    loss = str(draw.rng.choice(["hinge", "squared_hinge", "modified_huber"], p=[0.7, 0.2, 0.1]))
    parameters = {"C": draw.C(loss == "hinge"), "loss": loss, "tol": draw.tol(), **draw.solver(kernel["kernel"])}
    if draw.rng.random() < 0.15:
        parameters["fit_intercept"] = False
    if draw.rng.random() < 0.15:
        parameters["class_weight"] = "balanced" if draw.all_digits else {0: 0.5, 1: 3.0}
    return draw.case(hinge.SVC(**kernel, **parameters), X, y, draw.weight(y), psd)


def nu_svc(draw):
    X, y = draw.classification()
    X, kernel, psd = draw.kernel(X)
    parameters = {"nu": draw.nu(), "tol": draw.tol(), **draw.solver(kernel["kernel"])}
    parameters["balance"] = draw.rng.choice([None, "class", "min"], p=[0.7, 0.15, 0.15])
    return draw.case(hinge.NuSVC(**kernel, **parameters), X, y, draw.weight(y), psd)


def svr(draw):
    X = draw.samples()
    y = draw.targets(len(draw.Z))
    X, kernel, psd = draw.kernel(X)
    losses = ["epsilon_insensitive", "squared_epsilon_insensitive", "laplace", "gaussian", "huber"]
    loss = str(draw.rng.choice(losses, p=[0.6, 0.1, 0.1, 0.1, 0.1]))
    unit = float(np.std(y)) or 1.0
    parameters = {"C": draw.C(), "loss": loss, "tol": draw.tol(), **draw.solver(kernel["kernel"])}
    parameters["epsilon"] = float(draw.rng.choice([0.0, 0.1, 0.1 * unit, 2.0 * unit]))
    parameters["sigma"] = draw.number(log_uniform(draw.rng, -2, 1))
    if draw.rng.random() < 0.15:
        parameters["fit_intercept"] = False
    if loss == "epsilon_insensitive" and draw.rng.random() < 0.2:
        parameters.update(_asymmetric(draw, parameters["C"], parameters["epsilon"]))
    return draw.case(hinge.SVR(**kernel, **parameters), X, y, draw.weight(), psd)


def _asymmetric(draw, C, epsilon):
    """Other costs, or another tube, for targets below f."""
    factor = draw.number(log_uniform(draw.rng, -2, 2))
    parameters = {"C": (C, draw.number(C * factor))} if draw.rng.random() < 0.7 else {}
    if not parameters or draw.rng.random() < 0.5:
        parameters["epsilon"] = (epsilon, float(epsilon + draw.rng.choice([0.25, 1.0])))
    return parameters


def nu_svr(draw):
    X = draw.samples()
    y = draw.targets(len(draw.Z))
    X, kernel, psd = draw.kernel(X)
    parameters = {"C": draw.C(), "nu": draw.nu(), "tol": draw.tol(), **draw.solver(kernel["kernel"])}
    return draw.case(hinge.NuSVR(**kernel, **parameters), X, y, draw.weight(), psd)


def one_class(draw):
    X, kernel, psd = draw.kernel(draw.samples())
    parameters = {"nu": draw.nu(), "tol": draw.tol(), **draw.solver(kernel["kernel"])}
    return draw.case(hinge.OneClassSVM(**kernel, **parameters), X, None, draw.weight(), psd)


def _linear(draw):
    rng = draw.rng
    parameters = {"tol": draw.tol(), **draw.limits()}
    if rng.random() < 0.4:
        parameters["solver"] = str(rng.choice(["descent", "newton"]))
    return parameters


def _intercept(draw):
    kind = draw.rng.choice(["free", "penalized", "none"], p=[0.6, 0.25, 0.15])
    if kind == "penalized":
        return {"penalize_intercept": True, "intercept_scaling": few_bits(log_uniform(draw.rng, -1, 2))}
    return {"fit_intercept": False} if kind == "none" else {}


def linear_svc(draw):
    X, y = draw.classification()
    loss = str(draw.rng.choice(["hinge", "squared_hinge", "modified_huber", "huberized_hinge"]))
    parameters = {"C": draw.C(), "loss": loss, **_linear(draw), **_intercept(draw)}
    if len(np.unique(y)) > 2 and draw.rng.random() < 0.4:
        parameters["multi_class"] = "crammer_singer"
        parameters.pop("solver", None)
        if draw.rng.random() < 0.7:  # small enough for the exact solution
            X, y = _first_rows(draw, X, y, 12)
    if draw.rng.random() < 0.15:
        parameters["class_weight"] = {0: 0.5, 1: 3.0}
    return draw.case(hinge.LinearSVC(**parameters), X, y, draw.weight(y))


def _first_rows(draw, X, y, n):
    of_each_class = [np.flatnonzero(y == label)[0] for label in np.unique(y)]
    keep = np.unique(np.concatenate([of_each_class, np.arange(min(n, len(y)))]))
    draw.Z = draw.Z[keep]
    return X[keep], y[keep]


def linear_svr(draw):
    X = draw.samples()
    y = draw.targets(len(draw.Z))
    losses = ["epsilon_insensitive", "squared_epsilon_insensitive", "laplace", "gaussian", "huber"]
    parameters = {"C": draw.C(), "loss": str(draw.rng.choice(losses)), **_linear(draw), **_intercept(draw)}
    parameters["epsilon"] = float(draw.rng.choice([0.0, 0.1, 0.1 * (float(np.std(y)) or 1.0)]))
    return draw.case(hinge.LinearSVR(**parameters), X, y, draw.weight())


def linear_one_class(draw):
    X = draw.samples()
    return draw.case(hinge.LinearOneClassSVM(nu=draw.nu(), **_linear(draw)), X, None, draw.weight())


def incremental_svc(draw):
    X, y = draw.classification()
    X, kernel, psd = draw.kernel(X)
    return draw.case(hinge.IncrementalSVC(C=draw.C(), **kernel), X, y, draw.weight(y), psd)


def incremental_svr(draw):
    X = draw.samples()
    y = draw.targets(len(draw.Z))
    X, kernel, psd = draw.kernel(X)
    parameters = {"C": draw.C(), "epsilon": float(draw.rng.choice([0.0, 0.1]))}
    if draw.rng.random() < 0.2:
        parameters.update(_asymmetric(draw, **parameters))
    return draw.case(hinge.IncrementalSVR(**parameters, **kernel), X, y, draw.weight(), psd)


def incremental_one_class(draw):
    X, kernel, psd = draw.kernel(draw.samples())
    return draw.case(hinge.IncrementalOneClassSVM(nu=draw.nu(), **kernel), X, None, draw.weight(), psd)


def low_rank_svc(draw):
    X, y = draw.classification()
    X, kernel, _ = draw.kernel(X)
    rng = draw.rng
    parameters = {"C": draw.C(), "n_basis": int(rng.integers(1, 50)), "basis": str(rng.choice(["loss", "random"]))}
    parameters.update(tol=max(draw.tol(), 1e-7), fit_intercept=bool(rng.random() < 0.8), **draw.limits())
    return draw.case(hinge.LowRankSVC(**kernel, **parameters), X, y, draw.weight(y))  # convex with K + δI ≻ 0


def lp_svc(draw):
    X, y = draw.classification()
    X, kernel, _ = draw.kernel(X)
    return draw.case(hinge.LPSVC(C=draw.C(), **kernel, **draw.limits()), X, y, draw.weight(y))


def lp_svr(draw):
    X = draw.samples()
    y = draw.targets(len(draw.Z))
    X, kernel, _ = draw.kernel(X)
    parameters = {"C": draw.C(), "epsilon": float(draw.rng.choice([0.0, 0.1])), **draw.limits()}
    return draw.case(hinge.LPSVR(**kernel, **parameters), X, y, draw.weight())


def ranking(draw):
    X = draw.samples(low=3, high=12)
    y = draw.labels(len(draw.Z), min(3, len(draw.Z)))
    X, kernel, psd = draw.kernel(X)
    loss = str(draw.rng.choice(["hinge", "squared_hinge"]))
    parameters = {"C": draw.C(), "loss": loss, "tol": draw.tol(), **draw.limits()}
    parameters["weighting"] = str(draw.rng.choice(["uniform", "gain"]))
    if draw.rng.random() < 0.3:
        parameters["solver"] = str(draw.rng.choice(KERNEL_SOLVERS[:4]))
    return draw.case(hinge.RankingSVM(**kernel, **parameters), X, y, {}, psd)


def transductive(draw):
    X, y = draw.classification(multiclass=False)
    _, kernel, psd = draw.kernel(X)
    if kernel["kernel"] in ("precomputed", "sigmoid", "bspline"):
        kernel, psd = {"kernel": "rbf"}, True
    half = max(3, len(y) // 2)
    if len(np.unique(y[:half])) < 2:
        y[:2] = 0, 1
    model = hinge.TransductiveSVC(C=draw.C(), C_unlabeled=draw.C(), **kernel)
    return draw.case(model, X[:half], y[:half], {"X_unlabeled": X[half:]}, psd)


ESTIMATORS = {
    "SVC": svc,
    "NuSVC": nu_svc,
    "SVR": svr,
    "NuSVR": nu_svr,
    "OneClassSVM": one_class,
    "LinearSVC": linear_svc,
    "LinearSVR": linear_svr,
    "LinearOneClassSVM": linear_one_class,
    "IncrementalSVC": incremental_svc,
    "IncrementalSVR": incremental_svr,
    "IncrementalOneClassSVM": incremental_one_class,
    "LowRankSVC": low_rank_svc,
    "LPSVC": lp_svc,
    "LPSVR": lp_svr,
    "RankingSVM": ranking,
    "TransductiveSVC": transductive,
}


def random_case(seed, estimator=None):
    """Return the case of a seed; `estimator` replaces the randomly chosen name, and does not change other choices."""
    if estimator is None:
        names = list(ESTIMATORS)
        weights = np.array([3.0 if name in ("SVC", "SVR", "LinearSVC") else 1.0 for name in names])
        estimator = str(np.random.default_rng([seed, 1]).choice(names, p=weights / weights.sum()))
    return ESTIMATORS[estimator](_Draw(seed))
