"""Model files of LIBSVM and LIBLINEAR: round trips, predictions of both libraries, certificates of loaded models."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hinge
from hinge.io import ModelFileError, load, load_libsvm_model, save, save_libsvm_model
from hinge.io.libsvm_models.text import read_model
from hinge.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid

KERNELS = (Linear(), Polynomial(3, 0.2, 1.0), RBF(0.3), Sigmoid(0.1, 0.2))
KERNEL_MODELS = {
    "SVC": dict(C=2.0),
    "NuSVC": dict(nu=0.2),
    "SVR": dict(C=2.0, epsilon=0.01),
    "NuSVR": dict(C=2.0, nu=0.3),
    "OneClassSVM": dict(nu=0.3),
    "IncrementalSVC": dict(C=2.0),
    "IncrementalSVR": dict(C=2.0, epsilon=0.01),
    "IncrementalOneClassSVM": dict(nu=0.3),
}
LOADED_AS = {"IncrementalSVC": "SVC", "IncrementalSVR": "SVR", "IncrementalOneClassSVM": "OneClassSVM"}
LINEAR_MODELS = {
    "LinearSVC": (
        dict(),
        dict(loss="hinge", penalize_intercept=True, intercept_scaling=2.0),
        dict(fit_intercept=False),
        dict(multi_class="crammer_singer", penalize_intercept=True),
    ),
    "LinearSVR": (dict(), dict(loss="squared_epsilon_insensitive", fit_intercept=False)),
    "LinearOneClassSVM": (dict(nu=0.3),),
}


def samples(seed=0, n=40, d=3, n_classes=3):
    random = np.random.default_rng(seed)
    labels = np.array([7, -2, 4, 1])[:n_classes]
    y = labels[np.arange(n) % n_classes]
    return random.normal(size=(n, d)) + 0.3 * y[:, None], y, random.normal(size=n)


def fitted(name, X, y, t, **parameters):
    model = getattr(hinge, name)(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "OneClass" in name:
            return model.fit(X)
        return model.fit(X, t if name.endswith("SVR") else y)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("name", KERNEL_MODELS)
@settings(max_examples=10)
@given(data=st.data())
def test_kernel_models_are_read_back_exactly(name, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m"
    seed, n_classes = data.draw(st.integers(0, 1000)), data.draw(st.integers(2, 4))
    X, y, t = samples(seed, n_classes=n_classes)
    kernels = [k for k in KERNELS if k.psd or not name.startswith("Incremental")]
    model = fitted(name, X, y, t, kernel=data.draw(st.sampled_from(kernels)), **KERNEL_MODELS[name])
    save_libsvm_model(model, path)
    loaded = load_libsvm_model(path)
    assert type(loaded).__name__ == LOADED_AS.get(name, name)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.allclose(values(loaded, X), values(model, X), rtol=1e-12, atol=1e-12)
    assert np.array_equal(loaded.predict(sparse.csr_matrix(X)), model.predict(X))


@pytest.mark.parametrize("name", KERNEL_MODELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_certificate_of_a_loaded_model_is_that_of_the_saved_one(name, n_classes, tmp_path):
    X, y, t = samples(n_classes=n_classes)
    model = fitted(name, X, y, t, kernel=RBF(0.3), **KERNEL_MODELS[name])
    save_libsvm_model(model, tmp_path / "m")
    target = None if "OneClass" in name else t if name.endswith("SVR") else y
    loaded = load_libsvm_model(tmp_path / "m", X, target, **KERNEL_MODELS[name])
    expected, found = model.certify(X, target), loaded.certify(X, target)
    assert found.dual == pytest.approx(expected.dual, rel=1e-9)
    assert found.primal == pytest.approx(expected.primal, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, cases in LINEAR_MODELS.items() for options in cases]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_models_are_read_back_and_certified(name, options, n_classes, tmp_path):
    X, y, t = samples(n_classes=n_classes)
    X = X + 3 if name == "LinearOneClassSVM" else X
    model = fitted(name, X, y, t, **options)
    save_libsvm_model(model, tmp_path / "m")
    target = None if name == "LinearOneClassSVM" else t if name.endswith("SVR") else y
    given = options
    if name != "LinearOneClassSVM":
        given = dict(penalize_intercept=options.get("penalize_intercept", False))
    loaded = load_libsvm_model(tmp_path / "m", X, target, **given)
    assert type(loaded) is type(model)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.allclose(values(loaded, X), values(model, X), rtol=1e-12, atol=1e-13)
    assert loaded.certify(X, target).primal == pytest.approx(model.certify(X, target).primal, rel=1e-9)
    assert loaded.certify(X, target).relative_gap <= 1e-3


def test_precomputed_kernel_is_loaded_and_certified(tmp_path):
    X, y, _ = samples()
    K = X @ X.T
    model = hinge.SVC(kernel="precomputed", C=0.5).fit(K, y)
    save_libsvm_model(model, tmp_path / "m")
    loaded = load_libsvm_model(tmp_path / "m", K, y, C=0.5)
    assert isinstance(loaded.model_.kernel, Precomputed)
    assert np.array_equal(loaded.predict(K), model.predict(K))
    assert loaded.certify(K, y).gap == pytest.approx(model.certify(K, y).gap, rel=1e-6)


def test_class_weights_are_part_of_the_certificate(tmp_path):
    X, y, _ = samples()
    options = dict(C=0.5, class_weight={7: 3.0, -2: 0.5})
    model = hinge.SVC(**options, gamma=0.3, tol=1e-6).fit(X, y)
    save_libsvm_model(model, tmp_path / "m")
    loaded = load_libsvm_model(tmp_path / "m", X, y, **options)
    assert loaded.certify(X, y).gap == pytest.approx(model.certify(X, y).gap, rel=1e-3, abs=1e-9)


def test_low_rank_models_share_basis_functions(tmp_path):
    X, y, _ = samples(n=80)
    model = hinge.SVC(solver="low_rank_interior_point", gamma=0.1).fit(X, y)
    save_libsvm_model(model, tmp_path / "m")
    assert np.array_equal(load_libsvm_model(tmp_path / "m").predict(X), model.predict(X))


def test_equal_samples_with_different_targets_are_told_apart(tmp_path):
    X = np.repeat(np.arange(6.0)[:, None], 5, axis=0)
    y = np.sin(X[:, 0]) + np.tile([0.0, 3.0, -3.0, 0.05, 1.0], 6)
    model = hinge.SVR(C=2.0, epsilon=0.1, gamma=1.0, tol=1e-8).fit(X, y)
    save_libsvm_model(model, tmp_path / "m")
    order = np.random.default_rng(0).permutation(len(y))
    loaded = load_libsvm_model(tmp_path / "m", X[order], y[order], C=2.0)
    assert loaded.certify(X[order], y[order]).relative_gap < 1e-6


def test_loaded_model_becomes_a_model_file_of_hinge(tmp_path):
    X, y, _ = samples()
    save_libsvm_model(hinge.SVC(gamma=0.3).fit(X, y), tmp_path / "m")
    hinge.save(load_libsvm_model(tmp_path / "m", X, y), tmp_path / "m.hinge")
    loaded = hinge.load(tmp_path / "m.hinge")
    assert loaded.certify(X, y).relative_gap < 1e-2
    save_libsvm_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


class TestErrors:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (("svm_type c_svc", "svm_type magic"), "line 1"),
            (("gamma 0.3", "gamma x"), "line 3"),
            (("total_sv", "total"), "line 5"),
            (("SV\n", "SW\n"), "'SW' is not a key"),
            (("label", "level"), "'level' is not a key"),
        ],
    )
    def test_malformed_lines_are_reported(self, tmp_path, change, message):
        X, y, _ = samples(n_classes=2)
        save_libsvm_model(hinge.SVC(gamma=0.3).fit(X, y), tmp_path / "m")
        text = (tmp_path / "m").read_text()
        (tmp_path / "bad").write_text(text.replace("gamma 0.29999999999999999", "gamma 0.3").replace(*change, 1))
        with pytest.raises(ModelFileError, match=message) as error:
            load_libsvm_model(tmp_path / "bad")
        assert str(tmp_path / "bad") in str(error.value)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("solver_type L2R_LR\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\nw\n1\n", "no estimator for L2R_LR"),
            ("solver_type MCSVM_CS\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\nw\n1\n", "line 7: 2 weights"),
            ("solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 1\nnr_feature 1\nbias -1\nw\n1\n", "line 3"),
            ("solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 2\nnr_feature 2\nbias -1\nw\n1\n", "2 lines of weights"),
            ("solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\nw\nnan\n", "line 7"),
            ("solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 2\nnr_feature 1\nbias -1\n", "'w' is missing"),
            ("something else", "line 1"),
            ("", "line 1"),
        ],
    )
    def test_malformed_linear_models_are_reported(self, tmp_path, text, message):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(ModelFileError, match=message):
            load_libsvm_model(tmp_path / "bad")

    def test_models_that_the_formats_cannot_hold(self, tmp_path):
        X, y, t = samples()
        cases = [
            (hinge.SVC(kernel="laplacian").fit(X, y), "kernel"),
            (hinge.SVC().fit(X, y.astype(str)), "integers of 32 bits"),
            (hinge.LinearSVC().fit(X, y + 2.0**40), "integers of 32 bits"),
            (make_pipeline(StandardScaler(), hinge.SVR()).fit(X, t), "Pipeline"),
            (hinge.LPSVR().fit(X, t), "LPSVR"),
        ]
        for model, message in cases:
            with pytest.raises(TypeError, match=message):
                save_libsvm_model(model, tmp_path / "m")
        assert not (tmp_path / "m").exists()

    def test_other_training_data_and_parameters_are_errors(self, tmp_path):
        X, y, t = samples()
        save_libsvm_model(hinge.SVC(C=5.0, gamma=0.3).fit(X, y), tmp_path / "m")
        with pytest.raises(ValueError, match="is not among the samples"):
            load_libsvm_model(tmp_path / "m", X + 0.1, y, C=5.0)
        with pytest.raises(ValueError, match="C=1 is not the value"):
            load_libsvm_model(tmp_path / "m", X, y)
        with pytest.raises(ValueError, match="one label per sample"):
            load_libsvm_model(tmp_path / "m", X, y[:3], C=5.0)
        with pytest.raises(ValueError, match=r"load_libsvm_model\(path, X, y\)"):
            load_libsvm_model(tmp_path / "m").certify(X, y)
        with pytest.raises(TypeError, match="nu"):
            load_libsvm_model(tmp_path / "m", nu=0.5)
        save_libsvm_model(hinge.OneClassSVM(nu=0.25, gamma=0.3).fit(X), tmp_path / "o")
        with pytest.raises(ValueError, match=r"pass nu=0\.25"):
            load_libsvm_model(tmp_path / "o", X)
        save_libsvm_model(hinge.LinearSVR().fit(X, t), tmp_path / "l")
        with pytest.raises(ValueError, match=r"load_libsvm_model\(path, X, y\)"):
            load_libsvm_model(tmp_path / "l").certify(X, t)

    @pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
    def test_certify_needs_the_positions_of_the_support_vectors(self, tmp_path, kernel):
        """Also if the number of samples is that of the support vectors: the file has another order of the samples."""
        X, y, _ = samples()
        K = X @ X.T if kernel == "precomputed" else X
        fitted = hinge.SVC(C=1e-3, kernel=kernel).fit(K, y)
        save_libsvm_model(fitted, tmp_path / "m")
        loaded = load_libsvm_model(tmp_path / "m", C=1e-3)
        rows = np.arange(len(y)) if kernel == "precomputed" else fitted.support_
        for part in (np.arange(len(y)), rows):
            with pytest.raises(ValueError, match=r"load_libsvm_model\(path, X, y\)"):
                loaded.certify(K[part], y[part])
        hinge.save(loaded, tmp_path / "m.hinge")
        with pytest.raises(ValueError, match=r"load_libsvm_model\(path, X, y\)"):
            hinge.load(tmp_path / "m.hinge").certify(K, y)
        assert loaded.fit(K, y).certify(K, y).gap == pytest.approx(fitted.certify(K, y).gap)
        completed = load_libsvm_model(tmp_path / "m", K, y, C=1e-3)
        hinge.save(completed, tmp_path / "m.hinge")
        assert hinge.load(tmp_path / "m.hinge").certify(K, y).primal == pytest.approx(fitted.certify(K, y).primal)


class TestOtherLibraries:
    """Models of libsvm-official and liblinear-official, in both directions."""

    @pytest.mark.parametrize(
        ("kind", "parameters"),
        [(0, dict(C=3.0)), (1, dict(nu=0.5)), (2, dict(nu=0.2)), (3, dict(C=2.0, epsilon=0.05)),
         (4, dict(C=2.0, nu=0.4))],
    )  # fmt: skip
    @pytest.mark.parametrize("kernel", [0, 1, 2, 3])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_libsvm(self, kind, parameters, kernel, n_classes, tmp_path):
        svmutil = pytest.importorskip("libsvm.svmutil")
        X, y, t = samples(n=90, n_classes=n_classes)
        X = np.round(X, 4)  # LIBSVM writes eight digits
        target, gamma = y if kind < 2 else t, 0.01 if kernel == 3 else 0.1
        options = {"C": "c", "nu": "n", "epsilon": "p"}
        text = " ".join(f"-{options[key]} {value}" for key, value in parameters.items())
        text += f" -s {kind} -t {kernel} -g {gamma} -r 0.5 -d 2 -e 1e-6 -q"
        theirs = svmutil.svm_train(target.tolist(), X, text)
        svmutil.svm_save_model(str(tmp_path / "m"), theirs)
        model = load_libsvm_model(tmp_path / "m", X, target, **parameters)
        if n_classes == 2 or kind >= 2:
            _, _, f = svmutil.svm_predict(target.tolist(), X, theirs, "-q")
            sign = -1.0 if kind < 2 and theirs.get_labels()[0] == model.classes_[0] else 1.0
            assert np.allclose(sign * np.ravel(f), values(model, X), rtol=1e-9, atol=1e-6)
        certificate = model.certify(X, target)
        assert certificate.kkt_violation < 1e-4
        assert certificate.infeasibility < 1e-6
        save_libsvm_model(model, tmp_path / "again")
        back = svmutil.svm_load_model(str(tmp_path / "again"))
        # not svm_predict of svmutil, which has a buffer of one value for ν-SVC and crashes with several classes
        nodes = [svmutil.gen_svm_nodearray(row.tolist(), isKernel=False)[0] for row in X]
        labels = [svmutil.libsvm.svm_predict(back, node) for node in nodes]
        clear = np.abs(values(model, X)) > 1e-9 if kind == 2 else slice(None)
        assert np.allclose(np.array(labels)[clear], model.predict(X)[clear], rtol=1e-12)

    def test_nu_below_its_smallest_admissible_value_is_reported(self, tmp_path):
        svmutil = pytest.importorskip("libsvm.svmutil")
        X, y, _ = samples(n=90)
        X = np.round(X, 4)
        theirs = svmutil.svm_train(y.tolist(), X, "-s 1 -t 1 -g 0.1 -r 0.5 -d 2 -n 0.2 -e 1e-6 -q")
        svmutil.svm_save_model(str(tmp_path / "m"), theirs)
        with pytest.raises(ValueError, match="smallest admissible value"):
            load_libsvm_model(tmp_path / "m", X, y, nu=0.2)

    @pytest.mark.parametrize("kind", [1, 2, 3, 4, 11, 12, 13, 21])
    @pytest.mark.parametrize("bias", [-1, 2.5])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_liblinear(self, kind, bias, n_classes, tmp_path):
        linear = pytest.importorskip("liblinear.liblinearutil")
        X, y, t = samples(n=90, n_classes=n_classes)
        X = X + 3 if kind == 21 else X
        target, y = (t, t) if kind > 10 else (y, y)
        options, parameters = ("-n 0.3", dict(nu=0.3)) if kind == 21 else ("-c 2", dict(C=2.0))
        bias = -1 if kind == 21 else bias
        parameters |= dict(epsilon=0.1) if 10 < kind < 21 else {}
        theirs = linear.train(y.tolist(), X, f"-s {kind} -B {bias} -e 1e-6 -p 0.1 {options} -q")
        linear.save_model(str(tmp_path / "m"), theirs)
        model = load_libsvm_model(tmp_path / "m", X, None if kind == 21 else target, **parameters)
        expected, _, _ = linear.predict(y.tolist(), X, theirs, "-q")
        clear = np.abs(values(model, X)) > 1e-6 if kind == 21 else slice(None)
        assert np.allclose(np.array(expected)[clear], model.predict(X)[clear], rtol=1e-12)
        assert model.certify(X, None if kind == 21 else target).relative_gap < 0.05
        save_libsvm_model(model, tmp_path / "again")
        labels, _, _ = linear.predict(y.tolist(), X, linear.load_model(str(tmp_path / "again")), "-q")
        assert np.allclose(np.array(labels)[clear], model.predict(X)[clear], rtol=1e-12)


@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_probabilities_survive_and_mean_the_same_in_libsvm(name, n_classes, tmp_path):
    X, y, t = samples(n=120, n_classes=n_classes)
    model = fitted(name, X, y, t, probability=True, **KERNEL_MODELS[name])
    save_libsvm_model(model, tmp_path / "m")
    loaded = load_libsvm_model(tmp_path / "m")
    assert np.allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-10, atol=1e-12)
    assert np.allclose(loaded.probA_, model.probA_)
    assert np.allclose(loaded.probB_, model.probB_)
    save(loaded, tmp_path / "m.hinge")
    assert np.array_equal(load(tmp_path / "m.hinge").predict_proba(X), loaded.predict_proba(X))
    record = read_model(tmp_path / "m", X.shape[1])
    theirs = record.probabilities(record.decision_values(X))[:, np.argsort(record.labels)]
    agrees = theirs.argmax(axis=1) == model.predict_proba(X).argmax(axis=1)  # hinge's largest is that of `predict`
    assert agrees.mean() > 0.8
    assert np.allclose(theirs[agrees], model.predict_proba(X)[agrees], atol=1e-10 if n_classes == 2 else 0.02)


def test_files_with_and_without_probabilities_have_or_lack_the_methods(tmp_path):
    X, y, t = samples()
    save_libsvm_model(fitted("SVC", X, y, t), tmp_path / "m")
    assert not hasattr(load_libsvm_model(tmp_path / "m"), "predict_proba")
    model = fitted("SVC", X, y, t, probability=True)
    model.set_params(probability=False).fit(X, y)
    save_libsvm_model(model, tmp_path / "m")
    assert b"probA" not in (tmp_path / "m").read_bytes()
