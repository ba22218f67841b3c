"""Limits of SMO: iterations, time, callbacks and interrupts."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from hinge import SVC, NuSVC, OneClassSVM, Status
from hinge.control import RunControl
from hinge.estimators.common.progress import ProgressLine
from hinge.formulations import CSVC, OneClass
from hinge.kernels import FunctionKernel, open_access
from hinge.solvers import SMO
from solvers.cases import TIME_FACTOR, certified, make_problem, slow_access, slow_problem

ATTEMPTS = 4  # measurements of a time; other processes may delay some of them


def quickest(attempt, limit):
    """Shortest of several measurements, repeated until one is within the limit."""
    times = []
    while len(times) < ATTEMPTS and (not times or min(times) > limit):
        times.append(attempt())
    return min(times)


def slow_one_class(seconds=0.004, n=300):
    """Problem that needs 150 kernel rows before the first step, because its start is not 0."""
    return OneClass(np.ones(n), 0.5).build(slow_access(n, seconds))


class CallbackError(Exception):
    """Raised by a callback."""


class TestIterations:
    @pytest.mark.parametrize("steps", [0, 1, 7, 100])
    def test_iteration_limit_is_respected(self, steps):
        problem = make_problem("CSVC", 200, C=10.0)
        solution = SMO(tol=1e-9, max_iter=steps).solve(problem)
        assert solution.status is Status.MAX_ITER
        assert solution.iterations == steps
        assert solution.exact
        assert certified(problem, solution).infeasibility <= 1e-11

    def test_every_step_decreases_the_objective(self):
        problem = make_problem("CSVC", 60, C=10.0)
        values = [problem.value(SMO(tol=1e-9, max_iter=k).solve(problem).alpha) for k in range(12)]
        assert values[0] == 0
        assert np.all(np.diff(values) < 0)

    def test_sufficient_limit_has_no_effect(self):
        problem = make_problem("CSVC", 60, C=10.0)
        free = SMO(tol=1e-6).solve(problem)
        limited = SMO(tol=1e-6, max_iter=free.iterations).solve(problem)
        assert limited.status is Status.SOLVED
        assert limited.alpha.tobytes() == free.alpha.tobytes()
        assert SMO(tol=1e-6, max_iter=free.iterations - 1).solve(problem).status is Status.MAX_ITER

    def test_no_iteration_at_the_solution(self):
        problem = make_problem("CSVC", 60)
        solution = SMO(tol=1e-6).solve(problem)
        assert SMO(tol=1e-6, max_iter=0).solve(problem, start=solution).status is Status.SOLVED


class TestTimeLimit:
    def run(self, problem, limit, **options):
        began = time.monotonic()
        solution = SMO(max_time=limit, **options).solve(problem)
        return time.monotonic() - began, solution

    @pytest.mark.parametrize("limit", [0.2, 0.5])
    @pytest.mark.parametrize("shrinking", [True, False])
    def test_time_limit_is_respected(self, limit, shrinking):
        """The gradient of shrunk samples is reconstructed in time, and the point is certified."""
        problem = slow_problem()
        allowed = (1.2 * limit + 0.1) * TIME_FACTOR

        def attempt():
            taken, solution = self.run(problem, limit, shrinking=shrinking)
            assert solution.status is Status.TIME_LIMIT
            assert taken >= 0.5 * limit
            assert solution.exact
            found = certified(problem, solution)
            assert found.infeasibility <= 1e-11 * np.abs(solution.alpha).sum()
            assert problem.value(solution.alpha) < 0
            return taken

        assert quickest(attempt, allowed) <= allowed

    def test_time_limit_is_respected_with_slow_rows(self):
        """150 rows of 4 ms are needed before the first step, and the limit is 0.1 s."""
        allowed = (1.2 * 0.1 + 0.1) * TIME_FACTOR

        def attempt():
            taken, solution = self.run(slow_one_class(), 0.1)
            assert solution.status is Status.TIME_LIMIT
            assert solution.alpha.sum() == pytest.approx(150)
            return taken

        assert quickest(attempt, allowed) <= allowed

    def test_generous_limit_has_no_effect(self):
        problem = make_problem("CSVC", 100)
        free, limited = SMO().solve(problem), SMO(max_time=100.0).solve(problem)
        assert limited.status is Status.SOLVED
        assert limited.alpha.tobytes() == free.alpha.tobytes()

    def test_time_limit_of_zero_allows_no_step(self):
        problem = make_problem("CSVC", 100)
        solution = SMO(max_time=0.0).solve(problem)
        assert solution.status is Status.TIME_LIMIT
        assert solution.iterations == 0


class TestCallback:
    def test_snapshots_are_consistent(self):
        snapshots = []
        solution = SMO(max_time=0.6 * TIME_FACTOR).solve(slow_problem(), control=RunControl(callback=snapshots.append))
        assert solution.status is Status.TIME_LIMIT
        assert 1 <= len(snapshots) <= 6 * TIME_FACTOR + 1
        names = {"iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact"}
        assert all(set(snapshot) == names for snapshot in snapshots)
        for name in ("iteration", "seconds"):
            assert np.all(np.diff([snapshot[name] for snapshot in snapshots]) > 0)
        for snapshot in snapshots:
            assert snapshot["primal"] - snapshot["dual"] == pytest.approx(snapshot["gap"])
            assert 0 < snapshot["active"] <= 3000
            assert snapshot["exact"] == (snapshot["active"] == 3000)

    def test_short_run_does_not_call_it(self):
        snapshots = []
        SMO().solve(make_problem("CSVC", 30), control=RunControl(callback=snapshots.append))
        assert snapshots == []

    def test_false_stops_the_run(self):
        snapshots = []

        def stop_at_second(snapshot):
            snapshots.append(snapshot)
            return len(snapshots) < 2

        began = time.monotonic()
        solution = SMO(max_time=20.0).solve(slow_problem(), control=RunControl(callback=stop_at_second))
        assert time.monotonic() - began < 5.0
        assert len(snapshots) == 2
        assert solution.status is Status.INTERRUPTED
        assert solution.error is None
        assert np.isfinite(solution.gradient).all()

    @pytest.mark.parametrize("answer", [None, True, 0, "", []], ids=repr)
    def test_other_return_values_do_not_stop_the_run(self, answer):
        """`lambda s: print(s)` returns None. Only False stops the run."""
        control = RunControl(callback=lambda snapshot: answer)
        solution = SMO(max_time=0.4 * TIME_FACTOR).solve(slow_problem(), control=control)
        assert solution.status is Status.TIME_LIMIT

    def test_exception_stops_the_run(self):
        error = CallbackError("enough")

        def callback(snapshot):
            raise error

        problem = slow_problem()
        solution = SMO(max_time=20.0).solve(problem, control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert solution.error is error
        assert np.all((solution.alpha >= 0) & (solution.alpha <= problem.upper))
        assert abs(problem.Q.sign @ solution.alpha) <= 1e-9 * solution.alpha.sum()

    @pytest.mark.parametrize("n", [300, 1500])
    def test_exception_before_the_first_step_is_returned(self, n):
        """While f = K β of the start is computed, optimality is unknown."""

        def callback(snapshot):
            raise CallbackError

        problem = slow_one_class(n=n)
        solution = SMO(max_time=20.0).solve(problem, control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert isinstance(solution.error, CallbackError)
        assert not solution.exact
        assert solution.alpha.sum() == pytest.approx(n / 2)

    def test_exception_has_priority_over_the_iteration_limit(self):
        def callback(snapshot):
            raise CallbackError

        solution = SMO(max_iter=0).solve(slow_one_class(), control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert isinstance(solution.error, CallbackError)


class TestKernelErrors:
    def test_exception_in_a_kernel_row_reaches_the_caller(self):
        calls = []

        def broken(A, B):
            calls.append(len(A))
            if len(A) == 1 and len(calls) > 20:
                raise CallbackError("row")
            return np.exp(-np.square(A[:, None] - B[None]).sum(axis=2))

        X = np.random.default_rng(0).normal(size=(60, 2))
        y = np.where(np.arange(60) % 2, 1.0, -1.0)
        access = open_access(FunctionKernel(broken), X, budget_bytes=0)
        with pytest.raises(CallbackError, match="row"):
            SMO(tol=1e-6).solve(CSVC(y, np.full(60, 10.0)).build(access))


class TestEstimators:
    """Limits and exceptions reach the caller of `fit`, and the model is kept."""

    @pytest.fixture
    def raising(self, monkeypatch):
        """The first update of the progress line raises an exception."""
        calls = []

        def update(self, snapshot):
            calls.append(snapshot)
            if len(calls) == 1:
                raise CallbackError("from the progress line")

        monkeypatch.setattr(ProgressLine, "update", update)

    def data(self):
        rng = np.random.default_rng(0)
        return rng.normal(size=(3000, 5)) * 10.0 ** np.arange(5), np.arange(3000) % 2

    def test_exception_reaches_the_caller_of_fit(self, raising):
        X, y = self.data()
        model = SVC(kernel="linear", C=1e6, verbose=True, max_time=20.0)
        with pytest.raises(CallbackError, match="progress line"):
            model.fit(X, y)
        assert model.status_ is Status.INTERRUPTED
        assert set(model.predict(X[:10])) <= {0, 1}
        assert model.certificate_.best_dual > 0

    def test_exception_is_kept_if_the_problem_is_solved_again(self, raising):
        X, y = self.data()
        model = NuSVC(kernel="linear", nu=0.9, class_weight={0: 2.0}, verbose=True, max_time=1.0)
        with pytest.raises(CallbackError):
            model.fit(X, y)

    def test_time_limit_of_an_estimator_is_respected(self):
        X, y = self.data()
        allowed = (1.2 * 0.5 + 0.1) * TIME_FACTOR

        def attempt():
            began = time.monotonic()
            with pytest.warns(match="max_time"):
                model = SVC(kernel="linear", C=1e6, max_time=0.5).fit(X, y)
            assert model.status_ is Status.TIME_LIMIT
            return time.monotonic() - began

        assert quickest(attempt, allowed) <= allowed

    def test_three_classes_share_the_time_limit(self):
        X, _ = self.data()
        allowed = (1.2 * 0.5 + 0.1) * TIME_FACTOR

        def attempt():
            began = time.monotonic()
            with pytest.warns(match="max_time"):
                model = SVC(kernel="linear", C=1e6, max_time=0.5).fit(X, np.arange(3000) % 3)
            assert model.status_ is Status.TIME_LIMIT
            return time.monotonic() - began

        assert quickest(attempt, allowed) <= allowed

    def test_time_limit_before_the_first_step_gives_a_finite_model(self):
        X = np.random.default_rng(0).normal(size=(4000, 10))
        with pytest.warns(match="max_time"):
            model = OneClassSVM(nu=0.5, max_time=0.001).fit(X)
        assert model.status_ is Status.TIME_LIMIT
        assert np.isfinite(model.decision_function(X[:5])).all()


CHILD = """
import signal, sys, time
import numpy as np
import hinge

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 8)) * 10.0 ** np.arange(-2, 6)
y = rng.integers(0, 2, 20_000)
model = hinge.{model}
print("ready", flush=True)
try:
    model.fit(X, y)
    print("finished")
except KeyboardInterrupt:
    print(time.monotonic())
    print(model.status_.name, np.unique(model.predict(X[:500])).size, model.certificate_)
"""


class TestInterrupt:
    """Latency of Ctrl-C sent from another process."""

    def latency(self, model, wait):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD).format(model=model)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(wait)
            sent = time.monotonic()  # the clock is the same for all processes
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
        caught, report = output.splitlines()
        assert report.startswith("INTERRUPTED ")
        assert "optimum between" in report
        return float(caught) - sent

    @pytest.mark.parametrize(
        ("model", "wait"),
        [
            ("SVC(kernel='linear', C=1e5)", 0.8),  # about the time at which Auto changes the solver
            ("SVC(C=1e5)", 1.5),
            ("OneClassSVM(nu=0.9)", 0.4),  # while f of the start is computed
        ],
    )
    def test_interrupt_latency(self, model, wait):
        latency = quickest(lambda: self.latency(model, wait * TIME_FACTOR), 0.2 * TIME_FACTOR)
        assert latency <= 0.5 * TIME_FACTOR
