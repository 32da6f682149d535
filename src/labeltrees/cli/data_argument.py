"""The argument DATA of every command: what may stand there, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeltrees.cli.data_files import BUNDLED, find_file, names_in, read_lines
from labeltrees.cli.point_weights import read_weights
from labeltrees.cli.text_data import (
    NO_OPTIONS,
    TextOptions,
    load_texts,
    open_text_file,
    rows_of_part,
    table_dataset,
    text_blocks,
)
from labeltrees.data import Dataset, read_xmc
from labeltrees.data.xmc_blocks import IndexBase, open_xmc_blocks
from labeltrees.errors import FileFormatError, InputError

__all__ = ["BUNDLED", "Points", "TextOptions", "load_data", "load_texts", "open_points", "read_lines"]

_POINTS_AT_ONCE = 8192


def load_data(
    data: str,
    label_names: str | None = None,
    *,
    part: str = "train",
    feature_names: str | None = None,
    index_base: IndexBase = "auto",
    texts: TextOptions = NO_OPTIONS,
    features: bool = True,
) -> Dataset:
    """Return the data that DATA names.

    Parameters
    ----------
    data : str
        The word "debian" for the bundled set, a file, or a folder with files train* and test* and perhaps labels.txt
        and features.txt (the name of label or feature i in line i), each plain or compressed. Files are texts (JSON
        lines, CSV, TSV, Parquet, fastText) or in XMC form. The weights of the points of a train.txt in XMC form, if it
        has some, stand in train.weights.txt beside it, one a line.
    label_names, feature_names : str, optional
        A file with the name of label or feature i in line i, for a file in XMC form.
    part : {"train", "test"}
        Which part of a folder, of the bundled set, or of a file that is split. Features and labels of a test part of
        texts are those of the train part.
    index_base : "auto", 0 or 1
        What a file in XMC form counts its ids from.
    texts : TextOptions
    features : bool
        False: texts get no features.
    """
    table = None if data == BUNDLED and features else load_texts(data, part, texts)
    if table is not None:
        refuse_name_files(data, label_names, feature_names)
        return table_dataset(data, table, part, texts, features)
    path = find_file(data, part)
    if path is None:
        return _bundled(part)
    if Path(data).is_dir():
        label_names = label_names or names_in(Path(data), "labels.txt")
        feature_names = feature_names or names_in(Path(data), "features.txt")
    dataset = read_xmc(path, index_base)
    weights = read_weights(path, dataset.n_points)
    parts: dict[str, Any] = {} if weights is None else {"sample_weight": weights}
    if label_names is not None:
        parts["label_names"] = _read_names(label_names, dataset.n_labels, "label")
    if feature_names is not None:
        parts["feature_names"] = _read_names(feature_names, dataset.n_features, "feature")
    if parts:
        dataset = Dataset(dataset.X, dataset.Y, **parts)
    return dataset if texts.test_share is None else dataset[rows_of_part(data, dataset.n_points, part, texts)]


@dataclass(frozen=True)
class Points:
    """Points of DATA without their labels, in blocks: how many (None: not known yet), of how many features.

    Those of texts are what the model makes of them: `n_features` is None.
    """

    n_points: int | None
    n_features: int | None
    blocks: Iterator[Any]


@contextmanager
def open_points(
    data: str,
    *,
    part: str = "test",
    index_base: IndexBase = "auto",
    texts: TextOptions = NO_OPTIONS,
    of_texts: Callable[[list[str]], Any] | None = None,
) -> Iterator[Points]:
    """Give the points that DATA names some at a time: a file is never in memory whole, unless it is split.

    What `of_texts` makes of a list of texts are their points; None where the model takes no texts.
    """
    with ExitStack() as stack:
        is_bundled_matrix = data == BUNDLED and of_texts is None
        file = None if is_bundled_matrix else stack.enter_context(open_text_file(data, part, texts))
        if file is not None:
            if of_texts is None:
                message = f"{data}: texts, but the model was trained on features and has no vectorizer"
                raise InputError(message)
            yield Points(None, None, map(of_texts, text_blocks(data, file, part, texts)))
            return
        path = find_file(data, part)
        if path is not None and texts.test_share is None:
            blocks = stack.enter_context(open_xmc_blocks(path, index_base))
            yield Points(blocks.n_points, blocks.n_features, (block.X for block in blocks))
            return
        X = load_data(data, part=part, index_base=index_base, texts=texts).X
        starts = range(0, X.shape[0], _POINTS_AT_ONCE)
        yield Points(X.shape[0], X.shape[1], (X[start : start + _POINTS_AT_ONCE] for start in starts))


def refuse_name_files(data: str, label_names: str | None, feature_names: str | None = None) -> None:
    """Refuse files of names beside texts, whose labels and features have names."""
    if label_names is not None or feature_names is not None:
        message = f"{data}: the labels and features of texts have names; --label-names and --feature-names are no use"
        raise InputError(message)


def _bundled(part: str) -> Dataset:
    from labeltrees.datasets import load_debian  # reading the set is all that module is for

    train, test = load_debian()
    return train if part == "train" else test


def _read_names(path: str, count: int, kind: str) -> list[str]:
    names = read_lines(path)
    if len(names) != count:
        message = f"{path}: {len(names)} names for {count} {kind}s; there must be one a line for each {kind}"
        raise FileFormatError(message)
    return names
