"""Options, errors and exit codes of the LIBSVM commands."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from hinge.calibration import density_marks
from hinge.cli.libsvm.folds import CRandom, group_classes
from hinge.cli.libsvm.options import parse_train
from hinge.cli.libsvm.procedure import LOG2_COSTS, LOG2_GAMMAS, best_point, grid_order
from hinge.io.libsvm import load_libsvm
from hinge.io.libsvm_models.text import read_model


def test_random_numbers_are_those_of_the_c_library():
    random = CRandom()
    assert [random() for _ in range(5)] == [1804289383, 846930886, 1681692777, 1714636915, 1957747793]


def test_classes_are_ordered_by_first_appearance_except_for_minus_one_and_one():
    assert group_classes(np.array([3.0, 1.0, 3.0, 2.0]))[0] == [3, 1, 2]
    assert group_classes(np.array([-1.0, 1.0]))[0] == [1, -1]
    assert group_classes(np.array([1.0, -1.0]))[0] == [1, -1]


def test_default_model_file_is_in_the_current_directory(files, ours, tmp_path):
    assert ours("svm-train", files["two"])[0] == 0
    assert (tmp_path / "two.model").exists()


def test_options_are_parsed():
    text = "-s 3 -t 1 -d 2 -g .5 -r 1 -c 7 -n .2 -p .3 -m 50 -e 1e-4 -h 0 -b 1 -w-1 3 -q x m"
    options = parse_train(text.split())
    assert (options.svm_type, options.kernel_type) == ("epsilon_svr", "polynomial")
    assert (options.degree, options.gamma) == (2, 0.5)
    assert (options.coef0, options.cost, options.nu, options.epsilon) == (1, 7, 0.2, 0.3)
    assert (options.cache_size, options.tol, options.shrinking, options.probability) == (50, 1e-4, 0, 1)
    assert (options.weights, options.quiet, options.data_file, options.model_file) == ([(-1, 3.0)], True, "x", "m")


def test_quiet_training_prints_nothing(files, ours):
    assert ours("svm-train", "-q", files["three"], "m") == (0, "", "")
    assert ours("svm-predict", "-q", files["three"], "m", "o") == (0, "", "")


@pytest.mark.parametrize("name", ["svm-train", "svm-predict", "svm-scale", "svm-easy"])
def test_missing_arguments_print_the_usage(name, ours):
    code, text, _ = ours(name)
    assert code == 1
    assert text.startswith(f"Usage: hinge-{name.replace('svm-easy', 'easy')}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "9"], "unknown svm type"), (["-t", "5"], "unknown kernel type"), (["-c", "0"], "C <= 0"),
        (["-g", "-1"], "gamma < 0"), (["-s", "1", "-n", "2"], "nu <= 0 or nu > 1"), (["-e", "0"], "eps <= 0"),
        (["-m", "0"], "cache_size <= 0"), (["-h", "2"], "shrinking"), (["-b", "2"], "probability"),
        (["-d", "-1"], "degree"), (["-s", "3", "-p", "-1"], "p < 0"), (["-c", "much"], "'much' is not a number"),
        (["-d", "2.5"], "'2.5' is not an integer"), (["-v", "1"], "n must >= 2"), (["-z", "1"], "Unknown option: -z"),
        (["-s", "1", "-n", "1"], "specified nu is infeasible"),
    ],
)  # fmt: skip
def test_invalid_options_are_reported(arguments, message, files, ours, tmp_path):
    code, _, errors = ours("svm-train", *arguments, files["three"], "m")
    assert code == 1
    assert message in errors
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n2 1:a\n", "bad, line 2"), ("1 1:2\nx 1:2\n", "bad, line 2"), ("1 2:1 1:2\n", "bad, line 1"),
        ("1 0:1\n", "bad, line 1"), ("1 1:nan\n", "bad, line 1"), ("", "no samples"),
    ],
)  # fmt: skip
def test_malformed_data_are_reported_with_file_and_line(text, message, ours, tmp_path):
    (tmp_path / "bad").write_text(text)
    code, _, errors = ours("svm-train", "bad", "m")
    assert code == 1
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("text", "message"), [("1 1:2\n", "0:sample_serial_number"), ("1 0:5 1:2\n", "out of range")]
)
def test_malformed_precomputed_kernels_are_reported(text, message, ours, tmp_path):
    (tmp_path / "bad").write_text(text)
    code, _, errors = ours("svm-train", "-t", 4, "bad", "m")
    assert code == 1
    assert message in errors


def test_missing_files_and_directories_are_reported(files, ours):
    assert ours("svm-train", "nothing", "m")[::2] == (1, "can't open input file nothing: No such file or directory\n")
    code, _, errors = ours("svm-train", "-q", files["two"], "no/such/model")
    assert (code, errors) == (1, "can't save model to file no/such/model: No such file or directory\n")
    assert "can't open model file nothing" in ours("svm-predict", files["two"], "nothing", "o")[2]
    ours("svm-train", "-q", files["two"], "m")
    assert "can't open output file no/o" in ours("svm-predict", files["two"], "m", "no/o")[2]
    assert "does not support probability estimates" in ours("svm-predict", "-b", 1, files["two"], "m", "o")[2]
    assert "can't open file nothing" in ours("svm-scale", "nothing")[2]
    assert "can't open file nothing" in ours("svm-scale", "-r", "nothing", files["two"])[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [("z\n", "line 1"), ("x\n1\n", "line 2"), ("x\n0 1\n1 a 2\n", "line 3"), ("x\n0 1\n0 1 2\n", "line 3")],
)
def test_malformed_range_files_are_reported_with_file_and_line(text, message, files, ours, tmp_path):
    (tmp_path / "bad").write_text(text)
    code, out, errors = ours("svm-scale", "-r", "bad", files["two"])
    assert (code, out) == (1, "")
    assert f"bad, {message}" in errors


def test_contradictory_scaling_options_are_refused(files, ours):
    assert ours("svm-scale", "-l", 2, "-u", 1, files["two"])[::2] == (1, "inconsistent lower/upper specification\n")
    assert ours("svm-scale", "-r", "a", "-s", "b", files["two"])[::2] == (1, "cannot use -r and -s simultaneously\n")


def test_one_class_of_labels_gives_a_constant_classifier(ours, tmp_path):
    (tmp_path / "data").write_text("4 1:1\n4 1:2\n")
    code, text, _ = ours("svm-train", "data", "m")
    assert code == 0
    assert "training data in only one class" in text
    assert ours("svm-predict", "data", "m", "o")[1] == "Accuracy = 100% (2/2) (classification)\n"


def test_unknown_class_in_weights_is_a_warning(files, ours):
    code, _, errors = ours("svm-train", "-q", "-w99", 2, files["two"], "m")
    assert (code, errors) == (0, "WARNING: class label 99 specified in weight is not found\n")


def test_test_data_may_have_other_features_than_the_model(ours, tmp_path):
    (tmp_path / "train").write_text("1 1:1 3:2\n-1 1:-1\n1 3:1\n-1 1:-2\n")
    ours("svm-train", "-q", "-g", 0.5, "train", "m")
    (tmp_path / "wide").write_text("1 1:1 3:2 9:5\n")
    (tmp_path / "narrow").write_text("-1 1:-1\n")
    assert ours("svm-predict", "wide", "m", "o")[0] == 0
    assert "100%" in ours("svm-predict", "narrow", "m", "o")[1]


def test_output_may_be_a_device(files, ours):
    ours("svm-train", "-q", files["two"], "m")
    assert ours("svm-predict", "-q", files["two"], "m", "/dev/null") == (0, "", "")


def test_one_class_probabilities_are_those_of_libsvm(files, ours, tmp_path):
    svmutil = pytest.importorskip("libsvm.svmutil")
    ours("svm-train", "-q", "-s", 2, "-b", 1, "-n", 0.3, "-e", "1e-6", files["two"], "m")
    y, x = svmutil.svm_read_problem(str(files["two"]))
    theirs = svmutil.svm_train(y, x, "-s 2 -b 1 -n 0.3 -e 1e-6 -q")
    svmutil.svm_save_model(str(tmp_path / "theirs"), theirs)
    # The marks depend on the signs of decision values next to zero: compare them for the same decision values.
    _, _, values = svmutil.svm_predict(y, x, theirs, "-b 0 -q")
    np.testing.assert_allclose(density_marks(np.ravel(values)), read_model(tmp_path / "theirs").density_marks)
    assert read_model(tmp_path / "m").has_probabilities
    _, _, expected = svmutil.svm_predict(y, x, svmutil.svm_load_model(str(tmp_path / "m")), "-b 1 -q")
    ours("svm-predict", "-b", 1, files["two"], "m", "o")
    lines = (tmp_path / "o").read_text().splitlines()
    assert lines[0] == "labels normal outlier"
    model = read_model(tmp_path / "m")
    f = model.decision_values(load_libsvm(files["two"])[0].toarray())
    clear = np.abs(f - model.density_marks).min(axis=1) > 1e-9  # rounding decides on which side of a mark others lie
    np.testing.assert_allclose(np.loadtxt(lines[1:])[clear, 1:], np.array(expected)[clear], atol=1e-6)


class TestEasy:
    def test_grid_contains_every_point_once(self):
        assert sorted(grid_order()) == sorted((c, g) for c in LOG2_COSTS for g in LOG2_GAMMAS)

    def test_smaller_cost_wins_with_equal_rates_and_gamma(self):
        rates = dict.fromkeys(grid_order(), 50.0)
        first = grid_order()[0]
        assert best_point(rates)[1] == first[1]
        assert best_point(rates)[0] == min(LOG2_COSTS)

    def test_procedure_chooses_trains_and_predicts(self, files, ours, tmp_path, monkeypatch):
        monkeypatch.setattr("hinge.cli.libsvm.procedure.LOG2_COSTS", (-1, 1, 3))
        monkeypatch.setattr("hinge.cli.libsvm.procedure.LOG2_GAMMAS", (1, -1, -3))
        code, text, _ = ours("svm-easy", files["three"], files["three"])
        assert code == 0
        assert "Best c=" in text
        assert "Output prediction: three.predict" in text
        for name in ("three.range", "three.scale", "three.scale.out", "three.model", "three.predict"):
            assert (tmp_path / name).exists()
        best = float(text.split("CV rate=")[1].split()[0])
        rates = [float(line.split("rate=")[1]) for line in (tmp_path / "three.scale.out").read_text().splitlines()]
        assert len(rates) == 9
        assert best == max(rates)


def start(module, *arguments, **options):
    command = [sys.executable, "-m", f"hinge.cli.libsvm.{module}", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_broken_pipe_is_reported_without_traceback(files):
    process = start("scale", files["two"])
    process.stdout.close()  # before the first line is written
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1
    assert errors.splitlines()[-1:] == ["hinge-svm-scale: the program that reads the output has ended"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_full_disk_is_reported(files, tmp_path):
    process = start("train", "-q", files["two"], "/dev/full", cwd=tmp_path)
    assert process.communicate()[1] == "can't save model to file /dev/full: No space left on device\n"
    assert process.returncode == 1
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "hinge.cli.libsvm.scale", str(files["two"])]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_interrupt_leaves_no_file(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 10)), rng.choice([-1, 1], size=6000)
    data = tmp_path / "data"
    rows = (" ".join(f"{k}:{v:.4f}" for k, v in enumerate(row, 1)) for row in X)
    data.write_text("".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True)))
    process = start("train", "-c", 1e6, "-g", 0.01, "-e", 1e-9, data, tmp_path / "m", cwd=tmp_path)
    maps = pathlib.Path(f"/proc/{process.pid}/maps")
    while "hinge/_core" not in maps.read_text():  # until the numerical libraries are loaded
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "hinge-svm-train: interrupted\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


@pytest.mark.parametrize("module", ["train", "predict", "scale", "easy"])
def test_commands_start_without_numerical_libraries_and_run_without_scikit_learn(module):
    code = (
        f"import sys, hinge.cli.libsvm.{module}; print([n for n in ('numpy', 'scipy') if n in sys.modules]);"
        "import hinge.cli.libsvm.procedure;"
        "print([n for n in ('sklearn', 'joblib', 'scipy.optimize', 'hinge.estimators') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]
