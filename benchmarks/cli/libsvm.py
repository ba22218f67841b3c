"""Run twelve LIBSVM command lines with Debian's libsvm-tools and with hinge, and compare output, files and times.

    python benchmarks/cli/libsvm.py [--save]

Requires svm-train, svm-predict and svm-scale of LIBSVM (Debian: libsvm-tools). The commands of hinge are the installed
hinge-svm-train, hinge-svm-predict and hinge-svm-scale. Data sets are those of scikit-learn and a generated one. The
exit code is 1 if a command line does not agree.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
from sklearn import datasets

from hinge.io.libsvm import dump_libsvm, load_libsvm
from hinge.io.libsvm_models.text import read_model

#: Name, training file, options of svm-train, options of svm-predict.
LINES = (
    ("C-SVC, RBF kernel, 8000 samples", "large", "-c 10 -g 0.5", ""),
    ("C-SVC, linear kernel, weights", "cancer", "-t 0 -c 2 -w1 3 -w-1 0.5", ""),
    ("C-SVC, polynomial kernel, ten classes", "digits", "-t 1 -d 3 -g 0.05 -r 1", ""),
    ("C-SVC, sigmoid kernel", "cancer", "-t 3 -g 0.02 -r -0.5", ""),
    ("C-SVC, precomputed kernel", "kernel", "-t 4 -c 0.1", ""),
    ("C-SVC, probabilities, ten classes", "digits", "-c 10 -g 0.05 -b 1", "-b 1"),
    ("C-SVC, five-fold cross-validation", "digits", "-c 10 -g 0.05 -v 5", ""),
    ("nu-SVC", "cancer", "-s 1 -n 0.1 -g 0.5", ""),
    ("one-class SVM", "cancer", "-s 2 -n 0.1 -g 0.5", ""),
    ("epsilon-SVR, probabilities", "diabetes", "-s 3 -c 100 -p 5 -g 1 -b 1", "-b 1"),
    ("nu-SVR", "diabetes", "-s 4 -c 100 -n 0.4 -g 1", ""),
)
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
#: Largest relative difference of printed numbers and decision values; the tolerance of LIBSVM is 1e-3.
TOLERANCE = 1e-2


@dataclass
class Side:
    """The commands of one library, and their total time."""

    prefix: str
    folder: Path
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)

    def run(self, name: str, *arguments: object, output: str | None = None) -> str:
        """Run a command in the folder; return standard output, which is also written to `output`."""
        start = time.perf_counter()
        done = subprocess.run(
            [f"{self.prefix}{name}", *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False
        )
        self.seconds += time.perf_counter() - start
        if done.returncode:
            raise SystemExit(f"{self.prefix}{name} {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        if output is not None:
            (self.folder / output).write_text(done.stdout)
        return done.stdout

    def lap(self) -> float:
        """Return the time since the last call."""
        self.times.append(self.seconds - sum(self.times))
        return self.times[-1]


def _large(return_X_y: bool) -> tuple[np.ndarray, np.ndarray]:
    return datasets.make_classification(12_000, 20, n_informative=10, flip_y=0.05, random_state=0)


def write_data(folder: Path) -> None:
    """Write training and test files; each library scales them itself, with its own range file."""
    for name, loader in (("cancer", datasets.load_breast_cancer), ("digits", datasets.load_digits),
                         ("diabetes", datasets.load_diabetes), ("large", _large)):  # fmt: skip
        X, y = loader(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], (2 * y - 1 if name in ("cancer", "large") else y)[order]
        half = 2 * len(y) // 3
        dump_libsvm(X[:half], y[:half], folder / f"{name}.raw")
        dump_libsvm(X[half:], y[half:], folder / f"{name}.raw.t")


def write_kernel(folder: Path) -> None:
    """Write kernel values of the scaled breast cancer data in LIBSVM's format for precomputed kernels."""
    (X, y), (T, z) = (load_libsvm(folder / name, n_features=30) for name in ("cancer", "cancer.t"))
    for name, A, labels in (("kernel", X, y), ("kernel.t", T, z)):
        with open(folder / name, "w", encoding="ascii") as file:
            for k, (row, label) in enumerate(zip((A @ X.T).toarray(), labels, strict=True), 1):
                file.write(f"{label:g} 0:{k} {' '.join(f'{j}:{v:.10g}' for j, v in enumerate(row, 1))}\n")


def text_difference(ours: str, theirs: str) -> float:
    """Largest relative difference of the numbers in two outputs; infinity if their words differ.

    Iteration counts and progress dots are left out; counts of support vectors may differ by two.
    """
    texts = [re.sub(r"^[.*\s]+$", "", re.sub(r"#iter = \d+", "", text), flags=re.M) for text in (ours, theirs)]
    if NUMBER.sub("#", texts[0]).split() != NUMBER.sub("#", texts[1]).split():
        return np.inf
    a, b = (np.array([float(word) for word in NUMBER.findall(text)]) for text in texts)
    counts = (a == np.round(a)) & (b == np.round(b)) & (np.abs(a - b) <= np.maximum(2, 0.02 * np.abs(b)))
    scale = np.maximum(np.abs(b), 1.0)
    return float(np.max(np.where(counts, 0.0, np.abs(a - b) / scale), initial=0.0))


def model_difference(ours: Path, theirs: Path, data: Path) -> float:
    """Largest difference of the decision values of two model files, relative to the largest value."""
    mine, other = read_model(ours), read_model(theirs)
    same = mine.svm_type == other.svm_type and np.array_equal(mine.labels, other.labels)
    if not same or type(mine.kernel) is not type(other.kernel):
        return np.inf
    X, _ = load_libsvm(data, zero_based=mine.is_precomputed)
    width = max(getattr(m.vectors, "shape", (0, 0))[-1] for m in (mine, other)) if not mine.is_precomputed else 0
    a, b = (m.decision_values(_columns(X, m.is_precomputed, m, width)) for m in (mine, other))
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


def _columns(X: object, precomputed: bool, model: object, width: int) -> np.ndarray:
    dense = X.toarray()
    if precomputed:
        return dense[:, 1:]
    out = np.zeros((len(dense), model.vectors.shape[1]))
    count = min(dense.shape[1], out.shape[1])
    out[:, :count] = dense[:, :count]
    return out


def differing_lines(one: Path, two: Path) -> tuple[int, int, float]:
    """Number of lines whose label differs, number of lines, and the largest relative difference of other numbers."""
    rows = [[line.split() for line in path.read_text().splitlines()] for path in (one, two)]
    if [len(row) for row in rows[0]] != [len(row) for row in rows[1]]:
        return len(rows[0]), len(rows[0]), np.inf
    labels, largest = 0, 0.0
    for a, b in zip(*rows, strict=True):
        if "labels" in (a[0], b[0]):
            labels += a != b
            continue
        values = np.array([[float(word) for word in line] for line in (a, b)])
        is_label = bool(np.all(values[:, 0] == np.round(values[:, 0]))) or len(a) > 1
        labels += is_label and bool(values[0, 0] != values[1, 0])
        rest = values[:, int(is_label) :]
        largest = max(largest, float(np.max(np.abs(rest[0] - rest[1]) / np.maximum(1.0, np.abs(rest[1])), initial=0.0)))
    return labels, len(rows[0]), largest


def run_line(name: str, data: str, train: str, predict: str, ours: Side, theirs: Side) -> tuple[list[str], bool]:
    """Run one command line with both libraries; return the row of the table and whether they agree."""
    sides, words = (ours, theirs), train.split()
    cross_validation = "-v" in words
    texts = []
    for side in sides:
        texts.append(side.run("svm-train", *words, data, *([] if cross_validation else ["m"])))
        if not cross_validation:
            texts[-1] += side.run("svm-predict", *predict.split(), f"{data}.t", "m", "out")
    seconds = [side.lap() for side in sides]
    difference = text_difference(*texts)
    row = [name, f"{difference:.0e}"]
    agree = difference <= TOLERANCE
    if cross_validation:
        row += ["", "", "", ""]
    else:
        model = model_difference(ours.folder / "m", theirs.folder / "m", theirs.folder / f"{data}.t")
        labels, count, _ = differing_lines(ours.folder / "out", theirs.folder / "out")
        row += [f"{model:.0e}", f"{labels} of {count}"]
        agree = agree and model <= TOLERANCE and labels <= 0.01 * count
        for side, other in (sides, sides[::-1]):  # the model of one library, predicted by the other
            shutil.copy(other.folder / "m", side.folder / "exchanged")
            before = side.seconds
            side.run("svm-predict", *predict.split(), f"{data}.t", "exchanged", "out.exchanged")
            side.seconds = before
            labels, _, numbers = differing_lines(side.folder / "out.exchanged", other.folder / "out")
            row.append(f"{labels}, {numbers:.0e}")
            agree = agree and labels == 0 and numbers <= 5e-3  # version 3.24: probabilities with tolerance 0.0025
    return [*row, *(f"{value:.2f}" for value in seconds)], agree


def scale(ours: Side, theirs: Side) -> tuple[list[str], bool]:
    """Scale all data with saved ranges; the files must be identical."""
    same = True
    for name in ("cancer", "digits", "diabetes", "large"):
        for side in (ours, theirs):
            side.run("svm-scale", "-l", -1, "-u", 1, "-s", f"{name}.range", f"{name}.raw", output=name)
            side.run("svm-scale", "-r", f"{name}.range", f"{name}.raw.t", output=f"{name}.t")
        for file in (name, f"{name}.t", f"{name}.range"):
            same = same and (ours.folder / file).read_bytes() == (theirs.folder / file).read_bytes()
    seconds = [f"{side.lap():.2f}" for side in (ours, theirs)]
    return ["svm-scale with saved ranges (8 runs)", "identical" if same else "differ", "", "", "", "", *seconds], same


HEADER = [
    ["", "printed", "decision", "labels that", "LIBSVM's model", "model of hinge", "hinge", "LIBSVM"],
    ["command line", "numbers", "values", "differ", "in hinge", "in LIBSVM", "seconds", "seconds"],
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="also write the table to libsvm.txt")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have bytecode
    scripts = os.path.dirname(sys.executable)
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = Side(f"{scripts}/hinge-", Path(name, "ours")), Side("", Path(name, "theirs"))
        for side in (ours, theirs):
            side.folder.mkdir()
            write_data(side.folder)
        rows, agreements = [], []
        row, agree = scale(ours, theirs)
        rows.append(row)
        agreements.append(agree)
        for side in (ours, theirs):
            write_kernel(side.folder)
        for line in LINES:
            row, agree = run_line(*line, ours, theirs)
            rows.append(row)
            agreements.append(agree)
        total = [f"{sum(side.times):.2f}" for side in (ours, theirs)]
        rows.append([f"all {len(agreements)}", "", "", "", "", "", *total])
    widths = [max(map(len, column)) for column in zip(*HEADER, *rows, strict=True)]
    lines = [f"LIBSVM command lines with hinge and with LIBSVM, {date.today()}", ""]
    for row in (*HEADER, *rows):
        rest = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    lines += [
        "",
        "Notes",
        "- printed numbers: largest relative difference of the numbers that svm-train and svm-predict print; all words",
        "  are equal. Numbers of iterations are left out; whole numbers such as nSV may differ by 2 or by 2 %.",
        "- decision values: largest difference between the two model files on the test data, relative to the largest.",
        "- the model of one library in the other: labels that differ from those of the library that trained it, and",
        "  the largest relative difference of predicted values and probabilities.",
        "- seconds: processes of svm-train and svm-predict (svm-scale in the first line), with the start of Python.",
        f"- {sum(agreements)} of {len(agreements)} command lines agree to {TOLERANCE:g}; LIBSVM's tolerance of 1e-3 "
        "determines no more digits.",
        f"- libsvm-tools of Debian (version 3.24), Python {platform.python_version()}, {os.cpu_count()} processors; "
        "one thread",
    ]
    print("\n".join(lines))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    raise SystemExit(0 if all(agreements) else 1)


if __name__ == "__main__":
    main()
