"""`RankingSVM`: learning to rank from preferences within queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.prediction import decision_values
from hinge.estimators.common.report import MAX_LATE_SAMPLES, rollback
from hinge.estimators.common.rules import KERNEL_RULES, LIMIT_RULES, POSITIVE, SOLVER_RULES, Rule
from hinge.estimators.common.training import Settings, Subproblem, resolve_loss, train
from hinge.estimators.common.validation import TrainingData, validate_training_data
from hinge.estimators.kernel.regression import SingleFunctionEstimator, store_function
from hinge.formulations import WEIGHTINGS, Ranking
from hinge.kernels import DirectAccess, Kernel, Precomputed
from hinge.losses import Hinge, Loss, SquaredHinge
from hinge.matrices import check_positive_semidefinite
from hinge.model import Expansion
from hinge.problems import Array, Certificate, certify
from hinge.ranking import check_queries, check_query_weight, check_relevance, make_pairs, ndcg
from hinge.ranking.path import whole_access
from hinge.ranking.queries import count_pairs
from hinge.solvers import PairDescent
from hinge.validation import check_choice, check_number

#: Losses for which the kernel matrix of pairs is not needed.
PAIR_DESCENT_LOSSES = (Hinge, SquaredHinge)

#: Seconds for constructing a pair and its part of the certificate. Fits that would exceed `max_time` raise an error.
PAIR_SECONDS = 2.5e-7

#: Relative difference of `dual_coef_` and the sums of `pair_coef_` that `certify` attributes to rounding.
COEFFICIENT_TOL = 1e-9


class RankingSVM(SingleFunctionEstimator):
    """Learning to rank: f(xᵢ) should exceed f(xⱼ) by 1 where i is more relevant than j to the same query.

    Minimizes ½‖w‖² + Σ C_ij φ(f(xᵢ) − f(xⱼ)), f = ⟨w, Φ⟩, over all pairs of a query with yᵢ > yⱼ, where φ is a loss of
    the margin. This is the problem of `SVC` without an intercept for the differences of all pairs. For the hinge loss
    and its square, the kernel matrix of pairs is not stored: hundreds of thousands of pairs take seconds.
    Karasuyama §4.5.2

    Parameters
    ----------
    C : float, default=1.0
        Cost of a pair in the wrong order, or with a difference below 1. There are many more pairs than samples, so that
        suitable values are often small.
    kernel, degree, gamma, coef0
        As in `SVC`; the default is "linear".
    loss : {"hinge", "squared_hinge", "modified_huber", "logistic", ...} or Loss, default="hinge"
        φ, any loss that `SVC` accepts. Losses other than "hinge" and "squared_hinge" need solvers that store the kernel
        matrix of pairs, so that they are suitable for some thousand pairs. `ranking_path` supports "hinge" only.
    weighting : {"uniform", "gain"} or float in [0, 1], default="uniform"
        C_ij = C for all pairs, or C · (2^yᵢ − 2^yⱼ), the difference of the gains. A number θ interpolates between them;
        `ranking_path` has the same solution at θ.
    solver : {"auto", "smo", "working_set", "interior_point", "chunking"} or object, default="auto"
        "auto" is `hinge.solvers.PairDescent` for the hinge loss and its square, and `hinge.solvers.Auto` otherwise.
    tol : float, default=1e-3
        Relative duality gap for `PairDescent`. For other solvers it has the meaning that they declare.
    shrinking, max_iter, max_time, cache_size, warm_start, n_jobs, verbose
        As in `SVC`. An iteration is a pass over all pairs or a Newton step.

    Attributes
    ----------
    n_pairs_ : int
        Number of pairs with different relevance and positive weight.
    n_queries_ : int
        Number of queries. A query with one sample, or with equal grades, has no pairs.
    pair_coef_ : ndarray of shape (n_pairs,)
        The coefficient of every pair, query by query, in the order of the samples.
    certificate_, status_, n_iter_, history_, support_, support_vectors_, n_support_, dual_coef_, coef_
        As in `SVC`. The intercept is zero: it cancels in the differences.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import RankingSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 4)); qid = np.repeat(np.arange(6), 20)
    >>> grade = np.clip(np.round(X[:, 0] + 0.3 * rng.normal(size=120)), 0, 2)
    >>> model = RankingSVM(C=0.1).fit(X, grade, qid=qid)
    >>> model.score(X, grade, qid=qid) > 0.9
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {"C": POSITIVE, **LIMIT_RULES, **KERNEL_RULES, **SOLVER_RULES}

    def __init__(
        self,
        *,
        C=1.0,
        kernel="linear",
        degree=3,
        gamma="scale",
        coef0=0.0,
        loss="hinge",
        weighting="uniform",
        solver="auto",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        max_time=None,
        cache_size="auto",
        warm_start=False,
        n_jobs=None,
        verbose=False,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.loss = loss
        self.weighting = weighting
        self.solver = solver
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, query_weight: Any = None) -> Self:
        """Train on the pairs of samples of the same query with different relevance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        y : array-like of shape (n_samples,)
            Relevance: grades, higher for better.
        qid : array-like of shape (n_samples,), optional
            The query of every sample, in any order. By default all samples belong to one query.
        sample_weight : array-like of shape (n_samples,), optional
            The cost of a pair is multiplied by the weights of both samples. Zero leaves a sample out; two has the same
            effect as repeating it.
        query_weight : mapping or array-like of shape (n_queries,), optional
            Multiplies the costs of all pairs of a query: {query: weight}, or in the order of ``np.unique(qid)``.

        Returns
        -------
        self
        """
        settings = self._settings()
        control = RunControl(self.max_time)
        with control.capture_signals(), rollback(self):
            data = self._validate(X, y, sample_weight, settings.kernel)
            pairs, self.n_queries_ = self._pairs(data, qid, query_weight, control)
            trained = train(self, data, [Subproblem(None, pairs)], settings, control)
            store_function(self, data, trained)
            self.n_pairs_, self.pair_coef_ = len(pairs.first), pairs.pair_coefficients(trained.solutions[0].alpha)
            trained.report.store(self)
        trained.report.conclude(self, settings.solver.max_iter)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.weighting, str):
            check_choice("weighting", self.weighting, WEIGHTINGS)
        else:
            check_number("weighting", self.weighting, 0.0, 1.0)
        self._pair_loss()

    def _pair_loss(self) -> Loss:
        return resolve_loss(self, "margin", "hinge") or Hinge()

    def _settings(self) -> Settings:
        """Check the parameters, and build the kernel and the solver; "auto" is `PairDescent` if it has the loss."""
        self._check_parameters()
        solver = None
        if isinstance(self.solver, str) and self.solver == "auto" and type(self._pair_loss()) in PAIR_DESCENT_LOSSES:
            solver = PairDescent(tol=self.tol, max_iter=self.max_iter, threads=effective_n_jobs(self.n_jobs))
        return Settings.of(self, solver, whole_access)

    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        data = validate_training_data(self, X, y, sample_weight, kernel, _relevance, reset)
        if reset and isinstance(kernel, Precomputed):
            check_positive_semidefinite(data.X)
        return data

    def _pairs(
        self, data: TrainingData, qid: Any, query_weight: Any, control: RunControl | None = None
    ) -> tuple[Ranking, int]:
        """The pairs of the training samples, and the number of queries; `qid` has one value per sample given to fit.

        Raise a TimeoutError if the pairs would take longer than the remaining time of `control`.
        """
        query, names = check_queries(qid, self.shape_fit_[0])
        weight = check_query_weight(query_weight, names)
        remaining = None if control is None else control.remaining()
        if remaining is not None and data.n > MAX_LATE_SAMPLES:
            count = count_pairs(data.y, query[data.rows])
            if PAIR_SECONDS * count > remaining:
                raise TimeoutError(
                    f"max_time={self.max_time:g} s does not suffice for the {count:,.0f} pairs of these samples; allow "
                    "more time, or pass qid with smaller queries or fewer samples"
                )
        loss = self._pair_loss()
        pairs = make_pairs(data.y, query[data.rows], float(self.C), self.weighting, data.weight, weight, loss)
        return pairs, len(names)

    def predict(self, X: Any) -> Array:
        """Scores: samples are ranked by decreasing score."""
        return decision_values(self, X, 1).ravel()

    decision_function = predict

    def score(self, X: Any, y: Any, qid: Any = None, k: int | None = 10) -> float:
        """NDCG@k, averaged over queries; see `hinge.ranking.ndcg`."""
        return ndcg(y, self.predict(X), qid, k)

    def certify(  # type: ignore[override]
        self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, query_weight: Any = None
    ) -> Certificate:
        """Recompute the certificate from the training data, in float64, without any code of the solvers.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight
            The arguments of `fit`.
        """
        check_is_fitted(self)
        self._check_parameters()
        kernel = self.model_.kernel
        data = self._validate(X, y, sample_weight, kernel, reset=False)
        pairs, _ = self._pairs(data, qid, query_weight)
        if len(pairs.first) != len(self.pair_coef_):
            raise ValueError(
                f"these samples make {len(pairs.first)} pairs, but fit had {len(self.pair_coef_)}; pass the training "
                "data, queries and weights"
            )
        expected = pairs.of_pairs(self.pair_coef_).coefficients
        coefficients = np.zeros(data.n)
        coefficients[np.searchsorted(data.rows, self.support_)] = self.model_.coefficients[:, 0]
        atol = COEFFICIENT_TOL * float(np.max(np.abs(expected), initial=1.0))
        if not np.allclose(coefficients, expected, rtol=COEFFICIENT_TOL, atol=atol):
            raise ValueError("pair_coef_ and dual_coef_ do not belong together, or these are not the training data")
        alpha, mu = pairs.differences.dual_point(Expansion(self.pair_coef_, 0.0))
        return certify(pairs.build(DirectAccess(kernel, data.X)), alpha, mu, convex=kernel.psd)

    def _explain(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> solvers.Explanation:
        """Explain the choice of the solver for `hinge.solvers.explain`. The estimator is not changed."""
        unfitted = clone(self)
        settings = unfitted._settings()
        data = unfitted._validate(X, y, sample_weight, settings.kernel)
        query, names = check_queries(qid, unfitted.shape_fit_[0])
        query = query[data.rows]
        statement = (
            f"{data.n} samples of {len(names)} queries: the variables are the {count_pairs(data.y, query):.0f} pairs "
            "of samples of one query with different relevance"
        )
        if not isinstance(settings.solver, PairDescent):
            pairs, _ = unfitted._pairs(data, qid, None)
            kernel = settings.kernel.resolve(data.X, data.weight)
            access = settings.open_access(kernel, data.X, cache_size=settings.cache_size, threads=settings.threads)
            explanation = solvers.decide(settings.solver, [pairs.build(access)])
            return replace(explanation, reasons=(statement, *explanation.reasons))
        if isinstance(self.solver, str):
            reason = "the loss is the hinge loss or its square: descent needs no matrix of pairs"
        else:
            reason = "PairDescent was requested"
        difference = "the figure does not treat pairs: their number is quadratic, and their matrix is not stored"
        return solvers.explain_method("pair_descent", (statement, reason), data.n, 1, difference)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _relevance(estimator_name: str, y: Any, n: int) -> NDArray[Any]:
    return check_relevance(y)
