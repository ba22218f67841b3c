"""scikit-learn's tests of its SVM estimators, run with the estimators of hinge.

    python tests/estimators/sklearn_suite.py [options of pytest]

As a pytest plugin, this module replaces classes in `sklearn.svm` before the tests import them. The tests in
`EXCEPTIONS` are expected to fail. An exception that passes, or whose test does not exist, is an error.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
MODULES = ("sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse")

L1 = "expects the penalized intercept of LIBLINEAR for penalty='l1'"
PROBABILITY = "expects the deprecation of probability=True in scikit-learn 1.9, which hinge supports"
NEGATIVE = "negative sample weights are an error in hinge (scikit-learn ignores these samples)"
EXCEPTIONS = {
    "test_svm.py::test_hasattr_predict_proba": PROBABILITY,
    "test_svm.py::test_probability_raises_futurewarning": PROBABILITY,
    "test_svm.py::test_svc_nusvc_probA_probB_deprecated": "probA_ and probB_ belong to probability=True",
    "test_svm.py::test_tweak_params": "writes to the private _dual_coef_",
    "test_svm.py::test_gamma_scale": "reads the private _gamma",
    "test_svm.py::test_negative_weights_svc_leave_just_one_label": NEGATIVE,
    "test_svm.py::test_negative_weights_svc_leave_two_labels[partial-mask-label-1": NEGATIVE,
    "test_svm.py::test_negative_weight_equal_coeffs[partial-mask-label-1": NEGATIVE,
    "test_svm.py::test_custom_kernel_not_array_input[SVC": "its kernel is correct for equal lists only; "
    "hinge evaluates it for the support vectors",
    "test_svm.py::test_linearsvc_parameters[42-False-l2-hinge": "expects an error for loss='hinge' with "
    "dual=False, which hinge supports",
    "test_svm.py::test_dense_liblinear_intercept_handling": L1,
    "test_sparse.py::test_sparse_liblinear_intercept_handling": L1,
    "test_svm.py::test_linear_svm_convergence_warnings": "expects a warning that names Liblinear",
    "test_svm.py::test_svr_errors": "fits a callable kernel of the wrong shape, which hinge rejects",
}


def pytest_configure(config):
    import sklearn.svm

    import hinge

    for name in NAMES:
        setattr(sklearn.svm, name, getattr(hinge, name))


def pytest_collection_modifyitems(config, items):
    import pytest

    unseen = set(EXCEPTIONS)
    for item in items:
        name = f"{item.path.name}::{item.name}"
        for test in (
            test
            for test in EXCEPTIONS
            if name == test or name.startswith((f"{test}[", f"{test}-", f"{test}]"))
        ):
            unseen.discard(test)
            item.add_marker(pytest.mark.xfail(reason=EXCEPTIONS[test], strict=True))
    if unseen and not config.option.keyword:
        raise pytest.UsageError(f"EXCEPTIONS contains tests that scikit-learn does not have: {sorted(unseen)}")


def run(arguments=(), **options):
    """Run the two modules in a new interpreter and return the completed process."""
    with tempfile.TemporaryDirectory() as folder:
        this = Path(__file__).resolve()
        start = f"import sys; sys.path.insert(0, {str(this.parent)!r}); import pytest; "
        start += "sys.exit(pytest.main(sys.argv[1:]))"
        command = [
            sys.executable,
            "-c",
            start,
            "-p",
            this.stem,
            "-p",
            "no:cacheprovider",
            "-c",
            f"{folder}/pytest.ini",
            "-q",
            "-rfE",
            "--pyargs",
            *MODULES,
            *arguments,
        ]
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        return subprocess.run(command, cwd=folder, check=False, **options)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]).returncode)
