"""
NDCG as an exact function of the weights of pairs
=================================================

A ranking machine may treat all pairs of a query alike, or let a pair cost what confusing its two items costs. Between
the two lies a path on which the solution is known exactly, and NDCG on other data with it.
"""

# %%
# What is ranked
# --------------
#
# Medical articles and the questions that they may answer: OHSUMED of the LETOR collection, 45 features, judged by
# people as not, partly or definitely relevant. Twenty of its questions are read from a folder
# ``shared/data`` beside the repository. Where there is none, patients with diabetes: the disease of which one, among
# those of about the same age and the same sex, will have gone furthest in a year?

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.ranking import ndcg


def articles():
    """(X, grade, question) of OHSUMED, or None."""
    for folder in (Path.cwd(), *Path.cwd().parents):
        path = folder / "shared" / "data" / "ohsumed.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                X, grade, qid = (arrays[name] for name in ("X", "y", "qid"))
            some = np.isin(qid, np.unique(qid)[:20])
            return X[some].astype(float), grade[some].astype(int), qid[some]
    return None


def patients():
    """(X, grade, group) of the diabetes data; grades are those of all patients, by thirds."""
    X, progress = load_diabetes(return_X_y=True)
    decade = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 11)[1:-1]))
    group = 2 * decade + (X[:, 1] > 0)
    return StandardScaler().fit_transform(X[:, 2:]), np.digitize(progress, np.quantile(progress, [0.5, 0.8])), group


found = articles()
X, grade, qid = patients() if found is None else found
C, gamma = (0.05, 0.05) if found is None else (0.001, 0.1)
names = np.unique(qid)
train, other = np.isin(qid, names[::2]), np.isin(qid, names[1::2])
print(f"{'patients' if found is None else 'articles'}: {len(grade)} in {len(names)} queries, "
      f"{np.bincount(grade)} of each grade")  # fmt: skip

# %%
# A machine
# ---------
#
# Half of the queries for training, half to judge by. A random order is there to compare with.

model = hinge.RankingSVM(C=C, kernel="rbf", gamma=gamma).fit(X[train], grade[train], qid=qid[train])
chance = np.mean([ndcg(grade[other], np.random.default_rng(s).normal(size=other.sum()), qid[other]) for s in range(50)])
print(f"{model.n_pairs_:,} pairs, NDCG@10 {model.score(X[other], grade[other], qid=qid[other]):.4f} "
      f"(a random order: {chance:.4f})")  # fmt: skip
print(model.certificate_)

# %%
# The whole path
# --------------
#
# From the same cost for all pairs (θ = 0) to 2^yᵢ − 2^yⱼ (θ = 1). NDCG@10 is a step function: it changes only where two
# items of a query cross among the first ten. `best.theta` lies inside the best interval, and a machine trained
# there has exactly the NDCG that was promised.

path = hinge.ranking_path(X[train], grade[train], qid[train], C=C, kernel="rbf", gamma=gamma)
print(path)
curve = path.ndcg(X[other], grade[other], qid[other], k=10)
best = path.best(X[other], grade[other], qid[other], k=10)
print(f"{len(curve.values)} pieces; the best, NDCG@10 {best.ndcg:.4f}, from θ = {best.low:.4f} to {best.high:.4f}")
fresh = hinge.RankingSVM(C=C, kernel="rbf", gamma=gamma, weighting=best.theta, tol=1e-8)
fresh.fit(X[train], grade[train], qid=qid[train])
print(f"trained afresh at θ = {best.theta:.4f}: {fresh.score(X[other], grade[other], qid=qid[other]):.4f}")

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 6), layout="constrained")
query = np.flatnonzero(qid == names[1])
theta = np.linspace(0, 1, 101)
scores = np.array([path.predict(X[query], t) for t in theta])
top = np.argsort(-scores.max(axis=0))[:25]
for g, (colour, text) in enumerate((("0.7", "not relevant"), ("C0", "partly"), ("C3", "definitely"))):
    lines = above.plot(theta, scores[:, top][:, grade[query][top] == g], color=colour)
    for line in lines[:1]:
        line.set_label(text if found else f"grade {g}")
above.set_ylabel("scores of one query, the first 25")
above.legend(loc="center right", fontsize=8)
below.stairs(curve.values, curve.knots, baseline=None, color="black")
below.axvspan(best.low, best.high, color="C2", alpha=0.3)
below.axvline(best.theta, color="C2", linestyle=":")
below.set(xlabel="θ", ylabel="NDCG@10 on the other queries")
