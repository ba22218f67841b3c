"""
NDCG as an exact function of the weights of pairs
=================================================

A ranking machine may treat all pairs of a query alike, or let a pair cost what confusing its two items costs. Between
the two lies a path on which the solution is known exactly, and NDCG on other data with it.
"""

# %%
# Documents, queries and grades
# -----------------------------
#
# Thirty queries of twenty documents each. What makes a document relevant is not linear, and grades are noisy.

import matplotlib.pyplot as plt
import numpy as np

import hinge

rng = np.random.default_rng(3)
X = rng.normal(size=(600, 4))
qid = np.repeat(np.arange(30), 20)
worth = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.6 * rng.normal(size=600)
grade = np.digitize(worth, [0.3, 1.0])
train, other = qid < 15, qid >= 15

# %%
# A machine
# ---------

model = hinge.RankingSVM(C=0.05, kernel="rbf", gamma=0.3).fit(X[train], grade[train], qid=qid[train])
print(f"{model.n_pairs_} pairs, NDCG@10 {model.score(X[other], grade[other], qid=qid[other]):.4f}")
print(model.certificate_)

# %%
# The whole path
# --------------
#
# From the same cost for all pairs (θ = 0) to 2^yᵢ − 2^yⱼ (θ = 1). NDCG@10 is a step function: it changes only where two
# documents of a query cross among the first ten.

path = hinge.ranking_path(X[train], grade[train], qid[train], C=0.05, kernel="rbf", gamma=0.3)
print(path)
curve = path.ndcg(X[other], grade[other], qid[other], k=10)
best = path.best(X[other], grade[other], qid[other], k=10)
print(best)

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 6))
query = np.flatnonzero(qid == 20)
theta = np.linspace(0, 1, 101)
scores = np.array([path.predict(X[query], t) for t in theta])
for g, colour in enumerate(("0.7", "C0", "C3")):
    above.plot(theta, scores[:, grade[query] == g], color=colour)
above.set_ylabel("scores of one query")
below.stairs(curve.values, curve.knots, baseline=None, color="black")
below.axvspan(best.low, best.high, color="C2", alpha=0.3)
below.set(xlabel="θ", ylabel="NDCG@10")
