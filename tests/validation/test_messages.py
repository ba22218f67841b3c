"""Error messages and warnings name the value as a user would type it, the place and the remedy."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.lowrank import SGMA
from hinge.plotting import PathDisplay
from hinge.solvers import SMO, LowRankInteriorPoint

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1, -1)


class TestLabels:
    @pytest.mark.parametrize(
        "cls", [hinge.SVC, hinge.NuSVC, hinge.LinearSVC, hinge.LPSVC, hinge.IncrementalSVC, hinge.TransductiveSVC]
    )
    def test_one_class(self, cls):
        with pytest.raises(ValueError, match=r"every sample is labeled 1$"):
            cls().fit(X, np.ones(40, dtype=np.int64))
        with pytest.raises(ValueError, match=r"every sample is labeled 'a'$"):
            cls().fit(X, np.full(40, "a"))

    @pytest.mark.parametrize("cls", [hinge.SVC, hinge.NuSVC, hinge.LinearSVC, hinge.LowRankSVC, hinge.LPSVC])
    def test_class_weight(self, cls):
        message = (
            "class_weight='blanced' must be 'balanced' or a dictionary of weights by label, or None; "
            "did you mean 'balanced'?"
        )
        with pytest.raises(ValueError, match=re.escape(message)):
            cls(class_weight="blanced").fit(X, Y)

    @pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "LinearSVC", "IncrementalSVC"])
    def test_missing_y_names_the_class_of_the_caller(self, name):
        with pytest.raises(TypeError, match=rf"^{name}\.fit\(\) missing"):
            getattr(hinge, name)().fit(X)


class TestMissingValues:
    frame = pd.DataFrame(X, columns=["age", "income", "rate"])

    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize(
        "use",
        [
            lambda F: hinge.SVC().fit(F, Y),
            lambda F: hinge.LinearSVC().fit(F, Y),
            lambda F: hinge.OnlineSVC().fit(F, Y),
            lambda F: hinge.regularization_path(F, Y),
            lambda F: hinge.SVC().fit(TestMissingValues.frame, Y).predict(F),
        ],
    )
    def test_column_is_named(self, use, value, word):
        F = self.frame.copy()
        F.loc[7, "income"] = value
        with pytest.raises(ValueError, match=rf"Input X contains {word} in row 7, column 'income'; .*impute"):
            use(F)

    @pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix, sp.csc_array])
    def test_position_in_an_array(self, convert):
        Z = X.copy()
        Z[7, 1] = np.nan
        for fit in (hinge.SVC().fit, hinge.regularization_path, hinge.LinearSVC().fit):
            with pytest.raises(ValueError, match="Input X contains NaN in row 7, column 1;"):
                fit(convert(Z), Y)


class TestWarnings:
    def warning_of(self, model):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, Y)
        return [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]

    def test_the_limit_that_was_reached_is_named(self):
        (message,) = self.warning_of(hinge.SVC(C=1e4, max_iter=3, solver=SMO(max_iter=3)))
        assert "or increase max_iter" in message

    def test_no_limit_is_mentioned_if_none_was_set(self):
        report = hinge.estimators.common.report.FitReport
        status = hinge.Status
        for reason in (status.NUMERICAL, status.MAX_ITER):
            remedy = report(reason, [], [], [])._remedy(max_iter=-1)
            assert "increase" not in remedy
        assert report(status.TIME_LIMIT, [], [], [])._remedy(-1) == ", or increase max_time"

    def test_the_rank_is_named_as_the_cause_of_a_gap(self):
        solver = LowRankInteriorPoint(approximation=SGMA(rank=3))
        (message,) = self.warning_of(hinge.SVC(solver=solver, gamma=1.0))
        assert re.search("approximated by one of rank 3.*larger rank", message)
        assert "StandardScaler" not in message


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("scale", [1e155, 1e300])
def test_data_whose_variance_overflows(convert, scale):
    for fit in (hinge.SVC().fit, hinge.regularization_path):
        with pytest.raises(ValueError, match=r"overflow|finite"):
            fit(convert(X * scale), Y)


class TestPaths:
    def test_lists_with_a_kernel_function(self):
        def function(A, B):
            return np.asarray(A) @ np.asarray(B).T

        path = hinge.regularization_path(X.tolist(), Y, kernel=function)
        reference = hinge.regularization_path(X, Y, kernel="linear")
        assert path.decision_function(X.tolist(), 1.0) == pytest.approx(reference.decision_function(X, 1.0), abs=1e-9)

    def test_no_samples_with_a_kernel_function(self):
        for path in (hinge.regularization_path, hinge.epsilon_path):
            with pytest.raises(ValueError, match="0 sample"):
                path(np.zeros((0, 2)), np.zeros(0), kernel=lambda A, B: A @ B.T)

    def test_texts_with_a_kernel_function(self):
        def function(A, B):
            return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

        words = ["ab", "abc", "xy", "xyz"]
        path = hinge.regularization_path(words, [1, 1, -1, -1], kernel=function)
        assert path.model(1.0).predict(["abcd", "wxyz"]).tolist() == [1, -1]

    @pytest.mark.parametrize(
        "path", ["regularization_path", "approximate_path", "one_vs_one_paths", "quadratic_loss_path", "ranking_path"]
    )
    def test_a_precomputed_matrix_must_be_square(self, path):
        with pytest.raises(ValueError, match=r"must be a square matrix. Input is a 40x20 matrix"):
            getattr(hinge, path)((X @ X.T)[:, :20], Y, kernel="precomputed")

    def test_display_of_an_approximate_path(self):
        path = hinge.approximate_path(X, Y)
        for show in (PathDisplay.from_coefficients, PathDisplay.from_index_sets):
            with pytest.raises(TypeError, match=r"ApproximatePath.*regularization_path"):
                show(path)
