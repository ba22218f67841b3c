"""Online classification: `OnlineSVC` and `OnlineNuSVC`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.estimators.common.rules import Flag, Number, Rule
from hinge.estimators.online.base import OnlineEstimator
from hinge.estimators.online.options import ONLINE_RULES, OnlineLoss
from hinge.online import online_loss
from hinge.problems import Array
from hinge.validation import as_number


class OnlineClassifier(ClassifierMixin, OnlineEstimator):
    """Base class of the online classifiers.

    The targets of the learner are ±1 for two classes. For more classes they are indices, and there is one function per
    class against the rest.
    """

    classes_: NDArray[Any]

    #: Target of every label; computed when `learn_one` is first called.
    _codes: dict[Any, float]
    _transient: ClassVar[tuple[str, ...]] = ("_live", "_codes")

    def _n_functions(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _set_classes(self, y: Any, classes: Any) -> None:
        labels = np.unique(column_or_1d(_check_labels(y) if classes is None else classes))
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("classes contains NaN or infinity; every class needs a label")
        if len(labels) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(labels)} class: name all classes of the "
                "stream in the first partial_fit(X, y, classes=[...])"
            )
        self.classes_ = labels
        self.__dict__.pop("_codes", None)

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            raise ValueError(
                f"`classes={list(classes)!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_.tolist()}; fit again to learn other classes"
            )

    def _targets(self, y: Any, n: int) -> Array:
        y = _check_labels(y)
        check_consistent_length(y, np.empty(n))
        code = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[code] != y
        if np.any(unknown):
            raise self._unknown_label(y[unknown][:1].tolist()[0])
        return np.asarray(2.0 * code - 1.0 if len(self.classes_) == 2 else code, dtype=np.float64)

    def _target_of(self, y: Any) -> float:
        codes = self.__dict__.get("_codes")
        if codes is None:
            targets = (-1.0, 1.0) if len(self.classes_) == 2 else np.arange(float(len(self.classes_))).tolist()
            codes = self._codes = dict(zip(self.classes_.tolist(), targets, strict=True))
        target = codes.get(y) if isinstance(y, Hashable) else None
        if target is None:
            raise self._unknown_label(y)
        return target

    def _unknown_label(self, label: Any) -> ValueError:
        return ValueError(
            f"y has the label {label!r}, which is not in classes_ {self.classes_.tolist()}: name every class in the "
            "first partial_fit(X, y, classes=[...]), or fit again. The model was not changed"
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Learn X from scratch, in `n_passes` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn samples in their order. The result is the same, bit for bit, for one call or for one per sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of a sparse matrix are converted to dense vectors one at a time.
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All labels of the stream. The first call needs them unless `y` contains them all. Later, other labels are an
            error that does not change the model.

        Returns
        -------
        self
        """
        self._learn(X, y, classes)
        return self

    def learn_one(self, x: Any, y: Any, classes: Any = None) -> Self:
        """Learn one sample, a vector and its label, without the overhead of scikit-learn's validation."""
        self._learn_one(x, y, classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> NDArray[Any]:
        """Learn samples as `partial_fit`, and return the label predicted for each just before it was learned."""
        return self._labels(self._learn(X, y, classes))

    def _labels(self, values: Array) -> NDArray[Any]:
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        return self.classes_[np.argmax(values, axis=1)]

    def decision_function(self, X: Any) -> Array:
        """g(x): positive for ``classes_[1]`` if there are two classes; otherwise one column per class."""
        values = self._decide(X)
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row of X."""
        return self._labels(self._decide(X))

    def decide_one(self, x: Any) -> Any:
        """`decision_function` of one sample."""
        return self._decide_one(x)

    def predict_one(self, x: Any) -> Any:
        """`predict` of one sample."""
        value = self._decide_one(x)
        return self.classes_[int(value > 0) if len(self.classes_) == 2 else int(np.argmax(value))]


def _check_labels(y: Any) -> NDArray[Any]:
    """Return labels as a 1-D array."""
    if y is None:
        raise ValueError("an online classifier requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a label")
    if y.dtype.kind not in "biuSU":
        try:
            check_classification_targets(y)
        except TypeError as error:
            raise ValueError(f"labels must have one type that can be sorted, without None: {error}") from None
    return y


class OnlineSVC(OnlineClassifier):
    """Soft-margin classification of a stream, one gradient step per sample.                    LwK 10.6.3, (10.131)

    Each sample moves f along the negative gradient of max(0, 1 − y g(x)) + λ/2 ‖f‖², g = f + b. With more than two
    classes there is one function per class against the rest, and all functions share their support vectors.

    Parameters
    ----------
    loss : str or hinge.losses.Loss, default="hinge"
        "hinge", max(0, 1 − y g); "perceptron", max(0, −y g): the kernel perceptron, with or without regularization
        (10.133); "logistic"; "exponential", which needs a small `eta0`; or another loss of the margin with a quadratic
        conjugate: "squared_hinge" (the online AdaTron), "modified_huber", "huberized_hinge",
        "smoothed_hinge".
    regularization : float, default=0.01
        λ. A step multiplies all earlier coefficients by 1 − λΛₜ. For n samples it corresponds to C = 1/(λn).
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
    eta0 : float, default=0.5
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
    classes_ : ndarray
    t_ : int
        Number of samples learned.
    step_ : float
        The step Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per function.
    n_beyond_ : ndarray
        For every function, the number of samples that violated the margin just before they were learned.
    truncation_error_ : float
        Bound on ‖f − f_trunc‖ from the terms that the budget has removed.                            docs/math (409)
    truncation_bound_ : float
        A-priori bound on the same norm: LwK (10.130).                                            docs/math (410)

    Notes
    -----
    Parameters are read when learning begins: by `fit`, or by the first `partial_fit` or `learn_one`.

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import OnlineSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)); y = X[:, 0] * X[:, 1] > 0
    >>> model = OnlineSVC(gamma=1.0, budget=200).partial_fit(X[:1000], y[:1000])
    >>> for x, label in zip(X[1000:], y[1000:]):
    ...     _ = model.learn_one(x, label)
    >>> model.t_, model.n_support_
    (2000, 200)
    >>> bool(np.mean(model.predict(X) == y) > 0.9)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "loss": OnlineLoss("margin", ("hinge", "perceptron", "logistic", "exponential")),
        "regularization": Number(0.0),
        "fit_intercept": Flag(),
        **ONLINE_RULES,
    }

    def __init__(
        self,
        *,
        loss="hinge",
        regularization=0.01,
        fit_intercept=True,
        kernel="rbf",
        degree=3,
        gamma="auto",
        coef0=0.0,
        learning_rate="constant",
        eta0=0.5,
        power_t=0.5,
        budget=1000,
        n_passes=1,
        shuffle=False,
        random_state=None,
        n_jobs=None,
        max_time=None,
    ):
        self.loss = loss
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

    def _regularization(self) -> float:
        return as_number("regularization", self.regularization)

    def _loss_options(self) -> dict[str, Any]:
        return {**online_loss(self.loss, "margin"), "offset": bool(self.fit_intercept)}


class OnlineNuSVC(OnlineClassifier):
    """Online classification with an adaptive margin, which a fraction ν of the samples violates.          LwK (10.132)

    Minimizes max(0, ρ − y g(x)) − νρ + ½‖f‖² in f, b and ρ, one gradient step per sample.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        Fraction of margin errors to which ρ adapts. It should be at most twice the fraction of the smaller class, the
        limit of feasibility of the batch problem; otherwise ρ grows without bound.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Precomputed kernels
        and Python functions are not supported.
    degree, gamma, coef0
        As in `SVC`, but the default is ``gamma="auto"``, one over the number of features, which does not depend on the
        first samples. ``"scale"`` is computed from the first batch.
    fit_intercept : bool, default=True
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which adapts to a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.01
        A step must be small relative to the margin, which is of the order of ν.
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
    classes_ : ndarray
    margin_ : ndarray
        ρ of every function.
    t_ : int
        Number of samples learned.
    step_ : float
        The step Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per function.
    n_beyond_ : ndarray
        For every function, the number of margin errors so far: ``n_beyond_ / t_`` converges to ν.
    truncation_error_ : float
        Bound on ‖f − f_trunc‖ from the terms that the budget has removed.                            docs/math (409)
    truncation_bound_ : float
        A-priori bound on the same norm: LwK (10.130).                                            docs/math (410)

    Notes
    -----
    There is no λ: another value is equivalent to another learning rate (docs/math (406)).

    Examples
    --------
    >>> import numpy as np
    >>> from hinge import OnlineNuSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)); y = X[:, 0] + 0.5 * rng.normal(size=20000) > 0
    >>> model = OnlineNuSVC(nu=0.3, gamma=1.0, budget=200).fit(X, y)
    >>> bool(abs(model.n_beyond_[0] / model.t_ - 0.3) < 0.01)
    True
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "nu": Number(0.0, 1.0, open_low=True),
        "fit_intercept": Flag(),
        **ONLINE_RULES,
    }

    def __init__(
        self,
        *,
        nu=0.5,
        fit_intercept=True,
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

    def _loss_options(self) -> dict[str, Any]:
        return {"loss": "nu_margin", "offset": bool(self.fit_intercept), "nu": float(self.nu)}

    @property
    def margin_(self) -> Array:
        """ρ of every function."""
        check_is_fitted(self)
        return self._learner.level
