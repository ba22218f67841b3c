"""Data files, and the commands of hinge and of LIBSVM."""

import shutil
import subprocess

import numpy as np
import pytest

from hinge.cli.libsvm import easy, predict, scale, train
from hinge.io.libsvm import dump_libsvm

COMMANDS = {"svm-train": train, "svm-predict": predict, "svm-scale": scale, "svm-easy": easy}


@pytest.fixture
def ours(capsys, tmp_path, monkeypatch):
    """Run a command of hinge in the current process: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(name, *arguments):
        capsys.readouterr()
        code = COMMANDS[name].main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def theirs(tmp_path):
    """Run a command of LIBSVM: (exit code, standard output, standard error)."""

    def run(name, *arguments):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed (Debian package libsvm-tools)")
        done = subprocess.run(
            [name, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        return done.returncode, done.stdout, done.stderr

    return run


def classes(n_classes, n=120, seed=0, spread=1.5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, size=n)
    X = np.round(rng.normal(size=(n, 4)) + spread * np.eye(n_classes, 4)[y] * (1 + np.arange(4)), 3)
    return X, y


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Training data by name: two classes (-1, 1), three classes, regression, and a precomputed kernel."""
    folder = tmp_path_factory.mktemp("libsvm")
    X, y = classes(2)
    dump_libsvm(X, 2 * y - 1, folder / "two")
    X3, y3 = classes(3, seed=1)
    dump_libsvm(X3, np.array([7, -2, 30])[y3], folder / "three")
    rng = np.random.default_rng(2)
    dump_libsvm(X, np.round(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=len(X)), 3), folder / "regression")
    K = np.round(X3 @ X3.T, 6)
    with open(folder / "kernel", "w") as file:
        for k, (row, label) in enumerate(zip(K, y3, strict=True), 1):
            pairs = " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1))
            file.write(f"{label} 0:{k} {pairs}\n")
    return {path.name: path for path in folder.iterdir()}
