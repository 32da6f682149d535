"""The real datasets that the benchmarks use.

Each is a subfolder of the folder that the environment variable LABELTREES_DATA names, by default ../shared/data (beside
the repository). It holds `train.txt.xz` and `test.txt.xz` in the XMC format, or `train.jsonl.xz` and `test.jsonl.xz`.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

import labeltrees as lt
from benchmarks.builds import inputs

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "benchmark-cache"
VECTORIZER = lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)  # for sets of texts


def data_folder(name: str) -> Path:
    """Return the folder of the dataset `name`; stop with a message if there is none."""
    folder = Path(os.environ.get("LABELTREES_DATA") or ROOT.parent / "shared" / "data") / name
    if not folder.is_dir():
        message = f"dataset {name!r} not found: {folder} is not a folder; set LABELTREES_DATA to the datasets' folder"
        raise SystemExit(message)
    return folder


def load(name: str) -> tuple[lt.Dataset, lt.Dataset]:
    """Return the training and the test set of the dataset `name`.

    Sets in the XMC format get rows of length 1. Sets of texts get tf-idf features and names, but no texts; they are
    cached between runs, because making features from 500,000 texts takes minutes.
    """
    folder = data_folder(name)
    if (folder / "train.txt.xz").exists():
        train, test = (lt.read_xmc(folder / f"{part}.txt.xz") for part in ("train", "test"))
        return lt.Dataset(normalize(train.X), train.Y), lt.Dataset(normalize(test.X), test.Y)
    paths = folder / "train.jsonl.xz", folder / "test.jsonl.xz"
    source = [*(path.stat().st_size for path in paths), repr(VECTORIZER)]
    # A copy that is not fitted: reading fits it to the texts.
    return cached_pair(name, source, lambda: inputs.load(folder, clone(VECTORIZER)))


def cached_pair(
    name: str, source: list[Any], make: Callable[[], Iterable[lt.Dataset]]
) -> tuple[lt.Dataset, lt.Dataset]:
    """Return a pair of sets with names that was made from this source before, or make it."""
    key = hashlib.sha256(repr([*source, lt.__version__]).encode()).hexdigest()[:16]
    cached = CACHE / f"{name}-{key}.npz"
    if not cached.exists():
        _save(cached, *make())
    return _load(cached)


def read_records(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the texts and the label names of a file .jsonl.xz."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    return [record["text"] for record in records], [record["labels"] for record in records]


def share_of(train: lt.Dataset, test: lt.Dataset, share: float) -> tuple[lt.Dataset, lt.Dataset]:
    """Return a random share of the points, with only the labels that occur in the training set."""
    kept = [np.sort(np.random.default_rng(1).permutation(d.n_points)[: int(d.n_points * share)]) for d in (train, test)]
    X, Y = train.X[kept[0]], train.Y[kept[0]]
    seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    rows = kept[1][np.diff(test.Y[kept[1]][:, seen].indptr) > 0]
    return lt.Dataset(X, Y[:, seen]), lt.Dataset(test.X[rows], test.Y[rows][:, seen])


def dense(train: lt.Dataset, test: lt.Dataset, n_features: int) -> tuple[lt.Dataset, lt.Dataset]:
    """Return the same points with dense features, like sentence embeddings, made by SVD."""
    svd = TruncatedSVD(n_features, random_state=0)
    X, Xt = (normalize(part).astype(np.float32) for part in (svd.fit_transform(train.X), svd.transform(test.X)))
    return lt.Dataset(sparse.csr_array(X), train.Y), lt.Dataset(sparse.csr_array(Xt), test.Y)


def write_for_contestants(train: lt.Dataset, test: lt.Dataset, folder: Path) -> None:
    """Write the files that the scripts in contestants/ read: X, Y and Xt (test) as matrices, and train.txt."""
    for part, matrix in (("X", train.X), ("Y", train.Y), ("Xt", test.X)):
        sparse.save_npz(folder / f"{part}.npz", sparse.csr_matrix(matrix), compressed=False)
    lt.write_xmc(train, folder / "train.txt")


def _save(path: Path, train: lt.Dataset, test: lt.Dataset) -> None:
    arrays: dict[str, Any] = {}
    for part, dataset in (("train", train), ("test", test)):
        for letter, matrix in (("X", dataset.X), ("Y", dataset.Y)):
            for attribute in ("data", "indices", "indptr", "shape"):
                arrays[f"{part}_{letter}_{attribute}"] = getattr(matrix, attribute)
    for kind in ("label_names", "feature_names"):
        arrays[kind] = np.frombuffer("\0".join(getattr(train, kind)).encode(), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with open(unfinished, "wb") as stream:
        np.savez(stream, **arrays)
    unfinished.replace(path)


def _load(path: Path) -> tuple[lt.Dataset, lt.Dataset]:
    with np.load(path) as arrays:
        names = {kind: arrays[kind].tobytes().decode().split("\0") for kind in ("label_names", "feature_names")}
        pair = []
        for part in ("train", "test"):
            X, Y = (
                sparse.csr_array(
                    tuple(arrays[f"{part}_{letter}_{attribute}"] for attribute in ("data", "indices", "indptr")),
                    shape=tuple(arrays[f"{part}_{letter}_shape"]),
                )
                for letter in "XY"
            )
            pair.append(lt.Dataset(X, Y, **names))
    return pair[0], pair[1]
