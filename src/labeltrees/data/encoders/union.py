"""UnionEncoder: several encoders side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._validation import check_number, refuse
from labeltrees.data.encoders.base import Arrays, Encoder
from labeltrees.errors import FileFormatError, InputError

_NAME = re.compile(r"\w[\w -]{0,63}")
MAX_PARTS = 16


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
    >>> history = lt.ItemEncoder(["milk", "bread"], weighting="count")
    >>> tags = lt.ColumnEncoder(["new", "sale"])
    >>> encoder = lt.UnionEncoder({"history": history, "tags": tags}, weights={"tags": 0.5})
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
        from labeltrees.data.encoders.files import encoder_from_files  # it knows all kinds, this one too

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


def _fail(source: str, fault: str) -> NoReturn:
    message = f"{source}: {fault}"
    raise FileFormatError(message)
