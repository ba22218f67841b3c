"""Hints about a fitted estimator: what may be wrong with the model or the data, and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector

from hinge.kernels import RBF, Laplacian
from hinge.problems import Array, Status

#: Share of support vectors above which most samples count as support vectors.
MOST_SAMPLES = 0.9

#: Number of samples below which the share of support vectors gives no hint.
FEW_SAMPLES = 20

#: Ratio of the standard deviations of two features above which their scales are very different.
SCALE_RATIO = 100.0

#: Share of the smallest class below which the classes are imbalanced.
RARE_CLASS = 0.05

#: A relative gap above this is large.
LARGE_GAP = 1e-2

#: A coefficient of at least this share of C counts as bounded.
BOUNDED_SHARE = 1 - 1e-6

#: Largest number of rows from which the scales of the features are computed.
MAX_ROWS = 5_000


def find_hints(model: Any, X: Any = None, y: Any = None) -> Iterator[str]:
    """Yield hints about a fitted estimator; `X` and `y` are data, which may be missing."""
    yield from _of_the_status(model)
    yield from _of_the_support(model)
    yield from _of_the_features(model, X)
    if X is not None and is_classifier(model):
        yield from _of_the_classes(model, X, y)


def _of_the_status(model: Any) -> Iterator[str]:
    status, certificate = getattr(model, "status_", None), getattr(model, "certificate_", None)
    if status is Status.TIME_LIMIT:
        yield "the time limit ended the fit: increase max_time"
    elif status is Status.MAX_ITER:
        yield "the iteration limit ended the fit: increase max_iter, or standardize the features"
    elif status is Status.INTERRUPTED:
        yield "the fit was interrupted: fit again"
    elif status is Status.NUMERICAL:
        yield "the tolerance was not reached: standardize the features, or use a smaller C or a larger tol"
    elif certificate is not None and LARGE_GAP < certificate.relative_gap < np.inf and certificate.convex is not False:
        yield "the relative gap is large: use a smaller tol"


def _of_the_support(model: Any) -> Iterator[str]:
    """Hint if most samples are support vectors, with the cause that the coefficients show."""
    support, shape = getattr(model, "support_", None), getattr(model, "shape_fit_", None)
    expansion: Any = getattr(model, "model_", None)
    coefficients = getattr(expansion, "coefficients", None)
    if support is None or shape is None or coefficients is None or "C" not in model.get_params(deep=False):
        return
    if shape[0] < FEW_SAMPLES or len(support) < MOST_SAMPLES * shape[0]:
        return
    share = "all" if len(support) == shape[0] else f"{100 * len(support) / shape[0]:.0f} % of the"
    if _bounded_share(model, coefficients) >= 0.5:
        yield (
            f"{share} samples are support vectors, and most coefficients are at their bound C: C is too small, or the "
            "features do not explain the targets"
        )
    elif isinstance(expansion.kernel, RBF | Laplacian):
        yield (
            f"{share} samples are support vectors, but few coefficients are at their bound: gamma="
            f"{expansion.kernel.gamma:.4g} is too large, and the model memorizes the samples; use a smaller gamma"
        )
    else:
        yield f"{share} samples are support vectors: use a larger epsilon or a smaller C, or a smoother kernel"


def _bounded_share(model: Any, coefficients: Array) -> float:
    """Share of the coefficients that are at their bound C, without regard to sample weights; 0 if C is not a number."""
    if np.ndim(model.C) != 0 or isinstance(model.C, tuple):
        return 0.0
    bound = model.C * float(np.min(getattr(model, "class_weight_", 1.0)))
    sizes = np.abs(coefficients[coefficients != 0])
    return float(np.mean(sizes >= BOUNDED_SHARE * bound)) if len(sizes) else 0.0


def _of_the_features(model: Any, X: Any) -> Iterator[str]:
    """Hint if features are constant or have very different scales."""
    kernel = getattr(model, "kernel", None)
    if isinstance(kernel, str) and kernel == "precomputed":
        return
    deviations = _deviations(getattr(model, "support_vectors_", None) if X is None else X)
    if deviations is None or len(deviations) < 2:
        return
    names = getattr(model, "feature_names_in_", np.arange(len(deviations)))
    if len(names) != len(deviations):
        return
    constant = deviations == 0
    if X is not None and constant.any():
        yield f"{int(constant.sum())} features are constant, such as {_name(names[np.argmax(constant)])}: remove them"
    varying = np.flatnonzero(~constant)
    if not len(varying):
        return
    widest, narrowest = varying[np.argmax(deviations[varying])], varying[np.argmin(deviations[varying])]
    ratio = deviations[widest] / deviations[narrowest]
    if ratio > SCALE_RATIO:
        yield (
            f"the features have very different scales: the standard deviation of {_name(names[widest])} is {ratio:.2g} "
            f"times that of {_name(names[narrowest])}; use make_pipeline(StandardScaler(), ...)"
        )


def _name(name: Any) -> str:
    return f"feature {name}" if isinstance(name, np.integer) else repr(str(name))


def _deviations(X: Any) -> Array | None:
    """Standard deviations of the features; None for sparse data and data that are not numbers."""
    if X is None or sp.issparse(X) or np.ndim(X) != 2 or len(X) < 2:
        return None
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    step = -(-len(rows) // MAX_ROWS)
    return rows[::step].std(axis=0)


def _of_the_classes(model: Any, X: Any, y: Any) -> Iterator[str]:
    if len(np.unique(model.predict(X))) == 1 and len(np.unique(y)) > 1:
        yield "all predictions are the same class: use a larger C, or class_weight='balanced'"
        return
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) < 2 or getattr(model, "class_weight", None) is not None or is_outlier_detector(model):
        return
    rarest = int(np.argmin(counts))
    if counts[rarest] < RARE_CLASS * counts.sum() and "class_weight" in model.get_params(deep=False):
        yield (
            f"class {labels.tolist()[rarest]!r} has {100 * counts[rarest] / counts.sum():.2g} % of the samples: "
            "consider class_weight='balanced', or a threshold other than zero"
        )
