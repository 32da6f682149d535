"""All errors that labeltrees raises. The command line prints the message in one line and exits with `exit_code`."""

from __future__ import annotations

LONGEST_MESSAGE = 2000


class LabelTreesError(Exception):
    """Base class of all errors; the message says what is wrong and where."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        # A file may hold a name of a megabyte, which a message would show.
        is_long = len(message) > LONGEST_MESSAGE
        super().__init__(f"{message[:1500]} ... {message[-400:]}" if is_long else message)


class InputError(LabelTreesError, ValueError):
    """An argument, an array or a dataset is not valid."""

    exit_code = 2


class FileFormatError(LabelTreesError, ValueError):
    """A file is damaged or not in the expected format."""

    exit_code = 3


class MissingExtraError(LabelTreesError, ImportError):
    """An optional feature needs a package that is not installed."""

    exit_code = 4
