"""Convert Dask collections to parts, and predict partition by partition."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labeltrees._validation import refuse
from labeltrees.data.encoders import TextEncoder
from labeltrees.data.parts import PartsDataset, PartsWriter, open_parts
from labeltrees.data.texts import default_vectorizer, label_matrix
from labeltrees.errors import InputError
from labeltrees.tasks.on_dask import import_dask

PARTS = "parts"  # name of the folder in the work folder


def as_parts(client: Any, data: Any, Y: Any, folder: Path) -> PartsDataset:
    """Return a dataset in parts; Dask arrays and bags are written to `folder`, block by block."""
    if isinstance(data, PartsDataset):
        return data
    if isinstance(data, str | os.PathLike):
        return open_parts(data)
    target = folder / PARTS
    if is_array(data):
        if Y is None or not is_array(Y):
            refuse("Y", "a Dask array with the blocks of rows that X has", type(Y).__name__)
        _write_arrays(client, data, Y, target)
    elif is_bag(data):
        _write_texts(client, data, target)
    else:
        refuse("parts", "a dataset in parts, its folder, Dask arrays X and Y, or a Dask bag of (text, labels)", data)
    return open_parts(target)


def is_array(value: Any) -> bool:
    """Whether a value is a Dask array."""
    return type(value).__module__.startswith("dask.array")


def is_bag(value: Any) -> bool:
    """Whether a value is a Dask bag."""
    return type(value).__module__.startswith("dask.bag")


def row_blocks(array: Any, name: str) -> list[Any]:
    """Return the blocks of rows of a Dask array as delayed values."""
    if array.ndim != 2 or array.numblocks[1] != 1:
        allowed = "a two-dimensional Dask array in blocks of whole rows: rechunk({1: -1})"
        refuse(name, allowed, f"{array.numblocks} blocks")
    return list(array.to_delayed().reshape(-1))


def _write_arrays(client: Any, X: Any, Y: Any, target: Path) -> None:
    x_blocks, y_blocks = row_blocks(X, "X"), row_blocks(Y, "Y")
    if len(x_blocks) != len(y_blocks):
        refuse("Y", f"in the {len(x_blocks)} blocks of rows that X has", f"{len(y_blocks)} blocks")
    with PartsWriter(target, int(X.shape[1]), int(Y.shape[1])) as writer:
        for x_block, y_block in zip(x_blocks, y_blocks, strict=True):  # the client holds one block at a time
            block_X, block_Y = client.gather(client.compute([x_block, y_block]))
            writer.add(_matrix(block_X), _matrix(block_Y))


def _matrix(block: Any) -> Any:
    return block if sp.issparse(block) else np.asarray(block)


def _write_texts(client: Any, bag: Any, target: Path) -> None:
    partitions = bag.to_delayed()
    names: set[str] = set()

    def texts() -> Any:
        for partition in partitions:
            for text, labels in client.gather(client.compute(partition)):
                names.update(labels)
                yield text

    try:
        vectorizer = default_vectorizer(texts()).fit(texts())
    except ValueError as error:
        message = f"no features can be made from the texts of the bag: {error}"
        raise InputError(message) from None
    ordered = sorted(names)
    with PartsWriter(
        target,
        vectorizer.get_state().n_features,
        len(ordered),
        label_names=ordered,
        feature_names=vectorizer.get_feature_names_out(),
        encoder=TextEncoder(vectorizer),
    ) as writer:
        for partition in partitions:
            records = client.gather(client.compute(partition))
            if records:
                rows = vectorizer.transform([text for text, _ in records])
                writer.add(rows, label_matrix([labels for _, labels in records], ordered))


def predict_lazily(model: Any, X: Any, k: int, **options: Any) -> tuple[Any, Any]:
    """Return lazy collections of labels and scores, for the rows of a Dask array or the texts of a Dask bag."""
    dask = import_dask()
    if is_bag(X):
        found = X.map_partitions(lambda texts: list(zip(*_predict(model, list(texts), k, options), strict=True)))
        return found.map(lambda pair: pair[0]), found.map(lambda pair: pair[1])
    da: Any = importlib.import_module("dask.array")

    blocks = row_blocks(X, "X")
    results = [dask.delayed(_predict, pure=True)(model, block, k, options) for block in blocks]
    has_names = model.label_names_ is not None
    sizes = X.chunks[0]
    labels, scores = (
        da.concatenate(
            [
                da.from_delayed(result[place], shape=(size, k), dtype=dtype)
                for result, size in zip(results, sizes, strict=True)
            ]
        )
        for place, dtype in ((0, object if has_names else np.int64), (1, np.float32))
    )
    return labels, scores


def _predict(model: Any, X: Any, k: int, options: dict[str, Any]) -> tuple[Any, Any]:
    labels, scores = model.predict_topk(X, k, **options)[:2]
    return labels, scores
