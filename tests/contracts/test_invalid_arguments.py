"""Invalid input for the methods of the papers raises an error that names the argument and the reason."""

import numpy as np
import pytest

import hinge
from hinge.kernels import RBF
from hinge.losses import Hinge, HuberizedHinge, Logistic, SmoothedHinge
from hinge.lowrank import SGMA, expand_values
from hinge.recipes import noise_tube
from hinge.selection import epsilon_for_noise, grid, nu_for_noise, nu_grid, nu_range, pairwise_grid
from hinge.solvers import SMO, Chunking, CoordinateDescent, Lagrangian, RegularizedRisk, WorkingSet, descend, explain

X, LABELS, TARGETS = np.arange(24.0).reshape(12, 2), np.arange(12) % 2, np.linspace(0, 1, 12)
NAN = np.where(np.arange(24).reshape(12, 2) == 3, np.nan, X)
SIGMOID = {"kernel": "sigmoid"}


def risk(**options):
    arguments = {"K": np.eye(3), "y": np.ones(3), "loss": Logistic(), "cost": np.ones(3), **options}
    return RegularizedRisk(**arguments)


CASES = {
    # SMO variants
    "rule": (lambda: SMO(rule="third"), "rule='third' must be one of"),
    "sticky": (lambda: SMO(sticky=-1), "sticky=-1"),
    "stop": (lambda: SMO(stop="never"), "stop='never'"),
    "tol of SMO": (lambda: SMO(tol=0.0), "tol=0"),
    "rule of WorkingSet": (lambda: WorkingSet(rule="random"), "rule='random'"),
    "size": (lambda: Chunking(size=-1), "size=-1"),
    # asymmetric costs and tubes
    "pair with a negative cost": (lambda: hinge.SVR(C=(1.0, -1.0)).fit(X, TARGETS), r"C\[1\]=-1"),
    "costs of another length": (lambda: hinge.SVR(C=np.ones((3, 2))).fit(X, TARGETS), r"C has shape \(3, 2\)"),
    "tube of another length": (lambda: hinge.SVR(epsilon=np.ones(3)).fit(X, TARGETS), r"epsilon has shape \(3,\)"),
    "no cost above": (lambda: hinge.LinearSVR(C=[[0.0, 1.0]] * 12).fit(X, TARGETS), "zero for all targets above"),
    "pair and another loss": (lambda: hinge.SVR(C=(1.0, 2.0), loss="huber").fit(X, TARGETS), "loss='huber'"),
    "side_weight": (lambda: hinge.IncrementalSVR().fit(X, TARGETS, side_weight=np.ones(12)), "side_weight has shape"),
    "costs in a grid": (lambda: grid(X, TARGETS, C=[np.ones(12)], estimator=hinge.SVR(), cv=2), "C must be a number"),
    "weights of a path": (
        lambda: hinge.weight_path(X, TARGETS, np.ones((3, 2)), 1.0, task="regression"), r"start has shape \(3, 2\)"),
    "negative weights": (lambda: hinge.weight_path(X, LABELS, -np.ones(12), np.ones(12)), "start .*negative"),
    # ν-machines
    "nu": (lambda: hinge.NuSVC(nu=0.0).fit(X, LABELS), "nu=0"),
    "infeasible nu": (lambda: hinge.NuSVC(nu=0.9).fit(X, np.arange(12) < 3), "nu"),
    "kernel of nu_range": (lambda: nu_range(X, LABELS, **SIGMOID), "not positive semidefinite"),
    "classes of nu_range": (lambda: nu_range(X, np.ones(12)), "at least two"),
    "nu of a grid": (lambda: nu_grid(X, LABELS, nu=[0.2, 1.5]), "nu=1.5"),
    "number of nu": (lambda: nu_grid(X, LABELS, nu=0), "nu=0"),
    "C and nu": (lambda: pairwise_grid(X, LABELS, C=1.0, nu=0.2), "exactly one of C"),
    "shape of the tube": (lambda: hinge.NuSVR(tube=-np.ones(12)).fit(X, TARGETS), "tube"),
    "noise model": (lambda: nu_for_noise("pink"), "noise='pink'"),
    "scale of the noise": (lambda: epsilon_for_noise("gaussian", -1.0), "scale=-1"),
    # regularizers
    "regularizer": (lambda: risk(regularizer="entropy"), "regularizer='entropy' must be one of"),
    "strength": (lambda: risk(strength=0.0), "strength=0"),
    "shape of K": (lambda: risk(K=np.eye(2)), "K must be 3 × 3"),
    "fixed rate": (lambda: descend(risk(), rate=-1.0), "rate=-1"),
    "loss without a derivative": (lambda: descend(risk(loss=Hinge())), "Hinge"),
    "regularizer of a network": (
        lambda: hinge.RegularizationNetwork(regularizer="entropy").fit(X, TARGETS), "regularizer='entropy'"),
    "matrix D": (lambda: hinge.RegularizationNetwork(regularizer=-np.eye(12)).fit(X, TARGETS), "regularizer"),
    "functions": (lambda: hinge.SemiparametricSVR(functions="cubic").fit(X, TARGETS), "functions='cubic'"),
    # online learning
    "online loss": (lambda: hinge.OnlineSVC(loss="pinball").fit(X, LABELS), "loss='pinball'"),
    "step size": (lambda: hinge.OnlineSVC(eta0=0.0).fit(X, LABELS), "eta0=0"),
    "decay": (lambda: hinge.OnlineSVR(regularization=-1.0).fit(X, TARGETS), "regularization=-1"),
    "online nu": (lambda: hinge.OnlineNuSVC(nu=2.0).fit(X, LABELS), "nu=2"),
    "budget": (lambda: hinge.OnlineNoveltyDetector(budget=-1).fit(X), "budget=-1"),
    # further paths
    "range of an LP path": (lambda: hinge.lp_path(X, LABELS, C_min=2.0, C_max=1.0), "C_max"),
    "weights of the lasso": (lambda: hinge.lasso_path(X, TARGETS, weights=[1.0]), "weights has shape"),
    "lam_min": (lambda: hinge.lasso_path(X, TARGETS, lam_min=0.0), "lam_min=0"),
    "start of lasso weights": (lambda: hinge.lasso_weight_path(X, TARGETS, [1.0, -1.0], [1.0, 1.0]), "start"),
    "delta": (lambda: hinge.reweighted_lasso(X, TARGETS, delta=0.0), "delta=0"),
    "noise_tube": (lambda: noise_tube(hinge.SVC(), X, TARGETS), "pass an SVR"),
    "infeasible one-class path": (
        lambda: hinge.regularization_path(X, None, C_min=0.01, task="one_class"), "C_min=0.01 is infeasible"),
    "one-class path without threshold": (
        lambda: hinge.weight_path(X, None, 1.0, 1.0, task="one_class", fit_intercept=False), "fit_intercept=False"),
    "task": (lambda: hinge.regularization_path(X, LABELS, task="ranking"), "task='ranking'"),
    "forget": (lambda: hinge.IncrementalOneClassSVM().fit(X).forget([12]), "position 12"),
    "all samples forgotten": (lambda: hinge.IncrementalOneClassSVM().fit(X).forget(range(12)), "forget"),
    # explain
    "explain an unknown object": (lambda: explain("SVC", X, LABELS), "explain does not support str"),
    "explain invalid parameters": (lambda: explain(hinge.SVC(C=-1.0), X, LABELS), "C=-1"),
    # section 10.1
    "warm start": (lambda: hinge.SVC(warm_start="scale").fit(X, LABELS), "warm_start='scale'"),
    "cache": (lambda: hinge.SVC(cache_size=-1.0).fit(X, LABELS), "cache_size .* got -1"),
    # coordinate descent, losses and problems of LwK chapter 10
    "order": (lambda: CoordinateDescent(order="reversed"), "order='reversed'"),
    "Parzen kernel": (lambda: hinge.ParzenClassifier(gamma=-1.0).fit(X, LABELS), "gamma=-1"),
    "Parzen data": (lambda: hinge.ParzenClassifier().fit(NAN, LABELS), "NaN"),
    "h of HuberizedHinge": (lambda: HuberizedHinge(h=0.0), "h=0"),
    "epsilon of SmoothedHinge": (lambda: SmoothedHinge(2.0), "epsilon=2"),
    "basis": (lambda: expand_values(RBF(1.0), X, [12]), "basis has the position 12"),
    "candidates": (lambda: SGMA(candidates=0).fit(RBF(1.0), X), "candidates=0"),
    "Lagrangian for the hinge loss": (lambda: hinge.SVC(solver=Lagrangian()).fit(X, LABELS), "needs a squared loss"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_invalid_input_raises_a_clear_error(case):
    call, message = CASES[case]
    with pytest.raises((ValueError, TypeError, IndexError), match=message) as raised:
        call()
    assert len(str(raised.value)) > 20  # a sentence, not a name


@pytest.mark.parametrize(
    "fit",
    [
        hinge.LinearSVR().fit, hinge.IncrementalSVR().fit, hinge.RegularizationNetwork().fit,
        hinge.SemiparametricSVR().fit, hinge.OnlineSVR().fit, hinge.NuSVR().fit, hinge.LPSVR().fit,
        hinge.lasso_path, hinge.reweighted_lasso,
        lambda X, y: hinge.lp_path(X, y, task="regression"), lambda X, y: noise_tube(hinge.SVR(), X, y),
        lambda X, y: hinge.regularization_path(X, y, task="regression"), lambda X, y: nu_grid(X, y, nu=0.5, C=1.0),
        lambda X, y: grid(X, y, C=[(1.0, 2.0)], estimator=hinge.SVR()), lambda X, y: expand_values(RBF(1.0), X, [0]),
        lambda X, y: SGMA(rank=3).fit(RBF(1.0), X),
    ],
)  # fmt: skip
def test_invalid_data_raise_a_clear_error(fit):
    with pytest.raises(ValueError, match=r"NaN|finite"):
        fit(NAN, TARGETS)
