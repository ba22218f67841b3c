"""Compute the relative duality gap of a fitted RBF model from its coefficients and the data.

The code uses NumPy in float64 and shares no code with any solver. It uses only the attributes `support_`, `dual_coef_`
and `intercept_` of a model, and its predictions for comparison. One-vs-one models are verified pair by pair, and the
largest gap is reported.

    classification   P = ½ cᵀKc + C Σ max(0, 1 − s(Kc + b)),   D = Σ|c| − ½ cᵀKc
    regression       P = ½ cᵀKc + C Σ max(0, |y − Kc − b| − ε), D = yᵀc − ε Σ|c| − ½ cᵀKc

with the intercept b of the model; relative gap = (P − D) / ((|P| + |D|) / 2). D is a bound on the optimum only if c is
feasible, so the infeasibility (bounds, signs, Σc = 0) relative to C is reported too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

#: Number of entries of a kernel block (64 MB).
BLOCK_ENTRIES = 8_000_000


@dataclass(frozen=True)
class Subproblems:
    """Coefficients of all subproblems, one column for each."""

    coef: np.ndarray  # (n_support × n_subproblems), multiplied by the label sign
    intercept: np.ndarray  # (n_subproblems,)
    sign: np.ndarray | None  # (n_samples × n_subproblems): ±1, or 0 for samples of other classes; None in regression
    voted: np.ndarray | None  # (2 × n_subproblems): class predicted by f > 0, and by f ≤ 0


def verify(X: Any, y: np.ndarray, kind: str, parameters: dict, model: Any, predicted: np.ndarray) -> dict[str, float]:
    """Return the largest relative gap, the infeasibility, the number of support vectors and the deviating predictions.

    `disagreeing` is the fraction of predictions (of the first rows) that differ from the votes of the decision values
    computed here (ties go to the first class). In regression it is the largest difference, relative to the largest
    decision value.
    """
    support = np.asarray(model.support_, dtype=np.intp)
    if len(np.unique(support)) != len(support):
        raise ValueError("support_ contains a sample twice")
    classes = np.unique(y)
    subproblems = _regression(model) if kind == "SVR" else _pairs(model, y, classes, support)
    C, epsilon = parameters["C"], parameters.get("epsilon", 0.0)
    loss, quadratic, head = _losses(X, y, subproblems, support, parameters["gamma"], epsilon, len(predicted))
    primal = 0.5 * quadratic + C * loss
    if kind == "SVR":
        coef = subproblems.coef[:, 0]
        dual = y[support] @ coef - epsilon * np.abs(coef).sum() - 0.5 * quadratic
        excess = np.maximum(np.abs(coef) - C, 0.0)
        disagreeing = float(np.max(np.abs(head[:, 0] - predicted)) / np.max(np.abs(head)))
    else:
        alpha = subproblems.sign[support] * subproblems.coef
        dual = alpha.sum(axis=0) - 0.5 * quadratic
        excess = np.maximum(np.maximum(-alpha, alpha - C), 0.0)
        disagreeing = float(np.mean(classes[_votes(head, subproblems.voted, len(classes))] != predicted))
    gaps = (primal - dual) / (0.5 * (np.abs(primal) + np.abs(dual)))
    equality = np.abs(subproblems.coef.sum(axis=0))
    return dict(
        gap=float(np.max(gaps)),
        total_gap=float(np.sum(primal - dual) / (0.5 * np.sum(np.abs(primal) + np.abs(dual)))),
        infeasibility=float(max(excess.max(), equality.max()) / C),
        support=len(support),
        disagreeing=disagreeing,
    )


def _regression(model: Any) -> Subproblems:
    return Subproblems(_dense(model.dual_coef_).reshape(-1, 1), np.ravel(model.intercept_), None, None)


def _pairs(model: Any, y: np.ndarray, classes: np.ndarray, support: np.ndarray) -> Subproblems:
    """Two classes: f > 0 predicts the second. More: pair (i, j), i < j, where f > 0 predicts i, in LIBSVM's layout."""
    dual_coef, intercept = _dense(model.dual_coef_), np.ravel(model.intercept_)
    label = np.searchsorted(classes, y)
    if len(classes) == 2:
        signs, voted = np.array([[-1.0], [1.0]]), np.array([[1], [0]])
        return Subproblems(dual_coef.reshape(-1, 1), intercept, signs[label], voted)
    pairs = list(combinations(range(len(classes)), 2))
    signs, coef = np.zeros((len(classes), len(pairs))), np.zeros((len(support), len(pairs)))
    of_class = [np.flatnonzero(label[support] == k) for k in range(len(classes))]
    for column, (i, j) in enumerate(pairs):
        signs[i, column], signs[j, column] = 1.0, -1.0
        coef[of_class[i], column] = dual_coef[j - 1, of_class[i]]
        coef[of_class[j], column] = dual_coef[i, of_class[j]]
    return Subproblems(coef, intercept, signs[label], np.array(pairs).T)


def _losses(X, y, subproblems, support, gamma, epsilon, n_head):
    """Return Σ losses and cᵀKc of all subproblems, and the decision values of the first rows, by kernel blocks."""
    vectors = _dense(X[support])
    norms = np.einsum("ij,ij->i", vectors, vectors)
    position = np.full(X.shape[0], -1)
    position[support] = np.arange(len(support))
    loss, quadratic, head = np.zeros(len(subproblems.intercept)), np.zeros(len(subproblems.intercept)), []
    step = max(1, BLOCK_ENTRIES // max(len(support), vectors.shape[1], len(subproblems.intercept)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        values = _kernel(_dense(X[rows]), vectors, norms, gamma) @ subproblems.coef
        is_support = position[rows] >= 0
        quadratic += np.einsum("ij,ij->j", subproblems.coef[position[rows][is_support]], values[is_support])
        values += subproblems.intercept
        if start < n_head:
            head.append(values[: n_head - start].copy())
        if subproblems.sign is None:
            loss += np.maximum(np.abs(y[rows, None] - values) - epsilon, 0.0).sum(axis=0)
        else:
            sign = subproblems.sign[rows]
            loss += np.where(sign != 0, np.maximum(1.0 - sign * values, 0.0), 0.0).sum(axis=0)
    return loss, quadratic, np.concatenate(head)


def _kernel(rows: np.ndarray, vectors: np.ndarray, norms: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(−γ‖x − z‖²)."""
    K = rows @ vectors.T
    K *= -2.0
    K += np.einsum("ij,ij->i", rows, rows)[:, None]
    K += norms
    np.maximum(K, 0.0, out=K)
    K *= -gamma
    return np.exp(K, out=K)


def _votes(values: np.ndarray, voted: np.ndarray, n_classes: int) -> np.ndarray:
    votes = np.zeros((len(values), n_classes), dtype=np.int32)
    for column, (positive, negative) in enumerate(voted.T):
        votes[np.arange(len(values)), np.where(values[:, column] > 0, positive, negative)] += 1
    return votes.argmax(axis=1)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
