"""Do hinge, LIBSVM and clarabel find the same optimum?  Dual objectives on every small set of ../shared/data.

    python benchmarks/foundation/agreement.py [--tol 1e-6] [--random 200] [--max-time 60] [--only NAME ...]

Prints one line per set and machine: hinge's objective, its relative distance to LIBSVM's and to clarabel's
(positive: hinge's is the worse one), hinge's own relative gap recomputed from the data, clarabel's proven
error, and the verdict. Ends with status 1 if any line disagrees.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import hinge

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from reference.agreement import agree, random_case
from reference.benchmark_data import data_folder, small_cases

HEAD = f"{'set':22} {'machine':12} {'C':>8} {'nu':>6} {'gamma':>9} {'objective':>18} "
HEAD += f"{'to LIBSVM':>10} {'to clarabel':>11} {'gap':>8} {'clarabel ±':>10}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6, help="tolerance of the fits, and of the agreement")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="also N random problems")
    parser.add_argument("--max-time", type=float, default=60.0, help="seconds per fit")
    parser.add_argument("--only", nargs="*", help="names of sets")
    arguments = parser.parse_args()
    if data_folder() is None:
        print("no ../shared/data beside the repository: random problems only")
    cases = [case for case in small_cases() if not arguments.only or case.label in arguments.only]
    cases += [random_case(seed) for seed in range(arguments.random)]
    print(HEAD)
    disagreeing = sum(not show(case, arguments.tol, arguments.max_time) for case in cases)
    print(f"\n{len(cases)} problems, {disagreeing} disagree by more than {arguments.tol:g}")
    return 1 if disagreeing else 0


def show(case, tol, max_time):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, found = agree(case, hinge, tol=tol, max_time=max_time)
    gap = model.certify(case.X, case.y, sample_weight=case.weight).relative_gap
    option = case.options.get
    line = f"{case.label[:22]:22} {case.name:12} {option('C', np.nan):8.3g} {option('nu', np.nan):6.3f}"
    line += f" {option('gamma', np.nan):9.3g} {found.value:18.10g}"
    line += f" {found.to_libsvm:10.1e} {found.to_clarabel:11.1e}"
    holds = found.holds(tol)
    print(line + f" {gap:8.1e} {found.clarabel_error:10.1e} {_remark(model, holds)}", flush=True)
    return holds


def _remark(model, holds):
    unfinished = "" if model.status_ is hinge.Status.SOLVED else f"  {model.status_.name}"
    return unfinished + ("" if holds else "  DISAGREES")


if __name__ == "__main__":
    sys.exit(main())
