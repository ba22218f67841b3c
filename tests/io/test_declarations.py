"""Every attribute of every class in a model file is declared, and values that contradict it are rejected."""

import dataclasses

import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

import hinge
from hinge.io.checks.estimators import ATTRIBUTES
from hinge.io.checks.fields import Integers, Items, Matrix, Names, Number, Numbers, Part, Shape, Size
from hinge.io.checks.records import RECORDS, check_record
from hinge.io.estimators import check_fitted, split
from hinge.io.registry import ESTIMATORS, SAVED, WHOLE

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=20) > 0, 1, -1)

#: Attributes whose length no other attribute determines.
FREE = ("n_iter_", "_n_support", "pair_coef_", "transduction_", "unlabeled_cost_", "support_vectors_",
        "function_coef_", ("RegularizationNetwork", "_beta"))  # fmt: skip


def fitted(name):
    """An estimator of hinge, fitted to a few samples."""
    cls = ESTIMATORS[name]
    options = {key: 0.5 for key in cls().get_params() if key == "gamma"}
    return cls(**options).fit(X, Y)


def test_every_class_is_declared():
    assert set(ATTRIBUTES) == set(ESTIMATORS)
    assert set(WHOLE) <= set(RECORDS)
    assert set(ATTRIBUTES) | set(WHOLE) <= SAVED


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_every_attribute_of_an_estimator_is_declared(name):
    declared = ATTRIBUTES[name]
    attributes = split(fitted(name))[1]
    assert set(declared.fitted) <= set(attributes)
    assert set(attributes) <= set(declared.fitted) | set(declared.possible)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_every_field_of_a_result_is_declared(name):
    assert {field.name for field in dataclasses.fields(WHOLE[name])} <= set(RECORDS[name][0])


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_damaged_attributes_are_rejected(name):
    """Each array attribute in turn gets another type, another number of dimensions and another length."""
    for key, value in split(fitted(name))[1].items():
        if not isinstance(value, np.ndarray) or value.dtype == object:
            continue
        damaged = [value.astype("<M8[s]") if value.dtype.kind in "iuf" else None, value[..., None]]
        if key not in FREE and (name, key) not in FREE and value.size:
            damaged.append(np.concatenate([value, value], axis=-1))
        for each in damaged:
            if each is None:
                continue
            model = fitted(name)
            vars(model)[key] = each
            with pytest.raises(ValueError):
                check_fitted(model)


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_models_fitted_with_zero_weights_are_valid(name):
    """Arrays of linear programs and regularization networks hold the samples with a positive weight only."""
    model = ESTIMATORS[name]()
    if not has_fit_parameter(model, "sample_weight"):
        return
    weight = np.ones(len(Y))
    weight[:4] = 0
    check_fitted(model.fit(X, Y, sample_weight=weight))


class TestPaths:
    """Paths whose arrays had a wrong type or shape were loaded, and raised an IndexError or OverflowError in use."""

    @pytest.fixture
    def path(self):
        return hinge.regularization_path(X, Y, gamma=0.5, C_min=0.1, C_max=10.0)

    @pytest.mark.parametrize(
        ("part", "key", "change"),
        [
            ("pieces", "changed", lambda a: a.astype(np.uint8)),
            ("pieces", "place", lambda a: a.astype(bool)),
            ("pieces", "margin", lambda a: a[:, None]),
            ("pieces", "start", lambda a: a[::-1].copy()),
            ("pieces", "stop", lambda a: np.where(np.arange(len(a)) == 1, np.nan, a)),
            ("pieces", "offset", lambda a: a + 1),
            ("pieces", "changed_at", lambda a: np.full_like(a, len(a))),
            ("pieces", "mu", lambda a: a[:, :0]),
            ("parametric", "group", lambda a: a + 1),
            ("parametric", "sign", lambda a: 0 * a),
            ("parametric", "total", lambda a: a[:1]),
            ("parametric", "lower", lambda a: a.astype("<f4")),
        ],
    )
    def test_damaged_parts_are_rejected(self, path, part, key, change):
        whole = getattr(path, part)
        damaged = dataclasses.replace(whole, **{key: change(getattr(whole, key))})
        check_record(path)
        with pytest.raises(ValueError, match=r"path|pieces|parametric|variables"):
            check_record(dataclasses.replace(path, **{part: damaged}))


def test_sizes_of_estimators_that_need_their_training_samples(tmp_path):
    """`certify` raised an IndexError for LPSVC and LPSVR with another `shape_fit_`."""
    for model in (hinge.LPSVC(gamma=0.5).fit(X, Y), hinge.LPSVR(gamma=0.5).fit(X, X[:, 0])):
        model.shape_fit_ = ()
        with pytest.raises(ValueError, match="shape_fit_ has 0 dimensions"):
            hinge.save(model, tmp_path / "model.hinge")


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (Numbers(("n",), 0, 1), np.array([0.0, 1.0]), [np.array([0.0, 2.0]), np.array([np.nan]), np.array([1]), [0.5]]),
        (Numbers(("n",), ascending=True), np.array([0.0, 1.0]), [np.array([1.0, 0.0]), np.array(1.0)]),
        (Numbers((2, "n"), finite=True), np.ones((2, 4)), [np.ones((3, 4)), np.full((2, 4), np.inf)]),
        (Integers(("n",), 0, 3), np.array([0, 2]), [np.array([3]), np.array([-1]), np.array([1], dtype=np.uint8)]),
        (Matrix(("n", "d")), np.ones((2, 3)), [np.ones(3), np.ones((2, 3), dtype=int), np.full((1, 1), np.nan)]),
        (Names(("n",)), np.array(["a"], dtype=object), [np.array([1], dtype=object), np.array([1])]),
        (Number(0, integer=True), 3, [True, -1, 1.0, "1"]),
        (Number(0, nan=True), float("nan"), [-1.0, None]),
        (Size("n"), 3, [np.int64(3), -1, 3.0]),
        (Shape(("n", "d")), (3, 4), [[3, 4], (3,), (3, -1), (3, 4.0)]),
        (Items(list, Number()), [1.0], [(1.0,), ["x"]]),
        (Part("Status", {}), hinge.Status.SOLVED, [0, None]),
    ],
)
def test_fields(field, good, bad):
    field.check("value", good, {})
    for each in bad:
        with pytest.raises(ValueError, match="value"):
            field.check("value", each, {})


def test_named_sizes_must_agree():
    sizes = {}
    Numbers(("n",)).check("a", np.ones(3), sizes)
    Numbers(("n+1",)).check("b", np.ones(4), sizes)
    assert sizes == {"n": 3}
    with pytest.raises(ValueError, match="b has the shape"):
        Numbers(("n+1",)).check("b", np.ones(3), sizes)
    sizes = {}
    Numbers(("n+1",)).check("b", np.ones(4), sizes)
    assert sizes == {"n": 3}
