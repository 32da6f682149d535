"""A fitted TfidfVectorizer as JSON values and arrays, for the folder of a model."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labeltrees._names import decode_names
from labeltrees._settings import checks_of
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_parameters import TfidfParameters
from labeltrees.data.tfidf_state import TfidfSettings, TfidfState
from labeltrees.errors import FileFormatError, InputError

GIVEN = "given"  # replaces a list, which is saved as arrays


def tfidf_to_files(vectorizer: TfidfVectorizer, prefix: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a fitted vectorizer as JSON values and arrays, whose names start with `prefix`."""
    state = vectorizer.get_state()
    settings = vectorizer.get_params(deep=False)
    # The settings that were fitted, whatever `set_params` has changed since.
    settings |= {name: getattr(state.settings, name) for name in TfidfSettings.__dataclass_fields__}
    if not isinstance(settings["stop_words"], str | None):
        settings["stop_words"] = GIVEN
    if settings["vocabulary"] is not None:
        settings["vocabulary"] = GIVEN
    return {name: _json_value(value) for name, value in settings.items()}, state.arrays(prefix)


def tfidf_from_files(settings: Any, arrays: dict[str, NDArray[Any]], prefix: str, source: str) -> TfidfVectorizer:
    """Make a fitted vectorizer from saved values; a fault is a `FileFormatError` that names `source`.

    The terms themselves are checked with the first text, or by `verify_tfidf`.
    """
    if not isinstance(settings, dict) or settings.keys() != checks_of(TfidfParameters).keys():
        _fail(source, f"the vectorizer's settings must have the keys {sorted(checks_of(TfidfParameters))}")
    parameters = {**settings, "dtype": _dtype(settings["dtype"], source)}
    if isinstance(settings["ngram_range"], list):
        parameters["ngram_range"] = tuple(settings["ngram_range"])
    if settings["stop_words"] not in (None, "english", GIVEN) or settings["vocabulary"] not in (None, GIVEN):
        _fail(source, "the vectorizer's settings are damaged: its stop words or its vocabulary")
    given_words, given_vocabulary = settings["stop_words"] == GIVEN, settings["vocabulary"] == GIVEN
    try:
        saved = TfidfParameters(**parameters)
        saved.stop_words = None if given_words else saved.stop_words
        saved.vocabulary = None
        saved.check_parameters()
        fitted = TfidfSettings.of(saved)
    except InputError as error:
        _fail(source, f"the vectorizer's settings are damaged: {error}")
    state = TfidfState.from_arrays(fitted, arrays, prefix, parameters["hashing"], source)
    if (state.idf is not None) != parameters["use_idf"]:
        _fail(source, "the vectorizer must have an idf exactly if use_idf is true")
    if given_words:
        parameters["stop_words"] = decode_names(state.stop_words[0], state.stop_words[1], source)
    if given_vocabulary:
        parameters["vocabulary"] = state.names()
    vectorizer = TfidfVectorizer(**parameters)
    vectorizer.set_state(state)
    return vectorizer


def verify_tfidf(vectorizer: TfidfVectorizer) -> None:
    """Check everything that is otherwise checked with the first text."""
    state = vectorizer.get_state()
    state.native.check()
    names = state.names()
    if len(set(names)) < len(names):
        _fail(state.source, "a term of the vectorizer occurs twice")


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def _dtype(name: Any, source: str) -> Any:
    if name not in ("float32", "float64"):
        _fail(source, "the vectorizer's dtype must be float32 or float64")
    return np.float32 if name == "float32" else np.float64


def _fail(source: str, fault: str) -> NoReturn:
    message = f"{source}: {fault}"
    raise FileFormatError(message)
