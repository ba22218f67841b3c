"""Postponed imports: large packages are executed on first use, and then behave like any others."""

import json
import subprocess
import sys
from importlib import import_module, util

import numpy as np
import pytest

from hinge.cli import startup
from hinge.cli.libsvm.train import main as libsvm_train

POSTPONE = "import sys; from hinge.cli import startup; startup.postpone_imports()\n"
EXECUTED = "{n for n, m in sys.modules.items() if not '_postponed' in m.__dict__}"


def python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("hinge.cli:train train.svm -o m.hinge --quiet", ("pandas", "scipy.stats", "scipy.optimize", "hinge.paths")),
        (
            "hinge.cli:train train.svm -e LinearSVC -o m.hinge",
            ("joblib", "scipy.linalg", "scipy.sparse.linalg", "scipy.sparse.csgraph", "sklearn.utils.parallel"),
        ),
        ("hinge.cli.libsvm.train:-q train.svm m", ("sklearn", "scipy.stats", "scipy.optimize", "hinge.cli.catalog")),
        ("hinge.cli.libsvm.predict:-q train.svm model out", ("sklearn", "scipy.linalg", "hinge.solvers")),
        ("hinge.cli.libsvm.scale:train.svm", ("sklearn", "scipy.linalg", "hinge.solvers")),
    ],
)
def test_commands_execute_only_what_they_need(command, unused, classes, tmp_path):
    module, words = command.split(":")
    if "model" in words:
        assert libsvm_train(["-q", str(tmp_path / "train.svm"), str(tmp_path / "model")]) == 0
    arguments = [str(tmp_path / w) if w in ("train.svm", "m.hinge", "m", "model", "out") else w for w in words.split()]
    code = f"import sys; from {module} import main; main(); print('\\n', *{EXECUTED})"
    executed = python(code, *arguments).splitlines()[-1].split()
    assert not set(unused) & set(executed)


def test_postponed_packages_are_complete_once_they_are_used():
    names = sorted(name for name in startup.POSTPONED if name.split(".")[0] != "narwhals" or util.find_spec("narwhals"))
    code = f"""import sklearn, importlib, json
before = {EXECUTED}
public = {{}}
for name in {names}:
    module = importlib.import_module(name)
    hasattr(module, '__all__')  # executes the module, which dir() does not
    public[name] = sorted(n for n in getattr(module, '__all__', dir(module)) if hasattr(module, n))
print(json.dumps([sorted(before), public]))"""
    before, public = json.loads(python(POSTPONE + code))
    assert "scipy.stats" not in before
    for name in names:
        module = import_module(name)
        expected = {n for n in getattr(module, "__all__", vars(module)) if not n.startswith("_")}
        assert expected <= {*public[name], "annotations"}, name


def test_functions_of_postponed_packages_execute_them_when_they_are_called(package, monkeypatch):
    monkeypatch.setattr(startup, "POSTPONED_NAMES", {"postponed_package": frozenset({"add"})})
    module = package("executed = True\ndef add(a, *, b):\n    return a + b\n")
    from postponed_package import add

    assert "executed" not in vars(module)
    assert add(1, b=2) == 3
    assert vars(module)["executed"]
    assert (add.__module__, add.__name__) == ("postponed_package", "add")
    assert add(3, b=4) == 7
    assert module.add is vars(module)["add"] is not add


def test_every_postponed_name_exists():
    for module, names in startup.POSTPONED_NAMES.items():
        assert module in startup.POSTPONED
        assert all(callable(getattr(import_module(module), name)) for name in names)
        assert startup.POSTPONED_TESTS.get(module, frozenset()) <= names


def test_classes_of_postponed_packages_are_like_classes(package, monkeypatch):
    monkeypatch.setattr(startup, "POSTPONED_NAMES", {"postponed_package": frozenset({"Base", "Other", "is_base"})})
    monkeypatch.setattr(startup, "POSTPONED_TESTS", {"postponed_package": frozenset({"is_base"})})
    module = package(
        "class Base:\n    size = 3\nclass Other(Base):\n    pass\ndef is_base(x):\n    return isinstance(x, Base)\n"
    )
    from postponed_package import Base, Other, is_base

    assert not isinstance(1, Base)
    assert not is_base(1)
    assert "Base" not in vars(module)  # neither test executes the package
    assert isinstance(Other(), Base)
    assert is_base(Other())
    assert not is_base(1)
    assert not isinstance(Base(), Other)
    assert issubclass(module.Other, Base)
    assert Base.size == 3

    class Derived(Base):
        pass

    assert Derived.__mro__[1] is module.Base


def test_submodule_of_a_postponed_package_executes_the_package_first():
    code = """import scipy.stats, scipy.stats._continuous_distns as d
print(scipy.stats.norm is d.norm, scipy.stats._continuous_distns is d, '_postponed' in scipy.stats.__dict__)"""
    assert python(POSTPONE + code).split() == ["True", "True", "False"]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write the source of a postponed package and import it."""
    monkeypatch.syspath_prepend(tmp_path)
    finder = startup.PostponingFinder()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.setattr(startup, "POSTPONED", frozenset({"postponed_package"}))

    def write(source):
        (tmp_path / "postponed_package").mkdir()
        (tmp_path / "postponed_package" / "__init__.py").write_text(source)
        monkeypatch.delitem(sys.modules, "postponed_package", raising=False)
        return import_module("postponed_package")

    yield write
    for name in [n for n in sys.modules if n.startswith("postponed_package")]:
        del sys.modules[name]


def test_package_is_executed_once_by_many_threads(package, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    module = package("import time\nopen(__path__[0] + '/log', 'a').write('x')\ntime.sleep(0.1)\nvalue = 3\n")
    log = tmp_path / "postponed_package" / "log"
    assert not log.exists()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: module.value, range(4))) == [3, 3, 3, 3]
    assert log.read_text() == "x"
    assert type(module).__name__ == "module"
    with pytest.raises(AttributeError, match="postponed_package"):
        module.other  # noqa: B018


def test_failure_is_reported_at_every_use(package):
    module = package("raise ImportError('no library')\n")
    for _ in range(2):
        with pytest.raises(ImportError, match="no library"):
            module.value  # noqa: B018


def test_hidden_package_seems_not_to_be_installed_until_the_end_of_the_block(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [startup._finder, *sys.meta_path])
    monkeypatch.delitem(sys.modules, "wave", raising=False)
    with startup.loading("wave"), pytest.raises(ModuleNotFoundError, match="No module named 'wave'"):
        import_module("wave")
    assert import_module("wave").__name__ == "wave"


def test_library_does_not_change_the_import_system(run, classes):
    assert run("train", classes[0], "-o", "m.hinge").code == 0
    assert startup._finder not in sys.meta_path


def test_data_are_read_while_the_estimators_are_imported(classes, tmp_path):
    """The messages and results are those of reading at the usual place."""
    from hinge.cli.datafile import start_reading
    from hinge.cli.parser import parse

    name, X, y = classes
    arguments = parse(["train", str(tmp_path / name), "-o", "m.hinge"])
    start_reading(arguments)
    rows, values = arguments.early_reading.result()
    np.testing.assert_array_equal(values, X)
    np.testing.assert_array_equal(rows.column("label"), y)
    (tmp_path / "damaged.svm").write_text("1 1:2\n1 2:x\n")
    for words, is_early in (
        (["damaged.svm"], True),
        (["damaged.svm", "--memory", "1MB"], False),
        (["damaged.svm", "--format", "csv"], False),
        (["missing.svm"], False),
        (["-"], False),
    ):
        file, *rest = words
        arguments = parse(["train", file if file == "-" else str(tmp_path / file), *rest, "-o", "m.hinge"])
        start_reading(arguments)
        assert hasattr(arguments, "early_reading") == is_early
        if is_early:
            with pytest.raises(ValueError, match=r"damaged.svm, line 2"):
                arguments.early_reading.result()
