"""Measure transduction on spambase with 10 % labeled samples (Karasuyama, Fig. 4.17): paths compared with refits.

    python benchmarks/streams/transduction.py [--runs 10] [--refits 20] [--share default labeled] [--settings 1 2]

The features are scaled to [0, 1], and the final value of C* is C. Accuracies over many draws and data sets are the
subject of transduction_accuracy.py.

The time of all intermediate models (one for each switch of two labels and each increase of C*) is measured by paths
and by refits. `--refits` of the models are trained with SVC of hinge and of scikit-learn (tol=1e-3; paths are exact),
with their labels and costs, and the time is extrapolated to all of them. All times are processor seconds of one
thread.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np
import sklearn.svm
from series import load, scale_columns, versions
from threadpoolctl import threadpool_limits

import hinge
from hinge.transduction import Transduction

SHARES = {"default": None, "predicted": "predicted", "labeled": "labeled"}
#: (C, gamma); the last two use the kernel parameter of the dissertation, gamma / p of (4.25).
SETTINGS = ((10.0, 1.0), (100.0, 1.0), (100.0, 0.1), (1.0, 10.0), (100.0, 10 / 57), (1000.0, 1 / 57))


def timed(action):
    """Return processor seconds and the result."""
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def recording(states):
    """Return a method of `Transduction` that records the labels and costs of all intermediate models."""
    original = Transduction._set_costs

    def set_costs(self, label, positive, negative):
        switch = not np.array_equal(label, self.label)
        seconds, _ = timed(lambda: original(self, label, positive, negative))
        states.append((label.copy(), positive, negative, switch, seconds))

    return set_costs


def one_run(X, y, C, gamma, seed, refits, share=None):
    """Return the measurements of a draw, and the KKT violation of the final model."""
    order = np.random.default_rng(seed).permutation(len(y))
    labeled, unlabeled = order[: len(y) // 10], order[len(y) // 10 :]
    svc_accuracy = hinge.SVC(C=C, gamma=gamma).fit(X[labeled], y[labeled]).score(X[unlabeled], y[unlabeled])
    states, original = [], Transduction._set_costs
    Transduction._set_costs = recording(states)
    try:
        estimator = hinge.TransductiveSVC(C=C, C_unlabeled=C, gamma=gamma, positive_fraction=share)
        seconds, model = timed(lambda: estimator.fit(X[labeled], y[labeled], X[unlabeled]))
    finally:
        Transduction._set_costs = original
    label_accuracy = np.mean(model.transduction_ == y[unlabeled])
    model_accuracy = model.score(X[unlabeled], y[unlabeled])
    switch_times = [seconds for *_, switch, seconds in states if switch]
    results = [svc_accuracy, label_accuracy, model_accuracy, len(states), model.n_switches_, seconds]
    X_all = np.concatenate([X[labeled], X[unlabeled]])
    sign = np.where(y[labeled] == model.classes_[1], 1.0, -1.0)
    selected = [states[k] for k in np.unique(np.linspace(0, len(states) - 1, refits).astype(int))]
    for make in (lambda: hinge.SVC(C=1.0, gamma=gamma), lambda: sklearn.svm.SVC(C=1.0, gamma=gamma, cache_size=1000)):
        refit_time = 0.0
        for label, positive, negative, *_ in selected:
            weight = np.concatenate([np.full(len(labeled), C), np.where(label > 0, positive, negative)])
            signs = np.concatenate([sign, label])
            refit_time += timed(lambda m=make, w=weight, s=signs: m().fit(X_all, s, sample_weight=w))[0]
        results.append(refit_time / len(selected))
    results.append(float(np.mean(switch_times)) if switch_times else np.nan)
    return results, model.certify(X[labeled], y[labeled], X[unlabeled]).kkt_violation


def print_accuracy_header():
    print(f"{'':>6} {'':>7} {'':>10} {'accuracy':>28} {'labels better':>14} {'intermediate':>13} {'':>9}")
    print(f"{'C':>6} {'gamma':>7} {'share':>10} {'SVC':>8} {'labels':>9} {'model':>9} {'than SVC':>14} {'models':>13} "
          f"{'switches':>9}")  # fmt: skip


def print_time_header():
    titles = f"{'all models, seconds':>26} {'one switch, milliseconds':>27} {'time ratio':>17} {'KKT':>10}"
    print(f"{'':>6} {'':>7} {'':>10} {titles}")
    columns = f"{'path':>8} {'hinge':>8} {'sklearn':>8}"
    print(f"{'C':>6} {'gamma':>7} {'share':>10} {columns}  {columns} {'hinge':>8} {'sklearn':>8} {'violation':>10}")


NOTES = """
Notes
- share: method for the fraction of positive labels (`positive_fraction`).
- accuracy on the unlabeled samples: SVC, trained on the labeled samples; labels, found by TransductiveSVC
  (`transduction_`); model, predictions of TransductiveSVC.
- labels better than SVC: number of draws.
- intermediate models: one for each switch of two labels and each increase of C*.
- path: by exact paths. hinge, sklearn: by refits with SVC of hinge and of scikit-learn.
- time ratio: time of a refit divided by the time of a switch by a path.
- KKT violation: largest violation of the final model, computed from the data."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--refits", type=int, default=20)
    parser.add_argument("--share", nargs="+", choices=tuple(SHARES), default=("default",))
    parser.add_argument("--settings", nargs="+", type=int, choices=range(1, 7), default=range(1, 7))
    options = parser.parse_args()
    threadpool_limits(1)
    X, y = load("spambase")
    X = scale_columns(X)
    print("Transduction on spambase, 10 % of the samples labeled\n")
    print_accuracy_header()
    time_rows = []
    for (C, gamma), share in product([SETTINGS[k - 1] for k in options.settings], options.share):
        runs = range(options.runs)
        results = [one_run(X, y, C, gamma, seed, options.refits, SHARES[share]) for seed in runs]
        table, kkt = np.array([r[0] for r in results]), max(r[1] for r in results)
        mean = table.mean(axis=0)
        better = f"{int(np.sum(table[:, 1] > table[:, 0]))} of {options.runs}"
        label = f"{C:6g} {gamma:7.3g} {share:>10}"
        accuracies = f"{mean[0]:8.4f} {mean[1]:9.4f} {mean[2]:9.4f}"
        print(f"{label} {accuracies} {better:>14} {mean[3]:13.0f} {mean[4]:9.0f}", flush=True)
        path, hinge_fit, sklearn_fit, switch = mean[5], mean[6], mean[7], np.nanmean(table[:, 8])
        time_rows.append(
            f"{label} {path:8.1f} {hinge_fit * mean[3]:8.1f} {sklearn_fit * mean[3]:8.1f}  {1e3 * switch:8.1f} "
            f"{1e3 * hinge_fit:8.1f} {1e3 * sklearn_fit:8.1f} {hinge_fit / switch:8.1f} {sklearn_fit / switch:8.1f} "
            f"{kkt:10.0e}"
        )
    print()
    print_time_header()
    print("\n".join(time_rows))
    print(f"{NOTES}\n- {options.runs} draws. {versions()}")


if __name__ == "__main__":
    main()
