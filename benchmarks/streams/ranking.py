"""Ranking on OHSUMED (LETOR 3.0), five folds: NDCG@10 and processor time beside scikit-learn, and the exact NDCG path.

    python benchmarks/streams/ranking.py [--only folds path] [--fresh 50] [--queries 12] [--jobs linear rbf]

folds: every fold is trained on three parts; C is chosen on the fourth and NDCG@10 measured on the fifth.  The baseline
is scikit-learn's LinearSVC without an intercept on the differences of the same pairs, with both of its losses: the same
two objectives, and all machines choose among the same C.  Squared errors are there twice: at the default tolerances,
at which documents of nearly equal scores may still change places, and trained to the end ("end"), where both libraries
have the same weights.
path: the weight path of the fifth fold, with NDCG@10 on validation data along it, compared with machines trained afresh
at random places; and NDCG@10 on test data at the two ends and at the best place.

Seconds are of processor time, one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from series import versions
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import hinge
from hinge.formulations import preferences
from hinge.ranking import ndcg

FOLDER = Path(os.environ.get("HINGE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
COSTS = (1e-5, 1e-4, 1e-3, 1e-2)
COSTS_RBF = (1e-5, 1e-4, 1e-3)
GAMMA = 0.1


def ohsumed():
    with np.load(FOLDER / "ohsumed.npz", allow_pickle=False) as arrays:
        return tuple(arrays[name] for name in ("X", "y", "qid", "fold"))


def parts(fold, k):
    """Rows for training, validation and test of LETOR's fold k; `fold` says where a row is tested."""
    vali = 5 if k == 1 else k - 1
    return ~np.isin(fold, [k, vali]), fold == vali, fold == k


def clock(action):
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


class Pairwise:
    """LinearSVC on a matrix with a row for every pair, half of them turned round."""

    def __init__(self, loss, C, **options):
        self.machine = LinearSVC(loss=loss, C=C, fit_intercept=False, dual=loss == "hinge", random_state=0, **options)

    def fit(self, X, y, qid):
        first, second, _ = preferences(y.astype(float), np.unique(qid, return_inverse=True)[1])
        sign = np.where(np.arange(len(first)) % 2, 1.0, -1.0)
        self.machine.fit((X[first] - X[second]) * sign[:, None], sign)
        return self

    @property
    def coef_(self):
        return self.machine.coef_

    def predict(self, X):
        return X @ self.coef_[0]


def machines():
    """name -> (C ↦ machine, values of C)."""
    rank, end = hinge.RankingSVM, dict(tol=1e-7, max_iter=100_000)
    squared, rbf = dict(loss="squared_hinge"), dict(kernel="rbf", gamma=GAMMA)
    return {
        "LinearSVC, hinge": (lambda C: Pairwise("hinge", C), COSTS),
        "LinearSVC, squared": (lambda C: Pairwise("squared_hinge", C), COSTS),
        "LinearSVC, squared, end": (lambda C: Pairwise("squared_hinge", C, **end), COSTS),
        "RankingSVM": (lambda C: rank(C=C), COSTS),
        "RankingSVM, gain": (lambda C: rank(C=C, weighting="gain"), COSTS),
        "RankingSVM, squared": (lambda C: rank(C=C, **squared), COSTS),
        "RankingSVM, squared, end": (lambda C: rank(C=C, tol=1e-9, **squared), COSTS),
        "RankingSVM, squared, gain": (lambda C: rank(C=C, weighting="gain", **squared), COSTS),
        "RankingSVM, rbf": (lambda C: rank(C=C, **rbf), COSTS_RBF),
        "RankingSVM, rbf, gain": (lambda C: rank(C=C, weighting="gain", **rbf), COSTS_RBF),
        "RankingSVM, rbf, squared": (lambda C: rank(C=C, **rbf, **squared), COSTS_RBF),
    }


def folds(chosen):
    X, y, qid, fold = ohsumed()
    compared = {name: machine for name, machine in machines().items() if not chosen or name in chosen}
    scores = {name: [] for name in compared}
    seconds = {name: [] for name in scores}
    cut = dict.fromkeys(scores, 0)
    gaps, weights = [], {}
    for k in range(1, 6):
        train, vali, test = parts(fold, k)
        first, _, _ = preferences(y[train].astype(float), np.unique(qid[train], return_inverse=True)[1])
        print(f"fold {k}: {train.sum()} documents, {len(first)} pairs", flush=True)
        for name, (make, costs) in compared.items():
            tried = []
            for C in costs:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", ConvergenceWarning)
                    spent, model = clock(partial(make(C).fit, X[train], y[train], qid[train]))
                cut[name] += any(issubclass(w.category, ConvergenceWarning) for w in caught)
                seconds[name].append(spent)
                tried.append((ndcg(y[vali], model.predict(X[vali]), qid[vali]), C, model))
                if name.endswith("end"):
                    weights[name, k, C] = model.coef_[0].copy()
                if isinstance(model, hinge.RankingSVM):
                    gaps.append(model.certificate_.relative_gap)
            on_vali, C, model = max(tried, key=lambda item: item[0])
            scores[name].append(ndcg(y[test], model.predict(X[test]), qid[test]))
            print(f"   {name:26} C {C:6g}  vali {on_vali:.4f}  test {scores[name][-1]:.4f}  "
                  f"{np.mean(seconds[name][-len(costs):]):6.2f} s a fit", flush=True)
    print("\nmean over folds             NDCG@10  seconds a fit  fits not converged")
    for name, found in scores.items():
        print(f"{name:26} {np.mean(found):8.4f} {np.mean(seconds[name]):14.2f} {cut[name]:12d}")
    print(f"largest relative duality gap of a RankingSVM: {max(gaps, default=np.nan):.1e}")
    both = [key[1:] for key in weights if key[0] == "LinearSVC, squared, end"]
    if not both or len(weights) != 2 * len(both):
        return
    pairs = [[weights[name, *key] for name in ("LinearSVC, squared, end", "RankingSVM, squared, end")] for key in both]
    apart = max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs)
    print(f"squared, trained to the end: weights of both differ by at most {apart:.1e} of the largest")


def path(fresh, queries, wanted):
    X, y, qid, fold = ohsumed()
    train, vali, test = parts(fold, 5)
    train &= np.isin(qid, np.unique(qid[train])[:queries])
    rng = np.random.default_rng(0)
    jobs = {"linear, C = 0.0001": dict(C=1e-4), "rbf, C = 0.001": dict(C=1e-3, kernel="rbf", gamma=GAMMA)}
    for label, options in jobs.items():
        if not label.startswith(tuple(wanted)):
            continue
        spent, found = clock(lambda options=options: hinge.ranking_path(X[train], y[train], qid[train], **options))
        counting, curve = clock(lambda found=found: found.ndcg(X[vali], y[vali], qid[vali]))
        print(f"{label}: {found}")
        print(f"   {spent:.1f} s, {found.counts.events} events, mean margin {found.counts.mean_margin:.1f}; NDCG@10 "
              f"path in {counting:.1f} s, {len(curve.values)} steps", flush=True)
        best = found.best(X[vali], y[vali], qid[vali])
        chosen = (0.0, best.theta, 1.0)
        tested = [ndcg(y[test], found.predict(X[test], theta), qid[test]) for theta in chosen]
        for theta, value in zip(chosen, tested, strict=True):
            print(f"   theta {theta:.3f}: vali {curve(theta):.4f}, test {value:.4f}")
        worst, same, times, close = 0.0, 0, [], 0.0
        thetas = rng.uniform(size=fresh)
        model = hinge.RankingSVM(tol=1e-10, **options)
        for theta in thetas:
            model.set_params(weighting=float(theta))
            spent_fit, _ = clock(partial(model.fit, X[train], y[train], qid[train]))
            times.append(spent_fit)
            scores = model.predict(X[vali])
            gap = abs(ndcg(y[vali], scores, qid[vali]) - curve(theta))
            same += gap <= 1e-12
            worst = max(worst, gap)
            close = max(close, float(np.max(np.abs(scores - found.predict(X[vali], theta)))))
        print(f"   at {fresh} random theta: NDCG@10 equal at {same}, largest difference {worst:.1e}; scores differ "
              f"by at most {close:.1e}; a fresh fit takes {np.mean(times):.2f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("folds", "path"), default=("folds", "path"))
    parser.add_argument("--machines", nargs="+", choices=tuple(machines()), help="for the folds; all when left out")
    parser.add_argument("--fresh", type=int, default=50)
    parser.add_argument("--queries", type=int, help="so many of the training queries for the path; all when left out")
    parser.add_argument("--jobs", nargs="+", choices=("linear", "rbf"), default=("linear", "rbf"), help="for the path")
    options = parser.parse_args()
    print(__doc__.splitlines()[0])
    print(versions() + "\n")
    threadpool_limits(1)
    if "folds" in options.only:
        folds(options.machines)
    if "path" in options.only:
        path(options.fresh, options.queries, options.jobs)
