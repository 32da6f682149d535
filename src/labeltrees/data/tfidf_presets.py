"""Named kinds of text features, for the command line, for `choose` and for `TfidfVectorizer` by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from labeltrees._validation import check_choice
from labeltrees.data.tfidf import TfidfVectorizer

_WORDS: dict[str, Any] = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
_CHARACTERS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4)}
_PAIRS: dict[str, Any] = {"ngram_range": (1, 2)}

# The parameters of each; all have sublinear tf-idf of terms that occur in at least two texts.
PRESETS: dict[str, dict[str, Any]] = {
    "words": {},
    "words+pairs": _PAIRS,
    "words+chars": {"union": [{}, _CHARACTERS]},
    "words+pairs+chars": {"union": [_PAIRS, _CHARACTERS]},
    "chars": _CHARACTERS,
}


def preset_vectorizer(name: str = "words", n_jobs: int | None = None) -> TfidfVectorizer:
    """Return the vectorizer of a preset, not fitted.

    Parameters
    ----------
    name : {"words", "words+pairs", "words+chars", "words+pairs+chars", "chars"}
        Words, pairs of words, and pieces of 3 or 4 characters within words.
    n_jobs : int, optional

    Examples
    --------
    >>> from labeltrees.data.tfidf_presets import preset_vectorizer
    >>> preset_vectorizer("words+pairs").ngram_range
    (1, 2)
    """
    check_choice("features", name, list(PRESETS))
    return TfidfVectorizer(**_WORDS, **PRESETS[name], n_jobs=n_jobs)
