"""Parameters of estimators given as text: `-p C=10`, `-p class_weight={1: 2.5}`, `-p kernel="RBF(0.5) + Linear()"`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from hinge.cli.failures import UsageError
from hinge.estimators.common.rules import Flag, Integer
from hinge.estimators.common.training import resolve_loss
from hinge.estimators.common.validation import check_parameters
from hinge.io.registry import ESTIMATORS, RECORDS
from hinge.kernels import make_kernel

#: Packages whose objects may be written in the value of a parameter, as in ``kernel=RBF(0.5) + 2 * Linear()``.
OBJECT_PACKAGES = ("kernels", "losses", "solvers", "lowrank")

CONSTANTS: dict[str, Any] = {"none": None, "true": True, "false": False}
FLAGS: dict[str, bool] = {"yes": True, "on": True, "1": True, "no": False, "off": False, "0": False}
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {ast.Add: operator.add, ast.Mult: operator.mul}


def estimator_class(name: str) -> Any:
    """Return the class of an estimator."""
    return ESTIMATORS[name]


def defaults_of(cls: Any) -> dict[str, Any]:
    """Return the parameters of an estimator and their default values."""
    return {p.name: p.default for p in signature(cls).parameters.values() if p.kind is not Parameter.VAR_KEYWORD}


def split(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError(f"-p {text!r} must have the form NAME=VALUE, for example C=10")
    return name.strip(), value.strip()


def parse_parameters(cls: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Return {name: value} for ``NAME=VALUE`` texts; unknown names and repeated ones are errors."""
    values: dict[str, Any] = {}
    for text in texts:
        name, value = split(text)
        check_name(cls, name)
        if name in values:
            raise UsageError(f"-p {text!r} repeats the parameter {name!r}; give it once")
        values[name] = parse_value(cls, name, value)
    return values


def check_name(cls: Any, name: str) -> None:
    """Raise if the estimator has no parameter with this name."""
    known = defaults_of(cls)
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    raise UsageError(f"{cls.__name__} has no parameter {name!r}{hint} its parameters are {', '.join(known)}")


def parse_value(cls: Any, name: str, text: str) -> Any:
    """Return the value of a parameter; its type follows from the text, the rule and the default of the parameter."""
    rule, default = getattr(cls, "_rules", {}).get(name), defaults_of(cls).get(name)
    if isinstance(rule, Flag) and text.lower() in FLAGS:
        return FLAGS[text.lower()]
    value = _literal(name, text)
    if isinstance(value, float) and value.is_integer() and isinstance(rule, Integer):
        return int(value)
    if type(value) is int and isinstance(default, float):
        return float(value)
    return value


def _literal(name: str, text: str) -> Any:
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    if any(mark in text for mark in "({["):
        return _evaluate(name, text)
    return text


def _evaluate(name: str, text: str) -> Any:
    """Evaluate dictionaries, lists, and objects of hinge with their sums and products; nothing else."""
    try:
        return _value(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise UsageError(f"{name}={text} is not a valid expression ({error.msg}, column {error.offset})") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}={text} is not valid: {error}") from None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        keywords = {word.arg: _value(word.value) for word in node.keywords if word.arg is not None}
        if len(keywords) != len(node.keywords):
            raise ValueError("**keywords are not supported")
        return _object_class(node.func.id)(*map(_value, node.args), **keywords)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.Name):
        raise ValueError(f"{node.id!r} must be a number, quoted text, or a call such as RBF(0.5)")
    return ast.literal_eval(node)


def _object_class(name: str) -> Any:
    known = {n: cls for n, cls in RECORDS.items() if cls.__module__.split(".")[1] in OBJECT_PACKAGES}
    if name not in known:
        raise ValueError(f"{name!r} is not a kernel, loss or solver; they are {', '.join(sorted(known))}")
    return known[name]


def check_estimator(estimator: Any) -> None:
    """Check the values of all parameters before data are read; an invalid one is a usage error."""
    names = estimator.get_params(deep=False)
    try:
        if hasattr(estimator, "_settings") and "solver" in names:
            estimator._settings()
        else:
            check_parameters(estimator, estimator._rules)
            if "kernel" in names:
                make_kernel(estimator.kernel, degree=estimator.degree, gamma=estimator.gamma, coef0=estimator.coef0)
        if hasattr(estimator, "_loss_form"):
            resolve_loss(estimator, *estimator._loss_form)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{type(estimator).__name__}: {error}") from None
