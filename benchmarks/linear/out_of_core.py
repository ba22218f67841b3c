"""Train on a text file that is larger than the available memory.

    python benchmarks/linear/out_of_core.py [--gigabytes 4] [--folder /tmp] [--source folder]

The script writes synthetic text data similar to RCV1 in LIBSVM format, converts them to arrays on disk, trains in a
separate process that holds 64 MB of the arrays in memory at a time, and compares this with training in memory. To save
time, only `--distinct` parts of 100,000 samples are different; they are repeated. With `--source` the text file is kept
for further runs. The requirement is that training from disk takes at most twice the time of training in memory plus the
time of the conversion. Peak memory is VmHWM of the Linux kernel, which includes pages of mapped files.
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

HEADER = f"""\
{"":44} {"":>8} {"peak":>7} {"":>10} {"":>7} {"relative":>8}
{"step":44} {"seconds":>8} {"GB":>7} {"samples":>10} {"epochs":>7} {"gap":>8}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--source", default=None, help="folder of the text file, which is created if it does not exist")
    parser.add_argument("--distinct", type=int, default=6)
    parser.add_argument("--only", default="map,mapped,memory", help="steps to run")
    parser.add_argument("--step", nargs=3, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        return step(*options.step)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source = Path(options.source or folder) / "data.txt"
        if not source.exists():
            write(source, options.gigabytes, options.distinct)
        print(f"Training on a text file of {source.stat().st_size / 1e9:.2f} GB\n\n{HEADER}", flush=True)
        results = {}
        for name in filter(None, options.only.split(",")):
            results[name] = result = run(name, str(source), folder)
            print(
                f"{STEPS[name]:44} {result['seconds']:8.1f} {result['peak'] / 1e9:7.2f} {result['samples']:>10} "
                f"{result['epochs']:>7} {result['gap']:>8}".rstrip(),
                flush=True,
            )
        if len(results) == 3:
            disk, memory, reading = (results[name]["seconds"] for name in ("mapped", "memory", "map"))
            print(f"\ntime from disk divided by (2 · time in memory + reading): {disk / (2 * memory + reading):.2f}")
            print(f"time from disk divided by time in memory: {disk / memory:.2f}")
    return 0


STEPS = {
    "map": "converting the text to arrays on disk",
    "mapped": "training from disk, 64 MB in memory",
    "memory": "training in memory (without reading)",
}


def write(path, gigabytes, distinct):
    """Write a text file of the given size from `distinct` different parts, which are repeated."""
    rows = size = 0
    parts = [path.with_name(f"part{k}.txt") for k in range(distinct)]
    with open(path.with_suffix(".part"), "wb") as file:
        while size < gigabytes * 1e9:
            part = parts[rows // ROWS % distinct]
            if not part.exists():
                dump_libsvm(*text(ROWS, seed=rows), part)
            size += file.write(part.read_bytes())
            rows += ROWS
    for part in parts:
        part.unlink(missing_ok=True)
    path.with_suffix(".part").rename(path)


def run(name, source, folder):
    command = [sys.executable, __file__, "--step", name, source, folder]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def step(name, source, folder):
    arrays = Path(folder) / "arrays"
    start, details = time.perf_counter(), {"samples": "", "epochs": "", "gap": ""}
    if name == "map":
        map_libsvm(source, arrays, n_jobs=2)
    else:
        X, y = map_libsvm(source, arrays) if name == "mapped" else load_libsvm(source, dtype=np.float32, n_jobs=2)
        start = time.perf_counter()
        model = hinge.LinearSVC(loss="hinge", tol=1e-3, cache_size=64, n_jobs=2).fit(X, y)
        details = {
            "samples": f"{X.shape[0]:,}",
            "epochs": model.n_iter_,
            "gap": f"{model.certificate_.relative_gap:.1e}",
        }
        assert sp.issparse(X)
    seconds = time.perf_counter() - start
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "peak": int(peak.split()[1]) * 1024} | details))
    return 0


if __name__ == "__main__":
    sys.exit(main())
