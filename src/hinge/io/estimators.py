"""Conversion of an estimator to its parameters and state, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hinge.io.checks.estimators import check_attributes
from hinge.io.checks.records import check_record
from hinge.io.errors import NEWER, Flaw
from hinge.io.registry import DECODED, ESTIMATORS, FORMER_ATTRIBUTES, SAVED, estimator_class, name_of
from hinge.io.steps.checks import check_step
from hinge.io.steps.classes import STEPS


def split(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the state of an estimator, without the attributes that it can rebuild."""
    parameters = model.get_params(deep=False)
    omitted = {*parameters, *getattr(type(model), "_transient", ())}
    attributes = model._plain() if hasattr(model, "_plain") else vars(model)  # compiled state as arrays
    return parameters, {key: value for key, value in attributes.items() if key not in omitted}


def rebuild(name: str, parameters: dict[str, Any], state: dict[str, Any], decode: Callable[[Any], Any]) -> Any:
    """Build the estimator; raise `Flaw` if `save` cannot have written these trees."""
    cls: Any = estimator_class(name)
    if cls is None:
        raise Flaw(f"it holds a {name[:40]!r}, but load reads only {', '.join(sorted(SAVED))}", NEWER)
    values = {key: node if type(node) in DECODED else decode(node) for key, node in parameters.items()}
    unknown = sorted(set(values) - set(cls._get_param_names()))
    if unknown:
        raise Flaw(f"{name} has no parameter {unknown[0][:40]!r}", NEWER)
    model = cls(**values)
    attributes = vars(model)
    for written, node in state.items():
        key = FORMER_ATTRIBUTES.get(written, written)
        if key is None:
            continue
        member = getattr(cls, key, None)  # data must not replace a method, a property or a special attribute
        reserved = key.startswith("__") or callable(member) or isinstance(member, property)
        if reserved or not key.isidentifier() or key in attributes:
            raise Flaw(f"{key[:40]!r} cannot be an attribute of a fitted {name}")
        attributes[key] = node if type(node) in DECODED else decode(node)
    check_whole(model)
    return model


def check_whole(model: Any) -> None:
    """Raise `Flaw` if the attributes of a fitted estimator, a path or a result are inconsistent."""
    try:
        check_fitted(model)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise Flaw(f"the attributes of the {type(model).__name__} are inconsistent ({reason[:200]})") from error


def check_fitted(model: Any) -> None:
    """Check that the fitted attributes of an estimator are valid and consistent, if it has any."""
    name = type(model).__name__
    if name in STEPS:
        check_step(model)
    elif name_of(type(model), ESTIMATORS) is None:
        check_record(model)
    else:
        attributes = split(model)[1]
        if any(key.startswith("_") or key.endswith("_") for key in attributes):  # a fitted attribute
            check_attributes(name, attributes)
            if hasattr(model, "_check_loaded"):
                model._check_loaded()
