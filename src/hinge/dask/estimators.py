"""Linear estimators for Dask collections: `LinearSVC` and `LinearSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from dask.base import is_dask_collection
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hinge.control import RunControl
from hinge.dask.blocks import Targets, partition_tasks
from hinge.dask.cluster import ClusterError, Stopped, Workers, active_client, unique_label
from hinge.dask.linear.passes import Setup
from hinge.dask.linear.training import Method, train
from hinge.dask.prediction import classification_score, map_rows, regression_score
from hinge.dask.summary import Summary, summarize
from hinge.estimators.common.progress import progress_callback
from hinge.estimators.common.report import FitReport, rollback
from hinge.estimators.common.rules import LIMIT_RULES, POSITIVE, Choice, ClassWeight, Flag, Rule, Sides
from hinge.estimators.common.validation import check_parameters
from hinge.estimators.linear.base import LinearLoss, Verbosity
from hinge.estimators.linear.classification import LinearSVC as LocalLinearSVC
from hinge.estimators.linear.regression import LinearSVR as LocalLinearSVR
from hinge.problems import Array

SOLVERS = ("auto", "newton", "newton_cg")

RULES: dict[str, Rule] = {
    "fit_intercept": Flag(),
    "penalize_intercept": Flag(),
    "intercept_scaling": POSITIVE,
    "tol": LIMIT_RULES["tol"],
    "max_iter": LIMIT_RULES["max_iter"],
    "max_time": LIMIT_RULES["max_time"],
    "verbose": Verbosity(),
    "solver": Choice(SOLVERS),
}


class DaskLinearEstimator(BaseEstimator):
    """Base class: fit on the workers, predict per partition, convert to an estimator of hinge."""

    _rules: ClassVar[Mapping[str, Rule]]
    _local_class: ClassVar[Any]
    _targets: ClassVar[Targets]

    coef_: Array
    intercept_: Array
    n_features_in_: int
    method_: Method

    def fit(self, X: Any, y: Any, sample_weight: Any = None, client: Client | None = None) -> Self:
        """Train on the partitions of X.

        Parameters
        ----------
        X : dask Array or DataFrame
            Partitioned by rows. The blocks of an array may be ndarrays or CSR matrices, and its chunk sizes may be
            unknown. Partitions may be empty and need not contain all classes.
        y : dask Array or Series
            Labels or targets with the partitions of X; an ndarray if the chunk sizes of X are known.
        sample_weight : dask Array or Series, optional
            Multiplies the cost of each sample; zero leaves it out.
        client : distributed.Client, optional
            Default: the client that was created last.

        Returns
        -------
        self

        Raises
        ------
        ClusterError
            If the scheduler is lost, or if a partition ends its worker again and again. The best model so far is kept.
        """
        check_parameters(self, self._rules)
        client = active_client(client)
        control = RunControl(self.max_time)
        with control.capture_signals(), progress_callback(self) as show:
            report, error = self._fit(X, y, sample_weight, client, control.with_callback(show))
        if error is not None:
            raise ClusterError(f"{error}. The estimator holds the best model so far; its status is {report.status}")
        report.conclude(self, tol_bounds_gap=True)
        return self

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, client: Client, control: RunControl
    ) -> tuple[FitReport, ClusterError | None]:
        label = unique_label(type(self).__name__)
        tasks = partition_tasks(X, y, sample_weight, self._targets, label)
        workers = Workers(client, tasks, label, control)
        try:
            with rollback(self):
                summary = self._summarize(workers)
                setup = self._setup(summary)
                method, solutions, report, error = train(self, setup, summary, workers, control)
                self._store(summary, setup, method, [s.weights for s in solutions], [s.offset for s in solutions])
                report.store(self)
        finally:
            workers.release()
        return report, error

    def _summarize(self, workers: Workers) -> Summary:
        """Return the summary of all partitions."""
        try:
            (summary,) = workers.reduce("summarize", summarize, self._targets == "labels")
        except Stopped:
            if workers.control.interrupt is not None:
                raise workers.control.interrupt from None
            raise TimeoutError(
                f"max_time={self.max_time} s was over before all partitions had been read once; increase it, or call "
                "X.persist() before fit"
            ) from None
        if summary is None or summary.n == 0:
            raise ValueError("X has no samples with a positive weight in any partition")
        if summary.features == 0:
            shape = f"({summary.rows}, 0)"
            raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
        return summary

    def _setup(self, summary: Summary) -> Setup:
        """Return what the workers need to build the problems."""
        center = None
        if self.fit_intercept and not self.penalize_intercept and not summary.sparse:
            center = summary.feature_sum / summary.n
        local = self._local()
        local._n_seen = summary.rows  # to check costs of single samples, which the rules exclude
        return Setup(local, None, None, center)

    def _local(self) -> Any:
        """An estimator of hinge with the same parameters, not fitted."""
        names = self._local_class._get_param_names()
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k in names and k != "solver"}
        return self._local_class(**parameters)

    def _store(
        self, summary: Summary, setup: Setup, method: Method, weights: list[Array], offsets: list[float]
    ) -> None:
        coef, intercept = np.array(weights), np.array(offsets, dtype=np.float64)
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                "The weights or intercepts are not finite. The input data may contain large values and need to be "
                "preprocessed."
            )
        self.coef_ = coef if setup.classes is not None else coef[0]
        self.intercept_, self.method_ = intercept, method
        self.n_features_in_, self.n_samples_ = summary.features, summary.n
        self.__dict__.pop("feature_names_in_", None)
        if summary.names is not None:
            self.feature_names_in_ = np.array(summary.names, dtype=object)
        if setup.classes is not None:
            self.classes_, self.class_weight_ = setup.classes, setup.class_weight

    # ---- the fitted model -------------------------------------------------------------------------------------------

    def to_local(self) -> Any:
        """Return an estimator of hinge with the same parameters and weights, which can be saved and exported.

        It has no dual point, because that has one value for every training sample: `dual_coef_` has no columns, and
        `certify` is not possible.
        """
        check_is_fitted(self)
        local = self._local()
        copied = {k: v for k, v in vars(self).items() if k.endswith("_") and k not in ("method_", "n_samples_")}
        vars(local).update(copied)
        local.dual_coef_ = np.zeros((len(self.intercept_), 0))
        local._n_seen, local._fit_cost = 0, 1.0
        return local

    def explain(self) -> str:
        """Describe the method of the last fit and why it was chosen."""
        check_is_fitted(self)
        return str(self.method_)

    def predict(self, X: Any) -> Any:
        """The prediction of every row: a Dask array with the partitions of X, or an ndarray for data in memory."""
        return self._map("predict", X)

    def _map(self, method: str, X: Any, columns: int = 0) -> Any:
        local = self.to_local()
        if not is_dask_collection(X):
            return getattr(local, method)(X)
        return map_rows(local, method, X, columns)


class LinearSVC(ClassifierMixin, DaskLinearEstimator):
    """Linear support vector classification of Dask collections.

    Minimizes the same function as `hinge.LinearSVC` by Newton's method. Every step reduces sums over the partitions;
    the certificate is reduced in the same way and includes rounding errors.

    Parameters
    ----------
    loss, tol, C, fit_intercept, penalize_intercept, intercept_scaling, class_weight
        As in `hinge.LinearSVC`. Several classes are trained one against the rest, with common passes over the data.
    solver : {"auto", "newton", "newton_cg"}, default="auto"
        Whether Newton systems are factorized ("newton", up to a few thousand features) or solved by conjugate
        gradients ("newton_cg"). `explain` states the choice.
    max_iter : int, default=1000
        Limit of Newton steps for each problem; −1 for no limit.
    max_time : float, optional
        Seconds for the whole fit. The best model found within this time is kept and certified by one more pass.
    verbose : bool, default=False
        Whether to show a progress line on standard error.

    Attributes
    ----------
    coef_, intercept_, classes_, class_weight_, n_features_in_, n_iter_, certificate_, status_, history_
        As in `hinge.LinearSVC`.
    n_samples_ : int
        Number of training samples with positive weight.
    method_ : Method
        The chosen method.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from hinge import dask as hd
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = hd.LinearSVC(C=1.0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-4, model.score(X, y) > 0.9
    (True, True)
    >>> client.close()
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": POSITIVE, "class_weight": ClassWeight(), "loss": LinearLoss("margin"), **RULES,
    }  # fmt: skip
    _local_class: ClassVar[Any] = LocalLinearSVC
    _targets: ClassVar[Targets] = "labels"

    classes_: NDArray[Any]

    def __init__(
        self,
        loss="squared_hinge",
        *,
        tol=1e-4,
        C=1.0,
        fit_intercept=True,
        penalize_intercept=False,
        intercept_scaling=1,
        class_weight=None,
        solver="auto",
        max_iter=1000,
        max_time=None,
        verbose=0,
    ):
        self.loss = loss
        self.tol = tol
        self.C = C
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def _setup(self, summary: Summary) -> Setup:
        if len(summary.labels) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; all samples with positive weights are labeled "
                f"{summary.labels.tolist()}"
            )
        setup = super()._setup(summary)
        return Setup(setup.estimator, summary.labels, summary.class_weights(self.class_weight), setup.center)

    def decision_function(self, X: Any) -> Any:
        """⟨w, x⟩ + b of every row: positive for ``classes_[1]``, or one column per class; lazy for Dask collections."""
        check_is_fitted(self)
        return self._map("decision_function", X, len(self.classes_) if len(self.classes_) > 2 else 0)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of correctly predicted labels. Only sums leave the workers."""
        if not is_dask_collection(X):
            return float(super().score(X, y, sample_weight))
        return classification_score(self.to_local(), X, y, sample_weight)


class LinearSVR(RegressorMixin, DaskLinearEstimator):
    """Linear support vector regression of Dask collections.

    Minimizes the same function as `hinge.LinearSVR`; see `LinearSVC` for the method.

    Parameters
    ----------
    epsilon, tol, C, loss, fit_intercept, penalize_intercept, intercept_scaling
        As in `hinge.LinearSVR`.
    solver, max_iter, max_time, verbose
        As in `LinearSVC`.

    Notes
    -----
    The attributes are those of `LinearSVC`; `coef_` has shape (n_features,).

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from hinge.dask import LinearSVR
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    >>> X = np.random.default_rng(0).normal(size=(200, 3)); y = X @ [1.0, 2.0, 3.0]
    >>> model = LinearSVR(C=100.0).fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    >>> model.coef_.round(1)
    array([1., 2., 3.])
    >>> client.close()
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "C": Sides(positive=True), "epsilon": Sides(), "loss": LinearLoss("residual"), **RULES,
    }  # fmt: skip
    _local_class: ClassVar[Any] = LocalLinearSVR
    _targets: ClassVar[Targets] = "numbers"

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        penalize_intercept=False,
        intercept_scaling=1.0,
        solver="auto",
        max_iter=1000,
        max_time=None,
        verbose=0,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.solver = solver
        self.max_iter = max_iter
        self.max_time = max_time
        self.verbose = verbose

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions. Only sums leave the workers."""
        if not is_dask_collection(X):
            return float(super().score(X, y, sample_weight))
        return regression_score(self.to_local(), X, y, sample_weight)
