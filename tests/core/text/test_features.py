"""Words, hashes and features of the text model against plain twins."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.text.fasttext import used_buckets
from labeltrees.models.text.searcher import TextSearcher
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words, train_vectors


def fnv(word):
    state = 2166136261
    for byte in word:
        signed = byte - 256 if byte > 127 else byte
        state = ((state ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return state


def signed32(value):
    return value - 2**32 if value >= 2**31 else value


def words_of(text):
    """Return the words that fastText reads from a line, including its end."""
    words, word = [], b""
    for byte in text + b"\n":
        if bytes([byte]) in b" \n\r\t\v\f\0":
            if word:
                words.append(word)
            if word == b"</s>":
                return words
            word = b""
        else:
            word += bytes([byte])
    return [*words, b"</s>"]


def features_twin(text, vocabulary, word_ngrams, buckets):
    words = [word for word in words_of(text) if not word.startswith(b"__label__")]
    features = [vocabulary[word] for word in words if word in vocabulary]
    hashes = [signed32(fnv(word)) for word in words]
    for i in range(len(hashes)):
        state = hashes[i] % 2**64
        for j in range(i + 1, min(i + word_ngrams, len(hashes))):
            state = (state * 116049371 + hashes[j]) % 2**64
            features.append(len(vocabulary) + state % buckets)
    return sorted(features)


@given(st.binary(max_size=30))
def test_a_words_hash_is_fnv_over_signed_bytes(word):
    slots = _core.word_slots(np.frombuffer(word, np.uint8), np.array([0, len(word)]))
    assert [slot & 0xFFFFFFFF for slot in slots.tolist() if slot >= 0] == [fnv(word)]


PIECES = st.sampled_from(
    [b" ", b"\n", b"\t", b"\0", b"\r", b"a", b"bc", b"\xc3\xa9", b"\xff", b"</s>", b"__label__", b"red"]
)


@given(st.lists(st.lists(PIECES, max_size=25).map(b"".join), min_size=1, max_size=6), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_features_of_any_bytes_equal_the_twins(texts, word_ngrams):
    buckets = 13
    corpus = count_words(tuple(texts), "", TextSettings(min_count=1, word_ngrams=word_ngrams, buckets=buckets))
    text, ends = corpus.text.tobytes(), corpus.ends
    vocabulary = {text[ends[i] : ends[i + 1]]: i for i in range(corpus.n_words)}
    assert set(vocabulary) == {w for t in texts for w in words_of(t) if not w.startswith(b"__label__")}
    tree = lt.LabelTree([0, 1], [~0], 1)
    store = train_vectors(corpus, TextSettings(dim=1, epochs=0, word_ngrams=word_ngrams, buckets=buckets), tree)
    row_of = {int(bucket): corpus.n_words + i for i, bucket in enumerate(used_buckets(store))}
    searcher = TextSearcher(store)
    for query in [*texts, b"a bc unseen", b""]:
        rows, n = searcher.features(query)
        twin = features_twin(query, vocabulary, word_ngrams, buckets)
        assert n == len(twin)
        here = [f if f < corpus.n_words else row_of.get(f - corpus.n_words, -1) for f in twin]
        assert sorted(rows.tolist()) == sorted(row for row in here if row >= 0)


def test_labels_in_a_text_are_not_features(tmp_path):
    labels = ["__label__a", "__label__b", "__label__c"]
    (tmp_path / "train.txt").write_text("".join(f"{label} red wine\n" for label in labels))
    model = lt.TextLabelTreeClassifier(dim=2, epochs=1, min_count=1, buckets=20).fit_file(tmp_path / "train.txt")
    rows, n = model.searcher_.features("red wine")
    assert n == 3 + 2  # with the line's end, and two pairs
    for label in [*labels, "__label__unknown"]:
        for text in (f"{label} red wine", f"red {label} wine"):
            found, n_found = model.searcher_.features(text)
            assert (found.tolist(), n_found) == (rows.tolist(), n)


def test_words_have_subwords_and_the_end_of_a_line_has_none():
    texts, labels = ["red", "wine"], [["a"], ["b"]]
    settings = {"dim": 2, "epochs": 1, "min_count": 1, "buckets": 1000, "word_ngrams": 1}
    for min_n, max_n, expected in [(3, 3, 3), (3, 4, 3 + 2), (5, 6, 1)]:  # of <red>
        model = lt.TextLabelTreeClassifier(min_n=min_n, max_n=max_n, **settings).fit(texts, labels)
        rows, n = model.searcher_.features("red")
        assert n == len(rows) == 2 + expected  # with the word and the line's end
