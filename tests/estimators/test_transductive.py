"""TransductiveSVC: exact solution for its labels, decreasing objective, number of positive labels."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import hinge
from hinge.control import RunControl
from hinge.kernels import RBF, open_access
from hinge.transduction import Transduction, share_correction, stratified_folds


def moons(n=120, labelled=10, seed=0):
    rng = np.random.default_rng(seed)
    side = np.repeat([0, 1], n // 2)
    angle = rng.uniform(0, np.pi, n)
    X = np.c_[np.cos(angle) + side - 0.5, np.sin(angle) * np.where(side, -1, 1) + 0.5 * side]
    X = X + 0.12 * rng.normal(size=(n, 2))
    some = np.concatenate([rng.choice(np.flatnonzero(side == s), labelled // 2, replace=False) for s in (0, 1)])
    others = np.setdiff1d(np.arange(n), some)
    return X[some], side[some], X[others], side[others]


def test_unlabeled_samples_improve_accuracy():
    gain_in_accuracy = []
    for seed in range(4):
        X, y, U, truth = moons(labelled=6, seed=seed)
        model = hinge.TransductiveSVC(C=10, C_unlabeled=10, gamma=2.0, positive_fraction=0.5).fit(X, y, U)
        alone = hinge.SVC(C=10, gamma=2.0).fit(X, y).score(U, truth)
        gain_in_accuracy.append(np.mean(model.transduction_ == truth) - alone)
    assert np.mean(gain_in_accuracy) > 0.02


@pytest.mark.parametrize("batch", [1, 5])
def test_solution_is_the_svc_of_the_final_labels(batch):
    X, y, U, _ = moons()
    model = hinge.TransductiveSVC(C=5, C_unlabeled=2, gamma=1.0, batch=batch).fit(X, y, U)
    samples, labels = np.r_[X, U], np.r_[y, model.transduction_]
    weight = np.r_[np.full(len(X), 5.0), np.full(len(U), 2.0)]
    plain = hinge.SVC(C=1.0, gamma=1.0, tol=1e-8).fit(samples, labels, sample_weight=weight)
    assert np.allclose(model.decision_function(U), plain.decision_function(U), atol=1e-6)
    assert model.certificate_.relative_gap <= 1e-10
    recomputed = model.certify(X, y, U)
    assert recomputed.kkt_violation <= 1e-8
    assert recomputed.primal == pytest.approx(plain.certificate_.primal, rel=1e-8)
    assert model.stages_["objective"][-1] == pytest.approx(recomputed.primal, rel=1e-8)


def exact_objective(access, transduction, label):
    """Objective (4.37) for given labels, computed with SVC."""
    sign = np.r_[transduction.y, label]
    cost = np.r_[transduction.cost, transduction.unlabeled_cost]
    fit = hinge.SVC(C=1.0, kernel="precomputed", tol=1e-8)
    return fit.fit(access.block(np.arange(access.n), np.arange(access.n)), sign, sample_weight=cost).certificate_.primal


def test_switches_are_exact_and_decrease_the_objective():
    X, y, U, _ = moons(n=60, labelled=6, seed=3)
    access = open_access(RBF(1.0), np.r_[X, U])
    transduction = Transduction(access, np.where(y > 0, 1.0, -1.0), np.full(len(X), 5.0), len(U) // 2)
    rng = np.random.default_rng(0)
    label = np.full(len(U), -1.0)
    label[rng.choice(len(U), len(U) // 2, replace=False)] = 1.0  # random labels, so that many switches follow
    transduction._set_costs(label, 2.0, 2.0)
    values = [transduction.objective()]
    for _ in range(100):
        ups, downs = transduction.best_pairs(2.0, 2.0, 1)
        if len(ups) == 0:
            break
        gain = transduction._gains(2.0, 2.0)[[ups[0], downs[0]]].sum()
        switched = transduction.label.copy()
        switched[ups], switched[downs] = -1.0, 1.0
        transduction._set_costs(switched, 2.0, 2.0)
        values.append(transduction.objective())
        assert values[-1] <= values[-2] - gain + 1e-9  # (463): the gain at constant w
        assert np.sum(transduction.label > 0) == len(U) // 2
    assert len(values) > 5
    assert values[-1] == pytest.approx(exact_objective(access, transduction, transduction.label), rel=1e-8)
    # No switch of a pair of labels decreases the objective at constant w.
    gains = transduction._gains(2.0, 2.0)
    assert gains[transduction.label > 0].max() + gains[transduction.label < 0].max() <= 1e-6


def test_fraction_of_positive_labels_is_kept():
    X, y, U, _ = moons()
    assert np.mean(hinge.TransductiveSVC(positive_fraction="labeled").fit(X, y, U).transduction_ == 1) == 0.5
    for share in (0.0, 0.2, 1.0):
        model = hinge.TransductiveSVC(positive_fraction=share).fit(X, y, U)
        assert np.sum(model.transduction_ == 1) == round(share * len(U))
    uneven = np.r_[0:5, 5:7]
    model = hinge.TransductiveSVC(positive_fraction="labeled").fit(X[uneven], y[uneven], U)
    assert np.sum(model.transduction_ == 1) == np.floor(len(U) * np.mean(y[uneven]) + 0.5)


def test_warning_if_labelled_samples_are_not_representative():
    """A quarter of the labeled and half of the other samples are positive: imposing the former reduces accuracy."""
    X, y, U, truth = moons(labelled=40, n=240)
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:6]]
    estimator = hinge.TransductiveSVC(C=10, C_unlabeled=10, gamma=2.0)
    forced = clone(estimator).set_params(positive_fraction="labeled")
    with pytest.warns(UserWarning, match="23% of the labeled samples belong to class .*1.*positive_fraction"):
        forced.fit(X[rare], y[rare], U)
    assert np.mean(forced.transduction_ == truth) < 0.8
    for remedy in (None, "predicted", 0.5):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = clone(estimator).set_params(positive_fraction=remedy).fit(X[rare], y[rare], U)
        assert np.mean(model.transduction_ == truth) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forced.fit(X, y, U)  # representative samples
        forced.fit(X, y, U[:1])  # the fraction of one sample is 0 or 1


def test_stratified_folds_partition_both_classes():
    rng = np.random.default_rng(0)
    for positives, negatives in ((2, 30), (13, 40), (25, 25)):
        y = rng.permutation(np.r_[np.ones(positives), -np.ones(negatives)])
        groups = stratified_folds(y)
        assert len(groups) == min(10, positives)
        assert np.array_equal(np.sort(np.concatenate(groups)), np.arange(len(y)))
        for side in (1, -1):
            counts = [np.sum(y[group] == side) for group in groups]
            assert max(counts) - min(counts) <= 1
            assert min(counts) > 0
    assert stratified_folds(np.r_[1.0, -np.ones(9)]) == []


def scored(missed, false, right=(40, 40)):
    """Labels and scores with given numbers of false negatives and false positives close to the decision boundary."""
    y = np.repeat([1.0, -1.0, 1.0, -1.0], [missed, false, *right])
    scores = np.repeat([-0.1, 0.1, 1.0, -1.0], [missed, false, *right])
    return y, scores


def test_correction_is_the_significant_part_of_the_bias():
    y, scores = scored(9, 3)
    weight = np.ones(len(y))
    assert share_correction(y, scores, weight) == pytest.approx(6 / 92 * (1 - 12 / 36))
    assert share_correction(-y, -scores, 7 * weight) == pytest.approx(-6 / 92 * (1 - 12 / 36))
    for missed, false in ((6, 6), (7, 5), (0, 0)):  # 4/12 < 1
        assert share_correction(*scored(missed, false), np.ones(80 + missed + false)) == 0
    # A weight of 2 does not count as two independent samples.
    weight[:12] = 2
    mean, chance = 12 / 104, 48 / 104**2
    assert share_correction(y, scores, weight) == pytest.approx(mean * (1 - chance / mean**2))


def test_no_correction_that_increases_the_errors():
    """Positive samples have the scores of negative ones: more positive predictions would increase the errors."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([1.0, -1.0], [20, 80]))
    scores = -1 + 0.1 * rng.normal(size=100)  # all predicted negative: 20 errors; twenty predicted positive: about 32
    assert share_correction(y, scores, np.ones(100)) == 0
    assert share_correction(y, scores + 0.2 * y, np.ones(100)) > 0.15


@pytest.mark.parametrize("repeated", [False, True])
def test_predicted_fraction_agrees_with_cross_validation(repeated):
    """With a wide kernel and a small C the predictions are biased to the larger class."""
    rng = np.random.default_rng(1)
    side = rng.permutation(np.repeat([0, 1], [140, 60]))
    A = rng.normal(size=(200, 2)) + 1.2 * side[:, None]
    X, y, U, truth = A[:80], side[:80], A[80:], side[80:]
    X, y = (np.r_[X, X[:20]], np.r_[y, y[:20]]) if repeated else (X, y)
    weight = rng.uniform(0.5, 2, len(y))
    weight[3] = 0.0
    options = dict(C=0.1, gamma=0.1)
    model = hinge.TransductiveSVC(C_unlabeled=0.1, **options).fit(X, y, U, sample_weight=weight)
    X, y, weight = np.delete(X, 3, axis=0), np.delete(y, 3), np.delete(weight, 3)
    values = np.empty(len(y))
    for group in stratified_folds(np.where(y > 0, 1.0, -1.0)):
        rest = np.setdiff1d(np.arange(len(y)), group)
        alone = hinge.SVC(tol=1e-8, **options).fit(X[rest], y[rest], sample_weight=weight[rest])
        values[group] = alone.decision_function(X[group])
    predicted = np.mean(hinge.SVC(tol=1e-8, **options).fit(X, y, sample_weight=weight).predict(U))
    assert predicted < np.mean(truth) - 0.1
    expected = predicted + share_correction(np.where(y > 0, 1.0, -1.0), values, weight)
    assert model.positive_fraction_ == pytest.approx(expected, abs=1e-12)
    assert predicted + 0.1 < model.positive_fraction_ < np.mean(truth)
    assert np.sum(model.transduction_) == np.floor(len(U) * expected + 0.5)


def test_leave_out_does_not_change_the_solution():
    X, y, U, _ = moons(labelled=20)
    sign = np.where(y > 0, 1.0, -1.0)
    transduction = Transduction(open_access(RBF(1.0), np.r_[X, U]), sign, np.full(len(X), 5.0), None)
    before, beta = transduction.scores(), transduction.beta
    values = transduction.leave_out(stratified_folds(sign))
    np.testing.assert_array_equal(transduction.scores(), before)
    np.testing.assert_array_equal(transduction.beta, beta)
    assert not np.allclose(values, before[: len(X)])


def test_class_of_one_sample_uses_the_labelled_fraction():
    X, y, U, _ = moons()
    few = np.r_[0:4, 5]
    assert np.bincount(y[few]).min() == 1
    model = hinge.TransductiveSVC().fit(X[few], y[few], U)
    assert model.positive_fraction_ == np.mean(y[few])
    assert np.isnan(hinge.TransductiveSVC().fit(X, y).positive_fraction_)


def test_costs_start_at_initial_share_and_grow_by_the_factor():
    """docs/math (465): C*₋ = εC*, C*₊ = εC* k⁺/(k − k⁺), both times the growth factor, up to C*."""
    X, y, U, _ = moons()
    model = hinge.TransductiveSVC(C_unlabeled=3.0, growth=4.0, initial_share=1e-3, positive_fraction=0.3).fit(X, y, U)
    positives = np.floor(len(U) * 0.3 + 0.5)
    ratio = positives / (len(U) - positives)
    steps = 4.0 ** np.arange(len(model.stages_["cost_negative"]))
    np.testing.assert_allclose(model.stages_["cost_negative"], np.minimum(3e-3 * steps, 3.0), rtol=1e-12)
    np.testing.assert_allclose(model.stages_["cost_positive"], np.minimum(3e-3 * ratio * steps, 3.0), rtol=1e-12)
    assert len(steps) == 1 + np.ceil(np.log(1e3 / ratio) / np.log(4.0))


def test_costs_grow_to_C_unlabeled():
    X, y, U, _ = moons()
    model = hinge.TransductiveSVC(C_unlabeled=3.0, growth=4.0, initial_share=1e-3).fit(X, y, U)
    assert np.all(np.diff(model.stages_["cost_negative"]) >= 0)
    assert model.stages_["cost_positive"][-1] == model.stages_["cost_negative"][-1] == 3.0
    assert np.all(model.unlabeled_cost_ == 3.0)
    assert model.n_switches_ == model.stages_["switches"].sum()
    assert len(model.history_) == len(model.stages_["seconds"])


def test_labels_of_any_type_and_sparse_data_give_the_same_model():
    X, y, U, _ = moons()
    names = np.array(["left", "right"])
    model = hinge.TransductiveSVC(gamma=1.0).fit(X, y, U)
    named = hinge.TransductiveSVC(gamma=1.0).fit(X, names[y], U)
    assert np.array_equal(named.transduction_, names[model.transduction_])
    assert np.array_equal(named.predict(U), names[model.predict(U)])
    from_sparse = hinge.TransductiveSVC(gamma=1.0).fit(sp.csr_matrix(X), y, sp.csr_matrix(U))
    assert np.array_equal(from_sparse.transduction_, model.transduction_)
    weight = np.ones(len(X))
    weight[2] = 0.0
    weighted = hinge.TransductiveSVC(gamma=1.0, positive_fraction=0.5).fit(X, y, U, sample_weight=weight)
    rest = np.delete(np.arange(len(X)), 2)
    without = hinge.TransductiveSVC(gamma=1.0, positive_fraction=0.5).fit(X[rest], y[rest], U)
    assert np.allclose(weighted.decision_function(U), without.decision_function(U), atol=1e-8)
    assert weighted.certify(X, y, U, sample_weight=weight).kkt_violation <= 1e-8


def test_solution_for_duplicates_with_opposite_labels_is_certified():
    X, y, U, _ = moons(n=40)
    data = np.r_[X, X], np.r_[y, 1 - y], np.r_[U, U, X]
    model = hinge.TransductiveSVC(C=100.0, C_unlabeled=100.0, kernel="linear").fit(*data)
    assert model.certify(*data).relative_gap <= 1e-8


def test_without_unlabeled_samples_agrees_with_svc():
    X, y, U, _ = moons()
    model = hinge.TransductiveSVC(C=3.0, gamma=1.0).fit(X, y)
    assert len(model.transduction_) == 0
    plain = hinge.SVC(C=3.0, gamma=1.0, tol=1e-8).fit(X, y)
    assert np.allclose(model.decision_function(U), plain.decision_function(U), atol=1e-6)


def test_models_can_be_cloned_and_saved(tmp_path):
    X, y, U, _ = moons()
    model = hinge.TransductiveSVC().fit(X, y, U)
    hinge.save(model, tmp_path / "m.hinge")
    loaded = hinge.load(tmp_path / "m.hinge")
    assert np.array_equal(loaded.predict(U), model.predict(U))
    assert np.array_equal(loaded.transduction_, model.transduction_)
    assert loaded.certify(X, y, U).kkt_violation <= 1e-8
    assert clone(model).get_params() == model.get_params()


@parametrize_with_checks([hinge.TransductiveSVC()])
def test_common_checks(estimator, check):
    check(estimator)


def test_invalid_input_is_named():
    X, y, U, _ = moons()
    bad = U.copy()
    bad[3, 0] = np.nan
    cases = [
        (dict(), (X, y, U[:0]), "X_unlabeled has no samples"),
        (dict(), (X, y, bad), "NaN"),
        (dict(), (X, y, U[:, :1]), "features"),
        (dict(), (X, y, sp.csr_matrix(U)), "both be dense or both be sparse"),
        (dict(), (X, np.arange(len(X)) % 3, U), "Only binary classification.*y == label"),
        (dict(), (X, np.zeros(len(X)), U), "greater than one"),
        (dict(kernel="precomputed"), (X @ X.T, y, U), "precomputed"),
        (dict(kernel="sigmoid"), (X, y, U), "positive semidefinite"),
        (dict(C=0), (X, y, U), "C=0"),
        (dict(C_unlabeled=-1), (X, y, U), "C_unlabeled=-1"),
        (dict(growth=1.0), (X, y, U), "growth=1.0"),
        (dict(positive_fraction=2), (X, y, U), "positive_fraction=2"),
        (dict(positive_fraction="some"), (X, y, U), "positive_fraction='some' must be one of 'labeled', 'predicted'"),
        (dict(batch=0), (X, y, U), "batch=0"),
    ]
    for options, data, message in cases:
        with pytest.raises(ValueError, match=message):
            hinge.TransductiveSVC(**options).fit(*data)
    model = hinge.TransductiveSVC().fit(X, y, U)
    with pytest.raises(ValueError, match="X_unlabeled has"):
        model.certify(X, y, U[:5])


def test_time_limit_keeps_the_model(monkeypatch):
    """The time limit is simulated after five paths."""
    X, y, U, _ = moons(n=400)
    paths, follow = [], Transduction._follow

    def five_paths(self, up, down):
        paths.append(None)
        if len(paths) > 5:
            self.control = RunControl(0.0)
        follow(self, up, down)

    monkeypatch.setattr(Transduction, "_follow", five_paths)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = hinge.TransductiveSVC(C=10, C_unlabeled=10, gamma=2.0, max_time=60.0).fit(X, y, U)
    assert model.status_ == hinge.Status.TIME_LIMIT
    assert model.certify(X, y, U).kkt_violation <= 1e-7
    assert len(model.predict(U)) == len(U)


@pytest.mark.parametrize("seed", [7, 9])
def test_switching_ends_if_rounding_errors_of_f_exceed_the_gains(seed):
    """Offsets of 10⁶, differences of 10⁻³: switches whose gain is a rounding error were once repeated forever."""
    rng = np.random.default_rng(seed)
    X, y = 5e6 + 2e-3 * rng.normal(size=(40, 3)), np.arange(16) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hinge.TransductiveSVC(C=7e-4, C_unlabeled=0.6, kernel="linear", max_time=5).fit(X[:16], y, X[16:])
    assert model.status_ is not hinge.Status.TIME_LIMIT
