"""Run the gallery examples of scikit-learn that use an SVM, with and without the patch, and compare what they print.

    python benchmarks/compatibility/gallery.py FOLDER [--save] [--jobs N] [names ...]

FOLDER contains `examples` of the sources of scikit-learn. An example agrees if both runs succeed and print the same
text, up to numbers that differ by less than `TOLERANCE` and to times. Examples that need data from the network or
packages that are not installed fail in both runs and are listed as not available. With names, `--save` replaces the
lines of these examples in the table.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path

#: Relative difference of printed numbers that counts as equal: scikit-learn prints results with two to four digits.
TOLERANCE = 0.02
#: Seconds after which a run is ended.
TIME_LIMIT = 900

USES_SVM = re.compile(r"\b(?:Linear|Nu)?SV[CR]\(|\bOneClassSVM\(|\bsvm\.")
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.?\d+)(?:[eE][-+]?\d+)?")
#: Lines that contain measured times.
TIMES = re.compile(r"(?:\b|_)times?\b|\bseconds?\b|\d s\b|\d\.\d+s\b|\belapsed\b|it/s", re.IGNORECASE)


def run(script: Path, patched: bool) -> tuple[int, str]:
    """Run an example without a display; return the exit code and the text."""
    command = [sys.executable, *(["-m", "hinge.patch"] if patched else []), str(script)]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return -1, f"ended after {TIME_LIMIT} s"
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def agree(before: str, after: str) -> str:
    """Return the first difference of two texts; empty if they agree."""
    first, second = (
        [line for line in text.splitlines() if line.strip() and not TIMES.search(line)] for text in (before, after)
    )
    for one, other in zip(first, second, strict=False):
        numbers = [[float(number) for number in NUMBER.findall(line)] for line in (one, other)]
        close = len(numbers[0]) == len(numbers[1]) and all(
            abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) + 1e-6 for a, b in zip(*numbers, strict=True)
        )
        if not close or NUMBER.sub("#", one).split() != NUMBER.sub("#", other).split():
            return f"{one.strip()[:60]!r} → {other.strip()[:60]!r}"
    return "" if len(first) == len(second) else f"{len(first)} → {len(second)} lines"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="parts of the names of examples")
    parser.add_argument("--save", action="store_true", help="write the table next to this script")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    arguments = parser.parse_args()
    scripts = [
        path for path in sorted(arguments.folder.rglob("plot_*.py"))
        if USES_SVM.search(path.read_text()) and (not arguments.names or any(n in path.name for n in arguments.names))
    ]  # fmt: skip
    saved = Path(__file__).with_suffix(".txt")
    lines: dict[str, str] = {}
    if arguments.names and saved.exists():
        lines = {line.split()[0]: line for line in saved.read_text().splitlines()[2:]}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for script in scripts:
            (code, before), (patched_code, after) = pool.map(run, (script, script), (False, True))
            if code != 0:
                outcome, remark = "not available", before[:80]
            elif patched_code != 0:
                outcome, remark = "different", after[:120]
            else:
                remark = agree(before, after)
                outcome = "different" if remark else "same"
            name = script.relative_to(arguments.folder).as_posix()
            lines[name] = f"{name:70s} {outcome:14s} {remark}".rstrip()
            print(lines[name], flush=True)
    outcomes = ("same", "different", "not available")
    counts = {outcome: sum(line[71:].startswith(outcome) for line in lines.values()) for outcome in outcomes}
    total = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    release = version("scikit-learn")
    head = f"{len(lines)} gallery examples, scikit-learn {release} installed, {date.today()}: {total}"
    print(head)
    if arguments.save:
        saved.write_text("\n".join([head, "", *(lines[name] for name in sorted(lines))]) + "\n")
    return int(counts["different"] > 0)


if __name__ == "__main__":
    sys.exit(main())
