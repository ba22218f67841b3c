"""Bad input is refused early, by name, in bounded time; odd but lawful input works.  Never a crash, never a
hang."""

import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import hinge
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, REGRESSORS, data, values

SECONDS = 20

every_machine = pytest.mark.parametrize("name", NAMES)
every_classifier = pytest.mark.parametrize("name", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("name", REGRESSORS)


@pytest.fixture(autouse=True)
def bounded_time():
    """Whatever the input, the answer comes within seconds: an alarm interrupts Python and the core alike."""

    def too_late(signum, frame):
        raise TimeoutError(f"no answer within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def machine(name, **options):
    return getattr(hinge, name)(**{"gamma": 0.5, **PARAMETERS[name], **options})


def refused(match, exception=ValueError):
    return pytest.raises(exception, match=match)


class TestData:
    @every_machine
    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_not_finite(self, name, bad, word, form):
        X, y = data(name)
        model = machine(name).fit(X, y)
        X[3, 1] = bad
        with refused(word):
            machine(name).fit(form(X), y)
        if form is np.asarray:
            with refused(word):
                model.predict(X)

    @every_regressor
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_targets_not_finite(self, name, bad):
        X, y = data(name)
        y[3] = bad
        with refused("y"):
            machine(name).fit(X, y)

    @every_classifier
    def test_labels_not_finite(self, name):
        X, y = data(name)
        with refused("y"):
            machine(name).fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))

    @every_machine
    def test_no_samples(self, name):
        with refused("0 sample"):
            machine(name).fit(np.empty((0, 3)), np.empty(0))

    @every_machine
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_no_features(self, name, form):
        _, y = data(name)
        with refused("0 feature"):
            machine(name).fit(form(np.empty((len(y), 0))), y)

    @every_classifier
    def test_one_class(self, name):
        X, y = data(name)
        with refused("class"):
            machine(name).fit(X, np.zeros_like(y))

    @every_classifier
    def test_one_sample_is_one_class(self, name):
        with refused("class|sample"):
            machine(name).fit([[1.0, 2.0]], [1])

    @pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
    def test_one_sample_is_enough_for_a_function(self, name):
        model = machine(name).fit([[1.0, 2.0]], [5.0])
        answer = model.predict([[1.0, 2.0]])
        assert np.isfinite(answer).all()
        if name != "OneClassSVM":
            assert answer[0] == pytest.approx(5.0, abs=0.11)

    @every_machine
    def test_identical_samples(self, name):
        _, y = data(name)
        model = machine(name).fit(np.ones((len(y), 2)), y)
        assert np.isfinite(values(model, np.ones((2, 2)))).all()

    @every_machine
    def test_shapes(self, name):
        X, y = data(name)
        with refused("2D array|[12]-?[dD]"):
            machine(name).fit(X[:, 0], y)
        with refused("3|dim"):
            machine(name).fit(X[:, :, None], y)
        with refused("scalar|0|array"):
            machine(name).fit(3.0, y)
        if name != "OneClassSVM":
            with refused("inconsistent|samples"):
                machine(name).fit(X, y[:-1])
            with refused("y|1d"):
                machine(name).fit(X, np.c_[y, y])
            with refused("y"):
                machine(name).fit(X, None)

    @every_machine
    def test_types(self, name):
        X, y = data(name)
        with refused("(?i)complex"):
            machine(name).fit(X + 1j, y)
        with refused("could not convert|numeric|float"):
            machine(name).fit(np.array([["a", "b", "c"]] * len(y)), y)
        mixed = X.astype(object)
        with refused("float|number|str", (ValueError, TypeError)):
            mixed[0, 0] = {"not": "a number"}
            machine(name).fit(mixed, y)
        np.testing.assert_allclose(
            values(machine(name).fit(X.astype(object), y), X), values(machine(name).fit(X, y), X), atol=1e-6
        )

    @every_regressor
    def test_target_types(self, name):
        X, y = data(name)
        with refused("y|float|complex", (ValueError, TypeError)):
            machine(name).fit(X, np.array(["a"] * len(y)))
        with refused("(?i)y|complex", (ValueError, TypeError)):
            machine(name).fit(X, y + 1j)

    @every_classifier
    def test_continuous_labels(self, name):
        X, y = data(name)
        with refused("label type|continuous"):
            machine(name).fit(X, y + 0.123 * np.arange(len(y)))

    @every_machine
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
    def test_numbers_near_overflow(self, name, kernel):
        """Finite, but their products are not: an error or finite answers, and no hang."""
        X, y = data(name)
        huge = X * 1e200
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = values(machine(name, kernel=kernel, max_time=5.0).fit(huge, y), huge)
            except ValueError as refusal:
                answer = str(refusal)
        assert "finite" in answer if isinstance(answer, str) else np.isfinite(answer).all()


PARAMETER_CASES = [
    *[("C", value) for value in (0, -1.0, np.nan, "much", None)],
    *[("nu", value) for value in (0, -0.1, 1.1, np.nan, "half")],
    *[("epsilon", value) for value in (-0.1, np.nan, "thin")],
    *[("gamma", value) for value in (-1.0, np.nan, "wide", None)],
    *[("tol", value) for value in (0, -1e-3, np.nan, "fine")],
    *[("kernel", value) for value in ("radial", None, 3)],
    *[("degree", value) for value in (-1, "three")],
    *[("coef0", value) for value in (np.nan, np.inf, "none")],
    *[("cache_size", value) for value in (0, -1, np.nan, "large")],
    *[("max_iter", value) for value in (-2, 1.5, "few")],
    *[("max_time", value) for value in (-1.0, np.nan, "long")],
    *[("shrinking", value) for value in ("yes", 7)],
    *[("solver", value) for value in ("simplex", 3, object())],
    *[("class_weight", value) for value in ("unbalanced", {0: -1.0}, {0: np.nan})],
    *[("decision_function_shape", value) for value in ("ovx",)],
    *[("loss", value) for value in ("zero_one",)],
    *[("balance", value) for value in ("both",)],
    *[("warm_start", value) for value in ("yes",)],
    *[("n_jobs", value) for value in ("all", 1.5)],
]
IRRELEVANT = {"poly": ("degree", "coef0")}


class TestParameters:
    @every_machine
    @pytest.mark.parametrize(("parameter", "value"), PARAMETER_CASES, ids=lambda v: str(v)[:20])
    def test_is_named(self, name, parameter, value):
        if parameter not in getattr(hinge, name)().get_params():
            pytest.skip(f"{name} has no {parameter}")
        X, y = data(name)
        options = dict(kernel="poly") if parameter in IRRELEVANT["poly"] else {}
        with refused(rf"\b{parameter}\b", (ValueError, TypeError)):
            machine(name, **options, **{parameter: value}).fit(X, y)

    @every_machine
    def test_refusal_leaves_no_model(self, name):
        X, y = data(name)
        model = machine(name, tol=-1)
        with refused("tol"):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)

    @every_machine
    def test_constructor_refuses_nothing(self, name):
        """scikit-learn's rule: parameters are looked at in fit."""
        assert machine(name, tol="later").tol == "later"
        with pytest.raises(TypeError, match="thickness"):
            getattr(hinge, name)(thickness=1)


class TestWeights:
    @every_machine
    def test_wrong_length(self, name):
        X, y = data(name)
        for wrong in (np.ones(len(y) - 1), np.ones((len(y), 2)), np.ones(0)):
            with refused("sample_weight"):
                machine(name).fit(X, y, sample_weight=wrong)

    @every_machine
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_not_finite(self, name, bad):
        X, y = data(name)
        weight = np.ones(len(y))
        weight[4] = bad
        with refused("(?i)weight"):
            machine(name).fit(X, y, sample_weight=weight)

    @every_machine
    def test_negative(self, name):
        """Unlike scikit-learn, which leaves such samples out without a word."""
        X, y = data(name)
        with refused("(?i)sample_weight.*negative"):
            machine(name).fit(X, y, sample_weight=np.where(np.arange(len(y)) == 7, -0.5, 1.0))

    @every_machine
    @pytest.mark.parametrize("constant", [0.0, -1.0])
    def test_nothing_left(self, name, constant):
        X, y = data(name)
        with refused("(?i)weight"):
            machine(name).fit(X, y, sample_weight=np.full(len(y), constant))

    @every_classifier
    def test_one_class_left(self, name):
        X, y = data(name)
        with refused("class|nu is infeasible"):
            machine(name).fit(X, y, sample_weight=(y == 1).astype(float))

    @every_machine
    def test_not_numbers(self, name):
        X, y = data(name)
        with refused("(?i)weight|float", (ValueError, TypeError)):
            machine(name).fit(X, y, sample_weight=["heavy"] * len(y))


class TestSparse:
    @every_machine
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    @pytest.mark.parametrize(
        "how", ["unsorted", "duplicates", "long indices", "explicit zeros", "everything"]
    )
    @pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
    def test_odd_but_lawful(self, name, kernel, how, container):
        X, y = data(name)
        X[np.abs(X) < 0.4] = 0
        odd = oddly(container(X), how)
        before = [part.copy() for part in (odd.data, odd.indices, odd.indptr)]
        thin = machine(name, kernel=kernel, tol=1e-6).fit(odd, y)
        dense = machine(name, kernel=kernel, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(values(thin, odd), values(dense, X), rtol=1e-4, atol=1e-4)
        for now, then in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
            np.testing.assert_array_equal(now, then)
            assert now.dtype == then.dtype

    @pytest.mark.parametrize(
        "damage",
        [
            "X.indices[0] = 10**6",
            "X.indices[0] = -5",
            "X.indptr[3] = 10**7",
            "X.indptr[3] = X.indptr[4] + 1",
            "X.indptr[-1] = 2 * X.nnz",
        ],
    )
    def test_damaged_is_refused_not_followed(self, damage):
        """In a process of its own: reading beyond the arrays would take this one along."""
        code = f"""
            import numpy as np, scipy.sparse, hinge
            X = scipy.sparse.random(30, 8, density=0.5, random_state=0, format="csr")
            {damage}
            try:
                hinge.SVC(gamma=1.0, max_time=5).fit(X, np.arange(30) % 2)
            except (ValueError, IndexError) as error:
                print("refused:", error)
        """
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=SECONDS
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout.startswith("refused")

    @every_machine
    def test_precomputed_must_be_dense(self, name):
        _, y = data(name)
        with refused("(?i)sparse", (TypeError, ValueError)):
            machine(name, kernel="precomputed").fit(sparse.eye(len(y)).tocsr(), y)

    @every_machine
    def test_trained_dense_asked_sparse(self, name):
        X, y = data(name)
        with refused("sparse"):
            machine(name).fit(X, y).predict(sparse.csr_matrix(X))


def oddly(X, how):
    """The same matrix, stored as no library would, but as users do."""
    if how in ("duplicates", "everything"):
        X = type(X)((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
        assert not X.has_canonical_format
    if how in ("explicit zeros", "everything"):
        grid = X.copy()
        grid.data[::7] = 0.0
        # zeros are added beside the values: each keeps its place, and a stored 0 comes with it
        data, indices, indptr = [], [], [0]
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            data += [*X.data[part], 0.0]
            indices += [*X.indices[part], 2]
            indptr.append(len(data))
        X = type(X)((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)
    if how in ("unsorted", "everything"):
        reverse = np.concatenate(
            [np.arange(b - 1, a - 1, -1) for a, b in zip(X.indptr, X.indptr[1:], strict=False)]
        )
        X = type(X)((X.data[reverse], X.indices[reverse], X.indptr), shape=X.shape)
        X.has_sorted_indices = False
    if how in ("long indices", "everything"):
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


class TestKernels:
    @every_machine
    @pytest.mark.parametrize(
        "answer",
        [np.ones((3, 3)), np.ones(60), np.ones((60, 59)), np.ones((60, 60, 1)), 1.0, None, "no"],
        ids=["too small", "flat", "not square", "deep", "scalar", "None", "text"],
    )
    def test_callable_of_wrong_shape(self, name, answer):
        X, y = data(name)
        with refused("(?i)kernel", (ValueError, TypeError)):
            machine(name, kernel=lambda A, B: answer).fit(X, y)

    @every_machine
    def test_callable_of_wrong_shape_at_predict(self, name):
        X, y = data(name)

        def only_square(A, B):
            return (A @ B.T)[: len(B)]

        model = machine(name, kernel=only_square).fit(X, y)
        with refused("(?i)kernel"):
            model.predict(np.r_[X, X])

    @every_machine
    def test_callable_that_raises_is_heard(self, name):
        X, y = data(name)

        def broken(A, B):
            raise ZeroDivisionError("from the kernel")

        with pytest.raises(ZeroDivisionError, match="from the kernel"):
            machine(name, kernel=broken).fit(X, y)

    @every_machine
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_callable_that_is_not_finite(self, name, bad):
        X, y = data(name)

        def spoiled(A, B):
            K = A @ B.T
            K[0, 0] = bad
            return K

        with refused("(?i)finite|nan|inf"):
            machine(name, kernel=spoiled).fit(X, y)

    @every_machine
    def test_precomputed_must_be_square(self, name):
        _, y = data(name)
        with refused("(?i)square|precomputed"):
            machine(name, kernel="precomputed").fit(np.ones((len(y), len(y) - 1)), y)

    @every_machine
    def test_precomputed_needs_a_column_per_sample_at_predict(self, name):
        X, y = data(name)
        model = machine(name, kernel="precomputed").fit(X @ X.T, y)
        with refused("(?i)shape|feature|column|number"):
            model.predict(X @ X[:-1].T)


class TestNu:
    """ν beyond its range is refused, with the range, before any kernel is computed."""

    @staticmethod
    def counting_kernel():
        def kernel(A, B):
            kernel.calls += 1
            return A @ B.T

        kernel.calls = 0
        return kernel

    def test_classification(self):
        X, _ = data("NuSVC", n=100)
        y = (np.arange(100) < 30).astype(int)
        kernel = self.counting_kernel()
        with refused(r"(?s)nu.*infeasible.*0\.6\b"):
            machine("NuSVC", kernel=kernel, nu=0.7).fit(X, y)
        assert kernel.calls == 0
        machine("NuSVC", kernel=kernel, nu=0.6).fit(X, y)

    def test_classification_by_weight(self):
        X, y = data("NuSVC", n=100)
        kernel = self.counting_kernel()
        with refused(r"(?s)nu.*0\.5\b"):
            machine("NuSVC", kernel=kernel, nu=0.6).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
        assert kernel.calls == 0

    def test_any_pair_of_classes(self):
        X, _ = data("NuSVC", n=100)
        y = np.repeat([0, 1, 2], [45, 45, 10])
        kernel = self.counting_kernel()
        with refused(r"(?s)nu.*infeasible"):
            machine("NuSVC", kernel=kernel, nu=0.5).fit(X, y)
        assert kernel.calls == 0

    @pytest.mark.parametrize("balance", ["class", "min"])
    def test_balanced_variants_admit_every_nu(self, balance):
        X, _ = data("NuSVC", n=100)
        y = (np.arange(100) < 30).astype(int)
        machine("NuSVC", nu=0.9, balance=balance).fit(X, y)


class TestPredict:
    @every_machine
    def test_before_fit(self, name):
        X, y = data(name)
        methods = ["predict"] + (["decision_function"] if name not in REGRESSORS else [])
        for method in methods:
            with pytest.raises(NotFittedError):
                getattr(machine(name), method)(X)
        with pytest.raises(NotFittedError):
            machine(name).certify(X, y)

    @every_machine
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_other_features(self, name, form):
        X, y = data(name)
        model = machine(name).fit(form(X), y)
        for other in (X[:, :2], np.c_[X, X]):
            with refused("features"):
                model.predict(form(other))

    @every_machine
    def test_no_samples(self, name):
        X, y = data(name)
        with refused("0 sample"):
            machine(name).fit(X, y).predict(X[:0])

    @every_machine
    def test_certify_other_data(self, name):
        """A certificate speaks of the training data; other shapes are refused."""
        X, y = data(name)
        model = machine(name).fit(X, y)
        with refused("sample|feature|shape"):
            model.certify(X[:-1], y[:-1])
        with refused("feature"):
            model.certify(X[:, :2], y)
