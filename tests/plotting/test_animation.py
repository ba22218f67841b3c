"""Animations of paths: number of frames, supported tasks, and errors."""

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

mpl.use("Agg")

import matplotlib.pyplot as plt

import hinge

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = np.where(X[:, 0] + 0.4 * rng.normal(size=40) > 0, 1, -1)

PATHS = {
    "classification": lambda: hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0),
    "one-class": lambda: hinge.nu_path(X, task="one_class", gamma=1.0),
    "weights": lambda: hinge.weight_path(X, y, 1.0, np.where(y > 0, 3.0, 1.0), gamma=1.0),
    "epsilon": lambda: hinge.epsilon_path(X[:, :1], np.sin(X[:, 0]), gamma=1.0),
    "nu": lambda: hinge.nu_path(X[:, :1], np.sin(X[:, 0]), nu_max=0.9, task="regression", gamma=1.0),
}


@pytest.mark.parametrize("name", PATHS)
def test_every_frame_differs_from_the_first(name, tmp_path):
    file = PATHS[name]().animate(tmp_path / "path.gif", frames=4, fps=5)
    with Image.open(file) as image:
        assert image.n_frames == 4
        frames = []
        for k in range(4):
            image.seek(k)
            frames.append(np.asarray(image.convert("RGB"), dtype=int))
    assert all(np.abs(frame - frames[0]).max() > 50 for frame in frames[1:])
    assert not plt.get_fignums()


def test_errors_name_the_remedy(tmp_path):
    path = hinge.regularization_path(rng.normal(size=(20, 3)), np.resize([0, 1], 20), kernel="linear", C_max=1.0)
    with pytest.raises(ValueError, match=r"3 features.*path\.explore"):
        path.animate(tmp_path / "path.gif")
    with pytest.raises(ValueError, match="frames=1"):
        PATHS["classification"]().animate(tmp_path / "path.gif", frames=1)
    with pytest.raises(TypeError, match="SolutionPath"):
        hinge.plotting.animate(hinge.lasso_path(X, X[:, 0]), tmp_path / "path.gif")
    assert not list(tmp_path.iterdir())
