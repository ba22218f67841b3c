"""Online regression and novelty detection: `OnlineSVR` and `OnlineNoveltyDetector`."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.estimators.online.base import OnlineMachine
from hinge.problems import Array
from hinge.validation import check_choice, check_flag, check_number

#: All steps together should be able to go FAR times as far as the targets spread, where these are not standardised.
FAR = 10.0
WIDE = 2.0

LOSSES = ("epsilon_insensitive", "squared", "huber")


class OnlineSVR(RegressorMixin, OnlineMachine):
    """Regression on a stream, one gradient step per sample.                             LwK (10.135) to (10.140)

    Parameters
    ----------
    loss : {"epsilon_insensitive", "squared", "huber"}, default="epsilon_insensitive"
        max(0, |e| − ε); ½e², which keeps every sample; e²/2σ up to |e| = σ and |e| − σ/2 beyond.
    epsilon : float, default=0.1
        ε; where it starts if `nu` is given.
    sigma : float, default=1.0
        σ of Huber's loss; where it starts if `nu` is given.
    nu : float in (0, 1] or None, default=None
        The width, ε or σ, moves until a share ν of the samples is outside: (10.137), (10.140). None leaves it fixed.
    regularization : float, default=0.01
        λ: how fast the past is forgotten.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Not precomputed and
        no Python function.
    degree, gamma, coef0
        As in `SVC`, but ``gamma="auto"`` (one over the number of features) is the default: it does not depend on which
        samples come first. ``"scale"`` is found from the first batch.
    fit_intercept : bool, default=True
        Whether b is learned. It is not shrunk.
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which follows a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.2
    power_t : float, default=0.5
        Of "invscaling": the default is 1/√t.
    budget : int or None, default=1000
        Terms of the expansion at most; when it is full the oldest makes room. None keeps all.
    n_passes : int, default=1
        How often `fit` goes through its data. `partial_fit` does it once.
    shuffle : bool, default=False
        Whether `fit` takes the samples in random order; otherwise in theirs.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads for prediction.

    Attributes
    ----------
    epsilon_, sigma_ : float
        The width now. It may dip below zero by less than a step.
    t_ : int
        Samples learned.
    step_ : float
        Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per machine.
    n_beyond_ : ndarray
        Samples outside the width when they came.
    truncation_error_ : float
        A bound on ‖f − f_trunc‖ from the terms that the budget has cut off.                          docs/math (409)
    truncation_bound_ : float
        The same in advance: LwK (10.130).                                                        docs/math (410)

    Notes
    -----
    The defaults are made for targets of a spread of about 1. The slope of all losses but "squared" is at most 1, so
    that a step moves the function by `eta0` at most, however far it is from its target: `fit` warns where that cannot
    suffice. Standardise y, for a stream by a mean and a spread that are known in advance; for a batch
    ``TransformedTargetRegressor(OnlineSVR(), transformer=StandardScaler())`` does it.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import OnlineSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(20000, 1)); y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=20000)
    >>> model = OnlineSVR(nu=0.2, gamma=1.0, eta0=0.05).fit(X, y)
    >>> bool(np.mean(np.abs(model.predict(X) - np.sin(X[:, 0]))) < 0.1)
    True
    >>> bool(abs(model.n_beyond_[0] / model.t_ - 0.2) < 0.02)
    True
    """

    def __init__(
        self,
        *,
        loss="epsilon_insensitive",
        epsilon=0.1,
        sigma=1.0,
        nu=None,
        regularization=0.01,
        fit_intercept=True,
        kernel="rbf",
        degree=3,
        gamma="auto",
        coef0=0.0,
        learning_rate="constant",
        eta0=0.2,
        power_t=0.5,
        budget=1000,
        n_passes=1,
        shuffle=False,
        random_state=None,
        n_jobs=None,
    ):
        self.loss = loss
        self.epsilon = epsilon
        self.sigma = sigma
        self.nu = nu
        self.regularization = regularization
        self.fit_intercept = fit_intercept
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

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_number("epsilon", self.epsilon, 0.0)
        check_number("sigma", self.sigma, 0.0, open_low=True)
        if self.nu is not None:
            check_number("nu", self.nu, 0.0, 1.0, open_low=True)
            if self.loss == "squared":
                raise ValueError(f"nu={self.nu!r} needs a width: loss='epsilon_insensitive' or 'huber', not 'squared'")
        check_number("regularization", self.regularization, 0.0)
        check_flag("fit_intercept", self.fit_intercept)
        super()._check_parameters()

    def _regularization(self) -> float:
        return float(self.regularization)

    def _loss_options(self) -> dict[str, Any]:
        width = {"epsilon_insensitive": self.epsilon, "huber": self.sigma}.get(self.loss, 0.0)
        nu = -1.0 if self.nu is None else float(self.nu)
        return {"loss": self.loss, "offset": bool(self.fit_intercept), "nu": nu, "level": float(width)}

    def _targets(self, y: Any, n: int) -> Array:
        if y is None:
            raise ValueError("OnlineSVR requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True, dtype=np.float64)
        check_consistent_length(y, np.empty(n))
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a finite target")
        return np.ascontiguousarray(y)

    def _target_of(self, y: Any) -> float:
        try:
            return float(y)
        except (TypeError, ValueError):
            raise ValueError(f"y={y!r} is no number; every sample needs a finite target") from None

    @property
    def epsilon_(self) -> float:
        """ε as it is now."""
        return self._width("epsilon_insensitive", "ε")

    @property
    def sigma_(self) -> float:
        """σ as it is now."""
        return self._width("huber", "σ")

    def _width(self, loss: str, symbol: str) -> float:
        check_is_fitted(self)
        learner = self._learner
        if learner.options.loss != loss:
            raise AttributeError(f"loss={learner.options.loss!r} has no {symbol}")
        return float(learner.level[0])

    def fit(self, X: Any, y: Any) -> Self:
        """Learn X from scratch: `n_passes` times, in the order of the rows unless `shuffle`."""
        self._fit(X, y)
        self._warn_of_scale(np.asarray(y, dtype=np.float64))
        return self

    def _warn_of_scale(self, y: Array) -> None:
        """Losses of bounded slope move by a step at a time, however far the target is."""
        power = 0.0 if self.learning_rate == "constant" else float(self.power_t)
        steps = self.n_passes * y.shape[0]
        way, spread = float(self.eta0) * float(np.sum(np.arange(1, steps + 1) ** -power)), float(np.std(y))
        if self.loss == "squared" or spread < WIDE or way >= FAR * spread:
            return
        warnings.warn(
            f"the targets spread over {spread:.3g}, and a step moves the function by eta0={self.eta0:g} at most: "
            f"{steps} steps do not get far. Standardise y (TransformedTargetRegressor with StandardScaler), raise "
            "eta0, or use loss='squared', whose steps grow with the error",
            UserWarning,
            stacklevel=3,
        )

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn samples in their order; n samples at once or one after the other give the same bits."""
        self._learn(X, y)
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one sample (a vector and a number), without scikit-learn's cost per call."""
        self._learn_one(x, y)
        return self

    def predict_then_learn(self, X: Any, y: Any) -> Array:
        """`partial_fit` that returns what was predicted for each sample just before it was learned."""
        return self._learn(X, y)[:, 0]

    def predict(self, X: Any) -> Array:
        """The value of g at each row of X."""
        return self._decide(X)[:, 0]

    def predict_one(self, x: Any) -> float:
        """`predict` of one sample."""
        return float(self._decide_one(x))


class OnlineNoveltyDetector(OutlierMixin, OnlineMachine):
    """Warns of samples unlike those before: a share ν of the stream.            LwK (10.134), Algorithm 10.6

    Minimises max(0, ρ − f(x)) − νρ + ½‖f‖² in f and ρ, one gradient step per sample.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        The share of alerts that ρ settles at.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Not precomputed and
        no Python function.
    degree, gamma, coef0
        As in `SVC`, but ``gamma="auto"`` (one over the number of features) is the default: it does not depend on which
        samples come first. ``"scale"`` is found from the first batch.
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which follows a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.01
        A step must be small beside ρ, which is of the order of ν.
    power_t : float, default=0.5
        Of "invscaling": the default is 1/√t.
    budget : int or None, default=1000
        Terms of the expansion at most; when it is full the oldest makes room. None keeps all.
    n_passes : int, default=1
        How often `fit` goes through its data. `partial_fit` does it once.
    shuffle : bool, default=False
        Whether `fit` takes the samples in random order; otherwise in theirs.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Threads for prediction.

    Attributes
    ----------
    offset_ : float
        ρ: ``decision_function = score_samples - offset_``.
    t_ : int
        Samples learned.
    step_ : float
        Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per machine.
    n_beyond_ : ndarray
        The number of alerts so far: ``n_beyond_ / t_`` tends to ν.
    truncation_error_ : float
        A bound on ‖f − f_trunc‖ from the terms that the budget has cut off.                          docs/math (409)
    truncation_bound_ : float
        The same in advance: LwK (10.130).                                                        docs/math (410)

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

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        super()._check_parameters()

    def _loss_options(self) -> dict[str, Any]:
        return {"loss": "novelty", "offset": False, "nu": float(self.nu)}

    def _targets(self, y: Any, n: int) -> Array:
        return np.ones(n)

    def _target_of(self, y: Any) -> float:
        return 1.0

    @property
    def offset_(self) -> float:
        """ρ."""
        check_is_fitted(self)
        return float(self._learner.level[0])

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn X from scratch: `n_passes` times, in the order of the rows unless `shuffle`.  `y` is ignored."""
        return self._fit(X, None)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn samples in their order; n samples at once or one after the other give the same bits."""
        self._learn(X, None)
        return self

    def learn_one(self, x: Any) -> Self:
        """Learn one sample, without scikit-learn's cost per call."""
        self._learn_one(x, None)
        return self

    def score_samples(self, X: Any) -> Array:
        """f at each row of X: large where samples were."""
        return self._decide(X)[:, 0]

    def decision_function(self, X: Any) -> Array:
        """f − ρ: negative for an alert."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for what was to be expected, −1 for news."""
        return np.where(self.decision_function(X) >= 0, 1, -1).astype(np.intp)

    def score_one(self, x: Any) -> float:
        """`decision_function` of one sample."""
        return float(self._decide_one(x)) - self.offset_
