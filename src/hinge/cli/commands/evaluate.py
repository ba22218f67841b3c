"""`hinge evaluate`: compare the predictions of a model with the labels of a data file."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from hinge.cli.datafile import Expected, Samples, read_samples
from hinge.cli.failures import ExitCode, UsageError
from hinge.cli.models import Parts, load_predictor, without_name_warnings
from hinge.cli.output import field, label_text, number, show, table
from hinge.ranking import ndcg

#: Larger confusion matrices are part of the JSON output only.
MAX_PRINTED_CLASSES = 20


def run(arguments: Namespace) -> int:
    """Print the scores; return the exit code."""
    scorers = {name: _scorer(name) for name in arguments.metric}
    model = load_predictor(arguments.model, arguments.features)
    estimator = Parts.of(model).estimator
    ranks = type(estimator).__name__ == "RankingSVM"
    samples = read_samples(arguments, expected=Expected.of(model), queries=ranks)
    with without_name_warnings():
        if is_classifier(estimator):
            result, lines = _classification(model, samples)
        elif is_outlier_detector(estimator):
            result, lines = _novelty(model, samples)
        elif ranks:
            result, lines = _ranking(model, samples)
        else:
            assert is_regressor(estimator)
            result, lines = _regression(model, samples)
        extra = {name: float(scorer(model, samples.X, samples.labels)) for name, scorer in scorers.items()}
    lines += [field(name, number(value)) for name, value in extra.items()]
    head = {"model": arguments.model, "data": samples.description()}
    show(arguments, {**head, **result, **extra}, [field("data", f"{samples.name}: {samples.summary()}"), *lines])
    return ExitCode.SUCCESS


def _scorer(name: str) -> Any:
    try:
        return metrics.get_scorer(name)
    except ValueError:
        names = ", ".join(metrics.get_scorer_names())
        raise UsageError(f"--metric {name!r} is not a score of scikit-learn; the scores are {names}") from None


def _classification(model: Any, samples: Samples) -> tuple[dict[str, Any], list[str]]:
    truth, predicted = samples.labels, model.predict(samples.X)
    classes = np.unique(np.concatenate([np.asarray(model.classes_), np.asarray(truth)]))
    confusion = metrics.confusion_matrix(truth, predicted, labels=classes)
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        truth, predicted, labels=classes, zero_division=0
    )
    correct = int(np.trace(confusion))
    accuracy = correct / len(truth)
    lines = [field("accuracy", f"{accuracy:.4%} ({correct} of {len(truth)})"), ""]
    rows = zip(classes.tolist(), precision, recall, f1, support, strict=True)
    cells = [[label_text(c), f"{p:.4f}", f"{r:.4f}", f"{f:.4f}", str(s)] for c, p, r, f, s in rows]
    lines += table(["class", "precision", "recall", "F1", "samples"], cells)
    if len(classes) <= MAX_PRINTED_CLASSES:
        names = [label_text(c) for c in classes.tolist()]
        body = [[name, *map(str, row)] for name, row in zip(names, confusion.tolist(), strict=True)]
        lines += ["", "confusion matrix: rows are true classes, columns are predictions"]
        lines += table(["", *names], body)
    result = {
        "accuracy": accuracy,
        "correct": correct,
        "classes": classes,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "confusion": confusion,
    }
    return result, lines


def _regression(model: Any, samples: Samples) -> tuple[dict[str, Any], list[str]]:
    truth, predicted = samples.labels, model.predict(samples.X)
    result = {
        "r2": metrics.r2_score(truth, predicted),
        "mean_squared_error": metrics.mean_squared_error(truth, predicted),
        "mean_absolute_error": metrics.mean_absolute_error(truth, predicted),
        "max_error": metrics.max_error(truth, predicted),
    }
    names = {"r2": "R²", "mean_squared_error": "mean squared error", "mean_absolute_error": "mean absolute error",
             "max_error": "largest error"}  # fmt: skip
    return result, [f"{names[key]:<21}{number(value)}" for key, value in result.items()]


def _novelty(model: Any, samples: Samples) -> tuple[dict[str, Any], list[str]]:
    predicted = model.predict(samples.X)
    share = float(np.mean(predicted == -1))
    result = {"outliers": share}
    lines = [field("outliers", f"{share:.4%} ({int(np.sum(predicted == -1))} of {len(predicted)})")]
    if samples.y is not None and set(np.unique(samples.y).tolist()) == {-1, 1}:
        result["accuracy"] = float(np.mean(predicted == samples.y))
        lines.append(field("accuracy", f"{result['accuracy']:.4%}"))
    return result, lines


def _ranking(model: Any, samples: Samples) -> tuple[dict[str, Any], list[str]]:
    X = Parts.of(model).transform(samples.X)
    scores = Parts.of(model).estimator.predict(X)
    value = float(ndcg(samples.labels, scores, samples.query_id))
    return {"ndcg_at_10": value}, [field("NDCG@10", number(value))]
