"""Samples, times and output of the benchmarks of conformal prediction."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def friedman(n: int, seed: int, noise: float = 0.2) -> tuple[Any, Any]:
    """Friedman's first function of standardized features, with noise; without noise y has standard deviation 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 8))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return (X - 0.5) * np.sqrt(12), (y - 14.4) / 4.9 + noise * rng.normal(size=n)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call and its result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def stored(name: str) -> tuple[Any, Any] | None:
    """Return X and y of a data set in the folder `shared/data` next to the repository; None if it is not available."""
    for folder in Path(__file__).resolve().parents:
        path = folder / "shared" / "data" / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"].astype(float), arrays["y"].astype(float)
    return None


def finish(script: str, lines: list[str], packages: tuple[str, ...], save: bool) -> None:
    """Add the date and the versions of packages, print the lines, and write them next to the script."""
    versions = ", ".join(f"{name} {version(name.lower())}" for name in ("hinge", *packages))
    text = "\n".join([*lines, "", f"{date.today()}, {versions}"]) + "\n"
    print(text)
    if save:
        Path(script).with_suffix(".txt").write_text(text, encoding="utf-8")
