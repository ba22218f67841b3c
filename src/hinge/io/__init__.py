"""Model files without pickle, and data files in LIBSVM's text format."""

from hinge.io.errors import ModelFileError
from hinge.io.files import load, save
from hinge.io.libsvm import dump_libsvm, load_libsvm, map_libsvm

__all__ = ["ModelFileError", "dump_libsvm", "load", "load_libsvm", "map_libsvm", "save"]
