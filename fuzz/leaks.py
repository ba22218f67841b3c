"""Measure the memory of a process over many fits, predictions, files and updates.

    python fuzz/leaks.py [--rounds 10000] [--limit 4.0]

Each operation is repeated in a process of its own. The first tenth of the rounds fills caches; afterwards the resident
memory must not grow by more than `--limit` megabytes. The exit code is 1 if it does.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import hinge

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, -1)


def resident() -> float:
    """Resident memory in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def operations(folder: Path) -> dict:
    """Functions that are called with the number of the round."""
    model = hinge.SVC().fit(X, Y)
    window = hinge.IncrementalSVC(gamma=0.5).fit(X[:40], Y[:40])
    online = hinge.OnlineSVC(gamma=0.5, budget=50).fit(X, Y)
    path, data = folder / "model.hinge", folder / "data.txt"
    hinge.save(model, path)
    hinge.io.dump_libsvm(X, Y, data)
    (folder / "bad.hinge").write_bytes(path.read_bytes()[:-40])

    def slide(i):
        row = slice(i % 60, i % 60 + 1)
        oldest = window.training_data_[1].tolist().index(Y[i % 60])  # of the same class
        window.update(X[row], Y[row], forget=[oldest])

    def refused(i):
        with contextlib.suppress(hinge.ModelFileError):
            hinge.load(folder / "bad.hinge")

    return {
        "SVC.fit": lambda i: hinge.SVC(C=1 + i % 7).fit(X, Y),
        "LinearSVC.fit": lambda i: hinge.LinearSVC(C=1 + i % 7).fit(X, Y),
        "predict": lambda i: model.predict(X),
        "save": lambda i: hinge.save(model, path),
        "load": lambda i: hinge.load(path),
        "load of a damaged file": refused,
        "load_libsvm": lambda i: hinge.io.load_libsvm(data),
        "IncrementalSVC.update": slide,
        "OnlineSVC.partial_fit": lambda i: online.partial_fit(X, Y),
        "regularization_path": lambda i: hinge.regularization_path(X[:20], Y[:20], gamma=0.5) if i % 10 == 0 else None,
    }


def measure(name: str, rounds: int) -> float:
    """Return the growth of the memory in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        call = operations(Path(folder))[name]
        for i in range(rounds // 10):
            call(i)
        gc.collect()
        before = resident()
        for i in range(rounds - rounds // 10):
            call(i)
        gc.collect()
        return resident() - before


def main() -> None:
    """Measure all operations and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=4.0, help="megabytes")
    parser.add_argument("--operation", help="measure one operation in this process, and print its growth")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.operation:
        print(measure(arguments.operation, arguments.rounds))
        return
    with tempfile.TemporaryDirectory() as folder:
        names = list(operations(Path(folder)))
    print(f"Growth of the resident memory over {arguments.rounds:,} rounds, the first tenth left out, in MB")
    failed = False
    for name in names:
        command = [sys.executable, __file__, "--operation", name, "--rounds", str(arguments.rounds)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        growth = float(run.stdout)
        failed |= growth > arguments.limit
        print(f"{name:<28}{growth:8.2f}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
