"""Names and counts that a model keeps from its training data."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.storage import load_arrays, save_arrays

X = sp.csr_array([[1, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.2, 0.8, 0.5]], dtype=np.float32)
Y = sp.csr_array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=np.float32)
LABELS, FEATURES = ["red", "blue", "unseen"], ["x", "y", "z"]


def fitted(labels=Y, **names):
    model = lt.LabelTreeClassifier(loss=lt.Solver(prune_below=0))
    return model.fit(lt.Dataset(X, labels, **names)) if names else model.fit(X, labels)


@pytest.fixture
def saved(tmp_path):
    fitted(label_names=LABELS, feature_names=FEATURES).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("labels", [Y, Y.toarray(), [[0], [0], [1], [0, 1]]], ids=["sparse", "dense", "ids"])
def test_names_of_a_dataset_are_what_is_predicted(labels):
    model = fitted(labels, label_names=LABELS)
    assert model.predict_topk(X[:1], k=1)[0].tolist() == [["red"]]
    assert model.classes_.tolist() == LABELS
    assert model.predict(X).shape == (4, 3)


def test_names_change_nothing_else():
    plain, named = fitted(), fitted(label_names=LABELS, feature_names=FEATURES)
    np.testing.assert_array_equal(plain.predict_topk(X, k=2)[1], named.predict_topk(X, k=2)[1])


def test_a_sparse_matrix_needs_no_feature_names_where_fit_had_some(saved):
    model = lt.load(saved)
    assert model.feature_names_in_.tolist() == FEATURES
    model.predict_topk(X)  # a warning would be an error
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_a_sparse_matrix_of_other_width_is_refused():
    with pytest.raises(InputError, match="X has 2 features, but LabelTreeClassifier is expecting 3 features"):
        fitted().predict_topk(X[:, :2])


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (Y, {"label_names": LABELS[:2]}, "label_names must be 3 strings, got '2 of them'"),
        (Y, {"label_names": ["red", "blue", "red"]}, "label_names has 'red' twice"),
        (Y, {"label_names": [1, 2, 3]}, r"label_names\[0\] must be a string"),
        ([["a"]] * 4, {"label_names": ["a"]}, "label_names must be None where Y has names already"),
        (Y, {"label_names": ["red", "blue", "\ud800"]}, "a label name is not valid Unicode"),
        ([["\ud800"]] * 4, {}, "a label name is not valid Unicode"),
        ([[5], [5], [5], [5, 0]], {"label_names": LABELS}, "label_names must be 6 strings"),
        (Y, {"feature_names": ["x"]}, "feature_names must be 3 strings"),
    ],
)
def test_names_that_do_not_fit_are_refused(labels, names, message):
    with pytest.raises(InputError, match=message):
        fitted(labels, **names)


def test_the_training_points_of_each_label_are_counted_and_kept(saved):
    for model in (fitted(), lt.load(saved)):
        np.testing.assert_array_equal(model.label_counts_, Y.toarray().sum(axis=0))
        assert model.label_counts_.dtype == np.int64
        assert model.n_points_ == 4


@pytest.mark.parametrize("counts", [None, np.zeros(2, np.int64), np.zeros(3)], ids=["missing", "too few", "no counts"])
def test_a_saved_model_with_other_counts_is_refused(saved, tmp_path, counts):
    loaded = load_arrays(saved)
    arrays = {name: array for name, array in loaded.arrays.items() if name != "label_counts"}
    if counts is not None:
        arrays["label_counts"] = counts
    save_arrays(tmp_path / "other", loaded.manifest.kind, loaded.manifest.parameters, arrays)
    with pytest.raises(FileFormatError, match="label_counts does not have one count per label"):
        lt.load(tmp_path / "other")


def test_the_manifest_has_the_number_of_points(saved):
    assert json.loads((saved / "manifest.json").read_text())["parameters"]["n_points"] == 4


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


def test_a_name_in_two_unicode_forms_is_one_label(tmp_path, caplog):
    names = [[COMPOSED], [DECOMPOSED], ["tea"], [COMPOSED, "tea"]]
    model = lt.LabelTreeClassifier(loss=lt.Solver(prune_below=0)).fit(X, names)
    assert model.classes_.tolist() == [COMPOSED, "tea"]
    assert "1 label name was given in several Unicode forms" in caplog.text
    assert model.predict_topk(X[:1], k=2, exclude=[DECOMPOSED])[0].tolist() == [["tea", None]]
    assert model.score(X[:1], [[DECOMPOSED]]) == 1.0
    path = tmp_path / "a.csv"
    path.write_text(f"text,labels\nred cat,{COMPOSED}\nred cat,{DECOMPOSED}\n", encoding="utf-8")
    assert lt.read_texts(path).label_names.tolist() == [COMPOSED]


def test_given_names_in_two_unicode_forms_are_refused(tmp_path):
    with pytest.raises(InputError, match="label_names has 'caf\u00e9' twice, at 0 and 1"):
        lt.Dataset(np.eye(2), np.eye(2), label_names=[DECOMPOSED, COMPOSED])
    path = tmp_path / "a.ft"
    path.write_text(f"__label__{COMPOSED} red cat\n__label__{DECOMPOSED} red dog\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"labels in several Unicode forms .*\(1 in all\)"):
        lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1).fit_file(path)


def test_items_of_a_log_in_two_unicode_forms_are_one(tmp_path):
    path = tmp_path / "log.csv"
    rows = [f"{context},{item}" for context in "abc" for item in (COMPOSED, DECOMPOSED, "tea")]
    path.write_text("context,item\n" + "\n".join(rows) + "\n", encoding="utf-8")
    prepared = lt.prepare_logs(
        path, lt.Columns(feature_column="context", feature_separator="\t"), min_engagement=0, test_share=0
    )
    assert prepared.train.label_names.tolist() == [COMPOSED, "tea"]
