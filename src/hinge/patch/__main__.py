"""`python -m hinge.patch script.py`: run a script with hinge in place of the estimators of `sklearn.svm`."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from hinge.patch.replacement import patch_sklearn

USAGE = """usage: python -m hinge.patch script.py [arguments]
       python -m hinge.patch -m module [arguments]

Run a Python script or module with hinge's estimators in place of those of sklearn.svm."""


def main(arguments: Sequence[str]) -> int:
    """Patch scikit-learn and run the script or module as `__main__`; return the exit code."""
    if arguments and arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE + "\n")
        return 0
    as_module = bool(arguments) and arguments[0] == "-m"
    rest = list(arguments[1:] if as_module else arguments)
    if not rest or rest[0].startswith("-"):
        sys.stderr.write(USAGE + "\n")
        return 2
    patch_sklearn()
    sys.argv = rest
    if as_module:
        sys.path.insert(0, "")
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return 0
    if not Path(rest[0]).exists():
        sys.stderr.write(f"hinge.patch: {rest[0]} does not exist\n")
        return 2
    sys.path.insert(0, str(Path(rest[0]).resolve().parent))  # as in `python script.py`
    runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
