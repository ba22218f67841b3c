"""Model files: fitted and unfitted machines as arrays and JSON, without pickle."""

from hinge.io.files import load, save
from hinge.io.flaws import ModelFileError

__all__ = ["ModelFileError", "load", "save"]
