"""Seconds to a relative duality gap: hinge against LIBLINEAR, scikit-learn and Snap ML.

    HINGE_DATA=folder python benchmarks/linear/speed.py [--data a9a,w8a] [--C 0.01,1,100] [--loss hinge,squared_hinge]

Each problem can be saved as it is done (`--parts folder`), and `--table` prints the table of all parts in a folder, so
that a long run can be taken in pieces; hinge and the others are timed next to each other.  Every line says which
commit it was measured with, and how many processors other programs used meanwhile.

Without bias, which all of them can do; medians of several fits.  hinge is asked for the gap and proves it.  The others
prove nothing: each is run with finer and finer tolerances, from a hundred times LIBLINEAR's default on, and the
shortest run that is good enough counts.  LIBLINEAR draws its order anew in every fit: time and quality are the medians
of the same fits.  Their gap is measured in two ways:

ratio   (P(w) − P*)/|D|: of their primal point alone, with the benefit of the doubt.  The optimum lies between the
        largest dual value D that any run of hinge has proven and the smallest primal value P* that any run of anybody
        has reached; one more run of hinge, whose time does not count, brings them within 1e-7 of each other ("known to"
        says how near they are).
proof   the duality gap of what they return, where that is enough for one: squared losses, whose dual point belonging
        to w is known, docs/math (111).  For the others there is none.  Solvers of the dual have a better dual point
        inside, which they do not return.

With `--limit` every fit of the others has a process of its own, which ends after so many seconds.  Where nobody got
there, the longest fit that was not enough is what the best of them needs at least: `>` stands before such a ratio.

LIBLINEAR is timed from its own copy of the samples on; how long that takes to make, which the others' times include,
is said at the end of a line.
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

import hinge

GAPS = (1e-2, 1e-4, 1e-6)
clock = time.perf_counter
CAP = 60.0  # seconds after which a peer gets no finer tolerance
DEFAULT = 1e-1  # LIBLINEAR's tolerance where nobody gives one
TOLERANCES = (10, 3, 1, 0.3, DEFAULT, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
REFERENCE = 1e-7  # relative gap of the run that says where the optimum is


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=",".join((*REAL, "text200k")))
    parser.add_argument("--C", default="0.01,1,100")
    parser.add_argument("--loss", default="hinge,squared_hinge")
    parser.add_argument("--cap", type=float, default=CAP, help="seconds after which a peer gets no finer tolerance")
    parser.add_argument("--limit", type=float, help="seconds after which a fit of a peer is ended")
    parser.add_argument("--reference", type=float, default=60.0, help="seconds of the run that finds the optimum")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: of one thread")
    parser.add_argument("--peers", default="liblinear,sklearn,snapml")
    parser.add_argument("--gaps", default="1e-2,1e-4,1e-6")
    parser.add_argument("--parts", type=Path, help="folder to keep finished problems in; those there are not run again")
    parser.add_argument("--table", action="store_true", help="only print what is in --parts")
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
    print(f"{options.clock} ms, {options.threads} threads for hinge and Snap ML; ratio, proof = best peer / hinge")
    columns = f"{'hinge':>9} {'peer':>9}{'ratio':>8}  {'proof':>8}  "
    print(f"{'data':14} {'loss':13} {'C':>5}  " + "".join(columns for _ in GAPS))
    print(f"{'relative gap':36}" + "".join(f"{gap:>36.0e}   " for gap in GAPS))
    found = []
    for name in options.data.split(","):
        X = y = None
        for loss in options.loss.split(","):
            for C in map(float, options.C.split(",")):
                part = options.parts and options.parts / f"{name}-{loss}-{C:g}.json"
                if part and part.exists():
                    found.append(json.loads(part.read_text()))
                elif options.table:
                    continue
                else:
                    if X is None:
                        X, y = load(name)
                    others = Others()
                    found.append(measure(Case(name, X, y, loss, C), options))
                    found[-1] |= {"commit": commit(), "others": others.used()}
                    if part:
                        part.write_text(json.dumps(found[-1]))
                print(line(found[-1]), flush=True)
    return summary(found)


def line(row):
    text = f"{row['data']:14} {row['loss']:13} {row['C']:5g}  "
    for cell in row["cells"]:
        mark = " " if cell["reached"] else "!"
        text += f"{1e3 * cell['hinge']:9.2f}{mark}{1e3 * (cell['peer'] or cell['peer_least']):9.1f}"
        text += ratio(cell, "peer", "name")
        text += ratio(cell, "proven", "proven_name") if row["proofs"] else f"{'':10}"
    if "known" in row:
        text += f"   known to {max(row['known'], 0):.0e}"
    text += "".join(f"   LIBLINEAR at 0.1: {1e3 * seconds:.1f} ms, gap {gap:.0e}" for seconds, gap in row["coarse"])
    text += f", its copy {1e3 * row['copy']:.1f} ms" if row.get("copy") else ""
    return text + f"   {row.get('commit', '')}, others {row.get('others', math.nan):.2f}"


def ratio(cell, key, name):
    least = f">{cell[key + '_least'] / cell['hinge']:.2f}"
    return f"{cell[key] / cell['hinge']:8.2f}{cell[name][:2]}" if cell[key] else f"{least:>8} -"


def commit():
    """The commit of this folder; + where files have changed since."""
    run = dict(cwd=Path(__file__).parent, capture_output=True, text=True)
    name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **run).stdout.strip()
    return name + ("+" if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "../.."], **run).returncode else "")


class Others:
    """How many processors other programs use from here on (Linux)."""

    def __init__(self):
        self.began, self.before = time.perf_counter(), self._seconds()

    def used(self):
        return (self._seconds() - self.before) / (time.perf_counter() - self.began)

    @staticmethod
    def _seconds():
        try:
            user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
        except OSError:
            return math.nan
        mine = os.times()
        everybody = (user + nice + system) / os.sysconf("SC_CLK_TCK")
        return everybody - sum(mine[:4])


def summary(found):
    """Geometric means of the ratios, and what is slower.

    A problem that no peer has solved counts for nothing, or for what the best of them needs at least.
    """
    slower = {}
    for reading, key in (("ratio", "peer"), ("proof", "proven")):
        # where there is no proof, the benefit of the doubt
        keys = [key if row["proofs"] else "peer" for row in found]
        cells = [[cell[k] for cell in row["cells"]] for k, row in zip(keys, found, strict=True)]
        least = [[cell[k + "_least"] for cell in row["cells"]] for k, row in zip(keys, found, strict=True)]
        for row in found:
            for cell in row["cells"]:
                cell["hinge"] = cell["hinge"] if cell["reached"] else np.inf
        for k, gap in enumerate(GAPS):
            pairs = [(c[k], row["cells"][k]["hinge"]) for c, row in zip(cells, found, strict=True) if c[k]]
            if pairs:
                bounded = [
                    (t[k], row["cells"][k]["hinge"]) for c, t, row in zip(cells, least, found, strict=True) if not c[k]
                ]
                print(
                    f"{reading}: geometric mean at {gap:.0e}: {mean_ratio(pairs):.2f} over {len(pairs)} problems; "
                    f"at least {mean_ratio(pairs + bounded):.2f} with the {len(bounded)} on which no peer got there"
                )
        slower[reading] = [
            f"{row['data']}/{row['loss']}/C={row['C']:g}/{gap:.0e} ({theirs / cell['hinge']:.2f})"
            for c, row in zip(cells, found, strict=True)
            for gap, theirs, cell in zip(GAPS, c, row["cells"], strict=True)
            if row["C"] <= 1 and theirs and theirs < cell["hinge"]
        ]
        print(f"{reading}: slower than the best peer at C <= 1: " + (", ".join(slower[reading]) or "none"))
        easy = [
            (theirs, at_least, cell["hinge"])
            for c, t, row in zip(cells, least, found, strict=True)
            for theirs, at_least, cell in zip(c, t, row["cells"], strict=True)
            if row["C"] <= 1
        ]
        ahead = sum(bool(theirs) and theirs >= mine for theirs, _, mine in easy)
        bound = sum(not theirs and at_least >= mine for theirs, at_least, mine in easy)
        unknown = sum(not theirs and at_least < mine for theirs, at_least, mine in easy)
        print(
            f"{reading}: of {len(easy)} cells at C <= 1 hinge is ahead in {ahead}, by what peers need at least in "
            f"{bound} more; in {unknown} no peer got there and nothing is known"
        )
    return 1 if any(slower.values()) else 0


def mean_ratio(pairs):
    """A peer that has not begun in its time is no slower than hinge."""
    return math.exp(np.mean([math.log((theirs or mine) / mine) for theirs, mine in pairs]))


class Case:
    """One problem: machines that fit it, and the primal value of weights."""

    def __init__(self, name, X, y, loss, C):
        self.name, self.X, self.y, self.loss, self.C = name, X, y, loss, C
        self.regression = name == "cadata"
        self.squared = loss == "squared_hinge"
        self.copying = None  # seconds of LIBLINEAR's own copy of the samples
        classes = np.unique(y)
        several = not self.regression and len(classes) > 2
        self.signs = np.where(y[:, None] == classes, 1.0, -1.0) if several else y[:, None]

    def primal(self, W):
        values = np.asarray(self.X @ np.atleast_2d(W).astype(np.float64).T)
        slack = np.abs(self.signs - values) if self.regression else np.maximum(0, 1 - self.signs * values)
        return 0.5 * np.sum(np.square(W, dtype=np.float64)) + self.C * np.sum(slack**2 if self.squared else slack)

    def gap(self, W):
        """Of squared losses, with the dual point that belongs to W; NaN for the others."""
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
    """(median time, all results); run is repeated for a quarter of a second, or once."""
    times, results = [], []
    while sum(times) < 0.25:
        began = clock()
        result = run()
        times.append(clock() - began)
        results.append(result)
    return float(np.median(times)), results


def proven_by(model):
    return model.certificate_.primal, model.certificate_.dual, model.certificate_.relative_gap


class Optimum:
    """Where the optimum is: proven dual values below it, primal values that somebody has reached above it."""

    def __init__(self):
        self.dual, self.primal = -np.inf, np.inf

    def learn(self, primal, dual):
        self.dual, self.primal = max(self.dual, dual), min(self.primal, primal)

    def distance(self, primal):
        self.primal = min(self.primal, primal)
        return (primal - self.primal) / abs(self.dual)

    @property
    def known(self):
        return (self.primal - self.dual) / abs(self.dual)


def measure(case, options):
    optimum = Optimum()
    optimum.learn(*proven_by(case.hinge(REFERENCE, options.threads, options.reference).fit(case.X, case.y))[:2])
    peers = [run for name, run in PEERS.items() if name in options.peers.split(",")]
    found = [point for peer in peers for point in sweep(case, peer, optimum, options)]
    cells = []
    for gap in GAPS:
        mine, fits = timed(lambda gap=gap: proven_by(case.hinge(gap, options.threads, 60.0).fit(case.X, case.y)))
        primal, dual, reached = fits[-1]
        optimum.learn(primal, dual)
        cells.append({"hinge": mine, "reached": bool(reached <= gap)})
    default = [fit for fit in found if fit["name"] == "LIBLINEAR" and fit["tol"] == DEFAULT and fit["primal"] < np.inf]
    for gap, cell in zip(GAPS, cells, strict=True):  # now that all is seen
        for key, name, reaches in (
            ("peer", "name", lambda fit, gap=gap: optimum.distance(fit["primal"]) <= gap),
            ("proven", "proven_name", lambda fit, gap=gap: fit["gap"] <= gap * abs(optimum.dual)),
        ):
            near = [(fit["seconds"], fit["name"]) for fit in found if reaches(fit)]
            cell[key], cell[name] = min(near, default=(None, ""))
            cell[key + "_least"] = at_least(found, reaches)
    coarse = [(fit["seconds"], optimum.distance(fit["primal"])) for fit in default[:1]]
    row = {"data": case.name, "loss": case.loss, "C": case.C, "cells": cells, "coarse": coarse, "copy": case.copying}
    return row | {"known": optimum.known, "proofs": case.squared}


def at_least(found, reaches):
    """What the best solver of all needs at least: of each, its longest fit that was not enough."""
    longest = {}
    for fit in found:
        if not reaches(fit):
            solver = fit["name"], fit["solver"]
            longest[solver] = max(longest.get(solver, 0.0), fit["seconds"])
    return min(longest.values(), default=0.0)


def sweep(case, peer, optimum, options):
    """Fits with finer and finer tolerances, each solver of a peer by itself; those that were ended have no value."""
    going = None
    for tol in TOLERANCES:
        made = peer(case, tol, options.threads)
        if made is None:
            return
        name, fits = made
        going = set(range(len(fits))) if going is None else going
        for solver in sorted(going):
            fit = {"name": name, "solver": solver, "tol": tol}
            run = timed(fits[solver]) if options.limit is None else ended(fits[solver], options.limit)
            if run is None:
                going.discard(solver)
                yield fit | {"seconds": options.limit, "primal": np.inf, "gap": np.inf}
                continue
            seconds, weights = run
            primal, gap = np.median([(case.primal(W), case.gap(W)) for W in weights], axis=0)
            worst = optimum.distance(primal)
            worst = max(worst, gap / abs(optimum.dual)) if case.squared else worst
            if worst <= min(GAPS) / 2 or seconds > options.cap:
                going.discard(solver)
            yield fit | {"seconds": seconds, "primal": primal, "gap": gap}


def ended(fit, limit):
    """What `timed` says, from a process of its own; None where that takes longer than the limit."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=lambda: there.send(timed(fit)))
    child.start()
    try:
        return here.recv() if here.poll(limit) else None
    finally:
        child.kill()
        child.join()


if __name__ == "__main__":
    sys.exit(main())
