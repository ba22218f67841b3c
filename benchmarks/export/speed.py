"""Measure size, prediction time and accuracy of models exported to ONNX and C.

    python benchmarks/export/speed.py [--repeats 15] [--save]

Requires gcc, onnx, onnxruntime and skl2onnx. All runtimes use one thread. scikit-learn and its conversion by skl2onnx
are measured in the same run.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import skl2onnx
from sklearn import datasets, svm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge

CASES = {
    "iris, SVC": (datasets.load_iris, hinge.SVC(), svm.SVC(decision_function_shape="ovr")),
    "breast_cancer, SVC": (datasets.load_breast_cancer, hinge.SVC(), svm.SVC()),
    "breast_cancer, LinearSVC": (datasets.load_breast_cancer, hinge.LinearSVC(), svm.LinearSVC()),
    "breast_cancer, Laplacian": (datasets.load_breast_cancer, hinge.SVC(kernel="laplacian"), None),
    "digits, SVC": (datasets.load_digits, hinge.SVC(), svm.SVC(decision_function_shape="ovr")),
    "diabetes, SVR": (datasets.load_diabetes, hinge.SVR(C=100.0), svm.SVR(C=100.0)),
}
BATCH = 1000
DRIVER = """
void {p}_decide(const double *x, double *values);
double {p}_predict(const double *x);
void run(const double *X, long n, long d, long k, double *out) {{
  long i;
  for (i = 0; i < n; ++i) {call};
}}
"""


def best(repeats: int, call: Callable[[], object]) -> float:
    """Return the shortest time of several calls in microseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


def session(proto: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def c_program(model: Any, folder: Path, regression: bool) -> tuple[Any, int, int]:
    """Compile the C program; return its function, the size of the source and the size of code and constants."""
    source, driver, library = folder / "model.c", folder / "driver.c", folder / "model.so"
    hinge.io.to_c(model, source)
    call = "out[i] = hinge_predict(X + i * d)" if regression else "hinge_decide(X + i * d, out + i * k)"
    driver.write_text(DRIVER.format(p="hinge", call=call + ("" if not regression else ", (void)k")))
    flags = ["gcc", "-std=c99", "-O2", "-fPIC"]
    subprocess.run([*flags, "-c", source, "-o", folder / "model.o"], check=True)
    size = subprocess.run(["size", folder / "model.o"], capture_output=True, text=True, check=True).stdout.split("\n")
    subprocess.run([*flags, "-w", "-shared", source, driver, "-o", library, "-lm"], check=True)
    function = ctypes.CDLL(str(library)).run
    pointer = ctypes.POINTER(ctypes.c_double)
    function.argtypes = [pointer, ctypes.c_long, ctypes.c_long, ctypes.c_long, pointer]
    return function, source.stat().st_size, sum(map(int, size[1].split()[:3]))


def decide(model: Any, X: Any) -> Any:
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def measure(name: str, repeats: int) -> list[str]:
    load, estimator, other = CASES[name]
    X, y = load(return_X_y=True)
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    rows = np.ascontiguousarray(np.resize(X, (BATCH, X.shape[1])))
    expected = np.asarray(decide(model, rows))
    regression = not hasattr(estimator, "decision_function")
    scale = np.abs(expected).max()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        hinge.save(model[-1], folder / "model.hinge")
        proto = hinge.io.to_onnx(model, folder / "model.onnx")
        run_c, source, code = c_program(model, folder, regression)
        sizes = [os.path.getsize(folder / "model.hinge"), os.path.getsize(folder / "model.onnx"), source, code]
    out = np.empty(expected.shape)
    width = out.size // BATCH

    def call_c(n: int) -> None:
        X_pointer, out_pointer = (a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (rows, out))
        run_c(X_pointer, n, X.shape[1], width, out_pointer)

    call_c(BATCH)
    runtime = session(proto)
    output = ["prediction" if regression else "decision_values"]
    values = runtime.run(output, {"X": rows})[0]
    errors = [np.abs(each - expected).max() / scale for each in (values, out)]
    one = rows[:1]
    single = [
        best(20 * repeats, lambda: decide(model, one)),
        best(20 * repeats, lambda: runtime.run(output, {"X": one})),
        best(repeats, lambda: call_c(BATCH)) / BATCH,
    ]
    batch = [best(repeats, lambda: decide(model, rows)), best(repeats, lambda: runtime.run(output, {"X": rows}))]
    compared = ["", ""]
    if other is not None:
        reference = make_pipeline(StandardScaler(), other).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = {"raw_scores": True} if isinstance(other, svm.LinearSVC) else {"raw_scores": True, "zipmap": False}
            options = {} if regression else {type(other): wanted}
            converted = session(skl2onnx.to_onnx(reference, rows[:1].astype(np.float32), options=options))
        found = converted.run(None, {"X": rows.astype(np.float32)})[0 if regression else 1]
        truth = np.asarray(decide(reference, rows))
        found = found[:, -1] if truth.ndim == 1 and found.shape[-1] == 2 else found.reshape(truth.shape)
        compared = [f"{best(20 * repeats, lambda: decide(reference, one)):.0f}",
                    f"{np.abs(found - truth).max() / np.abs(truth).max():.0e}"]  # fmt: skip
    return [
        f"{name:26} {getattr(model[-1], 'support_', np.empty(0)).size:>7}"
        + "".join(f" {size / 1000:>8.1f}" for size in sizes)
        + f" {compared[0]:>8}"
        + "".join(f" {value:>8.{digits}f}" for value, digits in zip(single, (0, 1, 2), strict=True))
        + "".join(f" {value / BATCH:>8.2f}" for value in batch)
        + f" {compared[1]:>8}"
        + "".join(f" {error:>8.0e}" for error in errors)
    ]


HEADER = [
    f"{'':26} {'support':>7} {'size in kB':>35} {'one row, microseconds':>35} {'batch, us/row':>17}"
    f" {'relative difference':>26}",
    f"{'data set, estimator':26} {'vectors':>7} {'.hinge':>8} {'ONNX':>8} {'C':>8} {'compiled':>8} {'sklearn':>8}"
    f" {'hinge':>8} {'ONNX':>8} {'C':>8} {'hinge':>8} {'ONNX':>8} {'skl2onnx':>8} {'ONNX':>8} {'C':>8}",
]
NOTES = [
    "",
    "Notes",
    "- All models are pipelines with StandardScaler. The .hinge file contains the estimator with all its attributes,",
    "  for LinearSVC also the dual point; the exported files contain what prediction needs.",
    "- compiled: code and constants of the object file (gcc -O2). C source contains decimal numbers.",
    f"- batch: {BATCH} rows in one call. C evaluates one row after the other: its time per row is the same in a batch.",
    "- relative difference: largest difference from the decision values of the estimator (of scikit-learn for",
    "  skl2onnx), divided by the largest decision value. skl2onnx converts models of scikit-learn to float32.",
    "- sklearn: scikit-learn. One thread; shortest times.",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--save", action="store_true", help="also write the table to speed.txt")
    options = parser.parse_args()
    lines = [f"Exported models, {date.today()}", "", *HEADER]
    print("\n".join(lines))
    for name in CASES:
        found = measure(name, options.repeats)
        print("\n".join(found))
        lines += found
    packages = ", ".join(f"{name} {version(name)}" for name in ("scikit-learn", "onnx", "onnxruntime", "skl2onnx"))
    notes = [*NOTES, f"- {packages}; {os.cpu_count()} processors"]
    print("\n".join(notes))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join([*lines, *notes, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
