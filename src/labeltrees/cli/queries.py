"""The queries of `labeltrees predict`: points of DATA, or contexts typed with --ask."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from labeltrees.cli.output import plural
from labeltrees.cli.saved_models import text_reader
from labeltrees.data import TextEncoder
from labeltrees.data.data_folder import BUNDLED, find_file, find_parts
from labeltrees.data.encoders import Encoder
from labeltrees.data.point_blocks import (
    ContextBlock,
    PointBlocks,
    context_file,
    encode_block,
    open_points,
    read_contexts,
)
from labeltrees.data.read_data import DataOptions, TextFile
from labeltrees.data.text_formats import TextFields
from labeltrees.errors import FileFormatError, InputError, Phrase
from labeltrees.models.common.protocol import Model

_logger = logging.getLogger("labeltrees")
_TYPED = Path("--ask")
_PART = "test"


class Contexts:
    """Contexts from a file or from --ask, for the encoder of a model. Warns about unknown words or items."""

    def __init__(self, file: TextFile, questions: tuple[str, ...], encoder: Encoder) -> None:
        self._file, self._questions, self._encoder = file, questions, encoder
        self._n_unknown = self._n_without = 0

    def blocks(self) -> Iterator[list[Any]]:
        """Yield the contexts."""
        for block, _ in self._blocks():
            yield block.contexts

    def rows(self, model: Model, n_jobs: int) -> Iterator[Any]:
        """Yield the contexts as points of the model's searcher."""
        for _, rows in self._blocks(n_jobs):
            yield model.check_queries(rows, n_jobs)

    def _blocks(self, n_jobs: int = 1) -> Iterator[tuple[ContextBlock, Any]]:
        if self._questions:
            contexts = [parse_context(question, self._encoder) for question in self._questions]
            blocks = iter([ContextBlock(contexts, 0, [])])
        else:
            blocks = read_contexts(self._file, self._encoder)
        for block in blocks:
            rows = encode_block(self._file, self._encoder, block, n_jobs)
            self._n_unknown += int(self._encoder.count_unknown(block.contexts).sum())
            self._n_without += int((np.diff(rows.indptr) == 0).sum())
            yield block, rows
        self._warn()

    def _warn(self) -> None:
        if self._n_unknown:
            were = "was" if self._n_unknown == 1 else "were"
            text = "%s: the model does not know %s, which %s left out"
            _logger.warning(text + self._advice(), self._file.path, plural(self._n_unknown, self._term()), were)
        if self._n_without:
            warn_without(self._file.path, self._n_without, "word" if isinstance(self._encoder, TextEncoder) else "item")

    def _term(self) -> str:
        """Return what the encoder counts; pairs and pieces of words are terms too."""
        if not isinstance(self._encoder, TextEncoder):
            return "item"
        parameters = self._encoder.vectorizer.get_params()
        single_words = parameters["union"] is None and parameters["analyzer"] == "word"
        return "word" if single_words and tuple(parameters["ngram_range"]) == (1, 1) else "term"

    def _advice(self) -> str:
        """Return a hint if the user seems to have typed several items separated by commas."""
        contexts = [parse_context(question, self._encoder) for question in self._questions]
        has_comma = any(isinstance(context, list) and len(context) == 1 and "," in context[0] for context in contexts)
        return """; several items are written as '["bread", "milk"]'""" if has_comma else ""


def warn_without(source: Any, count: int, kind: str) -> None:
    """Log the number of points without an item or word that the model knows."""
    have = "has" if count == 1 else "have"
    _logger.warning(
        "%s: %s %s no known %s; all such points get the same answer", source, plural(count, "point"), have, kind
    )


def find_contexts(data: str | None, questions: tuple[str, ...], reading: DataOptions, model: Model) -> Contexts | None:
    """Return the contexts of DATA or --ask; None for features, texts of a file, or no encoder."""
    if data is not None:
        file = context_file(data, reading, model.encoder_)
        return None if file is None or model.encoder_ is None else Contexts(file, (), model.encoder_)
    if model.encoder_ is not None:
        return Contexts(TextFile(_TYPED, TextFields(), ""), questions, model.encoder_)
    if not model.takes_texts:
        message = (
            "--ask needs a model that takes texts or items, and this one was trained on features: train it on texts, "
            "or on a folder of `labeltrees logs prepare`, whose encoder the model keeps"
        )
        raise InputError(message)
    return None


def documents_of(data: str | None, reading: DataOptions) -> list[Path] | None:
    """Return the documents of DATA, in the order in which they are read; None if it is not a folder of documents."""
    if data is None or data == BUNDLED or not Path(data).is_dir() or find_parts(data, _PART) is not None:
        return None
    found = find_file(data, _PART, reading.format)
    return sorted(found.glob("*.txt")) if found is not None and found.is_dir() else None


@contextmanager
def open_queries(
    data: str | None,
    questions: tuple[str, ...],
    reading: DataOptions,
    model: Model,
    n_jobs: int,
    *,
    as_given: bool = False,
) -> Iterator[PointBlocks]:
    """Open the points of DATA or --ask in blocks; `as_given`: blocks of texts or items instead of their points."""
    contexts = find_contexts(data, questions, reading, model)
    if contexts is not None:
        yield PointBlocks(None, None, contexts.blocks() if as_given else contexts.rows(model, n_jobs))
    elif data is None:
        asked = list(questions)
        yield PointBlocks(None, None, iter([asked if as_given else model.check_queries(asked, n_jobs)]))
    else:
        try:
            reader = _TextReader(model, n_jobs, as_given) if isinstance(model.encoder_, TextEncoder) else None
            read = reader or (list if as_given and model.takes_texts else text_reader(model, n_jobs))
            with open_points(data, reading, read_texts=read) as points:
                yield points
            if reader is not None and reader.n_without:
                warn_without(data, reader.n_without, "word")
        except FileFormatError as error:
            if error.next_step is Phrase.GIVE_FORMAT and not model.takes_texts:
                error.next_step = None if model.encoder_ is None else Phrase.GIVE_ITEM_LISTS
            raise


class _TextReader:
    """Turns texts into points, and counts those without a known word."""

    def __init__(self, model: Model, n_jobs: int, as_given: bool) -> None:
        self._model, self._n_jobs, self._as_given, self.n_without = model, n_jobs, as_given, 0

    def __call__(self, texts: list[str]) -> Any:
        assert self._model.encoder_ is not None
        rows = self._model.encoder_.transform(texts, self._n_jobs)
        self.n_without += int((np.diff(rows.indptr) == 0).sum())
        return texts if self._as_given else self._model.check_queries(rows, self._n_jobs)


def parse_context(text: str, encoder: Encoder | None) -> Any:
    """Return the context that a user typed: a text, a JSON list or object, or a single item.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.encoders.ItemEncoder(["milk", "bread"])
    >>> parse_context("milk", encoder), parse_context('["milk", ["bread", 2]]', encoder)
    (['milk'], ['milk', ['bread', 2]])
    """
    if encoder is None or isinstance(encoder, TextEncoder):
        return text
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            message = f'--ask {text}: not JSON; a list of items must be written as ["bread", "milk"]'
            raise InputError(message) from None
    return text if getattr(encoder, "separator", None) is not None else [text]
