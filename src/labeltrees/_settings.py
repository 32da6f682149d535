"""Settings of a stage: a dataclass whose fields have a check and a help text.

Functions and estimators check values with these fields, the command line generates its options from them, and the
manifest of a saved model is checked against them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, field, fields
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from labeltrees._validation import check_choice, check_integer, check_number, refuse
from labeltrees.errors import GoneError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Settings = TypeVar("Settings", bound=DataclassInstance)

Check = Callable[[str, Any], object]
Function = TypeVar("Function", bound=Callable[..., Any])
LARGEST_INT32 = 2**31 - 1


def setting(
    default: Any,
    check: Check,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    metavar: str | None = None,
    daily: bool = False,
) -> Any:
    """Return a dataclass field with its check, its help text, and details for its command-line option.

    Parameters
    ----------
    default : value
    check : callable(name, value)
        Raises `InputError` for a value that is not allowed.
    help : str
        One sentence for the command line and the docs.
    choices : tuple of str
        The allowed names, if the setting is one of a few names.
    metavar : str, optional
        The placeholder of the value on the command line, if its type is not clear enough.
    daily : bool
        Whether the command line has an option for it; other settings are given with ``--set NAME=VALUE``.
    """
    metadata = {"check": check, "help": help, "choices": choices, "metavar": metavar, "daily": daily}
    return field(default=default, metadata=metadata)


def choice(default: str | None, choices: tuple[str, ...], help: str, *, daily: bool = False) -> Any:
    """Return a field for one of a few names; None is allowed if it is the default."""

    def check(name: str, value: Any) -> None:
        check_choice(name, value, choices)

    return setting(default, optional(check) if default is None else check, help, choices=choices, daily=daily)


def with_default(cls: Any, name: str, default: Any) -> Any:
    """Return the field `name` of a settings class with another default, for a class that inherits from it."""
    return field(default=default, metadata=next(item.metadata for item in fields(cls) if item.name == name))


def settings_of(cls: Any) -> Iterator[Field[Any]]:
    """Yield the fields of a settings class or object that were made by `setting`."""
    return (item for item in fields(cls) if "check" in item.metadata)


@cache  # called for every search
def checks_of(cls: type) -> Mapping[str, Check]:
    """Return the check of every setting of a settings class, by name."""
    return {item.name: item.metadata["check"] for item in settings_of(cls)}


def check_settings(settings: Any) -> None:
    """Raise `InputError` for the first setting with a value that is not allowed."""
    for name, check in checks_of(settings.__class__).items():
        check(name, getattr(settings, name))


def check_values(values: Mapping[str, Any], checks: Mapping[str, Check]) -> None:
    """Raise `InputError` for the first value that its check does not allow."""
    for name, value in values.items():
        checks[name](name, value)


class Parameters:
    """Base class of settings that are a parameter of an estimator.

    They work with scikit-learn's `clone`, `get_params` and `set_params`: ``model.set_params(tree__cover="greedy")``.
    """

    def __post_init__(self) -> None:
        check_settings(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {item.name: getattr(self, item.name) for item in settings_of(self)}

    def set_params(self, **parameters: Any) -> Self:
        """Change settings."""
        cls: type = type(self)
        checks = checks_of(cls)
        for name, value in parameters.items():
            if name not in checks:
                refuse("a parameter", f"one of {', '.join(checks)}", name)
            checks[name](name, value)
            setattr(self, name, value)
        return self

    def __eq__(self, other: object) -> bool:
        """Return whether the settings are equal; arrays are equal only if they are the same object."""
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.get_params(), other.get_params()
        plain = bool | int | float | str | np.generic
        return all(mine[n] is theirs[n] or (isinstance(mine[n], plain) and mine[n] == theirs[n]) for n in mine)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the settings that differ from their defaults."""
        changed = []
        for item in settings_of(self):
            value = getattr(self, item.name)
            if value is not item.default and (item.default is None or value != item.default):
                shown = f"<matrix of shape {value.shape}>" if hasattr(value, "shape") else repr(value)
                changed.append(f"{item.name}={shown}")
        return f"{type(self).__name__}({', '.join(changed)})"


def refuse_gone(function: str, gone: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """Raise `GoneError` for an argument that the function or class no longer has.

    Parameters
    ----------
    function : str
    gone : mapping
        For each removed argument, what to use instead.
    arguments : mapping from str
    """
    for name in arguments:
        if name in gone:
            message = f"{function} has no argument {name} any more: {gone[name]}"
            raise GoneError(message)


def refusing(gone: Mapping[str, str]) -> Callable[[Function], Function]:
    """Return a decorator that raises `GoneError` for removed arguments of a function or class."""

    def decorate(decorated: Function) -> Function:
        name = decorated.__name__
        function: Any = decorated.__init__ if isinstance(decorated, type) else decorated  # type: ignore[misc]

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            refuse_gone(name, gone, named)
            return function(*arguments, **named)

        if not isinstance(decorated, type):
            return call  # type: ignore[return-value]
        decorated.__init__ = call  # type: ignore[misc]
        return decorated

    return decorate


def take_settings(cls: type[Settings], source: Any) -> Settings:
    """Return settings of class `cls` with the values that `source` has under the same names."""
    return cls(**{item.name: getattr(source, item.name) for item in fields(cls)})


def settings_from(cls: type[Settings], arguments: Mapping[str, Any]) -> Settings:
    """Return settings of class `cls` from the arguments of a function, its ``locals()``, with the same names."""
    return cls(**{item.name: arguments[item.name] for item in fields(cls) if item.name in arguments})


def check_names(function: str, given: Iterable[str], allowed: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raise `GoneError`, which is also a `TypeError`, for a keyword argument that a function does not have.

    The hint suggests similar names from `allowed` and from `others`, the arguments in its signature.

    Examples
    --------
    >>> check_names("predict_topk", ["aggreement"], ["agreement", "n_jobs"])
    Traceback (most recent call last):
    labeltrees.errors.GoneError: predict_topk has no option 'aggreement'; did you mean agreement?
    """
    for name in given:
        if name not in allowed:
            near = difflib.get_close_matches(name, [*allowed, *others], n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(allowed)}"
            message = f"{function} has no option {name!r}; {hint}"
            raise GoneError(message)


# Checks to build settings from.


def number(low: float, high: float = np.inf, *, low_open: bool = False) -> Check:
    """Return the check for a number in [low, high], or in (low, high]."""
    return lambda name, value: check_number(name, value, low, high, low_open=low_open)


def integer(low: int, high: int = LARGEST_INT32) -> Check:
    """Return the check for an integer in [low, high]."""
    return lambda name, value: check_integer(name, value, low, high)


def optional(check: Check) -> Check:
    """Return the check for None or anything that `check` allows."""
    return lambda name, value: None if value is None else check(name, value)


def flag(name: str, value: Any) -> None:
    """Check for True or False."""
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)


def anything(name: str, value: Any) -> None:
    """Allow every value: the setting is checked where it is used."""
