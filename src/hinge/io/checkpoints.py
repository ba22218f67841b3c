"""Checkpoints of models that learn from a stream: `Checkpoint`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from hinge.io.files import load, save
from hinge.io.replacement import Path
from hinge.validation import check_integer, check_number

#: Attribute of a model with the number of samples of the stream that it has learned.
POSITION = "stream_position_"


class Checkpoint:
    """Save a model that learns from a stream, so that a crash loses a bounded number of samples.

    The model and its position in the stream are in one file, which is replaced atomically and is on disk when `step`
    returns. After a crash, of the process or of the system, `resume` returns the model of the last checkpoint and the
    number of samples that it has learned; the stream continues there. At most `every` − 1 samples, or those of the last
    batch if it is larger, must be learned again, and those of a batch that was being learned.

    Parameters
    ----------
    path : str or path
        Name of the model file.
    every : int, default=1000
        Number of samples between two checkpoints.
    max_seconds : float, optional
        Also save if the last checkpoint is older.

    Attributes
    ----------
    position : int
        Number of samples of the stream that the model has learned.

    Examples
    --------
    >>> import os, tempfile, numpy as np, hinge
    >>> path = os.path.join(tempfile.mkdtemp(), "stream.hinge")
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> with hinge.io.Checkpoint(path, every=30) as checkpoint:
    ...     model = checkpoint.resume(lambda: hinge.OnlineNoveltyDetector(nu=0.1))
    ...     for x in X[checkpoint.position:]:
    ...         _ = model.learn_one(x)
    ...         checkpoint.step(model)
    >>> with hinge.io.Checkpoint(path) as checkpoint:
    ...     model = checkpoint.resume(lambda: hinge.OnlineNoveltyDetector(nu=0.1))
    >>> checkpoint.position, model.t_
    (100, 100)
    """

    def __init__(self, path: Path, *, every: int = 1000, max_seconds: float | None = None) -> None:
        check_integer("every", every, 1)
        if max_seconds is not None:
            check_number("max_seconds", max_seconds, 0.0)
        self.path, self.every, self.max_seconds = os.fspath(path), int(every), max_seconds
        self.position = 0
        self._saved_position, self._saved_time = 0, time.monotonic()
        self._model: Any = None

    def resume(self, create: Callable[[], Any]) -> Any:
        """Return the model of the last checkpoint, or ``create()`` without one, and set `position`.

        Raises
        ------
        ModelFileError
            If the file is damaged, or is a model that `Checkpoint` has not saved.
        """
        if not os.path.exists(self.path):
            self.position = self._saved_position = 0
            return create()
        model = load(self.path)
        position = vars(model).get(POSITION)
        if type(position) is not int or position < 0:
            raise ValueError(
                f"{self.path} is a model without a position in a stream: it was not saved by Checkpoint. Use another "
                "path, or hinge.load"
            )
        self.position = self._saved_position = position
        return model

    def step(self, model: Any, n: int = 1) -> None:
        """Count `n` samples that the model has learned, and save it if a checkpoint is due."""
        check_integer("n", n, 0)
        self.position += int(n)
        self._model = model
        late = self.max_seconds is not None and time.monotonic() - self._saved_time >= self.max_seconds
        if late or self.position - self._saved_position >= self.every:
            self.save(model)

    def save(self, model: Any) -> None:
        """Save the model and its position now."""
        setattr(model, POSITION, self.position)
        save(model, self.path)
        self._saved_position, self._saved_time = self.position, time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Save what was counted after the last checkpoint.

        After an error or a signal, the model may have learned samples that were not counted. Then the last checkpoint
        remains, and at most `every` samples are learned again.
        """
        if kind is None and self._model is not None and self.position > self._saved_position:
            self.save(self._model)
