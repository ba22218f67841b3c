"""Crammer–Singer problems: agreement with an independent solver, certificates, limits."""

import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hinge import LinearSVC, Status
from hinge.control import RunControl
from hinge.problems import Bias, CrammerSingerProblem, certify_crammer_singer, crammer_singer
from hinge.solvers import CoordinateDescent
from hinge.solvers.interior_point import crammer_singer as crammer_singer_interior
from hinge.solvers.interior_point.crammer_singer import interior_point_fallback, is_small
from reference.linear import crammer_singer_optimum


def problem_of(bias, kind, C=0.5, n=40, d=4, classes=3):
    rng = np.random.default_rng(5)
    label = rng.integers(0, classes, n).astype(np.int32)
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(classes, d)[label]
    if kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
        X[0] = 0.0
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.5, X, 0.0))
    return CrammerSingerProblem(X, label, C * rng.uniform(0.3, 2.0, n), classes, bias, 0.7)


@pytest.mark.parametrize("kind", ["dense", "duplicates", "sparse"])
@pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
def test_certificate_agrees_with_an_independent_solver(bias, kind):
    problem = problem_of(bias, kind)
    value = crammer_singer_optimum(problem)
    solution = CoordinateDescent(tol=5e-9, max_time=20).solve_crammer_singer(problem)
    assert solution.status is Status.SOLVED
    assert solution.gap <= 1e-8 * value
    assert abs(solution.primal - value) <= 1e-8 * value
    assert abs(solution.dual - value) <= 1e-8 * value
    certificate = certify_crammer_singer(problem, solution.weights, solution.offset, solution.alpha)
    assert certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
def test_two_classes_have_the_crammer_singer_optimum(bias):
    """The equivalent binary problem has the optimum for the full costs."""
    problem = problem_of(bias, "dense", classes=2)
    value = crammer_singer_optimum(problem)
    model = LinearSVC(
        multi_class="crammer_singer",
        C=1.0,
        tol=1e-10,
        fit_intercept=bias is not Bias.NONE,
        penalize_intercept=bias is Bias.PENALIZED,
        intercept_scaling=problem.bias_scale,
    ).fit(problem.X, problem.label, sample_weight=problem.cost)
    w, b = model.coef_[0] / 2, model.intercept_[0] / 2
    margin = np.where(problem.label == 1, 1.0, -1.0) * (problem.X @ (2 * w) + 2 * b)
    penalty = b * b / problem.bias_scale**2 if bias is Bias.PENALIZED else 0.0
    assert abs(w @ w + penalty + problem.cost @ np.maximum(0.0, 1.0 - margin) - value) <= 1e-8 * value
    assert abs(model.certificate_.primal - 2 * value) <= 2e-8 * value


def test_overflowing_norms_are_rejected():
    X = np.array([[1e160], [2e160], [3e160]])
    with pytest.raises(ValueError, match="norms of these samples overflow"):
        LinearSVC(multi_class="crammer_singer").fit(X, [0, 1, 2])


class TestInteriorPointFallback:
    """With few features the interior-point method continues where coordinate descent converges slowly."""

    @pytest.mark.parametrize("bias", list(Bias), ids=lambda bias: bias.name)
    @pytest.mark.parametrize(("n", "d", "C", "size"), [(18, 4, 34.0, 1.0), (25, 1, 20.0, 100.0), (12, 40, 80.0, 1.0)])
    def test_small_data_and_large_costs(self, bias, n, d, C, size):
        rng = np.random.default_rng(0)
        X, label = size * rng.normal(size=(n, d)), (np.arange(n) % 3).astype(np.int32)
        problem = CrammerSingerProblem(X, label, C * rng.uniform(0.5, 1.5, n), 3, bias, 0.7)
        solution = CoordinateDescent(tol=1e-8, max_iter=1000).solve_crammer_singer(problem)
        assert solution.status is Status.SOLVED
        certificate = certify_crammer_singer(problem, solution.weights, solution.offset, solution.alpha)
        assert certificate.relative_gap <= 1.01e-8
        assert certificate.infeasibility <= 1e-9 * C * n
        assert certificate.primal == pytest.approx(crammer_singer_optimum(problem), rel=1e-7)

    def test_iteration_limit_is_respected(self):
        problem = problem_of(Bias.NONE, "dense", C=1e4)
        for limits in ({"max_iter": 50}, {"max_iter": 1000, "method": "descent"}):
            solution = CoordinateDescent(tol=1e-10, **limits).solve_crammer_singer(problem)
            assert solution.status is Status.MAX_ITER
            assert solution.iterations <= limits["max_iter"]

    def test_time_limit_is_respected(self):
        problem = problem_of(Bias.NONE, "dense", C=1e4)
        descent = CoordinateDescent(tol=1e-10, max_iter=50).solve_crammer_singer(problem)
        solution = interior_point_fallback(problem, descent, 1e-10, RunControl(0.0))
        assert solution.status is Status.TIME_LIMIT
        assert solution.gap <= descent.gap

    @pytest.mark.parametrize(
        ("reaction", "error"),
        [(lambda: False, type(None)), (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)],
        ids=["callback", "signal"],
    )
    def test_callback_and_signal_end_the_run(self, reaction, error):
        """`fit` captures signals: nothing is raised here, and the best point is returned."""
        problem = problem_of(Bias.NONE, "dense", C=1e4)
        descent = CoordinateDescent(tol=1e-10, max_iter=50).solve_crammer_singer(problem)
        seen = []

        def callback(snapshot):
            seen.append(snapshot)
            return reaction() if len(seen) == 2 else None

        control = RunControl(callback=callback)
        with control.capture_signals(raises=False):
            solution = interior_point_fallback(problem, descent, 1e-10, control)
        assert solution.status is Status.INTERRUPTED
        assert type(solution.error) is error
        assert len(seen) == 2
        assert solution.iterations == descent.iterations + 2
        assert solution.gap <= descent.gap

    def test_interrupt_reaches_the_fallback(self, monkeypatch):
        """Ctrl-C in the second step of the interior-point method."""
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(18, 4)), np.arange(18) % 3
        steps, step = [], crammer_singer_interior._Iterate.step

        def interrupted(path):
            steps.append(path)
            if len(steps) == 2:
                signal.raise_signal(signal.SIGINT)
            return step(path)

        monkeypatch.setattr(crammer_singer_interior._Iterate, "step", interrupted)
        model = LinearSVC(C=34.0, tol=1e-10, multi_class="crammer_singer")
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert len(steps) == 2
        assert model.status_ is Status.INTERRUPTED

    def test_fallback_is_not_used_with_many_features(self):
        assert is_small(problem_of(Bias.FREE, "dense"))
        X = np.ones((2000, 400))
        assert not is_small(CrammerSingerProblem(X, np.zeros(2000, dtype=np.int32), np.ones(2000), 3))


@pytest.mark.parametrize("C", [1e-8, 1e-14, 1e-20, 1e-150])
def test_small_costs_do_not_cause_cancellation(C):
    """The variables have the size of C and must not be computed as differences of numbers of size 1."""
    problem = problem_of(Bias.FREE, "dense", C=C)
    solution = CoordinateDescent(tol=1e-8, method="descent", max_iter=1000).solve_crammer_singer(problem)
    assert solution.status is Status.SOLVED
    assert certify_crammer_singer(problem, solution.weights, solution.offset, solution.alpha).relative_gap <= 1e-8


def test_the_certificate_at_the_time_limit_has_a_lower_bound_only():
    """For many samples the certificate is not computed after the limit; `certify` computes it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LinearSVC(multi_class="crammer_singer", max_time=1e-6)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.status_ is Status.TIME_LIMIT
    assert (model.certificate_.primal, model.certificate_.dual) == (np.inf, 0.0)
    assert 0 < model.certify(X, y).primal < np.inf


def test_blocks_of_samples_give_the_same_certificate(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=300), [-0.5, 0.5])
    model = LinearSVC(multi_class="crammer_singer").fit(X, y)
    whole = model.certify(X, y)
    monkeypatch.setattr(crammer_singer, "BLOCK_ROWS", 32)
    parts = model.certify(X, y)
    assert parts.primal == pytest.approx(whole.primal, rel=1e-13)
    assert parts.dual == pytest.approx(whole.dual, rel=1e-13)
    assert parts.kkt_violation == pytest.approx(whole.kkt_violation, rel=1e-9, abs=1e-12)
