"""A union's rows are the rows of its parts side by side."""

import numpy as np
import pytest
from scipy import sparse

import labeltrees as lt


def make_parts():
    return {
        "query": lt.TextEncoder(lt.TfidfVectorizer().fit(["red wine", "white wine"])),
        "history": lt.ItemEncoder(["milk", "bread"], weighting="count"),
        "tags": lt.ColumnEncoder(["new", "sale"], separator=","),
    }


def make_union():
    return lt.UnionEncoder(make_parts(), weights={"history": 0.5, "tags": 2})


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
def test_what_is_no_context_is_refused(union, context, message):
    with pytest.raises(lt.InputError, match=message):
        union.transform([context])


@pytest.mark.parametrize(
    ("parts", "weights", "message"),
    [
        (dict, None, "parts must be 1 to 16 encoders"),
        (lambda: {"": lt.ItemEncoder(["a"])}, None, "the name of a part"),
        (lambda: {"a": make_union()}, None, "an encoder that is not a union"),
        (lambda: {"a": 3}, None, "an encoder that is not a union"),
        (lambda: {"a": lt.ItemEncoder(["a"])}, {"b": 1}, "weights must be numbers for a"),
        (lambda: {"a": lt.ItemEncoder(["a"])}, {"a": -1}, "weights"),
    ],
)
def test_bad_unions_are_refused(parts, weights, message):
    with pytest.raises(lt.InputError, match=message):
        lt.UnionEncoder(parts(), weights=weights)
