"""A fitted TfidfVectorizer as JSON values and arrays, for the folder of a model."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from labeltrees._names import decode_names
from labeltrees._settings import LARGEST_INT32, checks_of
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.tfidf_parameters import MAX_PARTS, PART_NAMES, TfidfParameters, union_parts
from labeltrees.data.tfidf_state import LABEL_WORDS, TfidfSettings, TfidfState, UnionState
from labeltrees.errors import FileFormatError, InputError

GIVEN = "given"  # placeholder for a list that is saved as arrays
INPUT, CONTENT = "input", "content"  # a parameter of earlier releases, and its only supported value
ON_TOKENS = "on_tokens"  # whether the vectorizer was fitted on lists of tokens
_FUNCTIONS = ("analyzer", "preprocessor", "tokenizer")
# Values for files of earlier releases, which do not have these parameters.
_BEFORE = {"nfc": False, "preprocessor": None, "tokenizer": None, "stem": None, "union": None, ON_TOKENS: False}

Arrays = dict[str, NDArray[Any]]


def tfidf_to_files(vectorizer: TfidfVectorizer, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Return a fitted vectorizer as JSON values and arrays, whose names start with `prefix`."""
    state = vectorizer.get_state()
    whole = vectorizer.get_params(deep=False)
    settings: dict[str, Any] = {ON_TOKENS: bool(state.on_tokens)}
    if state.part_names is None:
        return {**settings, **_to_json(whole, state.parts[0])}, state.arrays(prefix)
    whole |= {"union": None, "vocabulary": None}
    settings |= _to_json(whole, state.parts[0])
    if settings["stop_words"] == GIVEN:
        settings["stop_words"] = None  # each part has its own, so that a loaded vectorizer is saved with the same bytes
    # The common parameters are those of any part; the others are overridden by each part.
    parts = []
    for number, (name, weight) in enumerate(zip(state.part_names, state.weights, strict=True)):
        values = _to_json(vars(state.part_parameters[number]), state.parts[number])
        parts.append({"name": name, "weight": weight} | {key: values[key] for key in PART_NAMES})
    return {**settings, "union": parts}, state.arrays(prefix)


def _to_json(values: dict[str, Any], state: TfidfState) -> dict[str, Any]:
    """Return parameters as JSON values; fitted ones come from the state, even if they were changed later."""
    settings = {**values, **{name: getattr(state.settings, name) for name in TfidfSettings.__dataclass_fields__}}
    if not isinstance(settings["stop_words"], str | None):
        settings["stop_words"] = GIVEN
    if settings["vocabulary"] is not None:
        settings["vocabulary"] = GIVEN
    for name in _FUNCTIONS:
        if callable(settings[name]):
            message = (
                f"the model cannot be saved: the {name} of its vectorizer is a function. Pickle the model, or fit it "
                "on X = vectorizer.transform(texts) and keep the vectorizer yourself"
            )
            raise InputError(message)
    settings["dtype"] = np.dtype(settings["dtype"]).name
    return {INPUT: CONTENT} | {name: _json_value(value) for name, value in settings.items()}


def tfidf_from_files(settings: Any, arrays: Arrays, prefix: str, source: str) -> TfidfVectorizer:
    """Make a fitted vectorizer from saved values; faults raise `FileFormatError`, which names `source`.

    The terms themselves are checked with the first text, or by `verify_tfidf`.
    """
    return _Reader(arrays, source).read(settings, prefix)


class _Reader:
    def __init__(self, arrays: Arrays, source: str) -> None:
        self.arrays, self.source = arrays, source

    def read(self, settings: Any, prefix: str) -> TfidfVectorizer:
        names = checks_of(TfidfParameters).keys() | {ON_TOKENS, INPUT}
        if not isinstance(settings, dict) or not names - _BEFORE.keys() <= settings.keys() <= names:
            self.fail(f"the vectorizer's settings must have the keys {sorted(names)}")
        settings = _BEFORE | settings
        on_tokens, union = settings.pop(ON_TOKENS), settings["union"]
        if settings.pop(INPUT) != CONTENT:
            self.fail(
                "its vectorizer reads files (input='file' or 'filename'), which is no longer supported. Fit the model "
                "again on the texts themselves"
            )
        if not isinstance(on_tokens, bool):
            self.fail(f"{ON_TOKENS} must be true or false")
        if union is None:
            parameters, state = self.read_part(settings, prefix)
            return self.make(parameters, UnionState([state], [1.0], on_tokens=on_tokens))
        if not isinstance(union, list) or not 1 <= len(union) <= MAX_PARTS:
            self.fail(f"the vectorizer's union must have 1 to {MAX_PARTS} parts")
        parameters = self.parameters({**settings, "union": None, "vocabulary": None})
        if parameters["stop_words"] == GIVEN:
            parameters["stop_words"] = None  # in files of earlier releases; the parts have them
        specifications, states = [], []
        for number, part in enumerate(union):
            if not isinstance(part, dict) or part.keys() != {"name", "weight", *PART_NAMES}:
                self.fail("the parts of the vectorizer's union must have a name, a weight and all parameters")
            own = {**settings, "union": None, **{name: part[name] for name in PART_NAMES}}
            values, state = self.read_part(own, f"{prefix}part{number}.")
            different = {name: values[name] for name in PART_NAMES if values[name] != parameters[name]}
            specifications.append({"name": part["name"], "weight": part["weight"], **different})
            states.append(state)
        parameters["union"] = specifications
        try:
            parts = union_parts(TfidfParameters(**parameters))
        except InputError as error:
            self.fail(f"the vectorizer's settings are damaged: {error}")
        # These words come from texts of labels: a vectorizer with the same parameters does not learn them again.
        parameters["union"] = [own for own in specifications if own["name"] != LABEL_WORDS]
        return self.make(parameters, UnionState.of(parts, states, on_tokens))

    def make(self, parameters: dict[str, Any], state: UnionState) -> TfidfVectorizer:
        if state.n_features > LARGEST_INT32:
            self.fail(f"a vectorizer of {state.n_features} features")
        vectorizer = TfidfVectorizer(**parameters)
        vectorizer.set_state(state)
        return vectorizer

    def parameters(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of the estimator; lists that are saved as arrays are still `GIVEN`."""
        parameters = {**settings, "dtype": self.dtype(settings["dtype"])}
        if isinstance(settings["ngram_range"], list):
            parameters["ngram_range"] = tuple(settings["ngram_range"])
        if settings["stop_words"] not in (None, "english", GIVEN) or settings["vocabulary"] not in (None, GIVEN):
            self.fail("the vectorizer's settings are damaged: its stop words or its vocabulary")
        for name in _FUNCTIONS:
            if isinstance(settings[name], dict):
                function = str(settings[name].get("function"))[:100]
                self.fail(
                    f"the {name} of its vectorizer is the function {function!r}; models with functions are no longer "
                    "loaded, because a function can run any code. Fit the model again, on "
                    "X = vectorizer.transform(texts) with a vectorizer that you keep yourself"
                )
        return parameters

    def read_part(self, settings: dict[str, Any], prefix: str) -> tuple[dict[str, Any], TfidfState]:
        """Return the parameters of one kind of terms, and its state."""
        parameters = self.parameters(settings)
        given_words, given_vocabulary = settings["stop_words"] == GIVEN, settings["vocabulary"] == GIVEN
        try:
            saved = TfidfParameters(**parameters)
            saved.stop_words = None if given_words else saved.stop_words
            saved.vocabulary = None
            saved.check_parameters()
            fitted = TfidfSettings.of(saved)
        except InputError as error:
            self.fail(f"the vectorizer's settings are damaged: {error}")
        state = TfidfState.from_arrays(fitted, self.arrays, prefix, parameters["hashing"], self.source)
        if (state.idf is not None) != parameters["use_idf"]:
            self.fail("the vectorizer must have an idf exactly if use_idf is true")
        if given_words:
            parameters["stop_words"] = decode_names(state.stop_words[0], state.stop_words[1], self.source)
        if given_vocabulary:
            parameters["vocabulary"] = state.names()
        return parameters, state

    def dtype(self, name: Any) -> Any:
        if name not in ("float32", "float64"):
            self.fail("the vectorizer's dtype must be float32 or float64")
        return np.float32 if name == "float32" else np.float64

    def fail(self, fault: str) -> NoReturn:
        _fail(self.source, fault)


def verify_tfidf(vectorizer: TfidfVectorizer) -> None:
    """Check everything that is otherwise checked with the first text."""
    state = vectorizer.get_state()
    state.native.check()
    for part in state.parts:
        names = part.names()
        if len(set(names)) < len(names):
            _fail(part.source, "a term of the vectorizer occurs twice")


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return value.item() if isinstance(value, np.generic) else value


def _fail(source: str, fault: str) -> NoReturn:
    message = f"{source}: {fault}"
    raise FileFormatError(message)
