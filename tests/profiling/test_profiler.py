"""A profile of a model's searches, for both kinds of model."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.models.text.searcher import Texts
from labeltrees.profiling import hardware_counters
from tests.models.twin import make_problem

TEXTS = [f"word{i % 7} other{i % 5} word{(i * i) % 7} of text {i % 3}" for i in range(60)]
TAGS = [[f"tag{i % 7}", f"also{i % 5}"] for i in range(60)]


@pytest.fixture(scope="module")
def problem():
    return make_problem()


@pytest.fixture(scope="module")
def models(problem):
    X, Y = problem
    settings = {"fanout": 3, "prune_below": 0.0}
    return {
        "linear": (lt.LabelTreeClassifier(**settings).fit(X, Y), X),
        "trees": (lt.LabelTreeClassifier(n_trees=2, **settings).fit(X, Y), X),
        "dense": (lt.LabelTreeClassifier(**settings).fit(X.toarray(), Y), X.toarray()),
        "logistic": (lt.LabelTreeClassifier(loss="logistic", **settings).fit(X, Y), X),
        "words": (lt.LabelTreeClassifier(**settings).fit(TEXTS, TAGS), TEXTS),
        "text": (lt.TextLabelTreeClassifier(dim=8, epochs=3, n_jobs=1).fit(TEXTS, TAGS), TEXTS),
    }


KINDS = ["linear", "trees", "dense", "logistic", "words", "text"]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_a_profile_is_of_the_searches_that_the_model_does(models, kind, k):
    model, X = models[kind]
    profile = lt.profile(model, X, k, repeats=1)
    labels, _, stats = model.predict_topk(X, k, return_stats=True)
    n = len(labels)
    np.testing.assert_array_equal(profile.rows, np.arange(n))
    found = profile.labels if model.label_names_ is None else model._label_names.take(profile.labels)
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(profile.counts.each["visits"], stats.chunks)
    visits = profile.counts.visits
    np.testing.assert_array_equal(np.diff(visits.ends), stats.chunks)
    if kind != "text":
        np.testing.assert_array_equal(profile.counts.each["children"], stats.classifiers)
    trees = [model.tree_] if kind == "text" else model.trees_
    for tree in range(len(trees)):
        own = visits.trees == tree
        np.testing.assert_array_equal(visits.depths[own], trees[tree].node_depth[visits.nodes[own]])
    # A search that returns a label has opened its ancestors: all an oracle needs is there.
    np.testing.assert_array_equal(np.bincount(visits.queries[profile.is_oracle], minlength=n), profile.oracle)
    assert (profile.oracle >= len(trees)).all()
    assert (profile.oracle <= stats.chunks).all()
    np.testing.assert_allclose(sum(profile.parts.values()), profile.predicted)
    assert (profile.microseconds > 0).all()
    assert ("other trees" in profile.parts) == (kind == "trees")


def test_matrices_are_counted_in_vectors(models):
    model, X = models["dense"]
    each = lt.profile(model, X, 3, repeats=1).counts.each
    np.testing.assert_array_equal(each["vectors"], each["children"] * 3)  # 40 features are three times 16
    assert not each["lookups"].any()
    assert not each["hits"].any()


def test_texts_are_counted_as_they_are_read(models):
    model, _ = models["text"]
    texts = [*TEXTS[:5], "nothing known here", "", "wörd1 word1"]
    each = lt.profile(model, texts, 3, repeats=1).counts.each
    read = [model.searcher_.features(text) for text in texts]
    assert each["bytes"].tolist() == [len(text.encode()) for text in texts]
    assert each["features"].tolist() == [n for _, n in read]
    assert each["rows"].tolist() == [len(rows) for rows, _ in read]
    stats = model.searcher_.topk(Texts(texts), 3, stats=True).stats
    searched = ~stats.no_features  # texts without a known word get the most frequent labels, without a search
    assert each["visits"][searched].tolist() == stats.chunks[searched].tolist()
    # Every step is a node taken or put off, or a label met; each node but the root is met from its parent.
    assert (each["heap_steps"] >= each["visits"]).all()


@pytest.mark.parametrize("kind", ["linear", "trees", "text"])
def test_the_summary_is_of_the_records(models, kind):
    model, X = models[kind]
    profile = lt.profile(model, X, 2, repeats=1)
    summary = profile.summary()
    assert json.loads(json.dumps(summary)) == summary
    table = profile.table
    assert len(table) == summary["n_queries"] == profile.n_queries
    assert table[3] == profile.record(3)
    for name in ("nodes", "oracle"):
        column = [record[name] for record in table]
        assert summary[name]["mean"] == pytest.approx(np.mean(column))
        assert summary[name]["p99"] == pytest.approx(np.percentile(column, 99))
    assert summary["microseconds"]["mean"] == pytest.approx(np.mean([r["microseconds"] for r in table]), abs=1e-3)
    assert sum(part["share"] for part in summary["parts"].values()) == pytest.approx(1)
    assert sum(depth["nodes"] for depth in summary["by_depth"]) == pytest.approx(summary["nodes"]["mean"])
    assert sum(depth["oracle"] for depth in summary["by_depth"]) == pytest.approx(summary["oracle"]["mean"])
    assert summary["oracle_share"] == pytest.approx(summary["oracle"]["mean"] / summary["nodes"]["mean"])
    first = profile.visits_of(0)
    assert first[0] == {"tree": 0, "node": 0, "depth": 0, "score": 1.0, "oracle": True, "on_path": False}
    assert len(first) == table[0]["nodes"]


def test_a_sample_of_many_points_and_given_rows(models, monkeypatch):
    model, X = models["linear"]
    many = sp.vstack([X] * 12, format="csr")
    profile = lt.profile(model, many, 1, repeats=1)
    assert profile.n_queries == len(set(profile.rows.tolist())) == 1000
    some = lt.profile(model, many, 1, repeats=1, rows=[7, 3])
    assert [record["query"] for record in some.table] == [7, 3]


def test_another_search_is_asked_for(models):
    model, X = models["linear"]
    exact = lt.profile(model, X, 3, beam=None, repeats=1)
    narrow = lt.profile(model, X, 3, search="beam", beam=1, repeats=1)
    assert exact.search == {"mode": "best_first", "beam": None}
    assert narrow.search == {"mode": "beam", "beam": 1}
    stats = model.predict_topk(X, 3, search="beam", beam=1, return_stats=True)[2]
    np.testing.assert_array_equal(narrow.counts.each["visits"], stats.chunks)


@pytest.mark.parametrize("kind", ["linear", "trees", "text"])
def test_searches_that_stop_early_are_counted_as_they_are(models, kind):
    model, X = models[kind]
    many = X * 40 if isinstance(X, list) else sp.vstack([X] * 10, format="csr")
    model.calibrate(many)
    found = lt.profile(model, many, 2, agreement=0.5, repeats=1, rows=np.arange(20))
    assert found.search == {"agreement": 0.5}
    assert found.labels.shape == (20, 2)
    points = many[:20]
    stats = model.predict_topk(points, 2, agreement=0.5, return_stats=True)[2]
    np.testing.assert_array_equal(found.counts.each["visits"], stats.chunks)


def test_counters_are_a_query_s_or_say_why_not(models, monkeypatch):
    model, X = models["linear"]

    def refuse(kind, number):
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(hardware_counters, "_open_event", refuse)
    profile = lt.profile(model, X, 1, repeats=1)
    assert profile.counters is None
    assert profile.summary()["counters_reason"] == "Permission denied"


@pytest.mark.parametrize("kind", ["words", "trees"])
def test_queries_without_a_feature_make_no_search(models, kind):
    model, X = models[kind]
    nothing = ["zzz", "unheard"] if kind == "words" else sp.csr_array((2, X.shape[1]), dtype=np.float32)
    profile = lt.profile(model, nothing, 2, repeats=1)
    for name in ("visits", "roots", "below_root", "children", "heap_steps", "path_visits"):
        assert profile.counts.each[name].tolist() == [0, 0], name
    assert profile.oracle.tolist() == [0, 0]
    assert (profile.labels >= 0).all()  # the most frequent labels
    assert profile.summary()


def test_more_labels_than_there_are(models):
    model, X = models["text"]
    assert lt.profile(model, X, 10**6, repeats=1).k == 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model": lt.LabelTree([0, 1], [~0], 1)},
            "model must be a fitted LabelTreeClassifier or TextLabelTreeClassifier",
        ),
        ({"X": sp.csr_array((0, 40), dtype=np.float32)}, "X must have at least one point"),
        ({"k": 0}, "k must be an integer of at least 1"),
        ({"repeats": 0}, "repeats must be an integer of at least 1"),
        ({"rows": [120]}, "rows must be row numbers from 0 to 119"),
        ({"rows": []}, "rows must be a list of at least one row number"),
        ({"rows": [0.5]}, "rows must be a list of at least one row number"),
        ({"search": "deep"}, "search must be one of"),
        ({"X": np.zeros((2, 7))}, "7 features"),
    ],
)
def test_what_cannot_be_is_refused(models, change, message):
    model, X = models["linear"]
    with pytest.raises(lt.InputError, match=message):
        lt.profile(**{"model": model, "X": X, "repeats": 1, **change})


def test_a_text_model_has_no_other_search(models):
    model, X = models["text"]
    with pytest.raises(lt.InputError, match="has no such option"):
        lt.profile(model, X, beam=3)
