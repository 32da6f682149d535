"""Several kinds of terms side by side, against scikit-learn's FeatureUnion."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs
from sklearn.pipeline import FeatureUnion

import labeltrees as lt

CORPUS = [
    "How do I cook brown rice? Brown rice takes long...",
    "Kuinka keitän riisiä? Hyvää yötä, Åke",
    "怎么煮米饭? 米饭 很好吃 ΣΊΣΥΦΟΣ İstanbul",
    "emoji 😀😀 👩‍👩‍👧 flags 🇫🇮 \t two  blanks",
    "",
]
texts_strategy = st.lists(st.one_of(st.text(), st.text("aAbΣςİ\u0307\u0301 \t_-1é한", max_size=20)), max_size=5)
one_part = st.fixed_dictionaries(
    {
        "analyzer": st.sampled_from(["word", "char", "char_wb"]),
        "ngram_range": st.sampled_from([(1, 1), (1, 2), (2, 4)]),
        "norm": st.sampled_from(["l1", "l2", None]),
        "min_df": st.sampled_from([1, 2]),
        "lowercase": st.booleans(),
        "sublinear_tf": st.booleans(),
        "max_features": st.sampled_from([None, 5]),
    }
)


def their_union(parts, **common):
    """The same as a FeatureUnion, whose transformers have the names that ours have by default."""
    transformers, weights = [], {}
    for number, part in enumerate(parts):
        name = part.get("name", f"part{number}")
        own = {key: value for key, value in part.items() if key not in ("name", "weight")}
        transformers.append((name, Theirs(**common, **own)))
        weights[name] = part.get("weight", 1.0)
    return FeatureUnion(transformers, transformer_weights=weights)


def assert_same(parts, train, test, **common):
    parts = [{"name": f"part{number}", **part} for number, part in enumerate(parts)]
    theirs = their_union(parts, **common)
    ours = lt.TfidfVectorizer(union=parts, nfc=False, n_jobs=2, **common)
    try:
        expected = theirs.fit_transform(train)
    except ValueError:
        with pytest.raises(lt.errors.InputError):
            ours.fit(train)
        return
    rows = ours.fit_transform(train)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    for mine, other in ((rows, expected), (ours.transform(test), theirs.transform(test))):
        assert mine.shape == other.shape
        assert mine.dtype == other.dtype
        assert mine.has_canonical_format
        np.testing.assert_allclose(mine.toarray(), other.toarray(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_a_feature_union(dtype):
    parts = [
        {"ngram_range": (1, 2)},
        {"analyzer": "char_wb", "ngram_range": (3, 5), "weight": 0.7, "norm": "l1"},
        {"analyzer": "char", "weight": 2, "max_features": 9, "lowercase": False},
        {"stop_words": "english", "binary": True, "use_idf": False},
    ]
    assert_same(parts, CORPUS * 2, [*CORPUS, "new words"], dtype=dtype)


@settings(max_examples=60, deadline=None)
@given(
    train=texts_strategy,
    test=texts_strategy,
    parts=st.lists(
        st.tuples(one_part, st.sampled_from([0.3, 1.0, 2.5])).map(lambda pair: {**pair[0], "weight": pair[1]}),
        min_size=1,
        max_size=3,
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_any_text_gives_the_same_in_any_union(train, test, parts, dtype):
    assert_same(parts, train, [*test, "x"], dtype=dtype)


def test_parts_inherit_parameters_they_do_not_set():
    ours = lt.TfidfVectorizer(union=[{}, {"analyzer": "char"}], sublinear_tf=True, stop_words="english", nfc=False)
    theirs = FeatureUnion(
        [
            ("word", Theirs(sublinear_tf=True, stop_words="english")),
            ("char", Theirs(sublinear_tf=True, analyzer="char")),
        ]
    )
    np.testing.assert_allclose(ours.fit_transform(CORPUS).toarray(), theirs.fit_transform(CORPUS).toarray())


def test_names_are_unique_and_lead_to_the_features():
    ours = lt.TfidfVectorizer(union=[{}, {"ngram_range": (2, 2)}, {"analyzer": "char", "name": "letters"}]).fit(CORPUS)
    names = ours.get_feature_names_out().tolist()
    assert {name.split("__")[0] for name in names} == {"word", "word2", "letters"}
    assert ours.vocabulary_["word2__brown rice"] == names.index("word2__brown rice")
    assert ours.build_analyzer()("cook rice")[:3] == ["word__cook", "word__rice", "word2__cook rice"]
    assert len(ours.idf_) == len(names)


def test_hashing_in_a_part_has_no_names():
    ours = lt.TfidfVectorizer(union=[{}, {"hashing": 16, "analyzer": "char"}]).fit(CORPUS)
    assert ours.transform(CORPUS).shape == (5, ours.get_state().n_features)
    with pytest.raises(lt.errors.InputError, match="does not know its terms"):
        ours.get_feature_names_out()


@pytest.mark.parametrize(
    ("union", "message"),
    [
        ([], "union must be None or a list of 1 to 16 dicts"),
        ([{}] * 17, "union must be None or a list of 1 to 16 dicts"),
        ({"analyzer": "char"}, "union must be None or a list of 1 to 16 dicts"),
        (["char"], r"union\[0\] must be a dict of parameters"),
        ([{}, {"analyser": "char"}], r"union\[1\] must be with keys among name, weight"),
        ([{"dtype": np.float32}], r"union\[0\] must be with keys among"),
        ([{"weight": 0}], r"union\[0\]\['weight'\] must be"),
        ([{"analyzer": "chars"}], "analyzer must be one of"),
        ([{"name": "a"}, {"name": "a"}], r"union\[1\]\['name'\] must be a string that no other part has"),
    ],
    ids=str,
)
def test_wrong_unions_are_refused(union, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TfidfVectorizer(union=union).fit(CORPUS)


def test_copies_are_as_the_original():
    ours = lt.TfidfVectorizer(union=[{}, {"analyzer": "char_wb", "ngram_range": (2, 3), "weight": 0.5}]).fit(CORPUS)
    copy = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copy.transform(CORPUS).toarray(), ours.transform(CORPUS).toarray())
    assert clone(ours).get_params() == ours.get_params()
    ours.set_params(union=None, lowercase=False)
    np.testing.assert_array_equal(copy.transform(CORPUS).toarray(), ours.transform(CORPUS).toarray())


def test_the_idf_may_be_set():
    ours = lt.TfidfVectorizer(union=[{}, {"analyzer": "char"}], norm=None).fit(["ab ab", "ab"])
    ours.idf_ = np.arange(1.0, len(ours.idf_) + 1)
    assert ours.transform(["ab"]).toarray().tolist() == [[1, 0, 3, 4]]
