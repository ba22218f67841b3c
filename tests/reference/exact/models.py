"""Convex programs of fitted estimators, from their public parameters and their training data.

Costs are exact products of C, sample weights and class weights. "Fitted" numbers that define the problem are read from
the model: gamma="scale", balanced class weights, labels and costs of a transduction.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from flint import arb_mat

from .crammer_singer import CrammerSingerProgram
from .kernels import dense, gram
from .linear_programs import LinearProgram
from .numbers import HALF, ONE, ZERO, exact, matrix, total, vector
from .programs import Program

#: Losses with a quadratic conjugate: (threshold, curvature, bound); docs/math (303).
MARGIN = {
    "hinge": (1.0, 0.0, 1.0),
    "squared_hinge": (1.0, 0.5, None),
    "modified_huber": (1.0, 0.5, 4.0),
    "huberized_hinge": (1.1, 1.0, 0.2),
}
RESIDUAL = {
    "epsilon_insensitive": ("epsilon", 0.0, 1.0),
    "squared_epsilon_insensitive": ("epsilon", 0.5, None),
    "laplace": (0.0, 0.0, 1.0),
    "gaussian": (0.0, 1.0, None),
    "huber": (0.0, "sigma", 1.0),
}


def subproblems(model, X, y=None, sample_weight=None, **others):
    """Return [(program, starting point or None)] of a fitted estimator; the optimum is the sum over all programs.

    `others` are further arguments of `fit`: qid, X_unlabeled.
    """
    builder = BUILDERS[type(model).__name__]
    return builder(model, X, y, sample_weight, **others)


# ---- programs -------------------------------------------------------------------------------------------------------


def margin_program(K, sign, cost, loss="hinge", bias=True):
    """min ½‖w‖² + Σ Cᵢ φ(yᵢ f(xᵢ)) in signed variables 0 ≤ yᵢβᵢ ≤ hCᵢ; a cost of None is infinite."""
    threshold, curvature, bound = MARGIN[loss]
    box = [None if c is None or bound is None else exact(bound) * c for c in cost]
    lower = [ZERO if s > 0 else None if b is None else -b for s, b in zip(sign, box, strict=True)]
    upper = [ZERO if s < 0 else b for s, b in zip(sign, box, strict=True)]
    ridge = [exact(curvature) / c for c in cost] if curvature else None
    p = [-exact(threshold) * int(s) for s in sign]
    return Program(K, p, lower, upper, *_sum_row(len(sign), bias), ridge=ridge)


def asymmetric_program(K, y, cost, cost_star, epsilon, epsilon_star, bias=True):
    """min ½‖w‖² + Σ Cᵢ max(0, yᵢ − f − ε) + Cᵢ* max(0, f − yᵢ − ε*) in signed variables −C* ≤ β ≤ C.

    ε ≠ ε* is a shift of the targets: ε|β| for β > 0 and ε*|β| for β < 0 is ½(ε + ε*)|β| + ½(ε − ε*)β.
    """
    half = HALF * (epsilon + epsilon_star)
    p = [-(exact(v) - HALF * (epsilon - epsilon_star)) for v in y]
    tube = [half] * len(y)
    return Program(K, p, [-c for c in cost_star], cost, *_sum_row(len(y), bias), None, tube)


def residual_program(K, y, cost, loss, epsilon, sigma, bias=True):
    """min ½‖w‖² + Σ Cᵢ φ(yᵢ − f(xᵢ)) in signed variables |βᵢ| ≤ hCᵢ."""
    threshold, curvature, bound = RESIDUAL[loss]
    curvature = sigma if curvature == "sigma" else curvature
    box = [None if c is None or bound is None else exact(bound) * c for c in cost]
    ridge = [exact(curvature) / c for c in cost] if curvature else None
    tube = epsilon if threshold == "epsilon" else [ZERO] * len(y)
    p = [-exact(v) for v in y]
    return Program(K, p, [None if b is None else -b for b in box], box, *_sum_row(len(y), bias), ridge, tube)


def one_class_program(K, weight, nu):
    """min ½‖w‖² − νWρ + Σ wᵢ max(0, ρ − f(xᵢ)): 0 ≤ β ≤ w, Σβ = νW."""
    n = len(weight)
    return Program(K, [ZERO] * n, [ZERO] * n, weight, [[1] * n], [exact(nu) * total(weight)])


def nu_classification_program(K, sign, weight, nu, balance):
    """min ½‖w‖² − νWρ + Σ uᵢ max(0, ρ − yᵢ f(xᵢ)): two rows, with sums ±νW/2."""
    half = HALF * exact(nu) * total(weight)
    sums = {s: total(w for w, t in zip(weight, sign, strict=True) if t == s) for s in (1, -1)}
    scale = {1: ONE, -1: ONE}
    if balance == "class":
        scale = {s: total(weight) / (2 * sums[s]) for s in sums}
    elif balance == "min":
        scale = dict.fromkeys(sums, total(weight) / (2 * sums[1].min(sums[-1])))
    box = [w * scale[int(s)] for w, s in zip(weight, sign, strict=True)]
    lower = [ZERO if s > 0 else -b for s, b in zip(sign, box, strict=True)]
    upper = [ZERO if s < 0 else b for s, b in zip(sign, box, strict=True)]
    rows = [[int(s > 0) for s in sign], [int(s < 0) for s in sign]]
    return Program(K, [ZERO] * len(sign), lower, upper, rows, [half, -half])


def nu_regression_program(K, y, cost, nu):
    """min ½‖w‖² + νεΣC + Σ Cᵢ max(0, |yᵢ − f(xᵢ)| − ε): variables (α, α*), Σα = Σα* = νΣC/2."""
    n, half = len(y), HALF * exact(nu) * total(cost)
    entries = [K[i % n, j % n] * (1 if (i < n) == (j < n) else -1) for i in range(2 * n) for j in range(2 * n)]
    p = [-exact(v) for v in y] + [exact(v) for v in y]
    rows = [[1] * n + [0] * n, [0] * n + [1] * n]
    return Program(arb_mat(2 * n, 2 * n, entries), p, [ZERO] * (2 * n), cost + cost, rows, [half, half])


def crammer_singer_program(K, label, cost, classes, bias):
    """min ½Σ‖w_m‖² + Σ Cᵢ max_m (1 − [m = yᵢ] + f_m(xᵢ) − f_yᵢ(xᵢ)); variables β_im, class by class.

    w_m = Σ β_im xᵢ, Σ_m β_im = 0, β_im ≤ Cᵢ[m = yᵢ]; the lower bound −Cᵢ is implied.
    """
    n = len(label)
    size = n * classes
    Q = arb_mat(size, size)
    for m in range(classes):
        for i in range(n):
            for j in range(n):
                Q[m * n + i, m * n + j] = K[i, j]
    own = [label[v % n] == v // n for v in range(size)]
    upper = [cost[v % n] if own[v] else ZERO for v in range(size)]
    lower = [ZERO if own[v] else -cost[v % n] for v in range(size)]
    p = [ZERO if own[v] else ONE for v in range(size)]
    rows = [[int(v % n == i) for v in range(size)] for i in range(n)]
    if bias:
        rows += [[int(v // n == m) for v in range(size)] for m in range(classes)]
    return CrammerSingerProgram(Q, p, lower, upper, rows, [ZERO] * len(rows), n=n)


def _sum_row(n, bias):
    return ([[1] * n], [ZERO]) if bias else ([], [])


# ---- data -----------------------------------------------------------------------------------------------------------


class _Data:
    """Training samples with a positive weight, and their costs."""

    def __init__(self, X, y, sample_weight, precomputed=False):
        X = dense(X)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.n_given, self.rows = len(X), np.flatnonzero(weight > 0)
        self.X = X[np.ix_(self.rows, self.rows)] if precomputed else X[self.rows]
        self.y = None if y is None else np.asarray(y)[self.rows]
        self.weight = [exact(w) for w in weight[self.rows]]

    def cost(self, C, class_weight=None, classes=None):
        if np.isinf(C):
            return [None] * len(self.rows)
        result = [exact(C) * w for w in self.weight]
        if class_weight is not None:
            at = np.searchsorted(classes, self.y)
            result = [c * exact(class_weight[k]) for c, k in zip(result, at, strict=True)]
        return result

    def scattered(self, support, coefficients):
        """Return coefficients of the given samples as balls for all samples."""
        full = np.zeros(self.n_given)
        full[np.asarray(support)] = coefficients
        return vector(full[self.rows])


def _kernel_data(model, X, y, sample_weight):
    kernel = model.model_.kernel
    data = _Data(X, y, sample_weight, type(kernel).__name__ == "Precomputed")
    return data, gram(kernel, data.X)


def _coefficients(model):
    dual = model.dual_coef_
    return np.asarray(dual.toarray() if hasattr(dual, "toarray") else dual)


def _sub(K, rows):
    if len(rows) == K.nrows():
        return K
    return arb_mat(len(rows), len(rows), [K[int(i), int(j)] for i in rows for j in rows])


# ---- estimators -----------------------------------------------------------------------------------------------------


def _pairs(model, data):
    """Yield (positions, signs, starting point) of every pair of classes; the second of two classes is positive."""
    classes, beta = model.classes_, _coefficients(model)
    given = getattr(model, "_dual_points", None) is None
    if len(classes) == 2:
        sign = np.where(data.y == classes[1], 1, -1)
        yield np.arange(len(data.rows)), sign, data.scattered(model.support_, beta[0]) if given else None
        return
    label_of_support = np.repeat(np.arange(len(classes)), model.n_support_) if given else None
    for i, j in combinations(range(len(classes)), 2):
        rows = np.flatnonzero((data.y == classes[i]) | (data.y == classes[j]))
        sign = np.where(data.y[rows] == classes[i], 1, -1)
        start = None
        if given:
            own = np.zeros(beta.shape[1])
            own[label_of_support == i], own[label_of_support == j] = (
                beta[j - 1][label_of_support == i],
                beta[i][label_of_support == j],
            )
            full = data.scattered(model.support_, own)
            start = [full[r] for r in rows]
        yield rows, sign, start


def _svc(model, X, y, sample_weight):
    data, K = _kernel_data(model, X, y, sample_weight)
    cost = data.cost(model.C, model.class_weight_, model.classes_)
    loss, bias = getattr(model, "loss", "hinge"), getattr(model, "fit_intercept", True)
    for rows, sign, start in _pairs(model, data):
        yield margin_program(_sub(K, rows), sign, [cost[r] for r in rows], loss, bias), start


def _nu_svc(model, X, y, sample_weight):
    data, K = _kernel_data(model, X, y, sample_weight)
    weight = data.cost(1.0, model.class_weight_, model.classes_)
    for rows, sign, start in _pairs(model, data):
        program = nu_classification_program(_sub(K, rows), sign, [weight[r] for r in rows], model.nu, model.balance)
        if start is not None:
            found = total(v for v, s in zip(start, sign, strict=True) if s > 0)
            start = [v * (program.d[0] / found) for v in start] if found > 0 else None
        yield program, start


def _regression_data(model, data):
    epsilon = getattr(model, "epsilon", 0.0)
    values = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), data.n_given)[data.rows]
    return [exact(v) for v in values], getattr(model, "sigma", 1.0)


def _svr(model, X, y, sample_weight):
    data, K = _kernel_data(model, X, y, sample_weight)
    bias, loss = getattr(model, "fit_intercept", True), getattr(model, "loss", "epsilon_insensitive")
    if isinstance(model.C, tuple) or isinstance(model.epsilon, tuple):
        costs, tubes = (v if isinstance(v, tuple) else (v, v) for v in (model.C, model.epsilon))
        program = asymmetric_program(K, data.y, *map(data.cost, costs), *map(exact, tubes), bias)
    else:
        program = residual_program(K, data.y, data.cost(model.C), loss, *_regression_data(model, data), bias)
    given = getattr(model, "_dual_points", None) is None
    yield program, data.scattered(model.support_, _coefficients(model)[0]) if given else None


def _nu_svr(model, X, y, sample_weight):
    data, K = _kernel_data(model, X, y, sample_weight)
    start = None
    if getattr(model, "_dual_points", None) is None:
        beta = data.scattered(model.support_, _coefficients(model)[0])
        start = [v.max(ZERO) for v in beta] + [(-v).max(ZERO) for v in beta]
    yield nu_regression_program(K, data.y, data.cost(model.C), model.nu), start


def _one_class(model, X, y, sample_weight):
    data, K = _kernel_data(model, X, None, sample_weight)
    given = getattr(model, "_dual_points", None) is None
    start = data.scattered(model.support_, _coefficients(model)[0]) if given else None
    yield one_class_program(K, data.weight, model.nu), start


def _low_rank_svc(model, X, y, sample_weight):
    """Squared hinge losses with the kernel K^mn (K^nn + δI)⁻¹ K^nm; δ is 1e-5 times the mean diagonal entry of K^nn."""
    data, K = _kernel_data(model, X, y, sample_weight)
    m, basis = len(data.rows), np.searchsorted(data.rows, model.support_)
    n = len(basis)
    ridge = exact(1e-5) * total(K[int(j), int(j)] for j in basis) / n
    ridge = ridge.max(exact(1e-12))
    inner = arb_mat(n, n, [K[int(i), int(j)] + (ridge if i == j else ZERO) for i in basis for j in basis])
    cross = arb_mat(n, m, [K[int(j), i] for j in basis for i in range(m)])
    reduced = cross.transpose() * inner.solve(cross)
    cost = data.cost(model.C, model.class_weight_, model.classes_)
    for k, label in enumerate(model.classes_[1:] if len(model.classes_) == 2 else model.classes_):
        sign = np.where(data.y == label, 1, -1)
        start = vector(model._dual_points[k])
        yield margin_program(reduced, sign, cost, "squared_hinge", model.fit_intercept), start


def _lp(model, X, y, sample_weight):
    kernel = model.model_.parts[0].kernel
    data = _Data(X, y, sample_weight, type(kernel).__name__ == "Precomputed")
    K, n = gram(kernel, data.X), len(data.rows)
    coefficients = model._terms.reshape(-1, model._terms.shape[2])
    if hasattr(model, "classes_"):
        cost = data.cost(model.C, model.class_weight_, model.classes_)
        positive = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
        signs = [np.where(data.y == label, 1, -1) for label in positive]
        programs = []
        for sign in signs:
            sides = [[c if s == side else ZERO for c, s in zip(cost, sign, strict=True)] for side in (-1, 1)]
            programs.append(LinearProgram(K, [exact(int(s)) for s in sign], *sides, [ZERO] * n))
    else:
        cost = data.cost(model.C)
        programs = [LinearProgram(K, [exact(v) for v in data.y], cost, cost, [exact(model.epsilon)] * n)]
    for k, program in enumerate(programs):
        yield program, (vector(coefficients[:, k]), exact(model.intercept_[k]), vector(model._beta[:, k]))


def _linear_gram(model, data):
    """Return XXᵀ, plus B² if the intercept is the weight of a constant feature B."""
    M = matrix(data.X)
    K = M * M.transpose()
    if getattr(model, "fit_intercept", False) and getattr(model, "penalize_intercept", False):
        B = exact(model.intercept_scaling)
        n = K.nrows()
        K = arb_mat(n, n, [entry + B * B for entry in K.entries()])
    return K


def _free_intercept(model):
    return model.fit_intercept and not model.penalize_intercept


def _linear_svc(model, X, y, sample_weight):
    data = _Data(X, y, sample_weight)
    K, classes = _linear_gram(model, data), model.classes_
    cost = data.cost(model.C, model.class_weight_, classes)
    if model.multi_class == "crammer_singer" and len(classes) > 2:
        label = np.searchsorted(classes, data.y)
        program = crammer_singer_program(K, label, cost, len(classes), _free_intercept(model))
        if _free_intercept(model):
            program.prior = program.prior[: len(label)] + vector(model.intercept_)
        yield program, vector(np.asarray(model.dual_coef_)[:, data.rows].ravel())
        return
    positive = classes[1:] if len(classes) == 2 else classes
    for k, label in enumerate(positive):
        sign = np.where(data.y == label, 1, -1)
        start = vector(model.dual_coef_[k][data.rows])
        yield margin_program(K, sign, cost, model.loss, _free_intercept(model)), start


def _linear_svr(model, X, y, sample_weight):
    data = _Data(X, y, sample_weight)
    K, cost = _linear_gram(model, data), data.cost(model.C)
    program = residual_program(K, data.y, cost, model.loss, *_regression_data(model, data), _free_intercept(model))
    yield program, vector(model.dual_coef_[0][data.rows])


def _linear_one_class(model, X, y, sample_weight):
    data = _Data(X, None, sample_weight)
    yield one_class_program(_linear_gram(model, data), data.weight, model.nu), vector(model.dual_coef_[0][data.rows])


def _ranking(model, X, y, sample_weight, qid=None):
    data, K = _kernel_data(model, X, y, sample_weight)
    query = np.zeros(data.n_given, dtype=int) if qid is None else np.unique(qid, return_inverse=True)[1]
    query, grade = query[data.rows], data.y.astype(float)
    first, second = [], []
    for q in np.unique(query):
        members = np.flatnonzero(query == q)
        for i in members:
            for j in members:
                if grade[i] > grade[j]:
                    first.append(i)
                    second.append(j)
    gain = {g: exact(2.0) ** exact(g) for g in np.unique(grade)}
    theta = {"uniform": 0.0, "gain": 1.0}.get(model.weighting, model.weighting)
    cost = []
    for i, j in zip(first, second, strict=True):
        share = (1 - exact(theta)) + exact(theta) * (gain[grade[i]] - gain[grade[j]])
        cost.append(exact(model.C) * share * data.weight[i] * data.weight[j])
    D = arb_mat(len(first), K.nrows())
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        D[k, int(i)], D[k, int(j)] = 1, -1
    program = margin_program(D * K * D.transpose(), np.ones(len(first), dtype=int), cost, model.loss, bias=False)
    yield program, vector(model.pair_coef_) if len(model.pair_coef_) == len(first) else None


def _transductive(model, X, y, sample_weight, X_unlabeled=None):
    n = dense(X).shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    k = len(model.transduction_)
    whole = dense(X) if k == 0 else np.vstack([dense(X), dense(X_unlabeled)])
    data = _Data(whole, np.concatenate([y, model.transduction_]), np.concatenate([weight, np.ones(k)]))
    labelled = int(np.count_nonzero(weight > 0))
    cost = [exact(model.C) * w for w in data.weight[:labelled]] + [exact(c) for c in model.unlabeled_cost_]
    sign = np.where(data.y == model.classes_[1], 1, -1)
    start = data.scattered(model.support_, _coefficients(model)[0])
    yield margin_program(gram(model.model_.kernel, data.X), sign, cost), start


BUILDERS = {
    "SVC": _svc,
    "NuSVC": _nu_svc,
    "SVR": _svr,
    "NuSVR": _nu_svr,
    "OneClassSVM": _one_class,
    "LinearSVC": _linear_svc,
    "LinearSVR": _linear_svr,
    "LinearOneClassSVM": _linear_one_class,
    "IncrementalSVC": _svc,
    "IncrementalSVR": _svr,
    "IncrementalOneClassSVM": _one_class,
    "LowRankSVC": _low_rank_svc,
    "LPSVC": _lp,
    "LPSVR": _lp,
    "RankingSVM": _ranking,
    "TransductiveSVC": _transductive,
}
