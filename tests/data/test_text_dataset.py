"""Texts with named labels become Datasets."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

import labeltrees as lt
from labeltrees.data.text_dataset import no_features, text_dataset

TEXTS = ["a red cat sat", "the red dog sat", "one dog", "čeština, one cat"]
LABELS = [["cat", "red"], ["dog", "red", "dog"], ["dog"], []]


def test_features_are_scikit_learns_and_labels_sorted_names():
    dataset = text_dataset(TEXTS, LABELS)
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
    np.testing.assert_array_equal(dataset.X.toarray(), vectorizer.fit_transform(TEXTS).toarray())
    assert dataset.feature_names.tolist() == vectorizer.get_feature_names_out().tolist()
    binarizer = MultiLabelBinarizer()
    np.testing.assert_array_equal(dataset.Y.toarray(), binarizer.fit_transform(LABELS))
    assert dataset.label_names.tolist() == binarizer.classes_.tolist()
    assert dataset.texts.tolist() == TEXTS


def test_a_fitted_vectorizer_and_given_names_are_kept():
    vectorizer = TfidfVectorizer(dtype=np.float32).fit(["cat dog", "red"])
    dataset = text_dataset(TEXTS, LABELS, vectorizer, ["red", "dog", "unused", "cat"])
    assert dataset.feature_names.tolist() == ["cat", "dog", "red"]
    np.testing.assert_array_equal(dataset.Y.toarray(), [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("texts", "labels", "names", "message"),
    [
        (TEXTS, LABELS[:2], None, "labels must be 4 sequences of names, one per text, got '2 of them'"),
        (TEXTS, LABELS, ["red", "dog"], "label 'cat' is not in label_names"),
        (["a", "b"], [["x"], ["y"]], None, "no features can be made from the 2 texts"),
    ],
)
def test_what_does_not_fit_is_refused(texts, labels, names, message):
    with pytest.raises(lt.InputError, match=message):
        text_dataset(texts, labels, label_names=names)


def test_features_that_exist_already_are_kept_and_weights_too():
    dataset = text_dataset(TEXTS, LABELS, X=no_features(TEXTS), sample_weight=[1, 2, 3, 4])
    assert (dataset.n_points, dataset.n_features, dataset.vectorizer) == (4, 0, None)
    assert dataset.sample_weight.tolist() == [1, 2, 3, 4]
