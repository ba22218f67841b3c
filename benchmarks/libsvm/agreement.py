"""Compare the optimal values found by hinge, LIBSVM and Clarabel on all small data sets.

    python benchmarks/libsvm/agreement.py [--tol 1e-6] [--random 200] [--max-time 60] [--only NAME ...]

The table has one row for each data set and estimator. The exit status is 1 if a problem disagrees by more than the
tolerance.
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

HEADER = (
    f"{'':79} {'difference from':>22} {'rel. gap':>10} {'error of':>10}\n"
    f"{'data set':22} {'estimator':12} {'C':>8} {'nu':>6} {'gamma':>9} {'dual objective':>18} "
    f"{'LIBSVM':>10} {'Clarabel':>11} {'of hinge':>10} {'Clarabel':>10}"
)

NOTES = """
Notes
- dual objective: value found by hinge.
- difference from LIBSVM and Clarabel: relative difference of the dual objectives; positive if the value of hinge is
  worse.
- rel. gap of hinge: relative duality gap of hinge's solution, recomputed from the data.
- error of Clarabel: proven error bound of Clarabel's value.
- A dash marks a parameter that the estimator does not have."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6, help="tolerance of the fits and of the comparison")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="number of additional random problems")
    parser.add_argument("--max-time", type=float, default=60.0, help="time limit of a fit in seconds")
    parser.add_argument("--only", nargs="*", help="names of data sets")
    arguments = parser.parse_args()
    if data_folder() is None:
        print("no folder shared/data next to the repository: random problems only")
    cases = [case for case in small_cases() if not arguments.only or case.label in arguments.only]
    cases += [random_case(seed) for seed in range(arguments.random)]
    print(HEADER)
    disagreements = sum(not compare(case, arguments.tol, arguments.max_time) for case in cases)
    print(f"\n{len(cases)} problems, {disagreements} disagree by more than {arguments.tol:g}")
    print(NOTES)
    return 1 if disagreements else 0


def compare(case, tol, max_time):
    """Print the row of a problem and return whether all solvers agree on it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, comparison = agree(case, hinge, tol=tol, max_time=max_time)
    gap = model.certify(case.X, case.y, sample_weight=case.weight).relative_gap
    row = f"{case.label[:22]:22} {case.name:12} {_parameter(case, 'C', '.3g'):>8} {_parameter(case, 'nu', '.3f'):>6}"
    row += f" {_parameter(case, 'gamma', '.3g'):>9} {comparison.value:18.10g}"
    row += f" {comparison.to_libsvm:10.1e} {comparison.to_clarabel:11.1e}"
    agrees = comparison.holds(tol)
    print(row + f" {gap:10.1e} {comparison.clarabel_error:10.1e}{_remark(model, agrees)}", flush=True)
    return agrees


def _parameter(case, name, format_spec):
    value = case.options.get(name, np.nan)
    return "-" if np.isnan(value) else format(value, format_spec)


def _remark(model, agrees):
    status = "" if model.status_ is hinge.Status.SOLVED else f"  {model.status_.name}"
    return status + ("" if agrees else "  DISAGREES")


if __name__ == "__main__":
    sys.exit(main())
