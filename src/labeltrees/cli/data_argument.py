"""The argument DATA of every command: what it may be, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeltrees.cli.data_files import BUNDLED, find_file, find_parts, names_in, read_lines
from labeltrees.cli.text_data import (
    NO_OPTIONS,
    NO_TEXTS,
    TextOptions,
    load_texts,
    open_text_file,
    rows_of_part,
    table_dataset,
    text_blocks,
)
from labeltrees.data import Dataset, PartsDataset, open_parts, read_xmc
from labeltrees.data.data_folder import check_version, folder_encoder, folder_points
from labeltrees.data.xmc_blocks import IndexBase, open_xmc_blocks
from labeltrees.errors import FileFormatError, InputError

__all__ = ["BUNDLED", "Points", "TextOptions", "load_data", "load_texts", "open_points", "read_lines"]

_BLOCK_SIZE = 8192


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
        The word "debian" for the bundled data, a file, or a folder with files train* and test*, and optionally
        labels.txt and features.txt (the name of label or feature i in line i), each plain or compressed. Files hold
        texts (JSON lines, CSV, TSV, Parquet, fastText, Annif) or are in XMC format. Point weights for train.txt in XMC
        format are read from train.weights.txt, one per line, if it exists. A folder that `logs prepare` wrote also has
        the encoder of its features. Or a dataset in parts, or a folder of documents (Annif's NAME.txt with NAME.tsv or
        NAME.key), or a folder with such folders train and test.
    label_names, feature_names : str, optional
        A file with the name of label or feature i in line i, for data in XMC format.
    part : {"train", "test"}
        Which part of a folder, of the bundled data, or of a file that is split. The test part of texts has the features
        and labels of the train part.
    index_base : "auto", 0 or 1
        The first id in a file in XMC format.
    texts : TextOptions
    features : bool
        False: texts stay texts, without features.
    """
    table = None if data == BUNDLED and features else load_texts(data, part, texts)
    if table is not None:
        refuse_name_files(data, label_names, feature_names)
        return table_dataset(data, table, part, texts, features)
    in_parts = find_parts(data, part)
    if in_parts is not None:
        return _parts(data, in_parts, label_names, feature_names, texts)
    path = find_file(data, part)
    if path is None:
        return _bundled(part)
    if Path(data).is_dir():
        label_names = label_names or names_in(Path(data), "labels.txt")
        feature_names = feature_names or names_in(Path(data), "features.txt")
        check_version(Path(data))
    dataset = read_xmc(path, index_base)
    parts: dict[str, Any] = {}
    if Path(data).is_dir():
        parts["encoder"] = folder_encoder(Path(data))
        parts |= folder_points(Path(data), part, dataset.n_points)
    if label_names is not None:
        parts["label_names"] = _read_names(label_names, dataset.n_labels, "label")
    if feature_names is not None:
        parts["feature_names"] = _read_names(feature_names, dataset.n_features, "feature")
    if parts:
        dataset = Dataset(dataset.X, dataset.Y, sample_weight=dataset.sample_weight, **parts)
    return dataset if texts.test_share is None else dataset[rows_of_part(data, dataset.n_points, part, texts)]


@dataclass(frozen=True)
class Points:
    """Points of DATA without their labels, in blocks.

    `n_points` is None if it is not known before the last block; `n_features` is None for texts.
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
    read_texts: Callable[[list[str]], Any] | None = None,
) -> Iterator[Points]:
    """Open the points of DATA in blocks, so that a file is never held in memory whole, unless it is split.

    `read_texts` turns a list of texts into points; None if the model takes no texts.
    """
    with ExitStack() as stack:
        is_bundled_matrix = data == BUNDLED and read_texts is None
        file = None if is_bundled_matrix else stack.enter_context(open_text_file(data, part, texts))
        if file is not None:
            if read_texts is None:
                raise InputError(NO_TEXTS.format(data=data))
            yield Points(None, None, map(read_texts, text_blocks(data, file, part, texts)))
            return
        found = find_parts(data, part)
        if found is not None:
            in_parts = _parts(data, found, None, None, texts)
            blocks_of_parts = (block for part_of in in_parts.parts for block in _row_blocks(part_of.features()))
            yield Points(in_parts.n_points, in_parts.n_features, blocks_of_parts)
            return
        path = find_file(data, part)
        if Path(data).is_dir():
            check_version(Path(data))
        if path is not None and texts.test_share is None:
            blocks = stack.enter_context(open_xmc_blocks(path, index_base))
            yield Points(blocks.n_points, blocks.n_features, (block.X for block in blocks))
            return
        X = load_data(data, part=part, index_base=index_base, texts=texts).X
        yield Points(X.shape[0], X.shape[1], _row_blocks(X))


def _row_blocks(X: Any) -> Iterator[Any]:
    return (X[start : start + _BLOCK_SIZE] for start in range(0, X.shape[0], _BLOCK_SIZE))


def _parts(
    data: str, folder: Path, label_names: str | None, feature_names: str | None, texts: TextOptions
) -> PartsDataset:
    if label_names is not None or feature_names is not None or texts.test_share is not None:
        message = f"{data}: is in parts; give --label-names, --feature-names and --test-share to labeltrees convert"
        raise InputError(message)
    return open_parts(folder)


def refuse_name_files(data: str, label_names: str | None, feature_names: str | None = None) -> None:
    """Raise `InputError` for files of names if DATA has texts, whose labels and features already have names."""
    if label_names is not None or feature_names is not None:
        message = f"{data}: contains texts, which have names already; leave out --label-names and --feature-names"
        raise InputError(message)


def _bundled(part: str) -> Dataset:
    from labeltrees.datasets import load_debian  # only when needed

    train, test = load_debian()
    return train if part == "train" else test


def _read_names(path: str, count: int, kind: str) -> list[str]:
    names = read_lines(path)
    if len(names) != count:
        message = f"{path}: {len(names)} names for {count} {kind}s; it must have one line per {kind}"
        raise FileFormatError(message)
    return names
