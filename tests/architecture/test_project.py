"""Properties of the whole project: version, public names, and no dependence on one computer."""

import re
import tomllib
from importlib import metadata

import hinge
from architecture.sources import ROOT, matching_lines, tracked_files
from hinge import _core


def test_files_do_not_depend_on_a_computer():
    """No file contains an absolute path or the address of a package registry."""
    folders = "|".join(("work", "root", "home", "opt", "tmp", "Users", "mnt"))
    hosts = "|".join(("pypi" + r"\.org", "python" + "hosted", r"\bdeb\." + "debian", "conda" + r"\.anaconda"))
    pattern = re.compile(rf"(?<![\w./$}})])/({folders})/|{hosts}")
    assert not matching_lines(pattern, tracked_files())


def test_files_have_no_conflict_markers():
    markers = "|".join(("<" * 7 + " ", ">" * 7 + " ", "=" * 7 + "$"))
    assert not matching_lines(re.compile(f"^({markers})"), tracked_files())


def test_package_and_metadata_have_the_same_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hinge.__version__ == project["version"] == metadata.version("hinge") == _core.VERSION


def test_citation_and_conda_recipe_have_the_same_version():
    names = "CITATION.cff", "packaging/conda/recipe.yaml"
    citation, recipe = ((ROOT / name).read_text(encoding="utf-8") for name in names)
    assert f"\nversion: {hinge.__version__}\n" in citation
    assert f'version: "{hinge.__version__}"' in recipe


def test_conda_recipe_has_all_commands_and_dependencies():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8")
    for name, function in project["scripts"].items():
        assert f"- {name} = {function}\n" in recipe
    for requirement in project["dependencies"]:
        name, bound = requirement.split(">=")
        assert name == "nanobind-backend" or f"- {name} >={bound}\n" in recipe


def test_changelog_describes_the_version():
    assert f"[{hinge.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_public_names_exist_and_are_unique():
    assert len(set(hinge.__all__)) == len(hinge.__all__)
    for name in hinge.__all__:
        assert hasattr(hinge, name), name
