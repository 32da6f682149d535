"""The steps of a vectorizer that run in Python: functions of the user, other token patterns, stems."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from labeltrees._names import decode_names
from labeltrees._validation import refuse
from labeltrees.data.tfidf_parameters import TOKEN_PATTERN
from labeltrees.errors import MissingExtraError

if TYPE_CHECKING:
    from labeltrees.data.tfidf_state import TfidfSettings

Tokens = list[str]


def prepares_any(settings: TfidfSettings) -> bool:
    """Return whether the user's function comes first, which takes what the user has, not only strings."""
    return callable(settings.analyzer) or settings.preprocessor is not None


def needs_python(settings: TfidfSettings) -> bool:
    """Return whether some step runs in Python."""
    if callable(settings.analyzer) or settings.preprocessor is not None:
        return True
    return settings.analyzer == "word" and (
        settings.tokenizer is not None or settings.token_pattern != TOKEN_PATTERN or settings.stem is not None
    )


def make_prepare(settings: TfidfSettings, stop_words: tuple[Any, Any]) -> Callable[[Any], Any] | None:
    """Return the function from a text to its tokens (a list), or to another text (str); None if none is needed.

    Stop words, in the form of `encode_names`, are left out here only if words are stemmed, because the list of stop
    words has whole words.
    """
    if not needs_python(settings):
        return None
    if callable(settings.analyzer):
        return _as_list(settings.analyzer)
    if settings.analyzer != "word":
        return _as_text(settings.preprocessor)
    tokenize = _tokenizer(settings)
    if settings.stem is None:
        return tokenize
    left_out = frozenset(decode_names(*stop_words))
    stem_words = make_stemmer(settings.stem)

    def stems(text: Any) -> Tokens:
        found: Tokens = stem_words([token for token in tokenize(text) if token not in left_out])
        return found

    return stems


def _as_list(analyze: Callable[[Any], Any]) -> Callable[[Any], Tokens]:
    return lambda text: list(analyze(text))


def _as_text(preprocess: Any) -> Callable[[Any], str]:
    def text_of(text: Any) -> str:
        processed = preprocess(text)
        if not isinstance(processed, str):
            refuse("preprocessor", "a function that returns a string", processed)
        return processed

    return text_of


def _tokenizer(settings: TfidfSettings) -> Callable[[Any], Tokens]:
    """Return the function from a text to its words."""
    preprocess = settings.preprocessor
    if settings.tokenizer is None and settings.token_pattern == TOKEN_PATTERN:
        words = settings.native_words(folds=preprocess is None).terms
        return words if preprocess is None else lambda text: words(preprocess(text))
    if preprocess is None:
        preprocess = settings.native_words(folds=True).preprocess
    split = settings.tokenizer
    if split is None:
        split = re.compile(str(settings.token_pattern)).findall
    return lambda text: list(split(preprocess(text)))


def make_stemmer(language: str) -> Callable[[Sequence[str]], Tokens]:
    """Return Snowball's function from words to their stems; `MissingExtraError` without the extra `stem`."""
    try:
        import Stemmer  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        message = f"stem={language!r} needs PyStemmer: pip install labeltrees[stem]"
        raise MissingExtraError(message) from error
    try:
        return Stemmer.Stemmer(language).stemWords  # type: ignore[no-any-return]
    except KeyError:
        refuse("stem", f"one of {', '.join(Stemmer.algorithms())}", language)
