"""Pipelines and transformers of scikit-learn in model files."""

import re
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    SelectPercentile,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
    mutual_info_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

import hinge
from hinge.io.steps.classes import STEPS


def name_of(step):
    """Return the text of a step without addresses of functions, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(step))


NUMERIC = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(), RobustScaler(), RobustScaler(with_centering=False), Normalizer(), Binarizer(),
    QuantileTransformer(n_quantiles=10), PowerTransformer(), PowerTransformer(standardize=False), PolynomialFeatures(),
    FunctionTransformer(), PCA(2), PCA(0.9), TruncatedSVD(2, random_state=0), VarianceThreshold(1e-6),
    SelectKBest(k=2), SelectKBest(mutual_info_classif, k=1), SelectPercentile(f_classif), SelectFdr(),
    SelectFromModel(hinge.LinearSVC()), RFE(hinge.LinearSVC(), n_features_to_select=2), SimpleImputer(),
    SelectFromModel(hinge.LinearSVC(penalty="l1")), RFECV(hinge.LinearSVC(), cv=3),
    SequentialFeatureSelector(hinge.LinearSVC(), n_features_to_select=2, cv=3),
    SimpleImputer(strategy="median", add_indicator=True), KNNImputer(), KNNImputer(add_indicator=True),
    FeatureUnion([("pca", PCA(1)), ("scaled", StandardScaler())]),
    ColumnTransformer([("scaled", StandardScaler(), [0, 2]), ("same", "passthrough", slice(1, 2))]),
    ColumnTransformer([("robust", RobustScaler(), [True, False, True])], remainder=MinMaxScaler()),
]  # fmt: skip
CATEGORICAL = [
    OneHotEncoder(), OneHotEncoder(drop="first", sparse_output=False), OneHotEncoder(min_frequency=14),
    OneHotEncoder(min_frequency=14, drop="if_binary"), OneHotEncoder(handle_unknown="ignore", dtype=np.float32),
    OneHotEncoder(categories=[["a", "b", "c"], ["u", "v"]]), OrdinalEncoder(),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, min_frequency=14), TargetEncoder(),
]  # fmt: skip


def samples(missing=False):
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 100.0, 0.01]
    y = np.where(X[:, 0] + X[:, 1] / 100 > 0, "a", "b")
    if missing:
        X[::7, 1] = np.nan
    return X, y


def categories():
    rng = np.random.default_rng(1)
    colors = rng.choice(["a", "b", "c"], 40, p=[0.5, 0.3, 0.2])
    return np.column_stack([colors, rng.choice(["u", "v"], 40)]).astype(object)


def frame():
    pandas = pytest.importorskip("pandas")
    X, y = samples(missing=True)
    table = pandas.DataFrame(X, columns=["u", "v", "w"])
    table["color"], table["size"] = categories().T
    return table, y


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def again(model, tmp_path):
    hinge.save(model, tmp_path / "m.hinge")
    return hinge.load(tmp_path / "m.hinge")


def takes_missing(step):
    return "Imputer" in type(step).__name__


# ---- round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", NUMERIC, ids=name_of)
def test_pipeline_predicts_the_same_after_loading(step, tmp_path):
    X, y = samples(takes_missing(step))
    model = make_pipeline(step, hinge.SVC(C=3.0)).fit(X, y)
    loaded = again(model, tmp_path)
    assert type(loaded) is Pipeline
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded[-1].certificate_.gap == model[-1].certificate_.gap


@pytest.mark.parametrize("step", [*NUMERIC, *CATEGORICAL], ids=name_of)
def test_transformer_alone_transforms_the_same_after_loading(step, tmp_path):
    X, y = samples(takes_missing(step))
    X = categories() if step in CATEGORICAL else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # features without significance
        expected = dense(step.fit(X, y).transform(X))
    loaded = again(step, tmp_path)
    assert type(loaded) is type(step)
    assert np.array_equal(dense(loaded.transform(X)), expected, equal_nan=True)
    assert vars(loaded).keys() == vars(step).keys()
    if not isinstance(step, FunctionTransformer | Binarizer | Normalizer):
        assert loaded.get_feature_names_out().tolist() == step.get_feature_names_out().tolist()


def mixed(classifier):
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore")
    columns = ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include=np.number)),
            ("words", words, make_column_selector(dtype_exclude=[np.number])),
        ]
    )
    return make_pipeline(columns, SelectKBest(k=4), classifier)


def test_mixed_types_missing_values_and_a_threshold(tmp_path):
    table, y = frame()
    model = mixed(hinge.SVC(probability=True)).fit(table, y)
    model = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.3, pos_label="b").fit(table, y)
    loaded = again(model, tmp_path)
    assert np.array_equal(loaded.predict(table), model.predict(table))
    assert np.array_equal(loaded.predict_proba(table), model.predict_proba(table))
    unseen = table.assign(color="unseen")
    assert np.array_equal(loaded.predict_proba(unseen), model.predict_proba(unseen))


def test_loaded_pipeline_can_be_fitted_again(tmp_path):
    table, y = frame()
    model = mixed(hinge.LinearSVC())
    loaded = again(model, tmp_path)
    assert np.array_equal(loaded.fit(table, y).decision_function(table), model.fit(table, y).decision_function(table))


def test_regression_with_a_transformed_target_and_output_of_data_frames(tmp_path):
    table, _ = frame()
    X, target = table[["u", "w"]], np.exp(table["u"])
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), hinge.SVR()), transformer=PowerTransformer())
    model.regressor.set_output(transform="pandas")
    loaded = again(model.fit(X, target), tmp_path)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert list(loaded.regressor_[:-1].transform(X).columns) == ["u", "w"]


def test_names_of_features_and_unfitted_pipelines_are_saved(tmp_path):
    table, y = frame()
    table = table[["u", "w"]]
    hinge.save(make_pipeline(StandardScaler(), hinge.SVC()).fit(table, y), tmp_path / "m.hinge")
    assert hinge.load(tmp_path / "m.hinge").feature_names_in_.tolist() == ["u", "w"]
    assert again(make_pipeline(StandardScaler(), hinge.SVC(C=7.0)), tmp_path).fit(*samples())[-1].C == 7.0


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_model_taken_from_a_path(kernel, tmp_path):
    X, y = samples()
    X = X / X.std(axis=0)
    data = X @ X.T if kernel == "precomputed" else X
    path = hinge.regularization_path(data, y, C_min=0.1, C_max=10.0, kernel=kernel)
    model = path.model(2.5)
    loaded = again(model, tmp_path)
    assert np.array_equal(loaded.decision_function(data), model.decision_function(data))
    assert np.array_equal(loaded.predict(data), model.predict(data))


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), "step 'logisticregression' .* is a LogisticRegression"),
        (ColumnTransformer([("odd", LogisticRegression(), [0])]), "step 'odd' .* is a LogisticRegression"),
        (make_pipeline(FunctionTransformer(np.log1p), hinge.SVC()), "func is a Python function"),
        (ColumnTransformer([("some", PCA(), lambda X: [0])]), "Python function"),
        (make_pipeline(SelectKBest(lambda X, y: X), hinge.SVC()), "score_func is a Python function"),
        (make_pipeline(PCA(random_state=np.random.RandomState(0)), hinge.SVC()), "use None or an integer"),
    ],
)
def test_unknown_steps_are_errors_that_name_them(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        hinge.save(model, tmp_path / "m.hinge")
    assert not (tmp_path / "m.hinge").exists()


class StandardScalerOfMine(StandardScaler):
    pass


StandardScalerOfMine.__name__ = "StandardScaler"


def test_class_with_the_name_of_a_known_step_is_an_error(tmp_path):
    with pytest.raises(TypeError):
        hinge.save(make_pipeline(StandardScalerOfMine(), hinge.SVC()), tmp_path / "m.hinge")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda model: setattr(model, "memory", "folder"),
        lambda model: setattr(model[0], "scale_", np.ones(2)),
        lambda model: setattr(model[0], "scale_", "text"),
        lambda model: setattr(model[0], "n_features_in_", 0),
        lambda model: setattr(model[0], "extra_", 1.0),
        lambda model: delattr(model[0], "mean_"),
        lambda model: model.steps.append(("standardscaler", hinge.SVC())),
        lambda model: model.steps.insert(0, ("first", hinge.SVC())),
        lambda model: model.steps.insert(1, ("narrow", PCA(2).fit(samples()[0]))),
    ],
)
def test_inconsistent_pipeline_is_not_saved(spoil, tmp_path):
    model = make_pipeline(StandardScaler(), hinge.SVC()).fit(*samples())
    spoil(model)
    with pytest.raises(ValueError, match="inconsistent"):
        hinge.save(model, tmp_path / "m.hinge")


@pytest.mark.parametrize(
    ("step", "spoil"),
    [
        (OneHotEncoder(), lambda step: setattr(step, "_n_features_outs", [1, 1])),
        (OneHotEncoder(), lambda step: setattr(step, "categories_", step.categories_[:1])),
        (OneHotEncoder(drop="first"), lambda step: setattr(step, "_drop_idx_after_grouping", np.array([7, 0], object))),
        (
            OneHotEncoder(min_frequency=14),
            lambda step: step._default_to_infrequent_mappings.__setitem__(0, np.arange(9)),
        ),
        (OrdinalEncoder(), lambda step: setattr(step, "categories_", "abc")),
        (SimpleImputer(strategy="most_frequent"), lambda step: setattr(step, "statistics_", np.zeros(9))),
    ],
)
def test_inconsistent_transformer_is_not_saved(step, spoil, tmp_path):
    spoil(step.fit(categories()))
    with pytest.raises(ValueError, match="inconsistent"):
        hinge.save(step, tmp_path / "m.hinge")


def test_every_known_class_is_saved_by_some_test():
    tested = {type(step).__name__ for step in [*NUMERIC, *CATEGORICAL]}
    others = {"Pipeline", "FixedThresholdClassifier", "FrozenEstimator", "TransformedTargetRegressor"}
    others |= {"MissingIndicator"}  # part of SimpleImputer(add_indicator=True)
    siblings = {name for name in STEPS if re.match("SelectF|Generic", name)}  # they share the code of SelectKBest
    assert set(STEPS) - siblings == (tested | others) - siblings


SEARCHES = [
    hinge.SVCCV(Cs=2, gammas=2, cv=3), hinge.SVCCV(Cs=2, gammas=2, cv=3, probability=True),
    hinge.SVRCV(Cs=2, gammas=2, cv=3), hinge.LinearSVCCV(Cs=2, cv=3), hinge.LinearSVRCV(Cs=2, cv=3),
]  # fmt: skip


@pytest.mark.parametrize("search", SEARCHES, ids=name_of)
def test_estimators_that_choose_their_parameters_are_saved_in_pipelines(search, tmp_path):
    X, y = samples()
    regression = "SVR" in type(search).__name__
    model = make_pipeline(StandardScaler(), search).fit(X, X[:, 0] if regression else y)
    hinge.save(model, tmp_path / "model.hinge")
    loaded = hinge.load(tmp_path / "model.hinge")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded[-1].best_params_ == model[-1].best_params_
    assert str(loaded[-1].best_score_) == str(model[-1].best_score_)
    np.testing.assert_array_equal(
        loaded[-1].cv_results_["mean_test_score"], model[-1].cv_results_["mean_test_score"]
    )
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
