"""Reader of texts in Parquet files, by polars."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from labeltrees._extras import import_extra
from labeltrees.data.files import FilePath, MissingFileError
from labeltrees.data.limits import current_limits
from labeltrees.data.parquet_sizes import check_parquet_sizes
from labeltrees.data.text_formats import TextBlock, TextFields, drop_blank, split_labels
from labeltrees.errors import FileFormatError, InputError, Phrase

if TYPE_CHECKING:
    import polars


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)


class ParquetReader:
    """Reads the records of a Parquet file in blocks of rows.

    With `lists`, the text of a record can also be a list, which is kept as it is.
    """

    def __init__(self, path: FilePath, fields: TextFields, block_size: int, lists: bool = False) -> None:
        self.path, self.fields, self.block_size, self.lists = path, fields, block_size, lists

    def fail(self, fault: str, next_step: Phrase | None = None) -> NoReturn:
        """Raise the error for a fault of the file."""
        message = f"{self.path}: {fault}"
        raise FileFormatError(message, next_step=next_step, about=("text", "labels"))

    def blocks(self) -> Iterator[TextBlock]:
        """Yield the records in blocks."""
        pl = import_extra("polars", "logs", "reading Parquet files")
        if not Path(self.path).is_file():
            message = f"{self.path}: no such file"
            raise MissingFileError(message)
        n_bytes = check_parquet_sizes(Path(self.path))
        try:
            lazy = pl.scan_parquet(Path(self.path))
            columns = self.check_columns(dict(lazy.collect_schema()), pl)
            n_rows = int(lazy.select(pl.len()).collect().item())
            for start in range(0, n_rows, self.block_size):
                frame = lazy.select(columns).slice(start, self.block_size).collect()
                n_bytes = self.check_lengths(frame, start, n_bytes, pl)
                yield self.block(frame, start, pl)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            self.fail(f"cannot be read as Parquet ({first_line(error)})")

    def check_columns(self, schema: dict[str, Any], pl: Any) -> list[str]:
        """Return the columns to read; refuse missing columns and wrong types."""
        columns = []
        for name in self.fields.names:
            if name not in schema:
                if name == self.fields.labels and not self.fields.labels_required:
                    continue
                columns_there = ", ".join(map(repr, schema))[:300]
                self.fail(f"no column {name!r}; the columns are {columns_there}", Phrase.GIVE_COLUMNS)
            columns.append(name)
        strings = (pl.String, pl.Categorical, pl.Enum, pl.Null)
        for name in self.fields.text:
            is_list = self.lists and len(self.fields.text) == 1 and isinstance(schema[name], pl.List)
            if not isinstance(schema[name], strings) and not is_list:
                self.fail(f"column {name!r} is of type {schema[name]}, not strings")
        if self.fields.labels in columns:
            kind = schema[self.fields.labels]
            inner = kind.inner if isinstance(kind, pl.List) else kind
            if not isinstance(inner, strings):
                self.fail(f"column {self.fields.labels!r} is of type {kind}, not lists of strings or strings")
        if self.fields.weight is not None and not schema[self.fields.weight].is_numeric():
            self.fail(f"column {self.fields.weight!r} is of type {schema[self.fields.weight]}, not numbers")
        return columns

    def check_lengths(self, frame: polars.DataFrame, start: int, n_bytes: int, pl: Any) -> int:
        """Refuse texts that are too long, and return `n_bytes` plus the bytes of the texts.

        A page can say the same long text for many rows, so the size of the pages says little about that of the texts.
        """
        limits = current_limits()
        for name in (name for name in frame.columns if name != self.fields.weight):
            strings = frame[name].list.join("") if isinstance(frame[name].dtype, pl.List) else frame[name]
            lengths = strings.cast(pl.String).str.len_bytes().fill_null(0)
            n_bytes += int(lengths.sum())
            longest = lengths.arg_max()
            if longest is not None and lengths[longest] > limits.line_bytes:
                limits.refuse_line(self.path, start + longest + 1)
        limits.check_size(self.path, n_bytes, Path(self.path).stat().st_size, start + 1)
        return n_bytes

    def block(self, frame: polars.DataFrame, start: int, pl: Any) -> TextBlock:
        """Return the rows of `frame`, which start at row `start` of the file."""
        fields, block = self.fields, TextBlock()
        columns = []
        for name in fields.text:
            column = frame[name] if isinstance(frame.schema[name], pl.List) else frame[name].cast(pl.String)
            self.refuse_nulls(name, column, start)
            columns.append(column.to_list())
        block.texts = (
            columns[0] if len(columns) == 1 else [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        )
        if fields.labels is not None:
            values = frame[fields.labels].to_list() if fields.labels in frame.columns else [None] * len(frame)
            for row, value in enumerate(values):
                block.labels.append(self.labels(value, block, start + row))
        if fields.weight is not None:
            weights = frame[fields.weight].cast(pl.Float64)
            self.refuse_nulls(fields.weight, weights, start)
            bad = (~(weights.is_finite() & (weights >= 0))).arg_true()
            if len(bad) > 0:
                self.fail(f"row {start + bad[0] + 1}: {fields.weight!r} is not a number >= 0")
            block.weights = weights.to_list()
        return block

    def refuse_nulls(self, name: str, column: Any, start: int) -> None:
        """Refuse a column with nulls."""
        nulls = column.is_null().arg_true()
        if len(nulls) > 0:
            self.fail(f"row {start + nulls[0] + 1}: {name!r} is null ({len(nulls):,} of {len(column):,} rows here)")

    def labels(self, value: Any, block: TextBlock, row: int) -> list[str]:
        """Return the labels of a row; null means no labels."""
        if value is None:
            return []
        if isinstance(value, str):
            try:
                labels, n_blank = split_labels(value, self.fields.label_separator)
            except InputError as error:
                self.fail(f"row {row + 1}: {error}")
        else:
            labels, n_blank = drop_blank(value)
        block.n_blank_labels += n_blank
        return labels
