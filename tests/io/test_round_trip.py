"""Loaded models and values are identical to the bit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import clone

import hinge
from hinge.io import registry
from hinge.kernels import (
    RBF,
    BSpline,
    FunctionKernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)
from hinge.problems import Certificate, History, Status
from hinge.solvers import SMO
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, data, values

every_estimator = pytest.mark.parametrize("name", NAMES)

KERNELS = [
    Linear(),
    Polynomial(2, 0.5, 1.0),
    RBF(),
    RBF(np.float32(0.3)),
    Sigmoid(0.1, 0.2),
    Laplacian("auto"),
    BSpline(3, 0.1),
    RBF(0.5) + 2 * Linear(),
    RBF(0.5) * Polynomial(2) * Laplacian(0.1) + 0.5 * (Linear() + RBF("scale")),
]


def make(name, **options):
    return getattr(hinge, name)(**{**PARAMETERS[name], **options})


def through_file(model, path):
    """Save, load, and save again; both files must be identical."""
    hinge.save(model, path)
    loaded = hinge.load(path)
    again = path.with_name("again.hinge")
    hinge.save(loaded, again)
    assert again.read_bytes() == path.read_bytes()
    again.unlink()
    return loaded


def assert_identical(a, b):
    """Equal in type and in every bit."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray) and a.dtype != object:
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    elif isinstance(a, np.ndarray):
        assert a.shape == b.shape
        assert_identical(a.ravel().tolist(), b.ravel().tolist())
    elif sparse.issparse(a):
        assert a.shape == b.shape
        for piece in ("data", "indices", "indptr"):
            assert_identical(getattr(a, piece), getattr(b, piece))
    elif isinstance(a, np.generic):
        assert (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
    elif isinstance(a, float):
        assert a.hex() == b.hex()
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_identical(x, y)
    elif isinstance(a, dict):
        assert_identical(list(a), list(b))
        assert_identical(list(a.values()), list(b.values()))
    elif type(a) in registry.RECORDS.values():
        assert_identical(vars(a), vars(b))
    else:
        assert a == b


def assert_same_model(model, loaded, X):
    assert type(loaded) is type(model)
    attributes = vars(model)
    assert set(vars(loaded)) == set(attributes)
    for key, value in attributes.items():
        assert_identical(value, vars(loaded)[key])
    assert_identical(model.predict(X), loaded.predict(X))
    assert_identical(values(model, X), values(loaded, X))


class TestEstimators:
    @every_estimator
    @pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_matrix, sparse.csr_array])
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "laplacian"])
    def test_formats_of_data(self, name, kind, kernel, path):
        X, y = data(name)
        X = kind(X) if kind in (sparse.csr_matrix, sparse.csr_array) else X.astype(kind)
        model = make(name, kernel=kernel).fit(X, y)
        assert_same_model(model, through_file(model, path), X)

    @pytest.mark.parametrize("name", CLASSIFIERS)
    @pytest.mark.parametrize(
        "labels",
        [
            np.array([10, -3, 7]),
            np.array(["no", "yes", "žluťoučký 🐎"]),
            np.array(["a", "bb", "ccc"], dtype=object),
            np.array([b"a", b"b", b"c"]),
            np.array([0.5, 1.5, np.pi]),
        ],
        ids=["int", "text", "object", "bytes", "float"],
    )
    def test_labels(self, name, labels, path):
        X, y = data(name, classes=3)
        if labels.dtype.kind in "Sf":  # scikit-learn accepts neither as labels
            y = y.astype(float) if labels.dtype.kind == "f" else y
            model = make(name).fit(X, y)
            model.classes_ = labels
        else:
            model = make(name, decision_function_shape="ovo").fit(X, labels[y])
        assert_same_model(model, through_file(model, path), X)

    def test_boolean_labels(self, path):
        X, y = data("SVC")
        model = make("SVC").fit(X, y == 1)
        assert_same_model(model, through_file(model, path), X)

    @every_estimator
    def test_precomputed(self, name, path):
        X, y = data(name)
        K = X @ X.T
        for kernel in ("precomputed", Precomputed()):
            model = make(name, kernel=kernel).fit(K, y)
            assert_same_model(model, through_file(model, path), K)

    @every_estimator
    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_kernel_objects(self, name, kernel, path):
        X, y = data(name)
        model = make(name, kernel=kernel).fit(X, y)
        assert_same_model(model, through_file(model, path), X)

    def test_data_frame(self, path):
        X, y = data("SVC")
        frame = pd.DataFrame(X, columns=["length", "width", "größe"])
        model = make("SVC").fit(frame, y)
        loaded = through_file(model, path)
        assert_same_model(model, loaded, frame)
        assert loaded.feature_names_in_.tolist() == ["length", "width", "größe"]

    def test_options(self, path):
        X, y = data("SVC", classes=3)
        solver = SMO(tol=1e-5, stop="gap", max_time=100.0, cache_size=10)
        weights = {np.int64(0): 1.0, 1: np.float32(2.0), 2: 3}
        model = make("SVC", solver=solver, class_weight=weights, warm_start=True, random_state=0)
        model.fit(X, y)
        loaded = through_file(model, path)
        assert_same_model(model, loaded, X)
        assert loaded.solver == solver
        assert loaded.fit(X, y).status_ is Status.SOLVED

    def test_stopped_early(self, path):
        X, y = data("SVC")
        with pytest.warns(UserWarning, match="max_iter"):
            model = make("SVC", max_iter=2).fit(X, y)
        loaded = through_file(model, path)
        assert_same_model(model, loaded, X)
        assert loaded.status_ is Status.MAX_ITER

    def test_certificate_still_holds(self, path):
        X, y = data("SVR")
        model = make("SVR").fit(X, y)
        assert_identical(through_file(model, path).certify(X, y), model.certify(X, y))

    @every_estimator
    def test_unfitted(self, name, path):
        model = make(name, kernel=RBF(2.0))
        loaded = through_file(model, path)
        assert vars(loaded) == vars(model)
        assert loaded.fit(*data(name)).status_ is Status.SOLVED

    @every_estimator
    def test_loaded_models_can_be_pickled_and_cloned(self, name, path):
        X, y = data(name)
        model = make(name, kernel=RBF(0.5) + Linear()).fit(X, y)
        loaded = through_file(model, path)
        for other in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(loaded))):
            assert_identical(values(other, X), values(model, X))
            assert_identical(values(through_file(other, path), X), values(model, X))
        assert clone(loaded).get_params() == clone(model).get_params() == model.get_params()
        assert_identical(values(clone(loaded).fit(X, y), X), values(model, X))

    def test_files_of_equal_fits_are_identical(self, path):
        """Except for the column of seconds in the history."""
        X, y = data("SVC", classes=3)
        contents = []
        for _ in range(2):
            model = make("SVC").fit(X, y)
            for history in model.history_:
                history.seconds[:] = 0
            hinge.save(model, path)
            contents.append(path.read_bytes())
        assert contents[0] == contents[1]

    def test_shared_memory_is_written_once(self, path):
        X, y = data("SVC", n=400, features=50)
        model = make("SVC").fit(X, y)
        assert model.support_vectors_ is model.model_.vectors
        loaded = through_file(model, path)
        assert loaded.support_vectors_ is loaded.model_.vectors
        assert path.stat().st_size < 1.2 * model.support_vectors_.nbytes + 40_000

    def test_model_after_a_failed_fit(self, path):
        X, y = data("SVC")
        model = make("SVC").fit(X, y)
        del model.model_
        with pytest.raises(ValueError, match=r"inconsistent.*fit again"):
            hinge.save(model, path)
        assert not path.exists()


plain_dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.timedelta64_dtypes(),
)
arrays = hnp.arrays(plain_dtypes, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    hnp.arrays(plain_dtypes, ()).map(lambda array: array[()]),
)
trees = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(scalars, inner, max_size=4)
    ),
    max_leaves=12,
)


class TestValues:
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(value=trees)
    def test_nested_values(self, carrier, path, value):
        model = carrier(value)
        model.found_ = [value]
        loaded = through_file(model, path)
        assert_identical(loaded.value, value)
        assert_identical(loaded.found_, [value])

    @pytest.mark.parametrize(
        "value",
        [
            float("nan"),
            float("-inf"),
            -0.0,
            5e-324,
            2**4000,
            '\udc80\0 quoted "text"',
            np.str_(""),
            np.str_("a\0"),
            np.bytes_(b"a\0"),
            np.float16(0.1),
            np.longdouble(1) / 3,
            np.datetime64("2020-01-01T00:00", "ns"),
            np.datetime64("NaT"),
            np.array(3.5),
            np.empty((0, 7)),
            np.zeros((2, 3), order="F"),
            np.arange(5, dtype=">i4"),
            np.array(["a", None, True, 3, 0.5, np.int8(3), float("nan")], dtype=object),
            np.array([["a"], ["b"]], dtype=object),
            np.array("zero dimensions", dtype=object),
            np.array([], dtype=object),
            {0: 1.0, "a": 2, None: 3, 0.5: 4, np.int64(7): 5, np.str_("b"): 6},
            [Status.SOLVED, Status.NUMERICAL],
            ((), [], {}, ("nested", [({},)])),
        ],
        ids=repr,
    )
    def test_special_values(self, carrier, path, value):
        assert_identical(through_file(carrier(value), path).value, value)

    @pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
    @pytest.mark.parametrize("index", [np.int32, np.int64])
    @pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (7, 3), (3, 2**31 - 1)])
    def test_sparse(self, carrier, path, kind, index, shape):
        rows, columns = shape
        count = rows if columns else 0
        matrix = kind(shape, dtype=np.float32)
        matrix.data = np.arange(count, dtype=np.float32)
        matrix.indices = np.full(count, max(columns - 1, 0), dtype=index)
        matrix.indptr = np.arange(rows + 1, dtype=index) if count else np.zeros(rows + 1, dtype=index)
        assert_identical(through_file(carrier(matrix), path).value, matrix)

    def test_unsorted_sparse_matrix_with_unused_memory(self, carrier, path):
        matrix = sparse.csr_array((2, 4))
        matrix.data, matrix.indices = np.arange(9.0), np.array([3, 1, 2, 1, 0, 9, 9, 9, 9])
        matrix.indptr = np.array([0, 2, 5])
        loaded = through_file(carrier(matrix), path).value
        assert loaded.nnz == 5
        np.testing.assert_array_equal(loaded.toarray(), [[0, 1, 0, 0], [4, 3, 2, 0]])

    def test_memory_layout(self, carrier, path):
        """The layout can change rounding errors of products."""
        matrix = np.arange(12.0).reshape(3, 4)
        for value in (matrix, matrix.T, matrix[::2, ::-1]):
            loaded = through_file(carrier(value), path).value
            np.testing.assert_array_equal(loaded, value)
            if value.flags.forc:
                assert loaded.flags.c_contiguous == value.flags.c_contiguous
            assert loaded.flags.writeable

    def test_memory_maps(self, carrier, path, tmp_path):
        value = np.memmap(tmp_path / "map", dtype=np.float64, mode="w+", shape=(5, 2))
        value[:] = 3
        loaded = through_file(carrier(value), path).value
        assert type(loaded) is np.ndarray
        np.testing.assert_array_equal(loaded, value)

    def test_records(self, carrier, path):
        columns = {name: np.arange(3.0) for name in History.__dataclass_fields__}
        columns |= {"iteration": np.arange(3), "active": np.arange(3), "exact": np.array([False, True, True])}
        certificate = Certificate(1.0, 0.5, 0.5, np.inf, 0.1, np.float64(0.0), np.zeros(1), 1.0, 0.5, None)
        value = [certificate, History(**columns), SMO(tol=1e-5, max_time=3), *KERNELS, Precomputed()]
        assert_identical(through_file(carrier(value), path).value, value)

    def test_all_kernels_except_functions_are_registered(self):
        def subclasses(cls):
            return {cls, *(deeper for sub in cls.__subclasses__() for deeper in subclasses(sub))}

        known = subclasses(hinge.kernels.Kernel)
        kernels = {
            cls for cls in known if not cls.__abstractmethods__ and "__dataclass_fields__" in vars(cls)
        }
        own = {cls for cls in kernels if cls.__module__.startswith("hinge.")}
        assert own - set(registry.RECORDS.values()) == {FunctionKernel}
        assert all(registry.fields_of(cls) is not None for cls in registry.RECORDS.values())

    def test_random_state_may_be_a_number(self, carrier, path):
        assert through_file(carrier(np.int64(3)), path).value == 3


def test_attributes_of_former_versions_have_their_present_names(path):
    X, y = data("SVC")
    model = hinge.SVC(warm_start=True).fit(X, y)
    last = vars(model).pop("_last_solution")
    model._stand, model._error = last, None
    hinge.save(model, path)
    loaded = hinge.load(path)
    np.testing.assert_array_equal(loaded._last_solution.alpha[0], last.alpha[0])
    assert not hasattr(loaded, "_stand")
    assert not hasattr(loaded, "_error")
