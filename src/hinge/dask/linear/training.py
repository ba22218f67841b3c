"""Training of the linear estimators: summary of the data, choice of the method, shared passes of all problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hinge.control import RunControl
from hinge.dask.blocks import Block
from hinge.dask.cluster import ClusterError, Stopped, Workers
from hinge.dask.linear.newton import Run, Steps, minimize
from hinge.dask.linear.objective import Objective
from hinge.dask.linear.passes import Pass, Setup, run_passes
from hinge.dask.summary import Summary
from hinge.estimators.common.report import FitReport
from hinge.estimators.linear.training import intercept_kind
from hinge.problems import Bias, Certificate, LinearProblem, LinearSolution, Status

MAX_HESSIAN_FEATURES = 3000  # more features: conjugate gradients; the matrix of a partition has 72 MB
MAX_HESSIAN_BYTES = 256 << 20  # memory of the matrices that one task computes for all classes
BAND_BYTES = 64 << 20  # memory of the samples that the client collects
MAX_BAND = 2000  # samples that the client collects: its solver stores their kernel matrix
MIN_BAND_SHARE = 0.25  # largest share of all samples that the client collects


@dataclass(frozen=True)
class Method:
    """The chosen method, and the reasons for the choice.

    Attributes
    ----------
    solver : {"newton", "newton_cg"}
        Newton's method with factorized systems, or with conjugate gradients.
    smooth : bool
        Whether the losses are differentiable. Otherwise they are smoothed, and the samples near a kink are solved for
        in the client.
    reasons : tuple of str
    bytes_per_step : int
        Size of the sums that every partition sends in a Newton step, or in a step of conjugate gradients.
    """

    solver: str
    smooth: bool
    reasons: tuple[str, ...]
    bytes_per_step: int

    def __str__(self) -> str:
        lines = [f"{self.solver}: {self.bytes_per_step:,d} bytes per partition and step", *self.reasons]
        return "\n".join(lines)


def choose_method(solver: str, summary: Summary, problem: LinearProblem, count: int) -> Method:
    """Choose between factorization and conjugate gradients by the number of features and classes."""
    d, smooth = summary.features, bool(np.all(problem.ridge > 0))
    matrices = 8 * d * d * count
    fits = d <= MAX_HESSIAN_FEATURES and matrices <= MAX_HESSIAN_BYTES
    if solver == "auto":
        chosen = "newton" if fits else "newton_cg"
        reason = (
            f"{d:,d} features and {count} problems: the matrices XᵀDX of a partition need {matrices / 2**20:,.1f} MB; "
            f"up to {MAX_HESSIAN_FEATURES:,d} features and {MAX_HESSIAN_BYTES >> 20} MB they are reduced and factorized"
        )
    else:
        chosen, reason = solver, f"solver={solver!r} was requested"
    if smooth:
        kind = "the losses are differentiable: Newton steps until the gap is at most tol"
    else:
        kind = "the losses have kinks: Newton steps on smoothed losses, then the samples near a kink in the client"
    size = 8 * (5 * d + 12) * count + (matrices if chosen == "newton" else 0)
    return Method(chosen, smooth, (reason, kind), size)


def train(
    estimator: Any, setup: Setup, summary: Summary, workers: Workers, control: RunControl
) -> tuple[Method, list[LinearSolution], FitReport, ClusterError | None]:
    """Solve the problems of an estimator on the blocks of the workers.

    Returns the method, one solution per function, the report, and the error of a lost cluster, if any; the solutions
    are then the best ones so far.
    """
    template = setup.problems(_small_block(setup, summary))
    method = choose_method(estimator.solver, summary, template[0], len(template))
    bias = intercept_kind(estimator)
    mean = summary.feature_sum / summary.n - (0.0 if setup.center is None else setup.center)
    objective = Objective(bias, float(estimator.intercept_scaling), setup.center, mean)
    rows = int(min(MAX_BAND, MIN_BAND_SHARE * summary.n, BAND_BYTES // (8 * summary.features)))
    report = control.report
    runs = []
    for problem in template:
        runs.append(
            Run(
                objective, float(estimator.tol), int(estimator.max_iter), method.smooth, method.solver == "newton",
                rows, problem.tube, report,
            )
        )  # fmt: skip
    error = run_together(runs, [minimize(run, summary.features) for run in runs], setup, workers)
    for run in runs:
        if run.certificate is None:  # no pass for a certificate was possible
            _store_uncertified(run, summary)
    solutions = [run.solution() for run in runs]
    certificates = [run.certificate for run in runs if run.certificate is not None]
    fit_report = FitReport.of(solutions, certificates, float(estimator.tol), of_gap=True)
    if control.interrupt is not None:
        fit_report = fit_report.interrupted(control.interrupt)
    return method, solutions, fit_report, error


def run_together(runs: Sequence[Run], methods: Sequence[Steps], setup: Setup, workers: Workers) -> ClusterError | None:
    """Advance all methods; the passes that they request are computed by one task per partition.

    If the deadline passes, the last points are certified by one more pass. If a signal was received or the cluster is
    lost, the runs end at once.
    """
    waiting: dict[int, Pass] = {}
    results: dict[int, Any] = dict.fromkeys(range(len(runs)))
    try:
        while True:
            for k in list(results):
                try:
                    waiting[k] = methods[k].send(results.pop(k))
                except StopIteration:
                    continue
            if not waiting:
                return None
            passes = sorted(waiting.items())
            name = "+".join(sorted({type(each).__name__.lower() for _, each in passes}))
            found = workers.reduce(name, run_passes, (setup, passes))
            results = {k: sums for (k, _), sums in zip(passes, found, strict=True)}
            waiting = {}
    except Stopped:
        stopped = Status.INTERRUPTED if workers.control.interrupt is not None else Status.TIME_LIMIT
        for run in runs:
            if run.status is not Status.SOLVED:
                run.status = stopped
        return None if stopped is Status.INTERRUPTED else _certify_last_points(runs, setup, workers)
    except ClusterError as error:
        for run in runs:
            if run.status is not Status.SOLVED:
                run.status = Status.INTERRUPTED
        return error


def _certify_last_points(runs: Sequence[Run], setup: Setup, workers: Workers) -> ClusterError | None:
    """Certify the last points of runs that ended at the deadline and have no certificate yet."""
    open_runs = [run for run in runs if run.status is not Status.SOLVED and run.point is not None]
    methods = [run.certify() for run in open_runs]
    try:
        passes = [next(method) for method in methods]
        index = [runs.index(run) for run in open_runs]
        while passes:
            found = workers.reduce("certify", run_passes, (setup, list(zip(index, passes, strict=True))), final=True)
            following, kept = [], []
            for k, method, sums in zip(index, methods, found, strict=True):
                try:
                    following.append(method.send(sums))
                    kept.append((k, method))
                except StopIteration:
                    continue
            passes, index, methods = following, [k for k, _ in kept], [method for _, method in kept]
    except Stopped:
        return None
    except ClusterError as error:
        return error
    return None


def _store_uncertified(run: Run, summary: Summary) -> None:
    """Store the last point of a run without a certificate: the optimum lies between zero and an unknown value."""
    if run.point is None:
        w, b = np.zeros(summary.features), 0.0
    else:
        w, b = run.objective.original(run.point)
    mu = np.array([b] if run.objective.bias is not Bias.NONE else [])
    run.certificate, run.final = Certificate.of(np.inf, 0.0, np.inf, 0.0, mu, True), (w, b)


def _small_block(setup: Setup, summary: Summary) -> Any:
    """Return a block with one sample of every class, from which the client learns loss, tube and number of problems."""
    y = np.zeros(1) if setup.classes is None else setup.classes
    return Block(np.zeros((len(y), summary.features)), y, np.ones(len(y)), len(y))
