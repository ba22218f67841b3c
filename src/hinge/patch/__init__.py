"""Drop-in mode: the estimators of `sklearn.svm`, trained by hinge.

`patch_sklearn` replaces the classes in `sklearn.svm` and in all modules that have imported them by subclasses that call
hinge in place of LIBSVM and LIBLINEAR. Parameters, their validation, attributes, shapes and warnings remain those of
scikit-learn.

From the command line, ``python -m hinge.patch script.py`` runs a script in this mode.
"""

from hinge.patch.replacement import is_patched, patch_sklearn, unpatch_sklearn

__all__ = ["is_patched", "patch_sklearn", "unpatch_sklearn"]
