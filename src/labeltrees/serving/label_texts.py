"""Texts to show for labels: labels can be URIs or codes, and people read texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labeltrees.data.vocabulary import read_vocabulary


def read_label_texts(source: Any, language: str | None = None) -> dict[str, str]:
    """Return the text of each label name.

    Parameters
    ----------
    source : mapping, path or None
        A mapping from names to texts, or to lists of texts, of which the first is used; or a file, as for
        `read_vocabulary`.
    language : str, optional
        The language of the texts, if the file has several.
    """
    if source is None:
        return {}
    texts = source if isinstance(source, Mapping) else read_vocabulary(source, language)
    return {str(name): text if isinstance(text, str) else str(text[0]) for name, text in texts.items() if text}
