"""Methods that the online estimators share: learning, decision values, properties of the expansion, saving.

An estimator holds a `Learner`. It is created by `fit`, or by the first `partial_fit` or `learn_one`. Files and pickles
contain its state as arrays, from which the learner is restored when it is needed.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.control import RunControl, effective_n_jobs
from hinge.estimators.common.description.forecast import FEW_ONLINE_SAMPLES, ForecastMixin, data_shape
from hinge.estimators.common.description.summary import SummaryMixin
from hinge.estimators.common.exclusive import lock_of
from hinge.estimators.common.report import rollback
from hinge.estimators.common.rules import Rule
from hinge.estimators.common.validation import validate_features
from hinge.estimators.online.options import (
    check_online_parameters,
    needs_variance,
    online_kernel,
    online_options,
    warn_if_nearly_equal,
)
from hinge.kernels import Kernel
from hinge.matrices import check_sparse
from hinge.online import Learner, OnlineOptions, OnlineState
from hinge.problems import Array
from hinge.validation import as_floats

#: Samples that `fit` learns before it first checks its time limit, and seconds between later checks.
FIRST_CHUNK, CHUNK_SECONDS = 64, 0.03


class OnlineEstimator(SummaryMixin, ForecastMixin, BaseEstimator):
    """Base class of `OnlineSVC`, `OnlineNuSVC`, `OnlineSVR` and `OnlineNoveltyDetector`.

    Parameters are read when learning begins: by `fit`, or by the first `partial_fit` or `learn_one`.
    """

    #: Rules of the parameters, by name.
    _rules: ClassVar[Mapping[str, Rule]]

    #: The learner; or its state if the estimator was loaded from a file or a pickle.
    _live: Learner
    _state: OnlineState

    #: Attributes that are not written to model files.
    _transient: ClassVar[tuple[str, ...]] = ("_live",)

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the method for `hinge.solvers.explain`. The estimator is not changed."""
        self._check_parameters()
        (n, _), budget = data_shape(X, y), "no limit" if self.budget is None else f"at most {self.budget}"
        reasons = (
            f"{n} samples, learned one by one: a step costs one kernel value for each term of the expansion ({budget})",
        )
        return solvers.explain_method("stochastic_gradient", reasons, n, 1, "", online=True)

    def _alternative(self, n: int) -> str:
        if n > FEW_ONLINE_SAMPLES:
            return ""
        names = {"OnlineSVC": "SVC", "OnlineNuSVC": "NuSVC", "OnlineSVR": "SVR", "OnlineNoveltyDetector": "OneClassSVM"}
        return f"{names[type(self).__name__]}, if the samples are no stream: it returns the optimum, with a certificate"

    # ---- what differs between the estimators --------------------------------------------------------------------

    @abstractmethod
    def _loss_options(self) -> dict[str, Any]:
        """The loss and its parameters, as options of the learner."""

    @abstractmethod
    def _targets(self, y: Any, n: int) -> Array:
        """Convert y to the targets of the learner: ±1, numbers, or indices of classes."""

    @abstractmethod
    def _target_of(self, y: Any) -> float:
        """Convert the label or the target of one sample."""

    def _regularization(self) -> float:
        """λ. It is 1 for the estimators with ν: another λ is equivalent to another learning rate (docs/math (406))."""
        return 1.0

    def _n_functions(self) -> int:
        return 1

    def _set_classes(self, y: Any, classes: Any) -> None:
        """Determine the classes of a classifier before it learns."""

    def _check_classes(self, classes: Any) -> None:
        """Raise a ValueError if `classes` are not those with which a classifier began to learn."""

    # ---- learning -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_online_parameters(self, self._rules, self._regularization())

    def _options(self) -> OnlineOptions:
        return online_options(self, self._regularization(), self._n_functions(), self._loss_options())

    def _validate_X(self, X: Any, reset: bool) -> Any:
        return validate_features(self, X, reset)

    @property
    def _learner(self) -> Learner:
        learner = self.__dict__.get("_live")
        if learner is None:
            check_is_fitted(self)
            with lock_of(self):  # another thread may restore the learner at the same time
                learner = self.__dict__.get("_live")
                if learner is None:
                    learner = self._live = Learner.of(self._state, self.n_features_in_)
                    del self._state
        return learner

    def _is_new(self) -> bool:
        """Whether the estimator has not learned any sample.

        Another thread may replace `_state` by `_live` at the same time; the order of the two conditions matters.
        """
        return "_state" not in vars(self) and "_live" not in vars(self)

    def _start(self, X: Any, y: Any, classes: Any) -> tuple[Any, Array]:
        """Validate the first samples and create the learner; return the samples and their targets."""
        self._check_parameters()
        X = self._validate_X(X, reset=True)
        self._set_classes(y, classes)
        targets = self._targets(y, X.shape[0])
        kernel = online_kernel(self)
        if needs_variance(kernel) and X.shape[0] == 1:
            raise ValueError(
                "gamma='scale' needs the variance of the data, which one sample does not determine: pass a number or "
                "gamma='auto', or begin with a larger batch"
            )
        self.__dict__.pop("_state", None)
        self._live = Learner(kernel.resolve(X), self._options(), self.n_features_in_)
        return X, targets

    def _fit(self, X: Any, y: Any) -> Self:
        """Learn from scratch in `n_passes` passes over the samples."""
        control = RunControl(self.max_time)
        with rollback(self):
            X, targets = self._start(X, y, None)
            random = check_random_state(self.random_state)
            learned = 0
            for _ in range(self.n_passes):
                order = random.permutation(X.shape[0]) if self.shuffle else None
                learned += self._pass(X, targets, order, control)
        if learned < self.n_passes * X.shape[0]:
            warnings.warn(
                f"max_time={self.max_time} s ended the training after {learned} of {self.n_passes * X.shape[0]} "
                "samples; the model of these samples is kept. Allow more time, or use a smaller budget",
                ConvergenceWarning,
                stacklevel=3,
            )
        warn_if_nearly_equal(self, X)
        return self

    def _pass(self, X: Any, targets: Array, order: Any, control: RunControl) -> int:
        """Learn all samples once, in this order or that of the data, until the deadline; return their number."""
        n = X.shape[0]
        if control.deadline is None:
            self._live.learn(X if order is None else X[order], targets if order is None else targets[order])
            return n
        first, length = 0, FIRST_CHUNK
        while first < n and (first == 0 or not control.expired()):
            last, start = min(n, first + length), time.monotonic()
            rows = slice(first, last) if order is None else order[first:last]
            self._live.learn(X[rows], targets[rows])
            seconds = max(time.monotonic() - start, 1e-6)
            length = int(max(1, min(2 * length, length * CHUNK_SECONDS / seconds)))
            first = last
        return first

    def _learn(self, X: Any, y: Any, classes: Any = None) -> Array:
        """Learn samples in their order; return the decision values of each just before it was learned."""
        if self._is_new():
            with lock_of(self):  # only one of several threads creates the learner
                if self._is_new():
                    with rollback(self):
                        X, targets = self._start(X, y, classes)
                        return self._live.learn(X, targets)
        X = self._validate_X(X, reset=False)
        self._check_classes(classes)
        self._check_unchanged(X)
        return self._learner.learn(X, self._targets(y, X.shape[0]))

    def _learn_one(self, x: Any, y: Any, classes: Any = None) -> None:
        if self._is_new():
            self._learn(_as_row(x)[None, :], None if y is None else [y], classes)
            return
        if classes is not None:
            self._check_classes(classes)
        self._learner.learn_one(_as_row(x), self._target_of(y))

    def _check_unchanged(self, X: Any) -> None:
        """Raise a ValueError if a parameter was changed after learning began."""
        now, first = vars(self._options()), vars(self._learner.options)
        kernel = online_kernel(self)
        if not needs_variance(kernel):  # the samples that determined gamma="scale" are not stored
            now, first = now | {"kernel": kernel.resolve(X)}, first | {"kernel": self._learner.kernel}
        changed = [name for name in now if now[name] != first[name]]
        if changed:
            name = changed[0]
            raise ValueError(
                f"parameters have changed since learning began ({name} was {first[name]!r}, is {now[name]!r}), but "
                "they are read only then: restore them, or fit a clone"
            )

    # ---- decision values ----------------------------------------------------------------------------------------

    def _decide(self, X: Any) -> Array:
        """g of all functions, (n_rows × n_functions)."""
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        model = self._learner.model()
        if len(model.vectors) == 0:
            return np.tile(model.intercept, (X.shape[0], 1))
        return model.decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def _decide_one(self, x: Any) -> Any:
        return self._learner.decide_one(_as_row(x))

    # ---- properties of the expansion ----------------------------------------------------------------------------

    @property
    def t_(self) -> int:
        """Number of samples learned."""
        check_is_fitted(self)
        return self._learner.seen

    @property
    def step_(self) -> float:
        """The step Λ of the next sample."""
        check_is_fitted(self)
        return float(self._learner.options.steps(np.array([self._learner.seen + 1.0]))[0])

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its parameters resolved."""
        check_is_fitted(self)
        return self._learner.kernel

    @property
    def support_vectors_(self) -> Array:
        """The samples of the expansion, oldest first."""
        check_is_fitted(self)
        return self._learner.model().vectors

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the expansion, one row per function."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._learner.model().coefficients.T)

    @property
    def n_support_(self) -> int:
        """Number of terms of the expansion."""
        check_is_fitted(self)
        return self._learner.terms

    @property
    def intercept_(self) -> Array:
        """b of every function."""
        check_is_fitted(self)
        return self._learner.offset

    @property
    def n_beyond_(self) -> NDArray[np.int64]:
        """Number of samples that violated the margin, or were outside the tube, just before they were learned."""
        check_is_fitted(self)
        return self._learner.beyond

    @property
    def truncation_error_(self) -> float:
        """Bound on the norm of the terms that the budget has removed, with their present coefficients.

        It is the largest over all functions. |f(x) − f_trunc(x)| is at most this bound times k(x, x)^½, where f has the
        same coefficients and all terms.
        """
        check_is_fitted(self)
        return float(self._learner.truncation_error().max())

    @property
    def truncation_bound_(self) -> float:
        """The a-priori bound (10.130) of Learning with Kernels; infinite if it does not apply."""
        check_is_fitted(self)
        return self._learner.truncation_bound()

    # ---- scikit-learn and files ---------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return not self._is_new()

    def _plain(self) -> dict[str, Any]:
        """Return the attributes, with the learner as arrays."""
        attributes = {key: value for key, value in vars(self).items() if key not in self._transient}
        if "_live" in vars(self):
            attributes["_state"] = self._live.state()
        return attributes

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        version = {key: state[key] for key in state if key == "_sklearn_version"}
        return self._plain() | version

    def _check_loaded(self) -> None:
        """Raise a ValueError if the attributes that were read from a file do not belong together."""
        features = vars(self).get("n_features_in_")
        if not isinstance(features, int) or self._learner.options.machines != self._n_functions():
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _as_row(x: Any) -> Array:
    """Return one sample as a vector of float64."""
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64 and x.flags.c_contiguous:
        return x
    if sp.issparse(x):
        check_sparse(x, "x")
    row = x.toarray() if sp.issparse(x) else as_floats(x, "x")
    if row.ndim == 2 and row.shape[0] == 1:
        row = row[0]
    if row.ndim != 1:
        raise ValueError(f"x has shape {row.shape}, but one sample is a vector; use partial_fit for several samples")
    return np.ascontiguousarray(row, dtype=np.float64)
