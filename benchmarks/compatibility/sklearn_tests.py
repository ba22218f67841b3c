"""Run the tests of scikit-learn that use an SVM, with and without `hinge.patch_sklearn()`, and compare the outcomes.

    python benchmarks/compatibility/sklearn_tests.py [--save] [--jobs N] [options of pytest]

A test uses an SVM if it belongs to `sklearn.svm`, or if its source, a function that it calls or one of its parameters
names an SVM class (see `plugin.py`). The exit code is 1 if the outcomes differ in a test that is not in `EXCEPTIONS`,
or if an exception does not differ.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path

import sklearn

HERE = Path(__file__).resolve().parent

PASSES = "scikit-learn expects that this check fails; it passes with hinge"
CHECK = "check_sample_weight_equivalence_on_dense_data"
FOUR_CHECKS = (
    "expects that NuSVC fails four checks; check_classifiers_one_label_sample_weights passes with hinge"
)

#: Tests whose outcomes differ, with the reasons.
EXCEPTIONS = {
    "svm/tests/test_svm.py::test_tweak_params": "writes to the private _dual_coef_",
    "svm/tests/test_svm.py::test_svr_errors": "fits a kernel matrix of shape (1, 1) to two samples; hinge rejects it",
    "svm/tests/test_svm.py::test_linear_svm_convergence_warnings[42]": "expects that two iterations do not suffice; "
    "hinge converges within them",
    "utils/tests/test_estimator_checks.py::test_check_estimator_callback": FOUR_CHECKS,
    "utils/tests/test_estimator_checks.py::test_xfail_count_with_no_fast_fail": FOUR_CHECKS,
    "tests/test_common.py::test_estimators[NuSVC()-check_classifiers_one_label_sample_weights]": PASSES,
    **{
        f"tests/test_common.py::test_estimators[{name}(max_iter=20)-{CHECK}]": PASSES
        for name in ("LinearSVC", "LinearSVR")
    },
    "linear_model/tests/test_sgd.py::test_sgd_oneclass_vs_linear_oneclass_offsets_match[0.9]": "compares "
    "stochastic gradient descent, whose offset is 1.4e-6, with OneClassSVM up to 1.3e-6; the exact offset is 0",
}


def test_modules() -> list[str]:
    """Test modules of scikit-learn that name an SVM class."""
    root = Path(sklearn.__file__).parent
    pattern = re.compile(r"SV[CR]\b|OneClassSVM|from sklearn import.*\bsvm\b|all_estimators|_tested_estimators")
    found = []
    for path in sorted(root.rglob("test_*.py")):
        if pattern.search(path.read_text()):
            found.append("sklearn." + ".".join(path.relative_to(root).with_suffix("").parts))
    return found


def run(patched: bool, modules: list[str], options: list[str]) -> tuple[dict[str, str], float]:
    """Run the tests in a new interpreter; return the outcome of every test and the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        outcomes = Path(folder, "outcomes.json")
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {
            **os.environ, "HINGE_PATCH": str(int(patched)), "HINGE_OUTCOMES": str(outcomes), "PYTHONPATH": path,
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-p", "plugin", "-p", "no:cacheprovider", "-c", "pytest.ini"]
        started = time.perf_counter()
        arguments = [*command, "--tb=line", *options, "--pyargs", *modules]
        subprocess.run(arguments, cwd=folder, env=environment, check=False)
        return json.loads(outcomes.read_text()), time.perf_counter() - started


def compare(before: dict[str, str], after: dict[str, str]) -> tuple[list[str], bool]:
    """Return the lines of the report, and whether the outcomes differ only in the exceptions."""
    lines = [f"{'':24s} {'scikit-learn':>13s} {'patched':>9s}"]
    for outcome in ("passed", "failed", "skipped"):
        counts = [Counter(outcomes.values())[outcome] for outcomes in (before, after)]
        lines.append(f"tests {outcome:18s} {counts[0]:13d} {counts[1]:9d}")
    lines.append(f"modules {'':16s} {len({name.partition('::')[0] for name in before}):13d}")
    different = sorted(name for name in before | after if before.get(name) != after.get(name))
    lines += ["", f"{len(different)} tests with different outcomes:"]
    for name in different:
        reason = EXCEPTIONS.get(name, "NOT EXPECTED")
        lines.append(f"  {name}: {before.get(name, 'absent')} → {after.get(name, 'absent')}: {reason}")
    unexpected = [line for line in lines if line.endswith("NOT EXPECTED")]
    absent = [test for test in EXCEPTIONS if test not in different]
    lines += [f"  {test}: an exception, but the outcomes are the same" for test in absent]
    return lines, not unexpected and not absent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="write the table next to this script")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    arguments, options = parser.parse_known_args()
    modules = test_modules()
    with ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda patched: run(patched, modules, options), (False, True))
        (before, seconds), (after, patched_seconds) = found
    lines = [
        f"Tests of scikit-learn {version('scikit-learn')} that use an SVM, {date.today()}, Python "
        f"{sys.version.split()[0]}; {seconds:.0f} s and {patched_seconds:.0f} s.",
        "",
    ]
    table, expected = compare(before, after)
    text = "\n".join([*lines, *table]) + "\n"
    print(text)
    if arguments.save:
        Path(__file__).with_suffix(".txt").write_text(text)
    return 0 if expected else 1


if __name__ == "__main__":
    sys.exit(main())
