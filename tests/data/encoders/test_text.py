"""TextEncoder is the vectorizer, in one precision."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt

TEXTS = ["red wine", "white wine", "red shoes from Genoa"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_those_of_the_vectorizer(dtype):
    vectorizer = lt.TfidfVectorizer(dtype=dtype, sublinear_tf=True).fit(TEXTS)
    encoder = lt.TextEncoder(vectorizer)
    assert (encoder.transform(TEXTS) != vectorizer.transform(TEXTS).astype(np.float32)).nnz == 0
    assert (encoder.transform(TEXTS) != encoder._encode(TEXTS)[0]).nnz == 0  # what a predictor does
    assert encoder.feature_names.tolist() == vectorizer.get_feature_names_out().tolist()


def test_unknown_words_are_counted():
    encoder = lt.TextEncoder(lt.TfidfVectorizer().fit(TEXTS))
    assert encoder.count_unknown(["red blue green", "wine", ""]).tolist() == [2, 0, 0]


def test_hashed_terms_have_no_names():
    encoder = lt.TextEncoder(lt.TfidfVectorizer(hashing=64).fit(TEXTS))
    assert encoder.feature_names is None
    assert encoder.n_features == 64
    assert encoder.count_unknown(["anything"]).tolist() == [0]


def test_other_vectorizers_are_refused():
    with pytest.raises(lt.InputError, match="a fitted labeltrees"):
        lt.TextEncoder(Theirs().fit(TEXTS))
    with pytest.raises(ValueError, match="not fitted"):
        lt.TextEncoder(lt.TfidfVectorizer())
    with pytest.raises(lt.InputError, match=r"texts\[1\] must be a string"):
        lt.TextEncoder(lt.TfidfVectorizer().fit(TEXTS)).transform(["a", 3])
