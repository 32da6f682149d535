"""How answers show a label: its text, in one of several languages, and the labels above it; sets of labels by name."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labeltrees.data.label_relations import LabelRelations, Vocabulary, find_set
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.serving.schemas import RequestError, as_unicode


@dataclass(frozen=True)
class ShownTexts:
    """Label texts given to the server: by label, and by language and label if there are several languages."""

    texts: Mapping[str, str] = field(default_factory=dict)
    language: str | None = None
    languages: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for the workers of a server."""
        plain: dict[str, Any] = {"texts": self.texts, "language": self.language, "languages": self.languages}
        if self.vocabulary is not None:
            own = self.vocabulary
            plain["vocabulary"] = [dict(own), own.broader, own.sets, own.set_titles]
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> ShownTexts:
        """Return the texts from the values that `to_json` returned."""
        own = plain.get("vocabulary")
        vocabulary = None if own is None else Vocabulary(*own)
        return cls(plain["texts"], plain["language"], plain["languages"], vocabulary)


NO_TEXTS = ShownTexts()


def read_shown_texts(source: Any, language: str | None = None) -> ShownTexts:
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
        return NO_TEXTS
    given = source if isinstance(source, Mapping) else read_vocabulary(source, language)
    first = {str(name): text if isinstance(text, str) else str(text[0]) for name, text in given.items() if text}
    texts = {name: as_unicode(text) for name, text in first.items()}
    if not isinstance(given, Vocabulary):
        return ShownTexts(texts)
    return ShownTexts(texts, given.language, given.titles, given)


class ShownLabels:
    """Texts, broader labels and sets of the labels of one model.

    Parameters
    ----------
    model : Model
    given : ShownTexts
        Texts given to the server. Without any, the texts stored with the model are shown.
    number_of : function from a label to its id
    """

    def __init__(self, model: Model, given: ShownTexts, number_of: Callable[[str | int], int]) -> None:
        stored = None if given.texts else getattr(model, "label_texts_", None)
        self._given, self._stored, self._names, self._number_of = given, stored, model.label_names_, number_of
        self._model = model
        self._sets: dict[str, Any] = {}  # prepared, of the vocabulary, by URI
        self.has_texts = bool(given.texts) or stored is not None
        self.language: str | None = given.language if stored is None else stored.language
        own = model.label_relations_
        if own is None and given.vocabulary is not None and self._names is not None:
            own = LabelRelations.of(given.vocabulary, self._names.tolist())
        self.relations = own

    def text(self, label: str | int, language: str | None = None) -> str | None:
        """Return the text to show for a label: the one given to the server, or the first one stored with the model."""
        if language is not None and language != self.language:
            text = self._given.languages[language].get(str(label))
            return None if text is None else as_unicode(text)
        if self._stored is None:
            return self._given.texts.get(str(label))
        text = self._stored.title(self._number_of(label))
        return None if text is None else as_unicode(text)

    def check_language(self, language: str | None) -> str | None:
        """Return the language to show texts in, or None for the default one; refuse a language without texts."""
        known = {*self._given.languages} | ({self.language} if self.language else set())
        if not language or not known or language == self.language:
            return None
        if language not in self._given.languages:
            message = f"the labels have texts in {', '.join(sorted(known))}, not in {language[:20]!r}"
            raise RequestError(400, message)
        return language

    def broader(self, label: str | int) -> list[str]:
        """Return the texts of the labels above a label, nearest first."""
        if self.relations is None:
            return []
        above = self.relations.above(self._number_of(label))
        names = above if self._names is None else self._names[above].tolist()
        return [self.text(name) or str(name) for name in names]

    def label_set(self, name: str) -> Any:
        """Return a scheme, type or collection of the vocabulary, prepared; None if there is none of this name."""
        if self.relations is None:
            return None
        try:
            uri = find_set(name, self.relations.titles)
        except InputError:
            return None
        if uri not in self._sets:
            self._sets[uri] = prepare_set(self._model, self.relations.labels_of(uri).tolist())
        return self._sets[uri]

    @property
    def set_names(self) -> list[str]:
        """The names of the schemes, types and collections of the vocabulary."""
        return [] if self.relations is None else [title or uri for uri, title in self.relations.titles.items()]


def prepare_set(model: Model, labels: list[Any]) -> Any:
    """Return a set of labels for many requests. It is packed in a thread, because that can take half a second."""
    found = model.label_set(labels)
    threading.Thread(target=model.searcher_.pack, args=(found,), name="labeltrees-pack").start()
    return found
