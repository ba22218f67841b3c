"""
NDCG as an exact function of the pair weights
=============================================

A ranking SVM can give all pairs of a query the same weight, or weight each pair by the difference of its gains. This
example computes the exact solution path between the two weightings and the NDCG on held-out queries along it.
"""

# %%
# Data
# ----
#
# The data are twenty queries of OHSUMED (LETOR collection): medical articles with 45 features that were judged as not,
# partly or definitely relevant to a query. They are read from a folder ``shared/data`` next to the repository. If it
# does not exist, the diabetes data are used: each query is a group of patients of similar age and the same sex, and the
# patients are ranked by the progression of the disease after one year.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.ranking import ndcg


def load_articles():
    """Return (X, grade, qid) of twenty OHSUMED queries, or None if the data are not available."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / "ohsumed.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                X, grade, qid = (arrays[name] for name in ("X", "y", "qid"))
            selected = np.isin(qid, np.unique(qid)[:20])
            return X[selected].astype(float), grade[selected].astype(int), qid[selected]
    return None


def load_patients():
    """Return (X, grade, qid) of the diabetes data; the grades are cut at the 50 % and 80 % quantiles."""
    X, progression = load_diabetes(return_X_y=True)
    age_group = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 11)[1:-1]))
    qid = 2 * age_group + (X[:, 1] > 0)
    grade = np.digitize(progression, np.quantile(progression, [0.5, 0.8]))
    return StandardScaler().fit_transform(X[:, 2:]), grade, qid


articles = load_articles()
if articles is None:
    X, grade, qid = load_patients()
    items, C, gamma = "patients", 0.05, 0.05
    grade_names = ("grade 0", "grade 1", "grade 2")
else:
    X, grade, qid = articles
    items, C, gamma = "articles", 0.001, 0.1
    grade_names = ("not relevant", "partly relevant", "definitely relevant")
queries = np.unique(qid)
train, test = np.isin(qid, queries[::2]), np.isin(qid, queries[1::2])
counts = ", ".join(map(str, np.bincount(grade)))
print(f"{len(grade)} {items} in {len(queries)} queries; number of items with grade 0, 1, 2: {counts}")

# %%
# Training a ranking SVM
# ----------------------
#
# Half of the queries are used for training and the other half for evaluation. The NDCG of a random order is shown for
# comparison.

model = hinge.RankingSVM(C=C, kernel="rbf", gamma=gamma).fit(X[train], grade[train], qid=qid[train])
random_scores = (np.random.default_rng(seed).normal(size=test.sum()) for seed in range(50))
random_ndcg = np.mean([ndcg(grade[test], scores, qid[test]) for scores in random_scores])
print(
    f"{model.n_pairs_:,} pairs, NDCG@10 {model.score(X[test], grade[test], qid=qid[test]):.4f} "
    f"(random order: {random_ndcg:.4f})"
)
print(model.certificate_)

# %%
# The solution path
# -----------------
#
# The path leads from equal weights (θ = 0) to the weights 2^yᵢ − 2^yⱼ (θ = 1). NDCG@10 is a step function of θ: it
# changes only where the scores of two items of a query cross among the first ten. ``best.theta`` lies inside the best
# interval. A model trained with this weighting has exactly the NDCG that the path predicts.

path = hinge.ranking_path(X[train], grade[train], qid[train], C=C, kernel="rbf", gamma=gamma)
print(path)
curve = path.ndcg(X[test], grade[test], qid[test], k=10)
best = path.best(X[test], grade[test], qid[test], k=10)
print(
    f"{len(curve.values)} constant pieces; the largest NDCG@10 is {best.ndcg:.4f}, "
    f"for θ from {best.low:.4f} to {best.high:.4f}"
)
refit = hinge.RankingSVM(C=C, kernel="rbf", gamma=gamma, weighting=best.theta, tol=1e-8)
refit.fit(X[train], grade[train], qid=qid[train])
print(f"NDCG@10 of a new fit at θ = {best.theta:.4f}: {refit.score(X[test], grade[test], qid=qid[test]):.4f}")

figure, (upper, lower) = plt.subplots(2, 1, sharex=True, figsize=(7, 6), layout="constrained")
query = np.flatnonzero(qid == queries[1])
theta = np.linspace(0, 1, 101)
scores = np.array([path.predict(X[query], t) for t in theta])
top = np.argsort(-scores.max(axis=0))[:25]
for g, (color, name) in enumerate(zip(("0.7", "C0", "C3"), grade_names, strict=True)):
    lines = upper.plot(theta, scores[:, top][:, grade[query][top] == g], color=color)
    for line in lines[:1]:
        line.set_label(name)
upper.set_ylabel("scores of one query, top 25 items")
upper.legend(loc="center right", fontsize=8)
lower.stairs(curve.values, curve.knots, baseline=None, color="black")
lower.axvspan(best.low, best.high, color="C2", alpha=0.3)
lower.axvline(best.theta, color="C2", linestyle=":")
lower.set(xlabel="θ", ylabel="NDCG@10 on the test queries")
