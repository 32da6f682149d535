"""Encoders of texts, items, columns and unions, against plain Python."""

import math
import pickle
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt

TEXTS = ["red wine", "white wine", "red shoes from Genoa"]
NAMES = ["milk", "bread", "Käse", "x" * 40, "8 bytes!", "17", ""]
IDS = [10, 11, "A-12", 13, "14", "15", 17]
items = st.one_of(st.sampled_from([*NAMES, *IDS]), st.text(max_size=12), st.integers(-3, 20))
numbers = st.one_of(st.integers(0, 9), st.floats(1e-3, 1e6))
contexts = st.one_of(
    st.lists(items, max_size=12),
    st.lists(st.one_of(items, st.tuples(items, numbers)), max_size=12),
    st.dictionaries(items, numbers, max_size=8),
)
SPACES = " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_the_vectorizer(dtype):
    vectorizer = lt.TfidfVectorizer(dtype=dtype, sublinear_tf=True).fit(TEXTS)
    encoder = lt.encoders.TextEncoder(vectorizer)
    assert (encoder.transform(TEXTS) != vectorizer.transform(TEXTS).astype(np.float32)).nnz == 0
    assert (encoder.transform(TEXTS) != encoder._encode(TEXTS)[0]).nnz == 0  # what a predictor does
    assert encoder.feature_names.tolist() == vectorizer.get_feature_names_out().tolist()


def test_unknown_words_are_counted():
    encoder = lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(TEXTS))
    assert encoder.count_unknown(["red blue green", "wine", ""]).tolist() == [2, 0, 0]


def test_hashed_terms_have_no_names():
    encoder = lt.encoders.TextEncoder(lt.TfidfVectorizer(hashing=64).fit(TEXTS))
    assert encoder.feature_names is None
    assert encoder.n_features == 64
    assert encoder.count_unknown(["anything"]).tolist() == [0]


def test_other_vectorizers_are_refused():
    with pytest.raises(lt.errors.InputError, match="a fitted labeltrees"):
        lt.encoders.TextEncoder(Theirs().fit(TEXTS))
    with pytest.raises(ValueError, match="not fitted"):
        lt.encoders.TextEncoder(lt.TfidfVectorizer())
    with pytest.raises(lt.errors.InputError, match=r"texts\[1\] must be a string"):
        lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(TEXTS)).transform(["a", 3])


def twin(context, weighting, norm, ids=IDS):
    """The row of a context, from the definition, and how many entries are unknown."""
    entries = list(context.items()) if isinstance(context, dict) else list(context)
    known = {str(name): feature for feature, name in enumerate(ids)} if ids else {}
    known |= {name: feature for feature, name in enumerate(NAMES)}
    counts, unknown = Counter(), 0
    for entry in entries:
        item, count = entry if isinstance(entry, tuple | list) else (entry, 1)
        if str(item) in known:
            counts[known[str(item)]] += count
        else:
            unknown += 1
    row = np.zeros(len(NAMES))
    for feature, count in counts.items():
        if count > 0:
            row[feature] = {"log": math.log1p(count), "count": count, "binary": 1}[weighting]
    total = {"none": 1, "l1": row.sum(), "l2": np.sqrt((row**2).sum())}[norm]
    return row / (total or 1), unknown


@given(
    st.lists(contexts, max_size=4), st.sampled_from(["log", "count", "binary"]), st.sampled_from(["none", "l1", "l2"])
)
def test_rows_and_unknown_items_are_those_of_the_definition(batch, weighting, norm):
    encoder = lt.encoders.ItemEncoder(NAMES, IDS, weighting=weighting, norm=norm)
    X = encoder.transform(batch)
    expected = [twin(context, weighting, norm) for context in batch]
    assert X.shape == (len(batch), len(NAMES))
    assert X.dtype == np.float32
    assert X.has_canonical_format
    np.testing.assert_allclose(X.toarray(), np.array([row for row, _ in expected]).reshape(X.shape), rtol=2e-6)
    assert encoder.count_unknown(batch).tolist() == [unknown for _, unknown in expected]


def test_every_kind_of_sequence_is_a_context_and_a_batch():
    encoder = lt.encoders.ItemEncoder(NAMES, IDS, weighting="count")
    expected = encoder.transform([["milk", "bread"]]).toarray().tolist()
    for context in (("milk", "bread"), {"milk", "bread"}, np.array(["milk", "bread"]), np.array([10, 11])):
        assert encoder.transform([context]).toarray().tolist() == expected
    for batch in ((["milk", "bread"],), np.array([["milk", "bread"]]), pl.Series([["milk", "bread"]])):
        assert encoder.transform(batch).toarray().tolist() == expected
    assert encoder.transform([[np.str_("milk"), np.int64(11)]]).toarray().tolist() == expected


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ("milk", "contexts must be a list of contexts, each a list of items"),
        ({"milk": 1}, "contexts must be a list of contexts"),
        (["milk"], r"contexts\[0\] must be a list of items.*got str 'milk'; for one context, pass a list with it"),
        ([["milk"], 5], r"contexts\[1\] must be a list of items.*got int 5"),
        ([b"milk"], r"contexts\[0\] must be a list"),
        ([[1.5]], r"an item of contexts\[0\] must be a str or an int, got float 1.5"),
        ([[True]], "must be a str or an int, got bool True"),
        ([[None]], "must be a str or an int, got NoneType"),
        ([[("milk", -1)]], "a count that is not a finite number of at least 0: int -1"),
        ([[("milk", float("nan"))]], "not a finite number"),
        ([{"milk": 1e300}], "not a finite number"),
        ([{"milk": "2"}], "not a finite number of at least 0: str '2'"),
        ([[("milk", 1, 2)]], "must be a str or an int, got tuple"),
    ],
)
def test_batches_that_are_not_lists_of_items_are_refused(batch, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.encoders.ItemEncoder(NAMES).transform(batch)


def test_items_that_cannot_be_names_are_unknown():
    assert lt.encoders.ItemEncoder(NAMES).count_unknown([["\ud800", 2**70, -(2**70)]]).tolist() == [3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": []}, "names must be 1 to"),
        ({"names": ["a", "a"]}, "names has 'a' twice"),
        ({"names": ["a", 2]}, r"names\[1\] must be a string"),
        ({"names": ["\ud800"]}, "not valid Unicode"),
        ({"names": ["a", "b"], "ids": [1]}, "ids must be 2 ids"),
        ({"names": ["a", "b"], "ids": [1, 1]}, "ids has '1' twice"),
        ({"names": ["a"], "weighting": "tf"}, "weighting must be one of"),
        ({"names": ["a"], "norm": None}, "norm must be one of"),
    ],
)
def test_bad_vocabularies_are_refused(arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.encoders.ItemEncoder(**arguments)


def test_an_encoder_can_be_pickled_after_use():
    encoder = lt.encoders.ItemEncoder(NAMES, IDS)
    before = encoder.transform([["milk", 11]])
    again = pickle.loads(pickle.dumps(encoder))
    assert (again.transform([["milk", 11]]) != before).nnz == 0
    assert again.feature_names.tolist() == NAMES


def test_a_list_that_changes_while_it_is_read_is_safe():
    class Shrinks:
        def __init__(self, context):
            self.context = context

        def __index__(self):
            self.context.clear()
            return 11

    context = [10]
    context += [Shrinks(context), "milk", "milk"]
    assert lt.encoders.ItemEncoder(NAMES, IDS).transform([context]).nnz == 2


def column_twin(texts, names, separator):
    """As `prepare_logs` makes features of a column."""
    long = pl.DataFrame({"name": texts}).with_row_index("point").with_columns(pl.col("name").str.split(separator))
    long = long.explode("name").with_columns(pl.col("name").str.strip_chars())
    counts = np.zeros((len(texts), len(names)))
    for point, name in long.iter_rows():
        if name in names:
            counts[point, names.index(name)] += 1
    return counts


@given(st.lists(st.text(alphabet=f"ab;é{SPACES}", max_size=14), min_size=1, max_size=4), st.sampled_from([";", "; "]))
def test_columns_are_split_as_in_prepared_logs(texts, separator):
    names = ["a", "b", "é", "ab", "a b"]
    X = lt.encoders.ColumnEncoder(names, separator=separator).transform(texts)
    assert X.toarray().tolist() == column_twin(texts, names, separator).tolist()


def test_every_character_around_a_name_is_white_space_as_in_prepared_logs():
    characters = [chr(code) for code in range(1, 0x3100) if chr(code) != ";"]  # all white space is below
    for texts in ([f"{c}a" for c in characters], [f"a{c}" for c in characters]):
        X = lt.encoders.ColumnEncoder(["a"], separator=";").transform(texts)
        assert X.toarray().tolist() == column_twin(texts, ["a"], ";").tolist()


def test_a_column_without_separator_takes_lists_only():
    encoder = lt.encoders.ColumnEncoder(["a", "b"])
    assert encoder.transform([[" a ", "a", ""]]).toarray().tolist() == [[2, 0]]
    with pytest.raises(lt.errors.InputError, match="must be a list of names, got str"):
        encoder.transform(["a;b"])
    with pytest.raises(lt.errors.InputError, match="separator must be None or a text"):
        lt.encoders.ColumnEncoder(["a"], separator="")


def make_parts():
    return {
        "query": lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(["red wine", "white wine"])),
        "history": lt.encoders.ItemEncoder(["milk", "bread"], weighting="count"),
        "tags": lt.encoders.ColumnEncoder(["new", "sale"], separator=","),
    }


def make_union():
    return lt.encoders.UnionEncoder(make_parts(), weights={"history": 0.5, "tags": 2})


@pytest.fixture
def union():
    return make_union()


def test_rows_are_those_of_the_parts(union):
    batch = [("red wine", ["milk", ("bread", 3), "jam"], "new,sale,old"), ("white", [], ["sale"])]
    parts = [
        part.transform(list(own)) for part, own in zip(make_parts().values(), zip(*batch, strict=True), strict=True)
    ]
    expected = sparse.hstack([part * np.float32(w) for part, w in zip(parts, (1, 0.5, 2), strict=True)])
    assert (union.transform(batch) != expected).nnz == 0
    keys = ("query", "history", "tags")
    assert (union.transform([dict(zip(keys, own, strict=True)) for own in batch]) != expected).nnz == 0
    assert union.count_unknown(batch).tolist() == [2, 0]
    assert union.feature_names.tolist() == [
        "query: red",
        "query: white",
        "query: wine",
        "history: milk",
        "history: bread",
        "tags: new",
        "tags: sale",
    ]


def test_missing_parts_have_no_features(union):
    assert union.transform([{}, (None, None, None)]).nnz == 0
    only = union.transform([{"history": ["milk"]}, (None, ["milk"], None)]).toarray()
    assert only.tolist() == [[0, 0, 0, 0.5, 0, 0, 0]] * 2


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"histroy": ["milk"]}, r"contexts\[0\] has a key that the encoder does not have; its keys are query, history"),
        (("red", ["milk"]), "must be a dict with the keys query, history, tags, or a tuple"),
        (["milk"], "must be a dict with the keys"),
        ({"history": "milk"}, r"contexts\[0\]\['history'\] must be a list of items"),
        ({"query": ["red"]}, r"contexts\[0\]\['query'\] must be a text"),
    ],
)
def test_contexts_that_do_not_fit_a_union_are_refused(union, context, message):
    with pytest.raises(lt.errors.InputError, match=message):
        union.transform([context])


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        (dict, None, "parts must be 1 to 16 encoders"),
        (lambda: {"": lt.encoders.ItemEncoder(["a"])}, None, "the name of a part"),
        (lambda: {"a": make_union()}, None, "an encoder that is not a union"),
        (lambda: {"a": 3}, None, "an encoder that is not a union"),
        (lambda: {"a": lt.encoders.ItemEncoder(["a"])}, {"b": 1}, "weights must be numbers for a"),
        (lambda: {"a": lt.encoders.ItemEncoder(["a"])}, {"a": -1}, "weights"),
    ],
)
def test_bad_unions_are_refused(parts, weights, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.encoders.UnionEncoder(parts(), weights=weights)
