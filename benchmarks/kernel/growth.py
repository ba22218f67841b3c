"""Time and memory against the number of samples, with the fitted exponents.

    python benchmarks/kernel/growth.py [--families mnist-odd,covtype-binary] [--sizes 2000,4000,...,60000]
                                       [--libraries hinge,sklearn] [--limit 60] [--plot growth.png] [--save]

Two families (jobs.py): mnist, odd against even digits, and covtype + covtype_extra, the most frequent class against the
rest; the first n rows of each. A library other than hinge is left out from the size on at which a fit, extrapolated
with the square of n, would take longer than `--limit` seconds. An exponent is the slope of a least-squares line through
(log n, log seconds or log MB). Every measurement is a process of its own and every answer is verified, as in
compare.py.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
from jobs import FAMILIES, chosen
from measure import LIBRARIES, describe_machine, measure, named, write

TOL, CACHE = 1e-3, 2000
SIZES = "2000,4000,8000,16000,32000,60000"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", help="comma-separated names; both without it")
    parser.add_argument("--sizes", default=SIZES, help="comma-separated numbers of samples")
    parser.add_argument("--libraries", default="hinge,sklearn", help=f"of {', '.join(LIBRARIES)}")
    parser.add_argument("--limit", type=float, default=60.0, help="longest fit of a library other than hinge, seconds")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for a measurement with its verification")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plot", metavar="PNG", help="draw both (needs matplotlib)")
    parser.add_argument("--save", action="store_true", help="also write growth.txt beside this file")
    arguments = parser.parse_args()
    families = chosen(arguments.families, FAMILIES)
    sizes = sorted(int(size) for size in arguments.sizes.split(","))
    libraries = named(arguments.libraries)
    results = {family: grow(family, sizes, libraries, arguments) for family in families}
    lines = report(results, arguments)
    print("\n".join(lines))
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n")
    if arguments.plot:
        draw(results, arguments.plot)
    return 0


def grow(family, sizes, libraries, arguments):
    """{library: [figures of one size, ...]}."""
    curves = {library: [] for library in libraries}
    with tempfile.TemporaryDirectory() as folder:
        X, y = family.load()
        write(Path(folder), X, y)
        sizes = [size for size in sizes if size <= len(y)]
        del X, y
        for size in sizes:
            for library, curve in curves.items():
                if library != "hinge" and too_long(curve, size, arguments.limit):
                    continue
                found = at_size(Path(folder), family, size, library, arguments)
                print(f"{family.name} {size}: {library} {brief(found)}", file=sys.stderr, flush=True)
                if "failed" not in found:
                    curve.append(found)
    return curves


def at_size(folder, family, size, library, arguments):
    """Medians; the verification is that of the first measurement."""
    taken = []
    for turn in range(arguments.repeats):
        found = measure(
            folder,
            library,
            family.kind,
            family.parameters,
            threads=arguments.threads,
            timeout=arguments.timeout,
            judge=turn == 0,
            rows=size,
            tol=TOL,
            cache_size=CACHE,
        )
        if "failed" in found:
            return found
        taken.append(found)
    return taken[0] | {key: float(np.median([found[key] for found in taken])) for key in ("fit", "predict", "memory")}


def too_long(curve, size, limit):
    return bool(curve) and curve[-1]["fit"] * (size / curve[-1]["n"]) ** 2 > limit


def brief(found):
    if "failed" in found:
        return f"failed, {found['failed']}"
    return f"fit {found['fit']:.4g} s, {found['memory']:.0f} MB, gap {found['gap']:.1e}" + "".join(
        f" [{remark}]" for remark in found["remarks"]
    )


def report(results, arguments):
    lines = [f"growth of fit with n, {date.today()}", *describe_machine(arguments.threads)]
    lines += [f"medians of {arguments.repeats}, tol {TOL:g}, cache {CACHE} MB, float64 input"]
    for family, curves in results.items():
        settings = ", ".join(f"{key}={value:g}" for key, value in family.parameters.items())
        lines += ["", f"{family.name} ({settings})"]
        lines += [f"{'':10} {'n':>7} {'fit s':>9} {'predict s':>9} {'peak MB':>8} {'SVs':>7} {'gap':>8}"]
        for library, curve in curves.items():
            lines += [
                f"{library:10} {found['n']:7} {found['fit']:9.3f} {found['predict']:9.4f} {found['memory']:8.0f}"
                f" {found['support']:7} {found['gap']:8.1e}"
                for found in curve
            ]
            time, memory = slope(curve, "fit"), slope(curve, "memory")
            lines.append(f"{library:10} exponent of time {time:.2f}, of memory {memory:.2f}")
    return lines


def slope(curve, key):
    """Of a line through the logarithms; nan for fewer than two sizes."""
    if len(curve) < 2:
        return np.nan
    n, value = np.array([(found["n"], max(found[key], 1e-3)) for found in curve]).T
    return float(np.polyfit(np.log(n), np.log(value), 1)[0])


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(results), figsize=(5 * len(results), 7), squeeze=False, layout="constrained")
    for column, (family, curves) in zip(axes.T, results.items(), strict=True):
        column[0].set_title(family.name)
        for axis, key, title in zip(column, ("fit", "memory"), ("fit, seconds", "peak memory, MB"), strict=True):
            for library, curve in curves.items():
                n, value = [found["n"] for found in curve], [found[key] for found in curve]
                axis.loglog(n, value, marker="o", label=f"{library}, n^{slope(curve, key):.2f}")
            axis.set(xlabel="n", ylabel=title)
            axis.grid(alpha=0.3)
            axis.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
