"""Reports about fitted estimators: `summary()` as text and HTML, with hints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.description.hints import find_hints
from hinge.problems import Certificate, Status
from hinge.validation import as_vector, check_same_length

#: What each status means.
MEANINGS = {
    Status.SOLVED: "the tolerance was reached",
    Status.MAX_ITER: "the iteration limit ended the fit",
    Status.TIME_LIMIT: "the time limit ended the fit",
    Status.INTERRUPTED: "the fit was interrupted",
    Status.NUMERICAL: "the fit ended before the tolerance was reached, because of rounding errors or slow convergence",
}

STYLE = (
    "<style>.hinge-summary{border-collapse:collapse;font-size:.9em}.hinge-summary th{text-align:left;padding:.5em .8em "
    ".1em 0}.hinge-summary td{text-align:left;padding:.1em .8em;vertical-align:top}</style>"
)


@dataclass(frozen=True)
class Summary:
    """Report about a fitted estimator. `str` is the text; notebooks show it as HTML.

    Attributes
    ----------
    title : str
        Name of the class of the estimator.
    sections : dict
        The rows of every section, {title: {label: text}}.
    scores : dict of float
        Scores on the data that `summary` was given; empty without data.
    hints : tuple of str
        What may be wrong with the model or the data, and what to try.
    """

    title: str
    sections: Mapping[str, Mapping[str, str]]
    scores: Mapping[str, float]
    hints: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(label) for rows in self.sections.values() for label in rows)
        lines = [self.title]
        for title, rows in self.sections.items():
            lines += ["", title, *(f"  {label:{width}s}  {text}" for label, text in rows.items())]
        if self.hints:
            lines += ["", "hints", *(f"  - {hint}" for hint in self.hints)]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return the report as an HTML table."""
        rows = [f"<caption>{escape(self.title)}</caption>"]
        for title, entries in self.sections.items():
            rows.append(f'<tr><th colspan="2">{escape(title)}</th></tr>')
            rows += [f"<tr><td>{escape(k)}</td><td>{escape(text)}</td></tr>" for k, text in entries.items()]
        if self.hints:
            items = "".join(f"<li>{escape(hint)}</li>" for hint in self.hints)
            rows.append(f'<tr><th colspan="2">hints</th></tr><tr><td colspan="2"><ul>{items}</ul></td></tr>')
        return f'{STYLE}<table class="hinge-summary">{"".join(rows)}</table>'

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return str(self)


class SummaryMixin:
    """The method `summary` of estimators."""

    def summary(self, X: Any = None, y: Any = None) -> Summary:
        """Return a report: data, parameters, time, certificate, support vectors, scores and hints.

        Parameters
        ----------
        X, y : optional
            Data on which the scores are computed; hints about the features then use X. `y` may be left out for outlier
            detectors.

        Returns
        -------
        Summary
            `print` shows the text, and notebooks show HTML.

        Examples
        --------
        >>> from hinge import SVC
        >>> model = SVC(gamma=100.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> report = model.summary([[0.0], [3.0]], [0, 1])
        >>> report.scores["accuracy"]
        1.0
        """
        check_is_fitted(self)
        return summarize(self, X, y)


def summarize(model: Any, X: Any, y: Any) -> Summary:
    """Return the report about a fitted estimator."""
    scores = {} if X is None else dict(_scores(model, X, y))
    sections = {
        "data": dict(_data_rows(model)),
        "parameters": dict(_parameter_rows(model)),
        "training": dict(_training_rows(model)),
        "model": dict(_model_rows(model)),
        "scores": {name: f"{value:.4g}" for name, value in scores.items()},
    }
    filled = {title: rows for title, rows in sections.items() if rows}
    return Summary(type(model).__name__, filled, scores, tuple(find_hints(model, X, y)))


Rows = Iterator[tuple[str, str]]


def n_training_samples(model: Any) -> int | None:
    """Number of samples that the estimator was given, if it is known."""
    shape = getattr(model, "shape_fit_", None)
    return int(shape[0]) if shape is not None else getattr(model, "_n_seen", None)


def _data_rows(model: Any) -> Rows:
    n = n_training_samples(model)
    if n is not None:
        yield "samples", str(n)
    if getattr(model, "n_features_in_", None) is not None:
        yield "features", str(model.n_features_in_)
    if is_classifier(model) and getattr(model, "classes_", None) is not None:
        classes = [str(label) for label in np.asarray(model.classes_).tolist()]
        shown = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
        yield "classes", f"{len(classes)}: {shown}"


def _parameter_rows(model: Any) -> Rows:
    """Parameters that differ from their defaults, the main ones in any case."""
    defaults = type(model)().get_params(deep=False)
    kernel = getattr(getattr(model, "model_", None), "kernel", None)
    for name, value in model.get_params(deep=False).items():
        default = defaults[name]
        same = value is default or (type(value) is type(default) and np.ndim(value) == 0 and value == default)
        if name == "kernel" and kernel is not None:
            yield name, _shortened(kernel)
        elif name in ("C", "nu", "epsilon") or not same:
            yield name, _shortened(value)


def _shortened(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _training_rows(model: Any) -> Rows:
    status = getattr(model, "status_", None)
    if status is not None:
        yield "status", f"{status.name}: {MEANINGS[status]}"
    if getattr(model, "n_iter_", None) is not None:
        yield "iterations", str(int(np.max(model.n_iter_, initial=0)))
    seconds = _solver_seconds(model)
    if seconds is not None:
        yield "time of the solver", f"{seconds:.3g} s"
    certificate = getattr(model, "certificate_", None)
    if certificate is not None:
        yield "certificate", certificate_sentence(certificate)


def _solver_seconds(model: Any) -> float | None:
    """Time of all recorded runs of the solver; None if the history has no times."""
    history: Any = getattr(model, "history_", None)
    runs: list[Any] = history if isinstance(history, list) else [history]
    times = [run.seconds[-1] for run in runs if len(getattr(run, "seconds", ()))]
    return float(np.sum(times)) if times else None


def certificate_sentence(certificate: Certificate) -> str:
    """Return the meaning of a certificate in one sentence."""
    gap, relative = certificate.gap, certificate.relative_gap
    if certificate.convex is False:
        return (
            "the kernel is not positive semidefinite: the optimality conditions hold up to "
            f"{certificate.kkt_violation:.2g}, but the distance from the optimum is not bounded"
        )
    if not np.isfinite(relative):
        return "the distance from the optimum is not known: certify(X, y) computes it"
    if relative <= 0:
        return f"the objective is {certificate.primal:.6g}, and this is the optimum"
    return (
        f"the objective is {certificate.primal:.6g}, and no function has a value that is smaller by more than "
        f"{gap:.2g} ({100 * relative:.2g} %)"
    )


def _model_rows(model: Any) -> Rows:
    support, n = getattr(model, "support_", None), n_training_samples(model)
    if support is not None and n:
        yield "support vectors", f"{len(support)} ({100 * len(support) / n:.3g} % of the samples)"
    by_class = getattr(model, "n_support_", None)
    if by_class is not None and is_classifier(model) and np.size(by_class) > 1:
        yield "support vectors by class", ", ".join(map(str, np.asarray(by_class).tolist()))
    weights = vars(model).get("coef_")
    if weights is not None:
        array = weights.toarray() if sp.issparse(weights) else np.asarray(weights)
        yield "weights that are not zero", f"{np.count_nonzero(array)} of {array.size}"
    if "calibration_" in vars(model):
        yield "probabilities", "calibrated by cross-validation"


def _scores(model: Any, X: Any, y: Any) -> Iterator[tuple[str, float]]:
    predicted = model.predict(X)
    if is_outlier_detector(model):
        yield "share of inliers", float(np.mean(predicted == 1))
        return
    if y is None:
        raise ValueError(f"summary of {type(model).__name__} needs y to compute scores on X")
    y = as_vector(y)
    check_same_length(predicted, y)
    if is_classifier(model):
        correct = predicted == y
        yield "accuracy", float(np.mean(correct))
        yield "balanced accuracy", float(np.mean([correct[y == label].mean() for label in np.unique(y)]))
        return
    yield "R²", float(model.score(X, y))
    yield "mean absolute error", float(np.mean(np.abs(y - predicted)))
