"""Replacement of the classes of `sklearn.svm` in all loaded modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import sklearn.svm
from sklearn.svm import _classes as originals

from hinge.patch import kernel, linear

#: The classes of scikit-learn and their replacements.
REPLACEMENTS: dict[type, type] = {
    getattr(originals, cls.__name__): cls
    for cls in (
        kernel.SVC,
        kernel.NuSVC,
        kernel.SVR,
        kernel.NuSVR,
        kernel.OneClassSVM,
        linear.LinearSVC,
        linear.LinearSVR,
    )
}


def patch_sklearn() -> None:
    """Replace the SVM estimators of scikit-learn by those of hinge.

    The names `SVC`, `NuSVC`, `SVR`, `NuSVR`, `OneClassSVM`, `LinearSVC` and `LinearSVR` of `sklearn.svm`, and the same
    classes in all modules that have imported them, are replaced by subclasses that train with hinge. A second call
    includes modules that were imported in the meantime. Existing objects do not change.

    The subclasses follow scikit-learn where hinge differs: intercepts of linear estimators are penalized, samples with
    negative weights are left out, and parameters, warnings and shapes of attributes are those of scikit-learn. In
    addition they have `certificate_`, `status_` and `hinge_`, the estimator of hinge.

    See Also
    --------
    unpatch_sklearn : Restore the classes of scikit-learn.

    Examples
    --------
    >>> import hinge
    >>> hinge.patch_sklearn()
    >>> from sklearn.svm import SVC
    >>> model = SVC().fit([[0.0], [1.0]], [0, 1])
    >>> model.status_.name
    'SOLVED'
    >>> hinge.unpatch_sklearn()
    """
    _replace(REPLACEMENTS)


def unpatch_sklearn() -> None:
    """Restore the classes of scikit-learn in all modules. Existing objects do not change.

    Examples
    --------
    >>> import hinge
    >>> import sklearn.svm
    >>> hinge.patch_sklearn()
    >>> hinge.unpatch_sklearn()
    >>> sklearn.svm.SVC.__module__
    'sklearn.svm._classes'
    """
    _replace({new: old for old, new in REPLACEMENTS.items()})


def is_patched() -> bool:
    """Whether `sklearn.svm` has the estimators of hinge."""
    return sklearn.svm.SVC is kernel.SVC


def _replace(classes: Mapping[type, type]) -> None:
    """Replace global names of all modules that are bound to one of these classes."""
    for name, module in list(sys.modules.items()):
        # The defining module keeps its classes: pickled models of scikit-learn refer to them.
        if module is originals or name.startswith("hinge.patch.") or not isinstance(module, ModuleType):
            continue
        namespace: dict[str, Any] = vars(module)
        for attribute, value in list(namespace.items()):
            if isinstance(value, type) and value in classes:
                namespace[attribute] = classes[value]
