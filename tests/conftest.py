"""Settings that every test shares."""

from hypothesis import HealthCheck, settings

# Compiled code on a shared machine: a deadline per example would only measure the neighbours.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("hinge", **_COMMON)
settings.register_profile("sanitize", parent=settings.get_profile("hinge"), max_examples=20)
settings.load_profile("hinge")
