"""Files of any size as datasets in parts: XMC format and texts, a few thousand points at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._files import refuse_file
from labeltrees.data.encoders import Encoder, TextEncoder
from labeltrees.data.files import FilePath, open_any
from labeltrees.data.parts.parts_dataset import PartsDataset, open_parts
from labeltrees.data.parts.writer import POINTS_PER_PART, PartsWriter
from labeltrees.data.text_formats import TextFields
from labeltrees.data.texts import (
    default_vectorizer,
    is_fitted,
    known_format,
    label_matrix,
    read_blocks,
    warn_about_gaps,
)
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.xmc import IndexBase, open_xmc_blocks, weights_beside
from labeltrees.errors import InputError


def xmc_to_parts(
    path: FilePath,
    folder: FilePath,
    *,
    index_base: IndexBase = "auto",
    weights: FilePath | None = "auto",
    points_per_part: int = POINTS_PER_PART,
    label_names: Any = None,
    feature_names: Any = None,
    encoder: Encoder | None = None,
    times: Any = None,
    groups: Any = None,
) -> None:
    """Write a file in XMC format as a folder of parts; `read_xmc` explains the first parameters.

    Parameters
    ----------
    points_per_part : int
    label_names, feature_names, encoder, times, groups
        As for `Dataset`; the file has none of them.
    """
    weights_file = weights_beside(Path(path)) if weights == "auto" else weights
    with open_xmc_blocks(path, index_base) as blocks, _open_weights(weights_file) as read_weights:
        with PartsWriter(
            folder,
            blocks.n_features,
            blocks.n_labels,
            points_per_part=points_per_part,
            label_names=label_names,
            feature_names=feature_names,
            encoder=encoder,
        ) as writer:
            first = 0
            for block in blocks:
                last = first + block.n_points
                writer.add(
                    block.X,
                    block.Y,
                    None if read_weights is None else read_weights.take(block.n_points),
                    times=None if times is None else times[first:last],
                    groups=None if groups is None else groups[first:last],
                )
                first = last
            if read_weights is not None:
                read_weights.finish(first)


class _Weights:
    """Reads weights from a file with one line per point, a block at a time."""

    def __init__(self, path: FilePath, stream: Any) -> None:
        self._path, self._lines, self._n = path, iter(stream), 0

    def take(self, n: int) -> NDArray[np.float64]:
        lines = list(itertools.islice(self._lines, n))
        self._n += len(lines)
        if len(lines) < n:
            refuse_file(self._path, f"only {self._n} weights, fewer than points; it must have one line per point")
        try:
            return np.array([float(line) for line in lines])
        except ValueError as error:
            refuse_file(self._path, f"not a number ({error}); each line must be a finite number of at least 0")

    def finish(self, n_points: int) -> None:
        if any(line.strip() for line in self._lines):
            refuse_file(self._path, f"more weights than the {n_points} points; it must have one line per point")


@contextmanager
def _open_weights(path: FilePath | None) -> Iterator[_Weights | None]:
    if path is None:
        yield None
        return
    with open_any(path) as stream:
        yield _Weights(path, stream)


def texts_to_parts(
    path: FilePath,
    fields: TextFields,
    format: str,
    folder: FilePath,
    *,
    vectorizer: Any = None,
    points_per_part: int = POINTS_PER_PART,
) -> None:
    """Write a file of texts as a folder of parts, with the features and labels that `read_texts` gives them.

    Parameters
    ----------
    path : path
    fields : TextFields
    format : str
        One of `FORMATS`.
    folder : path
    vectorizer : TfidfVectorizer, optional
        Fitted on the texts unless it is fitted already; it becomes the encoder of the dataset. By default
        `default_vectorizer`.
    points_per_part : int
    """
    if vectorizer is None:
        vectorizer = default_vectorizer(text for block in read_blocks(path, fields, format) for text in block.texts)
    survey = _Survey(path, fields, format)
    try:
        if is_fitted(vectorizer):
            for _ in survey.texts():
                pass
        else:
            vectorizer.fit(survey.texts())
    except ValueError as error:  # no word occurs often enough
        message = f"{path}: no features can be made from the {survey.n_texts} texts: {error}"
        raise InputError(message) from None
    survey.check()
    names = sorted(survey.names)
    is_own = isinstance(vectorizer, TfidfVectorizer)
    has_names = not getattr(vectorizer, "hashing", None)
    feature_names = vectorizer.get_feature_names_out() if has_names else None
    n_features = vectorizer.get_state().n_features if is_own else len(vectorizer.get_feature_names_out())
    with PartsWriter(
        folder,
        n_features,
        len(names),
        points_per_part=points_per_part,
        label_names=names,
        feature_names=feature_names,
        encoder=TextEncoder(vectorizer) if is_own else None,
    ) as writer:
        for block in read_blocks(path, fields, format):
            weights = block.weights if fields.weight is not None else None
            Y = label_matrix(block.labels, names)
            writer.add(vectorizer.transform(block.texts), Y, weights, texts=block.texts)


class _Survey:
    """The first pass over a file: yields the texts, and collects counts and label names."""

    def __init__(self, path: FilePath, fields: TextFields, format: str) -> None:
        self.path, self.fields, self.format = path, fields, format
        self.names: set[str] = set()
        self.n_texts = self.n_empty = self.n_without_labels = self.n_blank_labels = 0

    def texts(self) -> Iterator[str]:
        for block in read_blocks(self.path, self.fields, self.format):
            self.n_texts += len(block.texts)
            self.n_empty += sum(not text.strip() for text in block.texts)
            self.n_without_labels += sum(not names for names in block.labels)
            self.n_blank_labels += block.n_blank_labels
            for names in block.labels:
                self.names.update(names)
            yield from block.texts

    def check(self) -> None:
        if self.n_texts == 0:
            refuse_file(self.path, "the file has no texts")
        if not self.names:
            refuse_file(self.path, f"none of the {self.n_texts:,} texts has a label")
        warn_about_gaps(self.path, self.n_texts, self.n_empty, self.n_without_labels, self.n_blank_labels)


def xmc_in_parts(
    path: FilePath, folder: FilePath, index_base: IndexBase, weights: FilePath | None, points_per_part: int | None
) -> PartsDataset:
    """Write a file in XMC format as a folder of parts, and open it."""
    size = POINTS_PER_PART if points_per_part is None else points_per_part
    xmc_to_parts(path, folder, index_base=index_base, weights=weights, points_per_part=size)
    return open_parts(folder)


def texts_in_parts(
    path: FilePath, fields: TextFields, format: str, folder: FilePath, vectorizer: Any, points_per_part: int | None
) -> PartsDataset:
    """Write a file of texts as a folder of parts, and open it."""
    size = POINTS_PER_PART if points_per_part is None else points_per_part
    found = known_format(path, format)
    texts_to_parts(path, fields, found, folder, vectorizer=vectorizer, points_per_part=size)
    return open_parts(folder)
