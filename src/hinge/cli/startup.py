"""Shorter start and end of a command: packages that most commands do not use are loaded on first use.

scikit-learn imports scipy.stats, joblib, pandas and narwhals, and SciPy imports numpy.f2py and numpy.testing. They
take two thirds of the start of `hinge train`, which uses none of them. `postpone_imports` puts a finder before those of
Python: an import statement for one of the modules in `POSTPONED` creates a module that executes its code when an
attribute of it is read. This is the mechanism of `importlib.util.LazyLoader`, whose modules are executed by every
further import statement before Python 3.14.

Only the commands use it, never the library: `import hinge` in a program must not change how packages are imported.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder  # not importlib.abc, which imports tempfile and others
from types import ModuleType
from typing import Any, NoReturn

#: Packages that are executed on first use.
POSTPONED = frozenset(
    {
        "joblib", "narwhals", "narwhals.stable", "narwhals.stable.v2", "numpy.f2py", "numpy.ma", "numpy.testing",
        "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.sparse.csgraph", "scipy.sparse.linalg",
        "scipy.spatial", "scipy.special", "scipy.stats", "sklearn.externals.array_api_compat.numpy",
        "sklearn.externals.array_api_extra", "sklearn.utils.parallel", "sklearn.utils.sparsefuncs",
    }
)  # fmt: skip

_STORAGE = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")

#: Functions and classes that other modules import by name, without using them: each is replaced by a `PostponedName`.
#: Otherwise the imports of sklearn.utils would execute these packages.
POSTPONED_NAMES = {
    "joblib": frozenset({"cpu_count", "effective_n_jobs"}),
    "scipy.sparse": frozenset(
        {"diags_array", "eye_array", "issparse", "random_array", "sparray", "spmatrix",
         *(f"{storage}_array" for storage in _STORAGE), *(f"{storage}_matrix" for storage in _STORAGE)}
    ),
    "scipy.sparse.csgraph": frozenset({"laplacian"}),
    "scipy.sparse.linalg": frozenset({"cg"}),
    "sklearn.utils.parallel": frozenset({"_get_threadpool_controller"}),
    "sklearn.utils.sparsefuncs": frozenset({"sparse_matmul_to_dense"}),
}

#: Functions that test whether an object is one of their package: no object is one before the package is executed.
POSTPONED_TESTS = {"scipy.sparse": frozenset({"issparse"})}

_lock = threading.RLock()  # one thread executes a postponed module, and others wait for it


class PostponedModule(ModuleType):
    """A module whose code is executed when an attribute is read that the import system has not set."""

    def __getattr__(self, name: str) -> Any:
        """Execute the module, unless that is under way, and return the attribute."""
        if name == "__path__":  # read by `from MODULE import NAME`; packages have it from the beginning
            raise AttributeError(f"module {self.__name__!r} has no attribute '__path__'")
        if name in POSTPONED_NAMES.get(self.__name__, ()) and "_postponed" in self.__dict__:
            return PostponedName(self, name)
        _execute(self)
        return ModuleType.__getattribute__(self, name)


def _execute(module: ModuleType) -> None:
    """Execute a postponed module, unless it has been executed or that is under way."""
    with _lock:
        loader = module.__dict__.pop("_postponed", None)
        if loader is not None:
            try:
                loader.exec_module(module)
            except BaseException:
                module.__dict__["_postponed"] = loader  # the next access fails in the same way
                raise
            module.__class__ = ModuleType


class PostponedName:
    """A function or a class of a postponed package. A call or a subclass of it executes the package.

    No object is an instance of a class before its package is executed.
    """

    def __init__(self, module: ModuleType, name: str) -> None:
        self._module, self._is_test = module, name in POSTPONED_TESTS.get(module.__name__, ())
        self.__name__ = self.__qualname__ = name
        self.__module__ = module.__name__

    @property
    def _value(self) -> Any:
        _execute(self._module)
        return getattr(self._module, self.__name__)

    @property
    def _is_postponed(self) -> bool:
        return "_postponed" in self._module.__dict__

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function or the class."""
        return False if self._is_test and self._is_postponed else self._value(*args, **options)

    def __instancecheck__(self, instance: Any) -> bool:
        """Whether an object is an instance of the class."""
        return not self._is_postponed and isinstance(instance, self._value)

    def __subclasscheck__(self, subclass: type) -> bool:
        """Whether a class is a subclass."""
        return issubclass(subclass, self._value)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replace the name by the class in the list of base classes."""
        return (self._value,)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the function or the class."""
        return getattr(self._value, name)


class _PostponingLoader:
    """Creates the module, and leaves its execution to `PostponedModule`."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as usual."""
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Prepare the execution on first use; afterwards the module has the specification of an ordinary one."""
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self.loader
        module.__dict__["_postponed"] = self.loader
        module.__class__ = PostponedModule


class _LoadedModule:
    """Returns a module that was imported while its parent package was executed."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the specification of the module, which has been executed."""
        module.__spec__ = self.spec


class PostponingFinder:
    """Finds the packages of `POSTPONED`; `hidden` packages appear not to be installed."""

    def __init__(self) -> None:
        self.hidden: frozenset[str] = frozenset()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a specification that postpones the execution; None leaves the import to the other finders."""
        if name in self.hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in POSTPONED:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _PostponingLoader(spec.loader)  # type: ignore[assignment]
            return spec
        parent = sys.modules.get(name.rpartition(".")[0])
        if isinstance(parent, PostponedModule) and "_postponed" in parent.__dict__:
            _execute(parent)  # an ordinary submodule expects that its package is executed first
            module = sys.modules.get(name)
            if module is not None:  # Python continues with the specification of this module
                module.__spec__ = ModuleSpec(name, _LoadedModule(module))  # type: ignore[arg-type]
                return module.__spec__
        return None


_finder = PostponingFinder()


def postpone_imports() -> None:
    """Postpone the imports of this process from now on; called by the commands before they import anything else."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # type: ignore[arg-type]


@contextmanager
def loading(*hidden: str) -> Iterator[None]:
    """Import modules: the packages `hidden` appear not to be installed, and garbage is not collected.

    Imports create objects that live as long as the process; collections would examine them again and again.
    """
    collects = gc.isenabled()
    gc.disable()
    _finder.hidden = frozenset(hidden)
    try:
        yield
    finally:
        _finder.hidden = frozenset()
        if collects:
            gc.enable()


def leave(code: int) -> NoReturn:
    """End the process like `sys.exit`, but without the destruction of all modules, which takes 30 ms.

    The functions of `atexit` are called, and output is written. If threads are running, this is `sys.exit`, which waits
    for them.
    """
    if threading.active_count() > 1:
        sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the work is done
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the command has reported that its output was closed
            continue
    os._exit(code)
