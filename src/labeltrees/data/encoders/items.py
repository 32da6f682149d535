"""ItemEncoder and ColumnEncoder: names in a list, looked up in a vocabulary."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._names import decode_names, encode_names
from labeltrees._validation import check_choice, refuse
from labeltrees.data.checks import check_texts
from labeltrees.data.encoders.base import Arrays, Encoder
from labeltrees.errors import FileFormatError, InputError

WEIGHTINGS = ("log", "count", "binary")
NORMS = ("none", "l1", "l2")
_LARGEST = 2**31 - 1

Pair = tuple[Any, Any]  # the arrays of `encode_names`


class ItemEncoder(Encoder):
    """A list of items, such as a customer's history or a basket, as a row with one feature per item.

    A context is a list of items, a list of (item, count) pairs, or a dict from items to counts. An item is its name or
    its id (str or int); an item that occurs twice counts twice.

    Parameters
    ----------
    names : n_features str
        The name of the item of each feature, all different.
    ids : n_features str or int, optional
        Other names by which the items are known, such as the ids of a log. A name comes before an id.
    weighting : {"log", "count", "binary"}
        The value of an item with count c: log(1 + c), as in histories made by `prepare_logs`; c; or 1.
    norm : {"none", "l1", "l2"}
        The norm that is 1 in every row. A model with ``normalize=True`` scales rows itself.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.ItemEncoder(["milk", "bread", "eggs"], ids=[17, 4, 9], weighting="count")
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
            _fail(source, "the encoder's ids are not as many as its names")
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
        As for `ItemEncoder`.

    Examples
    --------
    >>> import labeltrees as lt
    >>> encoder = lt.ColumnEncoder(["red", "wool", "xl"], separator=";")
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
