"""Online novelty detection: `OnlineNoveltyDetector`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from hinge.estimators.common.rules import Number, Rule
from hinge.estimators.online.base import OnlineEstimator
from hinge.estimators.online.options import ONLINE_RULES
from hinge.problems import Array

#: Rounding error of ν (n + 1), which must not turn an integer into the one below it.
EXACT = 1e-12


class OnlineNoveltyDetector(OutlierMixin, OnlineEstimator):
    """Online one-class classification: detect the fraction ν of the stream that is unlike the earlier samples.

    LwK (10.134), Algorithm 10.6.

    Minimizes max(0, ρ − f(x)) − νρ + ½‖f‖² in f and ρ, one gradient step per sample.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Fraction of outliers to which ρ adapts.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Precomputed kernels
        and Python functions are not supported.
    degree, gamma, coef0
        As in `SVC`, but the default is ``gamma="auto"``, one over the number of features, which does not depend on the
        first samples. ``"scale"`` is computed from the first batch.
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which adapts to a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.01
        A step must be small relative to ρ, which is of the order of ν.
    power_t : float, default=0.5
        Exponent of "invscaling"; the default gives steps proportional to 1/√t.
    budget : int or None, default=1000
        Largest number of terms of the expansion. Beyond it the oldest term is removed. None keeps all terms.
    n_passes : int, default=1
        Number of passes of `fit` over its data. `partial_fit` makes one pass.
    shuffle : bool, default=False
        Whether `fit` learns the samples in random order, instead of the order of the rows.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads for prediction.
    max_time : float, optional
        Seconds for `fit`. If they do not suffice for all samples, a warning is issued and the model of the samples
        learned so far is kept. `partial_fit` learns all its samples.

    Attributes
    ----------
    offset_ : float
        The threshold: ``decision_function = score_samples - offset_``. It is ρ, or the threshold of `calibrate`.
    is_calibrated_ : bool
        Whether `offset_` comes from `calibrate`, and no sample was learned since.
    t_ : int
        Number of samples learned.
    step_ : float
        The step Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per function.
    n_beyond_ : ndarray
        Number of outliers so far: ``n_beyond_ / t_`` converges to ν.
    truncation_error_ : float
        Bound on ‖f − f_trunc‖ from the terms that the budget has removed.                            docs/math (409)
    truncation_bound_ : float
        A-priori bound on the same norm: LwK (10.130).                                            docs/math (410)

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import OnlineNoveltyDetector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2))
    >>> model = OnlineNoveltyDetector(nu=0.05, gamma=0.5, eta0=0.001).fit(X)
    >>> bool(abs(model.n_beyond_[0] / model.t_ - 0.05) < 0.01)
    True
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]).tolist()
    [1, -1]
    """

    _rules: ClassVar[Mapping[str, Rule]] = {"nu": Number(0.0, 1.0, open_low=True), **ONLINE_RULES}

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="auto",
        coef0=0.0,
        learning_rate="constant",
        eta0=0.01,
        power_t=0.5,
        budget=1000,
        n_passes=1,
        shuffle=False,
        random_state=None,
        n_jobs=None,
        max_time=None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.power_t = power_t
        self.budget = budget
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_time = max_time

    def _loss_options(self) -> dict[str, Any]:
        return {"loss": "novelty", "offset": False, "nu": float(self.nu)}

    def _targets(self, y: Any, n: int) -> Array:
        return np.ones(n)

    def _target_of(self, y: Any) -> float:
        return 1.0

    @property
    def offset_(self) -> float:
        """The threshold of `calibrate` if the detector is calibrated, otherwise ρ."""
        check_is_fitted(self)
        threshold = vars(self).get("_threshold")
        return float(self._learner.level[0]) if threshold is None else threshold

    @property
    def is_calibrated_(self) -> bool:
        """Whether the threshold was calibrated after the last sample was learned."""
        check_is_fitted(self)
        return "_threshold" in vars(self)

    def calibrate(self, X: Any) -> Self:
        """Set the threshold of a detector that does not learn any more, so that at most a fraction ν are outliers.

        ρ follows the stream: the fraction of outliers converges to ν while the detector learns. The function that is
        used after the last sample is another one than those that determined ρ, and after a drift its fraction of
        outliers can be several times ν. The threshold set here is a quantile of the scores of X: the k-th smallest,
        k = ⌊ν (n + 1)⌋. If a later sample and the n rows of X are exchangeable, for example drawn independently from
        the same distribution, it is reported as an outlier with a probability of at most ν, and of at least
        ν − 1/(n + 1) if the scores are distinct. This is split conformal prediction (docs/math (412)).

        The threshold is discarded when a sample is learned.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Normal samples that the detector has not learned, for example the latest part of the stream. At least
            1/ν − 1 are needed.

        Examples
        --------
        >>> import numpy as np
        >>> from hinge import OnlineNoveltyDetector
        >>> rng = np.random.default_rng(0)
        >>> drift = np.linspace(0, 3, 6000)[:, None] + rng.normal(size=(6000, 2))
        >>> model = OnlineNoveltyDetector(nu=0.05).fit(drift[:5000])
        >>> later = 3 + rng.normal(size=(4000, 2))
        >>> model = model.calibrate(3 + rng.normal(size=(1000, 2)))
        >>> bool(np.mean(model.predict(later) == -1) < 0.07)
        True
        """
        scores = np.sort(self.score_samples(X))
        rank = int(np.floor(self.nu * (len(scores) + 1) * (1 + EXACT)))
        if rank < 1:
            raise ValueError(
                f"X has {len(scores)} samples, but nu={self.nu:g} needs at least {int(np.ceil(1 / self.nu - 1))}: pass "
                "more samples, or use a larger nu"
            )
        self._threshold = float(scores[min(rank, len(scores)) - 1])
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn X from scratch, in `n_passes` passes; `y` is ignored."""
        self._discard_threshold()
        return self._fit(X, None)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn samples in their order. The result is the same, bit for bit, for one call or for one per sample."""
        self._learn(X, None)
        self._discard_threshold()
        return self

    def learn_one(self, x: Any) -> Self:
        """Learn one sample, without the overhead of scikit-learn's validation."""
        self._learn_one(x, None)
        self._discard_threshold()
        return self

    def _discard_threshold(self) -> None:
        self.__dict__.pop("_threshold", None)

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if not isinstance(vars(self).get("_threshold", 0.0), float):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def score_samples(self, X: Any) -> Array:
        """f at each row of X: large near the samples learned."""
        return self._decide(X)[:, 0]

    def decision_function(self, X: Any) -> Array:
        """f − `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)

    def score_one(self, x: Any) -> float:
        """`decision_function` of one sample."""
        return float(self._decide_one(x)) - self.offset_
