"""Classes of scikit-learn that may appear in a model file, with the attributes that a fitted object has.

A class is added by an entry in `STEPS`. `hinge.io.steps.checks` checks that the attributes belong together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What an attribute holds: numbers of every feature; numbers of every feature, or None; anything.
Kind = Literal["features", "optional features", "any"]


@dataclass(frozen=True)
class Step:
    """A class of scikit-learn.

    Attributes
    ----------
    module : str
    fitted : dict
        The attributes that every fitted object has.
    possible : tuple of str
        Attributes that a fitted object may have, depending on its parameters and the version of scikit-learn.
    """

    module: str
    fitted: dict[str, Kind]
    possible: tuple[str, ...] = ()


def _any(*names: str) -> dict[str, Kind]:
    return dict.fromkeys(names, "any")


#: Selectors by a univariate score.
_UNIVARIATE = ("SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe", "GenericUnivariateSelect")

_SCORES: dict[str, Kind] = {"scores_": "features"}
_PREPROCESSING, _IMPUTE, _SELECTION = "sklearn.preprocessing", "sklearn.impute", "sklearn.feature_selection"
_ENCODED = ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings", "_missing_indices")

STEPS: dict[str, Step] = {
    "Pipeline": Step("sklearn.pipeline", {}, ("transform_input",)),
    "FeatureUnion": Step("sklearn.pipeline", {}),
    "ColumnTransformer": Step(
        "sklearn.compose",
        _any("transformers_", "output_indices_", "sparse_output_", "_columns", "_remainder"),
        ("_n_features", "_transformer_to_input_indices", "_name_to_fitted_passthrough"),
    ),
    "TransformedTargetRegressor": Step("sklearn.compose", _any("regressor_", "transformer_", "_training_dim")),
    "FrozenEstimator": Step("sklearn.frozen", {}),
    "FixedThresholdClassifier": Step("sklearn.model_selection", _any("estimator_")),
    # scalers
    "StandardScaler": Step(
        _PREPROCESSING,
        dict.fromkeys(("scale_", "mean_", "var_"), "optional features"),
    ),
    "MinMaxScaler": Step(
        _PREPROCESSING,
        dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), "features"),
    ),
    "MaxAbsScaler": Step(_PREPROCESSING, {"scale_": "features", "max_abs_": "features"}),
    "RobustScaler": Step(_PREPROCESSING, {"center_": "optional features", "scale_": "optional features"}),
    "Normalizer": Step(_PREPROCESSING, {}),
    "Binarizer": Step(_PREPROCESSING, {}),
    "QuantileTransformer": Step(_PREPROCESSING, _any("n_quantiles_", "references_", "quantiles_")),
    "PowerTransformer": Step(_PREPROCESSING, {"lambdas_": "features"}, ("_scaler",)),
    "PolynomialFeatures": Step(
        _PREPROCESSING, _any("n_output_features_"), ("_min_degree", "_max_degree", "_n_out_full")
    ),
    "FunctionTransformer": Step(_PREPROCESSING, {}),
    # encoders
    "OneHotEncoder": Step(
        _PREPROCESSING,
        _any("categories_", "drop_idx_", "_n_features_outs"),
        (*_ENCODED, "_drop_idx_after_grouping"),
    ),
    "OrdinalEncoder": Step(_PREPROCESSING, _any("categories_"), _ENCODED),
    "TargetEncoder": Step(
        _PREPROCESSING,
        _any("categories_", "encodings_", "target_mean_", "target_type_"),
        (*_ENCODED, "classes_"),
    ),
    # imputers
    "SimpleImputer": Step(_IMPUTE, _any("statistics_"), ("indicator_", "_fit_dtype", "_fill_dtype")),
    "KNNImputer": Step(_IMPUTE, _any("_fit_X", "_mask_fit_X", "_valid_mask"), ("indicator_",)),
    "MissingIndicator": Step(_IMPUTE, _any("features_"), ("_precomputed", "_n_features")),
    # selectors and projections
    "VarianceThreshold": Step(_SELECTION, {"variances_": "features"}),
    **{name: Step(_SELECTION, _SCORES, ("pvalues_",)) for name in _UNIVARIATE},
    "SelectFromModel": Step(_SELECTION, _any("estimator_"), ("max_features_",)),
    "RFE": Step(_SELECTION, _any("estimator_", "n_features_", "support_", "ranking_"), ("classes_",)),
    "RFECV": Step(
        _SELECTION, _any("estimator_", "n_features_", "support_", "ranking_"), ("cv_results_", "classes_")
    ),
    "SequentialFeatureSelector": Step(_SELECTION, _any("n_features_to_select_", "support_")),
    "PCA": Step(
        "sklearn.decomposition",
        {**_any("components_", "explained_variance_"), "mean_": "features"},
        ("explained_variance_ratio_", "singular_values_", "noise_variance_", "n_samples_", "n_components_")
        + ("_fit_svd_solver",),
    ),
    "TruncatedSVD": Step(
        "sklearn.decomposition",
        _any("components_"),
        ("explained_variance_", "explained_variance_ratio_", "singular_values_"),
    ),
}

#: Attributes that every fitted object may have.
COMMON = ("n_features_in_", "n_samples_seen_", "feature_names_in_", "_sklearn_output_config")

#: Functions of scikit-learn that may be parameters of these classes.
FUNCTIONS: dict[str, str] = dict.fromkeys(
    ("f_classif", "f_regression", "chi2", "mutual_info_classif", "mutual_info_regression", "r_regression"),
    "sklearn.feature_selection",
)
