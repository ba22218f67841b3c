"""Compare hinge.io.load_libsvm with scikit-learn's load_svmlight_file.

python benchmarks/linear/reader.py [--samples 60000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from data import text
from sklearn.datasets import load_svmlight_file

from hinge.io import dump_libsvm, load_libsvm

HEADER = f"""\
{"":18} {"seconds":>15} {"":>6} {"speed-up":>19}
{"reader":18} {"wall":>7} {"CPU":>7} {"MB/s":>6} {"wall clock":>10} {"CPU time":>8}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.txt")
        X, y = text(options.samples)
        dump_libsvm(X, y, path)
        size = Path(path).stat().st_size / 1e6
        print(f"Reading {size:.0f} MB of LIBSVM text\n\n{HEADER}")
        readers = {
            "scikit-learn": lambda: load_svmlight_file(path),
            "hinge, 1 thread": lambda: load_libsvm(path, n_jobs=1),
            "hinge, 2 threads": lambda: load_libsvm(path, n_jobs=2),
        }
        first = None
        for name, read in readers.items():
            wall, cpu = time.perf_counter(), time.process_time()
            read()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            first = first or (wall, cpu)
            print(
                f"{name:18} {wall:7.2f} {cpu:7.2f} {size / wall:6.0f} {first[0] / wall:10.1f} {first[1] / cpu:8.1f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
