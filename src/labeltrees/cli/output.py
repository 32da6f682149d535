"""Output of commands: results as tables or JSON on standard output, progress on standard error."""

from __future__ import annotations

import csv
import io
import json
import logging
import math
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from labeltrees._files import write_atomically
from labeltrees._progress import spinning
from labeltrees.errors import InputError
from labeltrees.report.charts import altair

_logger = logging.getLogger("labeltrees")
_PLOT_SUFFIXES = (".png", ".svg", ".pdf")
_WIDTH_WITHOUT_TERMINAL = 10_000


def console() -> Console:
    """Return a console for standard output, as wide as the terminal; without a terminal, nothing wraps."""
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
    """Raise `InputError` if the folder of an output file does not exist; call it before the work starts."""
    parent = Path(path or ".").parent
    if path is not None and not parent.absolute().is_dir():
        message = f"{path}: its folder does not exist; to make it: mkdir -p {parent}"
        raise InputError(message)


def check_plot(path: str | None) -> None:
    """Raise an error if no chart can be written to `path`; call it before the work starts."""
    if path is None:
        return
    if Path(path).suffix.lower() not in _PLOT_SUFFIXES:
        message = f"--plot must end in one of {', '.join(_PLOT_SUFFIXES)}, got {path!r}"
        raise InputError(message)
    check_parent_folder(path)
    altair()  # raises an error if the extra plots is missing


_FORMULA = re.compile(r"[=@]|[+-](?!\d+(\.\d+)?$)")  # a number stays a number


def no_formula(cell: str) -> str:
    r"""Return the cell of a table; a backslash is added if a spreadsheet would read it as a formula.

    Examples
    --------
    >>> no_formula("=1+1"), no_formula("-5"), no_formula("a=b")
    ('\\=1+1', '-5', 'a=b')
    """
    return "\\" + cell if _FORMULA.match(cell) else cell


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
    """Yield typed lines until an empty one; yield nothing if input or output is not a terminal."""
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


_GAP = 2
_LONGEST_WORD = 24  # a longer word in a text, such as the name of a label, may be broken
KEEP = 0


class Cell(NamedTuple):
    """A value with a shorter form for narrow terminals."""

    text: str
    short: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    header : str
    short : str, optional
        The header on a narrow terminal.
    priority : int
        Columns with the largest number are left out first, those with 0 last.
    align : {"left", "right"}
        Left for texts, which may wrap at words; right for numbers, which never wrap.
    """

    header: str
    short: str | None = None
    priority: int = KEEP
    align: Literal["left", "right"] = "right"


class _Layout(NamedTuple):
    places: list[int]  # of the columns shown
    widths: list[int]
    long_headers: int  # the columns before this one have their full header
    short_cells: bool


class Table:
    """A table that chooses its columns when it is printed, to fit the width.

    Parameters
    ----------
    columns : sequence of Column
    rows : sequence of rows of str or Cell
    header : bool
        Whether the headers are shown.
    shortened : str
        Name of the part that short cells leave out, for the note below the table.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[str | Cell]],
        *,
        header: bool = True,
        shortened: str = "",
    ) -> None:
        self.columns, self.rows, self.header, self.shortened = list(columns), rows, header, shortened

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table and, if something is left out, a note."""
        layout = self._layout(options.max_width)
        table = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
        table.show_header = self.header
        for place, width in zip(layout.places, layout.widths, strict=True):
            column = self.columns[place]
            header = Text(self._header(place, layout.long_headers))
            table.add_column(header, justify=column.align, width=width, vertical="top", overflow="fold")
        for row in self.rows:
            table.add_row(*(Text(_text(row[place], layout.short_cells)) for place in layout.places))
        yield table
        missing = [column.header for place, column in enumerate(self.columns) if place not in layout.places]
        missing += [self.shortened] if layout.short_cells and self.shortened else []
        if any(missing):  # a column without a header, such as bars, is not listed
            shown = ", ".join(filter(None, missing))
            yield Text(f"Not shown at this width: {shown}. To see all: {_ways_to_all()}.", "dim")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the width of the full table."""
        full = sum(self._widest(place, len(self.columns), False) + _GAP for place in range(len(self.columns)))
        return Measurement(min(full, options.max_width), min(full, options.max_width))

    def _layout(self, width: int) -> _Layout:
        """Return the first layout that fits, from the full table down to two columns."""
        places, n_columns = list(range(len(self.columns))), len(self.columns)
        while True:
            levels = [(long, False) for long in range(n_columns, -1, -1)]  # the last headers are shortened first
            for long_headers, short_cells in [*levels, (n_columns, True), (0, True)]:
                widths = self._fit(places, width, long_headers, short_cells)
                if widths is not None:
                    return _Layout(places, widths, long_headers, short_cells and self._has_short_cells(places))
            if len(places) <= 2:
                return _Layout(places, [self._narrowest(place, 0, True) for place in places], 0, True)
            # Drop the last column with the largest priority number. The first column names the row and stays.
            least = max(places[1:], key=lambda place: (self.columns[place].priority, place))
            places = [place for place in places if place != least]

    def _fit(self, places: list[int], width: int, long_headers: int, short_cells: bool) -> list[int] | None:
        """Return the widths of columns that fit into `width`; None if they do not fit without cutting."""
        widths = [self._narrowest(place, long_headers, short_cells) for place in places]
        spare = width - sum(widths) - _GAP * (len(places) - 1)
        if spare < 0:
            return None
        # Spare width goes to the first column, which names the row, then to columns of numbers, then to texts.
        for at in sorted(range(len(places)), key=lambda at: (at > 0, self.columns[places[at]].align == "left")):
            more = min(spare, self._widest(places[at], long_headers, short_cells) - widths[at])
            widths[at], spare = widths[at] + more, spare - more
        return widths

    def _narrowest(self, place: int, long_headers: int, short_cells: bool) -> int:
        """Return the minimum width of a column: headers and texts wrap at words, numbers do not wrap."""
        column = self.columns[place]
        words = self._header(place, long_headers).split() if self.header else []
        cells = [_text(row[place], short_cells) for row in self.rows]
        if column.align == "left":
            words += [word[:_LONGEST_WORD] for cell in cells for word in cell.split()]
        else:
            words += cells
        return max(map(cell_len, words), default=0)

    def _widest(self, place: int, long_headers: int, short_cells: bool) -> int:
        """Return the width of a column in which nothing wraps."""
        texts = [_text(row[place], short_cells) for row in self.rows]
        texts += [self._header(place, long_headers)] if self.header else []
        return max(map(cell_len, texts), default=0)

    def _header(self, place: int, long_headers: int) -> str:
        column = self.columns[place]
        return column.header if place < long_headers or column.short is None else column.short

    def _has_short_cells(self, places: list[int]) -> bool:
        return any(isinstance(row[place], Cell) for row in self.rows for place in places)


def _text(cell: str | Cell, short: bool) -> str:
    return cell if isinstance(cell, str) else cell.short if short else cell.text


def make_table(
    columns: Sequence[str | Column] | None, rows: Sequence[Sequence[str | Cell]], left: Sequence[int] = (0,)
) -> Table:
    """Return a table; a column given as a string has priority 0.

    Parameters
    ----------
    columns : sequence of str or Column, or None for a table without header
    rows : sequence of rows
    left : sequence of int
        Places of the columns to align left, among those given as strings.
    """
    given = columns if columns is not None else [""] * len(rows[0])
    made = [
        column if isinstance(column, Column) else Column(column, align="left" if place in left else "right")
        for place, column in enumerate(given)
    ]
    return Table(made, rows, header=columns is not None, shortened="± intervals")


def _ways_to_all() -> str:
    """Return the options of the running command that show all columns, for a message."""
    context = click.get_current_context(silent=True)
    names = set() if context is None else {parameter.name for parameter in context.command.params}
    known = {"as_json": "--json", "csv_file": "--csv FILE", "form": "--format json"}
    return ", ".join([*(way for name, way in known.items() if name in names), "a wider terminal"])
