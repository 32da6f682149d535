"""Error messages of the library in the words of the command line: options instead of Python parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from labeltrees.errors import LabelTreesError

# Advice that only makes sense in Python, and what to advise on the command line instead.
_ADVICE = {
    "call calibrate(X) on points the model has not seen": (
        "run labeltrees calibrate MODEL DATA on points that the model has not seen"
    ),
    ", None or a numpy RandomState": "",
    " or None, got": ", got",
}


def one_line(error: Exception, command: click.Command | None) -> str:
    """Return the message of an error in one line, for a user of `command`."""
    if isinstance(error, LabelTreesError):
        return name_options(" ".join(str(error).split()), command)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error) or type(error).__name__


def name_options(message: str, command: click.Command | None) -> str:
    """Return a message with the options of `command` instead of the Python parameters that they set.

    Examples
    --------
    >>> command = click.Command("fit", params=[click.Option(["--jobs", "n_jobs"]), click.Option(["--beam"])])
    >>> name_options("n_jobs must be an integer, got 'x'", command)
    "--jobs must be an integer, got 'x'"
    >>> name_options("beam must be a positive integer", command)
    '--beam must be a positive integer'
    >>> name_options("use beam='none'", command)
    'use --beam none'
    """
    for ours, theirs in _ADVICE.items():
        message = message.replace(ours, theirs)
    for name, option in dict(_option_names(command)).items():
        message = re.sub(rf"(?<![\w./'\"-]){re.escape(name)}='([^']*)'", rf"{option} \1", message)
        # A name without an underscore may be an ordinary word: it is replaced only where it must be a parameter.
        before = r"(?<![\w./'\"-])" if "_" in name else r"(?:^|(?<=combined with ))"
        after = r"(?![\w./'\"-])" if "_" in name else r"(?= must | cannot | needs |=|, which )"
        message = re.sub(f"{before}{re.escape(name)}{after}", option, message)
        message = message.replace(f"{option}=", f"{option} ")
    return message


def _option_names(command: click.Command | None) -> Iterator[tuple[str, str]]:
    """Yield the parameter name and the flag of each option of a command and its subcommands."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            yield from _option_names(subcommand)
    for parameter in [] if command is None else command.params:
        if isinstance(parameter, click.Option) and parameter.name is not None:
            yield parameter.name, max(parameter.opts, key=len)
