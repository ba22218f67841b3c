"""A reader that follows only the documented rules (docs/guide/file-format.md) reproduces the predictions.

The reader uses zipfile, json and NumPy, and no code of hinge.
"""

import json
import re
import zipfile
from itertools import combinations
from math import comb, factorial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import hinge
from export.cases import KERNELS, LINEAR, NAMES, PARAMETERS, fitted, targets

PAGE = Path(__file__).parents[2] / "docs/guide/file-format.md"


# ---- reader ---------------------------------------------------------------------------------------------------------


class Reader:
    def __init__(self, path):
        with zipfile.ZipFile(path) as archive:
            assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
            manifest = json.loads(archive.read("hinge.json"))
            assert manifest["format"] == "hinge model"
            assert manifest["version"] == 1
            self.archive = archive
            self.name = manifest["class"]
            self.parameters, self.state = ({k: self.value(v) for k, v in manifest[part].items()}
                                           for part in ("parameters", "state"))  # fmt: skip

    def value(self, node):
        if isinstance(node, list):
            return [self.value(item) for item in node]
        if not isinstance(node, dict):
            return node
        ((kind, content),) = node.items()
        return getattr(self, f"read_{kind}")(content)

    def read_float(self, text):
        return float.fromhex(text)

    def read_array(self, number):
        with self.archive.open(f"{number}.npy") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def read_tuple(self, items):
        return tuple(self.value(item) for item in items)

    def read_dict(self, pairs):
        return {self.value(key): self.value(value) for key, value in pairs}

    def read_objects(self, content):
        shape, items = content
        return np.array([self.value(item) for item in items], dtype=object).reshape(shape)

    def read_scalar(self, content):
        kind, text = content
        return text if kind == "U" else np.frombuffer(bytes.fromhex(text), kind)[0]

    def read_csr(self, content):
        _, (rows, columns), *numbers = content
        data, indices, indptr = map(self.read_array, numbers)
        dense = np.zeros((rows, columns))
        for i in range(rows):
            dense[i, indices[indptr[i] : indptr[i + 1]]] = data[indptr[i] : indptr[i + 1]]
        return dense

    def read_enum(self, content):
        return tuple(content)

    def read_record(self, content):
        name, fields = content
        return name, {key: self.value(value) for key, value in fields.items()}


def kernel(record, X, Z):
    name, p = record
    if name in ("Sum", "Product"):
        values = [kernel(part, X, Z) for part in p["parts"]]
        return sum(values) if name == "Sum" else np.prod(values, axis=0)
    if name == "Scaled":
        return p["multiple"] * kernel(p["kernel"], X, Z)
    dot, difference = X @ Z.T, X[:, None, :] - Z
    squared = np.sum(difference**2, axis=2)
    if name == "BSpline":
        q, t = p["degree"], np.sqrt(p["gamma"] * squared)[..., None]
        k = np.arange(q + 2)
        signs = np.array([(-1) ** j * comb(q + 1, j) / factorial(q) for j in k.tolist()])
        return np.maximum(0, np.maximum(t + (q + 1) / 2 - k, 0) ** q @ signs)
    formulas = {
        "Linear": lambda: dot,
        "Polynomial": lambda: (p["gamma"] * dot + p["coef0"]) ** p["degree"],
        "RBF": lambda: np.exp(-p["gamma"] * squared),
        "Sigmoid": lambda: np.tanh(p["gamma"] * dot + p["coef0"]),
        "Laplacian": lambda: np.exp(-p["gamma"] * np.sum(np.abs(difference), axis=2)),
    }
    return formulas[name]()


def functions(reader, X):
    state = reader.state
    if "_state" in state:
        _, fields = state["_state"]
        values = kernel(fields["kernel"], X, fields["vectors"])
        return values @ (fields["scale"] * fields["coefficients"].T) + fields["offset"]
    if "model_" not in state:
        return X @ np.atleast_2d(state["coef_"]).T + state["intercept_"]
    name, model = state["model_"]
    parts = model["parts"] if name == "DictionaryModel" else [state["model_"]]
    total = np.zeros((len(X), len(model["intercept"])))
    for _, part in parts:
        total += kernel(part["kernel"], X, part["vectors"]) @ part["coefficients"] + part["intercept"]
    if "function_coef_" in state:
        return total + unpenalized(reader.parameters["functions"], X) @ np.atleast_2d(state["function_coef_"]).T
    return total + model["intercept"] if name == "DictionaryModel" else total


def unpenalized(functions, X):
    """ψ(x): 1, (1, x), or (1, x, products of two features)."""
    columns = [np.ones(len(X))]
    if functions in ("linear", "quadratic"):
        columns += list(X.T)
    if functions == "quadratic":
        columns += [X[:, i] * X[:, j] for i in range(X.shape[1]) for j in range(i, X.shape[1])]
    return np.column_stack(columns)


def votes(f, first_wins, n_classes):
    count, total = np.zeros((2, len(f), n_classes))
    for column, (first, second) in enumerate(combinations(range(n_classes), 2)):
        count[:, first] += first_wins[:, column]
        count[:, second] += ~first_wins[:, column]
        total[:, first] += f[:, column]
        total[:, second] -= f[:, column]
    return count, count + total / (3 * (np.abs(total) + 1))


def predictions(reader, X):
    """Decision values (None for regression) and predictions."""
    f, state = functions(reader, X), reader.state
    if "OneClass" in reader.name or reader.name == "OnlineNoveltyDetector":
        if reader.name == "OnlineNoveltyDetector":
            f = f[:, 0] - state["_state"][1]["level"][0]
        else:
            f = np.where(np.abs(f[:, 0]) <= 1e-12 * np.abs(state["offset_"][0]), 0.0, f[:, 0])
        return f, np.where(f >= 0, 1, -1)
    if "classes_" not in state:
        return None, f[:, 0]
    classes = state["classes_"]
    if len(classes) == 2:
        return f[:, 0], classes[(f[:, 0] > 0).astype(int)]
    if reader.name not in ("SVC", "NuSVC", "IncrementalSVC", "SlidingSVC"):
        return f, classes[np.argmax(f, axis=1)]
    by_votes, _ = votes(f, f > 0, len(classes))
    _, by_class = votes(f, f >= 0, len(classes))
    choice = np.argmax(by_class if reader.parameters["break_ties"] else by_votes, axis=1)
    return (f if reader.parameters["decision_function_shape"] == "ovo" else by_class), classes[choice]


# ---- tests ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 3))
    X[:, 0] += np.arange(45) % 3
    return X, rng.normal(size=(30, 3))


def check(model, X, path):
    hinge.save(model, path)
    values, predicted = predictions(Reader(path), X)
    rows = [X[i : i + 1] for i in range(len(X))]
    if values is not None:
        expected = np.concatenate([model.decision_function(row) for row in rows])
        assert np.allclose(values, expected, rtol=1e-11, atol=1e-11)
        assert predicted.tolist() == model.predict(X).tolist()
    else:
        assert np.allclose(predicted, np.concatenate([model.predict(row) for row in rows]), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_of_every_estimator_follow_from_the_documented_format(samples, name, n_classes, path):
    X, T = samples
    if name == "TransductiveSVC" and n_classes == 3:
        pytest.skip("two classes only")
    y = targets(name, len(X), n_classes, np.array(["a", "b", "ž"], dtype=object if n_classes == 3 else None))
    check(fitted(getattr(hinge, name)(**PARAMETERS[name]), X, y), T, path)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if "degree=7" not in repr(k)], ids=repr)
@pytest.mark.parametrize("options", [{}, {"decision_function_shape": "ovo"}, {"break_ties": True}], ids=str)
def test_every_kernel_follows_from_the_documented_format(samples, kernel, options, path):
    X, T = samples
    check(fitted(hinge.SVC(kernel=kernel, **options), X, np.arange(len(X)) % 3), T, path)


def test_sparse_support_vectors_follow_from_the_documented_format(samples, path):
    X, T = samples
    model = fitted(hinge.SVC(), sparse.csr_matrix(np.where(X > 0, X, 0.0)), np.arange(len(X)) % 3)
    hinge.save(model, path)
    values, _ = predictions(Reader(path), T)
    assert np.allclose(values, model.decision_function(sparse.csr_matrix(T)), rtol=1e-11, atol=1e-11)


def test_the_program_on_the_page_reads_a_model(samples, path):
    X, T = samples
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {}
    exec(program, names)
    assert "hinge" not in {line.split()[1] for line in program.splitlines() if line.startswith(("import", "from"))}
    model = fitted(hinge.SVC(decision_function_shape="ovo"), X, np.arange(len(X)) % 3)
    hinge.save(model, path)
    assert np.allclose(names["functions"](path, T), model.decision_function(T), rtol=1e-12)


def test_the_page_names_every_estimator_and_kernel():
    text = PAGE.read_text("utf-8")
    classes = {type(k).__name__ for k in KERNELS} | {"Precomputed", "Sum", "Product", "Scaled"}
    named = set(re.findall(r"`(\w+)`", text))
    assert classes <= named
    # Two-class estimators are in the row of all classifiers.
    assert {*NAMES} - {"TransductiveSVC"} <= named
    assert set(LINEAR) <= named
