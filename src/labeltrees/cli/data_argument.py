"""The argument DATA of every command: what may stand there, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labeltrees.data import Dataset, read_xmc
from labeltrees.data.files import open_any
from labeltrees.errors import FileFormatError, InputError

BUNDLED = "debian"
_COMPRESSED = (".gz", ".xz", ".zst")

# By how a file's name ends, compression aside. Everything else is taken for XMC form.
_READERS: dict[str, Callable[[Path], Dataset]] = {}


def load_data(data: str, label_names: str | None = None) -> Dataset:
    """Return the training data that DATA names.

    Parameters
    ----------
    data : str
        The word "debian" for the bundled set, a file, or a folder with a file train*.txt and perhaps labels.txt (the
        name of label i in line i), each plain or compressed.
    label_names : str, optional
        A file with the name of label i in line i.
    """
    if data == BUNDLED:
        return _bundled()
    path = Path(data)
    if path.is_dir():
        found = _in_folder(path, "labels.txt")
        if label_names is None and found:
            label_names = str(found[0])
        path = _train_file(path)
    elif not path.exists():
        message = f"{data}: no such file or folder (the bundled set is called {BUNDLED!r})"
        raise InputError(message)
    dataset = _READERS.get(_ending(path), read_xmc)(path)
    return dataset if label_names is None else _with_names(dataset, Path(label_names))


def _bundled() -> Dataset:
    from labeltrees.datasets import load_debian  # reading the set is all that module is for

    train, _ = load_debian()
    return train


def _ending(path: Path) -> str:
    return (path.with_suffix("") if path.suffix in _COMPRESSED else path).suffix


def _in_folder(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for ending in ("", *_COMPRESSED) for path in folder.glob(pattern + ending) if path.is_file())


def _train_file(folder: Path) -> Path:
    found = _in_folder(folder, "train*.txt")
    if not found:
        message = f"{folder}: no file train*.txt (plain, .gz, .xz or .zst) in this folder"
        raise FileFormatError(message)
    if len(found) > 1:
        message = f"{folder}: more than one training file, name one: " + ", ".join(path.name for path in found)
        raise InputError(message)
    return found[0]


def _with_names(dataset: Dataset, path: Path) -> Dataset:
    with open_any(path) as stream:
        try:
            names = stream.read().decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            message = f"{path}: not UTF-8 text (byte {error.start})"
            raise FileFormatError(message) from None
    if len(names) != dataset.n_labels:
        message = f"{path}: {len(names)} names for {dataset.n_labels} labels; there must be one a line for each label"
        raise FileFormatError(message)
    return Dataset(
        dataset.X,
        dataset.Y,
        label_names=names,
        feature_names=dataset.feature_names,
        sample_weight=dataset.sample_weight,
        texts=dataset.texts,
    )
