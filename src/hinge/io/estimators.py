"""A machine as parameters and state, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hinge.io.errors import NEWER, Flaw
from hinge.io.registry import ESTIMATORS, SAVED


def split(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and state of a machine; what a machine can rebuild by itself is left out."""
    parameters = model.get_params(deep=False)
    left_out = {*parameters, *getattr(type(model), "_transient", ())}
    attributes = model._plain() if hasattr(model, "_plain") else vars(model)  # compiled state as arrays
    return parameters, {key: value for key, value in attributes.items() if key not in left_out}


def rebuild(name: str, parameters: dict[str, Any], state: dict[str, Any], decode: Callable[[Any], Any]) -> Any:
    """The machine of these trees; a `Flaw` where they cannot have been written by `save`."""
    if name not in ESTIMATORS:
        raise Flaw(f"it holds a {name[:40]!r}, which is none of {', '.join(sorted(SAVED))}", NEWER)
    cls: Any = ESTIMATORS[name]
    values = {key: decode(node) for key, node in parameters.items()}
    unknown = sorted(set(values) - set(cls._get_param_names()))
    if unknown:
        raise Flaw(f"{name} has no parameter {unknown[0][:40]!r}", NEWER)
    model = cls(**values)
    for key, node in state.items():
        if not _may_be_state(cls, key) or key in vars(model):
            raise Flaw(f"{key[:40]!r} cannot be an attribute of a fitted {name}")
        vars(model)[key] = decode(node)
    check_whole(model)
    return model


def check_whole(model: Any) -> None:
    """A `Flaw` where the parts of a fitted machine, a path or a result do not belong together."""
    try:
        check_fitted(model)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise Flaw(f"the parts of the {type(model).__name__} do not fit together ({reason[:200]})") from error


def check_fitted(model: Any) -> None:
    """Let a machine that has fitted attributes check that they belong together."""
    fitted = type(model) not in ESTIMATORS.values() or any(name.endswith("_") for name in vars(model))
    if fitted and hasattr(model, "_check_loaded"):
        model._check_loaded()


def _may_be_state(cls: type, name: str) -> bool:
    """Data may not take the place of a method, a property or anything Python itself looks at."""
    member = getattr(cls, name, None)
    taken = callable(member) or isinstance(member, property)
    return name.isidentifier() and not name.startswith("__") and not taken
