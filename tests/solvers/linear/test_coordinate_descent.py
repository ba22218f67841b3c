"""CoordinateDescent: agreement with an independent solver, certificates, reproducibility, limits."""

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import hinge
from hinge import Status, _core
from hinge.control import RunControl
from hinge.formulations import CSVC, SVR, linear_classification, linear_one_class, linear_regression
from hinge.kernels import RBF, Linear, open_access
from hinge.problems import Bias, LinearProblem, linear_form, linear_optimality, optimality
from hinge.solvers import SMO, CoordinateDescent
from reference.linear import optimum, primal_value
from solvers.linear.cases import every_problem, make_problem

KINDS = ("dense", "duplicates", "sparse", "wide", "unscaled")
all_problems = pytest.mark.parametrize(("loss", "bias"), every_problem(), ids=str)


@all_problems
@pytest.mark.parametrize("kind", KINDS)
def test_certificate_agrees_with_an_independent_solver(loss, bias, kind):
    problem = make_problem(loss, bias, kind=kind)
    value = optimum(problem)
    solution = CoordinateDescent(tol=1e-9).solve_linear(problem)
    assert solution.status is Status.SOLVED
    scale = max(abs(value), 1e-3)
    assert solution.gap <= 1e-8 * scale
    assert abs(solution.primal - value) <= 1e-8 * scale
    assert abs(solution.dual - value) <= 1e-8 * scale


@all_problems
@pytest.mark.parametrize("method", ["descent", "newton"])
def test_each_method_reaches_the_optimum(loss, bias, method):
    problem = make_problem(loss, bias, C=0.3)
    tol = 1e-5 if method == "descent" else 1e-9
    solution = CoordinateDescent(tol=tol, method=method, max_time=20).solve_linear(problem)
    assert solution.status is Status.SOLVED
    value = optimum(problem)
    assert solution.dual - 1e-9 * abs(value) <= value <= solution.primal + 1e-9 * abs(value)
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    assert certificate.relative_gap <= 1.01 * tol


@all_problems
def test_certificate_agrees_with_the_data(loss, bias):
    problem = make_problem(loss, bias, n=3000, d=20)
    solution = CoordinateDescent(tol=1e-6).solve_linear(problem)
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    assert certificate.primal == pytest.approx(solution.primal, rel=1e-12)
    assert certificate.gap == pytest.approx(solution.gap, rel=1e-6, abs=1e-13 * abs(solution.primal))
    assert certificate.relative_gap <= 1e-6
    assert certificate.infeasibility <= 1e-10 * np.abs(solution.beta).sum()
    assert certificate.primal == pytest.approx(primal_value(problem, solution.weights, solution.offset), rel=1e-12)


@all_problems
@given(seed=st.integers(0, 1000), size=st.floats(0.0, 3.0))
@settings(max_examples=15)
def test_bounds_are_valid_at_any_point(loss, bias, seed, size):
    """For any w, b and feasible β, the optimum is between primal − gap and the primal value."""
    problem = make_problem(loss, bias, n=25, d=3)
    rng = np.random.default_rng(seed)
    w, b = size * rng.normal(size=3), float(rng.normal()) if bias is not Bias.NONE else 0.0
    high = np.where(np.isfinite(problem.upper), problem.upper, size + 0.1)
    low = np.where(np.isfinite(problem.lower), problem.lower, -size - 0.1)
    beta = low + rng.random(25) * (high - low)
    if bias is Bias.FREE:  # scaled such that the equality constraint holds
        if loss == "one_class":
            beta = problem.upper * problem.total / problem.upper.sum()
        else:
            up, down = np.maximum(beta, 0), np.minimum(beta, 0)
            beta = up * min(1.0, -down.sum() / up.sum()) + down * min(1.0, up.sum() / -down.sum())
    certificate = linear_optimality(problem, w, b, beta)
    value = optimum(problem)
    slack = 1e-9 * (1 + abs(certificate.primal))
    assert certificate.infeasibility <= 1e-9
    assert certificate.dual - slack <= value <= certificate.primal + slack
    assert certificate.primal == pytest.approx(primal_value(problem, w, b), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("C", [1e-4, 1e4])
@all_problems
def test_certificate_holds_for_small_and_large_costs(loss, bias, C):
    problem = make_problem(loss, bias, C=C, n=40)
    solution = CoordinateDescent(tol=1e-8, max_time=20).solve_linear(problem)
    assert solution.status is Status.SOLVED
    value = optimum(problem)
    assert solution.gap <= 1.01e-8 * abs(solution.primal)
    assert solution.dual <= value + 1e-9 * abs(value)
    assert solution.primal == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(("loss", "bias"), [(loss, bias) for loss, bias in every_problem() if loss != "one_class"])
@pytest.mark.parametrize("C", [0.2, 1.0])
@pytest.mark.parametrize("kind", ["dense", "sparse", "duplicates"])
def test_few_features_need_no_epochs(loss, bias, C, kind):
    """A subsample, then the samples close to a kink, are enough; the value agrees with that of descent."""
    problem = make_problem(loss, bias, C=C, n=6000, d=6, kind=kind)
    solution = CoordinateDescent(tol=1e-7).solve_linear(problem)
    assert solution.status is Status.SOLVED
    assert solution.counters["epochs"] == 0
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    assert certificate.relative_gap <= 1.01e-7
    assert certificate.infeasibility <= 1e-10 * np.abs(solution.beta).sum()
    other = CoordinateDescent(tol=1e-3, method="descent").solve_linear(problem)
    assert other.dual <= solution.primal
    assert solution.dual <= other.primal


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("bias", [Bias.NONE, Bias.FREE])
@pytest.mark.parametrize("n", [20_000, 40_000])
def test_results_of_lanes_do_not_depend_on_threads(loss, bias, n):
    """Epochs over few samples have one lane, others have two."""
    problem = make_problem(loss, bias, C=0.01, n=n, d=3)
    runs = [
        CoordinateDescent(tol=1e-4, method="descent", threads=threads).solve_linear(problem) for threads in (1, 2, 3)
    ]
    for run in runs:
        assert run.status is Status.SOLVED
        np.testing.assert_array_equal(run.beta, runs[0].beta)
        np.testing.assert_array_equal(run.weights, runs[0].weights)
    assert linear_optimality(problem, runs[0].weights, runs[0].offset, runs[0].beta).relative_gap <= 1.01e-4


def test_concurrent_lanes_converge_for_every_seed():
    """All samples change w in the same direction, which concurrent lanes must take into account.

    The result is a mean of w, which differs from Xᵀβ. Its certificate is valid.
    """
    rng = np.random.default_rng(0)
    X = 1.0 + rng.random((60_000, 10))
    y = np.where((X - 1.5) @ rng.normal(size=10) + 0.5 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    problem = hinge_problem(X, y, 0.003)
    for seed in range(8):
        run = CoordinateDescent(tol=2e-2, method="descent", seed=seed).solve_linear(problem)
        assert run.status is Status.SOLVED
        assert run.counters["epochs"] == 2
        certificate = linear_optimality(problem, run.weights, run.offset, run.beta)
        assert certificate.relative_gap <= 2e-2
        assert certificate.gap == pytest.approx(run.gap, rel=1e-6)
        assert np.linalg.norm(run.weights - X.T @ run.beta) > 1e-6 * np.linalg.norm(run.weights)
        exact = CoordinateDescent(tol=2e-2, method="descent", seed=seed).solve_linear(problem, expansion=True)
        np.testing.assert_allclose(exact.weights, X.T @ exact.beta, rtol=1e-9)


def test_number_of_steps_does_not_depend_on_the_seed():
    """Unbalanced classes and features of different frequencies."""
    rng = np.random.default_rng(0)
    n, d = 20_000, 200
    frequency = np.minimum(0.5, 0.5 * (np.arange(1, d + 1) / 3.0) ** -1.5)
    X = sp.csr_matrix((rng.random((n, d)) < frequency).astype(np.float32))
    score = X @ (rng.normal(size=d) * np.sqrt(np.arange(d)) / 5) + 0.1 * rng.normal(size=n)
    problem = hinge_problem(X, np.where(score > np.quantile(score, 0.97), 1.0, -1.0), 100.0)
    runs = [CoordinateDescent(tol=1e-4, seed=seed).solve_linear(problem) for seed in range(6)]
    steps = [run.iterations for run in runs]
    assert all(run.status is Status.SOLVED and run.counters["epochs"] == 0 for run in runs)
    assert max(steps) <= 1.5 * np.median(steps)


def hinge_problem(X, y, C):
    bound = C * y
    return LinearProblem(X, y, np.minimum(bound, 0), np.maximum(bound, 0), np.zeros(len(y)), bias=Bias.NONE)


@pytest.mark.parametrize("bias", [Bias.NONE, Bias.FREE])
def test_gap_of_stopped_lanes_is_certified(bias):
    problem = make_problem("hinge", bias, C=1.0, n=60_000, d=30)
    solution = CoordinateDescent(tol=1e-12, method="descent", threads=2, max_time=0.1).solve_linear(problem)
    assert solution.status is Status.TIME_LIMIT
    certificate = linear_optimality(problem, solution.weights, solution.offset, solution.beta)
    assert certificate.gap == pytest.approx(solution.gap, rel=1e-6)


def test_result_does_not_depend_on_threads():
    for loss, bias in (("hinge", Bias.FREE), ("squared_hinge", Bias.FREE), ("hinge", Bias.NONE)):
        problem = make_problem(loss, bias, n=4000, d=60)
        one, two, three = (
            CoordinateDescent(tol=1e-8, threads=threads).solve_linear(problem) for threads in (1, 2, 3)
        )
        for other in (two, three):
            assert np.array_equal(one.weights, other.weights)
            assert np.array_equal(one.beta, other.beta)
            assert one.offset == other.offset


def test_storage_format_does_not_change_the_optimum():
    problem = make_problem("hinge", Bias.FREE, n=300, d=12)
    X = problem.X.astype(np.float32)
    forms = [X, X.astype(np.float64), sp.csr_matrix(X), sp.csr_matrix(X.astype(np.float64))]
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    values = []
    for form in [*forms, wide]:
        args = {name: getattr(problem, name) for name in ("target", "lower", "upper", "ridge", "tube", "bias")}
        values.append(CoordinateDescent(tol=1e-9).solve_linear(LinearProblem(form, **args)).primal)
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


def test_warm_start_needs_fewer_iterations():
    problem = make_problem("hinge", Bias.FREE, n=5000, d=20)
    cold = CoordinateDescent(tol=1e-4).solve_linear(problem)
    warm = CoordinateDescent(tol=1e-4).solve_linear(problem, cold.beta)
    assert warm.iterations < cold.iterations
    assert warm.gap <= 1e-4 * warm.primal * 1.01


@pytest.mark.parametrize("method", ["descent", "newton"])
def test_iterations_and_time_are_limited(method):
    problem = make_problem("hinge", Bias.FREE, n=20_000, d=50, C=1e4, kind="unscaled")
    short = CoordinateDescent(tol=1e-12, method=method, max_iter=3).solve_linear(problem)
    assert short.status is Status.MAX_ITER
    assert short.iterations <= 3
    assert np.isfinite(short.gap)
    began = time.monotonic()
    cut = CoordinateDescent(tol=1e-15, method=method, max_time=0.2).solve_linear(problem)
    assert cut.status is not Status.INTERRUPTED
    assert time.monotonic() - began < 5.0
    certificate = linear_optimality(problem, cut.weights, cut.offset, cut.beta)
    assert certificate.gap == pytest.approx(cut.gap, rel=1e-2, abs=1e-12 * abs(cut.primal))


def test_callback_can_stop_the_run():
    problem = make_problem("hinge", Bias.FREE, n=20_000, d=50, C=1e4, kind="unscaled")
    seen = []
    solver = CoordinateDescent(tol=1e-15, method="descent", max_time=30)
    stopped = solver.solve_linear(problem, control=RunControl(callback=lambda s: seen.append(s) or len(seen) < 3))
    assert stopped.status is Status.INTERRUPTED
    assert len(seen) == 3
    assert {"iteration", "gap", "primal", "dual"} <= set(seen[0])


def test_blocks_reach_the_same_value(tmp_path):
    problem = make_problem("hinge", Bias.FREE, n=800, d=20)
    path = tmp_path / "X.npy"
    np.save(path, problem.X)
    mapped = LinearProblem(np.load(path, mmap_mode="r"), problem.target, problem.lower, problem.upper, problem.ridge)
    solver = CoordinateDescent(tol=1e-5, method="descent", block_bytes=40_000)
    in_memory = CoordinateDescent(tol=1e-5, method="descent").solve_linear(problem)
    in_blocks = solver.solve_linear(mapped)
    assert in_blocks.status is Status.SOLVED
    assert in_blocks.primal == pytest.approx(in_memory.primal, rel=3e-5)
    assert in_blocks.iterations <= 3 * in_memory.iterations + 20
    assert np.array_equal(np.load(path), problem.X)


class TestProblemOne:
    @pytest.mark.parametrize("name", ["SVC", "SVR", "OneClassSVM"])
    def test_kernel_estimators_reach_the_optimum_of_the_default_solver(self, name):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 4))
        y = X[:, 0] + 0.3 * rng.normal(size=150)
        X += 2.0  # the one-class optimum is 0 if the origin is among the samples
        y = y if name == "SVR" else np.where(y > 0, 1, 0)
        kernel = {"kernel": "linear", "tol": 1e-8}
        ours = getattr(hinge, name)(**kernel, solver=CoordinateDescent(tol=1e-10)).fit(X, y)
        other = getattr(hinge, name)(**kernel).fit(X, y)
        assert ours.certificate_.dual == pytest.approx(other.certificate_.dual, rel=1e-8)
        assert ours.certificate_.relative_gap < 1e-8
        assert ours.certify(X, y).relative_gap < 1e-8

    def test_problem_without_bias_agrees_with_smo(self):
        problem = make_problem("hinge", Bias.NONE, n=80)
        access = open_access(Linear(), problem.X)

        qp = CSVC(problem.target, problem.upper - problem.lower, bias=False).build(access)
        from_smo, from_descent = SMO(tol=1e-9).solve(qp), CoordinateDescent(tol=1e-9).solve(qp)
        assert optimality(qp, *from_descent.point).relative_gap < 1e-8
        np.testing.assert_allclose(from_smo.gradient, from_descent.gradient, atol=1e-6)

    def test_other_problems_are_rejected(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        y = np.repeat([0, 1], 10)
        with pytest.raises(ValueError, match="linear kernel"):
            hinge.SVC(kernel=RBF(1.0), solver="coordinate_descent").fit(X, y)
        with pytest.raises(ValueError, match="one equality row"):
            hinge.NuSVC(kernel="linear", solver="coordinate_descent").fit(X, y)

    def test_the_linear_form_merges_both_variables_of_regression(self):
        X = np.random.default_rng(0).normal(size=(9, 2))

        y = np.arange(9.0)
        linear = linear_form(SVR(y, np.full(9, 2.0), 0.25).build(open_access(Linear(), X)))
        np.testing.assert_allclose(linear.target, y)
        assert linear.tube == 0.25
        assert np.all(linear.lower == -2.0)
        assert np.all(linear.upper == 2.0)


@pytest.mark.parametrize(
    ("option", "value"), [("tol", 0.0), ("method", "magic"), ("max_time", -1.0), ("threads", 0)]
)
def test_invalid_options_are_named(option, value):
    with pytest.raises(ValueError, match=option):
        CoordinateDescent(**{option: value})


def test_compiled_function_checks_lengths():
    samples = _core.Samples.dense(np.ones((3, 2)))
    vectors = {name: np.zeros(2) for name in ("target", "lower", "upper", "ridge", "beta")}
    rest = dict(
        tube=0.0, bias=0, bias_scale=1.0, total=0.0, tolerance=1e-3, method=0, max_iterations=1, max_seconds=-1.0,
        threads=1, seed=0, expansion=False, block_bytes=0,
    )  # fmt: skip
    with pytest.raises(ValueError, match="one entry per sample"):
        _core.linear(samples, **vectors, **rest)


@pytest.mark.parametrize(("n", "d"), list(itertools.product([1, 2, 3], [1, 2])))
def test_very_small_problems_are_solved(n, d):
    X = np.arange(float(n * d)).reshape(n, d)
    for loss, bias in every_problem():
        target = np.where(np.arange(n) % 2, -1.0, 1.0)

        cost = np.ones(n)
        if loss == "one_class":
            problem = linear_one_class(X, cost, 0.5)
        elif "epsilon" in loss:
            problem = linear_regression(X, target, cost, 0.1, loss, bias)
        else:
            problem = linear_classification(X, target, cost, loss, bias)
        solution = CoordinateDescent(tol=1e-8, max_time=5).solve_linear(problem)
        assert solution.status is Status.SOLVED, (loss, bias)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_interrupt_ends_newton_steps_whose_passes_are_short(loss):
    """The interrupt flag is checked every 50 ms, not after every pass; the whole run takes several times as long."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500_000, 60))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    control = RunControl()
    control.flag.error = KeyboardInterrupt()
    problem = linear_classification(X, y, np.full(len(X), 100.0), loss, Bias.FREE)
    solution = CoordinateDescent(tol=1e-12).solve_linear(problem, control=control)
    assert solution.status is Status.INTERRUPTED
    assert solution.error is control.flag.error
