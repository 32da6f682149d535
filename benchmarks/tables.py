"""Tables in Markdown, as every benchmark prints them."""

from __future__ import annotations

from collections.abc import Iterable


def print_head(columns: str) -> None:
    """Print the head of a table.

    Parameters
    ----------
    columns : str
        The titles of the columns, with " | " between them.
    """
    print(f"| {columns} |\n|{' --- |' * len(columns.split(' | '))}", flush=True)


def slashed(values: Iterable[float], form: str = ".2f") -> str:
    """Return numbers with slashes between them, as in "76.61 / 51.51 / 39.44"."""
    return " / ".join(f"{value:{form}}" for value in values)
