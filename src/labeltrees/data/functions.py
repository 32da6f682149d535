"""Functions of the user in saved models: saved by name, and imported again only if the user trusts them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from labeltrees._validation import refuse
from labeltrees.errors import FileFormatError, InputError

_trusted: ContextVar[frozenset[str]] = ContextVar("trusted", default=frozenset())


@contextmanager
def trusting(names: Sequence[str]) -> Iterator[None]:
    """Allow functions with these names, such as "my_package.texts:split", to be imported meanwhile."""
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        refuse("trusted", "a list of names of functions, such as ['my_package.texts:split']", names)
    token = _trusted.set(frozenset(names))
    try:
        yield
    finally:
        _trusted.reset(token)


def name_of_function(function: Any, parameter: str) -> str:
    """Return the name "module:name" of a function; `InputError` if it cannot be imported by that name."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and module != "__main__":
        try:
            if _import(module, name) is function:
                return f"{module}:{name}"
        except (ImportError, AttributeError):
            pass
    message = (
        f"the model cannot be saved: the {parameter} of its vectorizer, {function!r}, cannot be imported by name. "
        "Define it with def at the top level of a module (not in __main__), or pickle the model"
    )
    raise InputError(message)


def function_of_name(name: Any, source: str) -> Any:
    """Return the function that `name_of_function` named, if it is trusted."""
    if not isinstance(name, str) or name.count(":") != 1:
        message = f"{source}: {str(name)[:60]!r} is not the name of a function"
        raise FileFormatError(message)
    if name not in _trusted.get():
        message = (
            f"{source}: the model calls the function {name!r}, which can run any code. "
            f"If you trust it: labeltrees.load(folder, trusted=[{name!r}])"
        )
        raise FileFormatError(message)
    try:
        return _import(*name.split(":"))
    except (ImportError, AttributeError) as error:
        message = f"{source}: the model needs the function {name!r}, which cannot be imported: {error}"
        raise FileFormatError(message) from error


def _import(module: str, name: str) -> Any:
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
