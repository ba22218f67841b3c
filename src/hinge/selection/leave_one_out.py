"""Exact leave-one-out values by removing samples along paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hinge.control import RunControl
from hinge.estimators.common.progress import ProgressLine
from hinge.paths.regularization import SUPERVISED, check_both_classes, check_samples, check_vector
from hinge.paths.window import Window
from hinge.problems import Array
from hinge.validation import check_number


@dataclass(frozen=True)
class LeaveOneOut:
    """Result of `leave_one_out`.

    Attributes
    ----------
    decision_values : ndarray
        At every sample the decision value of the model trained without it.
    error : float
        The error rate, or the mean squared error of regression.
    fitted_values : ndarray
        The decision values of the model trained on all samples.
    n_events : int
        Number of events on all paths.

    Examples
    --------
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> result = hinge.selection.leave_one_out(X, y, C=1.0, gamma=1.0)
    >>> len(result.decision_values), bool(0 <= result.error <= 1)
    (60, True)
    """

    decision_values: Array
    error: float
    fitted_values: Array
    n_events: int

    def __repr__(self) -> str:
        return f"<leave-one-out of {len(self.decision_values)} samples: error {self.error:.6g}, {self.n_events} events>"


def open_window(
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
    max_time: float | None = None,
) -> Window:
    """Validate the arguments and solve the problem of all samples."""
    check_number("C", C, 0.0, open_low=True)
    samples = check_samples(X, y, task, kernel, degree, gamma, coef0, tasks=SUPERVISED)
    weight = check_vector("sample_weight", sample_weight, samples.n, 1.0)
    check_both_classes(samples, weight)
    return Window(
        samples.kernel, samples.X, samples.y, C * weight, task=task, epsilon=epsilon, cache_size=cache_size,
        max_time=max_time,
    )  # fmt: skip


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
    max_time: float | None = None,
    verbose: bool = False,
) -> LeaveOneOut:
    """Compute exact leave-one-out values of `SVC` (two classes) or `SVR`, by removing each sample along a short path.

    Samples with α = 0 need no computation, the others a few events each. Positive values mean the larger label.

    Parameters
    ----------
    X, y, kernel, degree, gamma, coef0, task, epsilon, sample_weight
        As in `regularization_path`. ``gamma="scale"`` is that of all samples.
    C : float
    max_time : float, optional
        Seconds. A TimeoutError is raised if they do not suffice: the error needs the values of all samples.
    verbose : bool, default=False
        Whether to show a progress line with the number of samples and the remaining time.

    Returns
    -------
    LeaveOneOut

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.3, random_state=0)
    >>> result = hinge.selection.leave_one_out(X, y, C=1.0, gamma=1.0)
    >>> model = hinge.SVC(gamma=1.0, tol=1e-9).fit(X[1:], y[1:])
    >>> bool(np.isclose(result.decision_values[0], model.decision_function(X[:1])[0], atol=1e-6))
    True
    """
    control = RunControl(max_time)
    window = open_window(X, y, C, kernel, degree, gamma, coef0, task, epsilon, sample_weight, cache_size, max_time)
    window.max_time = control.remaining()
    if task == "classification":
        for label in (-1.0, 1.0):
            if np.sum((window.y == label) & (window.cost > 0)) < 2:
                raise ValueError("a class has one sample, which cannot be left out; give every class at least two")
    with ProgressLine("leave-one-out", verbose=verbose) as line:
        values, events = window.leave_out([np.array([i]) for i in range(window.n)], line.update if verbose else None)
    decision_values = np.concatenate(values)
    weight = window.cost / np.sum(window.cost)
    if task == "classification":
        losses = (decision_values > 0) != (window.y > 0)
    else:
        losses = (decision_values - window.y) ** 2
    return LeaveOneOut(decision_values, float(weight @ losses), window.decisions(), events)
