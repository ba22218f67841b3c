"""Plain technical English: phrases for which a standard term exists do not occur in the repository."""

import re
from pathlib import Path

import pytest

from architecture.sources import ROOT, matching_lines, tracked_files

#: Personification and metaphors.  The comments name what to write instead.
PHRASES = [
    r"\b(no|some|every|any)body\b", r"\bwhoever\b",  # the sample, the solver, the caller
    r"\bwho (is|was|are|were|does|do|has|have|allows?|moves?|reads?|asks?)\b",
    r"\bcreep(s|ing)?\b", r"\brun(s|ning)? away\b",  # converge slowly, diverge
    r"\bcrumbs?\b",  # remainder
    r"\bstrangers?\b",  # independent code
    r"\blast words?\b", r"\bborne out\b", r"\bbears? out\b",  # verify
    r"\bnearer\b",  # centering; closer
    r"\bhonest(ly)?\b", r"\binsists?\b", r"\bdisappoints?\b", r"\bhopeless\b", r"\bdear\b",  # correct, retry, expensive
    r"\bpatience\b",  # step budget, max_steps
    r"\bwish(es)?\b",
    r"\bhear(s|d|ing)?\b", r"\bears?\b", r"\blistens?\b",  # handle a signal, run control
    r"\btold\b", r"\btells?\b", r"\bforetold\b",  # report, predict
    r"\bso many\b", r"\bfor want of\b", r"(?-i:\b(is|are) none\b)",
    r"\bin hand\b", r"\bat the door\b", r"\brooms?\b",  # available, validation, packages
    r"\bstory\b", r"\bspeaks? (for|of)\b",  # run log, describe
    r"\bgives? way\b", r"\bby lot\b",  # be replaced by, at random
]  # fmt: skip
PATTERN = re.compile("|".join(PHRASES), re.IGNORECASE)
SUFFIXES = {".py", ".cpp", ".hpp", ".inl", ".md", ".rst", ".toml", ".txt", ".yml", ""}


def top_level(path):
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else "."


@pytest.mark.parametrize("folder", ["src", "cpp", "docs", "tests", "examples", "benchmarks", "."])
def test_files_contain_no_banned_phrase(folder):
    files = [
        path
        for path in tracked_files()
        if top_level(path) == folder and path.suffix in SUFFIXES and path != Path(__file__)
    ]
    assert files
    assert not matching_lines(PATTERN, files)
