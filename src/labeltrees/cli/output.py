"""What commands write: tables and JSON on standard output, the rest on standard error."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labeltrees._files import write_atomically
from labeltrees.errors import InputError

_logger = logging.getLogger("labeltrees")
_WIDTH_WITHOUT_TERMINAL = 200


def console() -> Console:
    """Return standard output: as wide as the terminal, and not cut where there is none."""
    terminal = Console(highlight=False, markup=False)
    if terminal.is_terminal:
        return terminal
    return Console(highlight=False, markup=False, width=_WIDTH_WITHOUT_TERMINAL)


@contextmanager
def step(what: str, show: bool) -> Iterator[None]:
    """Say on standard error that something goes on, if anybody wants to know: a spinner on a terminal, else a line."""
    if not show:
        yield
        return
    started = time.monotonic()
    with Console(stderr=True).status(what):
        yield
    _logger.info("%s: %.1f s", what, time.monotonic() - started)


def print_json(value: Any) -> None:
    """Write a value as JSON; NaN, which JSON does not know, as null."""
    click.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_csv(path: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write records as a CSV file with a header, whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, [text.getvalue().encode()])


def make_table(columns: Sequence[str] | None, rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> Table:
    """Return a table with a header (or None), the columns of numbers `left` to the left and the others to the right."""
    table = Table(box=None, header_style="bold", pad_edge=False, show_header=columns is not None)
    for number, column in enumerate(columns or rows[0]):
        table.add_column(Text(column), justify="left" if number in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def check_folder_of(path: str | None) -> None:
    """Refuse a file in a folder that is not there: before the work, not after it."""
    if path is not None and not Path(path).absolute().parent.is_dir():
        message = f"{path}: no such folder"
        raise InputError(message)


def printable(text: str) -> str:
    """Return text without characters that would steer the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def size(n_bytes: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size(999), size(5_689_716)
    ('999 bytes', '5.7 MB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes} bytes"


def number(value: float, digits: int = 2) -> str:
    """Return a number for a table; a dash where there is none."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"
