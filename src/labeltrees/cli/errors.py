"""Error messages of the command line: options instead of parameters, and what to type next."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

import click

from labeltrees.errors import FileFormatError, LabelTreesError, Parameter, Phrase

ARGUMENTS = "labeltrees.arguments"  # where a command keeps its arguments for messages, in `Context.meta`

# {model} is the MODEL that was given; {columns} are the options of the columns that the error is about.
_WORDS = {
    Phrase.OR_NONE: "",
    Phrase.OR_RANDOM_STATE: "",
    Phrase.CALIBRATE: "run labeltrees calibrate {model} DATA on points that the model has not seen",
    Phrase.NO_PROBABILITIES: (
        "the model has no probabilities: run labeltrees calibrate {model} DATA on points that the model has not seen"
    ),
    Phrase.TIMES: "",
    Phrase.FIT_WITH_NAMES: "train it with --label-names FILE",
    Phrase.NO_WORDS: (
        "the texts have no words to learn from: words of one letter and stop words are left out; name another field "
        "with --text FIELD, or learn from characters with labeltrees fit --set analyzer=char"
    ),
    Phrase.TOO_FEW_TEXTS: (
        "too few texts to learn words from: the setting min_df of labeltrees fit is the number of texts that must have "
        "a word (2 by default); change it with --set min_df=1"
    ),
    Phrase.NO_TERMS_LEFT: (
        "no words remain: all occur in too few texts, or in too many, for the settings min_df (2 by default) and "
        "max_df; change them with --set min_df=1 of labeltrees fit"
    ),
    Phrase.GIVE_FORMAT: "for a file with one text per line: --data-format fasttext",
    Phrase.GIVE_ITEM_LISTS: 'for lists of items use a .jsonl file with one list per line, such as ["bread", "milk"]',
    Phrase.GIVE_COLUMNS: "name the columns with {columns}",
    Phrase.GIVE_FIELDS: "name the fields with --text FIELD and --labels FIELD",
    Phrase.NOT_A_MODEL: "labeltrees fit and choose write models",
}


def one_line(error: Exception, command: click.Command | None, arguments: Mapping[str, Any] | None = None) -> str:
    """Return the message of an error in one line, for a user of `command` with these arguments."""
    given = arguments or {}
    if isinstance(error, LabelTreesError):
        return _Wording(command, given).message(error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        # The error of a full disk has no file name: name the output of the command.
        file = error.filename or next((given[name] for name in ("output", "folder") if given.get(name)), None)
        message = f"{file}: {error.strerror}" if file else error.strerror
        return f"{message}; free some space, or write elsewhere" if error.errno == errno.ENOSPC else message
    return str(error) or type(error).__name__


class _Wording:
    """Words messages for a user of `command` with these arguments."""

    def __init__(self, command: click.Command | None, arguments: Mapping[str, Any]) -> None:
        self._options = option_names(command)
        self._model = arguments.get("model_folder")
        self._verified = bool(arguments.get("verify"))

    def message(self, error: LabelTreesError) -> str:
        """Return a message, with what to type next."""
        message = " ".join(error.worded(self._word).split())
        step = self._next_step(error, message)
        return f"{message}; {step}" if step else message

    def _word(self, part: Parameter | Phrase) -> str:
        if isinstance(part, Phrase):
            return _WORDS[part].format(model=self._model or "MODEL", columns="")
        option = self._options.get(part.name, part.name)
        joined = "=" if option.startswith("--set ") else " "
        value = f"{part.value:g}" if isinstance(part.value, float) else part.value
        return option if part.value is ... else f"{option}{joined}{value}"

    def _next_step(self, error: LabelTreesError, message: str) -> str:
        if error.next_step is not None:
            columns = " and ".join(f"{self._options.get(name, name)} COLUMN" for name in error.about)
            return _WORDS[error.next_step].format(model=self._model, columns=columns)
        if isinstance(error, FileFormatError) and self._model and message.startswith(str(self._model)):
            if self._verified:
                return "restore the model from a copy, or train it again"
            return f"to check all files of the model: labeltrees inspect {self._model} --verify"
        return ""


def printable(text: str) -> str:
    """Return text with control characters replaced, because a terminal could interpret them."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def option_names(command: click.Command | None) -> dict[str, str]:
    """Return the option, or the setting for --set, of each parameter of a command and its subcommands."""
    names: dict[str, str] = {}
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            names |= option_names(subcommand)
    for parameter in [] if command is None else command.params:
        if isinstance(parameter, click.Option) and parameter.name is not None:
            names[parameter.name] = max(parameter.opts, key=len)
    settable = getattr(command, "settable", ())
    return {**{name: f"--set {name}" for name in settable}, **names}
