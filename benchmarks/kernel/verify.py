"""The relative duality gap of a fitted RBF machine, from its coefficients and the data alone.

Plain NumPy in float64 that shares no code with any of the solvers: kernel blocks are computed here, and nothing of a
model is used but `support_`, `dual_coef_`, `intercept_` (and, to check it, what it predicted). One-vs-one machines are
judged pair by pair; the worst pair counts.

    classification   P = ½ cᵀKc + C Σ max(0, 1 − s(Kc + b)),   D = Σ|c| − ½ cᵀKc
    regression       P = ½ cᵀKc + C Σ max(0, |y − Kc − b| − ε), D = yᵀc − ε Σ|c| − ½ cᵀKc

with the model's own b; relative gap = (P − D) / ((|P| + |D|) / 2). D bounds the optimum only where c is feasible, so
the infeasibility (bounds, signs, Σc = 0), relative to C, stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

#: Entries of a kernel block (64 MB).
BLOCK = 8_000_000


@dataclass(frozen=True)
class Machines:
    """What is judged: one column per machine."""

    coef: np.ndarray  # (n_support × n_machines), the sign of the side in it
    intercept: np.ndarray  # (n_machines,)
    side: np.ndarray | None  # (n_samples × n_machines): ±1, or 0 where the sample takes no part; None in regression
    winners: np.ndarray | None  # (2 × n_machines): class voted for by f > 0, and by f ≤ 0


def verify(X: Any, y: np.ndarray, kind: str, parameters: dict, model: Any, predicted: np.ndarray) -> dict[str, float]:
    """Worst relative gap, infeasibility, support vectors, and how `predicted` (of the first rows) compares.

    `disagreeing` is the share of predictions that differ from votes of the values computed here (ties go to the first
    class); for regression, the largest difference relative to the largest value.
    """
    support = np.asarray(model.support_, dtype=np.intp)
    if len(np.unique(support)) != len(support):
        raise ValueError("support_ names a sample twice")
    classes = np.unique(y)
    machines = _regression(model) if kind == "SVR" else _pairs(model, y, classes, support)
    C, epsilon = parameters["C"], parameters.get("epsilon", 0.0)
    loss, quadratic, head = _losses(X, y, machines, support, parameters["gamma"], epsilon, len(predicted))
    primal = 0.5 * quadratic + C * loss
    if kind == "SVR":
        coef = machines.coef[:, 0]
        dual = y[support] @ coef - epsilon * np.abs(coef).sum() - 0.5 * quadratic
        outside = np.maximum(np.abs(coef) - C, 0.0)
        disagreeing = float(np.max(np.abs(head[:, 0] - predicted)) / np.max(np.abs(head)))
    else:
        alpha = machines.side[support] * machines.coef
        dual = alpha.sum(axis=0) - 0.5 * quadratic
        outside = np.maximum(np.maximum(-alpha, alpha - C), 0.0)
        disagreeing = float(np.mean(classes[_votes(head, machines.winners, len(classes))] != predicted))
    gaps = (primal - dual) / (0.5 * (np.abs(primal) + np.abs(dual)))
    balance = np.abs(machines.coef.sum(axis=0))
    return dict(
        gap=float(np.max(gaps)),
        total_gap=float(np.sum(primal - dual) / (0.5 * np.sum(np.abs(primal) + np.abs(dual)))),
        infeasibility=float(max(outside.max(), balance.max()) / C),
        support=len(support),
        disagreeing=disagreeing,
    )


def _regression(model: Any) -> Machines:
    return Machines(_dense(model.dual_coef_).reshape(-1, 1), np.ravel(model.intercept_), None, None)


def _pairs(model: Any, y: np.ndarray, classes: np.ndarray, support: np.ndarray) -> Machines:
    """Two classes: f > 0 means the second. More: machine (i, j), i < j, where f > 0 means i, in LIBSVM's layout."""
    dual_coef, intercept = _dense(model.dual_coef_), np.ravel(model.intercept_)
    label = np.searchsorted(classes, y)
    if len(classes) == 2:
        table, winners = np.array([[-1.0], [1.0]]), np.array([[1], [0]])
        return Machines(dual_coef.reshape(-1, 1), intercept, table[label], winners)
    pairs = list(combinations(range(len(classes)), 2))
    table, coef = np.zeros((len(classes), len(pairs))), np.zeros((len(support), len(pairs)))
    of_class = [np.flatnonzero(label[support] == k) for k in range(len(classes))]
    for column, (i, j) in enumerate(pairs):
        table[i, column], table[j, column] = 1.0, -1.0
        coef[of_class[i], column] = dual_coef[j - 1, of_class[i]]
        coef[of_class[j], column] = dual_coef[i, of_class[j]]
    return Machines(coef, intercept, table[label], np.array(pairs).T)


def _losses(X, y, machines, support, gamma, epsilon, n_head):
    """Σ losses and cᵀKc of every machine, and the decision values of the first rows; one kernel block at a time."""
    vectors = _dense(X[support])
    norms = np.einsum("ij,ij->i", vectors, vectors)
    position = np.full(X.shape[0], -1)
    position[support] = np.arange(len(support))
    loss, quadratic, head = np.zeros(len(machines.intercept)), np.zeros(len(machines.intercept)), []
    step = max(1, BLOCK // max(len(support), vectors.shape[1], len(machines.intercept)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, min(start + step, X.shape[0]))
        values = _kernel(_dense(X[rows]), vectors, norms, gamma) @ machines.coef
        ours = position[rows] >= 0
        quadratic += np.einsum("ij,ij->j", machines.coef[position[rows][ours]], values[ours])
        values += machines.intercept
        if start < n_head:
            head.append(values[: n_head - start].copy())
        if machines.side is None:
            loss += np.maximum(np.abs(y[rows, None] - values) - epsilon, 0.0).sum(axis=0)
        else:
            side = machines.side[rows]
            loss += np.where(side != 0, np.maximum(1.0 - side * values, 0.0), 0.0).sum(axis=0)
    return loss, quadratic, np.concatenate(head)


def _kernel(rows: np.ndarray, vectors: np.ndarray, norms: np.ndarray, gamma: float) -> np.ndarray:
    """exp(−γ‖x − z‖²)."""
    K = rows @ vectors.T
    K *= -2.0
    K += np.einsum("ij,ij->i", rows, rows)[:, None]
    K += norms
    np.maximum(K, 0.0, out=K)
    K *= -gamma
    return np.exp(K, out=K)


def _votes(values: np.ndarray, winners: np.ndarray, n_classes: int) -> np.ndarray:
    votes = np.zeros((len(values), n_classes), dtype=np.int32)
    for column, (positive, negative) in enumerate(winners.T):
        votes[np.arange(len(values)), np.where(values[:, column] > 0, positive, negative)] += 1
    return votes.argmax(axis=1)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
