"""Training on a text file larger than the memory that is allowed.

    python benchmarks/linear/out_of_core.py [--gigabytes 4] [--folder /tmp]

Writes synthetic text of RCV1's shape in LIBSVM's format, reads it once into arrays on disk, trains in a process of its
own that holds 256 MB of them at a time, and compares with training in memory.  Peak memory is the kernel's VmHWM, which
counts the pages of mapped files too.
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
    parser.add_argument("--step", nargs=2, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        return step(*options.step)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = write(Path(folder), options.gigabytes)
        size = (Path(folder) / "data.txt").stat().st_size
        print(f"text file: {size / 1e9:.2f} GB, {rows:,} samples", flush=True)
        for name in ("map", "mapped", "memory"):
            found = run(name, folder)
            print(
                f"{WHAT[name]:44} {found['seconds']:8.1f} s   peak memory {found['peak'] / 1e9:5.2f} GB"
                f"   {found.get('note', '')}",
                flush=True,
            )
    return 0


WHAT = {
    "map": "reading the text into arrays on disk",
    "mapped": "training from disk, 256 MB at a time",
    "memory": "training in memory (reading not counted)",
}


def write(folder, gigabytes):
    """Parts of the text, each with its own seed, put together."""
    rows = 0
    with open(folder / "data.txt", "wb") as whole:
        while whole.tell() < gigabytes * 1e9:
            dump_libsvm(*text(ROWS, seed=0 if rows == 0 else rows), folder / "part.txt")
            whole.write((folder / "part.txt").read_bytes())
            rows += ROWS
    (folder / "part.txt").unlink()
    return rows


def run(name, folder):
    command = [sys.executable, __file__, "--step", name, folder]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def step(name, folder):
    source, arrays = Path(folder) / "data.txt", Path(folder) / "arrays"
    began, note = time.perf_counter(), ""
    if name == "map":
        map_libsvm(source, arrays, n_jobs=2)
    else:
        X, y = map_libsvm(source, arrays) if name == "mapped" else load_libsvm(source, dtype=np.float32, n_jobs=2)
        began = time.perf_counter()
        model = hinge.LinearSVC(loss="hinge", tol=1e-3, cache_size=256, n_jobs=2).fit(X, y)
        note = f"{model.n_iter_} epochs, relative gap {model.certificate_.relative_gap:.1e}"
        assert sp.issparse(X)
    seconds = time.perf_counter() - began
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "peak": int(peak.split()[1]) * 1024, "note": note}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
