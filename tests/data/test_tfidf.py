"""The native vectorizer against scikit-learn's, terms and weights."""

import io
import pickle
import re
import unicodedata
import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt
from labeltrees._core import xxh64
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files
from labeltrees.data.tfidf_learning import with_words_of
from tests.sanitizers import WITH_THREAD_SANITIZER

CORPUS = [
    "How do I cook brown rice? Brown rice takes long...",
    "rice, rice and RICE; don't over-cook under_score x2 1st",
    "Kuinka keitän riisiä? Hyvää yötä, Åke söi jäätelöä",
    "怎么煮米饭? 米饭 很好吃。中文没有空格",
    "emoji 😀😀 👩‍👩‍👧 flags 🇫🇮 and ❤️ hearts ①②③ ½ cup",
    "combining: e\u0301tude etude\u0301 n\u0303 \u0301lone a\u0328\u0301b",
    "İstanbul IĞDIR ΣΊΣΥΦΟΣ ΟΔΟΣ. ΑΣ' Σ ΑΣΑ ẞtraße ﬁne ǅ Ⱥbc",
    "mixed кириллица العربية हिन्दी ไทย 한국어 日本語テキスト ελληνικά",
    "  tabs\t\tand\n\nlines\u00a0\u00a0nbsp\u2003em \u200bzero\x1c\x1dsep ",
    "",
    "a b c I !!! ...",
    "the and of is rice it was",
]
texts_strategy = st.lists(st.one_of(st.text(), st.text("aAbΣ\u03c3ςİ\u0307\u0301 \t\n_-1é한", max_size=30)), max_size=6)


def assert_same_rows(ours, theirs):
    theirs = theirs.copy()
    theirs.sort_indices()
    assert ours.shape == theirs.shape
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.indices.dtype == theirs.indices.dtype
    assert ours.has_canonical_format
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-6, atol=1e-6)


def assert_same(parameters, train, test):
    ours, theirs = lt.TfidfVectorizer(**parameters, nfc=False, n_jobs=2), Theirs(**parameters)
    try:
        their_rows, refused = theirs.fit_transform(train), None
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        with pytest.raises(lt.errors.InputError, match=f"^{re.escape(refused)}$"):
            ours.fit_transform(train)
        return
    our_rows = ours.fit_transform(train)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.vocabulary_ == theirs.vocabulary_
    assert_same_rows(our_rows, their_rows)
    if parameters.get("use_idf", True):
        np.testing.assert_array_equal(ours.idf_, theirs.idf_)
        assert ours.idf_.dtype == theirs.idf_.dtype
    if test:
        assert_same_rows(ours.transform(test), theirs.transform(test))
    for text in test:
        assert ours.build_analyzer()(text) == theirs.build_analyzer()(text)
        assert ours.build_preprocessor()(text) == theirs.build_preprocessor()(text)
    assert [sorted(row.tolist()) for row in ours.inverse_transform(our_rows)] == [
        sorted(row.tolist()) for row in theirs.inverse_transform(their_rows)
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"sublinear_tf": True, "min_df": 2, "dtype": np.float32},
        {"ngram_range": (1, 3), "norm": "l1"},
        {"ngram_range": (2, 2), "stop_words": "english", "norm": None},
        {"stop_words": ["rice", "and"], "ngram_range": (1, 2)},
        {"lowercase": False},
        {"strip_accents": "unicode"},
        {"strip_accents": "ascii"},
        {"strip_accents": "unicode", "lowercase": False, "analyzer": "char", "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 4)},
        {"analyzer": "char", "ngram_range": (3, 3), "dtype": np.float32, "strip_accents": "ascii"},
        {"analyzer": "char_wb", "ngram_range": (2, 5)},
        {"analyzer": "char_wb", "ngram_range": (1, 1), "binary": True},
        {"binary": True, "use_idf": False},
        {"smooth_idf": False, "max_df": 0.5},
        {"min_df": 0.1, "max_df": 3},
        {"max_features": 7},
        {"max_features": 20, "binary": True, "dtype": np.float32, "analyzer": "char"},
        {"vocabulary": ["rice", "brown rice", "米饭", "missing"], "ngram_range": (1, 2)},
        {"vocabulary": {"rice": 2, "cook": 0, "zzz": 1}},
        {"vocabulary": {"rice", "cook"}},
        {"min_df": 50},
        {"min_df": 0.9, "max_df": 2},
    ],
    ids=str,
)
def test_terms_and_weights_are_scikit_learns(parameters):
    assert_same(parameters, CORPUS * 2, [*CORPUS, "entirely new words", "Rice ΟΔΟΣ"])


def test_an_empty_vocabulary_is_refused_as_there():
    assert_same({}, ["a", "b !"], [])
    assert_same({}, [], [])
    assert_same({"stop_words": "english"}, ["the and of"], [])


@settings(max_examples=100, deadline=None)
@given(
    train=texts_strategy,
    test=texts_strategy,
    parameters=st.fixed_dictionaries(
        {
            "analyzer": st.sampled_from(["word", "char", "char_wb"]),
            "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 3), (3, 6)]),
            "lowercase": st.booleans(),
            "strip_accents": st.sampled_from([None, "unicode", "ascii"]),
            "norm": st.sampled_from(["l1", "l2", None]),
            "use_idf": st.booleans(),
            "sublinear_tf": st.booleans(),
            "binary": st.booleans(),
            "dtype": st.sampled_from([np.float32, np.float64]),
            "min_df": st.sampled_from([1, 2, 0.3]),
            "max_df": st.sampled_from([1.0, 0.7, 3]),
            "max_features": st.sampled_from([None, 3]),
        }
    ),
)
def test_any_text_gives_the_same_in_any_setting(train, test, parameters):
    assert_same(parameters, train, test)


@settings(max_examples=50, deadline=None)
@given(texts=texts_strategy, form=st.sampled_from(["NFC", "NFD"]))
def test_texts_are_normalised_to_nfc(texts, form):
    texts = [*texts, "Ha\u0308n jo\u0308i", "가각 ê\u0323 क़"]
    ours = lt.TfidfVectorizer(analyzer="char", ngram_range=(1, 2))
    expected = Theirs(analyzer="char", ngram_range=(1, 2)).fit_transform(
        [unicodedata.normalize("NFC", text) for text in texts]
    )
    rows = ours.fit_transform([unicodedata.normalize(form, text) for text in texts])
    assert_same_rows(rows, expected)
    assert_same_rows(ours.transform([unicodedata.normalize("NFD", text) for text in texts]), rows)


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(500)])
    texts = [" ".join(rng.choice(words, 20)) for _ in range(3000)]
    one, three = (lt.TfidfVectorizer(ngram_range=(1, 2), n_jobs=n_jobs) for n_jobs in (1, 3))
    first, second = one.fit_transform(texts), three.fit_transform(texts)
    assert one.get_feature_names_out().tolist() == three.get_feature_names_out().tolist()
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(first, part), getattr(second, part))
    assert_same_rows(first, Theirs(ngram_range=(1, 2)).fit_transform(texts))


@pytest.mark.parametrize("count", [255, 256, 257, 5000])
def test_counts_beyond_the_table_of_logarithms(count):
    assert_same({"sublinear_tf": True, "norm": None}, ["word " * count + "other", "other"], ["word " * (count + 1)])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"stop_words": ["w7", "é3"], "sublinear_tf": True},
        {"ngram_range": (1, 2)},
        pytest.param(
            {"analyzer": "char", "ngram_range": (2, 3), "strip_accents": "unicode"},
            marks=pytest.mark.skipif(
                WITH_THREAD_SANITIZER,
                reason="unicodedata.normalize reallocates 40 bytes at a time: over 15 minutes with ThreadSanitizer",
            ),
        ),
        {"analyzer": "char_wb", "ngram_range": (3, 3)},
    ],
    ids=str,
)
def test_a_long_text_is_read_in_pieces_and_counted_in_between(parameters):
    rng = np.random.default_rng(0)
    words = [f"{start}{number}" for start in ("w", "É", "ﷺ") for number in range(200)]
    ascii_text = " ".join(f"W{number}" for number in rng.integers(300, size=80_000))  # more terms than are kept
    mixed_text = rng.choice([" ", ", ", "\n"]).join(words[number] for number in rng.integers(len(words), size=40_000))
    assert_same(parameters, [ascii_text, mixed_text, " ".join(words)], [mixed_text + " " + "x" * 70_000 + ascii_text])


def test_very_long_terms_are_distinguished():
    long = "x" * 2**24
    ours = lt.TfidfVectorizer(norm=None, use_idf=False).fit([long, long + "x"])
    assert ours.transform([long + "x", long, long + "xx"]).toarray().tolist() == [[0, 1], [1, 0], [0, 0]]


# Hashing.


def test_hashed_terms_go_to_the_buckets_of_their_checksum():
    ours = lt.TfidfVectorizer(hashing=50, norm=None, use_idf=False)
    X = ours.fit_transform(["rice ΟΔΟΣ rice"]).toarray()
    expected = np.zeros(50)
    for term in ("rice", "οδος", "rice"):
        expected[xxh64(np.frombuffer(term.encode(), np.uint8)) % 50] += 1
    np.testing.assert_array_equal(X, [expected])


def test_hashed_features_are_those_of_the_vocabulary_where_none_meet():
    plain, hashed = (
        lt.TfidfVectorizer(sublinear_tf=True),
        lt.TfidfVectorizer(sublinear_tf=True, hashing=2**24, n_jobs=2),
    )
    dense = plain.fit_transform(CORPUS)
    places = [xxh64(np.frombuffer(term.encode(), np.uint8)) % 2**24 for term in plain.get_feature_names_out()]
    assert len(set(places)) == len(places)
    np.testing.assert_allclose(hashed.fit_transform(CORPUS)[:, places].toarray(), dense.toarray(), rtol=1e-12)
    np.testing.assert_array_equal(hashed.idf_[places], plain.idf_)


def test_hashing_has_no_vocabulary():
    hashed = lt.TfidfVectorizer(hashing=10).fit(CORPUS)
    assert not hasattr(hashed, "vocabulary_")
    with pytest.raises(lt.errors.InputError, match="does not know its terms"):
        hashed.get_feature_names_out()
    with pytest.raises(lt.errors.InputError, match="min_df must be 1 with hashing"):
        lt.TfidfVectorizer(hashing=10, min_df=2).fit(CORPUS)


# The interface.


def test_texts_may_be_bytes():
    ours = lt.TfidfVectorizer(encoding="latin-1").fit(["jäätelö kahvi".encode("latin-1")])
    assert ours.get_feature_names_out().tolist() == ["jäätelö", "kahvi"]
    ignoring = lt.TfidfVectorizer(decode_error="ignore").fit([b"ab\xff cd"])
    assert ignoring.get_feature_names_out().tolist() == ["ab", "cd"]


def test_files_are_read_by_the_user():
    with pytest.raises(lt.errors.InputError, match="no argument input any more: give the texts themselves"):
        lt.TfidfVectorizer(input="filename")


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda texts: np.array(texts, object), iter])
def test_any_sequence_of_texts(form):
    ours = lt.TfidfVectorizer(nfc=False)
    assert_same_rows(ours.fit_transform(form(CORPUS)), Theirs().fit_transform(CORPUS))
    assert_same_rows(ours.transform(form(CORPUS[:1])), Theirs().fit(CORPUS).transform(CORPUS[:1]))
    assert ours.transform(form(CORPUS[:0]) if form is not np.array else []).shape == (0, len(ours.vocabulary_))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "a sequence of strings, got a single string"),
        (7, "a sequence of strings, got int"),
        (["a", None], r"texts\[1\] must be a string, got NoneType"),
        (["a", float("nan")], r"texts\[1\] must be a string, got float"),
        (["ab", b"\xff"], r"texts\[1\] cannot be decoded as utf-8"),
        (["ab", "\ud800"], r"texts\[1\] contains half of a surrogate pair"),
    ],
)
def test_objects_that_are_not_texts_are_refused_with_their_place(texts, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TfidfVectorizer().fit(texts)
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TfidfVectorizer().fit(CORPUS).transform(texts)


def test_errors_of_a_generator_come_through():
    def broken():
        yield "rice"
        message = "gone"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="gone"):
        lt.TfidfVectorizer().fit(broken())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"token_pattern": r"(a"}, "token_pattern must be a regular expression"),
        ({"token_pattern": r"(a)(b)"}, "More than 1 capturing group"),
        ({"token_pattern": None}, "unless a tokenizer is given"),
        ({"tokenizer": "split"}, "tokenizer must be None or a function"),
        ({"strip_accents": str.upper}, "for a function of your own use preprocessor"),
        ({"stem": 3}, "stem must be None or the name of a language"),
        ({"nfc": "NFD"}, "nfc must be True or False"),
        ({"ngram_range": (2, 1)}, "ngram_range must be a pair"),
        ({"ngram_range": (0, 1)}, "ngram_range must be a pair"),
        ({"ngram_range": 2}, "ngram_range must be a pair"),
        ({"max_df": 1.5}, r"max_df must be a number in \[0, 1\]"),
        ({"min_df": 0}, "min_df must be an integer of at least 1"),
        ({"min_df": "2"}, "min_df must be a number"),
        ({"dtype": np.int64}, "dtype must be float32 or float64"),
        ({"norm": "l3"}, "norm must be one of 'l1', 'l2'"),
        ({"stop_words": "finnish"}, "stop_words must be None, 'english' or a list"),
        ({"stop_words": [3]}, "stop_words must be a list of strings"),
        ({"vocabulary": ["a", "a"]}, "Duplicate term in vocabulary: 'a'"),
        ({"vocabulary": {"a": 0, "b": 0}}, "repeated indices"),
        ({"vocabulary": {"a": 0, "b": 2}}, "must number them from 0 to 1"),
        ({"vocabulary": []}, "empty vocabulary passed to fit"),
        ({"vocabulary": "rice"}, "vocabulary must be None, a mapping"),
        ({"vocabulary": ["zz"], "smooth_idf": False}, "1 features occur in no text"),
        ({"encoding": "utf-99"}, "encoding must be an encoding that Python knows"),
        ({"lowercase": "yes"}, "lowercase must be True or False"),
        ({"max_features": 0}, r"max_features must be an integer of at least 1"),
        ({"hashing": 0}, r"hashing must be an integer of at least 1"),
        ({"n_jobs": 0}, "n_jobs must be a non-zero integer"),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_by_fit(parameters, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TfidfVectorizer(**parameters).fit(CORPUS)


def test_methods_raise_before_fit():
    ours = lt.TfidfVectorizer()
    for use in (lambda: ours.transform(["a"]), ours.get_feature_names_out, lambda: ours.idf_, lambda: ours.vocabulary_):
        with pytest.raises(NotFittedError):
            use()
    assert not hasattr(ours, "idf_")


def test_copies_are_as_the_original():
    ours = lt.TfidfVectorizer(sublinear_tf=True, stop_words=["rice"], dtype=np.float32).fit(CORPUS)
    expected = ours.transform(CORPUS)
    ours.vocabulary_  # noqa: B018  a cache that is not pickled
    file = io.BytesIO()
    joblib.dump(ours, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(ours)), joblib.load(file)):
        assert_same_rows(copy.transform(CORPUS), expected)
        assert copy.vocabulary_ == ours.vocabulary_
    unfitted = clone(ours)
    assert unfitted.get_params() == ours.get_params()
    assert not hasattr(unfitted, "idf_")


def test_a_fitted_vectorizer_keeps_what_it_learned_whatever_is_set():
    ours = lt.TfidfVectorizer().fit(CORPUS)
    before = ours.transform(CORPUS)
    ours.set_params(norm=None, lowercase=False)
    assert_same_rows(ours.transform(CORPUS), before)


def test_the_idf_may_be_set():
    theirs = Theirs(vocabulary=["rice", "cook"])
    ours = lt.TfidfVectorizer(vocabulary=["rice", "cook"])
    for vectorizer in (ours, theirs):
        vectorizer.idf_ = np.array([1.5, 2.5])
    assert_same_rows(ours.transform(CORPUS), theirs.transform(CORPUS))
    with pytest.raises(lt.errors.InputError, match="2 finite numbers"):
        ours.idf_ = [1.0]


def test_the_kind_of_matrix_is_scikit_learns():
    ours = lt.TfidfVectorizer(nfc=False).fit(CORPUS)
    for interface in ("spmatrix", "sparray"):
        with config_context(sparse_interface=interface):
            expected = Theirs().fit(CORPUS)
            for texts in (CORPUS[:1], CORPUS):
                row = ours.transform(texts)
                assert_same_rows(row, expected.transform(texts))
                assert (row @ row.T).shape == (len(texts), len(texts))
                assert (row + row != 2 * row).nnz == 0


def test_warnings_are_scikit_learns():
    for parameters, message in (
        ({"stop_words": ["don't"]}, "stop_words may be inconsistent"),
        ({"vocabulary": ["Rice", "rice"]}, "Upper case characters found in vocabulary"),
        ({"stop_words": ["rice"], "analyzer": "char"}, "will not be used since 'analyzer'"),
    ):
        with pytest.warns(UserWarning, match=message):
            lt.TfidfVectorizer(**parameters).fit(CORPUS)
        with pytest.warns(UserWarning, match=message):
            Theirs(**parameters).fit(CORPUS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lt.TfidfVectorizer(stop_words="english").fit(CORPUS)


def test_max_df_below_min_df_is_refused_as_there():
    assert_same({"min_df": 5, "max_df": 2}, CORPUS, [])


GROWN_ON = ["red red wine", "the white wine", "the red rose", "the olive"]


@pytest.mark.parametrize(
    "parameters", [{}, {"smooth_idf": False}, {"use_idf": False}, {"ngram_range": (1, 2)}], ids=str
)
def test_words_of_other_texts_become_the_last_features(parameters):
    vectorizer = lt.TfidfVectorizer(min_df=2, norm=None, **parameters).fit(GROWN_ON)
    before = vectorizer.get_feature_names_out().tolist()
    grown = with_words_of(vectorizer, ["Red olive", "banana wine"], GROWN_ON)
    assert grown.get_feature_names_out().tolist() == [*before, "banana", "olive"]
    assert vectorizer.get_feature_names_out().tolist() == before
    everything = lt.TfidfVectorizer(norm=None, **parameters).fit(GROWN_ON)
    olive = everything.transform(["olive"]).max()  # in one text
    assert grown.transform(["banana", "olive"]).toarray()[[0, 1], [-2, -1]].tolist() == pytest.approx([olive, olive])
    known = grown.transform(GROWN_ON[:3]).toarray()
    np.testing.assert_array_equal(known[:, :-2], vectorizer.transform(GROWN_ON[:3]).toarray())


def test_words_in_too_many_texts_and_stop_words_stay_out():
    vectorizer = lt.TfidfVectorizer(max_df=2, stop_words=["a1", "of"]).fit(GROWN_ON)
    grown = with_words_of(vectorizer, ["the house of wine"], GROWN_ON)
    assert set(grown.vocabulary_) - set(vectorizer.vocabulary_) == {"house"}


@pytest.mark.parametrize(
    "parameters",
    [{"hashing": 8}, {"vocabulary": ["red"]}, {"analyzer": "char_wb", "ngram_range": (3, 3)}, {"ngram_range": (2, 2)}],
    ids=str,
)
def test_terms_that_are_no_words_or_are_given_do_not_grow(parameters):
    vectorizer = lt.TfidfVectorizer(**parameters).fit(GROWN_ON)
    assert with_words_of(vectorizer, ["banana"], GROWN_ON) is vectorizer


def test_a_union_grows_by_a_part_and_keeps_its_columns():
    union = [{"name": "words"}, {"name": "pieces", "analyzer": "char_wb", "ngram_range": (3, 3)}]
    vectorizer = lt.TfidfVectorizer(union=union).fit(GROWN_ON)
    grown = with_words_of(vectorizer, ["banana rose"], GROWN_ON)
    again = with_words_of(grown, ["cherry banana"], GROWN_ON)
    names = vectorizer.get_feature_names_out().tolist()
    assert again.get_feature_names_out().tolist() == [*names, "label words__banana", "label words__cherry"]
    texts = [*GROWN_ON, "banana and rose"]
    rows = again.transform(texts).toarray()
    np.testing.assert_array_equal(rows[:, :-2], vectorizer.transform(texts).toarray())
    assert rows[-1, -2:].tolist() == [1, 0]
    loaded = tfidf_from_files(*tfidf_to_files(again, "v."), "v.", "file")
    assert [part["name"] for part in loaded.get_params()["union"]] == ["words", "pieces"]
    np.testing.assert_array_equal(loaded.transform(texts).toarray(), rows)
