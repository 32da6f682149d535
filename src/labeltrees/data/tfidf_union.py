"""Several kinds of terms side by side: the parts of a TfidfVectorizer with `union`, and its fitted state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltrees import _core
from labeltrees._validation import check_number, refuse
from labeltrees.data.tfidf_parameters import TfidfParameters
from labeltrees.data.tfidf_state import TfidfState

# Parameters that belong to the texts or to the rows, not to one kind of terms.
COMMON = ("input", "encoding", "decode_error", "nfc", "dtype", "union", "n_jobs")
PART_NAMES = tuple(item.name for item in fields(TfidfParameters) if item.name not in COMMON)
# Parameters for words, which a part with other terms does not inherit.
_FOR_WORDS = ("stop_words", "token_pattern", "tokenizer", "stem")


@dataclass(frozen=True)
class UnionPart:
    """One kind of terms: its name, the factor of its values, and its parameters."""

    name: str
    weight: float
    parameters: TfidfParameters


def union_parts(parameters: TfidfParameters) -> list[UnionPart]:
    """Return the parts of a vectorizer, checked: one without `union`, else one per specification.

    A specification has the parameters that differ from those of the vectorizer, and optionally `weight` and `name`.
    """
    parameters.check_parameters()
    whole = {item.name: getattr(parameters, item.name) for item in fields(TfidfParameters)}
    if parameters.union is None:
        return [UnionPart("", 1.0, TfidfParameters(**whole))]
    if parameters.vocabulary is not None:
        refuse("vocabulary", "None with union; give it in a specification", parameters.vocabulary)
    return [_make_part(whole, dict(given), number) for number, given in enumerate(_named(parameters.union))]


def _make_part(whole: dict[str, Any], given: dict[str, Any], number: int) -> UnionPart:
    name, weight = given.pop("name"), given.pop("weight", 1.0)
    check_number(f"union[{number}]['weight']", weight, 0, low_open=True)
    for key in given:
        if key not in PART_NAMES:
            refuse(f"union[{number}]", f"with keys among name, weight, {', '.join(PART_NAMES)}", key)
    inherited = {**whole, "union": None}
    if given.get("analyzer", whole["analyzer"]) != "word":
        defaults = {item.name: item.default for item in fields(TfidfParameters)}
        inherited |= {key: defaults[key] for key in _FOR_WORDS}
    made = TfidfParameters(**{**inherited, **given})
    made.check_parameters()
    return UnionPart(name, float(weight), made)


def _named(union: Any) -> list[Mapping[str, Any]]:
    """Return specifications that all have a name: the analyzer, with a number from the second of the same name on."""
    taken: set[str] = set()
    named: list[Mapping[str, Any]] = []
    for number, part in enumerate(union):
        name = part.get("name")
        if name is None:
            kind = part.get("analyzer", "word")
            kind = kind if isinstance(kind, str) else "function"
            name, count = kind, 1
            while name in taken:
                count += 1
                name = f"{kind}{count}"
        if not isinstance(name, str) or not name or name in taken:
            refuse(f"union[{number}]['name']", "a string that no other part has", name)
        taken.add(name)
        named.append({**part, "name": name})
    return named


@dataclass(eq=False)
class UnionState:
    """The state of a fitted vectorizer: one `TfidfState` per part.

    Parameters
    ----------
    parts : list of TfidfState
    weights : list of float
    part_names : list of str, or None
        None for a vectorizer without `union`.
    part_parameters : list of TfidfParameters
        Of the parts when they were fitted; empty for a vectorizer without `union`.
    on_tokens : bool
        Whether it was fitted on lists of tokens; a model then takes such lists too.
    """

    parts: list[TfidfState]
    weights: list[float]
    part_names: list[str] | None = None
    part_parameters: list[TfidfParameters] = field(default_factory=list)
    on_tokens: bool = False

    @classmethod
    def of(cls, parts: list[UnionPart], states: list[TfidfState], on_tokens: bool = False) -> UnionState:
        """Return the state of fitted parts."""
        if len(parts) == 1 and parts[0].name == "":
            return cls(states, [1.0], on_tokens=on_tokens)
        names, parameters = [part.name for part in parts], [part.parameters for part in parts]
        return cls(states, [part.weight for part in parts], names, parameters, on_tokens)

    @cached_property
    def native(self) -> _core.TextUnion:
        """The native code that makes rows. Vocabularies from a file are checked with the first text."""
        return _core.TextUnion([part.native for part in self.parts], self.weights)

    @property
    def n_features(self) -> int:
        """The number of features of all parts."""
        return sum(part.n_features for part in self.parts)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return np.dtype(self.parts[0].settings.dtype)

    @property
    def has_names(self) -> bool:
        """Whether all terms are known: no part hashes them."""
        return all(part.terms is not None for part in self.parts)

    def names(self) -> list[str]:
        """Return the terms; with `union` each after the name of its part, as scikit-learn's FeatureUnion has it."""
        if self.part_names is None:
            return self.parts[0].names()
        named = zip(self.part_names, self.parts, strict=True)
        return [f"{name}__{term}" for name, part in named for term in part.names()]

    @property
    def idf(self) -> NDArray[Any] | None:
        """The inverse document frequencies of all parts, or None if a part has none."""
        found = [part.idf for part in self.parts if part.idf is not None]
        if len(found) < len(self.parts):
            return None
        return found[0] if len(found) == 1 else np.concatenate(found)

    def prefixes(self, prefix: str) -> list[str]:
        """Return the prefix of the arrays of each part, for files."""
        if self.part_names is None:
            return [prefix]
        return [f"{prefix}part{number}." for number in range(len(self.parts))]

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, by name."""
        named: dict[str, NDArray[Any]] = {}
        for start, part in zip(self.prefixes(prefix), self.parts, strict=True):
            named |= part.arrays(start)
        return named

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}
