"""Pipelines and scalers of scikit-learn in model files."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

import hinge

SCALERS = [
    StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MinMaxScaler((-1, 2), clip=True),
    MaxAbsScaler(),
]  # fmt: skip


def samples():
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 100.0, 0.01]
    return X, np.where(X[:, 0] + X[:, 1] / 100 > 0, "a", "b")


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_pipeline_predicts_the_same_after_loading(scaler, tmp_path):
    X, y = samples()
    model = make_pipeline(scaler, hinge.SVC(C=3.0)).fit(X, y)
    hinge.save(model, tmp_path / "m.hinge")
    loaded = hinge.load(tmp_path / "m.hinge")
    assert type(loaded) is Pipeline
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded[-1].certificate_.gap == model[-1].certificate_.gap


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_scaler_alone_transforms_the_same_after_loading(scaler, tmp_path):
    X, _ = samples()
    hinge.save(scaler.fit(X), tmp_path / "s.hinge")
    assert np.array_equal(hinge.load(tmp_path / "s.hinge").transform(X), scaler.transform(X))


def test_names_of_features_and_unfitted_pipelines_are_saved(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = samples()
    frame = pandas.DataFrame(X, columns=["u", "v", "w"])
    hinge.save(make_pipeline(StandardScaler(), hinge.SVC()).fit(frame, y), tmp_path / "m.hinge")
    assert hinge.load(tmp_path / "m.hinge").feature_names_in_.tolist() == ["u", "v", "w"]
    hinge.save(make_pipeline(StandardScaler(), hinge.SVC(C=7.0)), tmp_path / "m.hinge")
    assert hinge.load(tmp_path / "m.hinge").fit(X, y)[-1].C == 7.0


def test_unknown_step_is_an_error_that_names_it(tmp_path):
    with pytest.raises(TypeError, match="PCA"):
        hinge.save(make_pipeline(PCA(), hinge.SVC()), tmp_path / "m.hinge")
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
    ],
)
def test_inconsistent_pipeline_is_not_saved(spoil, tmp_path):
    model = make_pipeline(StandardScaler(), hinge.SVC()).fit(*samples())
    spoil(model)
    with pytest.raises(ValueError, match="inconsistent"):
        hinge.save(model, tmp_path / "m.hinge")
