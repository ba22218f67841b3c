"""Invalid data and parameters raise an error that names the argument, in bounded time; unusual valid input works."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import hinge
from reference.cases import NAMES, REGRESSORS, data, values
from reference.invalid_input import every_classifier, every_estimator, every_regressor, make, rejected

pytestmark = pytest.mark.usefixtures("bounded_time")


class TestData:
    @every_estimator
    @pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_values_that_are_not_finite(self, name, bad, word, form):
        X, y = data(name)
        model = make(name).fit(X, y)
        X[3, 1] = bad
        with rejected(word):
            make(name).fit(form(X), y)
        if form is np.asarray:
            with rejected(word):
                model.predict(X)

    @every_regressor
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_targets_that_are_not_finite(self, name, bad):
        X, y = data(name)
        y[3] = bad
        with rejected("y"):
            make(name).fit(X, y)

    @every_classifier
    def test_labels_that_are_not_finite(self, name):
        X, y = data(name)
        with rejected("y"):
            make(name).fit(X, np.where(np.arange(len(y)) == 3, np.nan, y))

    @every_estimator
    def test_data_without_samples_are_rejected(self, name):
        with rejected("0 sample"):
            make(name).fit(np.empty((0, 3)), np.empty(0))

    @every_estimator
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_data_without_features_are_rejected(self, name, form):
        _, y = data(name)
        with rejected("0 feature"):
            make(name).fit(form(np.empty((len(y), 0))), y)

    @every_classifier
    def test_one_class_is_rejected(self, name):
        X, y = data(name)
        with rejected("class"):
            make(name).fit(X, np.zeros_like(y))

    @every_classifier
    def test_one_sample_is_one_class(self, name):
        with rejected("class|sample"):
            make(name).fit([[1.0, 2.0]], [1])

    @pytest.mark.parametrize("name", ["SVR", "NuSVR", "OneClassSVM"])
    def test_one_sample_is_enough_for_regression_and_one_class(self, name):
        model = make(name).fit([[1.0, 2.0]], [5.0])
        answer = model.predict([[1.0, 2.0]])
        assert np.isfinite(answer).all()
        if name != "OneClassSVM":
            assert answer[0] == pytest.approx(5.0, abs=0.11)

    @every_estimator
    def test_identical_samples_give_finite_values(self, name):
        _, y = data(name)
        model = make(name).fit(np.ones((len(y), 2)), y)
        assert np.isfinite(values(model, np.ones((2, 2)))).all()

    @every_estimator
    def test_wrong_shapes_are_rejected(self, name):
        X, y = data(name)
        with rejected("2D array|[12]-?[dD]"):
            make(name).fit(X[:, 0], y)
        with rejected("3|dim"):
            make(name).fit(X[:, :, None], y)
        with rejected("scalar|0|array"):
            make(name).fit(3.0, y)
        if name != "OneClassSVM":
            with rejected("inconsistent|samples"):
                make(name).fit(X, y[:-1])
            with rejected("y|1d"):
                make(name).fit(X, np.c_[y, y])
            with rejected("y"):
                make(name).fit(X, None)

    @every_estimator
    def test_wrong_types_are_rejected(self, name):
        X, y = data(name)
        with rejected("(?i)complex"):
            make(name).fit(X + 1j, y)
        with rejected("could not convert|numeric|float"):
            make(name).fit(np.array([["a", "b", "c"]] * len(y)), y)
        mixed = X.astype(object)
        with rejected("float|number|str", (ValueError, TypeError)):
            mixed[0, 0] = {"not": "a number"}
            make(name).fit(mixed, y)
        np.testing.assert_allclose(
            values(make(name).fit(X.astype(object), y), X), values(make(name).fit(X, y), X), atol=1e-6
        )

    @every_regressor
    def test_wrong_target_types_are_rejected(self, name):
        X, y = data(name)
        with rejected("y|float|complex", (ValueError, TypeError)):
            make(name).fit(X, np.array(["a"] * len(y)))
        with rejected("(?i)y|complex", (ValueError, TypeError)):
            make(name).fit(X, y + 1j)

    @every_classifier
    def test_continuous_labels_are_rejected(self, name):
        X, y = data(name)
        with rejected("label type|continuous"):
            make(name).fit(X, y + 0.123 * np.arange(len(y)))

    @every_estimator
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
    def test_overflow_raises_an_error_or_gives_finite_results(self, name, kernel):
        """Finite values whose products overflow give an error or finite results."""
        X, y = data(name)
        large = X * 1e200
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = values(make(name, kernel=kernel, max_time=5.0).fit(large, y), large)
            except ValueError as error:
                answer = str(error)
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
    @pytest.mark.parametrize(
        ("name", "parameter", "value"),
        [(name, *case) for name in NAMES for case in PARAMETER_CASES if case[0] in getattr(hinge, name)().get_params()],
        ids=lambda value: str(value)[:20],
    )
    def test_invalid_value_is_named_in_the_error(self, name, parameter, value):
        X, y = data(name)
        options = dict(kernel="poly") if parameter in IRRELEVANT["poly"] else {}
        with rejected(rf"\b{parameter}\b", (ValueError, TypeError)):
            make(name, **options, **{parameter: value}).fit(X, y)

    @every_estimator
    def test_rejected_parameter_leaves_no_model(self, name):
        X, y = data(name)
        model = make(name, tol=-1)
        with rejected("tol"):
            model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)

    @every_estimator
    def test_constructor_accepts_any_value(self, name):
        """As in scikit-learn, `fit` validates the parameters."""
        assert make(name, tol="later").tol == "later"
        with pytest.raises(TypeError, match="thickness"):
            getattr(hinge, name)(thickness=1)


class TestWeights:
    @every_estimator
    def test_wrong_length_is_rejected(self, name):
        X, y = data(name)
        for wrong in (np.ones(len(y) - 1), np.ones((len(y), 2)), np.ones(0)):
            with rejected("sample_weight"):
                make(name).fit(X, y, sample_weight=wrong)

    @every_estimator
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_weights_that_are_not_finite(self, name, bad):
        X, y = data(name)
        weight = np.ones(len(y))
        weight[4] = bad
        with rejected("(?i)weight"):
            make(name).fit(X, y, sample_weight=weight)

    @every_estimator
    def test_negative_weights_are_rejected(self, name):
        """Unlike scikit-learn, which ignores such samples."""
        X, y = data(name)
        with rejected("(?i)sample_weight.*negative"):
            make(name).fit(X, y, sample_weight=np.where(np.arange(len(y)) == 7, -0.5, 1.0))

    @every_estimator
    @pytest.mark.parametrize("constant", [0.0, -1.0])
    def test_weights_without_a_positive_one_are_rejected(self, name, constant):
        X, y = data(name)
        with rejected("(?i)weight"):
            make(name).fit(X, y, sample_weight=np.full(len(y), constant))

    @every_classifier
    def test_positive_weights_of_one_class_only_are_rejected(self, name):
        X, y = data(name)
        with rejected("class|nu is infeasible"):
            make(name).fit(X, y, sample_weight=(y == 1).astype(float))

    @every_estimator
    def test_weights_that_are_not_numbers(self, name):
        X, y = data(name)
        with rejected("(?i)weight|float", (ValueError, TypeError)):
            make(name).fit(X, y, sample_weight=["heavy"] * len(y))


class TestNu:
    """An infeasible ν is rejected, with its range, before any kernel value is computed."""

    @staticmethod
    def counting_kernel():
        def kernel(A, B):
            kernel.calls += 1
            return A @ B.T

        kernel.calls = 0
        return kernel

    def test_range_depends_on_class_sizes(self):
        X, _ = data("NuSVC", n=100)
        y = (np.arange(100) < 30).astype(int)
        kernel = self.counting_kernel()
        with rejected(r"(?s)nu.*infeasible.*0\.6\b"):
            make("NuSVC", kernel=kernel, nu=0.7).fit(X, y)
        assert kernel.calls == 0
        make("NuSVC", kernel=kernel, nu=0.6).fit(X, y)

    def test_range_depends_on_weights(self):
        X, y = data("NuSVC", n=100)
        kernel = self.counting_kernel()
        with rejected(r"(?s)nu.*0\.5\b"):
            make("NuSVC", kernel=kernel, nu=0.6).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
        assert kernel.calls == 0

    def test_range_is_checked_for_every_pair_of_classes(self):
        X, _ = data("NuSVC", n=100)
        y = np.repeat([0, 1, 2], [45, 45, 10])
        kernel = self.counting_kernel()
        with rejected(r"(?s)nu.*infeasible"):
            make("NuSVC", kernel=kernel, nu=0.5).fit(X, y)
        assert kernel.calls == 0

    @pytest.mark.parametrize("balance", ["class", "min"])
    def test_balanced_variants_accept_every_nu(self, balance):
        X, _ = data("NuSVC", n=100)
        y = (np.arange(100) < 30).astype(int)
        make("NuSVC", nu=0.9, balance=balance).fit(X, y)


class TestPredict:
    @every_estimator
    def test_prediction_before_fit_raises(self, name):
        X, y = data(name)
        methods = ["predict"] + (["decision_function"] if name not in REGRESSORS else [])
        for method in methods:
            with pytest.raises(NotFittedError):
                getattr(make(name), method)(X)
        with pytest.raises(NotFittedError):
            make(name).certify(X, y)

    @every_estimator
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_another_number_of_features_is_rejected(self, name, form):
        X, y = data(name)
        model = make(name).fit(form(X), y)
        for other in (X[:, :2], np.c_[X, X]):
            with rejected("features"):
                model.predict(form(other))

    @every_estimator
    def test_prediction_without_samples_is_rejected(self, name):
        X, y = data(name)
        with rejected("0 sample"):
            make(name).fit(X, y).predict(X[:0])

    @every_estimator
    def test_certify_rejects_other_shapes(self, name):
        X, y = data(name)
        model = make(name).fit(X, y)
        with rejected("sample|feature|shape"):
            model.certify(X[:-1], y[:-1])
        with rejected("feature"):
            model.certify(X[:, :2], y)
