"""ℓ1-regularized classification: seconds until a relative duality gap, compared with LIBLINEAR.

    HINGE_DATA=... python benchmarks/linear/l1.py [--sets rcv1_small,news20,...] [--gaps 1e-2,1e-3,1e-4] [--save]

Squared hinge loss, C = 1, no intercept. The gap of LIBLINEAR's weights w is measured as that of hinge: the losses at w
define a dual point, which is scaled until it is feasible, and the bounds of `certify_linear` hold for both. LIBLINEAR
has no duality gap as stopping criterion: its tolerance is decreased by factors of 10^(1/2) until the gap is reached;
the table shows the time of the last of these fits only. `excess` is the objective relative to the best lower bound.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
from data import load
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import hinge
from hinge.formulations import linear_classification
from hinge.problems import Bias, certify_linear

MAX_SECONDS = 20.0  # of a fit of LIBLINEAR; no smaller tolerance is tried


def certificate(problem, weights):
    """Return the certificate of weights with the best multiple of the dual point of their losses."""
    f = problem.X @ weights
    beta = np.clip((problem.target - f) / problem.ridge, problem.lower, problem.upper)
    largest = np.abs(problem.X.T @ beta).max()
    factor = min(1 / largest, problem.target @ beta / (problem.ridge @ beta**2))
    return certify_linear(problem, weights, 0.0, factor * beta)


def fits_of_liblinear(problem, y, gaps):
    """Return (seconds, gap, objective) of LIBLINEAR for every gap, None if it was not reached in time."""
    runs, found = [], {}
    for tol in 10.0 ** -np.arange(0, 6, 0.5):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearSVC(
                penalty="l1", dual=False, fit_intercept=False, tol=tol, max_iter=100_000, random_state=0
            ).fit(problem.X, y)
        seconds = time.perf_counter() - start
        proof = certificate(problem, model.coef_[0])
        runs.append((seconds, proof.relative_gap, proof.primal))
        for gap in gaps:
            if gap not in found and proof.relative_gap <= gap:
                found[gap] = runs[-1]
        if seconds > MAX_SECONDS or len(found) == len(gaps):
            break
    return found, runs[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="colon_cancer,rcv1_small,farm_ads,news20")
    parser.add_argument("--gaps", default="1e-2,1e-3,1e-4")
    parser.add_argument("--save", action="store_true", help="also write the table to l1.txt")
    arguments = parser.parse_args()
    gaps = [float(gap) for gap in arguments.gaps.split(",")]
    lines = [f"ℓ1 penalty, squared hinge loss, C = 1, no intercept, one thread, {date.today()}", ""]
    lines.append(
        f"{'data':14}{'gap':>8}{'hinge s':>10}{'nonzero':>9}{'excess':>10}"
        f"{'LIBLINEAR s':>14}{'its gap':>10}{'excess':>10}"
    )
    print("\n".join(lines), flush=True)
    for name in arguments.sets.split(","):
        X, y = load(name)
        y = np.where(y == np.unique(y)[1], 1.0, -1.0)
        problem = linear_classification(X, y, np.ones(len(y)), "squared_hinge", Bias.NONE)
        problem = replace(problem, l1=True)
        ours = []
        for gap in gaps:
            start = time.perf_counter()
            model = hinge.LinearSVC(penalty="l1", fit_intercept=False, tol=gap, max_iter=-1).fit(X, y)
            ours.append((time.perf_counter() - start, model))
        found, last = fits_of_liblinear(problem, y, gaps)
        best = max(model.certificate_.dual for _, model in ours)
        for gap, (seconds, model) in zip(gaps, ours, strict=True):
            excess = model.certificate_.primal / best - 1
            line = f"{name:14}{gap:8.0e}{seconds:10.3f}{np.count_nonzero(model.coef_):9}{excess:10.1e}"
            peer = found.get(gap)
            time_of_peer = f"{peer[0]:14.3f}" if peer else f"{'> ' + format(last[0], '.1f'):>14}"
            _, reached, objective = peer or last
            line += f"{time_of_peer}{reached:10.1e}{objective / best - 1:10.1e}"
            print(line, flush=True)
            lines.append(line)
    lines += ["", "> s: this gap was not reached; the seconds, gap and excess of the last fit."]
    print("\n".join(lines[-2:]))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
