"""A fitted vectorizer as JSON values and arrays: it comes back whole, and each fault is refused."""

import copy
import json
import re

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.data import tfidf_files as module
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files, verify_tfidf

TEXTS = ["red wine and cheese", "white wine", "red shoes and hats"]
VECTORIZERS = {
    "plain": {},
    "words": {"stop_words": ["and", "the"], "ngram_range": (1, 2), "dtype": np.float64},
    "english": {"stop_words": "english", "use_idf": False},
    "vocabulary": {"vocabulary": ["red", "wine"]},
    "union": {
        "union": [{"ngram_range": (1, 2), "stop_words": ["and"]}, {"analyzer": "char_wb", "ngram_range": (3, 3)}]
    },
    "inherited list": {"stop_words": ["and"], "union": [{"ngram_range": (1, 2)}, {"analyzer": "char_wb"}]},
    "inherited": {"stop_words": "english", "union": [{"ngram_range": (1, 2)}, {"analyzer": "char_wb"}]},
}


def saved(kind):
    vectorizer = lt.TfidfVectorizer(**VECTORIZERS[kind]).fit(TEXTS)
    settings, arrays = tfidf_to_files(vectorizer, "v.")
    return vectorizer, json.loads(json.dumps(settings)), arrays


@pytest.mark.parametrize("kind", VECTORIZERS)
def test_a_vectorizer_comes_back(kind):
    vectorizer, settings, arrays = saved(kind)
    again = tfidf_from_files(settings, arrays, "v.", "model")
    verify_tfidf(again)
    assert (again.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0
    assert again.transform(TEXTS).dtype == vectorizer.transform(TEXTS).dtype
    assert again.get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()
    assert isinstance(again.get_params()["ngram_range"], tuple)
    settings_again, arrays_again = tfidf_to_files(again, "v.")
    assert json.loads(json.dumps(settings_again)) == settings
    assert {name: array.tolist() for name, array in arrays_again.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    # It can be fitted again, with the parameters that it had.
    assert (again.fit(TEXTS).transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0


def test_earlier_releases_named_the_stop_words_of_a_union_twice():
    vectorizer, settings, arrays = saved("inherited list")
    found = tfidf_from_files({**settings, "stop_words": module.GIVEN}, arrays, "v.", "model")
    assert found.get_params()["stop_words"] is None
    assert (found.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0
    assert (found.fit(TEXTS).transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0


def test_settings_of_later_releases_may_be_missing():
    vectorizer, settings, arrays = saved("plain")
    older = {name: value for name, value in settings.items() if name not in module._BEFORE}
    assert len(older) == len(settings) - len(module._BEFORE)
    found = tfidf_from_files(older, arrays, "v.", "model")
    assert (found.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0


KEYS, PARTS = "must have the keys", "must have 1 to 16 parts"
FAULTS = [
    ("plain", lambda s: [], KEYS),
    ("plain", lambda s: s.pop("lowercase"), KEYS),
    ("plain", lambda s: s.update(other=1), KEYS),
    ("plain", lambda s: s.update(on_tokens=1), "on_tokens must be true or false"),
    ("plain", lambda s: s.update(dtype="float16"), "dtype must be float32 or float64"),
    ("plain", lambda s: s.update(dtype=["float32"]), "dtype must be float32 or float64"),
    ("plain", lambda s: s.update(use_idf=False), "must have an idf exactly if"),
    ("english", lambda s: s.update(use_idf=True), "must have an idf exactly if"),
    ("plain", lambda s: s.update(stop_words="german"), "its stop words or its vocabulary"),
    ("plain", lambda s: s.update(stop_words=["and"]), "its stop words or its vocabulary"),
    ("plain", lambda s: s.update(vocabulary=["red"]), "its stop words or its vocabulary"),
    ("plain", lambda s: s.update(ngram_range=[2, 1]), "settings are damaged: ngram_range"),
    (
        "plain",
        lambda s: s.update(tokenizer={"function": "os:system"}),
        "the function 'os:system'; models with",
    ),
    ("plain", lambda s: s.update(tokenizer={"function": "os:system", "more": 1}), "the function 'os:system'"),
    ("plain", lambda s: s.update(tokenizer={}), "the function 'None'"),
    ("plain", lambda s: s.update(union=[]), PARTS),
    ("plain", lambda s: s.update(union={"a": 1}), PARTS),
    ("union", lambda s: s.update(union=s["union"] * 9), PARTS),
    ("union", lambda s: s["union"].append(3), "must have a name, a weight and all parameters"),
    ("union", lambda s: s["union"][0].pop("analyzer"), "must have a name, a weight and all parameters"),
    ("union", lambda s: s["union"][0].update(other=1), "must have a name, a weight and all parameters"),
    ("union", lambda s: s["union"][1].update(weight="much"), "settings are damaged"),
    ("union", lambda s: s["union"][1].update(name=s["union"][0]["name"]), "settings are damaged"),
    ("union", lambda s: s["union"].append(s["union"][0]), "must either have terms or hash them"),
]


@pytest.mark.parametrize(("kind", "change", "fault"), FAULTS, ids=lambda value: value if isinstance(value, str) else "")
def test_each_fault_is_refused(kind, change, fault):
    _, settings, arrays = saved(kind)
    altered = copy.deepcopy(settings)
    result = change(altered)
    with pytest.raises(lt.errors.FileFormatError, match=rf"^model: .*(?:{fault})"):
        tfidf_from_files(result if result == [] else altered, arrays, "v.", "model")


def test_a_union_of_16_parts_is_allowed():
    _, settings, arrays = saved("plain")
    vectorizer = lt.TfidfVectorizer(union=[{"max_features": n} for n in range(1, 17)]).fit(TEXTS)
    settings, arrays = tfidf_to_files(vectorizer, "")
    assert len(settings["union"]) == 16
    found = tfidf_from_files(json.loads(json.dumps(settings)), arrays, "", "model")
    assert (found.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0
    one = lt.TfidfVectorizer(union=[{"max_features": 3}]).fit(TEXTS)
    settings, arrays = tfidf_to_files(one, "")
    assert tfidf_from_files(json.loads(json.dumps(settings)), arrays, "", "model").transform(TEXTS).shape == (3, 3)


def test_the_number_of_features_is_limited(monkeypatch):
    vectorizer, settings, arrays = saved("plain")
    n_features = vectorizer.transform(TEXTS).shape[1]
    monkeypatch.setattr(module, "LARGEST_INT32", n_features)
    tfidf_from_files(settings, arrays, "v.", "model")
    monkeypatch.setattr(module, "LARGEST_INT32", n_features - 1)
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(f"a vectorizer of {n_features} features")):
        tfidf_from_files(settings, arrays, "v.", "model")


def test_a_term_that_occurs_twice_is_found_by_verify():
    vectorizer = lt.TfidfVectorizer(vocabulary=["aa", "bb"]).fit(["aa bb"])
    settings, arrays = tfidf_to_files(vectorizer, "")
    for name, array in arrays.items():
        if array.dtype == np.uint8:
            arrays[name] = np.full_like(array, ord("a"))
    twice = tfidf_from_files(settings, arrays, "", "model")
    with pytest.raises(lt.errors.FileFormatError, match="a term of the vectorizer occurs twice"):
        verify_tfidf(twice)
