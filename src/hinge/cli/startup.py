"""Shorter start of a command: packages that most commands do not use are loaded on first use.

scikit-learn imports scipy.stats, joblib, pandas and narwhals, and SciPy imports numpy.f2py and numpy.testing. They
take two thirds of the start of `hinge train`, which uses none of them. `postpone_imports` puts a finder before those of
Python: an import statement for one of the modules in `POSTPONED` creates a module that executes its code when an
attribute of it is read. This is the mechanism of `importlib.util.LazyLoader`, whose modules are executed by every
further import statement before Python 3.14.

Only the commands use it, never the library: `import hinge` in a program must not change how packages are imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from threading import RLock
from types import ModuleType
from typing import Any

#: Packages that are executed on first use.
POSTPONED = frozenset(
    {
        "joblib", "narwhals", "narwhals.stable", "narwhals.stable.v2", "numpy.f2py", "numpy.ma", "numpy.testing",
        "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.sparse.csgraph", "scipy.sparse.linalg",
        "scipy.spatial", "scipy.special", "scipy.stats", "sklearn.utils.parallel", "sklearn.utils.sparsefuncs",
    }
)  # fmt: skip

#: Functions that are imported by name, without being called: they are replaced by functions that execute the package.
#: Without them, sklearn.utils would execute these packages, scipy.linalg and joblib.
POSTPONED_FUNCTIONS = {
    "joblib": frozenset({"cpu_count", "effective_n_jobs"}),
    "scipy.sparse.csgraph": frozenset({"laplacian"}),
    "scipy.sparse.linalg": frozenset({"cg"}),
    "sklearn.utils.parallel": frozenset({"_get_threadpool_controller"}),
    "sklearn.utils.sparsefuncs": frozenset({"sparse_matmul_to_dense"}),
}

_lock = RLock()  # one thread executes a postponed module, and others wait for it


class PostponedModule(ModuleType):
    """A module whose code is executed when an attribute is read that the import system has not set."""

    def __getattr__(self, name: str) -> Any:
        """Execute the module, unless that is under way, and return the attribute."""
        if name == "__path__":  # read by `from MODULE import NAME`; packages have it from the beginning
            raise AttributeError(f"module {self.__name__!r} has no attribute '__path__'")
        if name in POSTPONED_FUNCTIONS.get(self.__name__, ()) and "_postponed" in self.__dict__:
            return _postponed_function(self, name)
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


def _postponed_function(module: ModuleType, name: str) -> Callable[..., Any]:
    """Return a function that calls the function of a postponed module, which is executed by the first call."""

    def call(*args: Any, **options: Any) -> Any:
        _execute(module)
        return getattr(module, name)(*args, **options)

    call.__name__ = call.__qualname__ = name
    call.__module__ = module.__name__
    return call


class _PostponingLoader(Loader):
    """Creates the module, and leaves its execution to `PostponedModule`."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module as usual."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Prepare the execution on first use; afterwards the module has the specification of an ordinary one."""
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self.loader
        module.__dict__["_postponed"] = self.loader
        module.__class__ = PostponedModule


class _LoadedModule(Loader):
    """Returns a module that was imported while its parent package was executed."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the specification of the module, which has been executed."""
        module.__spec__ = self.spec


class PostponingFinder(MetaPathFinder):
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
                spec.loader = _PostponingLoader(spec.loader)
            return spec
        parent = sys.modules.get(name.rpartition(".")[0])
        if isinstance(parent, PostponedModule) and "_postponed" in parent.__dict__:
            _execute(parent)  # an ordinary submodule expects that its package is executed first
            module = sys.modules.get(name)
            if module is not None:  # Python continues with the specification of this module
                module.__spec__ = spec_from_loader(name, _LoadedModule(module))
                return module.__spec__
        return None


_finder = PostponingFinder()


def postpone_imports() -> None:
    """Postpone the imports of this process from now on; called by the commands before they import anything else."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


@contextmanager
def hidden(*names: str) -> Iterator[None]:
    """Let packages appear not to be installed, as optional ones may be."""
    _finder.hidden = frozenset(names)
    try:
        yield
    finally:
        _finder.hidden = frozenset()
