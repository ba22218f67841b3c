"""The interactive page agrees with Python: in a browser (Chromium and playwright, both optional) and in its data."""

from __future__ import annotations

import base64
import json
import re
import shutil

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons

import hinge
from hinge.plotting import explore
from hinge.plotting.explorer import explorer_html

WIDTHS = (360, 1280, 3840)


def classification(n=60):
    X, y = make_moons(n, noise=0.25, random_state=0)
    X_val, y_val = make_moons(100, noise=0.25, random_state=1)
    return hinge.regularization_path(X, y, C_min=1e-2, C_max=1e3, kernel="rbf", gamma=1.0), X_val, y_val


def regression():
    rng = np.random.default_rng(0)
    X, X_val = rng.uniform(-2, 2, (40, 2)), rng.uniform(-2, 2, (30, 2))
    y, y_val = (np.sin(2 * Z[:, 0]) + Z[:, 1] ** 2 + 0.1 * rng.normal(size=len(Z)) for Z in (X, X_val))
    path = hinge.regularization_path(X, y, C_min=1e-2, C_max=30, gamma=0.7, task="regression", epsilon=0.1)
    return path, X_val, y_val


def epsilon():
    path, X_val, y_val = regression()
    return hinge.epsilon_path(path.X, path.y, C=2.0, gamma=0.7, epsilon_min=0.01, epsilon_max=1.0), X_val, y_val


def weights():
    X, y = make_moons(40, noise=0.3, random_state=2)
    rng = np.random.default_rng(3)
    path = hinge.weight_path(X, y, rng.uniform(0.5, 1, 40), rng.uniform(0, 3, 40), kernel="laplacian", gamma=0.5)
    return path, X + 0.1, y


def nu():
    X, y = make_moons(50, noise=0.3, random_state=4)
    return hinge.nu_path(X, y, nu_min=0.2, nu_max=0.8, gamma=1.0), X + 0.05, y


def features():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = hinge.kernels.RBF(0.02) + 0.1 * hinge.kernels.Linear()
    return hinge.regularization_path(X[:80], y[:80], C_min=0.01, C_max=10, kernel=kernel), X[80:120], y[80:120]


def one_class():
    X, _ = make_moons(40, noise=0.2, random_state=5)
    return hinge.regularization_path(X, C_min=0.1, C_max=1.0, gamma=1.0, task="one_class"), None, None


PATHS = [classification, regression, epsilon, weights, nu, features, one_class]


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    if chromium is None:
        pytest.skip("chromium is not installed (Debian package chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Open the page of a path; errors on its console and requests fail the test."""
    problems, pages = [], []

    def opened(path, *data, width=1280, height=900, **options):
        file = explore(path, tmp_path / "page.html", *data, **options)
        page = browser.new_page(viewport={"width": width, "height": height})
        pages.append(page)
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if "page.html" not in request.url else None)
        page.goto(file.as_uri())
        page.wait_for_function("window.hinge !== undefined")
        return page

    yield opened
    for page in pages:
        page.wait_for_timeout(150)
        page.close()
    assert [p for p in problems if not p.startswith("data:")] == []


def scale(values):
    return max(1.0, float(np.max(np.abs(values), initial=0.0)))


@pytest.mark.parametrize("make", PATHS, ids=lambda f: f.__name__)
def test_solutions_and_errors_equal_those_of_python(open_page, make):
    path, *data = make()
    data = [] if data[0] is None else data
    page = open_page(path, *data)
    knots = path.breakpoints
    assert np.allclose(page.evaluate("hinge.breakpoints()"), knots, rtol=1e-13)
    inner = 0.3 * knots[:-1] + 0.7 * knots[1:]
    rng = np.random.default_rng(0)
    for theta in [*rng.permutation(knots)[:8], *rng.permutation(inner)[:8], path.low, path.high]:
        theta = float(theta)
        state = page.evaluate(
            "theta => { hinge.setTheta(theta); return {beta: hinge.coefficients(), b: hinge.intercept(),"
            " sets: hinge.indexSets(), c: hinge.certificate(), e: hinge.errors()}; }",
            theta,
        )
        beta = path.coefficients(theta)
        assert np.max(np.abs(np.array(state["beta"]) - beta)) <= 1e-12 * scale(beta)
        assert abs(state["b"] - path.intercept(theta)) <= 1e-10 * scale(path.intercept(theta))
        if theta in inner:
            assert all(np.array_equal(a, b) for a, b in zip(state["sets"], path.index_sets(theta), strict=True))
            if data:
                error = path.validation_error(*data)(theta)
                assert state["e"]["validation"] == pytest.approx(error, rel=1e-10)
        points = path.X[:5] + 0.01
        values = page.evaluate("rows => hinge.decision(rows)", points.tolist())
        expected = path.decision_function(points, theta)
        assert np.max(np.abs(np.array(values) - expected)) <= 1e-10 * scale(beta)
        exact = path.certificate(theta)
        assert state["c"]["gap"] >= -1e-9 * scale(exact.primal)
        if path.parameter != "nu":
            assert state["c"]["primal"] == pytest.approx(exact.primal, rel=1e-9, abs=1e-9)


def test_best_button_moves_to_the_exact_minimum(open_page):
    path, *data = classification()
    page = open_page(path, *data)
    page.evaluate("hinge.setTheta(500)")
    page.click('[data-part="best"]')
    best = path.best(*data)
    assert best.low <= page.evaluate("hinge.theta()") <= best.high
    found = page.evaluate("hinge.errors().best")
    assert (found["low"], found["high"], found["error"]) == pytest.approx(best)


def edited(page):
    samples = page.evaluate("hinge.samples()")
    return np.array(samples["X"]), np.array(samples["y"])


def check_against_fits(page, path, make_fit):
    """Every value of the parameter gives the model of a fit on the present samples."""
    X, y = edited(page)
    for share in (0.0, 0.2, 0.5, 0.8, 1.0):
        theta = float(path.low * (path.high / path.low) ** share)
        values = page.evaluate("([t, X]) => { hinge.setTheta(t); return hinge.decision(X); }", [theta, X.tolist()])
        model = make_fit(theta).fit(X, y)
        expected = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
        certificate = page.evaluate("hinge.certificate()")
        assert abs(certificate["gap"]) <= 1e-9 * max(1.0, certificate["primal"])
        assert np.allclose(values, expected, atol=1e-8 * scale(expected))


def test_edited_classification_equals_a_new_fit(open_page):
    path, *data = classification(30)
    page = open_page(path, *data)
    fit = lambda C: hinge.SVC(C=C, gamma=1.0, tol=1e-10)  # noqa: E731
    changes = ["add([0.4, 0.1], 1)", "remove(3)", "relabel(7)", "move(5, [0.9, -0.2])"]
    for change in [*changes, "add([0.4, 0.1], -1)", "remove(0)"]:
        assert page.evaluate(f"hinge.{change}")
    check_against_fits(page, path, fit)
    page.click("text=reset")
    assert np.array_equal(edited(page)[0], path.X)
    assert np.allclose(page.evaluate("hinge.breakpoints()"), path.breakpoints)


def test_edited_regression_equals_a_new_fit(open_page):
    path, *data = regression()
    page = open_page(path, *data)
    for change in ("add([0.4, 0.1], 2.5)", "remove(3)", "relabel(7, -1)", "move(5, [0.9, -0.2])"):
        assert page.evaluate(f"hinge.{change}")
    check_against_fits(page, path, lambda C: hinge.SVR(C=C, gamma=0.7, epsilon=0.1, tol=1e-10))


def test_duplicates_and_ties_can_be_edited(open_page):
    X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    path = hinge.regularization_path(X, [0, 0, 1, 1, 0, 1], kernel="linear", C_min=0.01, C_max=100)
    page = open_page(path)
    assert page.evaluate("hinge.add([0, 0], 1)")
    assert page.evaluate("hinge.add([1, 0], -1)")
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        certificate = page.evaluate("C => { hinge.setTheta(C); return hinge.certificate(); }", C)
        samples, y = edited(page)
        optimum = hinge.SVC(kernel="linear", C=C, tol=1e-10).fit(samples, y).certificate_
        assert certificate["primal"] == pytest.approx(optimum.primal, rel=1e-8)


def test_last_sample_of_a_class_cannot_be_removed(open_page):
    path = hinge.regularization_path(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), [0, 0, 1], kernel="linear")
    page = open_page(path)
    assert not page.evaluate("hinge.remove(2)")
    assert "both classes" in page.inner_text('[data-part="status"]')
    assert len(edited(page)[1]) == 3


def test_keyboard_and_pointer(open_page):
    path, *data = classification()
    page = open_page(path, *data)
    page.evaluate("hinge.setTheta(1)")
    page.focus('[data-part="plane"]')
    page.keyboard.press("ArrowRight")
    after = page.evaluate("hinge.theta()")
    assert after == pytest.approx(path.breakpoints[path.breakpoints > 1][0])
    page.keyboard.press("[")
    assert page.evaluate("hinge.theta()") == pytest.approx(path.breakpoints[path.breakpoints < after][-1])
    page.keyboard.press("Home")
    assert page.evaluate("hinge.theta()") == path.low
    page.focus('[data-part="slider"]')
    page.keyboard.press("End")
    assert page.evaluate("hinge.theta()") == path.high
    chart = page.locator('[data-part="errors"]').bounding_box()
    page.mouse.move(chart["x"] + 100, chart["y"] + 60)
    page.mouse.down()
    page.mouse.move(chart["x"] + 200, chart["y"] + 60, steps=4)
    page.mouse.up()
    assert path.low < page.evaluate("hinge.theta()") < path.high
    plane = page.locator('[data-part="plane"]').bounding_box()
    page.click('[data-tool="positive"]')
    page.mouse.click(plane["x"] + 50, plane["y"] + 60)
    assert len(edited(page)[1]) == 61


@pytest.mark.parametrize("width", WIDTHS)
def test_page_fits_every_width_and_both_themes(open_page, width):
    path, *data = classification()
    page = open_page(path, *data, width=width, height=800)
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        image = page.screenshot()
        assert len(image) > 5000
        page.click('[data-part="theme"]')
    for part in ("plane", "errors", "coefficients"):
        box = page.locator(f'[data-part="{part}"]').bounding_box()
        assert box["width"] >= min(300, width - 40)
        assert box["height"] >= 140


def test_page_is_small_and_self_contained():
    path, *data = classification()
    text = explorer_html(path, *data, title="a </script> b")
    payload = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)[1]
    assert json.loads(payload)["title"] == "a </script> b"
    assert len(text.encode()) - len(payload.encode()) <= 300_000
    assert not re.search(r"https?://", text)


def test_stored_arrays_are_exact():
    path, *data = regression()
    payload = re.search(r'application/json">(.*?)</script>', explorer_html(path, *data), re.S)[1]
    stored = json.loads(payload)["pieces"]["value"]
    assert np.array_equal(np.frombuffer(base64.b64decode(stored["data"]), "<f8"), path.pieces.value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, "SolutionPath"),
        ((np.zeros((2, 2)),), ValueError, "together"),
    ],
)
def test_invalid_arguments(tmp_path, arguments, error, message):
    path = classification()[0] if arguments else "path"
    with pytest.raises(error, match=message):
        explore(path, tmp_path / "page.html", *arguments)


def test_feature_names_are_checked(tmp_path):
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        explore(classification()[0], tmp_path / "page.html", feature_names=["a"])


def test_precomputed_kernels_have_no_plane(open_page):
    X, y = make_moons(20, random_state=0)
    path = hinge.regularization_path(X @ X.T, y, kernel="precomputed", C_min=0.1, C_max=10)
    page = open_page(path)
    assert page.locator('[data-part="plane"]').is_hidden()
    assert page.evaluate("hinge.certificate().gap") < 1e-9


def test_widget_has_the_source_of_the_page():
    anywidget = pytest.importorskip("anywidget")
    from hinge.plotting.explorer import explorer_widget

    widget = explorer_widget(classification()[0])
    assert isinstance(widget, anywidget.AnyWidget)
    assert widget.page["parameter"] == "C"
    assert "export default { render }" in str(widget._esm)
