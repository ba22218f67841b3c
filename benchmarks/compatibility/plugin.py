"""Pytest plugin: select the tests that use an SVM, run them with or without the patch, and record the outcomes.

It is configured by environment variables: HINGE_PATCH=1 calls `hinge.patch_sklearn()` before the tests are imported,
and HINGE_OUTCOMES is the file that receives the outcome of every test, as JSON.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(importlib.util.find_spec("sklearn").origin).parent  # scikit-learn is not imported before the patch

PATCHED = os.environ.get("HINGE_PATCH") == "1"
USES_SVM = re.compile(r"\b(?:Linear|Nu)?SV[CR]\b|\bOneClassSVM\b|\bsvm\.")

outcomes: dict[str, str] = {}


def pytest_configure(config):
    if PATCHED:
        import hinge

        hinge.patch_sklearn()


def pytest_collection_modifyitems(config, items):
    selected, left_out = [], []
    for item in items:
        (selected if uses_svm(item) else left_out).append(item)
    items[:] = selected
    config.hook.pytest_deselected(items=left_out)


def uses_svm(item):
    """Whether the test is one of `sklearn.svm`, or its source or one of its parameters names an SVM class.

    The functions and fixtures of the same module that a test calls are included.
    """
    if "svm/tests" in item.path.as_posix():
        return True
    parameters = getattr(item, "callspec", None)
    if parameters is not None and any(is_svm(value) for value in parameters.params.values()):
        return True
    function = getattr(item, "function", None)
    return function is not None and bool(USES_SVM.search(sources(function)))


def is_svm(value):
    """Whether a parameter is an SVM estimator, or text that shows one."""
    import sklearn.svm

    classes = tuple(getattr(sklearn.svm, name) for name in sklearn.svm.__all__ if name != "l1_min_c")
    return isinstance(value, classes) or (isinstance(value, type) and issubclass(value, classes))


def sources(function):
    """Source of a test, of the functions of its module that it names, and of the globals that hold SVM classes."""
    function = inspect.unwrap(function)
    text = inspect.getsource(function)
    parts = [text]
    for name in set(re.findall(r"\b\w+\b", text)):
        value = function.__globals__.get(name)
        if inspect.isfunction(value) and value.__module__ == function.__module__ and not name.startswith("test_"):
            parts.append(inspect.getsource(inspect.unwrap(value)))
        elif isinstance(value, list | tuple | dict):
            parts.append(repr(value))
    return "\n".join(parts)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Record the outcome; node ids may lack the path of a module outside the folder of the tests."""
    report = yield
    worst = {"failed": 3, "skipped": 2, "passed": 1}
    name = f"{item.path.relative_to(ROOT).as_posix()}::{report.nodeid.partition('::')[2]}"
    outcome = report.outcome
    if hasattr(report, "wasxfail"):
        outcome = "skipped" if report.skipped else "passed"
    counts = report.when == "call" or outcome != "passed"
    if counts and worst[outcome] > worst.get(outcomes.get(name, ""), 0):
        outcomes[name] = outcome
    return report


def pytest_sessionfinish(session):
    Path(os.environ["HINGE_OUTCOMES"]).write_text(json.dumps(outcomes))
