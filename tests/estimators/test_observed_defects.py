"""Fits that did not terminate, or returned decision values that are not finite, in earlier versions."""

import numpy as np
import pytest

from hinge import ParzenClassifier, Status, TransductiveSVC
from reference.termination import output_of


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_ranking_with_an_indefinite_matrix_terminates(loss):
    """With a status, or with an error that names the matrix."""
    (outcome,) = output_of(
        f"""
        import numpy as np
        from hinge import RankingSVM
        rng = np.random.default_rng(0)
        G = rng.normal(size=(20, 20))
        model = RankingSVM(kernel="precomputed", loss="{loss}")
        try:
            print(int(model.fit((G + G.T) / 2, rng.integers(0, 3, 20)).status_))
        except ValueError as error:
            print("ValueError" if "definite" in str(error) else repr(error).replace(" ", "_"))
        """
    )
    assert outcome == "ValueError" or Status(int(outcome)) is not Status.SOLVED


#: Data whose rounding errors prevent progress: a linear program in which HiGHS cycled, and two descents.
STALLING_FITS = {
    "lp": """
        z = rng.normal(size=40)
        model = hinge.LPSVR(C=3e7, epsilon=0.0, kernel="linear").fit((28656672.1316 + 7e-4 * z)[:, None], 1.6 * z)
        """,
    "huber": """
        X, y = 38852947.5 + 1.2 * rng.normal(size=(31, 5)), 5e-7 * rng.normal(size=31)
        model = hinge.SVR(C=0.136, epsilon=1e-6, kernel="linear", loss="huber", sigma=3.35, tol=1.2e-7,
                          solver="coordinate_descent").fit(X, y)
        """,
    "modified_huber": """
        X, y = 2e4 * rng.normal(size=(20, 4)), np.arange(20) % 2
        model = hinge.SVC(C=4e5, kernel="linear", loss="modified_huber", solver="coordinate_descent").fit(X, y)
        """,
}


@pytest.mark.parametrize(("name", "seed"), [("lp", 0), ("huber", 1), ("huber", 4), ("modified_huber", 0)])
def test_fits_without_progress_terminate(name, seed):
    start = f"""
        import numpy as np, time
        import hinge
        for estimator in (hinge.LPSVR(), hinge.SVR(kernel="linear"), hinge.SVC(kernel="linear")):
            estimator.fit([[0.0], [1.0]], [0, 1])  # imports modules, which is not measured
        rng = np.random.default_rng({seed})
        began = time.process_time()"""
    status, seconds = output_of(start + STALLING_FITS[name] + "print(int(model.status_), time.process_time() - began)")
    assert Status(int(status)) is Status.NUMERICAL
    assert float(seconds) < 2.0


@pytest.mark.parametrize("estimator", [TransductiveSVC, ParzenClassifier])
def test_kernel_values_that_overflow_in_single_precision_are_rejected(estimator):
    """Paths are computed in double precision, but predictions in the precision of the samples."""
    rng = np.random.default_rng(0)
    X = (2e6 * rng.normal(size=(20, 3))).astype(np.float32)
    model = estimator(kernel="poly", gamma=1.0, degree=3)
    with pytest.raises(ValueError, match="overflow in single precision"):
        model.fit(X, np.arange(20) % 2)
    model.fit(X.astype(np.float64), np.arange(20) % 2)
    assert np.isfinite(model.decision_function(X.astype(np.float64))).all()


def test_ranking_ends_if_the_primal_and_the_dual_point_agree_before_the_gap_is_small():
    """The gap of the pair (w, α) is exactly zero, that of α alone is not: the smoothed kink becomes narrower."""
    (status,) = output_of(
        """
        import scipy.sparse as sp
        from hinge import RankingSVM
        X = [-768.5604808920679, 0.0, -653.8228576025244, 127.63750257691628, 255.04536487409362]
        X = sp.csr_matrix([*X, -768.5604808920679, 0.0, 0.0, 25.717435390497034, 255.04536487409362]).T
        y = [0, 2, 0, 1, 1, 0, 0, 1, 2, 2]
        print(int(RankingSVM(C=952320.0, tol=3.0156360148669846e-07, weighting="gain").fit(X, y).status_))
        """
    )
    assert Status(int(status)) in (Status.SOLVED, Status.NUMERICAL)
