"""Transduction on spambase, 10 % labelled (Karasuyama Fig. 4.17): paths beside refitting at every switch.

    python benchmarks/streams/transduction.py [--runs 10] [--refits 20] [--share default labeled] [--settings 1 2]

Accuracy over many draws and sets is the matter of transduction_accuracy.py.  The features are scaled to [0, 1], C* = C
at the end.  The share of positives among the labels found is that of `positive_fraction`.  For every C and gamma: the
accuracy on the unlabelled samples of SVC trained on the labelled ones, of the labels found (`transduction_`) and of the
machine found (`predict`); the number of machines on the way (a switch of two labels, or a larger C*); and processor
time for all of them by paths, and by training each afresh: `refits` of them are trained with hinge's SVC and with
scikit-learn's (tol 1e-3, where paths are exact), from the labels and costs they had, and their time is multiplied up.
Then the same for one switch.  One thread.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
import sklearn.svm
from series import load, unit, versions
from threadpoolctl import threadpool_limits

import hinge
from hinge.transduction import Transduction

SHARES = {"default": None, "predicted": "predicted", "labeled": "labeled"}
#: (C, gamma); the last two have the dissertation's width, gamma / p of (4.25).
SETTINGS = ((10.0, 1.0), (100.0, 1.0), (100.0, 0.1), (1.0, 10.0), (100.0, 10 / 57), (1000.0, 1 / 57))


def clock(action):
    began = time.process_time()
    result = action()
    return time.process_time() - began, result


def watched(states):
    """A Transduction that writes down the labels and costs of every machine it goes through."""
    move = Transduction._set_costs

    def set_costs(self, label, positive, negative):
        switch = not np.array_equal(label, self.label)
        seconds, _ = clock(lambda: move(self, label, positive, negative))
        states.append((label.copy(), positive, negative, switch, seconds))

    return set_costs


def one_run(X, y, C, gamma, seed, refits, share=None):
    rows = np.random.default_rng(seed).permutation(len(y))
    some, others = rows[: len(y) // 10], rows[len(y) // 10 :]
    alone = hinge.SVC(C=C, gamma=gamma).fit(X[some], y[some]).score(X[others], y[others])
    states, original = [], Transduction._set_costs
    Transduction._set_costs = watched(states)
    try:
        machine = hinge.TransductiveSVC(C=C, C_unlabeled=C, gamma=gamma, positive_fraction=share)
        seconds, model = clock(lambda: machine.fit(X[some], y[some], X[others]))
    finally:
        Transduction._set_costs = original
    found = np.mean(model.transduction_ == y[others])
    switching = [s for *_, switch, s in states if switch]
    figures = [alone, found, model.score(X[others], y[others]), len(states), model.n_switches_, seconds]
    everyone = np.concatenate([X[some], X[others]])
    sign = np.where(y[some] == model.classes_[1], 1.0, -1.0)
    chosen = [states[k] for k in np.unique(np.linspace(0, len(states) - 1, refits).astype(int))]
    for make in (lambda: hinge.SVC(C=1.0, gamma=gamma), lambda: sklearn.svm.SVC(C=1.0, gamma=gamma, cache_size=1000)):
        spent = 0.0
        for label, positive, negative, *_ in chosen:
            weight = np.concatenate([np.full(len(some), C), np.where(label > 0, positive, negative)])
            labels = np.concatenate([sign, label])
            spent += clock(lambda m=make, w=weight, s=labels: m().fit(everyone, s, sample_weight=w))[0]
        figures.append(spent / len(chosen))
    figures.append(float(np.mean(switching)) if switching else np.nan)
    return figures, model.certify(X[some], y[some], X[others]).kkt_violation


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--refits", type=int, default=20)
    parser.add_argument("--share", nargs="+", choices=tuple(SHARES), default=("default",))
    parser.add_argument("--settings", nargs="+", type=int, choices=range(1, 7), default=range(1, 7))
    options = parser.parse_args()
    threadpool_limits(1)
    X, y = load("spambase")
    X = unit(X)
    print(__doc__.splitlines()[0])
    print(versions())
    print(f"{options.runs} runs; processor seconds\n")
    print("     C gamma      share  inductive  labels found  machine  better in  machines  switches "
          "|  all: path, hinge, sklearn | one switch, ms: path, hinge, sklearn")
    for (C, gamma), share in product([SETTINGS[k - 1] for k in options.settings], options.share):
        runs = range(options.runs)
        results = [one_run(X, y, C, gamma, seed, options.refits, SHARES[share]) for seed in runs]
        table, kkt = np.array([r[0] for r in results]), max(r[1] for r in results)
        mean = table.mean(axis=0)
        better = int(np.sum(table[:, 1] > table[:, 0]))
        path, hinge_fit, sklearn_fit, switch = mean[5], mean[6], mean[7], np.nanmean(table[:, 8])
        print(f"{C:6g} {gamma:5.3g}  {share:>9}  {mean[0]:9.4f}  {mean[1]:12.4f}  {mean[2]:7.4f}  {better:3d} of "
              f"{options.runs:2d}  {mean[3]:8.0f}  {mean[4]:8.0f} | {path:5.1f} s {hinge_fit * mean[3]:6.1f} s "
              f"{sklearn_fit * mean[3]:7.1f} s | {1e3 * switch:5.1f} {1e3 * hinge_fit:6.1f} {1e3 * sklearn_fit:7.1f}: "
              f"{hinge_fit / switch:.1f} and {sklearn_fit / switch:.1f} times; KKT at the end {kkt:.0e}", flush=True)
