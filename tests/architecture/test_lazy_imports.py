"""`import hinge` is cheap, and every public name is found on first use."""

import subprocess
import sys

import pytest

import hinge

HEAVY = ("numpy", "scipy", "sklearn", "matplotlib", "rich", "hinge._core")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("module", ["hinge", "hinge.cli"])
def test_import_loads_no_numerical_library(module):
    assert run(f"import sys, {module}; print(*(name for name in {HEAVY} if name in sys.modules))") == []


def test_certificates_are_available_without_scikit_learn():
    loaded = "(name for name in ('sklearn', 'hinge.estimators') if name in sys.modules)"
    assert run(f"import sys, hinge; hinge.certify; print(*{loaded})") == []


@pytest.mark.parametrize("name", [*hinge.__all__, "plotting", "__version__"])
def test_public_name_is_found_on_first_use(name):
    assert name in dir(hinge)
    value = getattr(hinge, name)
    assert value is getattr(hinge, name)
    assert vars(hinge)[name] is value


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hinge' has no attribute 'SVX'"):
        hinge.SVX  # noqa: B018


def test_star_import_binds_every_public_name():
    assert run("from hinge import *; import hinge; print(*(n for n in hinge.__all__ if n not in globals()))") == []


@pytest.mark.parametrize("module", ["hinge.solvers", "hinge.io.libsvm"])
def test_solvers_and_readers_load_no_large_library_that_they_rarely_use(module):
    large = ("sklearn", "scipy.optimize", "scipy.spatial", "hinge.estimators")
    assert run(f"import sys, {module}; print(*(name for name in {large} if name in sys.modules))") == []


def test_a_package_is_not_replaced_by_a_module_of_the_same_name():
    """`hinge.ranking` is a package; `hinge.estimators.ranking` is a module."""
    code = "import hinge; hinge.RankingSVM; hinge.SVC; print(hinge.ranking.__name__, hinge.SVR.__module__)"
    assert run(code) == ["hinge.ranking", "hinge.estimators.kernel.regression"]
