"""The parameters of TfidfVectorizer with their checks, and the kinds of terms of a union."""

from __future__ import annotations

import numbers
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from labeltrees._settings import check_settings, flag, integer, optional, setting
from labeltrees._validation import check_choice, check_integer, check_n_jobs, check_number, refuse
from labeltrees.errors import InputError

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
ANALYZERS = ("word", "char", "char_wb")
MAX_PARTS = 16
_MAX_NGRAM = 10_000
_COUNT = optional(integer(1))
# Parameters that belong to the texts or to the rows, not to one kind of terms.
COMMON = ("encoding", "decode_error", "nfc", "dtype", "union", "n_jobs")
# Parameters for words, which a part with other terms does not inherit.
_FOR_WORDS = ("stop_words", "token_pattern", "tokenizer", "stem")


def _choice(default: str | None, choices: tuple[str, ...], help: str, *, may_be_none: bool = False) -> Any:
    def check(name: str, value: Any) -> None:
        if callable(value):
            refuse(name, f"one of {list(choices)} (for a function of your own use preprocessor)", value)
        if value is not None or not may_be_none:
            check_choice(name, value, list(choices))

    return setting(default, check, help, choices=choices)


def _encoding(name: str, value: Any) -> None:
    if not isinstance(value, str):
        refuse(name, "a string", value)
    try:
        "".encode(value)
    except LookupError:
        refuse(name, "an encoding that Python knows", value)


def _frequency(name: str, value: Any) -> None:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        check_integer(name, value, 1)
    else:
        check_number(name, value, 0, 1)


def _token_pattern(name: str, value: Any) -> None:
    if value is None or value == TOKEN_PATTERN:
        return
    try:
        groups = re.compile(value).groups
    except (TypeError, re.error) as error:
        refuse(name, f"a regular expression ({error})", value)
    if groups > 1:
        message = "More than 1 capturing group in token pattern. Only a single group should be captured."
        raise InputError(message)


def _analyzer(name: str, value: Any) -> None:
    if not callable(value):
        check_choice(name, value, list(ANALYZERS))


def _function(name: str, value: Any) -> None:
    if value is not None and not callable(value):
        refuse(name, "None or a function", value)


def _stem(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        refuse(name, "None or the name of a language, such as 'german'", value)


def _union(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_PARTS:
        refuse(name, f"None or a list of 1 to {MAX_PARTS} dicts of parameters", value)
    for number, part in enumerate(value):
        if not isinstance(part, Mapping) or not all(isinstance(key, str) for key in part):
            refuse(f"{name}[{number}]", "a dict of parameters, such as dict(analyzer='char_wb')", part)


def _ngram_range(name: str, value: Any) -> None:
    allowed = f"a pair (low, high) with 1 <= low <= high <= {_MAX_NGRAM}"
    is_pair = isinstance(value, tuple | list) and len(value) == 2
    if not is_pair or not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in value):
        refuse(name, allowed, value)
    if not 1 <= value[0] <= value[1] <= _MAX_NGRAM:
        refuse(name, allowed, value)


def _stop_words(name: str, value: Any) -> None:
    if value is None or (isinstance(value, str) and value == "english"):
        return
    if isinstance(value, str) or not isinstance(value, Iterable):
        refuse(name, "None, 'english' or a list of words", value)
    for word in value:
        if not isinstance(word, str):
            refuse(name, "a list of strings", word)


def _dtype(name: str, value: Any) -> None:
    try:
        is_float = value is not None and np.dtype(value) in (np.float32, np.float64)
    except TypeError:
        is_float = False
    if not is_float:
        refuse(name, "float32 or float64", value)


def _vocabulary(name: str, value: Any) -> None:
    if value is not None and (isinstance(value, str | bytes) or not isinstance(value, Iterable)):
        refuse(name, "None, a mapping from terms to numbers, or an iterable of terms", value)


@dataclass(eq=False, kw_only=True)
class TfidfParameters:
    """How texts become features; `TfidfVectorizer` explains each parameter."""

    encoding: str = setting("utf-8", _encoding, "Encoding of texts that are bytes.")
    decode_error: str = _choice(
        "strict", ("strict", "ignore", "replace"), "What to do with bytes that cannot be decoded."
    )
    strip_accents: str | None = _choice(
        None, ("unicode", "ascii"), "Remove accents from letters. [default: keep them]", may_be_none=True
    )
    nfc: bool = setting(True, flag, "Normalise texts to Unicode's NFC first.")
    lowercase: bool = setting(True, flag, "Convert texts to lower case.")
    preprocessor: Any = setting(
        None, _function, "A function from a text to a text, instead of lower case and stripped accents."
    )
    tokenizer: Any = setting(None, _function, "A function from a text to the list of its words.")
    analyzer: Any = setting(
        "word", _analyzer, "Terms are words, characters, or characters within words.", choices=ANALYZERS
    )
    stem: str | None = setting(
        None, _stem, "Replace words by their stems in this language, such as german. [default: keep words]"
    )
    stop_words: Any = setting(
        None, _stop_words, "Leave out the stop words of this language. [default: none]", choices=("english",)
    )
    token_pattern: str | None = setting(TOKEN_PATTERN, _token_pattern, "Pattern of words.")
    ngram_range: tuple[int, int] = setting(
        (1, 1), _ngram_range, "Minimum and maximum number of words (or characters) per term.", metavar="LOW HIGH"
    )
    max_df: int | float = setting(1.0, _frequency, "Leave out terms that occur in more texts.", metavar="N|SHARE")
    min_df: int | float = setting(1, _frequency, "Leave out terms that occur in fewer texts.", metavar="N|SHARE")
    max_features: int | None = setting(None, _COUNT, "Keep this many terms, the most frequent ones. [default: all]")
    vocabulary: Any = setting(None, _vocabulary, "The terms to use.")
    binary: bool = setting(False, flag, "Count each term once per text.")
    dtype: Any = setting(np.float64, _dtype, "float32 or float64.")
    norm: str | None = _choice("l2", ("l1", "l2"), "Scale rows so that this norm is 1.", may_be_none=True)
    use_idf: bool = setting(True, flag, "Give rare terms a higher weight.")
    smooth_idf: bool = setting(True, flag, "Count terms as if one more text had all of them.")
    sublinear_tf: bool = setting(False, flag, "Use 1 + log(count) instead of counts.")
    hashing: int | None = setting(None, _COUNT, "Hash terms into this many features instead of learning a vocabulary.")
    union: Any = setting(None, _union, "Several kinds of terms side by side: dicts of the parameters that differ.")
    n_jobs: int | None = setting(None, lambda name, value: check_n_jobs(value), "Number of threads; -1 for all cores.")

    def check_parameters(self) -> None:
        """Refuse the first parameter that is not allowed, and parameters that contradict each other."""
        check_settings(self)
        if self.hashing is not None:
            for name, default in (("vocabulary", None), ("max_features", None), ("min_df", 1), ("max_df", 1.0)):
                if getattr(self, name) is not default and getattr(self, name) != default:
                    refuse(name, f"{default} with hashing, which has no vocabulary", getattr(self, name))
        if self.analyzer == "word" and self.tokenizer is None and self.token_pattern is None:
            refuse("token_pattern", "a regular expression unless a tokenizer is given", None)
        _warn_about_unused(self)


def _warn_about_unused(parameters: TfidfParameters) -> None:
    """Warn about parameters that have no effect, in scikit-learn's words."""
    has_pattern = parameters.token_pattern not in (None, TOKEN_PATTERN)
    unused = []
    if parameters.tokenizer is not None and has_pattern:
        unused.append(("token_pattern", "'tokenizer' is not None"))
    if callable(parameters.analyzer):
        unused += [("preprocessor", "'analyzer' is callable")] * (parameters.preprocessor is not None)
        unused += [("ngram_range", "'analyzer' is callable")] * (tuple(parameters.ngram_range) != (1, 1))
    if parameters.analyzer != "word":
        present = {
            "stop_words": parameters.stop_words is not None,
            "token_pattern": has_pattern,
            "tokenizer": parameters.tokenizer is not None,
            "stem": parameters.stem is not None,
        }
        unused += [(name, "'analyzer' != 'word'") for name, given in present.items() if given]
    for name, reason in unused:
        warnings.warn(f"The parameter '{name}' will not be used since {reason}", UserWarning, stacklevel=5)


def effective_stop_words(stop_words: Any, analyzer: Any) -> list[str]:
    """Return the words to leave out, sorted."""
    if stop_words is None or analyzer != "word":
        return []
    if isinstance(stop_words, str):
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # importing it takes a second

        stop_words = ENGLISH_STOP_WORDS
    return sorted(set(stop_words))


def given_terms(vocabulary: Any) -> list[str]:
    """Return the terms of a given vocabulary, in the order of their features."""
    if isinstance(vocabulary, Mapping):
        terms = _by_number(vocabulary)
    else:
        terms = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not terms:
        message = "empty vocabulary passed to fit"
        raise InputError(message)
    for term in terms:
        if not isinstance(term, str):
            refuse("vocabulary", "terms that are strings", term)
    if len(set(terms)) < len(terms):
        seen: set[str] = set()
        twice = next(term for term in terms if term in seen or seen.add(term))  # type: ignore[func-returns-value]
        message = f"Duplicate term in vocabulary: {twice!r}"
        raise InputError(message)
    return terms


def _by_number(vocabulary: Mapping[Any, Any]) -> list[Any]:
    terms: list[Any] = [None] * len(vocabulary)
    taken = [False] * len(vocabulary)
    for term, number in vocabulary.items():
        if not isinstance(number, int | np.integer) or not 0 <= number < len(terms):
            message = f"vocabulary of {len(terms)} terms must number them from 0 to {len(terms) - 1}, got {number!r}"
            raise InputError(message)
        if taken[int(number)]:
            message = "Vocabulary contains repeated indices."
            raise InputError(message)
        terms[int(number)], taken[int(number)] = term, True
    return terms


PART_NAMES = tuple(item.name for item in fields(TfidfParameters) if item.name not in COMMON)


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
    """Return specifications that all have a name: by default the analyzer, numbered from the second one on."""
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
