"""Training on a text file larger than the memory that is allowed.

    python benchmarks/linear/out_of_core.py [--gigabytes 4] [--folder /tmp] [--source folder]

Writes synthetic text of RCV1's shape in LIBSVM's format, reads it once into arrays on disk, trains in a process of its
own that holds 64 MB of them at a time, and compares with training in memory. To save time only `--distinct` parts of
100,000 samples have a seed of their own; they repeat.  With `--source` the text stays there, for another run.  The last
line is the promise: training from disk takes at most twice the time in memory, plus reading.  Peak memory is the
kernel's VmHWM, which counts the pages of mapped files too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from data import text

import hinge
from hinge.io import dump_libsvm, load_libsvm, map_libsvm

ROWS = 100_000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--source", default=None, help="folder of the text, which is written there if it is not yet")
    parser.add_argument("--distinct", type=int, default=6)
    parser.add_argument("--only", default="map,mapped,memory", help="which steps to take")
    parser.add_argument("--step", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        return step(*options.step)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source = Path(options.source or folder) / "data.txt"
        if not source.exists():
            write(source, options.gigabytes, options.distinct)
        print(f"text file: {source.stat().st_size / 1e9:.2f} GB", flush=True)
        found = {}
        for name in filter(None, options.only.split(",")):
            found[name] = run(name, str(source), folder)
            print(
                f"{WHAT[name]:44} {found[name]['seconds']:8.1f} s   peak memory {found[name]['peak'] / 1e9:5.2f} GB"
                f"   {found[name]['note']}",
                flush=True,
            )
        if len(found) == 3:
            disk, memory, reading = (found[name]["seconds"] for name in ("mapped", "memory", "map"))
            print(f"from disk / (2 · in memory + reading) = {disk / (2 * memory + reading):.2f}; "
                  f"from disk / in memory = {disk / memory:.2f}")  # fmt: skip
    return 0


WHAT = {
    "map": "reading the text into arrays on disk",
    "mapped": "training from disk, 64 MB at a time",
    "memory": "training in memory (reading not counted)",
}


def write(path, gigabytes, distinct):
    """Parts of the text, each with its own seed, put together; again and again where there are not enough of them."""
    rows, parts = 0, [path.with_name(f"part{k}.txt") for k in range(distinct)]
    with open(path.with_suffix(".part"), "wb") as whole:
        while whole.tell() < gigabytes * 1e9:
            part = parts[rows // ROWS % distinct]
            if not part.exists():
                dump_libsvm(*text(ROWS, seed=rows), part)
            whole.write(part.read_bytes())
            rows += ROWS
    for part in parts:
        part.unlink(missing_ok=True)
    path.with_suffix(".part").rename(path)


def run(name, source, folder):
    command = [sys.executable, __file__, "--step", name, source, folder]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def step(name, source, folder):
    arrays = Path(folder) / "arrays"
    began, note = time.perf_counter(), ""
    if name == "map":
        map_libsvm(source, arrays, n_jobs=2)
    else:
        X, y = map_libsvm(source, arrays) if name == "mapped" else load_libsvm(source, dtype=np.float32, n_jobs=2)
        began = time.perf_counter()
        model = hinge.LinearSVC(loss="hinge", tol=1e-3, cache_size=64, n_jobs=2).fit(X, y)
        note = f"{X.shape[0]:,} samples, {model.n_iter_} epochs, relative gap {model.certificate_.relative_gap:.1e}"
        assert sp.issparse(X)
    seconds = time.perf_counter() - began
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "peak": int(peak.split()[1]) * 1024, "note": note}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
