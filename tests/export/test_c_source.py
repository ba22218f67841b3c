"""C programs agree with the estimators to rounding errors and compile without warnings."""

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from export.cases import KERNELS, NAMES, Case, assert_agreement, cases, fitted
from hinge.io import to_c
from hinge.kernels import RBF, BSpline, Polynomial

COMPILER = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wmissing-prototypes", "-Werror", "-O1")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

every_estimator = pytest.mark.parametrize("name", NAMES)


def build(folder, *sources, flags=()):
    """Compile files; return the program."""
    program = folder / "program"
    subprocess.run([COMPILER, *FLAGS, *flags, *sources, "-o", program, "-lm"], check=True)
    return program


def run(folder, model, X, **options):
    """Write, compile and run the test program; return the printed columns: text first, then numbers."""
    source = folder / "model.c"
    to_c(model, source, **options)
    program = build(folder, source, flags=("-DHINGE_TEST_MAIN",))
    text = "\n".join(" ".join(map(repr, row)) for row in X.tolist())
    output = subprocess.run([program], input=text, capture_output=True, check=True, encoding="utf-8").stdout
    return [row.split("\t") for row in output.splitlines()]


def check(folder, case, rtol=1e-12, **options):
    rows = run(folder, case.model, case.X, **options)
    if not case.has_labels:
        assert_agreement(case, None, np.array([float(row[0]) for row in rows]), rtol)
        return
    label = np.array([row[0] for row in rows])
    if case.model.predict(case.X).dtype.kind == "f":
        label = label.astype(float)
    values = np.array([[float(value) for value in row[1:]] for row in rows])
    assert_agreement(case, label, values[:, 0] if values.shape[1] == 1 else values, rtol)


@every_estimator
@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_every_estimator_agrees_with_its_c_program(name, data, tmp_path):
    check(tmp_path, data.draw(cases(name)))


@pytest.mark.slow
@every_estimator
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_every_estimator_agrees_with_its_c_program_on_many_data_sets(name, data, tmp_path):
    check(tmp_path, data.draw(cases(name)))


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 0] += np.arange(60) % 3
    return X, rng.normal(size=(40, 3))


@pytest.mark.parametrize("kernel", [*KERNELS, BSpline(15, 0.3), Polynomial(2.5, 0.1, 20.0)], ids=repr)
def test_every_kernel_agrees(samples, kernel, tmp_path):
    X, T = samples
    check(tmp_path, Case(fitted(hinge.SVC(kernel=kernel, C=2.0), X, np.arange(60) % 3), T))


def test_float_programs_agree_to_single_precision(samples, tmp_path):
    X, T = samples
    model = fitted(make_pipeline(StandardScaler(), hinge.SVR()), X, np.sin(X[:, 0]))
    check(tmp_path, Case(model, T), rtol=1e-6, dtype="float32")


def test_features_that_are_zero_are_not_stored(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < 0.1)
    X[7] = 0.0
    model = fitted(hinge.SVC(kernel=RBF(0.1)), X, np.arange(60) % 4)
    check(tmp_path, Case(model, X))
    stored = (tmp_path / "model.c").read_text().partition("hinge_vectors_0[] = {")[2].partition("}")[0]
    assert stored.count(",") == np.count_nonzero(model.support_vectors_)


def test_several_models_fit_into_one_program(samples, tmp_path):
    X, T = samples
    y = np.arange(60) % 3
    first, second = fitted(hinge.SVC(), X, y), fitted(hinge.LinearSVR(), X, np.sin(X[:, 0]))
    to_c(first, tmp_path / "first.c", prefix="first")
    to_c(second, tmp_path / "second.c", prefix="second")
    main = tmp_path / "main.c"
    numbers = ", ".join(map(repr, T[0].tolist()))
    main.write_text(
        "#include <stdio.h>\nlong first_predict(const double *x);\ndouble second_predict(const double *x);\n"
        f"int main(void) {{\n  const double x[] = {{{numbers}}};\n"
        '  printf("%ld %.17g\\n", first_predict(x), second_predict(x));\n  return 0;\n}\n'
    )
    program = build(tmp_path, tmp_path / "first.c", tmp_path / "second.c", main)
    label, value = subprocess.run([program], capture_output=True, check=True, text=True).stdout.split()
    assert int(label) == first.predict(T[:1])[0]
    assert float(value) == pytest.approx(second.predict(T[:1])[0], rel=1e-12)


def test_programs_do_not_allocate_memory(samples):
    X, _ = samples
    source = to_c(fitted(hinge.SVC(), X, np.arange(60) % 3)).partition("#ifdef HINGE_TEST_MAIN")[0]
    assert "malloc" not in source
    assert [line for line in source.splitlines() if line.startswith("#include")] == ["#include <math.h>"]


@pytest.mark.parametrize("options", [{"dtype": "float16"}, {"prefix": "1st"}, {"prefix": "a-b"}, {"prefix": None}])
def test_invalid_options_are_errors(samples, options):
    X, _ = samples
    with pytest.raises(ValueError, match=next(iter(options))):
        to_c(fitted(hinge.SVR(), X, X[:, 0]), **options)


def test_numbers_beyond_the_range_of_float_are_an_error():
    X = 1e60 * np.arange(4.0)[:, None]
    model = fitted(make_pipeline(StandardScaler(), hinge.LinearSVR()), X, np.arange(4.0))
    assert to_c(model)
    with pytest.raises(ValueError, match="dtype='float64'"):
        to_c(model, dtype="float32")
