"""Datasets included in the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from labeltrees._extras import import_extra
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import open_any
from labeltrees.data.texts import read_text_pair

if TYPE_CHECKING:
    import polars

__all__ = ["load_debian", "load_shop_log"]


def load_debian() -> tuple[Dataset, Dataset]:
    """Load Debian packages and their dependencies: 13,500 training points, 10,000 labels.

    A point is a package's name and description; its labels are the packages it depends on. Features are tf-idf weights
    of the words that occur in at least two training texts. ``data/bundled/README.md`` describes the origin and the
    licence of the data.

    Returns
    -------
    train, test : Dataset
        With the same features and labels, and with texts and names.

    Examples
    --------
    >>> import labeltrees as lt
    >>> train, test = lt.datasets.load_debian()
    >>> train.n_points, train.n_labels == test.n_labels
    (13500, True)
    """
    with debian_folder() as folder:
        return read_text_pair(folder / "debian-train.jsonl.xz", folder / "debian-test.jsonl.xz")


@contextmanager
def debian_folder() -> Iterator[Path]:
    """Yield the folder with the files debian-train.jsonl.xz and debian-test.jsonl.xz."""
    with as_file(files("labeltrees") / "data" / "bundled") as folder:
        yield folder


def load_shop_log() -> polars.DataFrame:
    """Load a small synthetic log of a food shop: baskets with their items, quantities and times.

    `scripts/make_shop_log.py` generates it: 500 customers with favourite meals, 9,000 baskets, 188 products, 6 months.

    Returns
    -------
    polars.DataFrame
        With the columns basket, customer, item, quantity and time.

    Examples
    --------
    >>> import labeltrees as lt
    >>> log = lt.datasets.load_shop_log()
    >>> train, test = lt.prepare_logs(log, lt.Columns(context="basket", weight="quantity"), features="basket")
    >>> train.n_labels
    188
    """
    pl = import_extra("polars", "logs", "the shop log")
    with shop_log_file() as path, open_any(path) as stream:
        log: polars.DataFrame = pl.read_csv(stream.read())
    return log


@contextmanager
def shop_log_file() -> Iterator[Path]:
    """Yield the path of the shop log, a compressed CSV file."""
    with as_file(files("labeltrees") / "data" / "bundled" / "shop-log.csv.xz") as path:
        yield path
