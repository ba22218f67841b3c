"""Measure ranking on OHSUMED (LETOR 3.0): NDCG@10 and processor time compared with scikit-learn, and the NDCG path.

    python benchmarks/streams/ranking.py [--only folds path] [--fresh 50] [--queries 12] [--jobs linear rbf]

folds  five folds, each with three parts for training, one for the choice of C and one for testing. The baseline is
       LinearSVC of scikit-learn without an intercept, on the difference vectors of the same pairs, with both of its
       losses. The objectives and the values of C are the same for both libraries. The squared hinge loss is also
       trained with small tolerances ("converged"), because at the default tolerances documents of nearly equal scores
       can change places.
path   weight path of the fifth fold with NDCG@10 on the validation data, compared with new fits at random weightings;
       and NDCG@10 on the test data at both ends and at the best weighting

Times are processor seconds of one thread.
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


def split(fold, k):
    """Return masks for training, validation and test of LETOR's fold k; `fold` is the test fold of each row."""
    validation = 5 if k == 1 else k - 1
    return ~np.isin(fold, [k, validation]), fold == validation, fold == k


def timed(action):
    """Return processor seconds and the result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


class PairwiseLinearSVC:
    """LinearSVC on the difference vectors of all pairs; every second pair is reversed, so both labels occur."""

    def __init__(self, loss, C, **options):
        self.estimator = LinearSVC(loss=loss, C=C, fit_intercept=False, dual=loss == "hinge", random_state=0, **options)

    def fit(self, X, y, qid):
        first, second, _ = preferences(y.astype(float), np.unique(qid, return_inverse=True)[1])
        sign = np.where(np.arange(len(first)) % 2, 1.0, -1.0)
        self.estimator.fit((X[first] - X[second]) * sign[:, None], sign)
        return self

    @property
    def coef_(self):
        return self.estimator.coef_

    def predict(self, X):
        return X @ self.coef_[0]


def estimators():
    """Return {name: (function from C to an estimator, values of C)}."""
    rank, small_tol = hinge.RankingSVM, dict(tol=1e-7, max_iter=100_000)
    squared, rbf = dict(loss="squared_hinge"), dict(kernel="rbf", gamma=GAMMA)
    return {
        "LinearSVC, hinge": (lambda C: PairwiseLinearSVC("hinge", C), COSTS),
        "LinearSVC, squared": (lambda C: PairwiseLinearSVC("squared_hinge", C), COSTS),
        "LinearSVC, squared, converged": (lambda C: PairwiseLinearSVC("squared_hinge", C, **small_tol), COSTS),
        "RankingSVM": (lambda C: rank(C=C), COSTS),
        "RankingSVM, gain": (lambda C: rank(C=C, weighting="gain"), COSTS),
        "RankingSVM, squared": (lambda C: rank(C=C, **squared), COSTS),
        "RankingSVM, squared, converged": (lambda C: rank(C=C, tol=1e-9, **squared), COSTS),
        "RankingSVM, squared, gain": (lambda C: rank(C=C, weighting="gain", **squared), COSTS),
        "RankingSVM, rbf": (lambda C: rank(C=C, **rbf), COSTS_RBF),
        "RankingSVM, rbf, gain": (lambda C: rank(C=C, weighting="gain", **rbf), COSTS_RBF),
        "RankingSVM, rbf, squared": (lambda C: rank(C=C, **rbf, **squared), COSTS_RBF),
    }


HEADER_FOLDS = f"""\
{"":32} {"":>8} {"NDCG@10 on":>19} {"seconds":>8}
{"estimator":32} {"best C":>8} {"validation":>11} {"test":>7} {"per fit":>8}"""

HEADER_MEANS = f"""\
{"":32} {"NDCG@10":>8} {"seconds":>8} {"fits without":>13}
{"estimator":32} {"on test":>8} {"per fit":>8} {"convergence":>13}"""

NOTES_FOLDS = """
Notes
- LinearSVC: scikit-learn, trained on the difference vectors of the same pairs. RankingSVM: hinge.
- squared: squared hinge loss instead of the hinge loss. gain: pairs weighted by the difference of their gains. rbf: RBF
  kernel instead of the linear kernel. converged: trained with a small tolerance.
- C is chosen on the validation part among 1e-5, 1e-4, 1e-3 and 1e-2 (RBF: the first three). The time is the mean over
  all values of C, in processor seconds of one thread."""


def folds(selected):
    X, y, qid, fold = ohsumed()
    compared = {name: value for name, value in estimators().items() if not selected or name in selected}
    scores = {name: [] for name in compared}
    seconds = {name: [] for name in scores}
    unconverged = dict.fromkeys(scores, 0)
    gaps, weights = [], {}
    for k in range(1, 6):
        train, validation, test = split(fold, k)
        first, _, _ = preferences(y[train].astype(float), np.unique(qid[train], return_inverse=True)[1])
        print(f"Fold {k}: {train.sum()} documents, {len(first)} pairs\n{HEADER_FOLDS}", flush=True)
        for name, (make, costs) in compared.items():
            candidates = []
            for C in costs:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always", ConvergenceWarning)
                    fit_time, model = timed(partial(make(C).fit, X[train], y[train], qid[train]))
                unconverged[name] += any(issubclass(w.category, ConvergenceWarning) for w in caught)
                seconds[name].append(fit_time)
                candidates.append((ndcg(y[validation], model.predict(X[validation]), qid[validation]), C, model))
                if name.endswith("converged"):
                    weights[name, k, C] = model.coef_[0].copy()
                if isinstance(model, hinge.RankingSVM):
                    gaps.append(model.certificate_.relative_gap)
            best, C, model = max(candidates, key=lambda item: item[0])
            scores[name].append(ndcg(y[test], model.predict(X[test]), qid[test]))
            mean_time = np.mean(seconds[name][-len(costs) :])
            print(f"{name:32} {C:8g} {best:11.4f} {scores[name][-1]:7.4f} {mean_time:8.2f}", flush=True)
        print()
    print(f"Means over the folds\n{HEADER_MEANS}")
    for name, values in scores.items():
        print(f"{name:32} {np.mean(values):8.4f} {np.mean(seconds[name]):8.2f} {unconverged[name]:13d}")
    print(f"\nlargest relative duality gap of a RankingSVM: {max(gaps, default=np.nan):.1e}")
    both = [key[1:] for key in weights if key[0] == "LinearSVC, squared, converged"]
    if both and len(weights) == 2 * len(both):
        names = ("LinearSVC, squared, converged", "RankingSVM, squared, converged")
        pairs = [[weights[name, *key] for name in names] for key in both]
        difference = max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs)
        print(
            f"squared, converged: largest difference of the weights of both libraries {difference:.1e}, "
            "relative to the largest weight"
        )
    print(NOTES_FOLDS)


def path(n_fits, n_queries, kernels):
    X, y, qid, fold = ohsumed()
    train, validation, test = split(fold, 5)
    train &= np.isin(qid, np.unique(qid[train])[:n_queries])
    rng = np.random.default_rng(0)
    jobs = {"linear, C = 0.0001": dict(C=1e-4), "rbf, C = 0.001": dict(C=1e-3, kernel="rbf", gamma=GAMMA)}
    for label, options in jobs.items():
        if not label.startswith(tuple(kernels)):
            continue
        path_time, found = timed(lambda options=options: hinge.ranking_path(X[train], y[train], qid[train], **options))
        ndcg_time, curve = timed(lambda found=found: found.ndcg(X[validation], y[validation], qid[validation]))
        print(f"\nPath of the fifth fold, {label}\n{found}")
        print(
            f"path: {path_time:.1f} s, {found.counts.events} events, "
            f"{found.counts.mean_margin:.1f} pairs on the margin on average; "
            f"NDCG@10: {ndcg_time:.1f} s, {len(curve.values)} steps",
            flush=True,
        )
        best = found.best(X[validation], y[validation], qid[validation])
        print(f"{'':>7} {'NDCG@10 on':>19}\n{'theta':>7} {'validation':>11} {'test':>7}")
        for theta in (0.0, best.theta, 1.0):
            value = ndcg(y[test], found.predict(X[test], theta), qid[test])
            print(f"{theta:7.3f} {curve(theta):11.4f} {value:7.4f}")
        compare_with_new_fits(found, curve, X, y, qid, train, validation, options, rng.uniform(size=n_fits))


def compare_with_new_fits(found, curve, X, y, qid, train, validation, options, thetas):
    """Compare NDCG@10 and the scores of a path with those of new fits."""
    largest, equal, times, score_difference = 0.0, 0, [], 0.0
    model = hinge.RankingSVM(tol=1e-10, **options)
    for theta in thetas:
        model.set_params(weighting=float(theta))
        times.append(timed(partial(model.fit, X[train], y[train], qid[train]))[0])
        scores = model.predict(X[validation])
        difference = abs(ndcg(y[validation], scores, qid[validation]) - curve(theta))
        equal += difference <= 1e-12
        largest = max(largest, difference)
        here = float(np.max(np.abs(scores - found.predict(X[validation], theta))))
        score_difference = max(score_difference, here)
    print(
        f"{len(thetas)} new fits at random theta ({np.mean(times):.2f} s per fit):\n"
        f"NDCG@10 equal in {equal}, largest difference {largest:.1e}; "
        f"largest difference of the scores {score_difference:.1e}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=("folds", "path"), default=("folds", "path"))
    parser.add_argument("--estimators", nargs="+", choices=tuple(estimators()), help="for the folds; default: all")
    parser.add_argument("--fresh", type=int, default=50, help="number of new fits to compare the path with")
    parser.add_argument("--queries", type=int, help="number of training queries of the path; default: all")
    parser.add_argument("--jobs", nargs="+", choices=("linear", "rbf"), default=("linear", "rbf"), help="for the path")
    options = parser.parse_args()
    threadpool_limits(1)
    if "folds" in options.only:
        folds(options.estimators)
    if "path" in options.only:
        path(options.fresh, options.queries, options.jobs)
    print(f"\n{versions()}")
