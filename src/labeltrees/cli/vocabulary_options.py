"""Options for vocabularies: files with what people call each label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from labeltrees.cli.options import Decorator, add_options
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.models.common.protocol import Model

TitleOf = Callable[[int], str | None]  # what people call a label, by its id


def vocabulary_options(*flags: str, help: str) -> Decorator:
    """Return the options --vocabulary (with other `flags` for it) and --language."""
    file = click.option(*flags, "--vocabulary", "vocabulary", type=click.Path(exists=True, dir_okay=False), help=help)
    language = click.option("--language", metavar="CODE", help="Language of the vocabulary's texts, such as en.")
    return add_options([file, language])


def titles_of(model: Model, vocabulary: str | None, language: str | None) -> TitleOf | None:
    """Return the function from labels to titles: of the vocabulary, or else of the model; None if there are none."""
    if vocabulary is None:
        stored = getattr(model, "label_texts_", None)
        return None if stored is None else stored.title
    texts = read_vocabulary(vocabulary, language)
    names: Any = model.label_names_

    def title(label: int) -> str | None:
        found = texts.get(str(label) if names is None else names[label])
        return found[0] if found else None

    return title
