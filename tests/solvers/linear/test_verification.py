"""SOLVED is verified for all scales of the features, and far from the origin."""

import numpy as np
import pytest

import hinge
from hinge import Status
from hinge.formulations import linear_classification, linear_regression
from hinge.problems import Bias, CrammerSingerProblem, crammer_singer_optimality, linear_optimality
from hinge.problems.linear_optimality import constant_function
from hinge.solvers import CoordinateDescent
from hinge.solvers.linear.coordinate_descent import centered
from hinge.solvers.refinement.verification import verify_crammer_singer, verify_linear

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOLVERS = ("auto", "descent", "newton")
LOSSES = ("hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive")


def unscaled_case(seed):
    """(estimator, X, y) with features of 1e-6 to 1e6: some shifted, some repeated, some in single precision."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([2, 3, 5, 10, 50, 200, 700])), int(rng.choice([1, 3, 8, 20, 60]))
    plain = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        plain = plain[rng.integers(0, max(1, n // 3), n)]
    f = plain @ rng.normal(size=d)
    f = f - np.median(f) + rng.choice([0.0, 0.1, 1.0]) * rng.normal(size=n)
    X = (plain + rng.choice([0, 0, 10, 1000])) * 10.0 ** rng.uniform(-6, 6, d)
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    loss, bias = LOSSES[rng.integers(4)], rng.choice(list(Bias))
    options = dict(
        loss=loss, C=10.0 ** rng.uniform(-3, 4), tol=float(rng.choice([1e-2, 1e-4, 1e-6, 1e-9])),
        solver=SOLVERS[int(rng.choice(3, p=[0.7, 0.1, 0.2]))], fit_intercept=bool(bias != Bias.NONE),
        penalize_intercept=bool(bias == Bias.PENALIZED), intercept_scaling=10.0 ** rng.uniform(-2, 2), max_iter=300,
    )  # fmt: skip
    if "epsilon" in loss:
        return hinge.LinearSVR(epsilon=float(rng.choice([0.0, 0.1])), **options), X, f * 10.0 ** rng.uniform(-2, 2)
    y = (f > 0).astype(int)
    y[:2] = 0, 1
    return hinge.LinearSVC(**options), X, y


def test_solved_is_certified_for_any_scale_of_the_features():
    solved = 0
    for seed in range(250):
        estimator, X, y = unscaled_case(seed)
        model = estimator.fit(X, y)
        if model.status_ is not Status.SOLVED:
            continue
        solved += 1
        certificate = model.certify(X, y)
        null_loss = np.sum(np.abs(y)) if "epsilon" in model.loss else len(y)
        null_loss = np.sum(y**2.0) if "squared_eps" in model.loss else null_loss
        is_zero = certificate.gap <= certificate.rounding + 2e-14 * model.C * null_loss  # docs/math (133)
        assert certificate.relative_gap <= 2 * model.tol or is_zero, (seed, model, certificate)
    assert solved > 150


def test_certificate_is_recomputed_only_where_rounding_may_matter(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 3))
    problem = linear_classification(X, np.sign(X[:, 0]), np.ones(50), "hinge", Bias.NONE)
    solution = CoordinateDescent(tol=1e-4).solve_linear(problem)
    monkeypatch.setattr("hinge.solvers.refinement.verification.linear_optimality", lambda *_: pytest.fail("certified"))
    assert verify_linear(problem, solution, 1e-4) is solution
    with pytest.raises(pytest.fail.Exception):
        verify_linear(problem, solution, 1e-14)


def test_wrong_solved_status_becomes_numerical():
    X = np.random.default_rng(0).normal(size=(50, 3))
    problem = linear_classification(X, np.sign(X[:, 0]), np.ones(50), "hinge", Bias.NONE)
    claimed = constant_function(problem, Status.SOLVED)
    solution = verify_linear(problem, claimed, 1e-4, transformed=True)
    assert solution.status is Status.NUMERICAL
    unsolved = constant_function(problem, Status.MAX_ITER)
    assert verify_linear(problem, unsolved, 1e-4, transformed=True).status is Status.MAX_ITER
    crammer_singer = CrammerSingerProblem(X, (np.arange(50) % 3).astype(np.int32), np.ones(50), 3, Bias.NONE)
    solved = CoordinateDescent(tol=1e-14, max_iter=0).solve_crammer_singer(crammer_singer)
    corrected = verify_crammer_singer(crammer_singer, type(solved)(**{**vars(solved), "status": Status.SOLVED}), 1e-14)
    assert corrected.status is Status.NUMERICAL
    assert corrected.gap == crammer_singer_optimality(crammer_singer, solved.weights, solved.offset, solved.alpha).gap


class TestShiftedFeatures:
    """With a free offset, features of small problems are centered."""

    @pytest.mark.parametrize("shift", [10.0, 100.0, 1000.0])
    @pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
    def test_shift_does_not_change_the_solution(self, loss, shift):
        for seed in range(25):
            rng = np.random.default_rng(seed)
            n, d = int(rng.integers(5, 120)), int(rng.integers(1, 12))
            X = rng.normal(size=(n, d))
            y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
            y[:3] = 0, 1, 2
            original, shifted = (
                hinge.LinearSVC(loss=loss, C=10.0 ** (seed % 6 - 1) * 4, tol=1e-6).fit(Z, y) for Z in (X, X + shift)
            )
            assert shifted.status_ is Status.SOLVED, seed
            assert shifted.certify(X + shift, y).relative_gap <= 1e-6
            assert shifted.certificate_.primal == pytest.approx(original.certificate_.primal, rel=2e-6)
            assert shifted.n_iter_ <= original.n_iter_ + 100

    @pytest.mark.parametrize("solver", ["auto", "newton"])
    def test_shifted_regression_is_certified(self, solver):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 4)) * [1.0, 1e3, 1e-3, 1.0] + [1e3, -1e6, 1.0, 0.0]
        y = (X - X.mean(axis=0)) @ [1.0, 1e-3, 1e3, -1.0] + 0.1 * rng.normal(size=60) + 1e4
        model = hinge.LinearSVR(C=10.0, epsilon=0.1, solver=solver, tol=1e-5).fit(X, y)
        assert model.status_ is Status.SOLVED
        certificate = model.certify(X, y)
        assert certificate.relative_gap <= 1e-5
        rounding = certificate.rounding + model.certificate_.rounding
        assert certificate.gap == pytest.approx(model.certificate_.gap, rel=1e-3, abs=1e-12 + rounding)

    def test_warm_start_with_shifted_features(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 3)) + 500.0
        y = X[:, 0] + 0.5 * rng.normal(size=80) > 500
        model = hinge.LinearSVC(loss="hinge", C=1.0, warm_start=True).fit(X, y)
        assert model.set_params(C=1.1).fit(X, y).status_ is Status.SOLVED

    def test_centering_is_undone_by_restore(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(30, 2)) + 50.0, rng.normal(size=30) + 1e4
        problem = linear_regression(X, y, np.ones(30), 0.1, "epsilon_insensitive", Bias.FREE)
        centering = centered(problem, features=True)
        assert np.abs(centering.problem.X.mean(axis=0)).max() < 1e-12
        assert np.abs(centering.problem.target).max() < 10
        solved = CoordinateDescent(tol=1e-9).solve_linear(centering.problem)
        solution = centering.restore(solved)
        np.testing.assert_allclose(
            X @ solution.weights + solution.offset,
            centering.problem.X @ solved.weights + solved.offset + centering.target_shift,
            rtol=1e-12,
        )
        assert abs(np.sum(solution.beta)) <= 1e-15 * np.sum(np.abs(solution.beta))
        assert np.all((solution.beta >= problem.lower) & (solution.beta <= problem.upper))
        assert linear_optimality(problem, solution.weights, solution.offset, solution.beta).relative_gap <= 1e-8

    @pytest.mark.parametrize("bias", [Bias.NONE, Bias.PENALIZED])
    def test_no_centering_without_a_free_offset(self, bias):
        X = np.random.default_rng(0).normal(size=(30, 2)) + 50.0
        assert centered(linear_regression(X, X[:, 0], np.ones(30), 0.1, "epsilon_insensitive", bias), True) is None

    def test_no_centering_of_features_close_to_the_origin(self):
        X = np.random.default_rng(0).uniform(size=(30, 2))
        problem = linear_classification(X, np.where(X[:, 0] > 0.5, 1.0, -1.0), np.ones(30), "hinge")
        assert centered(problem, features=True) is None

    def test_overflowing_mean_is_rejected(self):
        X = np.full((4, 2), 1.7e308)
        with pytest.raises(ValueError, match="overflow"):
            hinge.LinearSVC().fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize(("shift", "scale", "d"), [(5e4, 100.0, 20), (3e4, 1e3, 1), (1e3, 1e3, 60), (1e5, 0.1, 5)])
def test_certificate_far_from_the_origin_is_recomputed(loss, shift, scale, d):
    """Xᵀβ is much smaller than its terms, so that updated sums are not accurate enough."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(3000, d))
    f = Z.sum(axis=1) / np.sqrt(d) + rng.normal(size=3000)
    X = (Z + shift) * scale
    for C, tol in ((10.0, 1e-3), (100.0, 1e-2), (0.01, 1e-5)):
        for max_iter in (3, 300):
            options = {"loss": loss, "C": C, "tol": tol, "max_iter": max_iter}
            if "epsilon" in loss:
                model, y = hinge.LinearSVR(epsilon=0.1, **options), f
            else:
                model, y = hinge.LinearSVC(**options), np.where(f > 0, 1.0, -1.0)
            certificate = model.fit(X, y).certify(X, y)
            assert model.status_ is not Status.SOLVED or certificate.relative_gap <= 2 * tol
            assert certificate.gap <= model.certificate_.gap * (1 + 1e-3) + 1e-9 * certificate.primal
