"""The main operations pass through few functions and files: limits on calls, files and transitions between files."""

import sys
from pathlib import Path

import numpy as np
import pytest

import hinge

ROOT = str(Path(hinge.__file__).parent)

# (calls, files, transitions between files) inside the package
LIMITS = {
    "SVC.fit": (110, 14, 50),
    "SVR.fit": (110, 14, 50),
    "LinearSVC.fit": (90, 12, 40),
    "regularization_path": (110, 12, 45),
    "SVC.predict": (12, 5, 6),
    "load": (250, 15, 125),
}


def traverse(operation):
    """Run the operation once; return its number of Python calls, files and transitions between files."""
    calls, transitions, files, stack = 0, 0, set(), []

    def record(frame, event, _):
        nonlocal calls, transitions
        name = frame.f_code.co_filename
        if not name.startswith(ROOT):
            return
        if event == "call":
            calls += 1
            transitions += bool(stack) and stack[-1] != name
            files.add(name)
            stack.append(name)
        elif event == "return" and stack:
            stack.pop()

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        operation()
    finally:
        sys.setprofile(before)
    return calls, len(files), transitions


@pytest.mark.parametrize("name", LIMITS)
def test_data_flow_is_short(name, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(200) > 0, 1, -1)
    models = [hinge.SVC().fit(X, y) for _ in range(2)]  # one for each call: the limit holds for the first prediction
    hinge.save(models[0], tmp_path / "model.hinge")
    operation = {
        "SVC.fit": lambda: hinge.SVC().fit(X, y),
        "SVR.fit": lambda: hinge.SVR().fit(X, X[:, 0]),
        "LinearSVC.fit": lambda: hinge.LinearSVC().fit(X, y),
        "regularization_path": lambda: hinge.regularization_path(X, y, C_min=0.1, C_max=1.0, gamma=0.2),
        "SVC.predict": lambda: models.pop().predict(X[:1]),
        "load": lambda: hinge.load(tmp_path / "model.hinge"),
    }[name]
    operation()  # imports and caches
    measured = traverse(operation)
    assert all(value <= limit for value, limit in zip(measured, LIMITS[name], strict=True)), measured
