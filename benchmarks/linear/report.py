"""Print the tables of the linear benchmark (speed.py)."""

from __future__ import annotations

import math

import numpy as np

NAMES = {"LIBLINEAR": "LIBLINEAR", "sklearn": "scikit-learn", "snapml": "Snap ML", "": ""}

HEADER = f"""\
{"":14} {"":23} {"":5} {"milliseconds":>20} {"primal criterion":>24} {"certified criterion":>24}
{"data set":14} {"loss":23} {"C":>5} {"hinge":>9} {"best peer":>10} {"ratio":>9}  {"best peer":13} {"ratio":>9}  \
best peer"""

HEADER_CONDITIONS = f"""\
Conditions of each problem

{"":14} {"":23} {"":5} {"optimum":>8} {"LIBLINEAR with default tol":>27} {"":8} {"":>10}
{"data set":14} {"loss":23} {"C":>5} {"known to":>8} {"ms":>8} {"gap":>7} {"copy, ms":>10} {"commit":>8} \
{"other load":>10}"""

NOTES = """
Notes
- ratio: time of the best peer divided by the time of hinge; hinge is faster if it is above 1.
- >: no peer reached the gap; the ratio is a lower bound, and the milliseconds are those of the longest insufficient fit
  of the solver for which it is shortest.
- best peer, in milliseconds: by the primal criterion. !: hinge did not reach the gap.
- certified criterion: only for squared losses.
- optimum known to: relative distance between the best primal and the best dual value.
- copy: time in which LIBLINEAR copies the samples; not included in its times.
- other load: number of processors that other programs used during the measurement.
- cadata is regression with epsilon = 0; the other data sets are classification. No intercept."""

HEADER_SUMMARY = f"""\
Geometric means of the time ratio

{"":10} {"relative":>9} {"problems solved":>16} {"geometric":>10} {"problems not":>13} {"lower bound":>12}
{"criterion":10} {"gap":>9} {"by a peer":>16} {"mean":>10} {"solved":>13} {"of the mean":>12}"""

NOTES_SUMMARY = """
Notes
- problems not solved: by any peer. lower bound of the mean: over all problems, with the lower bounds of their ratios.
- certified criterion: for losses without a certificate, the primal criterion is used."""


def print_tables(results, gaps, conditions):
    """Print one table for each gap, and the conditions of all problems."""
    for k, gap in enumerate(gaps):
        print(f"Time to reach a relative gap of {gap:.0e} ({conditions})\n\n{HEADER}")
        for row in results:
            cell = row["cells"][k]
            mark = " " if cell["reached"] else "!"
            text = f"{label(row)} {1e3 * cell['hinge']:9.2f}{mark}{1e3 * (cell['peer'] or cell['peer_least']):10.1f}"
            text += " " + format_ratio(cell, "peer", "name")
            text += " " + format_ratio(cell, "proven", "proven_name") if row["proofs"] else ""
            print(text.rstrip())
        print()
    print(HEADER_CONDITIONS)
    for row in results:
        known = f"{max(row['known'], 0):.0e}" if "known" in row else "-"
        default = [f"{1e3 * seconds:8.1f} {gap:7.0e}" for seconds, gap in row["coarse"]] or [f"{'-':>8} {'-':>7}"]
        copy = f"{1e3 * row['copy']:.1f}" if row.get("copy") else "-"
        print(
            f"{label(row)} {known:>8} {default[0]} {copy:>10} {row.get('commit', ''):>8} "
            f"{row.get('others', math.nan):10.2f}"
        )
    print()


def label(row):
    loss = row["loss"].replace("_", " ")
    if row["data"] == "cadata":
        loss = loss.replace("hinge", "eps-insensitive")
    return f"{row['data']:14} {loss:23} {row['C']:5g}"


def format_ratio(cell, key, name):
    """Return the time ratio and the best peer, or a lower bound of the ratio if no peer reached the gap."""
    if cell[key]:
        return f"{cell[key] / cell['hinge']:9.2f}  {NAMES[cell[name]]:13}"
    bound = f">{cell[key + '_least'] / cell['hinge']:.2f}"
    return f"{bound:>9}  {'none':13}"


def summary(results, gaps):
    """Print geometric means of the ratios and the problems on which hinge is slower; return the exit status."""
    for row in results:
        for cell in row["cells"]:
            cell["hinge"] = cell["hinge"] if cell["reached"] else np.inf
    criteria = {"primal": ["peer"] * len(results), "certified": ["proven" if r["proofs"] else "peer" for r in results]}
    print(HEADER_SUMMARY)
    for criterion, keys in criteria.items():
        for k, gap in enumerate(gaps):
            cells = [(row["cells"][k], key) for row, key in zip(results, keys, strict=True)]
            solved = [(cell[key], cell["hinge"]) for cell, key in cells if cell[key]]
            bounds = [(cell[key + "_least"], cell["hinge"]) for cell, key in cells if not cell[key]]
            if solved:
                print(f"{criterion:10} {gap:9.0e} {len(solved):16} {mean_ratio(solved):10.2f} {len(bounds):13} "
                      f"{mean_ratio(solved + bounds):12.2f}")  # fmt: skip
    print()
    slower_anywhere = False
    for criterion, keys in criteria.items():
        easy = [
            (f"{row['data']}, {row['loss']}, C = {row['C']:g}, gap {gap:.0e}", cell, key)
            for row, key in zip(results, keys, strict=True)
            for gap, cell in zip(gaps, row["cells"], strict=True)
            if row["C"] <= 1
        ]
        slower = [f"{text} ({cell[key] / cell['hinge']:.2f})" for text, cell, key in easy
                  if cell[key] and cell[key] < cell["hinge"]]  # fmt: skip
        faster = sum(bool(cell[key]) and cell[key] >= cell["hinge"] for _, cell, key in easy)
        bounded = sum(not cell[key] and cell[key + "_least"] >= cell["hinge"] for _, cell, key in easy)
        unknown = sum(not cell[key] and cell[key + "_least"] < cell["hinge"] for _, cell, key in easy)
        print(
            f"{criterion} criterion, {len(easy)} measurements with C <= 1\n"
            f"- hinge is faster: {faster}\n"
            f"- no peer reached the gap in the time of hinge: {bounded}\n"
            f"- undecided: {unknown}\n"
            f"- hinge is slower: {', '.join(slower) or 'none'}"
        )
        slower_anywhere |= bool(slower)
    print(NOTES + NOTES_SUMMARY.replace("\nNotes", ""))
    return int(slower_anywhere)


def mean_ratio(pairs):
    """Return the geometric mean of the ratios; a peer without any finished fit counts as equally fast."""
    return math.exp(np.mean([math.log((theirs or ours) / ours) for theirs, ours in pairs]))
