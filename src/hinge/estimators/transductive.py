"""`TransductiveSVC`: labelled samples, and others whose labels are found together with the machine."""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.estimators.common.data import Data, length
from hinge.estimators.common.prediction import FLOATS
from hinge.estimators.common.rollback import rollback
from hinge.estimators.kernel.base import Subproblem
from hinge.estimators.kernel.one_vs_one import PairwiseClassifier
from hinge.formulations import CSVC
from hinge.kernels import DirectAccess, FunctionKernel, Kernel, Precomputed, cache_bytes, check_cache_size
from hinge.model import Expansion
from hinge.paths.engine import path_access
from hinge.problems import Array, Certificate, History, Status, certify
from hinge.transduction import TimeLimitReached, Transduction, share_correction, stratified_folds
from hinge.validation import check_choice, check_integer, check_number

#: The shares of positives among the labelled and among the predictions for the unlabelled may differ by so much.
SUSPICIOUS = 0.1


class TransductiveSVC(PairwiseClassifier):
    """Transductive classification: a wide margin for labelled and unlabelled samples alike.    Karasuyama §4.5.3

    Looks for labels y* of the unlabelled samples and a machine that make ½‖w‖² + C Σ ξᵢ + C* Σ ξ*ⱼ small, as Joachims's
    algorithm does: labels of pairs switch while that lowers the objective, and C* grows from a small value. Both are
    carried out by exact weight paths: after every switch the machine is the exact optimum for the labels it has.

    Parameters
    ----------
    C : float, default=1.0
        Price of an error on a labelled sample.
    C_unlabeled : float, default=1.0
        Price of an error on an unlabelled sample, at the end.
    kernel, degree, gamma, coef0
        As in `SVC`; "precomputed" has no rows for later samples and is refused.
    positive_fraction : float in [0, 1], "labeled" or "predicted", optional
        The share of unlabelled samples that get the label ``classes_[1]``, k⁺/k. A number: a share that is known from
        elsewhere. "predicted": what the machine trained on the labelled samples says. When left out that as well, less
        the bias that cross-validation on the labelled samples shows, as far as chance does not explain it and errors
        become fewer: docs/math (473). "labeled": the share among the labelled samples (Joachims), which asks that
        they are typical; a warning tells when it is far from the predicted one: by more than 0.1, and by more than two
        standard deviations of the difference of shares among so few samples.
    initial_share : float, default=1e-5
        C* begins at this share of `C_unlabeled`.
    growth : float, default=2.0
        Factor from one value of C* to the next.
    batch : int, default=1
        Pairs whose labels switch along one path. The objective falls for any number, and more is faster.
    cache_size, n_jobs
        As in `SVC`.
    max_time : float, optional
        Seconds; the labels found so far are kept, with a warning. TimeoutError if not even the labelled samples are
        learned by then.

    Attributes
    ----------
    transduction_ : ndarray of shape (n_unlabeled,)
        The labels found.
    positive_fraction_ : float
        The share of ``classes_[1]`` that was asked of them; NaN without unlabelled samples.
    unlabeled_cost_ : ndarray of shape (n_unlabeled,)
        The price of each unlabelled sample at the end: `C_unlabeled`, unless time was up before.
    stages_ : dict of ndarray
        One entry for each value of C*: the costs of both labels, switches, events, objective, seconds.
    n_switches_ : int
        Pairs of labels that were switched.
    certificate_ : Certificate
        For the convex problem that the labels found make. Labels are found by descent: others may be better.
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, status_, n_iter_, history_
        As in `SVC`; support vectors count labelled samples first, then unlabelled ones. `n_iter_` counts events.

    Notes
    -----
    Two classes only. Without unlabelled samples `fit` is that of `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import TransductiveSVC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100); X = rng.normal(size=(200, 2)) + 4 * y[:, None]
    >>> some = [0, 1, 100, 101]; others = np.setdiff1d(np.arange(200), some)
    >>> model = TransductiveSVC(C=10, gamma=0.5).fit(X[some], y[some], X[others])
    >>> bool(np.mean(model.transduction_ == y[others]) > 0.95)
    True
    """

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

    # What `PairwiseClassifier` asks for, and two classes do not need.
    decision_function_shape = "ovr"
    break_ties = False
    class_weight = None

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0.0, open_low=True)
        check_number("C_unlabeled", self.C_unlabeled, 0.0, open_low=True)
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        check_number("initial_share", self.initial_share, 0.0, 1.0, open_low=True)
        check_number("growth", self.growth, 1.0, open_low=True)
        check_integer("batch", self.batch, 1)
        if isinstance(self.positive_fraction, str):
            check_choice("positive_fraction", self.positive_fraction, ("labeled", "predicted"))
        elif self.positive_fraction is not None:
            check_number("positive_fraction", self.positive_fraction, 0.0, 1.0)
        if self.max_time is not None:
            check_number("max_time", self.max_time, 0.0, open_low=True)
        check_cache_size(self.cache_size)
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no values for unlabelled samples; use a kernel of the samples")
        if kernel.psd is False:
            raise ValueError(f"kernel={self.kernel!r} is not positive semidefinite: paths need a convex problem")

    def _classes(self, data: Data, y: Any) -> NDArray[Any]:
        classes = super()._classes(data, y)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: y has "
                f"{len(classes)} classes. Fit one machine for each class, with y == label"
            )
        return classes

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train on X with labels y and on X_unlabeled, whose labels are found.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of two classes.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), optional
            Without it this is `SVC`.
        sample_weight : array-like of shape (n_samples,), optional
            Multiplies the cost of each labelled sample; zero leaves it out.

        Returns
        -------
        self
        """
        with rollback(self):
            data = self._validate(X, y, sample_weight)
            self.classes_ = self._classes(data, y)
            self.class_weight_ = np.ones(2)
            whole, unlabelled = self._with_unlabelled(data, X_unlabeled)
            kernel = self._make_kernel().resolve(whole.X, whole.weight)
            self._transduce(data, whole, unlabelled, kernel)
        if self.status_ is Status.TIME_LIMIT:
            warnings.warn(
                f"max_time={self.max_time} s is over: unlabelled samples have reached a cost of "
                f"{np.max(self.unlabeled_cost_, initial=0.0):.3g} instead of {self.C_unlabeled:g}. The model is kept",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _with_unlabelled(self, data: Data, X_unlabeled: Any) -> tuple[Data, int]:
        """Labelled and unlabelled samples as one; labels of the latter are still those of class 0."""
        if X_unlabeled is None:
            return data, 0
        if isinstance(self._make_kernel(), FunctionKernel):
            other = np.asarray(X_unlabeled)
        else:
            if length(X_unlabeled) == 0:
                raise ValueError("X_unlabeled has no samples; leave it out, or use SVC")
            other = validate_data(self, X_unlabeled, dtype=FLOATS, order="C", accept_sparse="csr", reset=False)
        k = length(other)
        if k == 0:
            raise ValueError("X_unlabeled has no samples; leave it out, or use SVC")
        if sp.issparse(data.X) != sp.issparse(other):
            raise ValueError("X and X_unlabeled must both be dense or both be sparse; convert one of them")
        X = sp.vstack([data.X, other], format="csr") if sp.issparse(other) else np.concatenate([data.X, other])
        n_all = self.shape_fit_[0]
        rows = np.concatenate([data.rows, n_all + np.arange(k)])
        y = np.concatenate([data.y, np.full(k, self.classes_[0], dtype=data.y.dtype)])
        self.shape_fit_ = (n_all + k, *self.shape_fit_[1:])
        X = X if sp.issparse(X) else np.ascontiguousarray(X)
        return Data(X, y, np.concatenate([data.weight, np.ones(k)]), rows), k

    def _transduce(self, data: Data, whole: Data, k: int, kernel: Kernel) -> None:
        began = time.monotonic()
        sign = np.where(data.y == self.classes_[1], 1.0, -1.0)
        access = path_access(kernel, whole.X, cache_bytes(self.cache_size))
        if not np.isfinite(access.diagonal()).all():
            raise ValueError("kernel values of these data are not finite: they overflow. Scale the data")
        found = Transduction(access, sign, self.C * data.weight, None, self.cache_size, self.max_time)
        self.positive_fraction_ = np.nan
        if k:
            self.positive_fraction_ = self._share(found, data, sign, kernel)
            found.assign(int(np.floor(k * self.positive_fraction_ + 0.5)))
            found.run(float(self.C_unlabeled), float(self.initial_share), float(self.growth), int(self.batch))
        self.transduction_ = self.classes_[(found.label > 0).astype(np.intp)]
        self.unlabeled_cost_ = found.unlabelled_cost
        self.n_switches_ = found.switches
        self.stages_ = {
            name: np.array([getattr(stage, name) for stage in found.stages])
            for name in ("cost_positive", "cost_negative", "switches", "events", "objective", "seconds")
        }
        self.status_, self.n_iter_ = found.status, np.array([found.events], dtype=np.int32)
        self.fit_status_ = int(found.status is not Status.SOLVED)
        problem_data = self._final(whole, self.transduction_, self.unlabeled_cost_)
        machines = self._machines(problem_data)
        # `found` has classes_[1] positive, the machines of pairs have classes_[0] positive.
        expansion = Expansion(-found.beta, -found.intercept)
        problem = machines[0].formulation.build(access)
        alpha, mu = machines[0].formulation.dual_point(expansion)
        self.certificate_ = certify(problem, alpha, mu, convex=kernel.psd)
        self.certificates_ = [self.certificate_]
        self.history_ = self._story(found, time.monotonic() - began)
        self._assemble_pairs(problem_data, kernel, machines, [expansion])

    def _share(self, found: Transduction, data: Data, sign: Array, kernel: Kernel) -> float:
        """The share of positives among the unlabelled.   docs/math (470)–(473)"""
        predicted = found.predicted / found.k
        if self.positive_fraction == "predicted":
            return predicted
        labelled = float(np.average(sign > 0, weights=data.weight))
        if self.positive_fraction == "labeled":
            self._warn_of_share(labelled, predicted, data.n, found.k)
            return labelled
        if self.positive_fraction is not None:
            return float(self.positive_fraction)
        groups = stratified_folds(sign)
        if not groups:
            return labelled
        try:
            values = found.leave_out(groups)
        except TimeLimitReached:  # `run` will say so
            return predicted
        return float(np.clip(predicted + share_correction(sign, values, data.weight), 0.0, 1.0))

    def _warn_of_share(self, labelled: float, predicted: float, n: int, k: int) -> None:
        """The balance constraint is only as good as the labelled samples are typical."""
        spread = float(np.sqrt(labelled * (1.0 - labelled) * (1.0 / n + 1.0 / k)))
        if abs(labelled - predicted) <= max(SUSPICIOUS, 2.0 * spread):
            return
        warnings.warn(
            f"{labelled:.0%} of the labelled samples are of class {self.classes_[1]}, and so many of the unlabelled "
            f"will be, but the machine trained on the labelled ones says {predicted:.0%}: they may not be typical. "
            "Pass the share as positive_fraction where it is known, or positive_fraction='predicted' to trust the "
            "machine",
            UserWarning,
            stacklevel=4,
        )

    def _story(self, found: Transduction, seconds: float) -> History:
        """One row per value of C*: every one of them ends at an exact optimum."""
        stages = found.stages
        events, clock = np.cumsum([s.events for s in stages]), np.cumsum([s.seconds for s in stages])
        value = np.array([s.objective for s in stages])
        none, everyone = np.zeros(len(stages)), np.full(len(stages), found.access.n)
        return History(events, clock, none, value, value, none, everyone, np.ones(len(stages), dtype=bool))

    def _final(self, whole: Data, labels: NDArray[Any], cost: Array) -> Data:
        """The samples with the labels found; weights are costs now."""
        n = whole.n - len(labels)
        y = np.concatenate([whole.y[:n], labels])
        return Data(whole.X, y, np.concatenate([self.C * whole.weight[:n], cost]), whole.rows)

    def _formulation(self, sign: Array, cost: Array) -> CSVC:
        return CSVC(sign, cost)

    def certify(  # type: ignore[override]
        self, X: Any, y: Any, X_unlabeled: Any = None, sample_weight: Any = None
    ) -> Certificate:
        """Recompute the certificate, for the labels found, from the training data.

        Parameters
        ----------
        X, y, X_unlabeled, sample_weight
            What `fit` was given.
        """
        check_is_fitted(self)
        shape = self.shape_fit_
        k = len(self.transduction_)
        self.shape_fit_ = (shape[0] - k, *shape[1:])
        try:
            data = self._validate(X, y, sample_weight, reset=False)
            whole, given = self._with_unlabelled(data, X_unlabeled)
        finally:
            self.shape_fit_ = shape
        if given != k:
            raise ValueError(f"X_unlabeled has {given} samples, but fit was given {k}; pass the training data")
        final = self._final(whole, self.transduction_, self.unlabeled_cost_)
        return self._certify_data(final)

    def _certify_data(self, data: Data) -> Certificate:
        machine: Subproblem = self._machines(data)[0]
        (expansion,) = self._expansions(data, [machine])
        problem = machine.formulation.build(DirectAccess(self.model_.kernel, data.X, machine.rows))
        return certify(problem, *machine.formulation.dual_point(expansion), convex=self.model_.kernel.psd)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
