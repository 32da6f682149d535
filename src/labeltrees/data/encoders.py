"""Encoders: turn a text, a list of items or a row of a log into a row of features."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labeltrees import _core
from labeltrees._names import check_texts, decode_names, encode_names
from labeltrees._validation import check_choice, check_n_jobs, check_number, refuse
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files, verify_tfidf
from labeltrees.errors import FileFormatError, InputError

Arrays = dict[str, NDArray[Any]]
WEIGHTINGS = ("log", "count", "binary")
NORMS = ("none", "l1", "l2")
_LARGEST = 2**31 - 1
Pair = tuple[Any, Any]  # the arrays of `encode_names`
_NAME = re.compile(r"\w[\w -]{0,63}")
MAX_PARTS = 16


class Encoder(ABC):
    """Turns contexts (texts, lists of items, values of columns) into rows of features.

    An encoder does not change after it is made. It is saved with the model, and `Predictor` runs it in native code.
    Unknown items and words are counted, and otherwise ignored.
    """

    KIND: ClassVar[str]  # its name in the manifest of a model
    TAKES: ClassVar[str]  # what one context is, for messages

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features of a row."""

    @property
    @abstractmethod
    def feature_names(self) -> NDArray[np.object_] | None:
        """The names of the features (n_features,), or None if they have none."""

    @cached_property
    @abstractmethod
    def native(self) -> _core.Encoder:
        """The native encoder, made when it is first needed."""

    @abstractmethod
    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the settings as JSON values, and the arrays, whose names start with `prefix`."""

    @classmethod
    @abstractmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from what `to_files` returned; faults raise `FileFormatError`, which names `source`."""

    @abstractmethod
    def verify(self) -> None:
        """Check everything that is otherwise checked on first use."""

    def transform(self, contexts: Any, n_jobs: int | None = None) -> sparse.csr_array[np.float32]:
        """Return the rows of contexts (n, n_features).

        Parameters
        ----------
        contexts : sequence of n contexts
            For one context, pass a list with it.
        n_jobs : int, optional
            Number of threads, for texts.
        """
        return self._encode(contexts)[0]

    def count_unknown(self, contexts: Any) -> NDArray[np.int64]:
        """Return for each context how many of its items or words the encoder does not know (n,)."""
        return self._encode(contexts)[1]

    def _encode(self, contexts: Any) -> tuple[sparse.csr_array[np.float32], NDArray[np.int64]]:
        values, indices, indptr, unknown = self.native.transform(self.check_contexts(contexts))
        if indptr[-1] < 2**31:
            indptr = indptr.astype(np.int32)
        rows = sparse.csr_array((values, indices, indptr), shape=(len(unknown), self.n_features))
        rows.has_sorted_indices = rows.has_canonical_format = True
        return rows, unknown

    def check_contexts(self, contexts: Any) -> list[Any] | tuple[Any, ...]:
        """Return a batch of contexts as a list or tuple; a single context is refused."""
        if hasattr(contexts, "__array__") and not isinstance(contexts, Sequence):
            contexts = contexts.tolist() if hasattr(contexts, "tolist") else np.asarray(contexts).tolist()
        if isinstance(contexts, list | tuple):
            return contexts
        allowed = f"a list of contexts, each {self.TAKES} (for one context, pass a list with it)"
        if isinstance(contexts, Sequence) and not isinstance(contexts, str | bytes):
            return list(contexts)
        refuse("contexts", allowed, contexts)

    def __getstate__(self) -> dict[str, Any]:
        cached = {"native", "feature_names"}
        return {name: value for name, value in self.__dict__.items() if name not in cached}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_features:,} features; takes {self.TAKES})"


class TextEncoder(Encoder):
    """A text, such as a query, as a row of tf-idf weights.

    Parameters
    ----------
    vectorizer : TfidfVectorizer
        Fitted. scikit-learn's own vectorizer is refused: it cannot be saved with a model.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.encoders.TextEncoder(lt.TfidfVectorizer(norm=None, use_idf=False).fit(["red wine", "white wine"]))
    >>> encoder.transform(["Red red shoes"]).toarray()
    array([[2., 0., 0.]], dtype=float32)
    >>> encoder.count_unknown(["Red red shoes"]).tolist()
    [1]
    """

    KIND: ClassVar[str] = "text"
    TAKES: ClassVar[str] = "a text (str)"

    def __init__(self, vectorizer: TfidfVectorizer) -> None:
        if not isinstance(vectorizer, TfidfVectorizer):
            refuse("vectorizer", "a fitted labeltrees.TfidfVectorizer", vectorizer)
        vectorizer.get_state()  # refuses one that is not fitted
        self.vectorizer = vectorizer

    @property
    def n_features(self) -> int:
        """Number of terms."""
        return self.vectorizer.get_state().n_features

    @property
    def feature_names(self) -> NDArray[np.object_] | None:
        """The terms (n_features,), or None if terms are hashed."""
        if not self.vectorizer.get_state().has_names:
            return None
        names: NDArray[np.object_] = self.vectorizer.get_feature_names_out()
        return names

    @cached_property
    def native(self) -> _core.Encoder:
        """The native encoder."""
        state = self.vectorizer.get_state()
        return _core.TextEncoder(state.native, state.on_tokens, self.TAKES)

    def transform(self, contexts: Any, n_jobs: int | None = None) -> sparse.csr_array[np.float32]:
        """Return the rows of texts (n, n_features)."""
        rows = self.vectorizer.rows(self.check_contexts(contexts), check_n_jobs(n_jobs))
        return sparse.csr_array(rows).astype(np.float32, copy=False)

    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the vectorizer's settings and arrays."""
        settings, arrays = tfidf_to_files(self.vectorizer, prefix)
        return {"kind": self.KIND, "settings": settings}, arrays

    @classmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from files. The terms are checked with the first text, or by `verify`."""
        if not isinstance(settings, dict) or settings.keys() != {"kind", "settings"}:
            message = f"{source}: a text encoder must have the keys kind and settings"
            raise FileFormatError(message)
        return cls(tfidf_from_files(settings["settings"], arrays, prefix, source))

    def verify(self) -> None:
        """Check the terms and the idf."""
        verify_tfidf(self.vectorizer)


class ItemEncoder(Encoder):
    """A list of items, such as a customer's history or a basket, as a row with one feature per item.

    A context is a list of items, a list of (item, count) pairs, or a dict from items to counts. An item is its name or
    its id (str or int); an item that occurs twice counts twice.

    Parameters
    ----------
    names : n_features str
        The name of the item of each feature, all different.
    ids : n_features str or int, optional
        Alternative names of the items, such as their ids in a log. If a text is a name and an id, the name counts.
    weighting : {"log", "count", "binary"}
        The value of an item with count c: log(1 + c), as in histories made by `prepare_logs`; c; or 1.
    norm : {"none", "l1", "l2"}
        Scale rows so that this norm is 1. A model with ``normalize=True`` scales rows itself.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.encoders.ItemEncoder(["milk", "bread", "eggs"], ids=[17, 4, 9], weighting="count")
    >>> encoder.transform([["milk", "eggs"], [("bread", 2), 9], {"jam": 1, "17": 3}]).toarray()
    array([[1., 0., 1.],
           [0., 2., 1.],
           [3., 0., 0.]], dtype=float32)
    >>> encoder.count_unknown([["milk"], {"jam": 1, "17": 3}]).tolist()
    [0, 1]
    """

    KIND: ClassVar[str] = "items"
    TAKES: ClassVar[str] = "a list of items, a list of (item, count) pairs, or a dict from items to counts"
    SETTINGS: ClassVar[tuple[str, ...]] = ("weighting", "norm")

    _names: Pair
    _ids: Pair | None

    def __init__(self, names: Any, ids: Any = None, *, weighting: str = "log", norm: str = "none") -> None:
        self._set(_encode_different("names", names), None, weighting, norm)
        if ids is not None:
            texts = [str(item) for item in (ids.tolist() if hasattr(ids, "tolist") else ids)]
            if len(texts) != self.n_features:
                refuse("ids", f"{self.n_features} ids, one per name", f"{len(texts)} of them")
            self._ids = _encode_different("ids", texts)

    def _set(self, names: Pair, ids: Pair | None, weighting: Any, norm: Any, source: str = "encoder") -> None:
        self._names, self._ids, self._source = names, ids, source
        self.weighting = check_choice("weighting", weighting, WEIGHTINGS)
        self.norm = check_choice("norm", norm, NORMS)

    @property
    def n_features(self) -> int:
        """Number of items."""
        return len(self._names[1]) - 1

    @cached_property
    def feature_names(self) -> NDArray[np.object_]:
        """The names of the items (n_features,)."""
        return np.array(decode_names(*self._names, self._source), dtype=object)

    @property
    def item_ids(self) -> list[str]:
        """The id of each item; empty if the items have only names."""
        return [] if self._ids is None else decode_names(*self._ids, self._source)

    @cached_property
    def names_table(self) -> _core.Names:
        """The native index of the names."""
        return _core.Names(*self._names, self._source)

    @cached_property
    def native(self) -> _core.Encoder:
        """The native encoder."""
        ids = None if self._ids is None else _core.Names(*self._ids, self._source)
        return _core.ItemEncoder(self.names_table, ids, self.weighting, self.norm, None, False, self.TAKES)

    # Files.

    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the settings, and the names and ids as arrays."""
        arrays = {f"{prefix}names": self._names[0], f"{prefix}names.ends": self._names[1]}
        if self._ids is not None:
            arrays |= {f"{prefix}ids": self._ids[0], f"{prefix}ids.ends": self._ids[1]}
        return {"kind": self.KIND, **{name: getattr(self, name) for name in self.SETTINGS}}, arrays

    @classmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from files. The names themselves are checked when they are first used, or by `verify`."""
        if not isinstance(settings, dict) or settings.keys() != {"kind", *cls.SETTINGS}:
            _fail(source, f"the encoder must have the keys {sorted({'kind', *cls.SETTINGS})}")
        names, ids = _read_pair(arrays, f"{prefix}names", source), _read_pair(arrays, f"{prefix}ids", source)
        if names is None:
            _fail(source, f"the array {prefix}names is missing")
        if ids is not None and len(ids[1]) != len(names[1]):
            _fail(source, "the encoder must have one id per name")
        encoder = cls.__new__(cls)
        try:
            encoder._set(names, ids, source=source, **{name: settings[name] for name in cls.SETTINGS})
        except InputError as error:
            _fail(source, f"the encoder's settings are damaged: {error}")
        return encoder

    def verify(self) -> None:
        """Check the names and the ids."""
        for pair in (self._names, self._ids):
            if pair is not None:
                texts = decode_names(*pair, self._source)
                if len(set(texts)) < len(texts):
                    _fail(self._source, "a name of the encoder occurs twice")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "names_table"}


class ColumnEncoder(ItemEncoder):
    """A value of a feature column (a list of names, or a text of names with a separator) as a row of counts.

    Parameters
    ----------
    names : n_features str
        The names, all different.
    separator : str, optional
        Splits a context that is a text into names. Spaces around names are removed and empty names left out.
    weighting, norm
        As for `ItemEncoder`, but `weighting` is "count" by default.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.encoders.ColumnEncoder(["red", "wool", "xl"], separator=";")
    >>> encoder.transform(["red; wool", ["xl", "xl"]]).toarray()
    array([[1., 1., 0.],
           [0., 0., 2.]], dtype=float32)
    """

    KIND: ClassVar[str] = "column"
    TAKES: ClassVar[str] = "a list of names"
    SETTINGS: ClassVar[tuple[str, ...]] = ("weighting", "norm", "separator")

    def __init__(
        self, names: Any, *, separator: str | None = None, weighting: str = "count", norm: str = "none"
    ) -> None:
        self._set(_encode_different("names", names), None, weighting, norm, separator=separator)

    def _set(
        self, names: Pair, ids: Pair | None, weighting: Any, norm: Any, source: str = "encoder", separator: Any = None
    ) -> None:
        super()._set(names, None, weighting, norm, source)
        if separator is not None and (not isinstance(separator, str) or separator == ""):
            refuse("separator", "None or a text", separator)
        self.separator = separator

    @cached_property
    def native(self) -> _core.Encoder:
        """The native encoder."""
        takes = self.TAKES if self.separator is None else f"{self.TAKES}, or a text of names with {self.separator!r}"
        return _core.ItemEncoder(self.names_table, None, self.weighting, self.norm, self.separator, True, takes)


def _encode_different(name: str, names: Any) -> Pair:
    """Return names that are all different in the form of `encode_names`."""
    values = names.tolist() if hasattr(names, "tolist") else list(names)
    if not 0 < len(values) <= _LARGEST:
        refuse(name, f"1 to {_LARGEST} names", f"{len(values)} of them")
    try:
        return encode_names(check_texts(name, values, len(values), unique=True).tolist())
    except UnicodeEncodeError as error:
        message = f"one of {name} is not valid Unicode: {error}"
        raise InputError(message) from None


def _read_pair(arrays: Arrays, name: str, source: str) -> Pair | None:
    if name not in arrays:
        return None
    text, ends = arrays[name], arrays.get(f"{name}.ends")
    if ends is None or text.dtype != np.uint8 or ends.dtype != np.int64 or text.ndim != 1 or ends.ndim != 1:
        _fail(source, f"the arrays {name} of the encoder are damaged")
    if not 1 < len(ends) <= _LARGEST + 1:
        _fail(source, f"the encoder has {len(ends) - 1} names")
    return text, ends


def _fail(source: str, fault: str) -> NoReturn:
    message = f"{source}: {fault}"
    raise FileFormatError(message)


class UnionEncoder(Encoder):
    """Several encoders side by side: their features one after another.

    A context is a dict from the names of the parts to their contexts (a part that is missing or None has no features),
    or a tuple with one context per part.

    Parameters
    ----------
    parts : mapping from names to encoders
        In the order of their features; no unions.
    weights : mapping from names to numbers, optional
        Multiply the values of a part; 1 by default.

    Examples
    --------
    >>> import labeltrees as lt
    >>> history = lt.encoders.ItemEncoder(["milk", "bread"], weighting="count")
    >>> tags = lt.encoders.ColumnEncoder(["new", "sale"])
    >>> encoder = lt.encoders.UnionEncoder({"history": history, "tags": tags}, weights={"tags": 0.5})
    >>> encoder.transform([{"history": ["bread"], "tags": ["sale"]}, (["milk"], None)]).toarray()
    array([[0. , 1. , 0. , 0.5],
           [1. , 0. , 0. , 0. ]], dtype=float32)
    """

    KIND: ClassVar[str] = "union"
    TAKES: ClassVar[str] = "a dict from the names of the parts to their contexts, or a tuple with one per part"

    def __init__(self, parts: Mapping[str, Encoder], *, weights: Mapping[str, float] | None = None) -> None:
        self._set(dict(parts), dict(weights or {}))

    def _set(self, parts: dict[str, Encoder], weights: dict[str, float]) -> None:
        if not 1 <= len(parts) <= MAX_PARTS:
            refuse("parts", f"1 to {MAX_PARTS} encoders", f"{len(parts)} of them")
        for name, part in parts.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                refuse("the name of a part", "letters, digits, spaces, - and _", name)
            if not isinstance(part, Encoder) or isinstance(part, UnionEncoder):
                refuse(f"parts[{name!r}]", "an encoder that is not a union", part)
        for name in weights:
            if name not in parts:
                refuse("weights", f"numbers for {', '.join(parts)}", name)
        self.parts = parts
        self.weights = {name: check_number(f"weights[{name!r}]", weights.get(name, 1.0), 0, 1e6) for name in parts}
        if self.n_features > 2**31 - 1:
            refuse("parts", "encoders with fewer than 2**31 features together", self.n_features)

    @property
    def n_features(self) -> int:
        """Number of features of all parts."""
        return sum(part.n_features for part in self.parts.values())

    @property
    def offsets(self) -> dict[str, int]:
        """The first feature of each part."""
        ends = np.cumsum([part.n_features for part in self.parts.values()]).tolist()
        return dict(zip(self.parts, [0, *ends[:-1]], strict=True))

    @cached_property
    def feature_names(self) -> NDArray[np.object_] | None:
        """The names of all features, each after the name of its part; None if a part has none."""
        named = {name: part.feature_names for name, part in self.parts.items()}
        if any(names is None for names in named.values()):
            return None
        texts = [f"{name}: {text}" for name, names in named.items() if names is not None for text in names]
        return np.array(texts, dtype=object)

    @cached_property
    def native(self) -> _core.Encoder:
        """The native encoder."""
        takes = f"a dict with the keys {', '.join(self.parts)}, or a tuple with one context for each"
        parts = [part.native for part in self.parts.values()]
        return _core.UnionEncoder(list(self.parts), parts, list(self.weights.values()), takes)

    def to_files(self, prefix: str) -> tuple[dict[str, Any], Arrays]:
        """Return the settings and the arrays of all parts."""
        settings: list[dict[str, Any]] = []
        arrays: Arrays = {}
        for number, (name, part) in enumerate(self.parts.items()):
            own, own_arrays = part.to_files(f"{prefix}part{number}.")
            settings.append({"name": name, "weight": self.weights[name], "encoder": own})
            arrays |= own_arrays
        return {"kind": self.KIND, "parts": settings}, arrays

    @classmethod
    def from_files(cls, settings: Any, arrays: Arrays, prefix: str, source: str) -> Self:
        """Make an encoder from files."""
        if not isinstance(settings, dict) or settings.keys() != {"kind", "parts"}:
            _fail(source, "a union of encoders must have the keys kind and parts")
        entries = settings["parts"]
        if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_PARTS:
            _fail(source, f"a union must have 1 to {MAX_PARTS} encoders")
        parts, weights = {}, {}
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict) or entry.keys() != {"name", "weight", "encoder"}:
                _fail(source, "a part of a union must have the keys name, weight and encoder")
            name, own = entry["name"], entry["encoder"]
            if not isinstance(name, str) or name in parts:
                _fail(source, "the parts of a union must have different names")
            if isinstance(own, dict) and own.get("kind") == cls.KIND:
                _fail(source, "a part of a union must not be a union")
            parts[name] = encoder_from_files(own, arrays, f"{prefix}part{number}.", source)
            weights[name] = entry["weight"]
        encoder = cls.__new__(cls)
        try:
            encoder._set(parts, weights)
        except InputError as error:
            _fail(source, f"the encoder's settings are damaged: {error}")
        return encoder

    def verify(self) -> None:
        """Check all parts."""
        for part in self.parts.values():
            part.verify()


KINDS: dict[str, type[Encoder]] = {cls.KIND: cls for cls in (TextEncoder, ItemEncoder, ColumnEncoder, UnionEncoder)}


def encoder_from_files(settings: Any, arrays: Arrays, prefix: str, source: str) -> Encoder:
    """Make an encoder of any kind from what `Encoder.to_files` returned; raise `FileFormatError` if it is damaged.

    Sizes and types of the arrays are checked here; names when they are first used, or by `Encoder.verify`.
    """
    kind = settings.get("kind") if isinstance(settings, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        message = f"{source}: the encoder must be of one of the kinds {', '.join(KINDS)}, got {str(kind)[:40]!r}"
        raise FileFormatError(message)
    return KINDS[kind].from_files(settings, arrays, prefix, source)
