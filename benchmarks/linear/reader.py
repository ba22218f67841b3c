"""Reading LIBSVM text: hinge.io.load_libsvm against scikit-learn's load_svmlight_file, in CPU and wall seconds.

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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=60_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.txt")
        X, y = text(options.samples)
        dump_libsvm(X, y, path)
        size = Path(path).stat().st_size / 1e6
        print(f"{size:.0f} MB of text")
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
                f"{name:18} {wall:7.2f} s wall {cpu:7.2f} s CPU  {size / wall:6.0f} MB/s"
                f"   {first[0] / wall:5.1f} times by wall, {first[1] / cpu:5.1f} by CPU"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
