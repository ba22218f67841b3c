"""`hinge.solvers.explain` names the method that `fit` uses, and checks its arguments as `fit` does."""

import numpy as np
import pytest

import hinge
from hinge.losses import Logistic
from hinge.solvers import SMO, CoordinateDescent, PairDescent, explain

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
LABELS = np.where(X[:, 0] > 0, 1, -1)
GRADES = RNG.integers(0, 3, 120)
QUERIES = np.repeat(np.arange(12), 10)


@pytest.mark.parametrize(
    ("model", "solver"),
    [
        (hinge.RankingSVM(), "pair_descent"),
        (hinge.RankingSVM(loss="squared_hinge"), "pair_descent"),
        (hinge.RankingSVM(solver=PairDescent()), "pair_descent"),
        (hinge.RankingSVM(solver="smo"), "SMO"),
        (hinge.RankingSVM(solver=SMO(rule="platt")), "SMO"),
        (hinge.RankingSVM(solver="interior_point", kernel="rbf"), "InteriorPoint"),
        (hinge.RankingSVM(loss=Logistic()), "interior_point"),
        (hinge.RankingSVM(loss="modified_huber"), "working_set"),
    ],
    ids=str,
)
def test_ranking_models_use_the_solver_that_is_reported(model, solver):
    explanation = explain(model, X, GRADES, qid=QUERIES, measure=False)
    assert explanation.solver == solver
    fitted = model.fit(X, GRADES, qid=QUERIES)
    assert f"{len(X)} samples of 12 queries" in explanation.reasons[0]
    assert f"the {fitted.n_pairs_} pairs" in explanation.reasons[0]
    assert explanation.recommended == "interior_point"
    assert (explanation.difference == "") == (solver in ("interior_point", "InteriorPoint"))


def test_queries_change_the_pairs_and_the_expected_time():
    rng = np.random.default_rng(1)
    wide, grades = rng.normal(size=(3000, 3)), rng.integers(0, 4, 3000)
    one = explain(hinge.RankingSVM(), wide, grades)
    many = explain(hinge.RankingSVM(), wide, grades, qid=np.repeat(np.arange(300), 10))
    assert many.seconds < one.seconds
    assert "of 1 queries" in one.reasons[0]
    assert "of 300 queries" in many.reasons[0]


@pytest.mark.parametrize(
    ("model", "solver", "reason"),
    [
        (hinge.LinearSVC(), "coordinate_descent", "whichever is estimated to be cheaper"),
        (hinge.LinearSVC(solver="newton"), "newton", "method='newton' was requested"),
        (hinge.LinearSVC(solver=CoordinateDescent(method="descent")), "coordinate_descent", "'descent' was requested"),
        (hinge.LinearSVC(dual=False), "newton", "dual=False selects"),
        (hinge.LinearSVC(dual=True), "coordinate_descent", "dual=True selects"),
        (hinge.LinearSVC(penalty="l1"), "l1_coordinate_descent", "penalty='l1'"),
        (hinge.LinearOneClassSVM(solver="newton"), "newton", "'newton' was requested"),
    ],
    ids=str,
)
def test_linear_models_report_the_requested_method(model, solver, reason):
    explanation = explain(model, X, LABELS, measure=False)
    assert explanation.solver == solver
    assert reason in explanation.reasons[1]


MODELS = [
    hinge.LinearSVC(), hinge.LPSVC(), hinge.LowRankSVC(), hinge.OnlineSVC(), hinge.IncrementalSVC(), hinge.RankingSVM(),
    hinge.TransductiveSVC(), hinge.ParzenClassifier(), hinge.SVC(),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_invalid_data_and_parameters_are_rejected(model):
    with pytest.raises(ValueError, match=r"X has shape|[Ee]xpected 2D"):
        explain(model, X[:, 0], LABELS)
    with pytest.raises(ValueError, match=r"\[120, 5\]"):
        explain(model, X, LABELS[:5])
    name = next(name for name in ("C", "eta0", "gamma") if name in model.get_params())
    with pytest.raises(ValueError, match=f"{name}=-1"):
        explain(type(model)(**{name: -1.0}), X, LABELS)


def test_only_ranking_models_have_queries():
    with pytest.raises(TypeError, match="qid is not supported by SVC"):
        explain(hinge.SVC(), X, LABELS, qid=QUERIES)
    with pytest.raises(ValueError, match="qid"):
        explain(hinge.RankingSVM(), X, GRADES, qid=QUERIES[:5])
