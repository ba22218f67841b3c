"""Compare fit and predict of hinge, scikit-learn and scikit-learn-intelex on fifteen problems.

    python benchmarks/kernel/compare.py [--jobs diabetes,usps] [--repeats 3] [--sk-repeats 1] [--timeout 1800] [--save]

All libraries get the same float64 arrays, two threads, tol=1e-3 and a kernel cache of 2000 MB. Each measurement runs in
a separate process (measure.py). CSR data are passed as CSR; `--dense sklearnex` passes them to that library as dense
arrays. verify.py recomputes the relative duality gap of every solution from its coefficients. The time of an incorrect
solution is shown but excluded from ratios and means. The exit status is 1 if a solution of hinge is incorrect or, with
all problems, if a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
from jobs import JOBS, select
from measure import LIBRARIES, describe_environment, measure, parse_libraries, write

TOL, CACHE = 1e-3, 2000
PEERS = ("sklearn", "sklearnex")
#: Names of the libraries in the tables.
NAMES = {"hinge": "hinge", "sklearn": "sklearn", "sklearnex": "intelex"}
#: A solution that exceeds one of these limits is incorrect. total_gap: relative gap summed over all pairs of classes (a
#: pair of few samples may have a larger gap). infeasibility: violation of the constraints relative to C. disagreeing:
#: fraction of predictions that differ from a recomputation from the coefficients.
LIMITS = dict(total_gap=0.01, infeasibility=1e-6, disagreeing=1e-3)
#: Target speed-ups (geometric means): (operation, peer, factor).
TARGETS = (
    ("fit", "sklearn", 10.0),
    ("fit", "sklearnex", 3.0),
    ("predict", "sklearn", 20.0),
    ("predict", "sklearnex", 1.5),
)

NOTES = [
    "Notes",
    "- sklearn: scikit-learn; intelex: scikit-learn-intelex. SVR: regression; all other problems are classification.",
    "- time relative to hinge: time of the library divided by the time of hinge; hinge is faster if it is above 1.",
    "- first fits: the first fit of a process, which includes the allocation of memory.",
    "- relative gap: relative duality gap, recomputed in float64 from the coefficients and the data; the largest of",
    "  all pairs of classes.",
    "- peak memory: memory of the fit in addition to the data and the library.",
    "- deviating predictions: fraction of predictions that differ from a recomputation from the coefficients; in",
    "  regression the largest relative difference.",
    "- A dash (--) marks a failed run, or a ratio with an incorrect solution.",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", help="comma-separated names of problems; default: all")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="comma-separated names of libraries")
    parser.add_argument("--repeats", type=int, default=3, help="minimal number of fits per problem and library")
    parser.add_argument("--sk-repeats", type=int, help="minimal number of fits of scikit-learn")
    parser.add_argument("--timeout", type=float, default=1800.0, help="time limit of a measurement in seconds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dense", default="", metavar="LIBRARIES", help="libraries that get CSR data as dense arrays")
    parser.add_argument("--save", action="store_true", help="also write the tables to compare.txt")
    arguments = parser.parse_args()
    arguments.dense = parse_libraries(arguments.dense) if arguments.dense else []
    jobs = select(arguments.jobs, JOBS)
    results = {job.name: run(job, arguments) for job in jobs}
    complete = len(jobs) == len(JOBS) and set(parse_libraries(arguments.libraries)) == set(LIBRARIES)
    lines, passed = report(results, arguments, complete)
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    return 0 if passed else 1


def run(job, arguments):
    """Measure a problem with all libraries; return {library: measurements}."""
    results = {library: {} for library in LIBRARIES}
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), *job.load())
        for library in parse_libraries(arguments.libraries):
            results[library] = measure(
                Path(folder),
                library,
                job.kind,
                job.parameters,
                threads=arguments.threads,
                timeout=arguments.timeout,
                fits=number_of_fits(library, arguments),
                dense=library in arguments.dense,
                tol=TOL,
                cache_size=CACHE,
            )
            print_progress(job.name, library, results[library])
    return results


def number_of_fits(library, arguments):
    return arguments.repeats if library != "sklearn" or arguments.sk_repeats is None else arguments.sk_repeats


def print_progress(name, library, result):
    if "failed" in result:
        text = f"failed, {result['failed']}"
    else:
        text = f"fit {result['fit']:.4g} s (first {result['first']:.4g}), predict {result['predict']:.4g} s, "
        text += f"{result['memory']:.0f} MB, gap {result['gap']:.1e}"
        text += "".join(f" [{remark}]" for remark in result["remarks"])
    print(f"{name}: {library} {text}", file=sys.stderr, flush=True)


def report(results, arguments, complete):
    """Return the lines of the report, and whether all checks passed."""
    lines = [f"Kernel estimators: hinge compared with scikit-learn and scikit-learn-intelex, {date.today()}", ""]
    lines += time_table("fit", results) + [""] + time_table("predict", results) + [""] + solution_table(results)
    errors = list(incorrect_solutions(results))
    targets = list(check_targets(results))
    lines += ["", "Targets", *(f"{'reached' if reached else 'MISSED '} {text}" for reached, text in targets)]
    lines += [f"INCORRECT {text}" for _, text in errors]
    lines += [f"warning {name}: {library}: {text}" for name, library, text in warnings_of(results)]
    scikit_learn = number_of_fits("sklearn", arguments)
    fits = f"{arguments.repeats} fits (scikit-learn: {scikit_learn})"
    lines += ["", *NOTES, f"- Medians of {fits}, tol {TOL:g}, kernel cache {CACHE} MB, float64 input."]
    if arguments.dense:
        converted = ", ".join(NAMES[name] for name in arguments.dense)
        lines += [f"- CSR data were converted to dense arrays for {converted}."]
    lines += [f"- {line}" for line in describe_environment(arguments.threads)]
    hinge_is_correct = all(library != "hinge" for library, _ in errors)
    return lines, hinge_is_correct and (not complete or all(reached for reached, _ in targets))


def time_table(operation, results):
    """Return a table with one row per problem: seconds of each library, and the times relative to hinge."""
    title = "Time of fit" if operation == "fit" else "Time of predict for the first 5,000 rows"
    names = [f"{NAMES[library]:>9}" for library in (*LIBRARIES, *PEERS)]
    lines = [title, "", f"{'':34} {'seconds':>29} {'relative to hinge':>19}"]
    lines += [f"{'data set (samples x features)':34} {' '.join(names)}"]
    for name, row in results.items():
        seconds = " ".join(cell(row[library], operation, "9.4f") for library in LIBRARIES)
        ratios = " ".join(format_ratio(ratio(row, operation, peer)) for peer in PEERS)
        lines.append(f"{label(name, row):34} {seconds} {ratios}")
    rows = [("geometric mean", operation)]
    rows += [("geometric mean of first fits", "first")] if operation == "fit" else []
    for title, key in rows:
        lines.append(f"{title:64} " + " ".join(format_ratio(geometric_mean(results, key, peer)) for peer in PEERS))
    return lines


def solution_table(results):
    """Return a table of gaps, support vectors, memory and deviating predictions."""
    columns = (("relative gap", 8), ("support vectors", 7), ("peak memory in MB", 7), ("deviating predictions", 8))
    titles = " ".join(f"{title:^{3 * width + 2}}" for title, width in columns)
    names = " ".join(f"{NAMES[library]:>{width}}" for _, width in columns for library in LIBRARIES)
    lines = ["Solutions", "", f"{'':14} {titles}".rstrip(), f"{'data set':14} {names}"]
    for name, row in results.items():
        cells = [
            " ".join(cell(row[library], key, form) for library in LIBRARIES)
            for key, form in (("gap", "8.1e"), ("support", "7.0f"), ("memory", "7.0f"), ("disagreeing", "8.1e"))
        ]
        lines.append(f"{name:14} " + " ".join(cells))
    return lines


def cell(result, key, form):
    width = int(form.split(".")[0])
    return f"{result[key]:{form}}" if key in result else f"{'--':>{width}}"


def label(name, row):
    result = next((result for result in row.values() if "n" in result), None)
    if result is None:
        return name
    classes = result["classes"]
    kind = f", {classes} classes" if classes > 2 else (", SVR" if classes == 0 else "")
    return f"{name} ({result['n']} x {result['d']}{kind})"


def ratio(row, operation, peer):
    """Return seconds of the peer ÷ seconds of hinge; NaN if one of the solutions is missing or incorrect."""
    if failed_checks(row[peer]) or failed_checks(row["hinge"]):
        return np.nan
    return row[peer].get(operation, np.nan) / row["hinge"].get(operation, np.nan)


def failed_checks(result):
    """Return the names of the limits that a solution exceeds."""
    return [key for key, limit in LIMITS.items() if result.get(key, 0.0) > limit]


def format_ratio(value):
    return f"{value:9.2f}" if np.isfinite(value) else f"{'--':>9}"


def geometric_mean(results, operation, peer):
    """Return the geometric mean of the ratios over the problems that both libraries solved."""
    ratios = np.array([ratio(row, operation, peer) for row in results.values()])
    ratios = ratios[np.isfinite(ratios)]
    return float(np.exp(np.log(ratios).mean())) if len(ratios) else np.nan


def check_targets(results):
    """Yield (reached, text) for every target."""
    for operation, peer, target in TARGETS:
        mean = geometric_mean(results, operation, peer)
        if np.isfinite(mean):
            yield mean >= target, f"{operation}: {mean:.2f} times as fast as {NAMES[peer]} (target {target:g})"
    smallest = {name: np.fmin.reduce([ratio(row, "fit", peer) for peer in PEERS]) for name, row in results.items()}
    slower = [f"{name} ({value:.2f})" for name, value in smallest.items() if value < 1]
    yield not slower, f"problems on which a fit of hinge is slower than another library: {', '.join(slower) or 'none'}"
    worst = [name for name, row in results.items() if has_largest_gap(row)]
    yield not worst, f"problems on which hinge has the largest gap: {', '.join(worst) or 'none'}"


def has_largest_gap(row):
    gaps = [row[peer]["gap"] for peer in PEERS if "gap" in row[peer] and not failed_checks(row[peer])]
    return bool(gaps) and row["hinge"].get("gap", np.inf) > max(gaps)


def incorrect_solutions(results):
    """Yield (library, text) for failed runs and incorrect solutions."""
    for name, row in results.items():
        for library, result in row.items():
            if "failed" in result:
                yield library, f"{name}: {library} failed, {result['failed']}"
            for key in failed_checks(result):
                yield library, f"{name}: {library}: {key} {result[key]:.1e} (limit {LIMITS[key]:g})"


def warnings_of(results):
    for name, row in results.items():
        for library, result in row.items():
            yield from ((name, library, remark) for remark in result.get("remarks", ()))


if __name__ == "__main__":
    sys.exit(main())
