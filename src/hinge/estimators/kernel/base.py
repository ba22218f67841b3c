"""Methods shared by the estimators with a kernel expansion: certificates, linear weights, clones, tags.

An estimator of this family declares the rules of its parameters (`_rules`) and defines `_validate`, `_subproblems` and
`_expansions`. Its `fit` validates the data, builds the subproblems, calls `train` and stores the result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from hinge import solvers
from hinge.estimators.common.description.forecast import MANY_KERNEL_SAMPLES, ForecastMixin
from hinge.estimators.common.description.summary import SummaryMixin
from hinge.estimators.common.prediction import check_model
from hinge.estimators.common.reduced_model import certify_reduced_model
from hinge.estimators.common.rules import Rule
from hinge.estimators.common.training import Settings, Subproblem
from hinge.estimators.common.validation import TrainingData, check_parameters
from hinge.estimators.common.warm_start import SharedWarmStarts, WarmStart, share_warm_starts
from hinge.kernels import DirectAccess, Kernel, Linear, Precomputed
from hinge.losses import Form
from hinge.model import Expansion, KernelModel
from hinge.problems import Array, Certificate, certify, combine
from hinge.problems.reduced import Basis, ReducedFunction

#: Kernel estimators with a linear counterpart, whose name begins with "Linear".
LINEAR_ESTIMATORS = ("SVC", "SVR", "OneClassSVM")


class KernelEstimator(SummaryMixin, ForecastMixin, BaseEstimator):
    """Base class of the estimators whose functions are kernel expansions."""

    #: Rules of the parameters, by name.
    _rules: ClassVar[Mapping[str, Rule]]

    #: β of every subproblem if the functions are expansions in the basis of a factor LLᵀ. Their coefficients do not
    #: determine the dual point that the certificate needs.
    _dual_points: list[Array] | None = None

    model_: KernelModel
    intercept_: Array
    support_: NDArray[np.int32]
    shape_fit_: tuple[int, ...]

    # ---- parameters ---------------------------------------------------------------------------------------------

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, Precomputed) or (isinstance(self.kernel, str) and self.kernel == "precomputed")

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, Linear) or (isinstance(self.kernel, str) and self.kernel == "linear")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags

    def _alternative(self, n: int) -> str:
        name = type(self).__name__
        if self._is_linear() and name in LINEAR_ESTIMATORS:
            return f"Linear{name}: it has the same functions, and needs no kernel values"
        if n > MANY_KERNEL_SAMPLES and is_classifier(self):
            return f"LowRankSVC: its time is proportional to n, which is above {MANY_KERNEL_SAMPLES}"
        if n > MANY_KERNEL_SAMPLES:
            return (
                "LinearSVR or LinearOneClassSVM with the features of sklearn.kernel_approximation.Nystroem: n is above "
                f"{MANY_KERNEL_SAMPLES}"
            )
        return ""

    # ---- the fitted model ---------------------------------------------------------------------------------------

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors; for classifiers, one number for each class."""
        if not hasattr(self, "_n_support"):
            raise AttributeError(f"n_support_ is set by fit; this {type(self).__name__} is not fitted yet")
        return self._n_support

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel; one row per function."""
        check_is_fitted(self)
        if not isinstance(self.model_.kernel, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self.model_.coefficients.T @ self.model_.vectors
        if self._sparse and not sp.issparse(coef):
            coef = sp.csr_matrix(coef)
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _check_loaded(self) -> None:
        """Raise a ValueError if the attributes that were read from a file do not belong together."""
        check_model(self, self._n_functions())

    def _n_functions(self) -> int:
        """Number of functions of the fitted estimator."""
        return 1


class DualEstimator(KernelEstimator):
    """Base class of the kernel estimators that are trained by solving the dual problems of subproblems."""

    #: Attributes that are not written to model files.
    _transient: ClassVar[tuple[str, ...]] = ("_shared_solutions",)

    #: The form of the losses, and the one that has its own formulation; of estimators with a parameter `loss`.
    _loss_form: ClassVar[tuple[Form, str]]

    #: The parameter of this name, for estimators that have none.
    warm_start: bool = False

    #: State of warm starts; see `hinge.estimators.common.warm_start`.
    _last_solution: WarmStart | None = None
    _shared_solutions: SharedWarmStarts | None = None

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        if self.warm_start:
            share_warm_starts(self, copy)
        return copy

    def _check_parameters(self) -> None:
        """Raise a TypeError or ValueError if a parameter is not valid."""
        check_parameters(self, self._rules)

    def _settings(self) -> Settings:
        """Check the parameters, and build the kernel and the solver from them."""
        return Settings.of(self)

    # ---- methods that subclasses define -------------------------------------------------------------------------

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any, kernel: Kernel, reset: bool = True) -> TrainingData:
        """Validate training data, of a fitted estimator if `reset` is False."""

    @abstractmethod
    def _subproblems(self, data: Any) -> list[Subproblem]:
        """Build the subproblems of the estimator."""

    @abstractmethod
    def _expansions(self, data: Any, subproblems: Sequence[Subproblem]) -> list[Expansion]:
        """The function of every subproblem, with coefficients for all its samples."""

    def _trained_subproblems(self, data: Any) -> list[Subproblem]:
        """The subproblems whose solutions are the functions of the fitted estimator."""
        return self._subproblems(data)

    def _label_sign(self) -> float:
        """Return −1 if the decision function is the negative of the function of the subproblem, else 1."""
        return 1.0

    # ---- certificate and explanation ----------------------------------------------------------------------------

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Recompute the certificate of this model from its training data.

        Everything is computed in float64 with NumPy, from `X`, `y`, `dual_coef_` and `intercept_`, without any code of
        the solvers.

        Parameters
        ----------
        X, y, sample_weight
            The arguments of `fit`.

        Returns
        -------
        Certificate
            For several classes the sum over all pairs; `kkt_violation` is the largest.
        """
        check_is_fitted(self)
        self._check_parameters()
        data = self._validate(X, y, sample_weight, self.model_.kernel, reset=False)
        if not np.isin(self.support_, data.rows).all():
            raise ValueError("sample_weight is zero for a support vector; pass the weights that were passed to fit")
        return self._certify(data)

    def _certify(self, data: Any) -> Certificate:
        """The certificate of the fitted functions on validated training data."""
        kernel, subproblems = self.model_.kernel, self._trained_subproblems(data)
        expansions = self._expansions(data, subproblems)
        values = None if self._dual_points is None else self._basis_values(data)
        certificates = []
        for k, (subproblem, expansion) in enumerate(zip(subproblems, expansions, strict=True)):
            formulation = subproblem.formulation
            problem = formulation.certified_problem(DirectAccess(kernel, data.X, subproblem.rows))
            if values is None:
                found = certify(problem, *formulation.dual_point(expansion), convex=kernel.psd)
            else:
                found = certify_reduced_model(problem, formulation, expansion, values[k].at(subproblem.rows), kernel)
            certificates.append(found)
        return combine(certificates)

    def _basis_values(self, data: TrainingData) -> list[ReducedFunction]:
        """Values of the functions at all samples, with bounds on their errors."""
        model, support = self.model_, np.searchsorted(data.rows, self.support_)
        found = Basis(model.kernel, data.X, support).functions(self._label_sign() * model.coefficients)
        assert found is not None
        return found[0]

    def _explain(self, X: Any, y: Any, sample_weight: Any) -> solvers.Explanation:
        """Explain the choice of the solver for `hinge.solvers.explain`. The estimator is not changed."""
        if "solver" not in self.get_params(deep=False):
            raise TypeError(
                f"explain needs an estimator with a parameter solver, such as SVC; {type(self).__name__} has none"
            )
        unfitted = clone(self)
        settings = unfitted._settings()
        data = unfitted._validate(X, y, sample_weight, settings.kernel)
        kernel = settings.kernel.resolve(data.X, data.weight)
        access = settings.open_access(kernel, data.X, cache_size=settings.cache_size, threads=settings.threads)
        problems = [subproblem.build(access) for subproblem in unfitted._subproblems(data)]
        return solvers.decide(settings.solver, problems, bool(self.warm_start and self._last_solution is not None))
