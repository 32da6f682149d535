"""Texts of labels as points, embeddings and labels without points."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.data.texts import text_dataset
from labeltrees.models.linear.label_texts import TextPoints, add_points, text_embeddings

TEXTS = ["brown rice", "white rice", "green tea", "black tea", "rye bread", "white bread"] * 2
LABELS = [["rice"], ["rice"], ["tea"], ["tea"], ["bread"], ["bread"]] * 2
PARAMETERS = {"loss": lt.Solver(prune_below=0), "fanout": 2}


def same_weights(one, other):
    return all(
        np.array_equal(a.chunks, b.chunks) for a, b in zip(one.searcher_.stores, other.searcher_.stores, strict=True)
    )


def test_a_label_without_points_is_found_by_its_text():
    texts = {"rice": "rice", "toast": ["toasted white bread", "rye"]}
    model = lt.LabelTreeClassifier(**PARAMETERS).fit(TEXTS, LABELS, label_texts=texts)
    assert model.classes_.tolist() == ["bread", "rice", "tea", "toast"]
    assert model.label_counts_.tolist() == [4, 4, 4, 0]
    assert model.n_points_ == 12
    assert "toast" in model.predict_topk(["rye"], 2)[0]
    assert model.tree_.unplaced_labels.tolist() == [3]
    as_points = lt.LabelTreeClassifier(label_texts="missing", **PARAMETERS).fit(TEXTS, LABELS, label_texts=texts)
    assert "toast" in as_points.predict_topk(["rye"], 2)[0]
    assert as_points.tree_.unplaced_labels.size == 0


@pytest.mark.parametrize("which", ["auto", "missing", "all"])
def test_words_that_only_texts_of_labels_have_become_features(which, caplog):
    texts = {"toast": ["toasted white bread", "rye"], "banana": ["banana", "plantain"], "kiwi": "kiwi", "rice": "rice"}
    model = lt.LabelTreeClassifier(label_texts=which, **PARAMETERS).fit(TEXTS, LABELS, label_texts=texts)
    assert not caplog.records
    assert model.vectorizer_.get_feature_names_out()[-4:].tolist() == ["banana", "kiwi", "plantain", "toasted"]
    assert model.predict_topk(["a banana", "kiwi"], 1)[0].ravel().tolist() == ["banana", "kiwi"]


@pytest.mark.parametrize("which", ["auto", "missing", "all"])
def test_labels_without_a_known_word_are_reported(which, caplog):
    texts = {"toast": ["toasted white bread", "rye"], "banana": ["banana", "plantain"], "kiwi": "kiwi", "rice": "rice"}
    data = text_dataset(TEXTS, LABELS, "words")
    data = lt.Dataset(data.X, data.Y, data.label_names, vectorizer=data.vectorizer)  # without the texts of its points
    lt.LabelTreeClassifier(label_texts=which, **PARAMETERS).fit(data, label_texts=texts)
    assert [record.getMessage() for record in caplog.records] == [
        "label_texts: 2 labels without training points, such as 'banana', cannot be found: none of their words is a "
        "feature"
    ]


def test_a_label_without_texts_is_not_reported(caplog):
    lt.LabelTreeClassifier(**PARAMETERS).fit(TEXTS, LABELS, label_texts={"toast": "white", "banana": ""})
    assert not caplog.records


def test_extra_points_are_points_like_others():
    given = ["dark bread", "brown rice", "tea tea"]
    model = lt.LabelTreeClassifier(label_texts={"points": "all", "embedding": 0}, **PARAMETERS).fit(
        TEXTS, LABELS, label_texts=given
    )
    vectorizer = lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit(TEXTS)
    X = sp.vstack([vectorizer.transform(TEXTS), vectorizer.transform(given)])
    expected = lt.LabelTreeClassifier(**PARAMETERS).fit(X, [*LABELS, ["bread"], ["rice"], ["tea"]])
    assert same_weights(model, expected)


def test_their_weight_is_a_sample_weight():
    given = ["dark bread", "brown rice", "tea tea"]
    parameters = {"label_texts": {"points": "all", "weight": 0.25, "embedding": 0}, **PARAMETERS}
    model = lt.LabelTreeClassifier(**parameters).fit(TEXTS, LABELS, sample_weight=np.full(12, 2.0), label_texts=given)
    vectorizer = lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32).fit(TEXTS)
    X = sp.vstack([vectorizer.transform(TEXTS), vectorizer.transform(given)])
    weights = np.array([2.0] * 12 + [0.5] * 3)
    expected = lt.LabelTreeClassifier(**PARAMETERS).fit(X, [*LABELS, ["bread"], ["rice"], ["tea"]], weights)
    assert same_weights(model, expected)


def test_texts_in_embeddings_change_only_the_tree():
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    texts = [" ".join(rng.choice(words, 5)) for _ in range(200)]
    labels = [[f"l{i}"] for i in rng.integers(0, 30, 200)]
    names = {f"l{i}": words[i % 4] for i in range(30)}
    plain = lt.LabelTreeClassifier(fanout=2).fit(texts, labels)
    without = {"points": "none", "embedding": 0.0}
    kept = lt.LabelTreeClassifier(fanout=2, label_texts=without).fit(texts, labels, label_texts=names)
    assert same_weights(plain, kept)
    used = lt.LabelTreeClassifier(fanout=2, label_texts={"embedding": 5.0}).fit(texts, labels, label_texts=names)
    assert used.tree_ != plain.tree_
    given = lt.LabelTreeClassifier(fanout=2, tree=used.tree_).fit(texts, labels)
    assert same_weights(used, given)


def test_embeddings_are_the_sum_of_points_and_texts():
    X = sp.csr_array(np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]], np.float32))
    Y = sp.csr_array(np.array([[1.0, 0], [0, 1], [1, 0]], np.float32))
    points = TextPoints(sp.csr_array(np.array([[0, 0, 1.0], [0, 0, 1]], np.float32)), np.array([1, 1]))
    half = 2**-0.5
    found = text_embeddings(X, Y, points, 0.5, 1)
    np.testing.assert_allclose(found.toarray(), [[half, half, 0], [0, 1, 0.5]], rtol=1e-6)
    assert text_embeddings(X, Y, points, 0.0, 1) is None
    assert text_embeddings(X, Y, None, 1.0, 1) is None


def test_points_without_other_labels_are_added():
    X, Y = np.eye(2, dtype=np.float32), sp.csr_array(np.array([[1, 0, 0], [1, 0, 0]], np.float32))
    points = TextPoints(sp.csr_array(np.eye(2, dtype=np.float32)), np.array([0, 2]))
    more_X, more_Y, weights = add_points(X, Y, None, points, "missing", 1.0)
    assert more_X.tolist() == [[1, 0], [0, 1], [0, 1]]
    assert more_Y.toarray().tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert weights is None
    assert add_points(X, Y, None, points, "none", 1.0)[0] is X


def test_a_model_of_features_only_keeps_texts(caplog):
    texts = {"a": "ants", "z": "zebras"}
    model = lt.LabelTreeClassifier().fit(np.eye(2), [["a"], ["b"]], label_texts=texts)
    assert model.label_texts_.lists() == [["ants"], []]
    assert model.classes_.tolist() == ["a", "b"]
    assert "left out 1 label without training points, such as 'z'" in caplog.text


def test_texts_are_saved_with_the_model(tmp_path):
    model = lt.LabelTreeClassifier().fit(TEXTS, LABELS, label_texts={"rice": ["Reis", "riisi"], "tea": "Tee"})
    model.save(tmp_path / "model")
    copy = lt.load(tmp_path / "model", verify=True)
    assert copy.label_texts_.lists() == [[], ["Reis", "riisi"], ["Tee"]]
    copy.save(tmp_path / "again")
    assert lt.load(tmp_path / "again").label_texts_.titles([2, 1]).tolist() == ["Tee", "Reis"]
    assert lt.LabelTreeClassifier().fit(TEXTS, LABELS).label_texts_ is None
