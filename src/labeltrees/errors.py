"""The one family of errors. The command line prints their message in one line and exits with `exit_code`."""

from __future__ import annotations


class LabelTreesError(Exception):
    """Anything labeltrees refuses to do, with a message that names what and where."""

    exit_code = 1


class InputError(LabelTreesError, ValueError):
    """An argument, an array or a dataset is not what it should be."""

    exit_code = 2


class FileFormatError(LabelTreesError, ValueError):
    """A file is damaged, or not in the form it should have."""

    exit_code = 3


class MissingExtraError(LabelTreesError, ImportError):
    """An optional part needs a package that is not installed."""

    exit_code = 4
