"""Measure the time to reach a relative duality gap: hinge, LIBLINEAR, scikit-learn and Snap ML.

    HINGE_DATA=folder python benchmarks/linear/speed.py [--data a9a,w8a] [--C 0.01,1,100] [--loss hinge,squared_hinge]

`--parts folder` stores each finished problem, so a long run can be split. `--table` prints the tables of all stored
problems. hinge and the other libraries are measured directly after each other.

All estimators are trained without an intercept, which all libraries support. Times are medians of several fits. hinge
gets the gap as its tolerance and certifies it. The other libraries do not certify a gap. Each of them is run with
decreasing tolerances, starting at a hundred times LIBLINEAR's default, and the shortest run that reaches the gap is
used. LIBLINEAR uses a new random order in each fit, so time and quality are medians of the same fits. Their gap is
measured by two criteria:

primal      (P(w) − P*)/|D| for the primal point alone, in favor of the other libraries. The optimum lies between the
            largest dual value D certified by a run of hinge and the smallest primal value P* of all runs. An additional
            run of hinge, which is not measured, brings them within 1e-7 of each other.
certified   the duality gap of the returned weights w, for squared losses, whose dual point can be computed from w,
            docs/math (111). For other losses the primal criterion is used. Dual solvers have a better dual point
            internally but do not return it.

With `--limit` each fit of another library runs in a separate process, which is ended after this number of seconds. If
no library reaches the gap, the ratio is a lower bound (>): the longest insufficient fit of the solver for which it is
shortest, divided by the time of hinge.

The times of LIBLINEAR do not include its own copy of the samples, which the other times include.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from data import REAL, load
from peers import PEERS
from report import print_tables, summary

import hinge

GAPS = (1e-2, 1e-4, 1e-6)
clock = time.perf_counter
CAP = 60.0  # a peer whose fit takes longer (seconds) is not run with a smaller tolerance
DEFAULT = 1e-1  # default tolerance of LIBLINEAR
TOLERANCES = (10, 3, 1, 0.3, DEFAULT, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
REFERENCE = 1e-7  # relative gap of the run that locates the optimum


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join((*REAL, "text200k")))
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--loss", default="hinge,squared_hinge")
    parser.add_argument("--cap", type=float, default=CAP, help="longest fit before a smaller tolerance, seconds")
    parser.add_argument("--limit", type=float, help="time limit of a fit of a peer in seconds")
    parser.add_argument("--reference", type=float, default=60.0, help="time limit of the run that locates the optimum")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: processor time of one thread")
    parser.add_argument("--peers", default="liblinear,sklearn,snapml")
    parser.add_argument("--gaps", default="1e-2,1e-4,1e-6")
    parser.add_argument("--parts", type=Path, help="folder of finished problems; these are not run again")
    parser.add_argument("--table", action="store_true", help="only print the problems in --parts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.parts:
        options.parts.mkdir(parents=True, exist_ok=True)
    global GAPS
    GAPS = tuple(map(float, options.gaps.split(",")))
    if options.clock == "cpu":
        options.threads = 1
        global clock
        clock = time.process_time
    results = []
    for name in options.data.split(","):
        X = y = None
        for loss in options.loss.split(","):
            for C in map(float, options.C.split(",")):
                part = options.parts and options.parts / f"{name}-{loss}-{C:g}.json"
                if part and part.exists():
                    results.append(json.loads(part.read_text()))
                    continue
                if options.table:
                    continue
                if X is None:
                    X, y = load(name)
                other_load = OtherLoad()
                result = measure(Case(name, X, y, loss, C), options)
                result |= {"commit": commit(), "others": other_load.processors()}
                if part:
                    part.write_text(json.dumps(result))
                print(f"{name}, {loss}, C = {C:g}: finished", file=sys.stderr, flush=True)
                results.append(result)
    print_tables(results, GAPS, f"{options.clock}-clock times, {options.threads} threads for hinge and Snap ML")
    return summary(results, GAPS)


def commit():
    """Return the current commit, with a + if files have changed since."""
    run = dict(cwd=Path(__file__).parent, capture_output=True, text=True)
    name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **run).stdout.strip()
    return name + ("+" if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "../.."], **run).returncode else "")


class OtherLoad:
    """Number of processors that other programs use from the creation of the object on (Linux)."""

    def __init__(self):
        self.start, self.seconds = time.perf_counter(), self._seconds()

    def processors(self):
        return (self._seconds() - self.seconds) / (time.perf_counter() - self.start)

    @staticmethod
    def _seconds():
        try:
            user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
        except OSError:
            return math.nan
        all_programs = (user + nice + system) / os.sysconf("SC_CLK_TCK")
        return all_programs - sum(os.times()[:4])


class Case:
    """A problem: its estimators, and the primal value and gap of weights."""

    def __init__(self, name, X, y, loss, C):
        self.name, self.X, self.y, self.loss, self.C = name, X, y, loss, C
        self.regression = name == "cadata"
        self.squared = loss == "squared_hinge"
        self.copying = None  # seconds in which LIBLINEAR copies the samples
        classes = np.unique(y)
        several = not self.regression and len(classes) > 2
        self.signs = np.where(y[:, None] == classes, 1.0, -1.0) if several else y[:, None]

    def primal(self, W):
        values = np.asarray(self.X @ np.atleast_2d(W).astype(np.float64).T)
        slack = np.abs(self.signs - values) if self.regression else np.maximum(0, 1 - self.signs * values)
        return 0.5 * np.sum(np.square(W, dtype=np.float64)) + self.C * np.sum(slack**2 if self.squared else slack)

    def gap(self, W):
        """Return the duality gap of W for squared losses, with the dual point computed from W; NaN for other losses."""
        if not self.squared:
            return math.nan
        W = np.atleast_2d(W).astype(np.float64)
        values = np.asarray(self.X @ W.T)
        residual = self.signs - values
        if not self.regression:
            residual = np.where(self.signs * residual > 0, residual, 0.0)
        return 0.5 * np.sum(np.square(W.T - self.X.T @ (2 * self.C * residual)))

    def hinge(self, tol, threads, seconds=None):
        common = dict(C=self.C, tol=tol, fit_intercept=False, n_jobs=threads, max_iter=-1, max_time=seconds)
        if self.regression:
            loss = "squared_epsilon_insensitive" if self.squared else "epsilon_insensitive"
            return hinge.LinearSVR(loss=loss, **common)
        return hinge.LinearSVC(loss=self.loss, **common)


def timed(run):
    """Return the median time and all results; short runs are repeated for a quarter of a second."""
    times, results = [], []
    while sum(times) < 0.25:
        start = clock()
        result = run()
        times.append(clock() - start)
        results.append(result)
    return float(np.median(times)), results


def certified_values(model):
    return model.certificate_.primal, model.certificate_.dual, model.certificate_.relative_gap


class Optimum:
    """Bounds on the optimum: certified dual values, and primal values of any run."""

    def __init__(self):
        self.dual, self.primal = -np.inf, np.inf

    def update(self, primal, dual):
        self.dual, self.primal = max(self.dual, dual), min(self.primal, primal)

    def distance(self, primal):
        self.primal = min(self.primal, primal)
        return (primal - self.primal) / abs(self.dual)

    @property
    def known(self):
        return (self.primal - self.dual) / abs(self.dual)


def measure(case, options):
    optimum = Optimum()
    optimum.update(*certified_values(case.hinge(REFERENCE, options.threads, options.reference).fit(case.X, case.y))[:2])
    peers = [run for name, run in PEERS.items() if name in options.peers.split(",")]
    fits = [fit for peer in peers for fit in sweep(case, peer, optimum, options)]
    cells = []
    for gap in GAPS:
        model = case.hinge(gap, options.threads, 60.0)
        seconds, runs = timed(lambda model=model: certified_values(model.fit(case.X, case.y)))
        primal, dual, reached = runs[-1]
        optimum.update(primal, dual)
        cells.append({"hinge": seconds, "reached": bool(reached <= gap)})
    default = [fit for fit in fits if fit["name"] == "LIBLINEAR" and fit["tol"] == DEFAULT and fit["primal"] < np.inf]
    for gap, cell in zip(GAPS, cells, strict=True):  # after all runs, because P* is the smallest primal value of all
        for key, name, reaches in (
            ("peer", "name", lambda fit, gap=gap: optimum.distance(fit["primal"]) <= gap),
            ("proven", "proven_name", lambda fit, gap=gap: fit["gap"] <= gap * abs(optimum.dual)),
        ):
            sufficient = [(fit["seconds"], fit["name"]) for fit in fits if reaches(fit)]
            cell[key], cell[name] = min(sufficient, default=(None, ""))
            cell[key + "_least"] = lower_bound(fits, reaches)
    coarse = [(fit["seconds"], optimum.distance(fit["primal"])) for fit in default[:1]]
    row = {"data": case.name, "loss": case.loss, "C": case.C, "cells": cells, "coarse": coarse, "copy": case.copying}
    return row | {"known": optimum.known, "proofs": case.squared}


def lower_bound(fits, reaches):
    """Return a lower bound on the time of the best solver: the smallest of the longest insufficient fits."""
    longest = {}
    for fit in fits:
        if not reaches(fit):
            solver = fit["name"], fit["solver"]
            longest[solver] = max(longest.get(solver, 0.0), fit["seconds"])
    return min(longest.values(), default=0.0)


def sweep(case, peer, optimum, options):
    """Yield fits with decreasing tolerances, for each solver of a peer; fits that were ended have an infinite value."""
    active = None
    for tol in TOLERANCES:
        solvers = peer(case, tol, options.threads)
        if solvers is None:
            return
        name, fits = solvers
        active = set(range(len(fits))) if active is None else active
        for solver in sorted(active):
            fit = {"name": name, "solver": solver, "tol": tol}
            run = timed(fits[solver]) if options.limit is None else timed_with_limit(fits[solver], options.limit)
            if run is None:
                active.discard(solver)
                yield fit | {"seconds": options.limit, "primal": np.inf, "gap": np.inf}
                continue
            seconds, weights = run
            primal, gap = np.median([(case.primal(W), case.gap(W)) for W in weights], axis=0)
            distance = optimum.distance(primal)
            distance = max(distance, gap / abs(optimum.dual)) if case.squared else distance
            if distance <= min(GAPS) / 2 or seconds > options.cap:
                active.discard(solver)
            yield fit | {"seconds": seconds, "primal": primal, "gap": gap}


def timed_with_limit(fit, limit):
    """Return the result of `timed`, run in a separate process; None if it exceeds the limit."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(timed(fit)))
    child.start()
    try:
        return receiver.recv() if receiver.poll(limit) else None
    finally:
        child.kill()
        child.join()


if __name__ == "__main__":
    sys.exit(main())
