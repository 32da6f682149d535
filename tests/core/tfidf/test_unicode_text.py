"""Lower case, word characters and accents of every character against the running Python."""

import re
import sys
import unicodedata

import numpy as np
import pytest

from labeltrees import _core
from labeltrees._names import encode_names

# If the tables and the running Python have different Unicode versions, only the code points of the older one are
# certain to agree.
TABLES = tuple(map(int, _core.UNICODE_VERSION.split(".")))
RUNNING = tuple(map(int, unicodedata.unidata_version.split(".")))


def analyzer(kind="word", n=1, lowercase=True, strip="none"):
    return _core.TextAnalyzer(kind, n, n, lowercase, strip, *encode_names([]), "utf-8", "strict", False, None, False)


def characters():
    """Return the characters that are assigned both in Python and in the tables."""
    known = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    if TABLES == RUNNING:
        return known
    if RUNNING < TABLES:
        return [character for character in known if unicodedata.category(character) != "Cn"]
    old = unicodedata.ucd_3_2_0  # a version both have for certain
    return [character for character in known if old.category(character) != "Cn"]


@pytest.fixture(scope="module")
def assigned():
    return characters()


def test_lower_case_of_every_character(assigned):
    lower = analyzer().preprocess
    text = "\n".join(assigned)
    assert lower(text) == text.lower()


def test_words_and_blanks_of_every_character(assigned):
    words = analyzer(lowercase=False).terms
    text = " ".join("x" + character for character in assigned)
    assert words(text) == re.findall(r"(?u)\b\w\w+\b", text)
    blanks = analyzer(kind="char_wb", n=3, lowercase=False).terms
    text = "".join("x" + character for character in assigned if character != "x")
    expected = []
    for word in text.split():
        padded = f" {word} "
        expected += [padded[i : i + 3] for i in range(max(len(padded) - 2, 1))]
    assert blanks(text) == expected


@pytest.mark.parametrize("how", ["unicode", "ascii"])
def test_accents_of_every_character(assigned, how):
    strip = analyzer(lowercase=False, strip=how).preprocess
    text = "\n".join(assigned)
    normal = unicodedata.normalize("NFKD", text)
    kept = [c for c in normal if (not unicodedata.combining(c) if how == "unicode" else c.isascii())]
    assert strip(text) == "".join(kept)


def test_final_sigma_beside_every_character(assigned):
    lower = analyzer().preprocess
    for form in ("{}Σ", "aΣ{}", "a{}Σ", "aΣ{}b"):
        text = "\n".join(form.format(character) for character in assigned if character != "\n")
        assert lower(text) == text.lower()


def test_sigmas_at_random():
    rng = np.random.default_rng(0)
    letters = np.array(list("aΣΣΣ'.\u0301\u00ad İ1\U0001d7cb"))
    for _ in range(500):
        text = "".join(rng.choice(letters, rng.integers(0, 12)))
        assert analyzer().preprocess(text) == text.lower()
