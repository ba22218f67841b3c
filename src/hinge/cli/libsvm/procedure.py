"""The work of `hinge-easy`: scaling, a grid search for C and gamma, training and prediction.

The grid, the order of its points and the rule for equal rates are those of grid.py: the same point is chosen if the
cross-validation rates are the same. All costs with the same gamma share kernel values.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np

from hinge.cli.libsvm.batch import Batch
from hinge.cli.libsvm.data import read_training_data
from hinge.cli.libsvm.fitting import run_training
from hinge.cli.libsvm.folds import CRandom
from hinge.cli.libsvm.options import TrainOptions
from hinge.cli.libsvm.predict import PredictOptions
from hinge.cli.libsvm.prediction import run_prediction
from hinge.cli.libsvm.scale import ScaleOptions
from hinge.cli.libsvm.scaling import run_scaling
from hinge.cli.libsvm.scores import accuracy
from hinge.cli.libsvm.training import CrossValidationPlan
from hinge.io.replacement import writing

LOG2_COSTS = tuple(range(-5, 16, 2))
LOG2_GAMMAS = tuple(range(3, -16, -2))
N_FOLDS = 5  # of the cross-validation, as in easy.py


def run_easy(training_file: str, testing_file: str = "") -> None:
    """Scale, search, train, and predict if there is a testing file. Files are written to the current directory."""
    name = os.path.basename(training_file)
    scaled, ranges, model = f"{name}.scale", f"{name}.range", f"{name}.model"
    print("Scaling training data...", flush=True)
    _scale(ScaleOptions(save_file=ranges, data_file=training_file), scaled)
    print("Cross validation...", flush=True)
    rates = grid_rates(TrainOptions(data_file=scaled, quiet=True))
    _write_rates(rates, f"{scaled}.out")
    log2_cost, log2_gamma, rate = best_point(rates)
    cost, gamma = 2.0**log2_cost, 2.0**log2_gamma
    print(f"Best c={cost}, g={gamma} CV rate={rate}", flush=True)
    print("Training...", flush=True)
    run_training(TrainOptions(cost=cost, gamma=gamma, quiet=True, data_file=scaled, model_file=model))
    print(f"Output model: {model}", flush=True)
    if not testing_file:
        return
    test = os.path.basename(testing_file)
    print("Scaling testing data...", flush=True)
    _scale(ScaleOptions(restore_file=ranges, data_file=testing_file), f"{test}.scale")
    print("Testing...", flush=True)
    prediction = PredictOptions(data_file=f"{test}.scale", model_file=model, output_file=f"{test}.predict")
    run_prediction(prediction)
    print(f"Output prediction: {test}.predict")


def _scale(options: ScaleOptions, path: str) -> None:
    """Write the output of `hinge-svm-scale` to a file."""
    with writing(path) as file:
        text = io.TextIOWrapper(file, encoding="ascii", write_through=True)
        with redirect_stdout(text):
            run_scaling(options)
        text.detach()


def grid_rates(options: TrainOptions) -> dict[tuple[int, int], float]:
    """Cross-validation accuracy in percent at every point (log2 C, log2 gamma)."""
    rates: dict[tuple[int, int], float] = {}
    for log2_gamma in LOG2_GAMMAS:
        samples = read_training_data(replace(options, gamma=2.0**log2_gamma))
        rows, batch = np.arange(len(samples.y)), Batch(samples, options)
        plans = {}
        for log2_cost in LOG2_COSTS:
            plans[log2_cost] = CrossValidationPlan(
                batch, rows, replace(options, cost=2.0**log2_cost), N_FOLDS, CRandom()
            )
        batch.solve()
        for log2_cost, plan in plans.items():
            rate = 100 * accuracy(samples.y, plan.build(lambda text: None))
            rates[log2_cost, log2_gamma] = float(f"{rate:g}")  # the digits that svm-train prints and grid.py reads
    return rates


def best_point(rates: dict[tuple[int, int], float]) -> tuple[int, int, float]:
    """The point with the largest rate, the first in the order of grid.py; with the same gamma, the smaller cost."""
    best_cost, best_gamma, best_rate = 0, 0, -1.0
    for cost, gamma in grid_order():
        rate = rates[cost, gamma]
        if rate > best_rate or (rate == best_rate and gamma == best_gamma and cost < best_cost):
            best_cost, best_gamma, best_rate = cost, gamma, rate
    return best_cost, best_gamma, best_rate


def grid_order() -> list[tuple[int, int]]:
    """All points, from a coarse grid to finer ones: rows and columns are added alternately, the middle ones first."""
    costs, gammas = _middle_first(list(LOG2_COSTS)), _middle_first(list(LOG2_GAMMAS))
    points, i, j = [], 0, 0
    while i < len(costs) or j < len(gammas):
        if i * len(gammas) < j * len(costs):
            points += [(costs[i], gamma) for gamma in gammas[:j]]
            i += 1
        else:
            points += [(cost, gammas[j]) for cost in costs[:i]]
            j += 1
    return points


def _middle_first(values: list[int]) -> list[int]:
    """The middle value, then those of both halves alternately, each in the same order."""
    if len(values) <= 1:
        return values
    middle = len(values) // 2
    left, right = _middle_first(values[:middle]), _middle_first(values[middle + 1 :])
    merged = [values[middle]]
    for k in range(max(len(left), len(right))):
        merged += left[k : k + 1] + right[k : k + 1]
    return merged


def _write_rates(rates: dict[tuple[int, int], float], path: str) -> None:
    lines = [f"log2c={cost} log2g={gamma} rate={rates[cost, gamma]}\n" for cost, gamma in grid_order()]
    with writing(path) as file:
        file.write("".join(lines).encode())
