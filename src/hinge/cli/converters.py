"""Conversion of the text of option values; a ValueError states the reason and the remedy."""

from __future__ import annotations

import math
import re

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
MEGABYTES = {"": 1.0, "kb": 1e-3, "mb": 1.0, "gb": 1e3, "tb": 1e6}


def seconds(text: str) -> float:
    """Convert a time such as 90, 90s, 1.5m or 2h to seconds."""
    return _quantity(text, SECONDS, "a positive number of seconds, or a number with s, m or h, such as 90 or 1.5h")


def megabytes(text: str) -> float:
    """Convert an amount of memory such as 500, 500MB or 2GB to megabytes."""
    return _quantity(text, MEGABYTES, "a positive number of megabytes, or a number with MB or GB, such as 500 or 2GB")


def _quantity(text: str, units: dict[str, float], expected: str) -> float:
    match = re.fullmatch(r"([0-9.eE+-]*[0-9.])\s*([a-zA-Z]*)", text.strip())
    try:
        value = float(match[1]) * units[match[2].lower()] if match else math.nan
    except (KeyError, ValueError):
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{text!r} must be {expected}")
    return value


def threads(text: str) -> int:
    """Convert a number of threads: positive, or -1 for all cores."""
    value = _integer(text)
    if value is None or value == 0 or value < -1:
        raise ValueError(f"{text!r} must be a positive number of threads, or -1 for all cores")
    return value


def seed(text: str) -> int:
    """Convert the seed of random numbers."""
    value = _integer(text)
    if value is None or not 0 <= value < 2**32:
        raise ValueError(f"{text!r} must be an integer from 0 to {2**32 - 1}")
    return value


def positive_integer(text: str) -> int:
    """Convert a positive integer."""
    value = _integer(text)
    if value is None or value < 1:
        raise ValueError(f"{text!r} must be a positive integer")
    return value


def folds(text: str) -> int:
    """Convert a number of folds."""
    value = _integer(text)
    if value is None or value < 2:
        raise ValueError(f"{text!r} must be an integer of at least 2")
    return value


def number(text: str) -> float:
    """Convert a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r} must be a number")
    return value


def positive_number(text: str) -> float:
    """Convert a positive finite number."""
    value = number(text)
    if value <= 0:
        raise ValueError(f"{text!r} must be a positive number")
    return value


def delimiter(text: str) -> str:
    """Convert the delimiter of a table: one character, or `tab`."""
    value = "\t" if text in ("tab", "\\t") else text
    if len(value) != 1:
        raise ValueError(f"{text!r} must be one character, or tab")
    return value


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
