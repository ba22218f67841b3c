"""The files of the repository, and lines in them that match a pattern."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hinge"


def tracked_files():
    """Files that git tracks, and new files that it does not ignore."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split("\0")
    return [ROOT / name for name in sorted(set(names)) if name and (ROOT / name).is_file()]


def matching_lines(pattern, files):
    """`path:number: line` for every line that the pattern matches; binary files are skipped."""
    matches = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an image or a data file
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                matches.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return matches
