"""hinge-svm-train, hinge-svm-predict and hinge-svm-scale give the output and the files of LIBSVM."""

import re

import numpy as np
import pytest

from hinge.io.libsvm import load_libsvm
from hinge.io.libsvm_models.text import read_model

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")

TRAINING = {
    "C-SVC": ("two", "-c 10 -g 0.2"),
    "C-SVC, three classes": ("three", "-c 2"),
    "C-SVC, linear": ("two", "-t 0 -c 0.5"),
    "C-SVC, polynomial": ("three", "-t 1 -d 2 -g 0.1 -r 1"),
    "C-SVC, sigmoid": ("two", "-t 3 -g 0.01 -r -0.5"),
    "C-SVC, weights": ("three", "-w7 3 -w-2 0.25 -c 2"),
    "C-SVC, precomputed": ("kernel", "-t 4 -c 0.1"),
    "nu-SVC": ("two", "-s 1 -n 0.3"),
    "nu-SVC, three classes": ("three", "-s 1 -n 0.2 -h 0"),
    "one-class": ("two", "-s 2 -n 0.2"),
    "epsilon-SVR": ("regression", "-s 3 -p 0.05 -c 5"),
    "nu-SVR": ("regression", "-s 4 -n 0.4 -c 5"),
}


def words_and_numbers(text):
    """The text without numbers, and the numbers; iteration counts are left out."""
    text = re.sub(r"#iter = \d+", "#iter", text)
    text = re.sub(r"^[.*]+$", "*", text, flags=re.M)
    return NUMBER.sub("#", text).split(), np.array([float(word) for word in NUMBER.findall(text)])


def assert_same_output(ours, theirs, rel=2e-3, abs_=2e-3):
    (our_words, our_numbers), (their_words, their_numbers) = words_and_numbers(ours), words_and_numbers(theirs)
    assert our_words == their_words
    np.testing.assert_allclose(our_numbers, their_numbers, rtol=rel, atol=abs_)


def values_of(model, path):
    X, _ = load_libsvm(path, zero_based=model.is_precomputed)
    X = X.toarray()
    return model.decision_values(X[:, 1:] if model.is_precomputed else X)


@pytest.mark.parametrize("case", TRAINING)
def test_training_prints_the_same_lines_and_writes_the_same_model(case, files, ours, theirs, tmp_path):
    name, options = TRAINING[case]
    options = [*options.split(), "-e", "1e-5"]
    code, text, errors = ours("svm-train", *options, files[name], tmp_path / "ours.model")
    assert (code, errors) == (0, "")
    assert_same_output(text, theirs("svm-train", *options, files[name], tmp_path / "theirs.model")[1])
    mine, other = read_model(tmp_path / "ours.model"), read_model(tmp_path / "theirs.model")
    assert (mine.svm_type, type(mine.kernel)) == (other.svm_type, type(other.kernel))
    # Version 3.24 of Debian rounds parameters to single precision.
    assert vars(mine.kernel) == pytest.approx(vars(other.kernel), rel=1e-7)
    assert np.array_equal(mine.labels, other.labels)
    np.testing.assert_allclose(mine.rho, other.rho, atol=1e-3, rtol=1e-3)
    f = values_of(other, files[name])
    np.testing.assert_allclose(values_of(mine, files[name]), f, atol=1e-3 * np.abs(f).max())


@pytest.mark.parametrize("case", TRAINING)
def test_models_are_exchanged_in_both_directions(case, files, ours, theirs, tmp_path):
    name, options = TRAINING[case]
    ours("svm-train", "-q", *options.split(), files[name], "ours.model")
    theirs("svm-train", "-q", *options.split(), files[name], "theirs.model")
    for model in ("ours.model", "theirs.model"):
        code, text, errors = ours("svm-predict", files[name], model, "ours.out")
        assert (code, errors) == (0, "")
        their_code, their_text, _ = theirs("svm-predict", files[name], model, "theirs.out")
        assert their_code == 0
        f = values_of(read_model(tmp_path / model), files[name])
        clear = np.abs(f).min(axis=1) > 1e-9  # support vectors of a one-class model lie on the boundary
        mine, other = np.loadtxt(tmp_path / "ours.out"), np.loadtxt(tmp_path / "theirs.out")
        np.testing.assert_allclose(mine[clear], other[clear], rtol=1e-9, atol=1e-9)
        if clear.all():
            assert_same_output(text, their_text, rel=1e-4, abs_=1e-4)


@pytest.mark.parametrize(
    ("name", "options"),
    [("two", "-v 5"), ("three", "-v 7 -c 3"), ("regression", "-s 3 -v 4"), ("two", "-s 2 -v 3 -n 0.3"),
     ("three", "-s 1 -v 5 -n 0.2"), ("kernel", "-t 4 -v 5 -c 0.1"), ("three", "-v 3 -b 1"), ("two", "-v 200 -c 4")],
)  # fmt: skip
def test_cross_validation_uses_the_same_folds(name, options, files, ours, theirs):
    code, text, _ = ours("svm-train", *options.split(), "-e", "1e-5", files[name])
    assert code == 0
    expected = theirs("svm-train", *options.split(), "-e", "1e-5", files[name])[1]
    assert_same_output(text, expected, rel=2e-3, abs_=2e-3)
    assert [line for line in text.splitlines() if "Accuracy" in line] == [
        line for line in expected.splitlines() if "Accuracy" in line
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [("two", "-b 1"), ("three", "-b 1 -c 3"), ("regression", "-s 3 -b 1"), ("three", "-s 1 -n 0.2 -b 1")],
)
def test_probabilities_are_the_same(name, options, files, ours, theirs, tmp_path):
    options = [*options.split(), "-e", "1e-5"]
    _, text, _ = ours("svm-train", *options, files[name], "ours.model")
    assert_same_output(text, theirs("svm-train", *options, files[name], "theirs.model")[1])
    mine, other = read_model(tmp_path / "ours.model"), read_model(tmp_path / "theirs.model")
    np.testing.assert_allclose(mine.prob_a, other.prob_a, rtol=1e-3)
    if mine.prob_b is not None:
        np.testing.assert_allclose(mine.prob_b, other.prob_b, atol=1e-3)
    for model in ("ours.model", "theirs.model"):
        _, text, _ = ours("svm-predict", "-b", 1, files[name], model, "ours.out")
        assert_same_output(text, theirs("svm-predict", "-b", 1, files[name], model, "theirs.out")[1])
        mine, other = ((tmp_path / file).read_text().splitlines() for file in ("ours.out", "theirs.out"))
        if name != "regression":
            assert mine[0] == other[0]
            mine, other = mine[1:], other[1:]
        # Before version 3.3, svm-predict computes probabilities of two classes by an iteration with tolerance 0.0025.
        np.testing.assert_allclose(np.loadtxt(mine), np.loadtxt(other), atol=5e-3 if name == "two" else 2e-4)


@pytest.mark.parametrize("options", ["", "-l 0", "-l 0 -u 5 -y -1 1", "-l -3 -u 0"])
@pytest.mark.parametrize("name", ["two", "three", "regression", "sparse"])
def test_scaling_is_identical(name, options, files, ours, theirs, tmp_path):
    path = files.get(name, tmp_path / "sparse")
    if name == "sparse":
        path.write_text("1 2:3 5:0.5\n-1 5:-2\n1 1:4 2:1 7:1e-7\n-1\n0.1 3:1\n")
    code, text, errors = ours("svm-scale", *options.split(), "-s", "ours.range", path)
    their_code, their_text, their_errors = theirs("svm-scale", *options.split(), "-s", "theirs.range", path)
    assert (code, text, errors) == (their_code, their_text, their_errors)
    assert (tmp_path / "ours.range").read_text() == (tmp_path / "theirs.range").read_text()
    other = tmp_path / "other"
    other.write_text("3 1:7 4:2 9:1\n-1 2:0.25 9:5\n")
    restored = ours("svm-scale", "-r", "theirs.range", other)
    expected = theirs("svm-scale", "-r", "ours.range", other)
    assert restored[:2] == expected[:2]
    assert ("feature index 9" in restored[2]) == ("feature index 9" in expected[2])
