"""
Ranking search results
======================

A ranking model learns scores such that, for each query, relevant documents come first. This tutorial trains one on
generated queries and measures the normalized discounted cumulative gain (NDCG).
"""

# %%
# Queries, documents and grades
# -----------------------------
#
# 60 queries have 12 documents each with grades from 0 (irrelevant) to 2. Only the order within a query matters: each
# query has its own constant, which a regression model would have to learn and a ranking model ignores.

import matplotlib.pyplot as plt
import numpy as np

import hinge
from hinge.ranking import ndcg

rng = np.random.default_rng(1)
n_queries, n_documents, n_features = 60, 12, 8
qid = np.repeat(np.arange(n_queries), n_documents)
X = rng.normal(size=(len(qid), n_features)) + 3 * rng.normal(size=(n_queries, n_features))[qid]
direction = np.array([1.0, 0.8, 0.5, 0.3, 0, 0, 0, 0])
value = X @ direction + rng.normal(size=len(qid))
rank = np.concatenate([np.argsort(np.argsort(-value[qid == q])) for q in range(n_queries)])
grade = np.where(rank < 2, 2, np.where(rank < 5, 1, 0))
train = qid < 30

# %%
# Training
# --------
#
# ``qid`` is the query of each row. The number of compared pairs is much larger than the number of documents, so that a
# small C is sufficient.

model = hinge.RankingSVM(C=0.01).fit(X[train], grade[train], qid=qid[train])
regression = hinge.LinearSVR(C=1.0).fit(X[train], grade[train])
print(model.certificate_)
for name, scores in (
    ("random order", rng.normal(size=np.sum(~train))),
    ("regression on the grades", regression.predict(X[~train])),
    ("ranking", model.predict(X[~train])),
):
    print(f"{name:<25} NDCG@5 on new queries: {ndcg(grade[~train], scores, qid[~train], k=5):.3f}")

# %%
# One query
# ---------
#
# The documents of a new query, sorted by their scores. The numbers are the grades.

query = 45
scores = model.predict(X[qid == query])
order = np.argsort(-scores)
figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
bars = ax.bar(np.arange(1, n_documents + 1), scores[order] - scores.min(), color="#0072B2")
ax.bar_label(bars, [str(g) for g in grade[qid == query][order]])
ax.set_xlabel("position")
ax.set_ylabel("score (the smallest is 0)")
ax.margins(y=0.12)
ax.set_title(f"query {query}: grades from 0 to 2")

# %%
# The best weighting of pairs
# ---------------------------
#
# Pairs can have equal costs (θ = 0) or costs that grow with the difference of their gains (θ = 1). The path between the
# two is exact, and so is NDCG as a function of θ.

path = hinge.ranking_path(X[train], grade[train], qid[train], C=0.01)
curve = path.ndcg(X[~train], grade[~train], qid[~train], k=5)
figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
ax.stairs(curve.values, curve.knots, baseline=None)
ax.set_xlabel("θ (0: equal costs, 1: costs by gain)")
ax.set_ylabel("NDCG@5")
