"""Leave-one-out by exact removal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.paths.regularization import check_both_classes, check_samples, check_vector
from hinge.paths.window import Window
from hinge.problems import Array


@dataclass(frozen=True)
class LeaveOneOut:
    """What `leave_one_out` found.

    Attributes
    ----------
    decision_values : ndarray
        At every sample the value of the machine trained without it.
    error : float
        The share of wrong signs, or the mean squared error of regression.
    fitted_values : ndarray
        The values of the machine trained on all samples.
    n_events : int
        Events on all paths together.
    """

    decision_values: Array
    error: float
    fitted_values: Array
    n_events: int

    def __repr__(self) -> str:
        return f"<leave-one-out of {len(self.decision_values)} samples: error {self.error:.6g}, {self.n_events} events>"


def machine_window(
    X: Any,
    y: Any,
    C: float,
    kernel: Any,
    degree: float,
    gamma: Any,
    coef0: float,
    task: str,
    epsilon: float,
    sample_weight: ArrayLike | None,
    cache_size: float | str,
) -> Window:
    """One trained machine that samples can be taken from."""
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C={C!r} must be positive and finite")
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0)
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    return Window(samples.kernel, samples.X, samples.y, C * weight, task=task, epsilon=epsilon, cache_size=cache_size)


def leave_one_out(
    X: Any,
    y: Any,
    *,
    C: float = 1.0,
    kernel: Any = "rbf",
    degree: float = 3,
    gamma: Any = "scale",
    coef0: float = 0.0,
    task: str = "classification",
    epsilon: float = 0.1,
    sample_weight: ArrayLike | None = None,
    cache_size: float | str = "auto",
) -> LeaveOneOut:
    """The exact leave-one-out values of `SVC` (two classes) or `SVR`: each sample is removed along its own short path.

    Samples without influence (α = 0) cost nothing; the others a few events each. Positive values mean the larger label.

    Parameters
    ----------
    X, y, kernel, degree, gamma, coef0, task, epsilon, sample_weight
        As in `regularization_path`. ``gamma="scale"`` is that of all samples.
    C : float

    Returns
    -------
    LeaveOneOut
    """
    window = machine_window(X, y, C, kernel, degree, gamma, coef0, task, epsilon, sample_weight, cache_size)
    if task == "classification":
        for side in (-1.0, 1.0):
            if np.sum((window.y == side) & (window.cost > 0)) < 2:
                raise ValueError("a class with one sample cannot do without it; give every class at least two samples")
    values, events = window.leave_out([np.array([i]) for i in range(window.n)])
    found = np.concatenate(values)
    weight = window.cost / np.sum(window.cost)
    wrong = (found > 0) != (window.y > 0) if task == "classification" else (found - window.y) ** 2
    return LeaveOneOut(found, float(weight @ wrong), window.decisions(), events)
