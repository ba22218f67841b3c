"""The comparison of every method of the papers with independent computations."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "papers" / "agreement.py"


@pytest.mark.slow
@pytest.mark.parametrize("group", range(1, 9))
def test_every_method_agrees_with_an_independent_computation(group):
    run = subprocess.run([sys.executable, SCRIPT, "--only", str(group)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
