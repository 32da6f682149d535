"""From a file of texts to a dataset in parts: one pass for the vocabulary and the labels, one for the points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labeltrees._files import refuse_file
from labeltrees.data.encoders import TextEncoder
from labeltrees.data.files import FilePath
from labeltrees.data.parts.writer import POINTS_PER_PART, PartsWriter
from labeltrees.data.text_dataset import default_vectorizer, is_fitted, label_matrix
from labeltrees.data.text_files import read_blocks, warn_about_gaps
from labeltrees.data.text_formats import TextFields
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.errors import InputError


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
        Fitted on the texts unless it is fitted already; it becomes the encoder of the dataset.
    points_per_part : int
    """
    survey = _Survey(path, fields, format)
    vectorizer = default_vectorizer() if vectorizer is None else vectorizer
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
    """The first pass over a file: counts and label names are noted while the texts go by."""

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
