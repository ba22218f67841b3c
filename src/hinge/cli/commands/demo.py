"""`hinge demo`: classify the Wisconsin breast cancer data, print the certificate and write two plots."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from hinge import __version__
from hinge.estimators import SVC
from hinge.plotting import Convergence, DecisionBoundary


def run(arguments: Namespace) -> int:
    """Train, evaluate, certify and plot; return the exit code."""
    out = Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)  # first, so that an unusable directory is reported before any work
    data = load_breast_cancer()
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    n, d = data.data.shape
    print(f"hinge {__version__} on the Wisconsin breast cancer data that comes with scikit-learn")
    print(f"{n} samples, {d} standardized features; {len(y_train)} for training, {len(y_test)} for testing\n")

    start = time.perf_counter()
    model = SVC(C=10.0, gamma=0.02, tol=1e-6).fit(X_train, y_train)
    seconds = time.perf_counter() - start
    _print_model(model, seconds, X_test, y_test, data.target_names)
    _print_certificate(model, X_train, y_train)
    _draw(model, X_train, y_train, data.target_names, out)
    return 0


def _print_model(model: SVC, seconds: float, X: Any, y: Any, names: Any) -> None:
    correct = int(np.sum(model.predict(X) == y))
    total = int(np.sum(model.n_support_))
    per_class = ", ".join(f"{count} {name}" for count, name in zip(model.n_support_, names, strict=True))
    print(f"{model}: {model.status_.name} in {1e3 * seconds:.1f} ms")
    _print_rows(
        ("accuracy on test data", f"{correct / len(y):.1%} ({correct} of {len(y)})"),
        ("support vectors", f"{total} ({per_class})"),
    )


def _print_certificate(model: SVC, X: Any, y: Any) -> None:
    reported, recomputed = model.certificate_, model.certify(X, y)
    print("certificate: the optimum lies between the dual and the primal value")
    print(f"  {'':<27}{'fit':<20}certify(X, y), recomputed from the data")
    _print_rows(
        ("primal value", f"{reported.primal:<20.10f}{recomputed.primal:.10f}"),
        ("dual value", f"{reported.dual:<20.10f}{recomputed.dual:.10f}"),
        ("gap", f"{reported.gap:<20.2e}{recomputed.gap:.2e}"),
        ("relative gap", f"{reported.relative_gap:<20.2e}{recomputed.relative_gap:.2e}"),
        ("KKT violation", f"{reported.kkt_violation:<20.2e}{recomputed.kkt_violation:.2e}"),
    )


def _print_rows(*rows: tuple[str, str]) -> None:
    for name, value in rows:
        print(f"  {name:<27}{value}")
    print()


def _draw(model: SVC, X: Any, y: Any, names: Any, out: Path) -> None:
    """Plot the decision boundary of an SVC on two principal components and the convergence of `model`."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # plots are written to files; no display is needed
    plane = PCA(2, random_state=0).fit_transform(X)
    flat = SVC(C=1.0, gamma=0.04, tol=1e-6).fit(plane, y)
    try:
        boundary = DecisionBoundary.from_estimator(
            flat,
            plane,
            y,
            feature_names=("first principal component", "second principal component"),
            class_names=names,
        )
        convergence = Convergence.from_estimator(model)
    except ImportError as error:
        print(f"no plots: {error}")
        return
    print("plots")
    for display, name, what in (
        (boundary, "decision-boundary.png", "an SVC on two principal components of the same data"),
        (convergence, "convergence.png", "duality gap during training"),
    ):
        display.figure_.savefig(out / name, dpi=150)
        print(f"  {out / name}  {what}")
