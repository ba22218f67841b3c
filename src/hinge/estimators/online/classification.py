"""Online classification: `OnlineSVC` and `OnlineNuSVC`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hinge.estimators.online.base import OnlineMachine
from hinge.problems import Array
from hinge.validation import check_choice, check_flag, check_number

LOSSES = ("hinge", "perceptron")


class OnlineClassifier(ClassifierMixin, OnlineMachine):
    """Labels: ±1 of two classes, one machine against the rest for each of several."""

    classes_: NDArray[Any]
    _codes: dict[Any, float]
    _transient: ClassVar[tuple[str, ...]] = ("_live", "_codes")

    def _n_machines(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _learn_labels(self, y: Any, classes: Any) -> None:
        if classes is None:
            classes = self._check_labels(y)
        found = np.unique(column_or_1d(classes))
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError("classes contains NaN or infinity; every class needs a label")
        if len(found) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(found)} class: name all classes of the "
                "stream in the first partial_fit(X, y, classes=[...])"
            )
        self.classes_ = found
        self.__dict__.pop("_codes", None)

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(np.unique(column_or_1d(classes)), self.classes_):
            raise ValueError(
                f"`classes={list(classes)!r}` is not the same as on last call to partial_fit, was: "
                f"{self.classes_.tolist()}; fit again to learn other classes"
            )

    @staticmethod
    def _check_labels(y: Any) -> NDArray[Any]:
        if y is None:
            raise ValueError("an online classifier requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity; every sample needs a label")
        if y.dtype.kind not in "biuSU":
            try:
                check_classification_targets(y)
            except TypeError as error:
                raise ValueError(f"labels must be of one kind that can be sorted, without None: {error}") from None
        return y

    def _targets(self, y: Any, n: int) -> Array:
        y = self._check_labels(y)
        check_consistent_length(y, np.empty(n))
        code = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = self.classes_[code] != y
        if np.any(unknown):
            raise self._late(y[unknown][:1].tolist()[0])
        return np.asarray(2.0 * code - 1.0 if len(self.classes_) == 2 else code, dtype=np.float64)

    def _target_of(self, y: Any) -> float:
        codes = self.__dict__.get("_codes")
        if codes is None:
            target_of = (-1.0, 1.0) if len(self.classes_) == 2 else np.arange(float(len(self.classes_))).tolist()
            codes = self._codes = dict(zip(self.classes_.tolist(), target_of, strict=True))
        target = codes.get(y) if isinstance(y, Hashable) else None
        if target is None:
            raise self._late(y)
        return target

    def _late(self, label: Any) -> ValueError:
        return ValueError(
            f"y has the label {label!r}, which is none of classes_ {self.classes_.tolist()}: name every class in the "
            "first partial_fit(X, y, classes=[...]), or fit again. The model is as it was"
        )

    def fit(self, X: Any, y: Any) -> Self:
        """Learn X from scratch: `n_passes` times, in the order of the rows unless `shuffle`.

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
        """Learn samples in their order; n samples at once or one after the other give the same bits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows of a sparse matrix are made dense one at a time.
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All labels that will ever come; in the first call, unless `y` has them all. A label that is none of them is
            an error, and the model stays as it was.

        Returns
        -------
        self
        """
        self._learn(X, y, classes)
        return self

    def learn_one(self, x: Any, y: Any, classes: Any = None) -> Self:
        """Learn one sample (a vector and its label), without scikit-learn's cost per call."""
        self._learn_one(x, y, classes)
        return self

    def predict_then_learn(self, X: Any, y: Any, classes: Any = None) -> NDArray[Any]:
        """`partial_fit` that returns the label predicted for each sample just before it was learned."""
        return self._labels(self._learn(X, y, classes))

    def _labels(self, values: Array) -> NDArray[Any]:
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(np.intp)]
        return self.classes_[np.argmax(values, axis=1)]

    def decision_function(self, X: Any) -> Array:
        """g(x): positive for ``classes_[1]`` of two classes; one column per class of several."""
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


class OnlineSVC(OnlineClassifier):
    """Soft margin classification of a stream, one gradient step per sample.                    LwK 10.6.3, (10.131)

    f moves by the gradient of max(0, 1 − y g(x)) + λ/2 ‖f‖², g = f + b, at each sample as it comes. With several
    classes, one machine against the rest for each; all of them share their terms.

    Parameters
    ----------
    loss : {"hinge", "perceptron"}, default="hinge"
        max(0, 1 − y g), or max(0, −y g): the kernel perceptron, with or without regularisation (10.133).
    regularization : float, default=0.01
        λ: how fast the past is forgotten. With n samples and mean loss it stands for C = 1/(λn). 0 forgets nothing.
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
    eta0 : float, default=0.5
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
    classes_ : ndarray
    t_ : int
        Samples learned.
    step_ : float
        Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per machine.
    n_beyond_ : ndarray
        For every machine the samples short of the margin when they came: those it learned from.
    truncation_error_ : float
        A bound on ‖f − f_trunc‖ from the terms that the budget has cut off.                          docs/math (409)
    truncation_bound_ : float
        The same in advance: LwK (10.130).                                                        docs/math (410)

    Notes
    -----
    Parameters are read when learning begins: `fit`, or the first `partial_fit` or `learn_one`.

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

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_number("regularization", self.regularization, 0.0)
        check_flag("fit_intercept", self.fit_intercept)
        super()._check_parameters()

    def _regularization(self) -> float:
        return float(self.regularization)

    def _loss_options(self) -> dict[str, Any]:
        return {"loss": self.loss, "offset": bool(self.fit_intercept)}


class OnlineNuSVC(OnlineClassifier):
    """Classification of a stream with a margin that adapts: a share ν of the samples falls short of it.    LwK (10.132)

    Minimises max(0, ρ − y g(x)) − νρ + ½‖f‖² in f, b and ρ, one gradient step per sample.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        The share of margin errors that ρ settles at. In the batch problem it can be at most twice the share of the
        smaller class; beyond that ρ grows without end.
    kernel : str or Kernel, default="rbf"
        "linear", "poly", "rbf", "sigmoid", "laplacian", "bspline", or an object of `hinge.kernels`. Not precomputed and
        no Python function.
    degree, gamma, coef0
        As in `SVC`, but ``gamma="auto"`` (one over the number of features) is the default: it does not depend on which
        samples come first. ``"scale"`` is found from the first batch.
    fit_intercept : bool, default=True
    learning_rate : {"constant", "invscaling"}, default="constant"
        The step Λₜ is ``eta0``, which follows a stream that changes, or ``eta0 / t**power_t``.
    eta0 : float, default=0.01
        A step must be small beside the margin, which is of the order of ν.
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
    classes_ : ndarray
    margin_ : ndarray
        ρ of every machine.
    t_ : int
        Samples learned.
    step_ : float
        Λ of the next sample.
    support_vectors_, dual_coef_, intercept_
        The expansion, oldest term first; one row of coefficients per machine.
    n_beyond_ : ndarray
        For every machine the number of margin errors so far: ``n_beyond_ / t_`` tends to ν.
    truncation_error_ : float
        A bound on ‖f − f_trunc‖ from the terms that the budget has cut off.                          docs/math (409)
    truncation_bound_ : float
        The same in advance: LwK (10.130).                                                        docs/math (410)

    Notes
    -----
    There is no λ: another one is another learning rate (docs/math (406)).

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

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, 0.0, 1.0, open_low=True)
        check_flag("fit_intercept", self.fit_intercept)
        super()._check_parameters()

    def _loss_options(self) -> dict[str, Any]:
        return {"loss": "nu_margin", "offset": bool(self.fit_intercept), "nu": float(self.nu)}

    @property
    def margin_(self) -> Array:
        """ρ of every machine."""
        check_is_fitted(self)
        return self._learner.level
