"""LabelTexts: the texts of each label, such as its name, synonyms and description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labeltrees._names import decode_names, encode_names
from labeltrees._validation import refuse
from labeltrees.data.label_relations import LabelRelations, Vocabulary
from labeltrees.errors import FileFormatError, InputError

_LONGEST_LANGUAGE = 35  # characters of a language tag
_ALLOWED = "a str or a list of str per label, or a dict from labels to them"


class LabelTexts:
    """The texts of labels 0 to L - 1, any number for each. Texts from a file are decoded when they are needed.

    `relations` has the broader labels of each label, and the labels of schemes and collections; None if unknown.
    `language` is the language of the texts, such as "en"; None if unknown.

    Examples
    --------
    >>> from labeltrees.data.label_texts import LabelTexts
    >>> texts = LabelTexts.of_lists([["cats", "felines"], []])
    >>> texts.of(0), texts.title(0), texts.title(1)
    (['cats', 'felines'], 'cats', None)
    """

    def __init__(self, text: Any, ends: Any, label_ptr: Any, source: str = "label texts") -> None:
        self._text, self._ends, self._label_ptr, self._source = text, ends, label_ptr, source
        self.relations: LabelRelations | None = None
        self.language: str | None = None

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[str]]) -> LabelTexts:
        """Return the texts of labels given as one list per label."""
        text, ends = encode_names([text for texts in lists for text in texts])
        label_ptr = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(texts) for texts in lists], out=label_ptr[1:])
        return cls(text, ends, label_ptr)

    def __len__(self) -> int:
        return len(self._label_ptr) - 1

    @property
    def n_texts(self) -> int:
        """The number of texts of all labels."""
        return len(self._ends) - 1

    def of(self, label: int) -> list[str]:
        """Return the texts of a label, an integer."""
        first, last = int(self._label_ptr[label]), int(self._label_ptr[label + 1])
        if not 0 <= first <= last <= self.n_texts:
            self._fail(f"the texts of label {label} are damaged")
        bounds = self._ends[first : last + 1]
        if bounds[0] < 0 or bounds[-1] > len(self._text):
            self._fail(f"the texts of label {label} are damaged")
        return decode_names(self._text[bounds[0] : bounds[-1]], bounds - bounds[0], self._source)

    def title(self, label: int) -> str | None:
        """Return the first text of a label, for display; None if it has none."""
        texts = self.of(label)
        return texts[0] if texts else None

    def titles(self, labels: Any) -> NDArray[np.object_]:
        """Return the first text of each label of an array of any shape; None for -1 and for labels without texts."""
        labels = np.asarray(labels)
        found = np.full(labels.shape, None, dtype=object)
        for place, label in np.ndenumerate(labels):
            if label >= 0:
                found[place] = self.title(int(label))
        return found

    def lists(self) -> list[list[str]]:
        """Return the texts of all labels."""
        return [self.of(label) for label in range(len(self))]

    def keep_labels(self, kept: Any, listed: Any) -> LabelTexts:
        """Return the texts of the `listed` labels; those that are not `kept` have none. Both are masks (L,)."""
        labels = np.flatnonzero(listed).tolist()
        texts = LabelTexts.of_lists([self.of(label) if kept[label] else [] for label in labels])
        texts.relations = None if self.relations is None else self.relations.keep_labels(kept, listed)
        texts.language = self.language
        return texts

    def grown(self, n_labels: int, added: Sequence[Sequence[str]] = ()) -> LabelTexts:
        """Return the texts of `n_labels` labels: those of the `added` ones follow, and other ones have none."""
        n_without = n_labels - len(self) - len(added)
        texts = LabelTexts.of_lists([*self.lists(), *added, *([] for _ in range(n_without))])
        texts.relations = None if self.relations is None else self.relations.grown(n_labels)
        texts.language = self.language
        return texts

    # Files.

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        own = {f"{prefix}text": self._text, f"{prefix}ends": self._ends, f"{prefix}label_ptr": self._label_ptr}
        if self.language is not None:
            own[f"{prefix}language"] = np.frombuffer(self.language.encode(), np.uint8)
        return own if self.relations is None else own | self.relations.arrays(prefix)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str, n_labels: int, source: str) -> LabelTexts | None:
        """Return the texts among the arrays of a model, None if it has none; raise `FileFormatError` if damaged."""
        text, ends, label_ptr = (arrays.get(f"{prefix}{name}") for name in ("text", "ends", "label_ptr"))
        if text is None and ends is None and label_ptr is None:
            return None
        texts = cls(text, ends, label_ptr, source)
        for array, kind in ((text, np.uint8), (ends, np.int64), (label_ptr, np.int64)):
            if array is None or array.dtype != kind or array.ndim != 1:
                texts._fail("the texts of labels are damaged")
        if len(texts) != n_labels or len(texts._ends) < 1:
            texts._fail(f"texts of {len(texts)} labels for a model of {n_labels}")
        texts.relations = LabelRelations.from_arrays(arrays, prefix, n_labels, source)
        language = arrays.get(f"{prefix}language")
        if language is not None:
            texts.language = language.astype(np.uint8).tobytes()[:_LONGEST_LANGUAGE].decode("ascii", "replace")
        return texts

    def verify(self) -> None:
        """Check all texts."""
        decode_names(self._text, self._ends, self._source)
        label_ptr = self._label_ptr
        if label_ptr[0] != 0 or label_ptr[-1] != self.n_texts or np.any(np.diff(label_ptr) < 0):
            self._fail("the texts of labels are damaged")

    def _fail(self, fault: str) -> NoReturn:
        message = f"{self._source}: {fault}"
        raise FileFormatError(message)


def read_label_texts(given: Any, names: Sequence[str] | None, n_labels: int) -> tuple[LabelTexts, list[str]]:
    """Return LabelTexts from any form that `fit` accepts, and the names of labels that only the texts have.

    Parameters
    ----------
    given : LabelTexts; sequence of str or of sequences of str, one per label; or mapping from labels to them
        The keys of a mapping are names, or ids if labels have no names.
    names : names of the labels (n_labels,), or None
    n_labels : int
        The texts are those of labels 0 to n_labels - 1, followed by the new ones.

    Examples
    --------
    >>> texts, new = read_label_texts({"cat": "felines", "dog": ["dogs", "hounds"]}, ["bee", "cat"], 2)
    >>> texts.lists(), new
    ([[], ['felines'], ['dogs', 'hounds']], ['dog'])
    """
    if isinstance(given, LabelTexts):
        texts, new = read_label_texts(given.lists(), names, n_labels)
        texts.relations, texts.language = given.relations, given.language
        return texts, new
    if not isinstance(given, Mapping):
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            refuse("label_texts", _ALLOWED, given)
        lists = [_texts_of(number, texts) for number, texts in enumerate(given)]
        if len(lists) != n_labels:
            refuse("label_texts", f"{n_labels} of them, one per label, or a dict from labels to texts", len(lists))
        return LabelTexts.of_lists(lists), []
    places: dict[Any, int] = {name: label for label, name in enumerate(range(n_labels) if names is None else names)}
    lists = [[] for _ in range(n_labels)]
    new = sorted(_check_name(key, names) for key in given if key not in places)
    lists += [[] for _ in new]
    places |= {name: n_labels + number for number, name in enumerate(new)}
    for key, of_label in given.items():
        lists[places[key]] = _texts_of(key, of_label)
    found = LabelTexts.of_lists(lists)
    if isinstance(given, Vocabulary) and names is not None:
        found.relations, found.language = LabelRelations.of(given, [*names, *new]), given.language
    return found, new


def _check_name(key: Any, names: Any) -> str:
    if names is None:
        refuse("label_texts", "a dict from ids of labels, because labels have no names", key)
    if not isinstance(key, str):
        refuse("label_texts", "a dict from names of labels", key)
    return key


def _texts_of(label: Any, texts: Any) -> list[str]:
    """Return the texts of one label without empty ones."""
    if texts is None:
        return []
    listed = [texts] if isinstance(texts, str) else list(texts) if isinstance(texts, list | tuple) else None
    if listed is None or not all(isinstance(text, str) for text in listed):
        refuse(f"label_texts[{label!r}]", "a str or a list of str", texts)
    try:
        "".join(listed).encode("utf-8")
    except UnicodeEncodeError as error:
        message = f"label_texts[{label!r}] is not valid Unicode: {error}"
        raise InputError(message) from None
    return [text for text in listed if text.strip()]
