"""Files of fastText: read as they are, and refused if they are damaged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from labeltrees.models.text.fasttext_file import FastTextArguments, fasttext_bytes, read_fasttext
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.training import count_words
from tests.models.text.fasttext_models import DATA, EXPECTED, MODELS, QUERIES, huffman_twin

TRAINED = [name for name in MODELS if name != "one_label"]


@pytest.mark.parametrize("name", TRAINED)
def test_the_vocabulary_of_a_file_is_fasttexts(name):
    options = EXPECTED["models"][name]["options"]
    settings = TextSettings(
        min_count=options["minCount"],
        word_ngrams=options["wordNgrams"],
        min_n=options.get("minn", 0),
        max_n=options.get("maxn", 0),
        buckets=options.get("bucket", 0),
    )
    corpus = count_words(None, str(DATA / "train.txt"), settings)
    theirs = read_fasttext(DATA / f"{name}.bin")
    assert corpus.text.tobytes() == theirs.words.tobytes()
    assert corpus.ends.tolist() == theirs.word_ends.tolist()
    assert corpus.counts.tolist() == theirs.counts.tolist()
    assert (corpus.n_words, corpus.n_tokens) == (theirs.n_words, theirs.n_tokens)


@pytest.mark.parametrize("name", ["bigrams", "subwords"])
def test_damaged_files_are_refused_or_answer(tmp_path, name):
    original = (DATA / f"{name}.bin").read_bytes()
    rng = np.random.default_rng(0)
    file = tmp_path / "damaged.bin"
    places = [*range(0, 100), *rng.integers(len(original), size=150).tolist()]
    outcomes = {"refused": 0, "answered": 0}
    for place in places:
        altered = bytearray(original)
        altered[place] = int(rng.choice([altered[place] ^ (1 << rng.integers(8)), 0, 127, 128, 255]))
        file.write_bytes(altered)
        try:
            model = lt.TextLabelTreeClassifier.from_fasttext(file)
            _, scores = model.predict_topk(QUERIES, 5)
            assert ((scores >= 0) & (scores <= 1)).all()
            outcomes["answered"] += 1
        except lt.errors.FileFormatError as error:
            outcomes["refused"] += "damaged.bin" in str(error)
    assert sum(outcomes.values()) == len(places)
    assert min(outcomes.values()) > 20


def test_cut_files_are_refused(tmp_path):
    original = (DATA / "bigrams.bin").read_bytes()
    file = tmp_path / "cut.bin"
    for length in [*range(0, 400, 7), len(original) // 2, len(original) - 1]:
        file.write_bytes(original[:length])
        with pytest.raises(lt.errors.FileFormatError, match=r"cut\.bin"):
            lt.TextLabelTreeClassifier.from_fasttext(file)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 1, "not a fastText model"),
        (4, 13, "version 13"),
        (8, -1, "dim is -1"),
        (8, 2**30, "dim is 1073741824"),
        (32, 3, "hierarchical softmax"),
        (36, 1, "supervised"),
        (40, 0, "no buckets"),
        (40, 2**31 - 1, "input matrix"),
        (64, 2**31 - 1, "dictionary"),
        (68, 2**31 - 1, "dictionary"),
    ],
)
def test_hostile_sizes_are_refused_by_name(tmp_path, place, value, message):
    altered = bytearray((DATA / "bigrams.bin").read_bytes())
    altered[place : place + 4] = value.to_bytes(4, "little", signed=True)
    (tmp_path / "x.bin").write_bytes(altered)
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "x.bin")


def fasttext_file(n_words=0, n_labels=2, buckets=0, **arguments):
    """The bytes of a small file."""
    words = [b"w%d" % i for i in range(n_words)] + [b"__label__%d" % i for i in range(n_labels)]
    rows = np.ones((n_words, 2), np.float32)
    bucket_rows = np.ones((1, 2), np.float32)[: buckets > 0]
    own = FastTextArguments(dim=2, buckets=buckets, **arguments)
    output = np.arange(2 * n_labels, dtype=np.float32).reshape(n_labels, 2)
    counts, used = np.arange(n_words + n_labels), np.arange(len(bucket_rows))
    return b"".join(fasttext_bytes(own, words, counts, n_words, 7, rows, bucket_rows, used, output))


@pytest.mark.parametrize(("n_words", "buckets", "word_ngrams"), [(0, 0, 1), (0, 3, 2), (2, 0, 1), (2, 3, 2)])
def test_a_written_file_is_read_also_without_words(tmp_path, n_words, buckets, word_ngrams):
    (tmp_path / "a.bin").write_bytes(fasttext_file(n_words, 2, buckets, word_ngrams=word_ngrams))
    found = read_fasttext(tmp_path / "a.bin")
    assert (found.n_words, found.n_tokens, len(found.counts)) == (n_words, 7, n_words + 2)
    assert found.input.tolist() == [[1, 1]] * (n_words + (buckets > 0)) + [[0, 0]] * max(buckets - 1, 0)
    assert found.output.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize("n_labels", [0, 1])
def test_a_file_needs_a_label(tmp_path, n_labels):
    (tmp_path / "a.bin").write_bytes(fasttext_file(2, n_labels))
    if n_labels == 1:
        assert len(read_fasttext(tmp_path / "a.bin").output) == 1
    else:
        with pytest.raises(lt.errors.FileFormatError, match="a dictionary of 2 words, 0 labels and 2 entries"):
            read_fasttext(tmp_path / "a.bin")


@pytest.mark.parametrize("entry", [b"w0", b"w1", b"__label__0", b"__label__1"])
def test_a_word_among_the_labels_or_a_label_among_the_words_is_refused(tmp_path, entry):
    content = bytearray(fasttext_file(2, 2))
    place = content.index(entry + b"\0") + len(entry) + 1 + 8  # after the name and the count
    assert content[place] == entry.startswith(b"__label__")
    content[place] ^= 1
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(lt.errors.FileFormatError, match="words must come first, then labels"):
        read_fasttext(tmp_path / "a.bin")
    content[place] ^= 1
    content[place - 1] = 0x80  # a negative count
    (tmp_path / "a.bin").write_bytes(content)
    with pytest.raises(lt.errors.FileFormatError, match=r"the dictionary is damaged: entry [0-3] occurs -\d+ times"):
        read_fasttext(tmp_path / "a.bin")


@pytest.mark.parametrize("size", [0, 1])
def test_pruned_models_are_refused(tmp_path, size):
    content = fasttext_file(2, 2)
    (tmp_path / "a.bin").write_bytes(
        content.replace((-1).to_bytes(8, "little", signed=True), size.to_bytes(8, "little"), 1)
    )
    with pytest.raises(lt.errors.FileFormatError, match="a pruned model"):
        read_fasttext(tmp_path / "a.bin")


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("word_ngrams", 1, 1000), ("min_n", 0, 1000), ("max_n", 0, 1000), ("epochs", 0, 2**31 - 1), ("min_count", 0, 9)],
)
def test_the_limits_of_arguments_are_exact(tmp_path, name, low, high):
    for value in (low, high):
        (tmp_path / "a.bin").write_bytes(fasttext_file(1, 2, 1, **{name: value}))
        assert getattr(read_fasttext(tmp_path / "a.bin").arguments, name) == value
    for value in (low - 1, high + 1) if high == 1000 else (low - 1,):
        (tmp_path / "a.bin").write_bytes(fasttext_file(1, 2, 1, **{name: value}))
        with pytest.raises(lt.errors.FileFormatError, match=f"{name} is {value}, not in"):
            read_fasttext(tmp_path / "a.bin")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match="no such file"):
        lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "none.bin")


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30))
def test_the_huffman_tree_is_fasttexts_also_for_equal_counts(counts):
    counts.sort(reverse=True)
    made = huffman_twin(counts)  # the last one made is the root, node 0
    expected = [[child if child < 0 else len(made) - 1 - child for child in pair] for pair in made[::-1]]
    assert _core.fasttext_huffman(np.array(counts)).reshape(-1, 2).tolist() == expected


def test_label_counts_that_fasttext_cannot_order_are_refused():
    assert _core.fasttext_huffman(np.array([10**15 - 1, 0])).tolist() == [~1, ~0]
    with pytest.raises(lt.errors.FileFormatError, match="1e15"):
        _core.fasttext_huffman(np.array([10**15, 0]))
