"""All errors that labeltrees raises, and the parts of messages that differ between Python and the command line.

The command line prints a message in one line, with its own words for these parts (`cli/errors.py`), and exits with
`exit_code`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

LONGEST_MESSAGE = 2000


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message: `beam` or `beam=3` in Python, `--beam` or `--beam 3` on the command line."""

    name: str
    value: object = ...

    def __str__(self) -> str:
        if self.value is ...:
            return self.name
        return f"{self.name}={self.value:g}" if isinstance(self.value, float) else f"{self.name}={self.value!r}"


class Phrase(Enum):
    """A part of a message, worded for Python; `cli/errors.py` has the wording for the command line."""

    OR_NONE = " or None"
    OR_RANDOM_STATE = ", None or a numpy RandomState"
    CALIBRATE = "call calibrate(X) on points the model has not seen"
    NO_PROBABILITIES = (
        "predict_proba needs loss='logistic' without evidence and trend, or calibrate(X, Y) on points the model has "
        "not seen"
    )
    FIT_WITH_NAMES = "fit it on a Dataset with label_names"
    TIMES = "; in Python, pass times= or a Dataset with times"
    # the same three messages as in scikit-learn
    NO_WORDS = "empty vocabulary; perhaps the documents only contain stop words"
    TOO_FEW_TEXTS = "max_df corresponds to < documents than min_df"
    NO_TERMS_LEFT = "After pruning, no terms remain. Try a lower min_df or a higher max_df."
    # Next steps, which only the command line adds to messages.
    GIVE_FORMAT = "for a file with one text per line: format='fasttext'"
    GIVE_ITEM_LISTS = "for lists of items: a .jsonl file with one list per line"
    GIVE_COLUMNS = "name the columns"
    GIVE_FIELDS = "name the fields"
    NOT_A_MODEL = "name the folder that save wrote"

    def __str__(self) -> str:
        return self.value


def _worded(part: object, word: Callable[[Parameter | Phrase], str]) -> object:
    if isinstance(part, LabelTreesError):
        return part.worded(word)
    return word(part) if isinstance(part, Parameter | Phrase) else part


class LabelTreesError(Exception):
    """Base class of all errors; the message says what is wrong and where.

    Parameters
    ----------
    message : str or Phrase
        The whole message; or, if `parts` are given, a template with one ``{}`` for each of them.
    *parts : Parameter, Phrase, LabelTreesError or object
        Parameters and phrases, also those of another error, are worded when the message is shown.
    next_step : Phrase, optional
        What to do next; only the command line shows it.
    about : tuple of str
        The parameters that the next step names.

    Examples
    --------
    >>> error = InputError("{} needs {}", Parameter("hide"), Parameter("features", "basket"))
    >>> print(error)
    hide needs features='basket'
    >>> error.worded(lambda part: f"--{part.name}")
    '--hide needs --features'
    """

    exit_code = 1

    def __init__(
        self, message: str | Phrase = "", *parts: object, next_step: Phrase | None = None, about: tuple[str, ...] = ()
    ) -> None:
        self._template, self._parts = ("{}", (message,)) if isinstance(message, Phrase) else (message, parts)
        self.next_step, self.about = next_step, about
        super().__init__(self.worded())

    def worded(self, word: Callable[[Parameter | Phrase], str] = str) -> str:
        """Return the message, with every parameter and phrase as `word` writes it."""
        message = self._template
        if self._parts:
            message = message.format(*(_worded(part, word) for part in self._parts))
        # A message may quote a name from a file, which can be a megabyte long.
        return f"{message[:1500]} ... {message[-400:]}" if len(message) > LONGEST_MESSAGE else message


def _safe_repr(value: object) -> str:
    """Return the repr of a value, or the name of its type if repr fails, as for a damaged matrix."""
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


class InputError(LabelTreesError, ValueError):
    """An argument, an array or a dataset is not valid.

    Attributes
    ----------
    name, allowed, given
        If the error is about the value of one parameter: its name, the allowed values, and the given value (its repr,
        unless it is a number or a string). Otherwise None.
    """

    exit_code = 2
    name: str | None = None
    allowed: str | None = None
    given: object = None

    @classmethod
    def of_value(cls, name: str, allowed: str, given: object, also: Phrase | None = None, hint: str = "") -> InputError:
        """Return the error for a value that is not `allowed`; `also` is allowed in Python only; `hint` comes last."""
        text = _safe_repr(given)
        shown = text if len(text) <= 80 else text[:77] + "..."
        error = cls("{} must be {}{}, got {}{}", Parameter(name), allowed, "" if also is None else also, shown, hint)
        error.name, error.allowed = name, allowed
        error.given = given if isinstance(given, str | int | float) else shown  # an array would be kept and pickled
        return error


class GoneError(InputError, TypeError):
    """An argument does not exist or was removed; the message says what to use instead."""


class InputTypeError(InputError, TypeError):
    """An array holds objects that are not numbers. Also a TypeError, as scikit-learn expects."""


class FileFormatError(LabelTreesError, ValueError):
    """A file is damaged or not in the expected format."""

    exit_code = 3


class MissingExtraError(LabelTreesError, ImportError):
    """An optional feature needs a package that is not installed."""

    exit_code = 4
