"""Fixtures of more than one file."""

import signal

import pytest

from reference.invalid_input import SECONDS


@pytest.fixture
def bounded_time():
    """Whatever the input, the answer comes within seconds: an alarm interrupts Python and the core alike."""

    def too_late(signum, frame):
        raise TimeoutError(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
