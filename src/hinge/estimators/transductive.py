"""`TransductiveSVC`: classification from labeled and unlabeled samples."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.estimators.common.description.forecast import data_shape
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.report import EXACT_TOL, FitReport, confirmed_status, rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, Integer, Number, Rule
from hinge.estimators.common.training import Subproblem
from hinge.estimators.common.validation import ClassificationData, n_rows, validate_classification, validate_samples
from hinge.estimators.kernel.classification import KernelClassifier, label_sign, pair_subproblems, store_pairs
from hinge.formulations import CSVC
from hinge.kernels import DirectAccess, FunctionKernel, Kernel, Precomputed, cache_bytes, make_kernel
from hinge.kernels.access import check_kernel_values
from hinge.lowrank.source import Source
from hinge.model import Expansion
from hinge.paths.engine import path_access
from hinge.problems import Array, Certificate, History, Status, certify
from hinge.transduction import TimeLimitReached, Transduction, share_correction, stratified_folds
from hinge.validation import check_choice, check_number

#: A difference of this much between the fraction of positives among the labeled samples and the fraction predicted for
#: the unlabeled ones is reported with a warning, if it also exceeds two standard deviations.
MAX_FRACTION_DIFFERENCE = 0.1


class TransductiveSVC(KernelClassifier):
    """Transductive classification: a wide margin for labeled and unlabeled samples.    Karasuyama §4.5.3

    Searches for labels y* of the unlabeled samples and a function that make ½‖w‖² + C Σ ξᵢ + C* Σ ξ*ⱼ small, with
    Joachims's algorithm: labels of pairs are switched while this lowers the objective, and C* grows from a small value.
    Both changes follow exact weight paths, so that the function is optimal for the current labels after every switch.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error on a labeled sample.
    C_unlabeled : float, default=1.0
        Final cost of an error on an unlabeled sample.
    kernel, degree, gamma, coef0
        As in `SVC`, without "precomputed".
    positive_fraction : float in [0, 1], "labeled" or "predicted", optional
        The fraction k⁺/k of unlabeled samples with the label ``classes_[1]``. "predicted": the fraction that a model
        of the labeled samples predicts. None: the same, corrected by the bias that cross-validation on the labeled
        samples shows, if it exceeds random fluctuations and the correction reduces the errors, docs/math (473).
        "labeled": the fraction among the labeled samples (Joachims), which must then be typical. A warning is issued
        if this fraction differs from the predicted one by more than 0.1 and by more than two standard deviations.
    initial_share : float, default=1e-5
        Initial value of C* as a fraction of `C_unlabeled`.
    growth : float, default=2.0
        Ratio of successive values of C*.
    batch : int, default=1
        Number of pairs whose labels are switched along one path. The objective decreases for any number; larger
        numbers are faster.
    cache_size, n_jobs
        As in `SVC`.
    max_time : float, optional
        Seconds. If they do not suffice, the current labels are kept, with a warning; a TimeoutError is raised if the
        model of the labeled samples is not finished.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_unlabeled,)
        The labels of the unlabeled samples.
    positive_fraction_ : float
        The fraction of ``classes_[1]`` among them; NaN without unlabeled samples.
    unlabeled_cost_ : ndarray of shape (n_unlabeled,)
        The final cost of each unlabeled sample: `C_unlabeled`, unless the time limit was reached.
    stages_ : dict of ndarray
        One entry for each value of C*: the costs of both labels, switches, events, objective, seconds.
    n_switches_ : int
        Number of pairs of labels that were switched.
    certificate_ : Certificate
        Of the convex problem with these labels. The search for labels is local: other labels may be better.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, status_, n_iter_, history_
        As in `SVC`. `support_` counts labeled samples first, then unlabeled ones. `n_iter_` counts events.

    Notes
    -----
    Two classes only. Without unlabeled samples `fit` is that of `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import TransductiveSVC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100); X = rng.normal(size=(200, 2)) + 4 * y[:, None]
    >>> some = [0, 1, 100, 101]; others = np.setdiff1d(np.arange(200), some)
    >>> model = TransductiveSVC(C=10, gamma=0.5).fit(X[some], y[some], X[others])
    >>> bool(np.mean(model.transduction_ == y[others]) > 0.9)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": POSITIVE,
        "C_unlabeled": POSITIVE,
        "initial_share": Number(0.0, 1.0, open_low=True),
        "growth": Number(1.0, open_low=True),
        "batch": Integer(1),
        "max_time": LIMIT_RULES["max_time"],
        "n_jobs": LIMIT_RULES["n_jobs"],
        "cache_size": LIMIT_RULES["cache_size"],
        **KERNEL_RULES,
    }

    def __init__(
        self,
        *,
        C=1.0,
        C_unlabeled=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        positive_fraction=None,
        initial_share=1e-5,
        growth=2.0,
        batch=1,
        cache_size="auto",
        max_time=None,
        n_jobs=None,
    ):
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.positive_fraction = positive_fraction
        self.initial_share = initial_share
        self.growth = growth
        self.batch = batch
        self.cache_size = cache_size
        self.max_time = max_time
        self.n_jobs = n_jobs

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train on X with labels y and on the unlabeled samples X_unlabeled.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), optional
            Without them the result is that of `SVC`.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each labeled sample; zero leaves it out.

        Returns
        -------
        self
        """
        self._check_parameters()
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        with rollback(self):
            data = validate_classification(self, X, y, sample_weight, kernel)
            if len(data.classes) > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is multiclass: y has "
                    f"{len(data.classes)} classes. Fit one estimator for each class, with y == label"
                )
            self.classes_, self.class_weight_ = data.classes, data.class_weight
            whole, k = self._with_unlabeled(data, X_unlabeled, kernel, self.shape_fit_[0])
            self.shape_fit_ = (self.shape_fit_[0] + k, *self.shape_fit_[1:])
            self._transduce(data, whole, k, kernel.resolve(whole.X, whole.weight))
        if self.status_ is Status.TIME_LIMIT:
            warnings.warn(
                f"max_time={self.max_time} s is over: unlabeled samples have reached a cost of "
                f"{np.max(self.unlabeled_cost_, initial=0.0):.3g} instead of {self.C_unlabeled:g}. The model is kept",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.positive_fraction, str):
            check_choice("positive_fraction", self.positive_fraction, ("labeled", "predicted"))
        elif self.positive_fraction is not None:
            check_number("positive_fraction", self.positive_fraction, 0.0, 1.0)
        kernel = make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no values for unlabeled samples; use a kernel of the samples")
        if kernel.psd is False:
            raise ValueError(f"kernel={self.kernel!r} is not positive semidefinite: paths need a convex problem")

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the method for `hinge.solvers.explain`. The estimator is not changed."""
        self._check_parameters()
        n, _ = data_shape(X, y)
        reasons = (
            f"{n} labeled samples; every unlabeled sample is one more",
            "labels are switched, and the cost of unlabeled samples is increased, along exact paths of weights",
        )
        difference = "the problem has discrete variables, the labels: solutions of many convex problems are followed"
        return solvers.explain_method("parametric_active_set", reasons, n, 1, difference)

    def _with_unlabeled(
        self, data: ClassificationData, X_unlabeled: Any, kernel: Kernel, n_given: int
    ) -> tuple[ClassificationData, int]:
        """Labelled and unlabeled samples together, and the number of the latter; they have the first label for now."""
        if X_unlabeled is None:
            return data, 0
        if n_rows(X_unlabeled) == 0:
            raise ValueError("X_unlabeled has no samples; leave it out, or use SVC")
        other = validate_samples(self, X_unlabeled, kernel, reset=False)
        if isinstance(kernel, FunctionKernel):
            other = np.asarray(other)
        if sp.issparse(data.X) != sp.issparse(other):
            raise ValueError("X and X_unlabeled must both be dense or both be sparse; convert one of them")
        X = sp.vstack([data.X, other], format="csr") if sp.issparse(other) else np.concatenate([data.X, other])
        k = n_rows(other)
        y = np.concatenate([data.y, np.full(k, data.classes[0], dtype=data.y.dtype)])
        weight, rows = np.concatenate([data.weight, np.ones(k)]), np.concatenate([data.rows, n_given + np.arange(k)])
        return ClassificationData(X, y, weight, rows, data.classes, data.class_weight), k

    def _transduce(self, data: ClassificationData, whole: ClassificationData, k: int, kernel: Kernel) -> None:
        """Find the labels, certify the convex problem with these labels, and set the fitted attributes."""
        sign = np.where(data.y == data.classes[1], 1.0, -1.0)
        access = path_access(kernel, whole.X, cache_bytes(self.cache_size))
        check_kernel_values(Source(kernel, whole.X))  # predictions use the precision of the samples
        found = Transduction(access, sign, self.C * data.weight, None, self.cache_size, self.max_time)
        self.positive_fraction_ = np.nan
        if k:
            self.positive_fraction_ = self._choose_fraction(found, data, sign)
            found.assign(int(np.floor(k * self.positive_fraction_ + 0.5)))
            found.run(float(self.C_unlabeled), float(self.initial_share), float(self.growth), int(self.batch))
        self.transduction_ = data.classes[(found.label > 0).astype(np.intp)]
        self.unlabeled_cost_, self.n_switches_ = found.unlabeled_cost, found.switches
        self.stages_ = {
            name: np.array([getattr(stage, name) for stage in found.stages])
            for name in ("cost_positive", "cost_negative", "switches", "events", "objective", "seconds")
        }
        final = self._final_data(whole)
        (subproblem,) = self._subproblems(final)
        sign_of_labels = label_sign(data.classes)  # classes[1] is positive for the paths, classes[0] in the subproblem
        expansion = Expansion(sign_of_labels * found.beta, sign_of_labels * found.intercept)
        alpha, mu = subproblem.formulation.dual_point(expansion)
        certificate = certify(subproblem.build(DirectAccess(kernel, whole.X)), alpha, mu, convex=kernel.psd)
        store_pairs(self, final, data.classes, kernel, [None], [expansion])
        status = confirmed_status(found.status, [certificate], EXACT_TOL)
        report = FitReport(status, [certificate], [_history(found)], [found.events])
        report.store(self, n_iter=np.array([found.events], dtype=np.int32))

    def _choose_fraction(self, found: Transduction, data: ClassificationData, sign: Array) -> float:
        """The fraction of positives among the unlabeled samples.                              docs/math (470)–(473)"""
        predicted = found.predicted / found.k
        if self.positive_fraction == "predicted":
            return predicted
        labeled = float(np.average(sign > 0, weights=data.weight))
        if self.positive_fraction == "labeled":
            self._warn_if_not_typical(labeled, predicted, data.n, found.k)
            return labeled
        if self.positive_fraction is not None:
            return float(self.positive_fraction)
        groups = stratified_folds(sign)
        if not groups:
            return labeled
        try:
            values = found.leave_out(groups)
        except TimeLimitReached:  # `run` ends with the status TIME_LIMIT
            return predicted
        return float(np.clip(predicted + share_correction(sign, values, data.weight), 0.0, 1.0))

    def _warn_if_not_typical(self, labeled: float, predicted: float, n: int, k: int) -> None:
        """Warn if the fraction of positives among the labeled samples is far from the predicted one."""
        deviation = float(np.sqrt(labeled * (1.0 - labeled) * (1.0 / n + 1.0 / k)))
        if abs(labeled - predicted) <= max(MAX_FRACTION_DIFFERENCE, 2.0 * deviation):
            return
        warnings.warn(
            f"{labeled:.0%} of the labeled samples belong to class {self.classes_.tolist()[1]!r}, and this fraction "
            f"of the unlabeled samples will get this label, but the model of the labeled samples predicts "
            f"{predicted:.0%}: the labeled samples may not be typical. Pass the fraction as positive_fraction if it "
            "is known, or positive_fraction='predicted' to use the prediction",
            UserWarning,
            stacklevel=5,
        )

    def _final_data(self, whole: ClassificationData) -> ClassificationData:
        """All samples with the labels that were found; weights are costs."""
        n = whole.n - len(self.transduction_)
        y = np.concatenate([whole.y[:n], self.transduction_])
        cost = np.concatenate([self.C * whole.weight[:n], self.unlabeled_cost_])
        return ClassificationData(whole.X, y, cost, whole.rows, whole.classes, whole.class_weight)

    def _subproblems(self, data: ClassificationData) -> list[Subproblem]:
        return pair_subproblems(data, data.weight, CSVC)

    def decision_function(self, X: Any) -> Array:
        """Decision values: positive values mean ``classes_[1]``."""
        return decision_values(self, X, 1).ravel()

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row."""
        values = self.decision_function(X)
        return self.classes_[(values > 0).astype(np.intp)]

    def certify(  # type: ignore[override]
        self, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
    ) -> Certificate:
        """Recompute the certificate for the final labels from the training data.

        Parameters
        ----------
        X, y, X_unlabeled, sample_weight
            The arguments of `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        kernel, k = self.model_.kernel, len(self.transduction_)
        n_given = self.shape_fit_[0] - k
        data = validate_classification(self, X, y, sample_weight, kernel, reset=False, n_fitted=n_given)
        whole, given = self._with_unlabeled(data, X_unlabeled, kernel, n_given)
        if given != k:
            raise ValueError(f"X_unlabeled has {given} samples, but fit was given {k}; pass the training data")
        return self._certify(self._final_data(whole))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _history(found: Transduction) -> History:
    """One row per cost of the unlabeled samples: each of these stages ends at an exact optimum."""
    stages = found.stages
    events, seconds = np.cumsum([s.events for s in stages]), np.cumsum([s.seconds for s in stages])
    value = np.array([s.objective for s in stages])
    zeros, active = np.zeros(len(stages)), np.full(len(stages), found.access.n)
    return History(events, seconds, zeros, value, value, zeros, active, np.ones(len(stages), dtype=bool))
