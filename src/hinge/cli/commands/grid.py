"""`hinge grid`: choose parameters by cross-validation."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from typing import Any

import numpy as np
from sklearn.base import clone

from hinge.cli.certificates import as_dict, sentence
from hinge.cli.commands.train import fit
from hinge.cli.datafile import Samples, read_samples
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.models import assemble, run_parameters, scaled
from hinge.cli.output import check_outputs, field, note, number, show, shows_progress, table
from hinge.cli.parameters import estimator_class
from hinge.cli.search.axes import check_axes, parse_axes
from hinge.cli.search.parts import Search, check_scoring_name, make_splits
from hinge.cli.search.record import Record, fingerprint
from hinge.io import save
from hinge.problems import Status


def run(arguments: Namespace) -> int:
    """Search, fit the best candidate and report; return the exit code."""
    cls = estimator_class(arguments.estimator)
    fixed, axes = parse_axes(cls, arguments.parameter)
    if not axes:
        raise UsageError("no parameter has several values: pass for example -p C=0.1,1,10 or -p C=0.01:100:5")
    estimator = cls(**fixed)
    if arguments.seed is not None and hasattr(estimator, "random_state"):
        estimator.set_params(random_state=arguments.seed)
    check_axes(estimator, axes)
    check_scoring_name(estimator, arguments.scoring)
    check_outputs(arguments.output, arguments.state, inputs=(arguments.data, arguments.sample_weight))
    samples = read_samples(arguments, queries=arguments.estimator == "RankingSVM")
    splits = make_splits(estimator, samples, arguments.cv, arguments.seed)
    start = time.monotonic()
    with run_parameters(estimator, Namespace(**{**vars(arguments), "max_time": None, "quiet": True})):
        search = Search(estimator, axes, samples, arguments.scale, splits, arguments.scoring)
        with Record(arguments.state, _description(arguments, fixed, axes, samples)) as record:
            complete = _compute(search, record, arguments, start)
    seconds = time.monotonic() - start
    tables = Tables.of(search, record)
    best = tables.best()
    model = None
    if best is not None and arguments.output is not None:
        model = _refit(clone(estimator).set_params(**search.candidates[best]), samples, arguments)
    _show(arguments, search, tables, model, complete, seconds)
    converged = model is None or getattr(model, "status_", Status.SOLVED) is Status.SOLVED
    return ExitCode.SUCCESS if complete and converged else ExitCode.NOT_CONVERGED


def _description(
    arguments: Namespace, fixed: dict[str, Any], axes: dict[str, list[Any]], samples: Samples
) -> dict[str, Any]:
    """Everything that determines the scores."""
    return {
        "estimator": arguments.estimator,
        "fixed": {name: repr(value) for name, value in fixed.items()},
        "axes": {name: list(map(repr, values)) for name, values in axes.items()},
        "scale": arguments.scale,
        "cv": arguments.cv,
        "seed": arguments.seed,
        "scoring": arguments.scoring,
        "data": fingerprint(samples),
    }


def _compute(search: Search, record: Record, arguments: Namespace, start: float) -> bool:
    """Compute the scores that the record does not have; return whether all are known."""
    parts = search.parts()
    done = sum(record.has(part.cells) for part in parts)
    if record.scores:
        note(arguments, f"continuing {record.path}: {done} of {len(parts)} parts are done")
    try:
        for part in parts:
            if record.has(part.cells):
                continue
            left = None if arguments.max_time is None else arguments.max_time - (time.monotonic() - start)
            if left is not None and left <= 0:
                return False
            _progress(arguments, f"part {done + 1} of {len(parts)}  {part.label}", start)
            record.add(part.compute(left))
            done += record.has(part.cells)
    except KeyboardInterrupt:
        if record.path is None:
            raise KeyboardInterrupt("the scores are lost; with --state FILE a search can be continued") from None
        raise KeyboardInterrupt(
            f"{done} of {len(parts)} parts are in {record.path}, and the same command continues"
        ) from None
    finally:
        if shows_progress(arguments):
            sys.stderr.write("\r\x1b[K")
    return done == len(parts)


def _progress(arguments: Namespace, text: str, start: float) -> None:
    if shows_progress(arguments):
        sys.stderr.write(f"\r\x1b[Kgrid  {text}  {time.monotonic() - start:.1f} s")
        sys.stderr.flush()


def _refit(estimator: Any, samples: Samples, arguments: Namespace) -> Any:
    """Fit the best candidate to all samples and save it; return the estimator."""
    scaler, X = scaled(arguments, samples)
    with run_parameters(estimator, Namespace(**{**vars(arguments), "max_time": None})):
        fit(estimator, X, samples, {})
    save(assemble(scaler, estimator, samples), arguments.output)
    return estimator


class Tables:
    """Scores and times (candidates × folds); NaN where a score is missing."""

    def __init__(self, scores: Any, seconds: Any) -> None:
        self.scores, self.seconds = scores, seconds
        self.mean, self.std = scores.mean(axis=1), scores.std(axis=1)

    @classmethod
    def of(cls, search: Search, record: Record) -> Tables:
        """Collect the scores of all parts."""
        shape = (len(search.candidates), len(search.splits))
        scores, seconds = np.full(shape, np.nan), np.zeros(shape)
        for cell, (score, elapsed) in record.scores.items():
            scores[cell], seconds[cell] = score, elapsed
        return cls(scores, seconds)

    def best(self) -> int | None:
        """Return the first candidate with the largest mean score; None if no candidate is complete."""
        return int(np.nanargmax(self.mean)) if np.isfinite(self.mean).any() else None

    def order(self) -> list[int]:
        """Return the complete candidates, best first."""
        return [int(c) for c in np.argsort(-self.mean, kind="stable") if np.isfinite(self.mean[c])]


def _show(
    arguments: Namespace, search: Search, tables: Tables, model: Any, complete: bool, seconds: float
) -> None:
    candidates, best, order = search.candidates, tables.best(), tables.order()
    lines = [
        field("data", f"{search.samples.name}: {search.samples.summary()}"),
        field("search", f"{len(order)} of {len(candidates)} candidates × {len(search.splits)} folds, {seconds:.2f} s"),
        "",
    ]
    names = list(search.axes)
    rows = [
        [*(_value_text(candidates[c][name]) for name in names), f"{tables.mean[c]:.6f}", f"{tables.std[c]:.6f}"]
        for c in order[: arguments.top]
    ]
    lines += [*table([*names, "mean score", "deviation"], rows), ""]
    if best is not None:
        values = ", ".join(f"{name}={_value_text(value)}" for name, value in candidates[best].items())
        lines.append(field("best", f"{values}: score {tables.mean[best]:.6g}"))
    if model is not None:
        lines += [field("certificate", sentence(model.certificate_))] if hasattr(model, "certificate_") else []
        lines.append(field("model", arguments.output))
    if not complete:
        lines.append(field("incomplete", "the time limit ended the search"))
    result = {
        "data": search.samples.description(),
        "estimator": type(search.estimator).__name__,
        "complete": complete,
        "seconds": seconds,
        "best_params": None if best is None else candidates[best],
        "best_score": None if best is None else tables.mean[best],
        "candidates": [
            {"params": candidate, "scores": tables.scores[c], "mean": tables.mean[c], "std": tables.std[c]}
            for c, candidate in enumerate(candidates)
        ],
        "certificate": as_dict(model.certificate_) if hasattr(model, "certificate_") else None,
        "output": None if model is None else arguments.output,
    }
    show(arguments, result, lines)


def _value_text(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
