"""Small data files, and the command line called in this process."""

from typing import NamedTuple

import numpy as np
import pytest

from hinge.cli import main
from hinge.io import dump_libsvm


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run `hinge` with the given words in a temporary directory, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        return Done(code, *capsys.readouterr())

    return call


def two_classes(n=60, d=4, seed=0):
    """Samples of two classes that overlap."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = random.normal(size=(n, d)) * [1.0, 10.0, 0.1, 3.0][:d] + y[:, None] * [1.0, 4.0, 0.0, 1.0][:d]
    return np.round(X, 6), y


@pytest.fixture
def classes(tmp_path):
    """Name of a LIBSVM file with two classes, and its samples."""
    X, y = two_classes()
    dump_libsvm(X, y, tmp_path / "train.svm")
    return "train.svm", X, y


@pytest.fixture
def targets(tmp_path):
    """Name of a LIBSVM file with real targets, and its samples."""
    X, _ = two_classes()
    y = np.round(X @ [0.5, -0.1, 2.0, 0.3] + 0.01 * np.sin(np.arange(len(X))), 6)
    dump_libsvm(X, y, tmp_path / "targets.svm")
    return "targets.svm", X, y
