"""Model files without pickle, data and model files of LIBSVM, tables, and export to ONNX and C.

Names are imported when they are first used, so that reading data does not load scikit-learn and the estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hinge.io.checkpoints import Checkpoint
    from hinge.io.errors import ModelFileError
    from hinge.io.exports import register_onnx_converters, to_c, to_onnx
    from hinge.io.files import load, save
    from hinge.io.libsvm import dump_libsvm, iter_libsvm, load_libsvm
    from hinge.io.libsvm_models.files import load_libsvm_model, save_libsvm_model
    from hinge.io.mapped import map_libsvm
    from hinge.io.tables import Table, dump_table, load_table

__all__ = [
    "Checkpoint",
    "ModelFileError",
    "Table",
    "dump_libsvm",
    "dump_table",
    "iter_libsvm",
    "load",
    "load_libsvm",
    "load_libsvm_model",
    "load_table",
    "map_libsvm",
    "register_onnx_converters",
    "save",
    "save_libsvm_model",
    "to_c",
    "to_onnx",
]

_MODULES = {
    "checkpoints": ("Checkpoint",),
    "errors": ("ModelFileError",),
    "exports": ("register_onnx_converters", "to_c", "to_onnx"),
    "files": ("load", "save"),
    "libsvm": ("dump_libsvm", "iter_libsvm", "load_libsvm"),
    "mapped": ("map_libsvm",),
    "libsvm_models.files": ("load_libsvm_model", "save_libsvm_model"),
    "tables": ("Table", "dump_table", "load_table"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the module of `name` on first use and keep its public names as attributes."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hinge.io' has no attribute {name!r}")
    module = import_module(f"hinge.io.{_MODULE_OF[name]}")
    for member in _MODULES[_MODULE_OF[name]]:
        globals()[member] = getattr(module, member)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
