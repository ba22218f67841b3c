"""Settings of all tests."""

import signal

from hypothesis import HealthCheck, settings

# No deadline per example: the load of the computer would decide.  The examples are the same in every run.  Use
# --hypothesis-profile=explore to search for new ones.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("hinge", derandomize=True, **_COMMON)
settings.register_profile("explore", max_examples=1000, **_COMMON)
settings.register_profile("sanitize", parent=settings.get_profile("hinge"), max_examples=20)
settings.load_profile("hinge")

# A shell makes background processes ignore SIGINT, which the tests of Ctrl-C need.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
