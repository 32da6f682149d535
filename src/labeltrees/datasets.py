"""Data that comes with the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from labeltrees.data.dataset import Dataset
from labeltrees.data.text_files import read_text_pair

__all__ = ["load_debian"]


def load_debian() -> tuple[Dataset, Dataset]:
    """Load Debian packages and their dependencies: 13,500 training points, 10,000 labels.

    A point is a package's name and description; its labels are the packages it depends on. Features are tf-idf weights
    of the words that occur in at least two texts of train. ``data/bundled/README.md`` describes how the data was made,
    and its licence.

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
