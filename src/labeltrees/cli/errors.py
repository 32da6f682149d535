"""Error messages of the library in the words of the command line: options instead of parameters, and what to type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from labeltrees.errors import FileFormatError, LabelTreesError

# Advice that only makes sense in Python, and what to advise on the command line instead. MODEL, RESULT, OUTPUT and
# the like become the arguments that were given.
_ADVICE = {
    "call calibrate(X) on points the model has not seen": (
        "run labeltrees calibrate MODEL DATA on points that the model has not seen"
    ),
    "predict_proba needs loss='logistic' without evidence and trend, or calibrate(X, Y) on points the model has not "
    "seen": (
        "the model has no probabilities: run labeltrees calibrate MODEL DATA on points that the model has not seen"
    ),
    "fit it with label_names": "train it with --label-names FILE",
    ", None or a numpy RandomState": "",
    " or None, got": ", got",
    "empty vocabulary; perhaps the documents only contain stop words": (
        "the texts have no words to learn from: words of one letter and stop words are left out; name another field "
        "with --text FIELD, or learn from characters with labeltrees fit --analyzer char"
    ),
    "max_df corresponds to < documents than min_df": (
        "too few texts to learn words from: --min-df of labeltrees fit is the number of texts that must have a word "
        "(2 by default)"
    ),
    "After pruning, no terms remain. Try a lower min_df or a higher max_df.": (
        "no words remain: all occur in too few texts, or in too many, for --min-df (2 by default) and --max-df of "
        "labeltrees fit"
    ),
}
# What to type next, by a pattern in the message. `{roles}` are options for the roles that it names in brackets.
_NEXT_STEPS = (
    (r"the header must be three counts", "for a file with one text per line: --data-format fasttext"),
    (r"no column '[^']*' \(\w+\)", "name the columns with {roles}"),
    (r"no column '[^']*'; the columns are", "name the columns with --text COLUMN and --labels COLUMN"),
    (r"line \d+: '[^']*' is missing", "name the fields with --text FIELD and --labels FIELD"),
    (r"No space left on device", "free some space, or write elsewhere"),
)


def one_line(error: Exception, command: click.Command | None, arguments: Mapping[str, Any] | None = None) -> str:
    """Return the message of an error in one line, for a user of `command` with these arguments."""
    given = arguments or {}
    if isinstance(error, LabelTreesError):
        message = name_options(" ".join(str(error).split()), command)
    elif isinstance(error, OSError) and error.strerror:
        # Writing to a full disk fails without a name: the output is what was being written.
        file = error.filename or next((given[name] for name in ("output", "folder") if given.get(name)), None)
        message = f"{file}: {error.strerror}" if file else error.strerror
    elif isinstance(error, MemoryError):
        message = "not enough memory"
    else:
        message = str(error) or type(error).__name__
    return _with_next_step(_with_arguments(message, given), error, given)


def _with_arguments(message: str, arguments: Mapping[str, Any]) -> str:
    model = arguments.get("model_folder")
    return re.sub(r"\bMODEL\b", str(model).replace("\\", r"\\"), message) if model else message


def _with_next_step(message: str, error: Exception, arguments: Mapping[str, Any]) -> str:
    for pattern, advice in _NEXT_STEPS:
        if re.search(pattern, message) is not None:
            roles = [f"--{role.replace('_', '-')} COLUMN" for role in re.findall(r"' \((\w+)\)", message)]
            step = advice.format(roles=" and ".join(roles))
            return message if step in message else f"{message}; {step}"
    model = arguments.get("model_folder")
    if isinstance(error, FileFormatError) and model and message.startswith(str(model)):
        if arguments.get("verify"):
            return f"{message}; restore the model from a copy, or train it again"
        if "not a saved model" not in message:
            return f"{message}; to check all files of the model: labeltrees inspect {model} --verify"
    return message


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
