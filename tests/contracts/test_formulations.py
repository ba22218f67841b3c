"""Contract of the kernel estimators: the optimum and the certificate of the textbook."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.solvers import SMO
from reference.agreement import Case, agree
from reference.cases import CLASSIFIERS, NAMES, PARAMETERS, REGRESSORS, data
from reference.textbook import coefficients, describe

every_estimator = pytest.mark.parametrize("name", NAMES)


@st.composite
def cases(draw, name):
    """Small data with duplicates, constant columns, weights and zero weights, and parameters over many decades."""
    n, features = draw(st.integers(4, 20)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kernel = draw(st.sampled_from(["rbf", "rbf", "linear"]))
    X = rng.normal(size=(n, features)) * 10.0 ** draw(st.integers(-2, 0 if kernel == "linear" else 2))
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    if draw(st.booleans()):
        X[:, 0] = 1.0
    y = rng.integers(0, 2, n) if name in CLASSIFIERS else rng.normal(size=n) * 10.0 ** draw(st.integers(-2, 2))
    y[:2] = 0, 1
    weight = rng.uniform(0.2, 3, n) if draw(st.booleans()) else None
    if weight is not None and draw(st.booleans()):
        weight[2:][rng.random(n - 2) < 0.3] = 0
    gamma = 10.0 ** draw(st.integers(-3, 2)) / np.square(X).mean()
    options = dict(kernel=kernel, gamma=gamma)
    if name in ("SVC", "SVR", "NuSVR"):
        options["C"] = 10.0 ** draw(st.integers(-3, 4))
    if name == "SVR":
        options["epsilon"] = 10.0 ** draw(st.integers(-3, 1))
    if name in ("NuSVR", "OneClassSVM"):
        options["nu"] = draw(st.sampled_from([0.05, 0.3, 0.5, 1.0]))
    if name == "NuSVC":
        w = np.ones(n) if weight is None else weight
        highest = 2 * min(w[y == 1].sum(), w[y == 0].sum()) / w.sum()
        options["nu"] = draw(st.sampled_from([0.1, 0.5, 0.9, 1.0])) * highest
    return Case("hypothesis", name, X, y, weight, options)


@every_estimator
@given(choice=st.data())
def test_reaches_the_textbook_optimum(name, choice):
    case = choice.draw(cases(name))
    _, found = agree(case, hinge, tol=1e-6, max_time=5.0)
    assert found.holds(1e-6), found


@pytest.mark.parametrize("name", ["SVC", "SVR"])
@pytest.mark.parametrize("size", [10.0, 100.0])
def test_unscaled_data_are_solved(name, size):
    """Features of size 100 with a linear kernel, for which SMO alone converges slowly."""
    X, y = data(name, n=20)
    case = Case("unscaled", name, X * size, y, None, dict(kernel="linear", C=10.0))
    model, found = agree(case, hinge, tol=1e-3, max_time=5.0)
    assert model.status_ is hinge.Status.SOLVED
    assert found.holds(1e-4), found


def stopped_early(name, steps, seed=0):
    """A fit that was stopped early.  Its gap is not zero, so that a wrong term in a formula is detected."""
    X, y = data(name, seed=seed)
    weight = np.random.default_rng(seed).uniform(0.3, 2, len(y))
    model = getattr(hinge, name)(gamma=0.5, solver=SMO(tol=1e-9, max_iter=steps), **PARAMETERS[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, sample_weight=weight)
    differences = X[:, None, :] - X[None, :, :]
    K = np.exp(-0.5 * np.square(differences).sum(axis=2))
    return model, describe(model, K, y, weight), (X, y, weight)


@every_estimator
@pytest.mark.parametrize("steps", [1, 5, 20, 60])
def test_certificate_has_the_values_of_the_textbook(name, steps):
    """Primal (10.3)/(10.4), dual and gap (10.6)–(10.8), at the offsets that minimize the gap."""
    model, reference, (X, y, weight) = stopped_early(name, steps)
    coef = coefficients(model, reference)
    for certificate in (model.certificate_, model.certify(X, y, sample_weight=weight)):
        assert certificate.gap > 0
        assert certificate.dual == pytest.approx(reference.dual(coef), rel=1e-9)
        assert certificate.primal == pytest.approx(reference.primal(coef), rel=1e-9)
        assert certificate.gap == pytest.approx(reference.gap(coef), rel=1e-6)
        assert certificate.gap == pytest.approx(certificate.primal - certificate.dual, rel=1e-6)
        middle = (abs(certificate.primal) + abs(certificate.dual)) / 2
        assert certificate.relative_gap == pytest.approx(certificate.gap / middle, rel=1e-6)


@every_estimator
def test_bounds_enclose_the_optimum_and_the_dual_increases(name):
    """LwK (10.5), (10.21): dual ≤ best dual ≤ optimum ≤ best primal ≤ primal, and the dual value increases."""
    duals = []
    for steps in (1, 3, 10, 30, 100):
        model, reference, _ = stopped_early(name, steps, seed=4)
        optimum, error = reference.optimum()
        c = model.certificate_
        slack = error + 1e-9 * abs(optimum)
        assert c.dual <= c.best_dual + slack
        assert c.best_dual <= optimum + slack
        assert optimum - slack <= c.best_primal
        assert c.best_primal <= c.primal + slack
        duals.append(c.dual)
    assert np.all(np.diff(duals) >= -1e-9 * np.abs(duals[-1]))


@every_estimator
@pytest.mark.parametrize("gap", [1e-2, 1e-5])
def test_requested_gap_is_reached(name, gap):
    X, y = data(name)
    solver = SMO(tol=gap, stop="gap", polish=False)
    model = getattr(hinge, name)(gamma=0.5, solver=solver, **PARAMETERS[name]).fit(X, y)
    assert model.status_ is hinge.Status.SOLVED
    assert model.certify(X, y).relative_gap <= 1.01 * gap


@every_estimator
def test_certificate_of_other_data_has_a_gap(name):
    """`certify` uses the data: with other X, labels or weights the gap is large or the point is infeasible."""
    X, y = data(name)
    model = getattr(hinge, name)(gamma=0.5, tol=1e-6, **PARAMETERS[name]).fit(X, y)
    assert model.certify(X, y).proves(1e-3)
    assert not model.certify(X + np.random.default_rng(0).normal(size=X.shape), y).proves(1e-3)
    if name != "OneClassSVM":
        assert not model.certify(X, y[::-1].copy()).proves(1e-3)
    assert not model.certify(X, y, sample_weight=np.linspace(0.1, 3, len(y))).proves(1e-3)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_certificate_is_the_sum_over_pairs_of_classes(name):
    X, y = data(name, classes=3)
    options = dict(gamma=0.5, tol=1e-7) | PARAMETERS[name]
    together = getattr(hinge, name)(**options).fit(X, y).certificate_
    pairs = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        chosen = (y == a) | (y == b)
        pairs.append(getattr(hinge, name)(**options).fit(X[chosen], y[chosen]).certificate_)
    assert together.dual == pytest.approx(sum(c.dual for c in pairs), rel=1e-6)
    assert together.primal == pytest.approx(sum(c.primal for c in pairs), rel=1e-6)


@every_estimator
@pytest.mark.parametrize("limit", [dict(max_iter=1), dict(max_time=1e-9)], ids=str)
def test_early_stop_is_reported(name, limit):
    """A ConvergenceWarning states the gap.  The model and its certificate are kept."""
    X, y = data(name, n=200)
    model = getattr(hinge, name)(gamma=0.5, tol=1e-9, **limit, **PARAMETERS[name])
    with pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(X, y)
    expected = hinge.Status.MAX_ITER if "max_iter" in limit else hinge.Status.TIME_LIMIT
    assert model.status_ is expected
    assert model.certificate_.gap > 0
    assert np.isfinite(model.predict(X)).all()


@every_estimator
def test_nothing_is_printed(name, capfd):
    X, y = data(name)
    getattr(hinge, name)(**PARAMETERS[name]).fit(X, y)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", REGRESSORS)
def test_constant_targets_are_predicted(name):
    X, _ = data(name)
    model = getattr(hinge, name)(**PARAMETERS[name]).fit(X, np.full(len(X), 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0, atol=0.11)
