"""Time of `hinge --version`, and of `hinge train` relative to reading and fitting alone.

    python benchmarks/cli/startup.py [--repeats N] [--save]

The data are 10,000 samples with 100 features in LIBSVM text. Reading and fitting are timed in a process that has
imported hinge before; `hinge train` is a whole process. All times are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from sklearn.datasets import make_classification

import hinge

COMMAND = [os.path.join(os.path.dirname(sys.executable), "hinge")]

#: Name, estimator, options of `hinge train`.
CASES = (
    ("SVC()", hinge.SVC, ()),
    ("SVC(C=10)", hinge.SVC, ("-p", "C=10")),
    ("LinearSVC()", hinge.LinearSVC, ()),
)

#: What is imported, as the code of a process.
IMPORTS = (
    ("Python", "pass"),
    ("NumPy", "import numpy"),
    ("scikit-learn", "import sklearn"),
    ("scikit-learn and hinge.SVC", "import hinge; hinge.SVC"),
    ("the same with postponed imports", "from hinge.cli import startup; startup.postpone_imports()\n"
     "with startup.loading('pandas', 'rich'): import hinge; hinge.SVC"),
)  # fmt: skip


def median(repeats: int, work: Callable[[], object]) -> float:
    """Median time of some calls in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def process(*words: object) -> Callable[[], str]:
    """Return a function that runs a process and returns its output."""
    line = [str(word) for word in words]
    return lambda: subprocess.run(line, check=True, capture_output=True, text=True).stdout


def train_row(name: str, cls: type, options: tuple[str, ...], data: Path, repeats: int) -> list[str]:
    """Times of reading and fitting, of the command, and of its parts."""

    def read_and_fit() -> None:
        X, y = hinge.io.load_libsvm(data, n_jobs=-1)
        parameters = {"C": 10.0} if options else {}
        cls(n_jobs=-1, **parameters).fit(X.toarray(), y)

    read_and_fit()  # the first call starts the threads
    alone = median(repeats, read_and_fit)
    run = process(*COMMAND, "train", data, "-e", cls.__name__, *options, "-o", data.with_suffix(".hinge"), "--json")
    run()
    outputs: list[str] = []
    whole = median(repeats, lambda: outputs.append(run()))
    seconds = [json.loads(output)["seconds"] for output in outputs]
    parts = {part: statistics.median(s[part] for s in seconds) for part in seconds[0]}
    rest = whole - parts["fit"] - parts["save"]
    return [name, *(f"{t:.3f}" for t in (alone, whole, parts["read"], parts["fit"], parts["save"], rest)),
            f"{whole / alone:.2f}"]  # fmt: skip


def table(rows: list[list[str]]) -> list[str]:
    """Rows as lines with aligned columns; the first column is text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(t.rjust(w) for t, w in zip(row[1:], widths[1:], strict=True))]).rstrip()
        for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--save", action="store_true", help="also write the tables to startup.txt")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have bytecode
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_classification(10_000, 100, n_informative=20, flip_y=0.02, random_state=0)
        data = Path(folder, "data.svm")
        hinge.io.dump_libsvm((X - X.mean(0)) / X.std(0), 2 * y - 1, data)
        rows = [["", "read and fit", "hinge train", "read", "fit", "save", "rest", "ratio"]]
        rows += [train_row(*case, data, options.repeats) for case in CASES]
    lines = [f"Times of the command line in seconds, {date.today()}", "", *table(rows), ""]
    version = median(options.repeats, process(*COMMAND, "--version"))
    imports = [[name, f"{median(options.repeats, process(sys.executable, '-c', code)):.3f}"] for name, code in IMPORTS]
    lines += table([["process", "seconds"], ["hinge --version", f"{version:.3f}"], *imports])
    lines += [
        "",
        "Notes",
        "- read and fit: load_libsvm and fit on 10,000 x 100 values in a process that has imported hinge; on all",
        "  cores, as in `hinge train`.",
        "- hinge train: the whole process. read, fit, save: as the command reports them. rest: the start of Python,",
        "  all imports, during which the data are read, the output, and the end of the process.",
        "- ratio: hinge train / read and fit.",
        "- postponed imports: packages that scikit-learn and SciPy import and that the command does not use.",
        f"- Python {platform.python_version()}, {os.cpu_count()} processors; pandas, pyarrow and rich are installed.",
    ]
    print("\n".join(lines))
    if options.save:
        Path(__file__).with_suffix(".txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
