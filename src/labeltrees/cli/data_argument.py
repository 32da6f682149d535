"""The argument DATA of every command: what may stand there, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labeltrees.cli.point_weights import is_weights_file, read_weights
from labeltrees.data import Dataset, read_xmc
from labeltrees.data.files import open_any
from labeltrees.data.xmc_blocks import IndexBase, open_xmc_blocks
from labeltrees.errors import FileFormatError, InputError

BUNDLED = "debian"
_COMPRESSED = (".gz", ".xz", ".zst")
_KINDS = {"train": "training", "test": "test"}
_POINTS_AT_ONCE = 8192

# By how a file's name ends, compression aside. Everything else is taken for XMC form.
_READERS: dict[str, Callable[[Path], Dataset]] = {}


def load_data(
    data: str,
    label_names: str | None = None,
    *,
    part: str = "train",
    feature_names: str | None = None,
    index_base: IndexBase = "auto",
) -> Dataset:
    """Return the data that DATA names.

    Parameters
    ----------
    data : str
        The word "debian" for the bundled set, a file, or a folder with files train*.txt and test*.txt and perhaps
        labels.txt and features.txt (the name of label or feature i in line i), each plain or compressed. The weights
        of the points of train.txt, if it has some, stand in train.weights.txt beside it, one a line.
    label_names, feature_names : str, optional
        A file with the name of label or feature i in line i.
    part : {"train", "test"}
        Which part of a folder or of the bundled set.
    index_base : "auto", 0 or 1
        What a file in XMC form counts its ids from.
    """
    path = find_file(data, part)
    if path is None:
        return _bundled(part)
    if Path(data).is_dir():
        label_names = label_names or _names_in(Path(data), "labels.txt")
        feature_names = feature_names or _names_in(Path(data), "features.txt")
    reader = _READERS.get(_ending(path))
    dataset = read_xmc(path, index_base) if reader is None else reader(path)
    weights = read_weights(path, dataset.n_points)
    if label_names is None and feature_names is None and weights is None:
        return dataset
    names: dict[str, Any] = {"label_names": dataset.label_names, "feature_names": dataset.feature_names}
    if label_names is not None:
        names["label_names"] = _read_names(label_names, dataset.n_labels, "label")
    if feature_names is not None:
        names["feature_names"] = _read_names(feature_names, dataset.n_features, "feature")
    weights = dataset.sample_weight if weights is None else weights
    return Dataset(dataset.X, dataset.Y, sample_weight=weights, texts=dataset.texts, **names)


@dataclass(frozen=True)
class Points:
    """Points of DATA without their labels: how many, of how many features, and X in blocks."""

    n_points: int
    n_features: int
    blocks: Iterator[Any]


@contextmanager
def open_points(data: str, *, part: str = "test", index_base: IndexBase = "auto") -> Iterator[Points]:
    """Give the points that DATA names some at a time: a file in XMC form is never in memory whole."""
    path = find_file(data, part)
    if path is not None and _ending(path) not in _READERS:
        with open_xmc_blocks(path, index_base) as blocks:
            yield Points(blocks.n_points, blocks.n_features, (block.X for block in blocks))
        return
    X = load_data(data, part=part).X
    starts = range(0, X.shape[0], _POINTS_AT_ONCE)
    yield Points(X.shape[0], X.shape[1], (X[start : start + _POINTS_AT_ONCE] for start in starts))


def find_file(data: str, part: str) -> Path | None:
    """Return the file that DATA means, None for the bundled set."""
    if data == BUNDLED:
        return None
    path = Path(data)
    if path.is_dir():
        return _part_file(path, part)
    if not path.exists():
        message = f"{data}: no such file or folder (the bundled set is called {BUNDLED!r})"
        raise InputError(message)
    return path


def read_lines(path: str | Path) -> list[str]:
    """Return the lines of a text file, plain or compressed."""
    with open_any(path) as stream:
        try:
            text = stream.read().decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"{path}: not UTF-8 text (byte {error.start})"
            raise FileFormatError(message) from None
    # Not splitlines(): a name may hold characters that it takes for the end of a line.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _bundled(part: str) -> Dataset:
    from labeltrees.datasets import load_debian  # reading the set is all that module is for

    train, test = load_debian()
    return train if part == "train" else test


def _ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix


def _in_folder(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for ending in ("", *_COMPRESSED) for path in folder.glob(pattern + ending) if path.is_file())


def _part_file(folder: Path, part: str) -> Path:
    found = [path for path in _in_folder(folder, f"{part}*.txt") if not is_weights_file(path)]
    if not found:
        message = f"{folder}: no file {part}*.txt (plain, .gz, .xz or .zst) in this folder"
        raise FileFormatError(message)
    if len(found) > 1:
        message = f"{folder}: more than one {_KINDS[part]} file, name one: " + ", ".join(path.name for path in found)
        raise InputError(message)
    return found[0]


def _names_in(folder: Path, name: str) -> str | None:
    found = _in_folder(folder, name)
    return str(found[0]) if found else None


def _read_names(path: str, count: int, kind: str) -> list[str]:
    names = read_lines(path)
    if len(names) != count:
        message = f"{path}: {len(names)} names for {count} {kind}s; there must be one a line for each {kind}"
        raise FileFormatError(message)
    return names
