"""Rules of the parameters of estimators: the values that each parameter may have.

An estimator declares its rules in `_rules`; `hinge.estimators.common.validation.check_parameters` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hinge.validation import (
    check_cache_size,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_pair,
    is_pair,
)

#: Larger numbers of threads are refused.
MAX_THREADS = 1 << 16


class Rule(Protocol):
    """A requirement on the value of one parameter."""

    def check(self, name: str, value: Any) -> None:
        """Raise a TypeError or ValueError if the value is not allowed."""


@dataclass(frozen=True)
class Number:
    """A number in [low, high], or in (low, high] with `open_low`.

    None is allowed with `optional`. Arrays are allowed with `per_sample`, and checked together with the data.
    """

    low: float
    high: float = np.inf
    open_low: bool = False
    finite: bool = True
    optional: bool = False
    per_sample: bool = False

    def check(self, name: str, value: Any) -> None:
        if not (self.optional and value is None) and not (self.per_sample and np.ndim(value)):
            check_number(name, value, self.low, self.high, open_low=self.open_low, finite=self.finite)


@dataclass(frozen=True)
class Sides:
    """A number that is not negative, or a tuple of two: for targets above and below the function.

    A single number must be positive with `positive`. Arrays are allowed with `per_sample`, and checked together with
    the data (`hinge.validation.check_sides`).
    """

    positive: bool = False
    finite: bool = True
    per_sample: bool = False

    def check(self, name: str, value: Any) -> None:
        if is_pair(value) or not (self.per_sample and np.ndim(value)):
            check_pair(name, value, open_low=self.positive, finite=self.finite)


@dataclass(frozen=True)
class Integer:
    """An integer of at least `low`."""

    low: int

    def check(self, name: str, value: Any) -> None:
        check_integer(name, value, self.low)


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    allowed: tuple[Any, ...]

    def check(self, name: str, value: Any) -> None:
        check_choice(name, value, self.allowed)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        check_flag(name, value)


@dataclass(frozen=True)
class WarmStartRule:
    """True, False or "rescale"."""

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, str):
            check_choice(name, value, ("rescale",), "True or False")
        else:
            check_flag(name, value)


@dataclass(frozen=True)
class Threads:
    """A number of threads as in joblib: None, a positive number, or a negative number (−1 for all cores)."""

    def check(self, name: str, value: Any) -> None:
        if value is None:
            return
        check_integer(name, value, -(2**31))
        if value > MAX_THREADS:
            raise ValueError(f"{name} must be at most {MAX_THREADS}; use -1 for all cores")
        if value == 0:
            raise ValueError(f"{name}=0 is not a number of threads; use 1, or -1 for all cores")


@dataclass(frozen=True)
class CacheSize:
    """A positive number of megabytes, or "auto"."""

    def check(self, name: str, value: Any) -> None:
        check_cache_size(value)


@dataclass(frozen=True)
class ClassWeight:
    """None, "balanced", or a dictionary of positive weights by label."""

    def check(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for label, weight in value.items():
                check_number(f"{name}[{label!r}]", weight, 0.0, open_low=True)
        elif value is not None:
            check_choice(name, value, ("balanced",), "a dictionary of weights by label, or None")


#: Rules of the parameters that most estimators share.
POSITIVE = Number(0.0, open_low=True)
KERNEL_RULES: dict[str, Rule] = {"degree": Number(0.0), "coef0": Number(-np.inf)}
LIMIT_RULES: dict[str, Rule] = {
    "tol": POSITIVE,
    "max_iter": Integer(-1),
    "max_time": Number(0.0, open_low=True, optional=True),
    "n_jobs": Threads(),
    "cache_size": CacheSize(),
}
SOLVER_RULES: dict[str, Rule] = {"shrinking": Flag(), "warm_start": WarmStartRule(), "verbose": Flag()}
