"""Fit and predict of hinge, scikit-learn and scikit-learn-intelex on fifteen jobs, every answer verified.

    python benchmarks/kernel/compare.py [--jobs diabetes,usps] [--repeats 3] [--sk-repeats 1] [--timeout 1800] [--save]

All three get the same float64 arrays, two threads, tol 1e-3 and a cache of 2000 MB. Each has a process of its own for
every job (measure.py), and medians of its fits and predictions there are shown; first fits, which pay for fresh memory,
are summed up apart. Predictions are those of the first 5,000 rows. The relative
gap of every answer is recomputed from its coefficients by code that belongs to none of the three (verify.py): the worst
over all one-vs-one pairs. The time of a wrong answer is shown but not compared. CSR data are given as CSR to all;
`--dense sklearnex` gives them to that library as a dense array. Ends with status 1 if an answer of hinge is wrong or,
with all jobs, a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
from jobs import JOBS, chosen
from measure import LIBRARIES, describe_machine, measure, named, write

TOL, CACHE = 1e-3, 2000
PEERS = ("sklearn", "sklearnex")
#: Above these it is no answer to the problem asked: relative gap of all pairs together (a pair of few samples may have
#: a larger one of its own), constraints relative to C, predictions that are not those of the coefficients.
WRONG = dict(total_gap=0.01, infeasibility=1e-6, disagreeing=1e-3)
#: Geometric means to reach: (what, against, factor).
GOALS = (
    ("fit", "sklearn", 10.0),
    ("fit", "sklearnex", 3.0),
    ("predict", "sklearn", 20.0),
    ("predict", "sklearnex", 1.5),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", help="comma-separated names; all without it")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="leave some out while developing")
    parser.add_argument("--repeats", type=int, default=3, help="fits per job and library, at least")
    parser.add_argument("--sk-repeats", type=int, help="the same for scikit-learn alone")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for a measurement with its verification")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dense", default="", metavar="LIBRARIES", help="who gets CSR data as a dense array")
    parser.add_argument("--save", action="store_true", help="also write compare.txt beside this file")
    arguments = parser.parse_args()
    arguments.dense = named(arguments.dense) if arguments.dense else []
    jobs = chosen(arguments.jobs, JOBS)
    results = {job.name: run(job, arguments) for job in jobs}
    complete = len(jobs) == len(JOBS) and set(named(arguments.libraries)) == set(LIBRARIES)
    lines, good = report(results, arguments, complete)
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return 0 if good else 1


def run(job, arguments):
    """{library: figures}."""
    found = {library: {} for library in LIBRARIES}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *job.load())
        for library in named(arguments.libraries):
            found[library] = measure(
                Path(folder),
                library,
                job.kind,
                job.parameters,
                threads=arguments.threads,
                timeout=arguments.timeout,
                fits=fits_of(library, arguments),
                dense=library in arguments.dense,
                tol=TOL,
                cache_size=CACHE,
            )
            progress(job.name, library, found[library])
    return found


def fits_of(library, arguments):
    """How often a library fits."""
    return arguments.repeats if library != "sklearn" or arguments.sk_repeats is None else arguments.sk_repeats


def progress(name, library, found):
    if "failed" in found:
        text = f"failed, {found['failed']}"
    else:
        text = f"fit {found['fit']:.4g} s (first {found['first']:.4g}), predict {found['predict']:.4g} s, "
        text += f"{found['memory']:.0f} MB, gap {found['gap']:.1e}"
        text += "".join(f" [{remark}]" for remark in found["remarks"])
    print(f"{name}: {library} {text}", file=sys.stderr, flush=True)


def report(results, arguments, complete):
    lines = [f"hinge, scikit-learn (sk) and scikit-learn-intelex (ex), {date.today()}"]
    lines += describe_machine(arguments.threads)
    sk = fits_of("sklearn", arguments)
    dense = f"; CSR data made dense for {', '.join(arguments.dense)}" if arguments.dense else ""
    lines += [f"medians of {arguments.repeats} (sk: {sk}), tol {TOL:g}, cache {CACHE} MB, float64 input{dense}", ""]
    lines += times("fit", results) + [""] + times("predict", results) + [""] + answers(results)
    flawed = list(flaws(results))
    ours = [text for library, text in flawed if library == "hinge"]
    met = list(goals(results))
    lines += ["", *(f"{'ok  ' if good else 'MISS'} {text}" for good, text in met)]
    lines += [f"WRONG {text}" for _, text in flawed]
    lines += [f"note {name}: {library}: {text}" for name, library, text in remarks(results)]
    return lines, not ours and (not complete or all(good for good, _ in met))


def times(what, results):
    """One row per job: seconds of each library, and how many times as long as hinge the other two took."""
    title = f"{what}, seconds" + (" (first 5,000 rows)" if what == "predict" else "")
    lines = [f"{title:34} {'hinge':>9} {'sk':>9} {'ex':>9} {'sk/hinge':>9} {'ex/hinge':>9}"]
    for name, row in results.items():
        seconds = " ".join(cell(row[library], what, "9.4f") for library in LIBRARIES)
        factors = " ".join(factor(ratio(row, what, peer)) for peer in PEERS)
        lines.append(f"{label(name, row):34} {seconds} {factors}")
    rows = [("geometric mean", what)] + ([("geometric mean of first fits", "first")] if what == "fit" else [])
    means = [(title, " ".join(factor(mean(results, key, peer)) for peer in PEERS)) for title, key in rows]
    return lines + [f"{title:64} {text}" for title, text in means]


def answers(results):
    """Gaps, support vectors, peak memory."""
    columns = (("relative gap", 8), ("support vectors", 7), ("peak memory of fit, MB", 7), ("other predictions", 8))
    heads = " ".join(f"{title:^{3 * width + 2}}" for title, width in columns)
    names = " ".join(f"{name:>{width}}" for _, width in columns for name in ("hinge", "sk", "ex"))
    lines = [f"{'':14} {heads}".rstrip(), f"{'answers':14} {names}"]
    for name, row in results.items():
        cells = [
            " ".join(cell(row[library], key, form) for library in LIBRARIES)
            for key, form in (("gap", "8.1e"), ("support", "7.0f"), ("memory", "7.0f"), ("disagreeing", "8.1e"))
        ]
        lines.append(f"{name:14} " + " ".join(cells))
    return lines + [
        "gap: recomputed in float64 from coefficients and data, the worst pair; memory: above data and library;",
        "other predictions: share that differs from a recomputation (regression: largest relative difference)",
    ]


def cell(figures, key, form):
    width = int(form.split(".")[0])
    return f"{figures[key]:{form}}" if key in figures else f"{'--':>{width}}"


def label(name, row):
    figures = next((found for found in row.values() if "n" in found), None)
    if figures is None:
        return name
    kind = f", {figures['classes']}" if figures["classes"] > 2 else (", SVR" if figures["classes"] == 0 else "")
    return f"{name} ({figures['n']} x {figures['d']}{kind})"


def ratio(row, what, peer):
    """Seconds of the peer ÷ seconds of hinge; nan where one of them has no answer or a wrong one."""
    if wrong(row[peer]) or wrong(row["hinge"]):
        return np.nan
    return row[peer].get(what, np.nan) / row["hinge"].get(what, np.nan)


def wrong(figures):
    """What is wrong with an answer."""
    return [key for key, largest in WRONG.items() if figures.get(key, 0.0) > largest]


def factor(value):
    return f"{value:9.2f}" if np.isfinite(value) else f"{'--':>9}"


def mean(results, what, peer):
    """Over the jobs both solved."""
    ratios = np.array([ratio(row, what, peer) for row in results.values()])
    ratios = ratios[np.isfinite(ratios)]
    return float(np.exp(np.log(ratios).mean())) if len(ratios) else np.nan


def goals(results):
    """(reached, sentence) for everything the engine has to show."""
    for what, peer, goal in GOALS:
        found = mean(results, what, peer)
        if np.isfinite(found):
            yield found >= goal, f"{what}: {found:.2f} times as fast as {peer} (goal {goal:g}, geometric mean)"
    closest = {name: np.fmin.reduce([ratio(row, "fit", peer) for peer in PEERS]) for name, row in results.items()}
    slower = [f"{name} ({least:.2f})" for name, least in closest.items() if least < 1]
    yield not slower, f"fits slower than the better of the two: {', '.join(slower) or 'none'}"
    worst = [name for name, row in results.items() if worst_gap(row)]
    yield not worst, f"jobs where hinge's gap is the worst of the three: {', '.join(worst) or 'none'}"


def worst_gap(row):
    others = [row[peer]["gap"] for peer in PEERS if "gap" in row[peer] and not wrong(row[peer])]
    return bool(others) and row["hinge"].get("gap", np.inf) > max(others)


def flaws(results):
    """(library, sentence) for runs that failed and answers that are none."""
    for name, row in results.items():
        for library, figures in row.items():
            if "failed" in figures:
                yield library, f"{name}: {library} failed, {figures['failed']}"
            for key in wrong(figures):
                yield library, f"{name}: {library}: {key} {figures[key]:.1e} (at most {WRONG[key]:g})"


def remarks(results):
    for name, row in results.items():
        for library, figures in row.items():
            yield from ((name, library, remark) for remark in figures.get("remarks", ()))


if __name__ == "__main__":
    sys.exit(main())
