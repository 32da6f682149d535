"""Output of commands: results as tables or JSON on standard output, progress on standard error."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from labeltrees._files import write_atomically
from labeltrees._progress import spinning
from labeltrees.cli.tables import Cell
from labeltrees.errors import InputError
from labeltrees.report.charts import altair

_logger = logging.getLogger("labeltrees")
_PLOT_SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH_WITHOUT_TERMINAL = 10_000


def console() -> Console:
    """Return standard output, as wide as the terminal; without a terminal, so wide that nothing wraps."""
    terminal = Console(highlight=False, markup=False)
    if terminal.is_terminal:
        return terminal
    return Console(highlight=False, markup=False, width=_WIDTH_WITHOUT_TERMINAL)


@contextmanager
def step(what: str, show: bool) -> Iterator[None]:
    """Show on standard error that work is running: a spinner on a terminal, and a line with the time at the end."""
    if not show:
        yield
        return
    started = time.monotonic()
    with spinning(what):
        yield
    _logger.info("%s: %.1f s", what, time.monotonic() - started)


def print_json(value: Any) -> None:
    """Write a value as JSON; NaN becomes null."""
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
    """Write records as a CSV file with a header, atomically."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, [text.getvalue().encode()])


def with_margin(value: float, low: float, high: float) -> Cell:
    """Return a share in percent with the half-width of its interval, which a narrow table leaves out.

    Examples
    --------
    >>> with_margin(0.7012, 0.69, 0.71)
    Cell(text='70.12 ± 1.0', short='70.12')
    """
    share = number(100 * value)
    return Cell(f"{share} ± {number(50 * (high - low), 1)}", share)


def check_parent_folder(path: str | None) -> None:
    """Raise `InputError` if the folder for an output does not exist: before the work, not after it."""
    parent = Path(path or ".").parent
    if path is not None and not parent.absolute().is_dir():
        message = f"{path}: its folder does not exist; to make it: mkdir -p {parent}"
        raise InputError(message)


def check_plot(path: str | None) -> None:
    """Raise an error if no picture can be drawn to `path`: before the work, not after it."""
    if path is None:
        return
    if Path(path).suffix.lower() not in _PLOT_SUFFIXES:
        message = f"--plot must end in one of {', '.join(_PLOT_SUFFIXES)}, got {path!r}"
        raise InputError(message)
    check_parent_folder(path)
    altair()  # raises an error if the extra plots is missing


def printable(text: str) -> str:
    """Return text with control characters replaced, because they could change the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def size(n_bytes: int) -> str:
    """Return a number of bytes with a unit.

    Examples
    --------
    >>> size(999), size(5_689_716)
    ('999 bytes', '5.7 MB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:,.1f} {name}"
    return f"{n_bytes} bytes"


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "label"), plural(2000, "label")
    ('1 label', '2,000 labels')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def number(value: float, digits: int = 2) -> str:
    """Return a number for a table; a dash for NaN."""
    return "-" if math.isnan(value) else f"{value:,.{digits}f}"


def typed_lines(out: Console, request: str) -> Iterator[str]:
    """Yield the lines that the user types until an empty one; none if input or output is not a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    out.print(f"\n{request} (an empty line ends):")
    while True:
        try:
            text = input("> ").strip()
        except EOFError:
            return
        if not text:
            return
        yield text
