"""Relations of labels: the broader labels of a label, and the labels of a scheme, a type or a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees._names import decode_names, did_you_mean, encode_names
from labeltrees.data.text_formats import plain_uri
from labeltrees.errors import FileFormatError, InputError

_MAX_SHOWN = 20  # names of sets in a message
_ARRAYS = {"broader_ptr": np.int64, "broader": np.int32, "set_ptr": np.int64, "set_labels": np.int32}
_NAMES = ("set_names", "set_titles")


def above(label: Any, broader_of: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Return all labels broader than a label, directly or indirectly, the nearest first; never the label itself.

    Examples
    --------
    >>> broader = {"cats": ["mammals", "pets"], "mammals": ["animals"], "pets": ["animals"], "animals": ["cats"]}
    >>> above("cats", lambda label: broader.get(label, []))
    ['mammals', 'pets', 'animals']
    """
    seen, found = {label}, [label]
    for one in found:
        for other in broader_of(one):
            if other not in seen:
                seen.add(other)
                found.append(other)
    return found[1:]


def nearest_above(label: Any, broader_of: Callable[[Any], Iterable[Any]], kept: Callable[[Any], bool]) -> list[Any]:
    """Return the nearest kept labels above a label: a label that is left out is replaced by those above it."""
    return [
        other
        for other in above(label, lambda one: () if one != label and kept(one) else broader_of(one))
        if kept(other)
    ]


class Vocabulary(dict[str, list[str]]):
    """The texts of each label, by its name, and how labels are related.

    Attributes
    ----------
    broader : dict
        The broader labels of each label that has any.
    sets : dict
        The labels of each scheme, type and collection, by its URI.
    set_titles : dict
        The title of each of these sets, by its URI; "" if it has none.
    language : str or None
        The language of the texts; None if unknown.
    titles : dict
        For each language of the file, a dict from labels to their preferred texts.

    Examples
    --------
    >>> vocabulary = Vocabulary({"x:1": ["cats"], "x:2": ["Rome"]}, sets={"x:p": ["x:2"]}, set_titles={"x:p": "Places"})
    >>> vocabulary.labels_of("places"), list(vocabulary.within("x:p"))
    (['x:2'], ['x:2'])
    """

    def __init__(
        self,
        texts: Mapping[str, list[str]],
        broader: Mapping[str, Sequence[str]] | None = None,
        sets: Mapping[str, Sequence[str]] | None = None,
        set_titles: Mapping[str, str] | None = None,
        language: str | None = None,
        titles: Mapping[str, dict[str, str]] | None = None,
    ) -> None:
        super().__init__(texts)
        self.language, self.titles = language, dict(titles or {})
        known: Callable[[str], bool] = self.__contains__
        given = broader or {}
        near = {label: nearest_above(label, lambda one: given.get(one, ()), known) for label in self if label in given}
        self.broader = {label: found for label, found in near.items() if found}
        inside = {name: sorted(set(filter(known, labels))) for name, labels in (sets or {}).items()}
        self.sets = {name: inside[name] for name in sorted(inside) if inside[name]}
        called = set_titles or {}
        self.set_titles = {name: called.get(name, "") for name in self.sets}

    def labels_of(self, name: str) -> list[str]:
        """Return the labels of a scheme, a type or a collection, by its URI, its name, or the end of its URI."""
        return self.sets[find_set(name, self.set_titles)]

    def within(self, names: str | Iterable[str]) -> Vocabulary:
        """Return a vocabulary with only the labels of one or several schemes, types or collections."""
        wanted = {label for name in ([names] if isinstance(names, str) else names) for label in self.labels_of(name)}
        kept = {label: texts for label, texts in self.items() if label in wanted}
        return Vocabulary(kept, self.broader, self.sets, self.set_titles, self.language, self.titles)


def find_set(name: str, titles: Mapping[str, str]) -> str:
    """Return the URI of a set of labels, given its URI or, ignoring case, its title or the end of its URI."""
    uri = plain_uri(name)
    if uri in titles:
        return uri
    wanted = name.casefold()
    for called in ([(key, title) for key, title in titles.items()], [(key, _end(key)) for key in titles]):
        found = [key for key, title in called if title.casefold() == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            message = (
                f"{name!r} is the name of several sets of labels: {', '.join(found[:_MAX_SHOWN])}; give one of them"
            )
            raise InputError(message)
    if not titles:
        message = f"the vocabulary has no schemes, types or collections, so there is no {name!r}"
        raise InputError(message)
    shown = [title or _end(key) for key, title in titles.items()]
    more = ", ..." if len(shown) > _MAX_SHOWN else ""
    near = did_you_mean(name, [*shown, *titles])
    message = f"the vocabulary has no scheme, type or collection {name!r}; it has {', '.join(shown[:_MAX_SHOWN])}{more}"
    message += near
    raise InputError(message)


def _end(uri: str) -> str:
    return uri.rstrip("/#").replace("#", "/").rpartition("/")[2]


class LabelRelations:
    """The relations of labels 0 to L - 1 of a model: broader labels, and named sets of labels.

    Parameters
    ----------
    broader : sequence of L sequences of ids
    sets : mapping from URIs to ids
    titles : mapping from URIs to titles

    Examples
    --------
    >>> relations = LabelRelations([[1], [2], []], {"x:pets": [0]}, {"x:pets": "Pets"})
    >>> relations.above(0), relations.labels_of("pets").tolist()
    ([1, 2], [0])
    """

    def __init__(self, broader: Sequence[Any], sets: Mapping[str, Any], titles: Mapping[str, str]) -> None:
        self._ptr, self._broader = _joined(broader)
        self.titles = {name: titles.get(name, "") for name in sets}
        self._sets = {name: np.asarray(labels, np.int32) for name, labels in sets.items()}

    @classmethod
    def of(cls, vocabulary: Vocabulary, names: Sequence[str]) -> LabelRelations | None:
        """Return the relations of labels with these names; None if the vocabulary has none."""
        if not vocabulary.broader and not vocabulary.sets:
            return None
        ids = {name: label for label, name in enumerate(names)}
        broader = [
            [ids[other] for other in nearest_above(name, lambda one: vocabulary.broader.get(one, ()), ids.__contains__)]
            for name in names
        ]
        sets = {name: sorted(ids[one] for one in labels if one in ids) for name, labels in vocabulary.sets.items()}
        return cls(broader, {name: labels for name, labels in sets.items() if labels}, vocabulary.set_titles)

    def __len__(self) -> int:
        return len(self._ptr) - 1

    @property
    def has_broader(self) -> bool:
        """Whether any label has a broader one."""
        return len(self._broader) > 0

    def broader(self, label: int) -> list[int]:
        """Return the labels directly above a label."""
        found: list[int] = self._broader[self._ptr[label] : self._ptr[label + 1]].tolist()
        return found

    def above(self, label: int) -> list[int]:
        """Return all labels above a label, the nearest first."""
        return above(label, self.broader)

    def labels_of(self, name: str) -> NDArray[np.int32]:
        """Return the ids of the labels of a scheme, a type or a collection, ascending."""
        return self._sets[find_set(name, self.titles)]

    def set_sizes(self) -> dict[str, int]:
        """Return the number of labels of each set, by its URI."""
        return {name: len(labels) for name, labels in self._sets.items()}

    def keep_labels(self, kept: Any, listed: Any) -> LabelRelations:
        """Return the relations of the `listed` labels; those that are not `kept` have none. Both are masks (L,)."""
        new = np.cumsum(listed) - 1
        broader = [
            new[nearest_above(label, self.broader, kept.__getitem__)].tolist() if kept[label] else []
            for label in np.flatnonzero(listed).tolist()
        ]
        sets = {name: new[labels[kept[labels]]] for name, labels in self._sets.items()}
        return LabelRelations(broader, {name: own for name, own in sets.items() if len(own)}, self.titles)

    def grown(self, n_labels: int) -> LabelRelations:
        """Return the relations of `n_labels` labels; the added ones have none."""
        lists = [self.broader(label) for label in range(len(self))]
        return LabelRelations([*lists, *([] for _ in range(n_labels - len(self)))], self._sets, self.titles)

    # Files.

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        set_ptr, set_labels = _joined(list(self._sets.values()))
        arrays: dict[str, NDArray[Any]] = {"broader_ptr": self._ptr, "broader": self._broader}
        arrays |= {"set_ptr": set_ptr, "set_labels": set_labels}
        for key, names in zip(_NAMES, (list(self.titles), list(self.titles.values())), strict=True):
            arrays[key], arrays[f"{key}.ends"] = encode_names(names)
        return {f"{prefix}{key}": array for key, array in arrays.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], prefix: str, n_labels: int, source: str) -> LabelRelations | None:
        """Return the relations among the arrays of a model, None if it has none; raise `FileFormatError` if damaged."""
        if f"{prefix}broader_ptr" not in arrays:
            return None
        fault = FileFormatError(f"{source}: the relations of labels are damaged")
        kinds: dict[str, Any] = (
            _ARRAYS | {key: np.uint8 for key in _NAMES} | {f"{key}.ends": np.int64 for key in _NAMES}
        )
        found: dict[str, Any] = {key: arrays.get(f"{prefix}{key}") for key in kinds}
        if any(array is None or array.dtype != kinds[key] or array.ndim != 1 for key, array in found.items()):
            raise fault
        names, titles = (decode_names(found[key], found[f"{key}.ends"], source) for key in _NAMES)
        if len(set(names)) != len(names) or len(titles) != len(names):
            raise fault
        ptr, labels = found["set_ptr"], found["set_labels"]
        for bounds, ids, n in ((found["broader_ptr"], found["broader"], n_labels), (ptr, labels, len(names))):
            if len(bounds) != n + 1 or bounds[0] != 0 or bounds[-1] != len(ids) or (np.diff(bounds) < 0).any():
                raise fault
            if len(ids) and (ids.min() < 0 or ids.max() >= n_labels):
                raise fault
        sets = {name: labels[ptr[place] : ptr[place + 1]] for place, name in enumerate(names)}
        relations = cls([], sets, dict(zip(names, titles, strict=True)))
        relations._ptr, relations._broader = found["broader_ptr"], found["broader"]
        return relations


def _joined(lists: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the bounds of lists of ids, and all their ids."""
    ptr = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(one) for one in lists], out=ptr[1:])
    return ptr, np.concatenate([np.asarray(one, np.int32) for one in lists] or [np.zeros(0, np.int32)])
