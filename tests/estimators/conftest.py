"""Fixtures of the estimator tests."""

import signal

import pytest

from reference.invalid_input import SECONDS


@pytest.fixture
def bounded_time():
    """Fail after `SECONDS`: an alarm interrupts Python and the compiled core."""

    def too_late(signum, frame):
        raise TimeoutError(f"no result within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
