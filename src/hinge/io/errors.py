"""Errors in model files and their remedies."""

from __future__ import annotations

RESTORE = "restore it from a copy, or save the model again"
FOREIGN = "load reads only what hinge.save has written"
NEWER = "upgrade hinge if the file comes from a newer one"


class ModelFileError(ValueError):
    """The model file is damaged, was not written by hinge, or was written by a newer version.

    The message states the file, the defect and the remedy.

    Examples
    --------
    >>> import hinge
    >>> from pathlib import Path
    >>> _ = Path("damaged.hinge").write_text("no model")
    >>> try:
    ...     hinge.load("damaged.hinge")
    ... except hinge.ModelFileError as error:
    ...     print(type(error).__name__)
    ModelFileError
    """


class Flaw(Exception):
    """A defect found by code that does not know the name of the file; `load` adds the name."""

    def __init__(self, what: str, remedy: str = RESTORE) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy
