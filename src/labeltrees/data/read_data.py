"""Reading DATA (a file, a folder or the word "debian") as a Dataset, or as a training and a test part."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from labeltrees._validation import check_choice
from labeltrees.data.data_folder import (
    BUNDLED,
    TEST,
    TRAIN,
    find_file,
    find_parts,
    folder_encoder,
    folder_label_texts,
    folder_points,
    has_test_file,
    has_test_part,
    in_folder,
    read_summary,
)
from labeltrees.data.dataset import Dataset
from labeltrees.data.files import FilePath, read_lines
from labeltrees.data.parts import PartsDataset, open_parts
from labeltrees.data.parts.writer import PartsWriter
from labeltrees.data.text_formats import AUTO, TextFields, format_of
from labeltrees.data.texts import TextTable, default_vectorizer, no_features, read_table, split_rows, text_dataset
from labeltrees.data.xmc import IndexBase, read_xmc
from labeltrees.errors import FileFormatError, InputError, Parameter

Part = Literal["train", "test"]

_logger = logging.getLogger("labeltrees")


@dataclass(frozen=True)
class DataOptions:
    """How DATA is read: the arguments of `read_data` after the path.

    Parameters
    ----------
    fields : TextFields
    format : str
        "auto", or the format of the texts.
    test_share : float or None
        The share of a single file that becomes the test part; None: the file is not split.
    random_state : int
        Seed of the split.
    label_names, feature_names : path or None
        Files with the name of label or feature i in line i, for data in XMC format.
    index_base : "auto", 0 or 1
        The first id in a file in XMC format.
    """

    fields: TextFields = field(default_factory=TextFields)
    format: str = "auto"
    test_share: float | None = None
    random_state: int = 0
    label_names: FilePath | None = None
    feature_names: FilePath | None = None
    index_base: IndexBase = "auto"

    def refuse_names(self, data: str, why: str) -> None:
        """Raise `InputError` if files with names are given for data that has names already."""
        if self.label_names is not None or self.feature_names is not None:
            message = "{}: {}; leave out {} and {}"
            raise InputError(message, data, why, Parameter("label_names"), Parameter("feature_names"))


NO_OPTIONS = DataOptions()


def read_data(
    path: FilePath,
    part: Part | None = None,
    *,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    weight: str | None = None,
    label_separator: str = AUTO,
    format: str = "auto",
    test_share: float | None = None,
    random_state: int = 0,
    label_names: FilePath | None = None,
    feature_names: FilePath | None = None,
    index_base: IndexBase = "auto",
) -> Dataset | tuple[Dataset, Dataset]:
    r"""Read any data that the command line takes as DATA.

    `path` is usually enough. Three more parameters matter: `text` and `labels` name the fields of a file of texts, and
    `test_share` splits a single file into a training and a test part.

    Parameters
    ----------
    path : path, or the word "debian"
        One of

        - a file of texts with labels (JSON lines, CSV, TSV, Parquet, fastText, Annif: see `read_texts`), or in XMC
          format (see `read_xmc`), plain or compressed;
        - a folder with one such file ``train*`` and one ``test*``. Beside files in XMC format, ``labels.txt`` and
          ``features.txt`` have the name of label or feature i in line i;
        - a folder that ``labeltrees logs prepare`` or `PreparedLogs.save` wrote, with its encoder, times and groups;
        - a dataset in parts (see `open_parts`), or a folder with ``train.parts`` and ``test.parts``;
        - a folder of documents in Annif's layout, or a folder with two of them, ``train`` and ``test``;
        - the word "debian", for the bundled data.
    part : {"train", "test"}, optional
        Read only this part. By default both, if there are two.
    text, labels, weight : str
        The fields of a file of texts; `text` may be several, which are joined. Without `weight`, all points count the
        same.
    label_separator : str
        Separates the labels in a string; by default a semicolon or a bar if most strings have it, else a comma.
    format : str
        The format of texts, one of those of `read_texts`. "auto" chooses by the file name.
    test_share : float, optional
        Split one file at random: this share is the test part.
    random_state : int
        Seed of the split.
    label_names, feature_names : path, optional
        Files with the name of label or feature i in line i, for data in XMC format.
    index_base : "auto", 0 or 1
        The first id in a file in XMC format.

    Returns
    -------
    Dataset, or (train, test)
        Two Datasets if there are two parts, or with `test_share`. The test part of texts has the features and labels of
        the training part. Datasets in parts are opened, not read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "questions.csv")
    >>> size = path.write_text("title,tags\nBrown rice,rice\nGreen tea,tea\nMore rice,rice\nMore tea,tea\n")
    >>> dataset = lt.read_data(path, text="title", labels="tags")
    >>> dataset.n_points, dataset.label_names.tolist()
    (4, ['rice', 'tea'])
    >>> train, test = lt.read_data(path, text="title", labels="tags", test_share=0.25)
    >>> train.n_points, test.n_points
    (3, 1)
    """
    options = DataOptions(
        TextFields.of(text, labels, weight, label_separator),
        format,
        test_share,
        random_state,
        label_names,
        feature_names,
        index_base,
    )
    data = os.fspath(path)
    if part is not None:
        check_choice("part", part, (TRAIN, TEST))
        return load_data(data, part, options)
    train = load_data(data, TRAIN, options)
    if test_share is None and not has_test_part(data, format):
        return train
    return train, load_data(data, TEST, options, like=train)


def load_data(
    data: str,
    part: str = TRAIN,
    options: DataOptions = NO_OPTIONS,
    *,
    features: bool = True,
    like: Dataset | None = None,
) -> Dataset:
    """Return one part of DATA.

    Parameters
    ----------
    data : str
        As the path of `read_data`.
    part : {"train", "test"}
        Which part of a folder, of the bundled data, or of a file that is split; any other file is used for both. The
        test part of texts has the features and labels of the training part.
    options : DataOptions
    features : bool
        False: texts stay texts, without features.
    like : Dataset, optional
        The training part, if it has been read already: its features and labels are used for texts.
    """
    table = None if data == BUNDLED and features else load_texts(data, part, options)
    if table is not None:
        options.refuse_names(data, "contains texts, which have names already")
        if like is not None and like.vectorizer is not None:
            return _dataset_like(data, table, like)
        return _table_dataset(data, table, part, options, features)
    in_parts = find_parts(data, part)
    if in_parts is not None:
        return open_parts_of(data, in_parts, options)
    path = find_file(data, part)
    if path is None:
        return _bundled(part)
    dataset = _with_others(data, path, part, options)
    return dataset if options.test_share is None else dataset[rows_of_part(data, dataset.n_points, part, options)]


def load_everything(data: str, options: DataOptions = NO_OPTIONS) -> Dataset:
    """Return the points of both parts of DATA as one Dataset, texts without features, to train a model for deployment.

    Test points of a prepared log have weight 1, unless it was prepared with `point_weights`.
    """
    if not has_test_part(data, options.format):
        return load_data(data, TRAIN, options, features=False)
    tables = [load_texts(data, part, options) for part in (TRAIN, TEST)]
    if tables[0] is not None and tables[1] is not None:
        table = tables[0].joined(tables[1])
        return _table_dataset(data, table, TRAIN, options, features=False)
    train, test = (load_data(data, part, options) for part in (TRAIN, TEST))
    if not _test_weights_count(data) and test.n_points:
        test = Dataset(test.X, test.Y, train.label_names, train.feature_names, encoder=train.encoder, times=test.times)
    return _join(train, test)


def join_parts(data: str, target: FilePath) -> None:
    """Write both parts of DATA, which are in parts, as one dataset in parts; see `load_everything`."""
    found = {part: find_parts(data, part) for part in (TRAIN, TEST)}
    folders = [folder for folder in dict.fromkeys(found.values()) if folder is not None]
    train, *others = [open_parts(folder) for folder in folders]
    use_weights = "weights" in train.parts[0].entry.arrays
    names: dict[str, Any] = {
        "label_names": train.label_names,
        "feature_names": train.feature_names,
        "encoder": train.encoder,
    }
    size = max(part.n_points for part in train.parts)
    with PartsWriter(target, train.n_features, train.n_labels, points_per_part=size, **names) as writer:
        for dataset in (train, *others):
            for part in dataset.parts:
                one = part.read()
                weights = one.sample_weight if dataset is train or _test_weights_count(data) else None
                if use_weights and weights is None:
                    weights = np.ones(one.n_points)
                writer.add(one.X, one.Y, weights if use_weights else None, times=one.times)


def _test_weights_count(data: str) -> bool:
    """Whether the weights of test points also count in training; those of a prepared log are usually for evaluation."""
    summary = read_summary(Path(data)) if Path(data).is_dir() else None
    return summary is None or summary["settings"].get("point_weights") is not None


def _join(train: Dataset, test: Dataset) -> Dataset:
    if test.n_points == 0:
        return train
    X, Y = (sparse.vstack(pair, format="csr") for pair in ((train.X, test.X), (train.Y, test.Y)))
    weights = None
    if train.sample_weight is not None or test.sample_weight is not None:
        both = ((part.sample_weight, part.n_points) for part in (train, test))
        weights = np.concatenate([np.ones(n) if own is None else own for own, n in both])
    have_times = train.times is not None and test.times is not None
    times = np.concatenate([train.times, test.times]) if have_times else None
    groups = None
    if train.groups is not None:  # every test point becomes a group
        groups = np.concatenate([train.groups, train.groups.max(initial=0) + 1 + np.arange(test.n_points)])
    others: dict[str, Any] = {"encoder": train.encoder, "times": times, "groups": groups}
    others["label_texts"] = train.label_texts
    return Dataset(X, Y, train.label_names, train.feature_names, weights, **others)


def _with_others(data: str, path: Path, part: str, options: DataOptions) -> Dataset:
    """Return a file in XMC format with its names, encoder, times and groups."""
    dataset = read_xmc(path, options.index_base)
    others = folder_others(data, part, dataset.n_points)
    label_names, feature_names = name_files(data, options)
    if label_names is not None:
        others["label_names"] = _read_names(label_names, dataset.n_labels, "label")
        if Path(data).is_dir():
            others["label_texts"] = folder_label_texts(Path(data), others["label_names"])
    if feature_names is not None:
        others["feature_names"] = _read_names(feature_names, dataset.n_features, "feature")
    if not others:
        return dataset
    return Dataset(dataset.X, dataset.Y, sample_weight=dataset.sample_weight, **others)


def folder_others(data: str, part: str, n_points: int) -> dict[str, Any]:
    """Return the encoder, times and groups of a folder with files in XMC format; empty for a file."""
    folder = Path(data)
    if not folder.is_dir():
        return {}
    return {"encoder": folder_encoder(folder), **folder_points(folder, part, n_points)}


def name_files(data: str, options: DataOptions) -> tuple[FilePath | None, FilePath | None]:
    """Return the files with the names of labels and features: those given, or those of a folder."""
    folder = Path(data)
    if not folder.is_dir():
        return options.label_names, options.feature_names
    found = {name: next(iter(in_folder(folder, f"{name}.txt")), None) for name in ("labels", "features")}
    return options.label_names or found["labels"], options.feature_names or found["features"]


def _read_names(path: FilePath, count: int, kind: str) -> list[str]:
    names = read_lines(path)
    if len(names) != count:
        message = f"{path}: {len(names)} names for {count} {kind}s; it must have one line per {kind}"
        raise FileFormatError(message)
    return names


def open_parts_of(data: str, folder: Path, options: DataOptions) -> PartsDataset:
    """Open a dataset in parts; refuse options that do not apply to it."""
    if options.label_names is not None or options.feature_names is not None or options.test_share is not None:
        message = "{}: is in parts; give {}, {} and {} to labeltrees convert"
        names = map(Parameter, ("label_names", "feature_names", "test_share"))
        raise InputError(message, data, *names)
    return open_parts(folder)


def _bundled(part: str) -> Dataset:
    from labeltrees.datasets import load_debian  # only when needed

    train, test = load_debian()
    return train if part == TRAIN else test


# Texts.


@dataclass(frozen=True)
class TextFile:
    """A file of texts: its path, the fields to read, and its format."""

    path: Path
    fields: TextFields
    format: str


@contextmanager
def open_text_file(data: str, part: str, options: DataOptions) -> Iterator[TextFile | None]:
    """Find the file of texts that DATA names; None if DATA has no texts."""
    if find_parts(data, part) is not None:
        yield None
        return
    path = find_file(data, part, options.format)
    if path is None:
        from labeltrees.datasets import debian_folder  # only when needed

        with debian_folder() as folder:
            yield TextFile(folder / f"debian-{part}.jsonl.xz", TextFields(), "jsonl")
        return
    format = format_of(path, options.format)
    yield None if format is None else TextFile(path, options.fields, format)


def load_texts(data: str, part: str, options: DataOptions = NO_OPTIONS) -> TextTable | None:
    """Return the texts of DATA with the names of their labels; None if DATA has no texts."""
    with open_text_file(data, part, options) as file:
        if file is None:
            return None
        table = read_table(file.path, file.fields, file.format)
    if options.test_share is None:
        return table
    return table.take(rows_of_part(data, len(table.texts), part, options).tolist())


def rows_of_part(data: str, n: int, part: str, options: DataOptions) -> Any:
    """Return the rows of the training or the test part of a file that is split."""
    if has_test_file(data, options.format):
        message = "{}: already has a test part; {} is for a single file"
        raise InputError(message, data, Parameter("test_share"))
    assert options.test_share is not None
    train, test = split_rows(n, options.test_share, options.random_state)
    if len(train) == 0 or len(test) == 0:
        missing = TEST if len(test) == 0 else TRAIN
        message = "{}: {} leaves no {} part of {} point{}"
        given = Parameter("test_share", options.test_share)
        raise InputError(message, data, given, missing, f"{n:,}", "" if n == 1 else "s")
    return train if part == TRAIN else test


def _table_dataset(data: str, table: TextTable, part: str, options: DataOptions, features: bool) -> Dataset:
    """Return texts as a Dataset with the labels of the training part, and features by a vectorizer fitted on it."""
    is_other_part = part != TRAIN and (options.test_share is not None or has_test_file(data, options.format))
    train = load_texts(data, TRAIN, options) if is_other_part else table
    assert train is not None
    names = train.label_names()
    labels = table.labels if train is table else _known_labels(data, table, set(names))
    if not features:
        return text_dataset(table.texts, labels, None, names, X=no_features(table.texts), sample_weight=table.weights)
    vectorizer = default_vectorizer(train.texts).fit(train.texts)
    return text_dataset(table.texts, labels, vectorizer, names, sample_weight=table.weights)


def _dataset_like(data: str, table: TextTable, train: Dataset) -> Dataset:
    assert train.label_names is not None
    names = train.label_names.tolist()
    labels = _known_labels(data, table, set(names))
    return text_dataset(table.texts, labels, train.vectorizer, names, sample_weight=table.weights)


def _known_labels(data: str, table: TextTable, known: set[str]) -> list[list[str]]:
    labels = [[name for name in names if name in known] for names in table.labels]
    n_unknown = sum(map(len, table.labels)) - sum(map(len, labels))
    if n_unknown:
        counted = f"{n_unknown:,} label" + ("" if n_unknown == 1 else "s")
        _logger.warning("%s: left out %s that the training part does not have", data, counted)
    return labels
