"""Run Python code in a separate process that is stopped after a time limit."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

#: Seconds for a run that takes much less than a second if it terminates.
LIMIT = 60.0


def output_of(code, seconds=LIMIT):
    """Return what `code` prints; a TimeoutExpired or CalledProcessError if it does not end in time or fails.

    Compiled code that does not poll signals cannot be stopped from within the process.
    """
    command = [sys.executable, "-W", "ignore", "-c", dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()
