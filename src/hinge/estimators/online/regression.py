"""Online regression: `OnlineSVR`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.estimators.common.rules import POSITIVE, Flag, Number, Rule
from hinge.estimators.online.base import OnlineEstimator
from hinge.estimators.online.options import ONLINE_RULES, OnlineLoss, warn_if_unscaled
from hinge.online import online_loss
from hinge.problems import Array
from hinge.validation import as_number


class OnlineSVR(RegressorMixin, OnlineEstimator):
    """Regression on a stream, one gradient step per sample.                             LwK (10.135) to (10.140)

    Parameters
    ----------
    loss : str or hinge.losses.Loss, default="epsilon_insensitive"
        "epsilon_insensitive", max(0, |e| − ε); "squared", ½e², for which every sample is a support vector; "huber",
        e²/2σ up to |e| = σ and |e| − σ/2 beyond; or another loss of the residual with a quadratic conjugate:
        "squared_epsilon_insensitive", "laplace", "gaussian".
    epsilon : float, default=0.1
        ε; its initial value if `nu` is given.
    sigma : float, default=1.0
        σ of Huber's loss; its initial value if `nu` is given.
    nu : float in (0, 1] or None, default=None
        The width, ε or σ, adapts such that a fraction ν of the samples is outside: (10.137), (10.140). None: fixed.
    regularization : float, default=0.01
        λ. A step multiplies all earlier coefficients by 1 − λΛₜ.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Precomputed kernels
        and Python functions are not supported.
    degree, gamma, coef0
        As in `SVC`, but the default is ``gamma="auto"``, one over the number of features, which does not depend on the
        first samples. ``"scale"`` is computed from the first batch.
    fit_intercept : bool, default=True
        Whether b is learned. It is not regularized.
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which adapts to a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.2
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
    epsilon_, sigma_ : float
        The present width. It may be negative by less than a step.
    t_ : int
        Number of samples learned.
    step_ : float
        The step Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per function.
    n_beyond_ : ndarray
        Number of samples that were outside the tube just before they were learned.
    truncation_error_ : float
        Bound on ‖f − f_trunc‖ from the terms that the budget has removed.                            docs/math (409)
    truncation_bound_ : float
        A-priori bound on the same norm: LwK (10.130).                                            docs/math (410)

    Notes
    -----
    The defaults are meant for targets with a standard deviation of about 1. The slopes of all losses but "squared" are
    at most 1, and a step changes the function by at most `eta0`. `fit` warns if this is not enough. Standardize y: for
    a stream with a mean and a standard deviation that are known in advance, for a batch with
    ``TransformedTargetRegressor(OnlineSVR(), transformer=StandardScaler())``.

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

    _rules: ClassVar[Mapping[str, Rule]] = {
        "loss": OnlineLoss("residual", ("epsilon_insensitive", "squared", "huber")),
        "epsilon": Number(0.0),
        "sigma": POSITIVE,
        "nu": Number(0.0, 1.0, open_low=True, optional=True),
        "regularization": Number(0.0),
        "fit_intercept": Flag(),
        **ONLINE_RULES,
    }

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
        max_time=None,
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
        self.max_time = max_time

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.nu is not None and self.loss not in ("epsilon_insensitive", "huber"):
            raise ValueError(
                f"nu={self.nu!r} needs a width: loss='epsilon_insensitive' or 'huber', not {self.loss!r}"
            )

    def _regularization(self) -> float:
        return as_number("regularization", self.regularization)

    def _loss_options(self) -> dict[str, Any]:
        loss = online_loss(self.loss, "residual", {"epsilon": float(self.epsilon), "sigma": float(self.sigma)})
        width = {"epsilon_insensitive": self.epsilon, "huber": self.sigma}.get(loss["loss"], 0.0)
        nu = -1.0 if self.nu is None else float(self.nu)
        return {**loss, "offset": bool(self.fit_intercept), "nu": nu, "level": float(width)}

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
            raise ValueError(f"y={y!r} is not a number; every sample needs a finite target") from None

    @property
    def epsilon_(self) -> float:
        """The present value of ε."""
        return self._width("epsilon_insensitive", "ε")

    @property
    def sigma_(self) -> float:
        """The present value of σ."""
        return self._width("huber", "σ")

    def _width(self, loss: str, symbol: str) -> float:
        check_is_fitted(self)
        learner = self._learner
        if learner.options.loss != loss:
            raise AttributeError(f"loss={learner.options.loss!r} has no {symbol}")
        return float(learner.level[0])

    def fit(self, X: Any, y: Any) -> Self:
        """Learn X from scratch, in `n_passes` passes."""
        self._fit(X, y)
        warn_if_unscaled(self, np.asarray(y, dtype=np.float64))
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn samples in their order. The result is the same, bit for bit, for one call or for one per sample."""
        self._learn(X, y)
        return self

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one sample, a vector and a number, without the overhead of scikit-learn's validation."""
        self._learn_one(x, y)
        return self

    def predict_then_learn(self, X: Any, y: Any) -> Array:
        """Learn samples as `partial_fit`, and return the prediction for each just before it was learned."""
        return self._learn(X, y)[:, 0]

    def predict(self, X: Any) -> Array:
        """The value of g at each row of X."""
        return self._decide(X)[:, 0]

    def predict_one(self, x: Any) -> float:
        """`predict` of one sample."""
        return float(self._decide_one(x))
