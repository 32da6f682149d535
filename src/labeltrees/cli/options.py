"""Options that several commands share, and options generated from settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import click
from click.core import ParameterSource

from labeltrees._settings import checks_of, settings_of
from labeltrees.cli.command import Setting
from labeltrees.cli.errors import option_names
from labeltrees.errors import InputError
from labeltrees.models.common.settings import ClassifierSettings
from labeltrees.models.linear.settings import LabelTextUse, Solver
from labeltrees.tree.settings import TreeBuilder, TreeSettings

Decorator = Callable[[Any], Any]  # of a command

data_argument = click.argument("data", metavar="DATA")


def _model_folder(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    path = Path(value)
    if path.is_dir():
        return value
    fault = "is a file, not the folder of a model" if path.exists() else "no such model"
    message = f"{value}: {fault}; labeltrees fit and choose write models"
    raise InputError(message)


model_argument = click.argument("model_folder", metavar="MODEL", callback=_model_folder)
output_option = click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), required=True, help="Folder to save the model in."
)
jobs_option = click.option(
    "--jobs", "n_jobs", type=int, default=-1, show_default=True, help="Number of threads; -1 for all cores."
)
seed_option = click.option(
    "--seed", "random_state", type=int, default=0, show_default=True, help="Random seed; the same seed repeats a run."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


class ChoiceOrNone(click.Choice[str]):
    """One of the given words; the word none means None."""

    def __init__(self, words: Any) -> None:
        super().__init__([*words, "none"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, or None."""
        found = super().convert(value, param, ctx)
        return None if found == "none" else found


class NumberOrWord(click.ParamType[Any]):
    """A number, or one of the lower-case words in `metavar`; the word none means None.

    Examples
    --------
    >>> beam = NumberOrWord(int, "N|none")
    >>> beam.convert("7", None, None), beam.convert("none", None, None)
    (7, None)
    """

    name = "number or word"

    def __init__(self, kind: Callable[[str], Any], metavar: str) -> None:
        self._kind, self._words = kind, [word for word in metavar.split("|") if word.islower()]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, the word, or None."""
        if not isinstance(value, str) or (param is not None and value == param.default):
            return value
        if value.lower() in self._words:
            return None if value.lower() == "none" else value.lower()
        try:
            return self._kind(value)
        except ValueError:
            numbers = ["a whole number"] if self._kind is int else ["a number"]
            numbers = ["a whole number", "a share"] if self._kind is _count_or_share else numbers
            self.fail(f"{value!r} is neither {' nor '.join([*numbers, *map(repr, self._words)])}.", param, ctx)


def setting_options(
    cls: Any,
    *,
    only: Sequence[str] = (),
    skip: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    prefix: str = "",
    daily: bool = True,
) -> Decorator:
    """Return a decorator that lets a command take the settings of a class.

    A setting marked as `daily` has its own option; name, type, choices, default and help text come from its field.
    Every setting can be given with ``--set NAME=VALUE``. The command gets settings as parameters; a setting without an
    option is passed only if the user gives it.

    Parameters
    ----------
    cls : settings class
        A dataclass with fields made by `labeltrees._settings.setting`.
    only : sequence of str
        The settings to offer, in this order; by default all, in the order of the class.
    skip : collection of str
        Settings that the command offers in another way, or not at all.
    defaults : mapping from str to value, optional
        Defaults of the command that differ from those of the class.
    prefix : str
        Prefix of the names of the settings.
    daily : bool
        Whether daily settings have options; if False, all settings are given with --set.
    """
    known = {item.name: item for item in settings_of(cls)}
    offered = [known[name] for name in only or known if name not in skip]
    values = {item.name: (defaults or {}).get(item.name, item.default) for item in offered}
    options = [_setting_option(item, values[item.name], prefix) for item in offered if daily and item.metadata["daily"]]
    settable = {
        prefix + item.name: Setting(
            click.types.convert_type(_option_type(item, values[item.name])), values[item.name], item.metadata["help"]
        )
        for item in offered
    }

    def decorate(command: Any) -> Any:
        command = add_options(options)(command)
        command.__settable__ = {**settable, **getattr(command, "__settable__", {})}
        return command

    return decorate


_LABEL_TEXT = "label_text_"  # before the names of the settings of `LabelTextUse`
_NOT_OFFERED = ("tree", "label_texts", "vectorizer", *ClassifierSettings.__dataclass_fields__)


def classifier_options(*classes: Any, skip: Collection[str] = (), daily: bool = True) -> Decorator:
    """Return a decorator that adds the parameters of classifiers, and the settings of tree, solver and label texts."""
    options = []
    left_out = {*_NOT_OFFERED, *skip}
    for cls in classes:
        options.append(setting_options(cls, skip=left_out, daily=daily))
        left_out |= {item.name for item in settings_of(cls)}
    options.append(setting_options(TreeBuilder, skip=("embeddings", *skip)))
    options.append(setting_options(Solver, skip=("loss",)))
    options.append(setting_options(LabelTextUse, prefix=_LABEL_TEXT))
    return add_options(options)


def classifier_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert parameters of `classifier_options` to arguments of the classifier's `set_params`."""
    of_tree, of_solver = checks_of(TreeBuilder), checks_of(Solver).keys() - {"loss"}
    parameters: dict[str, Any] = {}
    for name, value in given.items():
        if name.startswith(_LABEL_TEXT):
            parameters.setdefault("label_texts", {})[name.removeprefix(_LABEL_TEXT)] = value
        else:
            prefix = "tree__" if name in of_tree else "loss__" if name in of_solver else ""
            parameters[prefix + name] = value
    return parameters


def classifier_option_names(cls: Any) -> set[str]:
    """Return the names of all parameters of `classifier_options` for one class."""
    names = {item.name for item in settings_of(cls)} - set(_NOT_OFFERED)
    has_solver = "loss" in names
    names |= {item.name for item in settings_of(TreeBuilder) if item.name != "embeddings"}
    if has_solver:
        names |= {item.name for item in settings_of(Solver)}
        names |= {_LABEL_TEXT + item.name for item in settings_of(LabelTextUse)}
    return names


def add_options(options: list[Decorator]) -> Decorator:
    """Return a decorator that adds options, which the help shows in this order."""

    def decorate(command: Any) -> Any:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def _setting_option(item: dataclasses.Field[Any], default: Any, prefix: str = "") -> Decorator:
    name = prefix + item.name
    flag = "--" + name.replace("_", "-")
    if default is True:
        flag += f"/--no-{name.replace('_', '-')}"
    return click.option(
        flag,
        name,
        type=_option_type(item, default),
        is_flag=isinstance(default, bool),
        metavar=item.metadata["metavar"],
        default=default,
        show_default=True,
        help=item.metadata["help"],
    )


def _option_type(item: dataclasses.Field[Any], default: Any) -> Any:
    if isinstance(default, bool):
        return bool
    if item.metadata["choices"]:
        can_be_none = default is not None and "None" in str(item.type)
        return (ChoiceOrNone if can_be_none else click.Choice)(item.metadata["choices"])
    if isinstance(default, tuple):
        return tuple(type(part) for part in default)
    annotation = str(item.type)
    kind: Any = float if "float" in annotation else int if "int" in annotation or isinstance(default, int) else str
    kind = _count_or_share if annotation == "int | float" else kind
    return NumberOrWord(kind, item.metadata["metavar"]) if "|" in (item.metadata["metavar"] or "") else kind


def _count_or_share(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def is_given(name: str) -> bool:
    """Whether the user has set the parameter `name` of the running command."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def given_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the running command that the user has set."""
    return {name: value for name, value in parameters.items() if is_given(name)}


def option_of(name: str) -> str:
    """Return the option, or --set NAME, with which the running command takes a setting."""
    return option_names(click.get_current_context().command).get(name, name)


def refuse_option(option: str, beside: str, why: str) -> Never:
    """Raise `InputError`: an option cannot be combined with another option or a kind of model."""
    message = f"{option} cannot be combined with {beside}: {why}"
    raise InputError(message)


def refuse_tree_options(fixed: str, given: Mapping[str, Any]) -> None:
    """Raise `InputError` if tree settings are given together with the option `fixed`, which determines the tree."""
    useless = next((item.name for item in settings_of(TreeSettings) if item.name in given), None)
    if useless is not None:
        refuse_option(option_of(useless), fixed, "no tree is built")
