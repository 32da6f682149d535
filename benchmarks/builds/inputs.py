"""Datasets read with public functions only, so that any build of labeltrees can run this file."""

from pathlib import Path

import scipy.sparse as sp

import labeltrees as lt


def files(source):
    """Return the training and the test file in a dataset's folder."""
    form = "txt.xz" if (Path(source) / "train.txt.xz").exists() else "jsonl.xz"
    return Path(source) / f"train.{form}", Path(source) / f"test.{form}"


def load(source, vectorizer=None):
    """Return the training and the test set of a folder, or of the data that comes with the package ("bundled").

    Texts get the default features unless a vectorizer is given.
    """
    if source == "bundled":
        return lt.datasets.load_debian()
    train_file, test_file = files(source)
    if train_file.name == "train.txt.xz":
        return lt.read_xmc(train_file), lt.read_xmc(test_file)
    train = lt.read_texts(train_file, vectorizer=vectorizer)
    return train, with_labels_of(train, lt.read_texts(test_file, vectorizer=train.vectorizer))


def with_labels_of(train, test):
    """Return the test set with the labels of the training set as columns; other labels are left out."""
    number = {name: column for column, name in enumerate(train.label_names)}
    columns = [number.get(name, -1) for name in test.label_names]
    kept = [column for column, target in enumerate(columns) if target >= 0]
    targets = [columns[column] for column in kept]
    select = sp.csr_array(([1.0] * len(kept), (kept, targets)), shape=(test.n_labels, train.n_labels))
    names = {"label_names": train.label_names, "feature_names": train.feature_names}
    return lt.Dataset(test.X, sp.csr_array(test.Y @ select), texts=test.texts, **names)
