"""Updates: new points and labels come in, and only what changed is trained."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.metrics import precision_at_k
from labeltrees.models.linear import retrain
from labeltrees.search.evidence import Evidence
from labeltrees.storage.splice import unpack_nodes
from labeltrees.tree import placement

N_LABELS = 80
pytestmark = pytest.mark.filterwarnings("ignore:agreement|probabilities|the evidence")


def make_points(n=600, seed=0, n_features=60):
    centres = np.random.default_rng(7).random((N_LABELS, n_features)) ** 8
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, N_LABELS, (n, 2))
    X = (centres[labels].sum(axis=1) + 0.05 * rng.random((n, n_features))).astype(np.float32)
    X[X < 0.1] = 0
    Y = np.zeros((n, N_LABELS), np.float32)
    np.put_along_axis(Y, labels, 1, axis=1)
    return sp.csr_array(X), sp.csr_array(Y)


X, Y = make_points()
QUERIES, TRUTH = make_points(300, seed=1)
HELD_BACK = np.arange(0, N_LABELS, 8)
HAS = Y[:, HELD_BACK].sum(axis=1) > 0
OLD, NEW = np.flatnonzero(~HAS), np.flatnonzero(HAS)


def p1(model):
    return precision_at_k(TRUTH, model.predict_topk(QUERIES, 5, beam=None)[0], 1)


def fitted(**parameters):
    """Return a model of the points without the labels that are held back; its last labels are among them."""
    return lt.LabelTreeClassifier(**{"C": 1.0, "fanout": 8, **parameters}).fit(X[OLD], Y[OLD])


def arrays_of(model):
    return {name: array for store in model.searcher_.stores for name, array in store.arrays().items()}


def assert_same_bytes(model, other):
    assert len(model.searcher_.stores) == len(other.searcher_.stores)
    for own, its in zip(model.searcher_.stores, other.searcher_.stores, strict=True):
        for name, array in own.arrays().items():
            np.testing.assert_array_equal(array, its.arrays()[name], err_msg=name)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"loss": "logistic"}, {"tradeoff": 2.0}, {"fanout": 2, "leaf_size": 10}, {"tree": "flat"}, {"n_trees": 2}],
    ids=str,
)
def test_an_updated_model_answers_like_a_full_fit(parameters):
    model = fitted(**parameters)
    before = p1(model)
    report = model.update(X[NEW], Y[NEW], replay=(X[OLD], Y[OLD]))
    full = lt.LabelTreeClassifier(**{"C": 1.0, "fanout": 8, **parameters}).fit(X, Y)
    assert report.new_labels == HELD_BACK.tolist()
    assert report.n_points == len(NEW)
    assert report.continued + report.trained > 0
    assert p1(model) > before
    assert p1(model) > p1(full) - 0.05
    np.testing.assert_array_equal(model.label_counts_, full.label_counts_)
    assert model.n_points_ == len(OLD) + len(NEW)
    assert (model.tree_.label_parent >= 0).all()
    assert set(model.predict_topk(QUERIES, 5)[0].ravel().tolist()) & set(HELD_BACK.tolist())


@pytest.mark.parametrize("parameters", [{}, {"loss": "logistic"}, {"C": "auto"}, {"tradeoff": 1.5}], ids=str)
def test_an_exact_update_has_the_bytes_of_a_fit_on_its_tree(parameters):
    model = fitted(**parameters)
    report = model.update(X[NEW], Y[NEW], replay=(X[OLD], Y[OLD]), exact=True)
    all_X, all_Y = sp.vstack([X[OLD], X[NEW]], "csr"), sp.vstack([Y[OLD], Y[NEW]], "csr")
    full = lt.LabelTreeClassifier(**{"C": 1.0, "fanout": 8, **parameters, "tree": model.tree_}).fit(all_X, all_Y)
    assert report.exact
    assert_same_bytes(model, full)


def test_an_exact_update_trains_only_nodes_whose_input_changed():
    model = fitted()
    leaf = int(np.argmax(np.bincount(model.tree_.label_parent[model.tree_.label_parent > 0])))
    label = int(np.flatnonzero(model.tree_.label_parent == leaf)[0])
    one = sp.csr_array(([1.0], ([0], [label])), shape=(1, N_LABELS))
    report = model.update(X[:1], one, replay=(X[OLD], Y[OLD]), exact=True)
    assert report.kept > 0
    full = lt.LabelTreeClassifier(C=1.0, fanout=8, tree=model.tree_).fit(
        sp.vstack([X[OLD], X[:1]], "csr"), sp.vstack([Y[OLD], one], "csr")
    )
    assert_same_bytes(model, full)


def test_exact_after_a_quick_update_trains_all():
    model = fitted()
    half = len(NEW) // 2
    model.update(X[NEW[:half]], Y[NEW[:half]], replay=(X[OLD], Y[OLD]))
    seen = np.concatenate([OLD, NEW[:half]])
    model.update(X[NEW[half:]], Y[NEW[half:]], replay=(X[seen], Y[seen]), exact=True)
    everything = np.concatenate([OLD, NEW])
    full = lt.LabelTreeClassifier(C=1.0, fanout=8, tree=model.tree_).fit(X[everything], Y[everything])
    assert_same_bytes(model, full)


def test_classifiers_without_new_points_keep_their_bytes():
    model = fitted()
    before = pickle.loads(pickle.dumps(model))
    label = int(np.flatnonzero(model.tree_.label_parent > 0)[0])
    one = sp.csr_array(([1.0], ([0], [label])), shape=(1, N_LABELS))
    report = model.update(X[:1], one, replay=(X[OLD], Y[OLD]))
    assert report.kept > report.continued + report.trained
    touched = set()
    node = int(model.tree_.label_parent[label])
    while node >= 0:
        touched.add(node)
        node = int(model.tree_.parent[node])
    for node in set(range(model.tree_.n_nodes)) - touched:
        own, its = (unpack_nodes(m.searcher_.stores[0], [node]) for m in (model, before))
        np.testing.assert_array_equal(own.values, its.values)


def test_continued_classifiers_approach_those_of_a_full_training(monkeypatch):
    """With all old points and many passes, going on from the old weights finds the optimum over all points."""
    monkeypatch.setattr(retrain, "SAMPLED", 1e9)
    monkeypatch.setattr(retrain, "WARM_PASSES", 60)
    monkeypatch.setattr(retrain, "COLD_SHARE", 1e9)
    monkeypatch.setattr(retrain, "NEGATIVES_SHARE", 0.0)
    solver = lt.Solver(eps=1e-3, prune_below=0.0, max_iter=1000)
    rng = np.random.default_rng(0)
    old = np.sort(rng.choice(600, 500, replace=False))
    new = np.setdiff1d(np.arange(600), old)
    base = lt.LabelTreeClassifier(C=1.0, fanout=8, loss=solver).fit(X[old], Y[old])
    full = lt.LabelTreeClassifier(C=1.0, fanout=8, loss=solver, tree=base.tree_).fit(
        X[np.concatenate([old, new])], Y[np.concatenate([old, new])]
    )
    continued = pickle.loads(pickle.dumps(base))
    report = continued.update(X[new], Y[new], replay=(X[old], Y[old]))
    assert report.continued > 0
    assert report.trained == 0

    wanted = weights(full)
    assert np.abs(weights(continued) - wanted).mean() < 0.1 * np.abs(weights(base) - wanted).mean()


def weights(model):
    """Return the weights of all classifiers (edges, features)."""
    found = unpack_nodes(model.searcher_.stores[0], np.arange(model.tree_.n_nodes))
    return sp.csr_array((found.values, found.features, found.indptr), shape=(len(found.bias), 60)).toarray()


def test_sampled_old_points_stand_for_the_others(monkeypatch):
    """Every old point occurs 64 times, so that a few copies of each can stand for all of them."""
    monkeypatch.setattr(retrain, "SAMPLED", 1.0)
    monkeypatch.setattr(retrain, "WARM_PASSES", 60)
    monkeypatch.setattr(retrain, "COLD_SHARE", 1e9)
    solver = lt.Solver(eps=1e-3, prune_below=0.0, max_iter=1000)
    old, new = np.tile(np.arange(500), 64), np.tile(np.arange(500, 600), 32)
    both = np.concatenate([old, new])
    base = lt.LabelTreeClassifier(C=1 / 64, tree="flat", loss=solver).fit(X[old], Y[old])
    full = lt.LabelTreeClassifier(C=1 / 64, tree=base.tree_, loss=solver).fit(X[both], Y[both])
    continued, trained = pickle.loads(pickle.dumps(base)), []
    train = retrain.train_problem
    monkeypatch.setattr(retrain, "train_problem", lambda *all, **more: trained.append(all[0]) or train(*all, **more))
    continued.update(X[new], Y[new], replay=(X[old], Y[old]))
    assert len(trained) == 1
    assert len(trained[0].extra) < 0.25 * len(both)
    wanted = weights(full)
    assert np.abs(weights(continued) - wanted).mean() < 0.2 * np.abs(weights(base) - wanted).mean()


@pytest.mark.parametrize("parameters", [{}, {"tradeoff": 1.5}, {"n_trees": 2}, {"loss": "logistic"}], ids=str)
def test_the_update_that_trains_all_classifiers_is_a_full_fit(parameters):
    how = {"C": 1.0, "fanout": 8, **parameters}
    model, seen = lt.LabelTreeClassifier(**how).fit(X[OLD], Y[OLD]), OLD
    for some in np.array_split(NEW, 2):
        report = model.update(X[some], Y[some], replay=(X[seen], Y[seen]))
        seen = np.concatenate([seen, some])
    assert (report.kept, report.continued, report.n_rebuilt) == (0, 0, len(model.trees_))
    assert report.full_fit_advised is None
    full = lt.LabelTreeClassifier(**how).fit(X[seen], Y[seen])
    assert_same_bytes(model, full)
    for own, its in zip(model.trees_, full.trees_, strict=True):
        np.testing.assert_array_equal(own.children, its.children)
    one = model.update(X[:1], Y[:1], replay=(X[seen], Y[seen]))
    assert one.kept > 0


def test_a_given_tree_is_not_built_anew():
    for given in ("flat", fitted().tree_):
        model, seen = lt.LabelTreeClassifier(C=1.0, fanout=8, tree=given).fit(X[OLD], Y[OLD]), OLD
        for some in np.array_split(NEW, 2):
            report = model.update(X[some], Y[some], replay=(X[seen], Y[seen]))
            seen = np.concatenate([seen, some])
        assert (report.kept, report.continued) == (0, 0)
        assert report.n_rebuilt < 2
        assert len(report.moved_labels) < N_LABELS / 4


def test_labels_without_points_in_replay_stay():
    model, seen = fitted(), OLD
    label = int(model.predict_topk(QUERIES, 1)[0][0, 0])
    before = model.predict_topk(QUERIES, 1)[0].ravel() == label
    for some in np.array_split(NEW, 2):
        some, kept = (rows[Y[rows][:, [label]].toarray().ravel() == 0] for rows in (some, seen))
        model.update(X[some], Y[some], replay=(X[kept], Y[kept]))
        seen = np.concatenate([kept, some])
    assert (model.predict_topk(QUERIES, 5)[0] == label).any(axis=1)[before].mean() > 0.8


def test_many_small_updates_end_with_a_training_of_all_classifiers():
    model, old = fitted(), OLD
    all_trained = []
    for some in np.array_split(NEW, 4):
        report = model.update(X[some], Y[some], replay=(X[old], Y[old]))
        old = np.concatenate([old, some])
        all_trained.append(report.kept + report.continued == 0)
        model = pickle.loads(pickle.dumps(model))  # the count of added points is part of the model
        assert (model.stats_["updates"]["points"] == 0) == all_trained[-1]
    assert not all_trained[0]
    assert any(all_trained)


def test_without_replay_old_classifiers_keep_their_weights():
    model = fitted()
    before = pickle.loads(pickle.dumps(model))
    report = model.update(X[NEW], Y[NEW])
    assert (report.continued, report.trained, len(report.new_labels)) == (0, len(HELD_BACK), len(HELD_BACK))
    assert (model.tree_.label_parent >= 0).all()
    old = np.setdiff1d(np.arange(N_LABELS), HELD_BACK)
    expected = before.predict_topk(QUERIES, 5, beam=None)
    found = model.predict_topk(QUERIES, 5, beam=None, candidates=old)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
    assert set(model.predict_topk(QUERIES, 5)[0].ravel().tolist()) & set(HELD_BACK.tolist())


def test_forget_is_a_fit_without_the_points():
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(X, Y)
    gone = np.union1d(np.flatnonzero(Y[:, [5]].toarray().ravel()), [0, 17])
    report = model.forget(gone, (X, Y))
    assert (report.n_forgotten, report.retired_labels) == (len(gone), [5])
    assert str(report).startswith(f"{len(gone)} points forgotten; 1 label retired because no point is left: 5\n")
    kept = np.setdiff1d(np.arange(600), gone)
    full = lt.LabelTreeClassifier(C=1.0, fanout=8, tree=model.tree_).fit(X[kept], Y[kept])
    assert_same_bytes(model, full)
    assert report.exact
    assert 5 in model.retired_
    assert 5 not in model.predict_topk(QUERIES, 20)[0]
    assert model.n_points_ == len(kept)
    mask = np.zeros(len(kept), bool)
    mask[3] = True
    kept_more = np.delete(kept, 3)
    report = model.forget(mask, (X[kept], Y[kept]))
    assert str(report).startswith("1 point forgotten\n")
    assert report.kept > 0
    assert_same_bytes(model, lt.LabelTreeClassifier(C=1.0, fanout=8, tree=model.tree_).fit(X[kept_more], Y[kept_more]))


def test_forgetting_leaves_out_labels_that_were_removed():
    labels = [[f"label {label}" for label in row.nonzero()[0]] for row in Y.toarray()]
    model = lt.LabelTreeClassifier(C=1.0, fanout=8).fit(X, labels)
    model.retire(["label 3"]).compact()
    with pytest.warns(UserWarning, match="left out"):
        report = model.forget([0], (X, labels))
    assert report.exact
    assert "label 3" not in model.classes_
    assert model.n_points_ == 599


def test_old_points_may_have_the_names_from_before_a_rename(tmp_path):
    texts, labels = FRUIT, FRUIT_LABELS
    model = lt.LabelTreeClassifier(C=1.0).fit(texts, labels)
    model.rename("apple", "Apfel").rename("Apfel", "pomme").save(tmp_path / "model")
    model = lt.load(tmp_path / "model")
    now = [["pomme"] if own == ["apple"] else own for own in labels]
    both = [*now[:10], *labels[10:]]
    for old in (labels, now, both):
        copy = pickle.loads(pickle.dumps(model))
        assert copy.forget([0], (texts, old)).retired_labels == []
        assert dict(zip(copy.classes_, copy.label_counts_, strict=True)) == {"pomme": 9, "pear": 10}
        assert copy.update(["a fig"], [["fig"]], replay=(texts[1:], old[1:]), exact=True).notes == []
        assert copy.label_counts_.tolist() == [9, 10, 1]
    twice = [["apple", "pomme"], *labels[1:]]
    model.forget([1], (texts, twice))
    assert model.label_counts_.tolist() == [9, 10]
    model.rename("pomme", "apple")
    assert model.stats_["renamed"] == {"Apfel": "apple", "pomme": "apple"}


def test_forgetting_needs_points_of_all_trained_labels():
    model = lt.LabelTreeClassifier(C=1.0).fit(FRUIT, FRUIT_LABELS)
    names = [["Apfel"] if own == ["apple"] else own for own in FRUIT_LABELS]
    with pytest.raises(InputError, match="no point of 1 label that the model was trained on: 'apple'"):
        model.forget([0], (FRUIT, names))
    assert model.retired_.tolist() == []
    with pytest.warns(UserWarning, match="10 labels of old points were left out"):
        model.retire("apple").forget([2], (FRUIT, names))
    assert model.label_counts_.tolist() == [0, 9]


def test_names_and_columns_are_appended():
    texts = ["red apple", "green apple", "ripe pear", "green pear"] * 5
    labels = [["apple"], ["apple"], ["pear"], ["pear"]] * 5
    model = lt.LabelTreeClassifier(C=1.0).fit(texts, labels)
    n_features = model.n_features_in_
    report = model.update(["blue plum", "ripe plum"] * 3, [["plum"], ["plum", "pear"]] * 3, replay=(texts, labels))
    assert report.new_labels == ["plum"]
    assert model.n_features_in_ == n_features + report.n_new_features == n_features + 2
    assert model.classes_.tolist() == ["apple", "pear", "plum"]
    assert model.predict_topk(["a blue plum"], 1)[0].tolist() == [["plum"]]
    assert model.predictor(1, names=True)("a red apple")[0] == ["apple"]


FRUIT = ["red apples", "green apple", "ripe pears", "green pear"] * 5
FRUIT_LABELS = [["apple"], ["apple"], ["pear"], ["pear"]] * 5


def test_saved_updates_load(tmp_path):
    model = fitted()
    model.update(X[NEW], Y[NEW], replay=(X[OLD], Y[OLD]))
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model", verify=True)
    np.testing.assert_array_equal(loaded.predict_topk(QUERIES, 5)[0], model.predict_topk(QUERIES, 5)[0])
    report = loaded.update(X[NEW], Y[NEW], replay=(X, Y), exact=False)
    assert report.new_labels == []


def test_wide_nodes_are_split_and_drifted_subtrees_rebuilt():
    model = lt.LabelTreeClassifier(C=1.0, fanout=4).fit(X[OLD], Y[OLD])
    widest = int(np.diff(model.tree_.child_ptr).max())
    report = model.update(X[NEW], Y[NEW], replay=(X[OLD], Y[OLD]))
    assert report.n_split + report.n_rebuilt > 0
    assert np.diff(model.tree_.child_ptr).max() <= max(int(placement.SLACK * 4), widest)
    assert report.expected_depth > 0
    assert report.similarity is not None


def test_what_an_update_cannot_keep_is_said():
    model = fitted().calibrate(make_points(900, seed=3)[0])
    model.searcher_.evidence = Evidence(N_LABELS, 60)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        report = model.update(X[NEW], Y[NEW])
    assert model.early_stop_ is None
    assert model.searcher_.evidence is None
    assert any("agreement" in note for note in report.notes)
    assert any("evidence" in str(warning.message) for warning in said)
    assert "new label" in str(report)
    assert report.to_dict()["n_points"] == len(NEW)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: {"X": X[NEW], "Y": Y[NEW], "exact": True}, "needs replay"),
        (lambda: {"X": X[NEW][:, :5], "Y": Y[NEW]}, "at least 60 columns"),
        (lambda: {"X": X[NEW], "Y": Y[NEW[:3]]}, "same number of rows"),
        (lambda: {"X": X[NEW], "Y": Y[NEW], "replay": 5}, "replay must be"),
        (lambda: {"X": X[:2], "Y": [["a"], ["b"]]}, "no names"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        fitted().update(**arguments())


@pytest.mark.parametrize("points", [[-1], [600], [0.5], [[1]], np.ones(600, bool)])
def test_points_that_are_not_there_cannot_be_forgotten(points):
    with pytest.raises(InputError):
        lt.LabelTreeClassifier(C=1.0).fit(X, Y).forget(points, (X, Y))


def test_forgetting_no_point_changes_nothing():
    model = lt.LabelTreeClassifier(C=1.0).fit(X, Y)
    before = model.predict_topk(X, 3)[1]
    model.forget([], (X, Y))
    np.testing.assert_array_equal(model.predict_topk(X, 3)[1], before)


def test_partial_fit_fits_first_and_updates_then():
    model = lt.LabelTreeClassifier(C=1.0, fanout=8)
    assert model.partial_fit(X[OLD], Y[OLD], classes=np.arange(N_LABELS)) is model
    model.partial_fit(X[NEW], Y[NEW])
    assert model.n_points_ == 600
    assert (model.tree_.label_parent >= 0).all()
    with pytest.raises(InputError, match="classes"):
        model.partial_fit(X[:2], [["a"], ["b"]], classes=["a", "c"])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :-1], Y)
