"""`hinge path`: the exact solution path over C, ε or ν, and the best parameter on validation data."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone

from hinge.cli.commands.train import fit
from hinge.cli.datafile import Expected, Samples, read_samples
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.models import assemble, make_scaler, scaled
from hinge.cli.output import check_outputs, field, number, open_output, show
from hinge.cli.parameters import check_estimator, parse_parameters
from hinge.cli.search.parts import make_splits
from hinge.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from hinge.io import save
from hinge.paths import (
    Best,
    PiecewiseQuadratic,
    SolutionPath,
    StepFunction,
    epsilon_path,
    nu_path,
    one_vs_one_paths,
    regularization_path,
)
from hinge.plotting.explorer import explorer_html
from hinge.problems import Status

#: Estimator with the same solutions as the path, for every parameter and task.
ESTIMATORS: dict[tuple[str, str], Any] = {
    ("C", "classification"): SVC,
    ("C", "regression"): SVR,
    ("epsilon", "regression"): SVR,
    ("nu", "classification"): NuSVC,
    ("nu", "regression"): NuSVR,
    ("nu", "one_class"): OneClassSVM,
}


def run(arguments: Namespace) -> int:
    """Compute the path, report the best parameter, and write the files; return the exit code."""
    estimator = _estimator(arguments)
    _check(arguments)
    inputs = (arguments.data, arguments.validation, arguments.sample_weight)
    check_outputs(arguments.output, arguments.model, inputs=inputs)
    check_outputs(arguments.breakpoints, arguments.explore, inputs=inputs, devices=True, standard_output=True)
    samples = read_samples(arguments)
    scaler, X = scaled(arguments, samples)
    start = time.perf_counter()
    path = _path(arguments, estimator, X, samples.y)
    seconds = time.perf_counter() - start
    best, data = None, ()
    if arguments.validation is not None:
        names = Expected(samples.X.shape[1], samples.feature_names)
        validation = read_samples(arguments, arguments.validation, expected=names)
        X_validation = validation.X if scaler is None else scaler.transform(validation.X)
        data = (X_validation, validation.labels)
        best = path.best(*data)
    elif arguments.cv is not None:
        best = _cross_validated(arguments, estimator, samples)
    _write(arguments, path)
    if arguments.explore is not None:
        _explore(arguments, path, samples, data)
    if arguments.model is not None:
        assert best is not None
        chosen = clone(estimator).set_params(**{arguments.over: best.theta})
        fit(chosen, X, samples, {})
        save(assemble(scaler, chosen, samples), arguments.model)
    _show(arguments, samples, path, best, seconds)
    return ExitCode.SUCCESS if getattr(path, "status", Status.SOLVED) is Status.SOLVED else ExitCode.NOT_CONVERGED


def _estimator(arguments: Namespace) -> Any:
    """Return the estimator whose path is computed, with the parameters of -p."""
    cls = ESTIMATORS.get((arguments.over, arguments.task))
    if cls is None:
        tasks = [task for over, task in ESTIMATORS if over == arguments.over]
        raise UsageError(f"--over {arguments.over} needs --task {' or '.join(tasks)}, got {arguments.task}")
    parameters = parse_parameters(cls, arguments.parameter)
    allowed = set(signature(_function(arguments)).parameters) | set(signature(regularization_path).parameters)
    allowed = (allowed & set(signature(cls).parameters)) - {arguments.over, "max_time", "cache_size"}
    for name in parameters:
        if name not in allowed:
            names = ", ".join(sorted(allowed))
            raise UsageError(f"-p {name} is not a parameter of this path; its parameters are {names}")
    estimator = cls(**parameters)
    check_estimator(estimator)
    return estimator


def _check(arguments: Namespace) -> None:
    if arguments.validation is not None and arguments.cv is not None:
        raise UsageError("--validation and --cv exclude each other; pass one of them")
    if arguments.cv is not None and arguments.over != "C":
        raise UsageError(f"--cv is for paths over C, not over {arguments.over}; pass --validation FILE")
    if arguments.model is not None and arguments.validation is None and arguments.cv is None:
        raise UsageError("--model needs the best parameter: pass --validation FILE or --cv N")


def _function(arguments: Namespace) -> Callable[..., Any]:
    functions: dict[str, Callable[..., Any]] = {"C": regularization_path, "epsilon": epsilon_path, "nu": nu_path}
    return functions[arguments.over]


def _path(arguments: Namespace, estimator: Any, X: Any, y: Any) -> Any:
    """Return the path; more than two classes have a path for every pair."""
    multiclass = arguments.task == "classification" and arguments.over == "C" and len(np.unique(y)) > 2
    function: Callable[..., Any] = one_vs_one_paths if multiclass else _function(arguments)
    known = signature(function).parameters
    options = {name: value for name, value in estimator.get_params(deep=False).items() if name in known}
    limits = {f"{arguments.over}_min": arguments.min, f"{arguments.over}_max": arguments.max, "task": arguments.task,
              "max_time": arguments.max_time, "cache_size": arguments.memory}  # fmt: skip
    options |= {name: value for name, value in limits.items() if name in known and value is not None}
    options.pop(arguments.over, None)
    return function(X, y, **options)


def _cross_validated(arguments: Namespace, estimator: Any, samples: Samples) -> Best:
    """Return the C with the smallest cross-validated error; the scaling is fitted to every training fold."""
    errors: list[Any] = []
    for train, test in make_splits(estimator, samples, arguments.cv, arguments.seed):
        X = samples.X
        if arguments.scale != "none":
            X = make_scaler(arguments.scale, X).fit(X[train]).transform(X)
        path = _path(arguments, estimator, X[train], samples.labels[train])
        errors.append((path.validation_error(X[test], samples.labels[test]), len(test)))
    functions, sizes = zip(*errors, strict=True)
    mean: Any = (StepFunction if arguments.task == "classification" else PiecewiseQuadratic).mean
    best: Best = mean(list(functions), np.array(sizes) / sum(sizes)).best()
    return best


def _write(arguments: Namespace, path: Any) -> None:
    if arguments.output is not None:
        save(path, arguments.output)
    if arguments.breakpoints is not None:
        with open_output(arguments.breakpoints) as file:
            file.write("".join(f"{value!r}\n" for value in np.asarray(path.breakpoints).tolist()).encode("ascii"))


def _explore(arguments: Namespace, path: Any, samples: Samples, data: tuple[Any, ...]) -> None:
    """Write the interactive page of the path."""
    if not isinstance(path, SolutionPath):
        raise UsageError(f"--explore needs two classes, but {samples.name} has {len(np.unique(samples.labels))}")
    title = f"{samples.name}: path over {arguments.over}"
    page = explorer_html(path, *data, feature_names=samples.feature_names, title=title)
    with open_output(arguments.explore) as file:
        file.write(page.encode())


def _show(arguments: Namespace, samples: Samples, path: Any, best: Best | None, seconds: float) -> None:
    breakpoints = np.asarray(path.breakpoints)
    low, high = float(breakpoints[0]), float(breakpoints[-1])
    lines = [
        field("data", f"{samples.name}: {samples.summary()}"),
        field("path", f"{arguments.over} from {number(low)} to {number(high)}: {len(breakpoints)} breakpoints, "
                      f"{seconds:.2f} s"),
        field("KKT violation", f"at most {path.kkt_violation:.1e} at all breakpoints"),
    ]  # fmt: skip
    result: dict[str, Any] = {
        "data": samples.description(),
        "over": arguments.over,
        "low": low,
        "high": high,
        "breakpoints": len(breakpoints),
        "kkt_violation": path.kkt_violation,
        "seconds": seconds,
        "best": None,
        "output": arguments.output,
        "model": arguments.model,
        "page": arguments.explore,
    }
    if best is not None:
        kind = "cross-validated error" if arguments.cv is not None else "validation error"
        kind = kind if arguments.task == "classification" else f"{kind} (mean square)"
        interval = f"between {number(best.low)} and {number(best.high)}: " if best.low < best.high else ""
        text = f"{number(best.theta)} ({interval}{kind} {number(best.error)}, the exact minimum)"
        lines.append(field(f"best {arguments.over}", text))
        result["best"] = {"value": best.theta, "low": best.low, "high": best.high, "error": best.error}
    for name, file in (("path file", arguments.output), ("model", arguments.model), ("page", arguments.explore)):
        lines += [field(name, file)] if file is not None else []
    show(arguments, result, lines)
