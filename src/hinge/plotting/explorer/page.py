"""A self-contained HTML file that shows an exact path."""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from hinge.paths import SolutionPath
from hinge.plotting.explorer.page_data import page_data

#: Scripts of the page, in the order in which they depend on each other.
SCRIPTS = ("arrays", "kernels", "path", "solver", "follow", "plane", "charts", "errors", "editor", "app")


def explore(
    path: SolutionPath,
    file: str | Path,
    X_val: Any = None,
    y_val: Any = None,
    *,
    feature_names: Any = None,
    title: str | None = None,
) -> Path:
    """Write an interactive page that shows an exact path for every value of its parameter.

    The page is one HTML file without server or network access. It contains the breakpoints of the path and computes the
    solution between them in the browser. A slider changes the parameter; the page shows the decision boundary, the
    margin, the support vectors, the dual variables, the index sets, the training and validation errors with the exact
    minimum, and the duality gap. For problems with two features and up to 300 samples, samples can be added, moved,
    deleted and relabelled; the page then solves the changed problem exactly.

    Parameters
    ----------
    path : SolutionPath
        Result of `regularization_path`, `weight_path`, `epsilon_path` or `nu_path`.
    file : str or Path
        The HTML file.
    X_val, y_val : array-like, optional
        Data of the validation error.
    feature_names : list of str, optional
    title : str, optional

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting import explore
    >>> path = hinge.regularization_path([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 0, 1], kernel="linear")
    >>> file = explore(path, "path.html")                                                # doctest: +SKIP
    """
    target = Path(file)
    target.write_text(explorer_html(path, X_val, y_val, feature_names=feature_names, title=title), encoding="utf-8")
    return target


def explorer_html(
    path: SolutionPath, X_val: Any = None, y_val: Any = None, *, feature_names: Any = None, title: str | None = None
) -> str:
    """Return the page of `explore` as text.

    Examples
    --------
    >>> import hinge
    >>> from hinge.plotting.explorer import explorer_html
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> explorer_html(path).startswith("<!doctype html>")
    True
    """
    data = _data(path, X_val, y_val, feature_names, title)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    script = "\n".join([
        source(),
        'window.hinge = startExplorer(document.querySelector("main").parentElement,',
        '  JSON.parse(document.getElementById("data").textContent));',
    ])  # fmt: skip
    return "\n".join([
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{html.escape(data['title'])}</title>",
        f"<style>body {{ margin: 0; }}\n{_asset('style.css')}</style></head><body>",
        _asset("body.html"),
        f'<script id="data" type="application/json">{text}</script>',
        f"<script>(() => {{\n\"use strict\";\n{script}\n}})();</script>",
        "</body></html>\n",
    ])  # fmt: skip


def source() -> str:
    """Return the scripts of the page as one text."""
    return "\n".join(_asset(f"{name}.js") for name in SCRIPTS)


def explorer_widget(
    path: SolutionPath, X_val: Any = None, y_val: Any = None, *, feature_names: Any = None, title: str | None = None
) -> Any:
    """Return the page of `explore` as a widget for Jupyter notebooks. Requires anywidget (the extra `notebook`).

    Examples
    --------
    >>> from hinge.plotting.explorer import explorer_widget
    >>> import hinge
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> path = hinge.regularization_path(X, y, C_min=0.1, C_max=10.0, gamma=1.0)
    >>> explorer_widget(path)  # doctest: +SKIP
    """
    data = _data(path, X_val, y_val, feature_names, title)
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("widgets need anywidget, which is not installed: pip install 'hinge[notebook]'") from error
    script = "\n".join([
        source(),
        "function render({ model, el }) {",
        f"  el.innerHTML = {json.dumps(_asset('body.html'))};",
        '  startExplorer(el, model.get("page"));',
        "}",
        "export default { render };",
    ])  # fmt: skip
    traits = {"_esm": script, "_css": _asset("style.css"), "page": traitlets.Dict(data).tag(sync=True)}
    return type("PathExplorer", (anywidget.AnyWidget,), traits)()


def _data(path: Any, X_val: Any, y_val: Any, feature_names: Any, title: str | None) -> Any:
    if not isinstance(path, SolutionPath):
        raise TypeError(
            f"explore needs a SolutionPath, got {type(path).__name__}: use regularization_path, weight_path, "
            "epsilon_path or nu_path"
        )
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val must be given together")
    return page_data(path, None if X_val is None else (X_val, y_val), feature_names, title)


def _asset(name: str) -> str:
    return (files(__package__) / "web" / name).read_text(encoding="utf-8")
