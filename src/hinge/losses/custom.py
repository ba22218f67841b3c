"""Custom losses: objects with the methods value, derivative and conjugate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hinge.losses.check import check_loss
from hinge.losses.loss import Array, Form, Loss

REQUIRED_METHODS = ("value", "derivative", "conjugate")


@dataclass(frozen=True)
class CustomLoss(Loss):
    """Loss that calls the methods of a user's object; missing ones are computed from the three required methods.

    Examples
    --------
    >>> import numpy as np
    >>> import hinge
    >>> from hinge.losses import CustomLoss
    >>> class HalfSquare:
    ...     value = staticmethod(lambda z: 0.5 * z**2)
    ...     derivative = staticmethod(lambda z: z)
    ...     conjugate = staticmethod(lambda s: 0.5 * s**2)
    >>> CustomLoss(HalfSquare(), "residual").value([-2.0, 0.0, 1.0])
    array([2. , 0. , 0.5])
    >>> X = np.linspace(-1, 1, 20)[:, None]
    >>> model, same = (hinge.SVR(loss=loss).fit(X, X[:, 0]) for loss in (HalfSquare(), "gaussian"))
    >>> bool(abs(model.predict(X) - same.predict(X)).max() < 1e-4)
    True
    """

    functions: Any
    form: Form  # type: ignore[misc]
    _slopes: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        slopes = getattr(self.functions, "slopes", None)
        low, high = super().slopes if slopes is None else slopes
        object.__setattr__(self, "_slopes", (float(low), float(high)))

    def value(self, z: Any) -> Array:
        return np.asarray(self.functions.value(np.asarray(z, dtype=np.float64)), dtype=np.float64)

    def derivative(self, z: Any) -> Array:
        return np.asarray(self.functions.derivative(np.asarray(z, dtype=np.float64)), dtype=np.float64)

    def conjugate(self, s: Any) -> Array:
        return np.asarray(self.functions.conjugate(np.asarray(s, dtype=np.float64)), dtype=np.float64)

    def second_derivative(self, z: Any) -> Array:
        function = getattr(self.functions, "second_derivative", None)
        return super().second_derivative(z) if function is None else np.asarray(function(z), dtype=np.float64)

    @property
    def slopes(self) -> tuple[float, float]:
        return self._slopes

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(getattr(self.functions, "kinks", ()))


def as_loss(loss: Any, form: Form) -> Loss:
    """Return `loss` as a `Loss`; subclasses of users and objects with value, derivative and conjugate are checked."""
    if isinstance(loss, type):
        raise TypeError(f"loss={loss.__name__} is a class; pass an object: {loss.__name__}(...)")
    if isinstance(loss, Loss):
        if loss.form != form:
            raise ValueError(
                f"loss={loss!r} is a function of the {loss.form}, but this estimator needs one of the {form}; "
                "classifiers take losses of the margin y f(x), regressors losses of the residual y - f(x)"
            )
        if not type(loss).__module__.startswith("hinge.losses."):
            check_loss(loss)
        return loss
    missing = [name for name in REQUIRED_METHODS if not callable(getattr(loss, name, None))]
    if missing:
        raise TypeError(
            f"loss={loss!r} has no method {', '.join(missing)}: pass a name, an object of hinge.losses, or an object "
            "with the methods value(z), derivative(z) and conjugate(s)"
        )
    wrapped = CustomLoss(loss, form)
    check_loss(wrapped)
    return wrapped
