"""Retired labels are in no answer; restored ones are back; names change; compact models answer the same."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.storage import load_arrays, save_arrays

N_LABELS = 60
RETIRED = np.arange(0, N_LABELS, 3)


def make_points(n=400, seed=0, dense=False):
    rng = np.random.default_rng(seed)
    centres = rng.random((N_LABELS, 40)) ** 6
    labels = rng.integers(0, N_LABELS, (n, 2))
    X = (centres[labels].sum(axis=1) + 0.05 * rng.random((n, 40))).astype(np.float32)
    X[X < 0.1] = 0.01 if dense else 0
    Y = np.zeros((n, N_LABELS), np.int8)
    np.put_along_axis(Y, labels, 1, axis=1)
    return X if dense else sp.csr_array(X), sp.csr_array(Y)


X, Y = make_points()
QUERIES = make_points(80, seed=0)[0]
KINDS = {
    "default": {},
    "logistic": {"loss": "logistic"},
    "two trees": {"n_trees": 2},
    "paths": {"search": "paths", "tradeoff": 1.5},
    "evidence": {"evidence": "both"},
    "flat": {"tree": "flat"},
}


@pytest.fixture(params=KINDS)
def model(request):
    return lt.LabelTreeClassifier(C=1.0, fanout=8, **KINDS[request.param]).fit(X, Y)


def all_scores(model, X):
    """Return the score of every label by asking for one candidate at a time."""
    scores = np.zeros((X.shape[0], N_LABELS))
    for label in range(N_LABELS):
        labels, found = model.predict_topk(X, 1, candidates=[label], beam=None)
        scores[:, label] = np.where(labels[:, 0] == label, found[:, 0], 0)
    return scores


@pytest.mark.parametrize("kind", ["default", "logistic", "paths", "flat"])
def test_lists_equal_those_of_brute_force_over_the_other_labels(kind):
    model = lt.LabelTreeClassifier(C=1.0, fanout=8, **KINDS[kind]).fit(X, Y)
    scores = all_scores(model, QUERIES)
    scores[:, RETIRED] = -1
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    labels, found = model.retire(RETIRED).predict_topk(QUERIES, 5, beam=None)
    np.testing.assert_allclose(found, np.take_along_axis(scores, expected, 1), rtol=1e-5)
    np.testing.assert_array_equal(labels, expected)


def test_no_mode_returns_a_retired_label(model):
    before = model.predict_topk(QUERIES, 5)
    predictor = model.predictor()  # made before: it follows
    model.calibrate(make_points(900, seed=0)[0])
    model.retire(RETIRED)
    answers = [
        model.predict_topk(QUERIES, N_LABELS)[0],
        model.predict_topk(QUERIES, 5, beam=1)[0],
        model.predict_topk(QUERIES, 5, agreement=0.9)[0],
        model.predict_topk(QUERIES, 5, max_chunks=2)[0],
        model.predict_topk(QUERIES, 5, candidates=RETIRED)[0],
        model.predict_topk(QUERIES, 5, candidates=model.label_set(RETIRED))[0],
        model.predict_topk(QUERIES, 5, exclude=model.label_set([1, 2]))[0],
        model.predict_topk(QUERIES, 5, label_weight=np.linspace(1, 2, N_LABELS))[0],
        model.predict_topk(sp.csr_array((1, QUERIES.shape[1])), 5)[0],  # no features: the most frequent labels
        predictor(QUERIES[:1])[0],
        predictor.lists(QUERIES[:1])[0],
        predictor(QUERIES[:1], candidates=RETIRED.tolist())[0],
        model.predict(QUERIES).indices,
        model.predict_scores(QUERIES, 7).indices,
    ]
    for answer in answers:
        assert not np.isin(np.asarray(answer, dtype=int), RETIRED).any()
    assert set(model.retired_.tolist()) == set(RETIRED.tolist())
    restored = model.restore(RETIRED).predict_topk(QUERIES, 5)
    np.testing.assert_array_equal(restored[0], before[0])
    np.testing.assert_array_equal(restored[1], before[1])


def test_retired_labels_survive_saving_and_pickling(model, tmp_path):
    model.retire(RETIRED)
    expected = model.predict_topk(QUERIES, 5)
    model.save(tmp_path / "model")
    for copy in (lt.load(tmp_path / "model", verify=True), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copy.retired_, RETIRED)
        np.testing.assert_array_equal(copy.predict_topk(QUERIES, 5)[0], expected[0])
        copy.restore(RETIRED[:1])
        assert 0 not in copy.retired_


def test_compact_models_answer_the_same_without_a_trace_of_the_label(model, tmp_path):
    model.retire(RETIRED)
    labels, scores = model.predict_topk(QUERIES, 5)
    size = sum(store.nbytes for store in model.searcher_.stores)
    model.compact()
    assert sum(store.nbytes for store in model.searcher_.stores) < size
    model.save(tmp_path / "model")
    for compacted in (model, lt.load(tmp_path / "model", verify=True)):
        found = compacted.predict_topk(QUERIES, 5)
        np.testing.assert_allclose(found[1], scores, rtol=1e-5)
        assert (found[0] == labels).mean() > 0.99  # equal scores may change places
    with pytest.raises(InputError, match="all labels are retired"):
        model.retire(np.arange(N_LABELS)).compact()


def test_compact_numbers_named_labels_anew():
    names = [f"label {i}" for i in range(N_LABELS)]
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(lt.Dataset(X, Y, label_names=names))
    model.retire([names[i] for i in RETIRED])
    before = model.predict_topk(QUERIES, 5)
    model.compact()
    after = model.predict_topk(QUERIES, 5)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-5)
    assert (after[0] == before[0]).mean() > 0.99
    assert model.searcher_.n_labels == N_LABELS - len(RETIRED) == len(model.classes_) == len(model.label_counts_)
    assert names[0] not in model.classes_
    assert len(model.retired_) == 0


def test_dense_points_can_be_compacted():
    X, Y = make_points(dense=True)
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(X, Y).retire(RETIRED)
    before = model.predict_topk(X[:50], 5)
    after = model.compact().predict_topk(X[:50], 5)
    np.testing.assert_allclose(after[1], before[1], rtol=1e-5)


def test_text_models_retire_labels_too(tmp_path):
    texts = [f"word{i % 7} word{i % 11} all" for i in range(300)]
    labels = [[f"seven {i % 7}", f"eleven {i % 11}"] for i in range(300)]
    model = lt.TextLabelTreeClassifier(dim=8, epochs=5, n_jobs=1).fit(texts, labels)
    predictor = model.predictor(names=True)
    gone = ["seven 1", "eleven 3"]
    model.retire(gone)
    model.save(tmp_path / "model")
    for copy in (model, lt.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        found = copy.predict_topk(texts[:20], 18)[0]
        assert not set(gone) & set(found.ravel().tolist())
        assert (found[0] != None).sum() == 16  # noqa: E711
    assert not set(gone) & set(predictor(texts[1], 18)[0])
    assert "seven 1" in model.restore(gone).predict_topk(texts[:20], 18)[0]


def test_fasttext_gets_no_retired_label(tmp_path):
    model = lt.TextLabelTreeClassifier(dim=8, epochs=5, n_jobs=1).fit(
        ["red apple", "green pear"] * 20, [["a"], ["b"]] * 20
    )
    model.retire("a")
    with pytest.raises(InputError, match="retired"):
        model.export_fasttext(tmp_path / "model.bin")
    model.restore("a").export_fasttext(tmp_path / "model.bin")


def test_classes_are_never_retired_ones():
    model = lt.LabelTreeClassifier(C=1.0).fit(np.eye(3), ["a", "b", "c"])
    assert model.retire(["a", "b"]).predict(np.eye(3)).tolist() == ["c"] * 3
    model.retire("c")
    with pytest.raises(InputError, match="not retired"):
        model.predict(np.eye(3))


def test_names_change():
    names = [f"label {i}" for i in range(N_LABELS)]
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(lt.Dataset(X, Y, label_names=names))
    before = model.predict_topk(QUERIES, 3)[0]
    model.rename(["label 1", "label 2"], ["label 2", "one"])
    expected = np.where(before == "label 1", "label 2", np.where(before == "label 2", "one", before))
    np.testing.assert_array_equal(model.predict_topk(QUERIES, 3)[0], expected)
    assert model.predict_topk(QUERIES, 1, candidates=["one"])[0][0, 0] == "one"
    model.rename("one", "uno")
    for old, new, message in [
        ("one", "x", "names of labels that the model knows"),
        ("uno", "label 3", "no other label"),
        (["uno"], ["a", "b"], "one for each"),
        ("uno", 3, "iterable|names"),
        ("uno", "\ud800", "Unicode"),
    ]:
        with pytest.raises((InputError, TypeError), match=message):
            model.rename(old, new)
    with pytest.raises(InputError, match="no names"):
        lt.LabelTreeClassifier(C=1.0).fit(X, Y).rename("a", "b")


@pytest.mark.parametrize("labels", [[-1], [N_LABELS], ["a"], 5, [[1]], [0.5]])
def test_labels_that_do_not_exist_are_refused(labels):
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(X, Y)
    with pytest.raises(InputError, match="labels must be"):
        model.retire(labels)


@pytest.mark.parametrize("damage", [[-1, 2], [2, 2], [3, N_LABELS], [1], []])
def test_damaged_retired_labels_are_refused(damage, tmp_path):
    lt.LabelTreeClassifier(C=1.0).fit(X, Y).retire([1, 2]).save(tmp_path / "model")
    loaded = load_arrays(tmp_path / "model")
    arrays = {**loaded.arrays, "retired": np.array(damage, np.int32)}
    parameters = {**loaded.manifest.parameters, "retired": 2}
    save_arrays(tmp_path / "damaged", loaded.manifest.kind, parameters, arrays)
    with pytest.raises(FileFormatError, match="retired labels"):
        lt.load(tmp_path / "damaged")
