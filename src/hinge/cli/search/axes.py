"""Values of the parameters of a search: `C=0.1,1,10`, or `C=0.01:100:5` for a geometric progression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hinge.cli.failures import UsageError
from hinge.cli.parameters import check_estimator, check_name, parse_value, split

NUMBER = r"[0-9.]+(?:[eE][+-]?[0-9]+)?"
PROGRESSION = re.compile(rf"({NUMBER}):({NUMBER}):([0-9]+)")
OPENING, CLOSING = "([{", ")]}"


def parse_axes(cls: Any, texts: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Return the parameters with one value, and those with several values."""
    fixed: dict[str, Any] = {}
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, value = split(text)
        check_name(cls, name)
        if name in fixed or name in axes:
            raise UsageError(f"-p {text!r} repeats the parameter {name!r}; give it once")
        values = parse_values(cls, name, value)
        if len(values) == 1:
            fixed[name] = values[0]
        else:
            axes[name] = values
    return fixed, axes


def parse_values(cls: Any, name: str, text: str) -> list[Any]:
    """Return the values of one parameter."""
    match = PROGRESSION.fullmatch(text)
    if match is None:
        return [parse_value(cls, name, part) for part in _parts(name, text)]
    first, last, count = float(match[1]), float(match[2]), int(match[3])
    if not (first > 0 and last > 0 and count >= 2):
        raise UsageError(f"{name}={text} must have two positive numbers and at least two values, such as 0.01:100:5")
    return [float(f"{value:.12g}") for value in np.geomspace(first, last, count)]


def _parts(name: str, text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    parts = [part.strip() for part in parts]
    if not all(parts):
        raise UsageError(f"{name}={text} has an empty value")
    return parts


def check_axes(estimator: Any, axes: dict[str, list[Any]]) -> None:
    """Check every value of every parameter."""
    check_estimator(estimator)
    for name, values in axes.items():
        before = getattr(estimator, name)
        for value in values:
            check_estimator(estimator.set_params(**{name: value}))
        estimator.set_params(**{name: before})
