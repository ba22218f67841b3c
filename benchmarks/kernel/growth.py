"""Measure the growth of time and memory with the number of samples.

    python benchmarks/kernel/growth.py [--families mnist-odd,covtype-binary] [--sizes 2000,4000,...,60000]
                                       [--libraries hinge,sklearn] [--limit 60] [--plot growth.png] [--save]

There are two families of problems (jobs.py): odd against even digits of mnist, and the most frequent class of
covtype + covtype_extra against the others. Each problem uses the first n rows. A library other than hinge is skipped if
its fit time, extrapolated with n², exceeds `--limit` seconds. Exponents are slopes of least-squares lines through
(log n, log seconds or log MB). Each measurement runs in a separate process, and every solution is verified, as in
compare.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
from jobs import FAMILIES, select
from measure import LIBRARIES, describe_environment, measure, parse_libraries, write

TOL, CACHE = 1e-3, 2000
SIZES = "2000,4000,8000,16000,32000,60000"

HEADER = [
    f"{'':10} {'':>7} {'fit,':>9} {'predict,':>9} {'peak':>8} {'support':>7} {'relative':>8}",
    f"{'library':10} {'samples':>7} {'seconds':>9} {'seconds':>9} {'MB':>8} {'vectors':>7} {'gap':>8}",
]
NOTES = [
    "",
    "Notes",
    "- sklearn: scikit-learn. It is skipped if the fit would take longer than the time limit.",
    "- predict: first 5,000 rows. peak: peak memory of the fit in addition to the data and the library.",
    "- relative gap: relative duality gap, recomputed in float64.",
    "- exponents: time or memory grows like the number of samples to this power.",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", help="comma-separated names; default: both")
    parser.add_argument("--sizes", default=SIZES, help="comma-separated numbers of samples")
    parser.add_argument("--libraries", default="hinge,sklearn", help=f"comma-separated, of {', '.join(LIBRARIES)}")
    parser.add_argument("--limit", type=float, default=60.0, help="longest fit of a library other than hinge, seconds")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1800.0, help="time limit of a measurement in seconds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plot", metavar="PNG", help="write a plot (requires matplotlib)")
    parser.add_argument("--save", action="store_true", help="also write the tables to growth.txt")
    arguments = parser.parse_args()
    families = select(arguments.families, FAMILIES)
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    libraries = parse_libraries(arguments.libraries)
    results = {family: measure_family(family, sizes, libraries, arguments) for family in families}
    lines = report(results, arguments)
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    if arguments.plot:
        plot(results, arguments.plot)
    return 0


def measure_family(family, sizes, libraries, arguments):
    """Return {library: [measurements of one size, ...]}."""
    curves = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        X, y = family.load()
        write(Path(folder), X, y)
        sizes = [size for size in sizes if size <= len(y)]
        del X, y
        for size in sizes:
            for library, curve in curves.items():
                if library != "hinge" and exceeds_limit(curve, size, arguments.limit):
                    continue
                result = measure_size(Path(folder), family, size, library, arguments)
                print(f"{family.name} {size}: {library} {summary(result)}", file=sys.stderr, flush=True)
                if "failed" not in result:
                    curve.append(result)
    return curves


def measure_size(folder, family, size, library, arguments):
    """Return medians of the repeated measurements; only the first one is verified."""
    results = []
    for repeat in range(arguments.repeats):
        result = measure(
            folder,
            library,
            family.kind,
            family.parameters,
            threads=arguments.threads,
            timeout=arguments.timeout,
            verify_solution=repeat == 0,
            rows=size,
            tol=TOL,
            cache_size=CACHE,
        )
        if "failed" in result:
            return result
        results.append(result)
    medians = {key: float(np.median([result[key] for result in results])) for key in ("fit", "predict", "memory")}
    return results[0] | medians


def exceeds_limit(curve, size, limit):
    return bool(curve) and curve[-1]["fit"] * (size / curve[-1]["n"]) ** 2 > limit


def summary(result):
    if "failed" in result:
        return f"failed, {result['failed']}"
    return f"fit {result['fit']:.4g} s, {result['memory']:.0f} MB, gap {result['gap']:.1e}" + "".join(
        f" [{remark}]" for remark in result["remarks"]
    )


def report(results, arguments):
    lines = [f"Time and memory of fit as functions of the number of samples, {date.today()}"]
    for family, curves in results.items():
        settings = ", ".join(f"{key}={value:g}" for key, value in family.parameters.items())
        lines += ["", f"{family.name} ({settings})", *HEADER]
        for library, curve in curves.items():
            lines += [
                f"{library:10} {result['n']:7} {result['fit']:9.3f} {result['predict']:9.4f} {result['memory']:8.0f}"
                f" {result['support']:7} {result['gap']:8.1e}"
                for result in curve
            ]
            time, memory = slope(curve, "fit"), slope(curve, "memory")
            lines.append(f"{library:10} exponent of time {time:.2f}, exponent of memory {memory:.2f}")
    lines += [*NOTES, f"- Medians of {arguments.repeats}, tol {TOL:g}, kernel cache {CACHE} MB, float64 input."]
    return lines + [f"- {line}" for line in describe_environment(arguments.threads)]


def slope(curve, key):
    """Return the slope of the least-squares line through the logarithms; NaN for fewer than two sizes."""
    if len(curve) < 2:
        return np.nan
    n, value = np.array([(result["n"], max(result[key], 1e-3)) for result in curve]).T
    return float(np.polyfit(np.log(n), np.log(value), 1)[0])


def plot(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(results), figsize=(5 * len(results), 7), squeeze=False, layout="constrained")
    for column, (family, curves) in zip(axes.T, results.items(), strict=True):
        column[0].set_title(family.name)
        titles = ("time of fit in seconds", "peak memory in MB")
        for axis, key, title in zip(column, ("fit", "memory"), titles, strict=True):
            for library, curve in curves.items():
                n, value = [result["n"] for result in curve], [result[key] for result in curve]
                axis.loglog(n, value, marker="o", label=f"{library}, n^{slope(curve, key):.2f}")
            axis.set(xlabel="number of samples n", ylabel=title)
            axis.grid(alpha=0.3)
            axis.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
