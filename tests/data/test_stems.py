"""Stems: native code asks Snowball once for each word, and gives what text by text in Python gives."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt

Stemmer = pytest.importorskip("Stemmer", reason="the extra labeltrees[stem] is not installed")
LANGUAGES = ("english", "finnish", "german")


def by_python(language, stop_words=()):
    """The same vectorizer with a tokenizer of Python: words, without stop words, stemmed one by one."""
    words = lt.TfidfVectorizer(stop_words=list(stop_words) or None).build_analyzer()
    stem = Stemmer.Stemmer(language).stemWord
    return lambda text: [stem(word) for word in words(text)]


@given(st.lists(st.text(st.sampled_from("aábcdeingsy ÄÖßrun'-1")), min_size=1), st.sampled_from(LANGUAGES))
def test_stems_are_those_of_snowball(texts, language):
    texts = [*texts, "running runs", "the cats"]
    stop_words = ["the", "in"]
    vectorizer = lt.TfidfVectorizer(stem=language, stop_words=stop_words, ngram_range=(1, 2))
    expected = lt.TfidfVectorizer(analyzer=by_python(language, stop_words))
    single = lt.TfidfVectorizer(stem=language, stop_words=stop_words)
    assert np.array_equal(single.fit_transform(texts).toarray(), expected.fit_transform(texts).toarray())
    assert single.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    analyze, words = vectorizer.build_analyzer(), by_python(language, stop_words)
    for text in texts:
        own = words(text)
        assert list(analyze(text)) == [*own, *map(" ".join, pairwise(own))]


def test_words_are_stemmed_once(monkeypatch):
    asked = []

    class Counting:
        def __init__(self, language, max_cache_size=10_000):
            self._own = Stemmer.Stemmer(language)

        def stemWords(self, words):
            asked.extend(words)
            return self._own.stemWords(words)

    counted = type("Module", (), {"Stemmer": Counting, "algorithms": Stemmer.algorithms})
    monkeypatch.setitem(__import__("sys").modules, "Stemmer", counted)
    vectorizer = lt.TfidfVectorizer(stem="english").fit(["running cats", "cats and dogs running"] * 20)
    n_words = len(asked)
    vectorizer.transform(["running dogs"] * 20)
    vectorizer.transform(["cats and dogs"] * 20)
    assert n_words == 4
    assert len(asked) == n_words  # the fitted vectorizer keeps the stems of the training texts


def test_threads_may_share_a_stemmer():
    texts = [f"running cats number{i} jumping{i % 7}" for i in range(400)]
    vectorizer = lt.TfidfVectorizer(stem="english").fit(texts)
    expected = vectorizer.transform(texts).toarray()
    fresh = lt.TfidfVectorizer(stem="english").fit(texts)
    found = [None] * 8
    threads = [
        threading.Thread(target=lambda place=place: found.__setitem__(place, fresh.transform(texts).toarray()))
        for place in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(own, expected) for own in found)
