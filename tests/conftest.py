"""Settings that every test shares."""

import signal

from hypothesis import HealthCheck, settings

# Compiled code on a shared machine: a deadline per example would only measure the neighbours.  The same examples in
# every run: what lands must not depend on luck.  To look for new ones: --hypothesis-profile=explore.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("hinge", derandomize=True, **_COMMON)
settings.register_profile("explore", max_examples=1000, **_COMMON)
settings.register_profile("sanitize", parent=settings.get_profile("hinge"), max_examples=20)
settings.load_profile("hinge")

# A shell that runs tests in the background has them ignore Ctrl-C; the tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
