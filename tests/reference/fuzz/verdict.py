"""Run a random fit and compare everything it reports with exact bounds."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from flint import arb

from hinge import Status
from reference.exact import false_bounds, optima

#: Factor of `tol` up to which the quantity that it bounds confirms SOLVED: the certificate is computed independently.
TOL_FACTOR = 2.0

#: Largest relative gap of a small problem with the status SOLVED.
LOOSE_GAP = 1e-2

#: Tolerance of estimators without a parameter `tol`, and relative gap of solved linear programs.
EXACT_TOL = 1e-6

#: Gaps below this share of the value of the constant function count as rounding errors.
ROUNDING_GAP = 1e-12

#: Seconds for a fit without a limit before it counts as late.
UNLIMITED_TIME = 5.0

#: Relative and absolute distance of the exact bounds up to which the optimum counts as known.
TIGHT, TINY = 1e-18, 1e-60

#: Estimators whose history contains bounds of other problems than the last one.
SEVERAL_PROBLEMS = ("TransductiveSVC",)


@dataclass
class Verdict:
    """Result of one case: the status or the kind of error, and the list of failures."""

    seed: int
    estimator: str
    outcome: str
    failures: list = field(default_factory=list)
    seconds: float = 0.0
    resolved: bool | None = None  # whether the optimum is known; None if it was not computed
    excess: float = 0.0  # largest relative distance by which a bound is false

    def fail(self, kind, detail=""):
        self.failures.append((kind, detail))


def judge(case, fitted=None):
    """Fit the estimator of a case and return the verdict; `fitted` is called after the fit and before the checks."""
    estimator = case.estimator
    verdict = Verdict(case.seed, type(estimator).__name__, "")
    arguments = (case.X,) if case.y is None else (case.X, case.y)
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(*arguments, **case.fit)
        except ValueError as error:
            verdict.outcome = "rejected"
            if "operands" in str(error) or "array" in str(error).split()[:1]:
                verdict.fail("error", f"ValueError: {str(error)[:150]}")
        except Exception as error:
            verdict.outcome = "error"
            verdict.fail("error", f"{type(error).__name__}: {str(error)[:150]}")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        verdict.seconds = wall
        _check_time(verdict, estimator, min(wall, cpu))
        if fitted is not None:
            fitted()
        if verdict.outcome:
            return verdict
        verdict.outcome = Status(estimator.status_).name
        _check_values(verdict, case)
        _check_certificates(verdict, case, arguments)
    return verdict


def _check_time(verdict, estimator, seconds):
    limit = getattr(estimator, "max_time", None)
    allowed = UNLIMITED_TIME if limit is None else max(1.1 * limit, limit + 0.2)
    if seconds > allowed:
        verdict.fail("late", f"{seconds:.2f} s, limit {limit}")


def _check_values(verdict, case):
    model = case.estimator
    compute = getattr(model, "decision_function", model.predict)
    try:
        values = compute(case.X)
    except Exception as error:
        verdict.fail("error", f"decision values: {type(error).__name__}: {str(error)[:150]}")
        return
    if not np.isfinite(values).all():
        verdict.fail("nan", "decision values are not finite")


def _check_certificates(verdict, case, arguments):
    model = case.estimator
    reported = {}
    for name in ("fit", "certify"):
        try:
            reported[name] = model.certificate_ if name == "fit" else model.certify(*arguments, **case.fit)
        except Exception as error:
            verdict.fail("error", f"{name}: {type(error).__name__}: {str(error)[:150]}")
    for name, certificate in reported.items():
        if np.isnan([certificate.primal, certificate.dual, certificate.relative_gap]).any():
            verdict.fail("nan", f"{name}: the certificate contains NaN")
        if certificate.primal < certificate.dual or certificate.best_primal < certificate.best_dual:
            verdict.fail("order", f"{name}: primal {certificate.primal!r}, dual {certificate.dual!r}, or best bounds")
        if certificate.convex is True and not case.psd:
            verdict.fail("convex", f"{name}: the certificate claims that the problem is convex")
    if len(reported) < 2:
        return
    first, second = reported["fit"], reported["certify"]
    if max(first.dual, second.dual) > min(first.primal, second.primal):
        verdict.fail("disjoint", f"fit [{first.dual!r}, {first.primal!r}] certify [{second.dual!r}, {second.primal!r}]")
    _check_status(verdict, model, reported, case.psd)
    if case.psd:
        _check_bounds(verdict, case, arguments, reported)


def _check_status(verdict, model, reported, psd):
    if verdict.outcome != "SOLVED":
        return
    tol = getattr(model, "tol", EXACT_TOL)
    if verdict.estimator in ("LPSVC", "LPSVR"):  # tol bounds the violation of constraints
        tol = EXACT_TOL
    reported = {"fit": reported["fit"]}  # the status follows from certificate_
    if getattr(model, "approximation_", None) is not None:  # SOLVED refers to the problem that was solved
        reported, psd = {"approximation_": model.approximation_.certificate}, False
    for name, certificate in reported.items():
        gap, violation = certificate.relative_gap, certificate.kkt_violation
        small = certificate.gap <= ROUNDING_GAP * max(abs(certificate.primal), abs(certificate.dual), 1.0)
        tight = gap <= max(LOOSE_GAP, TOL_FACTOR * tol) or small or np.isinf(certificate.primal)
        if not (violation <= TOL_FACTOR * tol or gap <= TOL_FACTOR * tol or small):
            verdict.fail("solved", f"{name}: tol {tol:.1e}, KKT {violation:.1e}, relative gap {gap:.1e}")
        elif psd and certificate.convex and not tight:
            verdict.fail("loose", f"{name}: tol {tol:.1e}, KKT {violation:.1e}, relative gap {gap:.1e}")


def _check_bounds(verdict, case, arguments, reported):
    try:
        optimum = optima(case.estimator, *arguments, **case.fit)
    except KeyError:
        return
    low, high = optimum.low, optimum.high
    scale = float(abs(low) + abs(high)) / 2
    verdict.resolved = bool(high - low <= arb(TIGHT) * scale + arb(TINY))
    pairs = []
    for name, certificate in reported.items():
        pairs.append((name, certificate.dual, certificate.primal))
        pairs.append((f"{name} best", certificate.best_dual, certificate.best_primal))
    histories = getattr(case.estimator, "history_", [])
    histories = histories if isinstance(histories, list) else [histories]
    single = len(histories) == 1 and len(optimum.parts) == 1 and verdict.estimator not in SEVERAL_PROBLEMS
    if single and len(histories[0]):
        upper = histories[0].primal[np.asarray(histories[0].exact, dtype=bool)]
        pairs.append(("history", np.nanmax(histories[0].dual, initial=-np.inf), np.nanmin(upper, initial=np.inf)))
    for name, dual, primal in pairs:
        for kind in false_bounds(float(dual), float(primal), low, high):
            if kind == "nan":
                continue
            bound, limit = (float(dual), high) if kind == "dual" else (float(primal), low)
            excess = float(abs(arb(bound) - limit)) / max(scale, abs(bound))
            verdict.excess = max(verdict.excess, excess)
            interval = f"[{float(dual)!r}, {float(primal)!r}]"
            verdict.fail("false", f"{name} {kind} by {excess:.1e}: {interval}, optimum {float(low)!r}")
