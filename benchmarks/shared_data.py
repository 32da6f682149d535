"""The real datasets that the benchmarks run on.

They lie in the folder that the environment variable LABELTREES_DATA names, or in ../shared/data beside the repository,
one folder each: `train.txt.xz` and `test.txt.xz` in the XMC format, or `train.jsonl.xz` and `test.jsonl.xz`.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

import labeltrees as lt
from labeltrees.data.files import write_any
from labeltrees.data.text_dataset import default_vectorizer
from labeltrees.data.text_files import read_text_pair

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "benchmark-cache"


def data_folder(name: str) -> Path:
    """Return the folder of the dataset `name`, or stop with a message that says where it was looked for."""
    folder = Path(os.environ.get("LABELTREES_DATA") or ROOT.parent / "shared" / "data") / name
    if not folder.is_dir():
        message = f"no dataset {name!r}: {folder} is no folder; set LABELTREES_DATA to the folder of the datasets"
        raise SystemExit(message)
    return folder


def load(name: str) -> tuple[lt.Dataset, lt.Dataset]:
    """Return train and test of the dataset `name`.

    Feature sets have rows of length 1. Text sets have tf-idf features and names, but not their texts: they are kept
    from one run to the next, because making features of 500,000 texts takes minutes.
    """
    folder = data_folder(name)
    if (folder / "train.txt.xz").exists():
        train, test = (lt.read_xmc(folder / f"{part}.txt.xz") for part in ("train", "test"))
        return lt.Dataset(normalize(train.X), train.Y), lt.Dataset(normalize(test.X), test.Y)
    paths = folder / "train.jsonl.xz", folder / "test.jsonl.xz"
    source = [*(path.stat().st_size for path in paths), repr(default_vectorizer()), sklearn.__version__]
    cached = CACHE / f"{name}-{hashlib.sha256(repr(source).encode()).hexdigest()[:16]}.npz"
    if not cached.exists():
        _save(cached, *read_text_pair(*paths))
    return _load(cached)


def share_of(train: lt.Dataset, test: lt.Dataset, share: float) -> tuple[lt.Dataset, lt.Dataset]:
    """Return a random share of the points, with the labels that occur in train."""
    kept = [np.sort(np.random.default_rng(1).permutation(d.n_points)[: int(d.n_points * share)]) for d in (train, test)]
    X, Y = train.X[kept[0]], train.Y[kept[0]]
    seen = np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))
    rows = kept[1][np.diff(test.Y[kept[1]][:, seen].indptr) > 0]
    return lt.Dataset(X, Y[:, seen]), lt.Dataset(test.X[rows], test.Y[rows][:, seen])


def dense(train: lt.Dataset, test: lt.Dataset, n_features: int) -> tuple[lt.Dataset, lt.Dataset]:
    """Return the same points with features that are hardly ever zero, as sentence embeddings are: by SVD."""
    svd = TruncatedSVD(n_features, random_state=0)
    X, Xt = (normalize(part).astype(np.float32) for part in (svd.fit_transform(train.X), svd.transform(test.X)))
    return lt.Dataset(sparse.csr_array(X), train.Y), lt.Dataset(sparse.csr_array(Xt), test.Y)


def _save(path: Path, train: lt.Dataset, test: lt.Dataset) -> None:
    arrays: dict[str, Any] = {}
    for part, dataset in (("train", train), ("test", test)):
        for letter, matrix in (("X", dataset.X), ("Y", dataset.Y)):
            for attribute in ("data", "indices", "indptr", "shape"):
                arrays[f"{part}_{letter}_{attribute}"] = getattr(matrix, attribute)
    for kind in ("label_names", "feature_names"):
        arrays[kind] = np.frombuffer("\0".join(getattr(train, kind)).encode(), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with write_any(path) as stream:
        np.savez(stream, **arrays)


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
