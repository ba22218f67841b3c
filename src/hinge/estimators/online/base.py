"""What the online machines share: validation at the door, samples in their order, a state that can be saved."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from hinge.estimators.common.report import rollback
from hinge.estimators.common.validation import FLOATS
from hinge.kernels import FunctionKernel, Kernel, Precomputed, make_kernel
from hinge.online import Learner, OnlineOptions, OnlineState
from hinge.problems import Array
from hinge.validation import check_choice, check_flag, check_integer, check_number

RATES = ("constant", "invscaling")

#: Samples whose kernel values are 1 up to this on average cannot be told apart by a few steps.
SAME = 0.05


class OnlineMachine(BaseEstimator):
    """Base of `OnlineSVC`, `OnlineNuSVC`, `OnlineSVR` and `OnlineNoveltyDetector`.

    Parameters are read when learning begins: by `fit`, or by the first `partial_fit` or `learn_one`.
    """

    _live: Learner
    _state: OnlineState

    #: Stands in no file: `_state` does.
    _transient: ClassVar[tuple[str, ...]] = ("_live",)

    # ---- validation -------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_number("degree", self.degree, 0.0)
        check_number("coef0", self.coef0, -np.inf)
        check_choice("learning_rate", self.learning_rate, RATES)
        check_number("eta0", self.eta0, 0.0, open_low=True)
        check_number("power_t", self.power_t, 0.0)
        if self.budget is not None:
            check_integer("budget", self.budget, 1)
        check_integer("n_passes", self.n_passes, 1)
        check_flag("shuffle", self.shuffle)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(2**31))
            if self.n_jobs == 0:
                raise ValueError("n_jobs=0 has no meaning; use 1, or -1 for all cores")
        if self._regularization() * self.eta0 > 1:
            raise ValueError(
                f"eta0={self.eta0!r} times the regularization {self._regularization():g} is more than 1: a step would "
                "turn the function around. Lower one of them"
            )
        kernel = self._make_kernel()
        if isinstance(kernel, Precomputed | FunctionKernel):
            raise ValueError(
                f"kernel={self.kernel!r} cannot be evaluated at samples that are still to come; use a name or an "
                "object of hinge.kernels (they add and multiply)"
            )

    def _make_kernel(self) -> Kernel:
        return make_kernel(self.kernel, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    def _regularization(self) -> float:
        """λ.  ν-machines have 1: another one is another learning rate (docs/math (406))."""
        return 1.0

    def _options(self) -> OnlineOptions:
        power = 0.0 if self.learning_rate == "constant" else float(self.power_t)
        return OnlineOptions(
            rate=float(self.eta0),
            power=power,
            regularization=float(self._regularization()),
            budget=0 if self.budget is None else int(self.budget),
            machines=self._n_machines(),
            **self._loss_options(),
        )

    def _loss_options(self) -> dict[str, Any]:
        raise NotImplementedError

    def _n_machines(self) -> int:
        return 1

    def _validate_X(self, X: Any, reset: bool) -> Any:
        if sp.issparse(X) and X.format in ("csr", "csc"):
            X.check_format(full_check=True)  # a damaged matrix must not reach compiled code
        return validate_data(self, X, dtype=FLOATS, order="C", accept_sparse="csr", reset=reset)

    def _targets(self, y: Any, n: int) -> Array:
        """What the learner is told: ±1, a number, or the number of a class."""
        raise NotImplementedError

    def _target_of(self, y: Any) -> float:
        """The same of one sample."""
        raise NotImplementedError

    # ---- learning ---------------------------------------------------------------------------------------------

    @property
    def _learner(self) -> Learner:
        live = self.__dict__.get("_live")
        if live is None:
            check_is_fitted(self)
            live = self._live = Learner.of(self.__dict__.pop("_state"), self.n_features_in_)
        return live

    def _begins(self) -> bool:
        return "_live" not in vars(self) and "_state" not in vars(self)

    def _begin(self, X: Any) -> None:
        """A learner that knows nothing; the kernel's width is fixed here."""
        kernel = self._make_kernel()
        if self._needs_spread(kernel) and X.shape[0] == 1:
            raise ValueError(
                "gamma='scale' needs the variance of the data, which one sample does not show: pass a number, "
                "gamma='auto', or begin with a larger batch"
            )
        self.__dict__.pop("_state", None)
        self._live = Learner(kernel.resolve(X), self._options(), self.n_features_in_)

    @staticmethod
    def _needs_spread(kernel: Kernel) -> bool:
        try:
            kernel.nodes()
        except ValueError:  # "scale" or "auto": does it differ between data of one width?
            narrow, wide = np.array([[0.0, 1.0]]), np.array([[0.0, 2.0]])
            return kernel.resolve(narrow).nodes() != kernel.resolve(wide).nodes()
        return False

    def _fit(self, X: Any, y: Any) -> Self:
        with rollback(self):
            self._check_parameters()
            X = self._validate_X(X, reset=True)
            self._learn_labels(y, None)
            target = self._targets(y, X.shape[0])
            self._begin(X)
            random = check_random_state(self.random_state)
            for _ in range(self.n_passes):
                if self.shuffle:
                    order = random.permutation(X.shape[0])
                    self._live.learn(X[order], target[order])
                else:
                    self._live.learn(X, target)
        self._warn_of_sameness(X)
        return self

    def _warn_of_sameness(self, X: Any) -> None:
        """gamma="auto" takes features of variance about 1 for granted."""
        if not (isinstance(self.kernel, str) and self.kernel == "rbf" and self.gamma == "auto") or sp.issparse(X):
            return
        apart = 2.0 * float(np.mean(np.var(X, axis=0)))  # γ‖x − z‖² on average
        if 0.0 < apart < SAME:
            warnings.warn(
                f"gamma='auto' is {1 / X.shape[1]:.3g}, for which these samples are nearly the same: gamma·|x − z|² is "
                f"{apart:.2g} on average. Standardise X, or use gamma='scale'",
                UserWarning,
                stacklevel=4,
            )

    def _learn(self, X: Any, y: Any, classes: Any = None) -> Array:
        """Go on with these samples; what was said of each before it was learned."""
        if not self._begins():
            X = self._validate_X(X, reset=False)
            self._check_classes(classes)
            self._check_unchanged(X)
            return self._learner.learn(X, self._targets(y, X.shape[0]))
        with rollback(self):
            self._check_parameters()
            X = self._validate_X(X, reset=True)
            self._learn_labels(y, classes)
            target = self._targets(y, X.shape[0])
            self._begin(X)
            return self._live.learn(X, target)

    def _check_unchanged(self, X: Any) -> None:
        now, begun = vars(self._options()), vars(self._learner.options)
        kernel = self._make_kernel()
        if not self._needs_spread(kernel):  # "scale" was found from samples that are gone
            now, begun = now | {"kernel": kernel.resolve(X)}, begun | {"kernel": self._learner.kernel}
        changed = [name for name in now if now[name] != begun[name]]
        if changed:
            name = changed[0]
            raise ValueError(
                f"parameters have changed since learning began ({name} was {begun[name]!r}, is {now[name]!r}), and are "
                "read at the beginning only: set them back, or fit a clone"
            )

    def _learn_labels(self, y: Any, classes: Any) -> None:
        """Classifiers find their classes here."""

    def _check_classes(self, classes: Any) -> None:
        """Classifiers make sure that `classes` are those they began with."""

    def _learn_one(self, x: Any, y: Any, classes: Any = None) -> None:
        if self._begins():
            self._learn(self._as_row(x)[None, :], None if y is None else [y], classes)
            return
        if classes is not None:
            self._check_classes(classes)
        self._learner.learn_one(self._as_row(x), self._target_of(y))

    @staticmethod
    def _as_row(x: Any) -> Array:
        if type(x) is np.ndarray and x.ndim == 1 and x.dtype == np.float64 and x.flags.c_contiguous:
            return x
        row = x.toarray() if sp.issparse(x) else np.asarray(x, dtype=np.float64)
        if row.ndim == 2 and row.shape[0] == 1:
            row = row[0]
        if row.ndim != 1:
            raise ValueError(f"x has shape {row.shape}; one sample is a vector. Use partial_fit for several")
        return np.ascontiguousarray(row, dtype=np.float64)

    def _decide_one(self, x: Any) -> Any:
        return self._learner.decide_one(self._as_row(x))

    # ---- the function -----------------------------------------------------------------------------------------

    def _decide(self, X: Any) -> Array:
        """g of all machines, (n_rows × n_machines)."""
        check_is_fitted(self)
        X = self._validate_X(X, reset=False)
        model = self._learner.model()
        if len(model.vectors) == 0:
            return np.tile(model.intercept, (X.shape[0], 1))
        return model.decide(X, n_threads=effective_n_jobs(self.n_jobs))

    def __sklearn_is_fitted__(self) -> bool:
        return not self._begins()

    def _known(self) -> OnlineState:
        check_is_fitted(self)
        return self._learner.state()

    @property
    def t_(self) -> int:
        """Samples learned."""
        check_is_fitted(self)
        return self._learner.seen

    @property
    def step_(self) -> float:
        """Λ of the next sample."""
        check_is_fitted(self)
        return float(self._learner.options.steps(np.array([self._learner.seen + 1.0]))[0])

    @property
    def kernel_(self) -> Kernel:
        """The kernel, with its width."""
        check_is_fitted(self)
        return self._learner.kernel

    @property
    def support_vectors_(self) -> Array:
        """The samples of the expansion, oldest first."""
        check_is_fitted(self)
        return self._learner.model().vectors

    @property
    def dual_coef_(self) -> Array:
        """Their coefficients, one row per machine."""
        check_is_fitted(self)
        return np.ascontiguousarray(self._learner.model().coefficients.T)

    @property
    def n_support_(self) -> int:
        """Terms of the expansion."""
        check_is_fitted(self)
        return self._learner.terms

    @property
    def intercept_(self) -> Array:
        """b of every machine."""
        check_is_fitted(self)
        return self._learner.offset

    @property
    def n_beyond_(self) -> NDArray[np.int64]:
        """For every machine the samples that were short of the margin, or outside the tube, when they came."""
        check_is_fitted(self)
        return self._learner.beyond

    @property
    def truncation_error_(self) -> float:
        """A bound on the norm of what the budget has cut off, as it weighs now: the largest over all machines.

        |f(x) − f_trunc(x)| is at most this times k(x, x)^½; f has the coefficients that were learned, and all of them.
        """
        check_is_fitted(self)
        return float(self._learner.truncation_error().max())

    @property
    def truncation_bound_(self) -> float:
        """The bound (10.130) of Learning with Kernels, known in advance; infinite where it does not apply."""
        check_is_fitted(self)
        return self._learner.truncation_bound()

    # ---- saving -----------------------------------------------------------------------------------------------

    def _plain(self) -> dict[str, Any]:
        """Attributes, with the learner as plain arrays."""
        found = {key: value for key, value in vars(self).items() if key not in self._transient}
        if "_live" in vars(self):
            found["_state"] = self._live.state()
        return found

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        version = {key: state[key] for key in state if key == "_sklearn_version"}
        return self._plain() | version

    def _check_loaded(self) -> None:
        """The fitted attributes belong together (they may come from a file)."""
        if self._learner.options.machines != self._n_machines():
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
