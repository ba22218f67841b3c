"""Losses by name, and the names that an estimator accepts.

A loss is registered once, by the decorator of its class. Kernel estimators accept every registered loss of their form;
linear and online estimators and the path of quadratic losses accept those with a quadratic conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from hinge.losses.custom import as_loss
from hinge.losses.loss import Form, Loss, QuadraticConjugate

#: Losses of classification by name.
MARGIN_LOSSES: dict[str, type[Loss]] = {}

#: Losses of regression by name.
RESIDUAL_LOSSES: dict[str, type[Loss]] = {}

LossType = TypeVar("LossType", bound=type[Loss])


def register(name: str) -> Callable[[LossType], LossType]:
    """Class decorator: make a loss available by `name`.

    The class must be a dataclass whose fields have defaults. An estimator that has a parameter with the name of a field
    passes its value on.
    """

    def decorate(cls: LossType) -> LossType:
        losses_of(cls.form)[name] = cls
        return cls

    return decorate


def losses_of(form: Form) -> dict[str, type[Loss]]:
    """Registered losses of the margin or of the residual, by name."""
    return MARGIN_LOSSES if form == "margin" else RESIDUAL_LOSSES


def loss_names(form: Form, *, quadratic: bool = False, smooth: bool = False) -> tuple[str, ...]:
    """Return the names of the registered losses of a form.

    `quadratic`: only losses whose conjugate is quadratic on an interval; `smooth`: of these only differentiable losses,
    whose conjugate has a positive curvature.
    """
    if not (quadratic or smooth):
        return tuple(losses_of(form))
    conjugates = {name: cls().quadratic_conjugate for name, cls in losses_of(form).items() if cls.quadratic}
    return tuple(name for name, c in conjugates.items() if c is not None and (c.curvature > 0 or not smooth))


def make_loss(loss: Any, form: Form, parameters: Mapping[str, Any] | None = None) -> Loss:
    """Return the loss for a registered name or an object; named losses take the `parameters` that they declare."""
    if not isinstance(loss, str):
        return as_loss(loss, form)
    if loss not in losses_of(form):
        raise ValueError(f"loss={loss!r} must be one of {', '.join(map(repr, losses_of(form)))}")
    cls = losses_of(form)[loss]
    parameters = parameters or {}
    made = cls(**{f.name: parameters[f.name] for f in fields(cls) if f.name in parameters})  # type: ignore[arg-type]
    return as_loss(made, form)


def quadratic_conjugate(loss: Any, form: Form, parameters: Mapping[str, Any] | None = None) -> QuadraticConjugate:
    """Return the parameters of the conjugate of a loss (see `make_loss`); raise a ValueError if it is not quadratic."""
    conjugate = make_loss(loss, form, parameters).quadratic_conjugate
    if conjugate is None:
        names = ", ".join(map(repr, loss_names(form, quadratic=True)))
        raise ValueError(f"loss={loss!r}: the estimator needs a loss whose conjugate is quadratic, such as {names}")
    return conjugate
