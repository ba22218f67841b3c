"""Bounds, statuses and time limits of random fits, compared with exact arithmetic.

benchmarks/certificates/fuzz.py runs the same comparison at length.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import hinge
from hinge.estimators.common import reduced_model
from hinge.estimators.low_rank import classification
from reference.exact import false_bounds, optima
from reference.fuzz import ESTIMATORS, judge, random_case

#: Cases that failed in earlier versions.
EARLIER_FAILURES = {
    "false bounds with an approximate kernel matrix": [("SVC", 6940), ("SVR", 11589), ("NuSVC", 6327)],
    "false bounds with a stored kernel matrix": [("RankingSVM", 7029), ("RankingSVM", 14463), ("RankingSVM", 6397)],
    "NaN in the error of a kernel value that underflows": [("LowRankSVC", 12184), ("LowRankSVC", 12323), ("SVC", 5262)],
    "SOLVED with a large violation": [("IncrementalSVC", 2265), ("IncrementalSVR", 1387), ("LinearSVC", 705)],
    "relative gap of an optimum that is not zero": [("RankingSVM", 277), ("IncrementalSVC", 2731)],
    "no result": [("RankingSVM", 30), ("RankingSVM", 472), ("RankingSVM", 1508)],
    "no certificate with weights of zero": [("IncrementalOneClassSVM", 1), ("IncrementalOneClassSVM", 6)],
    "errors of kernel values missing in linear programs": [("LPSVC", 203), ("LPSVC", 529), ("LPSVR", 998)],
    "no model at the time limit": [("LPSVR", 6303), ("LPSVC", 13720)],
    "SOLVED with a gap of rounding errors and a large violation": [(None, 210049), (None, 212909)],
    "no end": [(None, 53789), (None, 62792), (None, 66545)],
}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_random_fits_report_true_bounds_and_statuses(estimator):
    for seed in range(100, 106):
        assert judge(random_case(seed, estimator)).failures == []


@pytest.mark.parametrize(
    ("estimator", "seed"), [case for cases in EARLIER_FAILURES.values() for case in cases], ids=lambda v: str(v)
)
def test_cases_that_failed(estimator, seed):
    assert judge(random_case(seed, estimator)).failures == []


rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1, -1)
TARGET = X[:, 0] + 0.3 * rng.normal(size=40)


class TestReducedBasis:
    """Models with few basis functions: the bounds hold for the kernel itself."""

    models = pytest.mark.parametrize(
        ("model", "y"),
        [
            (hinge.SVC(gamma=0.5), Y),
            (hinge.SVC(gamma=0.5, loss="squared_hinge", C=100.0), Y),
            (hinge.SVC(gamma=0.5), np.digitize(X[:, 0], [-0.5, 0.5])),
            (hinge.SVR(kernel="laplacian", gamma=0.25, C=10.0), TARGET),
            (hinge.NuSVC(gamma=0.5, nu=0.25), Y),
            (hinge.NuSVR(gamma=0.5, nu=0.25), TARGET),
            (hinge.OneClassSVM(gamma=0.5, nu=0.25), None),
        ],
        ids=repr,
    )

    @models
    @pytest.mark.parametrize("rank", [3, 12, 40])
    @pytest.mark.parametrize("direct", [True, False], ids=["all kernel values", "distances"])
    def test_bounds_enclose_the_optimum(self, model, y, rank, direct, monkeypatch):
        if not direct:
            monkeypatch.setattr(reduced_model, "MAX_DIRECT_SAMPLES", 0)
            monkeypatch.setattr(reduced_model, "DIRECT_SAMPLES_PER_FUNCTION", 0)
        approximation = hinge.lowrank.SGMA(rank=rank, tol=0.0)
        solver = hinge.solvers.LowRankInteriorPoint(approximation=approximation, tol=1e-4)
        data = (X,) if y is None else (X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = model.set_params(solver=solver).fit(*data)
        optimum = optima(model, *data)
        for certificate in (model.certificate_, model.certify(*data)):
            assert false_bounds(certificate.dual, certificate.primal, optimum.low, optimum.high) == []
        if model.status_ is hinge.Status.SOLVED:
            assert model.approximation_.certificate.relative_gap <= 2e-4
        if rank == 40:
            assert model.certificate_.relative_gap <= 1e-3

    def test_a_large_gap_is_reported_with_the_rank_as_the_remedy(self):
        solver = hinge.solvers.LowRankInteriorPoint(approximation=hinge.lowrank.SGMA(rank=2))
        with pytest.warns(ConvergenceWarning, match=r"of rank 2: for a smaller gap use a larger rank"):
            hinge.SVC(gamma=2.0, C=100.0, solver=solver).fit(X, Y)

    def test_float32_kernel_values_are_compared_with_exact_ones(self, monkeypatch):
        """The certificate of few kernel values is computed from values in float64."""
        model = hinge.LowRankSVC(gamma=0.5, n_basis=10, tol=1e-3).fit(X, Y)
        optimum = optima(model, X, Y)
        certificate = model.certificate_
        assert false_bounds(certificate.dual, certificate.primal, optimum.low, optimum.high) == []
        monkeypatch.setattr(classification, "MAX_CERTIFIED_VALUES", 0)
        rough = hinge.LowRankSVC(gamma=0.5, n_basis=10, tol=1e-3).fit(X, Y).certificate_
        assert rough.primal == pytest.approx(certificate.primal, rel=1e-5)

