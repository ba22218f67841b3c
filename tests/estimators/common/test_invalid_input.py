"""Bad input is refused early, by name, in bounded time; odd but lawful input works.  Never a crash, never a
hang."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import hinge
from reference.cases import REGRESSORS, data, values
from reference.invalid_input import every_classifier, every_machine, every_regressor, machine, refused

pytestmark = pytest.mark.usefixtures("bounded_time")


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
