"""What is wrong with a model file, and what to do about it."""

from __future__ import annotations

RESTORE = "restore it from a copy, or save the model again"
FOREIGN = "load reads only what hinge.save has written"
NEWER = "upgrade hinge if the file comes from a newer one"


class ModelFileError(ValueError):
    """A model file that is damaged, made by somebody else, or newer than this hinge.

    The message names the file, what is wrong with it and what to do.
    """


class Flaw(Exception):
    """What is wrong, found by code that does not know the file's name; `load` adds that."""

    def __init__(self, what: str, remedy: str = RESTORE) -> None:
        super().__init__(what, remedy)
        self.what, self.remedy = what, remedy
