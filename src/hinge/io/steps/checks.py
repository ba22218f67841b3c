"""Checks of classes of scikit-learn in model files: which attributes they may have, and whether these belong together.

Arrays of wrong shapes would raise errors in scikit-learn. Numbers that compiled code uses as positions without a check
are compared with the sizes that they refer to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hinge.io.steps.classes import COMMON, STEPS


def check_step(model: Any) -> None:
    """Raise a ValueError unless the attributes of an object of scikit-learn belong together."""
    name = type(model).__name__
    step, parameters = STEPS[name], model.get_params(deep=False)
    state = {key: value for key, value in vars(model).items() if key not in parameters}
    unknown = sorted(set(state) - {*COMMON, *step.fitted, *step.possible})
    fitted = state.keys() - {"_sklearn_output_config"}
    missing = sorted(set(step.fitted) - set(state)) if fitted else []
    if unknown or missing:
        raise ValueError(f"{name} has unknown or missing attributes: {', '.join(unknown + missing)[:200]}")
    features = state.get("n_features_in_")
    if "n_features_in_" in state and (not isinstance(features, int) or features < 1):
        raise ValueError(f"n_features_in_={features!r} must be a positive integer")
    for key, kind in step.fitted.items():
        if fitted and kind != "any" and not (state[key] is None and kind == "optional features"):
            _check_features(model, key, "iuf", "a number")
    if state.get("feature_names_in_") is not None:
        _check_features(model, "feature_names_in_", "OUST", "a name")
    check = _CHECKS.get(name)
    if check is not None and (fitted or name in ("Pipeline", "FeatureUnion")):
        check(model)


def _check_features(model: Any, key: str, kinds: str, what: str) -> None:
    value, features = getattr(model, key), getattr(model, "n_features_in_", None)
    if not isinstance(value, np.ndarray) or value.shape != (features,) or value.dtype.kind not in kinds:
        raise ValueError(f"{type(model).__name__}.{key} must have {what} for each of the {features} features")


# ---- pipelines ------------------------------------------------------------------------------------------------------


def _check_pipeline(model: Any) -> None:
    if model.memory is not None:
        raise ValueError(f"memory={model.memory!r} cannot be saved: use memory=None")
    steps = model.steps
    _check_names(steps, "steps")
    for _, step in steps:
        if type(step).__name__ in STEPS:
            check_step(step)
    if not all(step in (None, "passthrough") or hasattr(step, "transform") for _, step in steps[:-1]):
        raise ValueError("every step except the last must be a transformer")
    width = None
    for name, step in steps:
        expected = getattr(step, "n_features_in_", None)
        if width is not None and expected is not None and width != expected:
            raise ValueError(f"step {name!r} has {expected} features, but the step before it returns {width}")
        width = _width(step) if expected is not None else width if step in (None, "passthrough") else None


def _check_union(model: Any) -> None:
    _check_names(model.transformer_list, "transformer_list")
    for _, step in model.transformer_list:
        if type(step).__name__ in STEPS:
            check_step(step)


def _check_names(steps: Any, parameter: str) -> None:
    if not isinstance(steps, list) or not steps:
        raise ValueError(f"{parameter} must be a list with at least one step")
    for step in steps:
        named = isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        if not named or not (step[1] in (None, "passthrough", "drop") or hasattr(step[1], "get_params")):
            raise ValueError(f"every item of {parameter} must be a name and an estimator")
    names = [name for name, _ in steps]
    if len(set(names)) != len(names) or any("__" in name for name in names):
        raise ValueError(f"the names of the steps must be different and contain no '__', got {names}")


#: Classes whose output has the features of their input.
_SAME_WIDTH = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer", "QuantileTransformer",
    "PowerTransformer", "OrdinalEncoder",
)  # fmt: skip


def _width(step: Any) -> int | None:
    """Number of features that a fitted transformer returns; None if it is not known."""
    name = type(step).__name__
    if name in _SAME_WIDTH:
        return int(step.n_features_in_)
    if name in ("PCA", "TruncatedSVD"):
        return len(step.components_)
    if name == "OneHotEncoder":
        return int(sum(step._n_features_outs))
    return None


# ---- transformers ---------------------------------------------------------------------------------------------------


def _check_columns(model: Any) -> None:
    transformers = model.transformers_
    triples = isinstance(transformers, list) and all(isinstance(t, tuple) and len(t) == 3 for t in transformers)
    if not triples:
        raise ValueError("transformers_ must be a list of names, transformers and columns")
    for name, step, _ in transformers:
        if not (isinstance(step, str) or hasattr(step, "transform")):
            raise ValueError(f"the transformer {name!r} cannot transform")
        if type(step).__name__ in STEPS:
            check_step(step)
    if not isinstance(model.output_indices_, dict):
        raise ValueError("output_indices_ must be a dictionary")


def _check_categories(model: Any) -> None:
    categories = model.categories_
    lists = isinstance(categories, list) and all(isinstance(each, np.ndarray) and each.ndim == 1 for each in categories)
    if not lists or len(categories) != model.n_features_in_:
        raise ValueError("categories_ must have an array for each feature")
    mappings = getattr(model, "_default_to_infrequent_mappings", None) or []
    for mapping, each in zip(mappings, categories, strict=False):
        if mapping is not None and (mapping.shape != each.shape or not _are_positions(mapping, len(each))):
            raise ValueError("the infrequent categories are inconsistent")


def _check_one_hot(model: Any) -> None:
    """Check the positions from which the column indices of a sparse matrix are computed."""
    _check_categories(model)
    mappings = getattr(model, "_default_to_infrequent_mappings", None) or [None] * len(model.categories_)
    dropped = getattr(model, "_drop_idx_after_grouping", model.drop_idx_)
    dropped = [None] * len(mappings) if dropped is None else list(dropped)
    if not len(mappings) == len(dropped) == len(model.categories_):
        raise ValueError("the encoder has dropped or infrequent categories of other features")
    widths = []
    for each, mapping, drop in zip(model.categories_, mappings, dropped, strict=True):
        count = len(each) if mapping is None else int(mapping.max(initial=-1)) + 1
        if drop is not None and not 0 <= drop < count:
            raise ValueError(f"drop_idx_ contains {drop!r}, but the feature has {count} categories")
        widths.append(count - (drop is not None))
    if list(model._n_features_outs) != widths:
        raise ValueError(f"_n_features_outs must be {widths}, the numbers of categories")


def _are_positions(values: np.ndarray[Any, Any], count: int) -> bool:
    return values.dtype.kind in "iu" and (not values.size or (values.min() >= 0 and values.max() < count))


def _matrix_of_features(key: str) -> Callable[[Any], None]:
    """Return a check that an attribute is a matrix with a column for each feature."""

    def check(model: Any) -> None:
        value = getattr(model, key)
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.shape[1] != model.n_features_in_:
            raise ValueError(f"{type(model).__name__}.{key} must have a column for each feature")

    return check


def _check_imputer(model: Any) -> None:
    statistics = model.statistics_
    if not isinstance(statistics, np.ndarray) or statistics.shape != (model.n_features_in_,):
        raise ValueError("SimpleImputer.statistics_ must have a value for each feature")


def _check_neighbors(model: Any) -> None:
    features = model.n_features_in_
    shapes = (np.shape(model._fit_X), np.shape(model._mask_fit_X), np.shape(model._valid_mask))
    if len(shapes[0]) != 2 or shapes != ((shapes[0][0], features), (shapes[0][0], features), (features,)):
        raise ValueError("the training samples of KNNImputer are inconsistent")


def _check_indicator(model: Any) -> None:
    if not isinstance(model.features_, np.ndarray) or not _are_positions(model.features_, model.n_features_in_):
        raise ValueError("features_ must be positions of features")


def _check_elimination(model: Any) -> None:
    features = model.n_features_in_
    if np.shape(model.support_) != (features,) or np.shape(model.ranking_) != (features,):
        raise ValueError("support_ and ranking_ must have a value for each feature")


def _check_support(model: Any) -> None:
    support = model.support_
    if np.shape(support) != (model.n_features_in_,) or support.dtype != np.bool_:
        raise ValueError("support_ must have a truth value for each feature")


def _check_nested(*names: str) -> Callable[[Any], None]:
    """Return a check that attributes are estimators."""

    def check(model: Any) -> None:
        wrong: Sequence[str] = [name for name in names if not hasattr(getattr(model, name), "get_params")]
        if wrong:
            raise ValueError(f"{type(model).__name__}.{wrong[0]} must be an estimator")

    return check


_CHECKS: dict[str, Callable[[Any], None]] = {
    "Pipeline": _check_pipeline,
    "FeatureUnion": _check_union,
    "ColumnTransformer": _check_columns,
    "OneHotEncoder": _check_one_hot,
    "OrdinalEncoder": _check_categories,
    "TargetEncoder": _check_categories,
    "SimpleImputer": _check_imputer,
    "KNNImputer": _check_neighbors,
    "MissingIndicator": _check_indicator,
    "QuantileTransformer": _matrix_of_features("quantiles_"),
    "PCA": _matrix_of_features("components_"),
    "TruncatedSVD": _matrix_of_features("components_"),
    "RFE": _check_elimination,
    "RFECV": _check_elimination,
    "SequentialFeatureSelector": _check_support,
    "SelectFromModel": _check_nested("estimator_"),
    "FixedThresholdClassifier": _check_nested("estimator_"),
    "TransformedTargetRegressor": _check_nested("regressor_"),
}
