"""A solver stops when it is told to: after so many steps, so many seconds, or a word from outside."""

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
from solvers.cases import PATIENCE, certified, endless, machine_problem, slow_access

ATTEMPTS = 4  # at a measurement of time on a busy machine


def quickest(attempt, limit):
    """The best of a few measurements, made until one is within the limit."""
    times = []
    while len(times) < ATTEMPTS and (not times or min(times) > limit):
        times.append(attempt())
    return min(times)


def slow_one_class(seconds=0.004, n=300):
    """150 rows are needed before the first step: the start of a ν-machine is no zero."""
    return OneClass(np.ones(n), 0.5).build(slow_access(n, seconds))


class Asked(Exception):
    """What a monitor raises."""


class TestIterations:
    @pytest.mark.parametrize("steps", [0, 1, 7, 100])
    def test_are_counted(self, steps):
        problem = machine_problem("CSVC", 200, C=10.0)
        solution = SMO(tol=1e-9, max_iter=steps).solve(problem)
        assert solution.status is Status.MAX_ITER
        assert solution.iterations == steps
        assert solution.exact
        assert certified(problem, solution).infeasibility <= 1e-11

    def test_every_step_helps(self):
        problem = machine_problem("CSVC", 60, C=10.0)
        values = [problem.value(SMO(tol=1e-9, max_iter=k).solve(problem).alpha) for k in range(12)]
        assert values[0] == 0
        assert np.all(np.diff(values) < 0)

    def test_enough_are_enough(self):
        problem = machine_problem("CSVC", 60, C=10.0)
        free = SMO(tol=1e-6).solve(problem)
        limited = SMO(tol=1e-6, max_iter=free.iterations).solve(problem)
        assert limited.status is Status.SOLVED
        assert limited.alpha.tobytes() == free.alpha.tobytes()
        assert SMO(tol=1e-6, max_iter=free.iterations - 1).solve(problem).status is Status.MAX_ITER

    def test_none_are_needed_at_the_solution(self):
        problem = machine_problem("CSVC", 60)
        solution = SMO(tol=1e-6).solve(problem)
        assert SMO(tol=1e-6, max_iter=0).solve(problem, start=solution).status is Status.SOLVED


class TestSeconds:
    def run(self, problem, limit, **options):
        began = time.monotonic()
        solution = SMO(max_time=limit, **options).solve(problem)
        return time.monotonic() - began, solution

    @pytest.mark.parametrize("limit", [0.2, 0.5])
    @pytest.mark.parametrize("shrinking", [True, False])
    def test_are_kept(self, limit, shrinking):
        """What was set aside is put back in time, and the point is as good as it can be said to be."""
        problem = endless()
        allowed = (1.2 * limit + 0.1) * PATIENCE

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

    def test_are_kept_when_rows_are_slow(self):
        """150 rows of 4 ms each before the first step, and a tenth of a second."""
        allowed = (1.2 * 0.1 + 0.1) * PATIENCE

        def attempt():
            taken, solution = self.run(slow_one_class(), 0.1)
            assert solution.status is Status.TIME_LIMIT
            assert solution.alpha.sum() == pytest.approx(150)
            return taken

        assert quickest(attempt, allowed) <= allowed

    def test_nothing_is_lost_by_a_generous_limit(self):
        problem = machine_problem("CSVC", 100)
        free, limited = SMO().solve(problem), SMO(max_time=100.0).solve(problem)
        assert limited.status is Status.SOLVED
        assert limited.alpha.tobytes() == free.alpha.tobytes()

    def test_none_at_all(self):
        problem = machine_problem("CSVC", 100)
        solution = SMO(max_time=0.0).solve(problem)
        assert solution.status is Status.TIME_LIMIT
        assert solution.iterations == 0


class TestMonitor:
    def test_is_told_how_it_goes(self):
        heard = []
        solution = SMO(max_time=0.6 * PATIENCE).solve(endless(), control=RunControl(callback=heard.append))
        assert solution.status is Status.TIME_LIMIT
        assert 1 <= len(heard) <= 6 * PATIENCE + 1
        names = {"iteration", "seconds", "violation", "primal", "dual", "gap", "active", "exact"}
        assert all(set(snapshot) == names for snapshot in heard)
        for name in ("iteration", "seconds"):
            assert np.all(np.diff([snapshot[name] for snapshot in heard]) > 0)
        for snapshot in heard:
            assert snapshot["primal"] - snapshot["dual"] == pytest.approx(snapshot["gap"])
            assert 0 < snapshot["active"] <= 3000
            assert snapshot["exact"] == (snapshot["active"] == 3000)

    def test_is_not_bothered_by_a_short_run(self):
        heard = []
        SMO().solve(machine_problem("CSVC", 30), control=RunControl(callback=heard.append))
        assert heard == []

    def test_stops_by_returning_false(self):
        heard = []

        def enough(snapshot):
            heard.append(snapshot)
            return len(heard) < 2

        began = time.monotonic()
        solution = SMO(max_time=20.0).solve(endless(), control=RunControl(callback=enough))
        assert time.monotonic() - began < 5.0
        assert len(heard) == 2
        assert solution.status is Status.INTERRUPTED
        assert solution.error is None
        assert np.isfinite(solution.gradient).all()

    @pytest.mark.parametrize("answer", [None, True, 0, "", []], ids=repr)
    def test_goes_on_for_any_other_answer(self, answer):
        """`lambda s: print(s)` returns None; only False itself means stop."""
        solution = SMO(max_time=0.4 * PATIENCE).solve(endless(), control=RunControl(callback=lambda snapshot: answer))
        assert solution.status is Status.TIME_LIMIT

    def test_stops_by_raising(self):
        error = Asked("enough")

        def callback(snapshot):
            raise error

        problem = endless()
        solution = SMO(max_time=20.0).solve(problem, control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert solution.error is error
        assert np.all((solution.alpha >= 0) & (solution.alpha <= problem.upper))
        assert abs(problem.Q.sign @ solution.alpha) <= 1e-9 * solution.alpha.sum()

    @pytest.mark.parametrize("n", [300, 1500])
    def test_stops_before_the_first_step(self, n):
        """While f = K β of the start is summed up.  Nothing is known then, least of all that it is optimal."""

        def callback(snapshot):
            raise Asked

        problem = slow_one_class(n=n)
        solution = SMO(max_time=20.0).solve(problem, control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert isinstance(solution.error, Asked)
        assert not solution.exact
        assert solution.alpha.sum() == pytest.approx(n / 2)

    def test_stops_a_solver_that_would_have_no_step_left(self):
        """Interrupted on the last of its iterations: the interruption is what is told."""

        def callback(snapshot):
            raise Asked

        solution = SMO(max_iter=0).solve(slow_one_class(), control=RunControl(callback=callback))
        assert solution.status is Status.INTERRUPTED
        assert isinstance(solution.error, Asked)


class TestKernelErrors:
    def test_an_exception_in_a_kernel_row_reaches_the_caller(self):
        calls = []

        def broken(A, B):
            calls.append(len(A))
            if len(A) == 1 and len(calls) > 20:
                raise Asked("row")
            return np.exp(-np.square(A[:, None] - B[None]).sum(axis=2))

        X = np.random.default_rng(0).normal(size=(60, 2))
        y = np.where(np.arange(60) % 2, 1.0, -1.0)
        access = open_access(FunctionKernel(broken), X, budget_bytes=0)
        with pytest.raises(Asked, match="row"):
            SMO(tol=1e-6).solve(CSVC(y, np.full(60, 10.0)).build(access))


class TestEstimators:
    """What stops a solver arrives at the caller of `fit`, and the model so far is in place."""

    @pytest.fixture
    def raising(self, monkeypatch):
        """The progress line raises, once."""
        calls = []

        def update(self, snapshot):
            calls.append(snapshot)
            if len(calls) == 1:
                raise Asked("from the progress line")

        monkeypatch.setattr(ProgressLine, "update", update)

    def data(self):
        rng = np.random.default_rng(0)
        return rng.normal(size=(3000, 5)) * 10.0 ** np.arange(5), np.arange(3000) % 2

    def test_an_exception_reaches_the_caller_of_fit(self, raising):
        X, y = self.data()
        model = SVC(kernel="linear", C=1e6, verbose=True, max_time=20.0)
        with pytest.raises(Asked, match="progress line"):
            model.fit(X, y)
        assert model.status_ is Status.INTERRUPTED
        assert set(model.predict(X[:10])) <= {0, 1}
        assert model.certificate_.best_dual > 0

    def test_an_exception_is_not_forgotten_by_a_second_round(self, raising):
        X, y = self.data()
        model = NuSVC(kernel="linear", nu=0.9, class_weight={0: 2.0}, verbose=True, max_time=1.0)
        with pytest.raises(Asked):
            model.fit(X, y)

    def test_max_time_of_an_estimator(self):
        X, y = self.data()
        allowed = (1.2 * 0.5 + 0.1) * PATIENCE

        def attempt():
            began = time.monotonic()
            with pytest.warns(match="max_time"):
                model = SVC(kernel="linear", C=1e6, max_time=0.5).fit(X, y)
            assert model.status_ is Status.TIME_LIMIT
            return time.monotonic() - began

        assert quickest(attempt, allowed) <= allowed

    def test_three_classes_share_the_time(self):
        X, _ = self.data()
        allowed = (1.2 * 0.5 + 0.1) * PATIENCE

        def attempt():
            began = time.monotonic()
            with pytest.warns(match="max_time"):
                model = SVC(kernel="linear", C=1e6, max_time=0.5).fit(X, np.arange(3000) % 3)
            assert model.status_ is Status.TIME_LIMIT
            return time.monotonic() - began

        assert quickest(attempt, allowed) <= allowed

    def test_a_one_class_machine_has_a_start_to_sum_up(self):
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
    """Ctrl-C, from one process to another."""

    def latency(self, model, wait):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CHILD).format(model=model)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(wait)
            sent = time.monotonic()  # the same clock for all processes
            child.send_signal(signal.SIGINT)
            output, _ = child.communicate(timeout=60)
        finally:
            child.kill()
            child.wait()
        caught, told = output.splitlines()
        assert told.startswith("INTERRUPTED ")
        assert "optimum between" in told
        return float(caught) - sent

    @pytest.mark.parametrize(
        ("model", "wait"),
        [
            ("SVC(kernel='linear', C=1e5)", 0.8),  # about when one method gives way to another
            ("SVC(C=1e5)", 1.5),
            ("OneClassSVM(nu=0.9)", 0.4),  # while its start is summed up
        ],
    )
    def test_is_heard_at_once(self, model, wait):
        latency = quickest(lambda: self.latency(model, wait * PATIENCE), 0.2 * PATIENCE)
        assert latency <= 0.5 * PATIENCE
