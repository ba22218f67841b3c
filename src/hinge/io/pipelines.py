"""Classes of scikit-learn in model files: which attributes they may have, and whether these belong together.

A class is added by an entry in `hinge.io.registry.STEPS` and the attributes of a fitted object in `FITTED`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hinge.io.registry import STEPS

#: Fitted attributes of scalers: numbers of every feature, or None if the scaler does not use them.
FITTED: dict[str, tuple[str, ...]] = {
    "StandardScaler": ("scale_", "mean_", "var_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("scale_", "max_abs_"),
}

#: Attributes that every fitted transformer may have.
COMMON = ("n_features_in_", "n_samples_seen_", "feature_names_in_")


def check_step(model: Any) -> None:
    """Raise a ValueError unless the attributes of a pipeline or transformer belong together."""
    if type(model).__name__ == "Pipeline":
        _check_pipeline(model)
    else:
        _check_transformer(model)


def _check_transformer(model: Any) -> None:
    name = type(model).__name__
    state = {key: value for key, value in vars(model).items() if key not in model.get_params(deep=False)}
    if not state:
        return  # not fitted
    unknown = sorted(set(state) - {*COMMON, *FITTED[name]})
    missing = sorted(set(FITTED[name]) - set(state))
    if unknown or missing:
        raise ValueError(f"{name} has unknown or missing attributes: {', '.join(unknown + missing)[:200]}")
    features = state.get("n_features_in_")
    if not isinstance(features, int) or features < 1:
        raise ValueError(f"n_features_in_={features!r} must be a positive integer")
    for key in FITTED[name]:
        value = state[key]
        if value is None and name == "StandardScaler":
            continue
        if not isinstance(value, np.ndarray) or value.shape != (features,) or value.dtype.kind != "f":
            raise ValueError(f"{name}.{key} must have a number for each of the {features} features")
    names = state.get("feature_names_in_")
    if names is not None and (not isinstance(names, np.ndarray) or names.shape != (features,)):
        raise ValueError(f"{name}.feature_names_in_ must have a name for each of the {features} features")


def _check_pipeline(model: Any) -> None:
    if model.memory is not None:
        raise ValueError(f"memory={model.memory!r} cannot be saved: use memory=None")
    steps = model.steps
    if not isinstance(steps, list) or not steps:
        raise ValueError("steps must be a list with at least one step")
    for step in steps:
        named = isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        if not named or not hasattr(step[1], "get_params"):
            raise ValueError("every step must be a name and an estimator")
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name for name in names):
        raise ValueError(f"the names of the steps must be different and contain no '__', got {names}")
    for _, step in steps:
        if type(step).__name__ in STEPS:
            check_step(step)
    if not all(hasattr(step, "transform") for _, step in steps[:-1]):
        raise ValueError("every step except the last must be a transformer")
    counts = {step.n_features_in_ for _, step in steps if hasattr(step, "n_features_in_")}
    if len(counts) > 1:
        raise ValueError(f"the steps have different numbers of features: {sorted(counts)}")
