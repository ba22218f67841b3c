"""Expected time of a fit, measured on few of the samples, and the estimator to use instead."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

#: Numbers of samples in the measured fits, and the seconds after which a measured fit ends.
MEASURED_SAMPLES = (250, 500)
MAX_SECONDS = 1.0

#: Bounds on the exponent of the growth of the time with the number of samples.
MIN_EXPONENT, MAX_EXPONENT = 1.0, 3.0

#: Numbers of samples above which another estimator is recommended: of a kernel expansion, and of a linear program.
MANY_KERNEL_SAMPLES, MANY_LP_SAMPLES = 50_000, 5_000

#: Number of samples below which learning from single samples has no advantage.
FEW_ONLINE_SAMPLES = 20_000


class ForecastMixin:
    """Answers to questions before a fit: how long it takes, and whether another estimator is better."""

    def _expected_seconds(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> float | None:
        """Expected time of `fit`; None if the estimator cannot be trained on a sample of the data.

        With `qid` the measured fits have whole queries, except for the last one.
        """
        n = int(np.shape(X)[0])
        sizes = [size for size in MEASURED_SAMPLES if size < n] or [n]
        random = np.random.default_rng(0)
        order = random.permutation(n)
        if qid is not None:
            names, query = np.unique(np.asarray(qid), return_inverse=True)
            order = order[np.argsort(random.permutation(len(names))[query[order]], kind="stable")]
        seconds = []
        for size in sizes:
            found = _measure(self, X, y, np.sort(order[:size]), sample_weight=sample_weight, qid=qid)
            if found is None:
                return None
            seconds.append(found)
        if sizes[-1] == n:
            return seconds[-1]
        exponent = MAX_EXPONENT
        if len(sizes) > 1:
            exponent = float(np.log(seconds[1] / seconds[0]) / np.log(sizes[1] / sizes[0]))
        return seconds[-1] * (n / sizes[-1]) ** min(max(exponent, MIN_EXPONENT), MAX_EXPONENT)

    def _alternative(self, n: int) -> str:
        """The estimator to use instead for n samples, with the reason; empty without a better one."""
        return ""


def data_shape(X: Any, y: Any = None) -> tuple[int, int]:
    """Return the numbers of samples and features, after a check of the shapes of X and y."""
    shape = np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X has shape {shape}; explain needs the training data, of shape (n_samples, n_features)")
    if y is not None and np.shape(y)[:1] != shape[:1]:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[shape[0], *np.shape(y)[:1]]}")
    return int(shape[0]), int(shape[1])


def _measure(estimator: Any, X: Any, y: Any, rows: NDArray[np.intp], **per_sample: Any) -> float | None:
    """Time of a fit to some of the samples; None if they are not valid training data, such as a single class."""
    model, names = clone(estimator), estimator.get_params(deep=False)
    limits: dict[str, Any] = {"max_time": MAX_SECONDS, "verbose": False}
    model.set_params(**{name: value for name, value in limits.items() if name in names})
    part = _safe_indexing(X, rows)
    if estimator.__sklearn_tags__().input_tags.pairwise:
        part = part[:, rows]
    arguments = [part] if y is None else [part, _safe_indexing(y, rows)]
    options = {name: np.asarray(values)[rows] for name, values in per_sample.items() if values is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.perf_counter()
        try:
            model.fit(*arguments, **options)
        except (ValueError, TimeoutError):
            return None
        return time.perf_counter() - started
