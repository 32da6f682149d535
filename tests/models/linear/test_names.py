"""Names of labels as evidence: labels without points are found by words of their texts."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import labeltrees as lt
from labeltrees.cli.main import cli
from labeltrees.data.texts import text_dataset
from labeltrees.errors import InputError
from labeltrees.models.linear.names import NameUse, keep_rows, make_names
from labeltrees.search.evidence import NO_NAME, Evidence
from labeltrees.search.evidence_arrays import from_short

N_LABELS, N_LOST = 60, 12


@pytest.fixture(scope="module")
def points():
    """Texts of noise and of the two words of a label's name, and labels; the last labels have no training points."""
    rng = np.random.default_rng(0)
    noise = [f"noise{i}" for i in range(150)]
    names = [f"first{i // 3} second{i % 20}" for i in range(N_LABELS)]
    texts, labels = [], []
    for _ in range(2600):
        label = int(rng.integers(N_LABELS))
        words = [*rng.choice(noise, 6), *names[label].split()]
        texts.append(" ".join(words))
        labels.append([f"l{label:02}"])
    is_lost = np.array([int(own[0][1:]) >= N_LABELS - N_LOST for own in labels])
    train = np.flatnonzero(~is_lost)[:1800]
    test = np.setdiff1d(np.arange(2600), train)
    return (
        [texts[i] for i in train],
        [labels[i] for i in train],
        [texts[i] for i in test],
        [labels[i] for i in test],
        names,
    )


@pytest.fixture(scope="module")
def model(points):
    texts, labels, _, _, names = points
    named = {f"l{i:02}": [name, "not in texts"] for i, name in enumerate(names)}
    return lt.LabelTreeClassifier().fit(texts, labels, label_texts=named)


def shares(model, queries, labels, k):
    """Return the share of the points with and without training points for their label that have it among k."""
    found, _ = model.predict_topk(queries, k)
    hits = np.array([own[0] in row for own, row in zip(labels, found.tolist(), strict=True)])
    lost = np.array([int(own[0][1:]) >= N_LABELS - N_LOST for own in labels])
    return hits[lost].mean(), hits[~lost].mean()


def test_labels_without_points_are_found_and_others_stay(model, points):
    _, _, queries, labels, _ = points
    assert model.stats_["evidence"]["weights"].keys() == {"names"}
    assert model.tree_.unplaced_labels.tolist() == list(range(N_LABELS - N_LOST, N_LABELS))
    with_names = shares(model, queries, labels, 5)
    model.set_params(label_texts="none")
    without = shares(model, queries, labels, 5)
    model.set_params(label_texts="auto")
    assert without[0] == 0
    assert with_names[0] > 0.8
    assert with_names[1] >= without[1] - 0.01


def test_scores_are_those_of_the_formula(model, points):
    queries = points[2][:40]
    X = model.vectorizer_.transform(queries)
    kind = model.searcher_.evidence["names"]
    rows = sp.csr_array(
        (from_short(kind.rows.values), kind.rows.columns, kind.rows.indptr), shape=(N_LABELS, X.shape[1])
    )
    margins = (X != 0).astype(np.float32) @ rows.toarray().T + kind.bias
    names = 1 / (1 + np.exp(-margins.astype(np.float64)))
    trees = np.zeros(names.shape)
    found, scores = model.set_params(label_texts="none").predict_topk(X, N_LABELS, beam=None)
    model.set_params(label_texts="auto")
    place = {name: label for label, name in enumerate(model.classes_)}
    for row in range(len(queries)):
        for name, score in zip(found[row], scores[row], strict=True):
            if name is not None:
                trees[row, place[name]] = score
    expected = (trees + kind.weight * names) / (1 + kind.weight)
    found, scores = model.predict_topk(X, N_LABELS, beam=None)
    for row in range(len(queries)):
        for name, score in zip(found[row], scores[row], strict=True):
            if name is not None:
                assert score == pytest.approx(expected[row, place[name]], rel=1e-4, abs=1e-7)


def test_an_explanation_sums_to_the_log_score(model, points):
    text = points[4][N_LABELS - 1] + " noise1 noise2"
    found, scores = model.predict_topk([text], 5)
    for name, score in zip(found[0], scores[0], strict=True):
        own = next(iter(model.explain(text, label=name)))
        assert own.log_score == pytest.approx(math.fsum(part.amount for part in own.contributions))
        assert own.score == pytest.approx(float(score), rel=1e-4)
    assert f"l{N_LABELS - 1}" in found[0]


def test_rules_hold_for_proposed_labels(model, points):
    text, lost = points[4][N_LABELS - 1], f"l{N_LABELS - 1}"
    assert lost in model.predict_topk([text], 5)[0]
    assert lost not in model.predict_topk([text], 5, exclude=[lost])[0]
    assert model.predict_topk([text], 3, candidates=[lost, "l00"])[0][0].tolist().count(lost) == 1
    assert lost not in model.predict_topk([text], 5, candidates=["l00", "l01"])[0]
    names, _ = model.predictor(k=5, names=True)(text)
    assert lost in list(names)


def test_names_are_saved_retired_and_updated(model, points, tmp_path):
    texts, labels, queries, _, names = points
    model.save(tmp_path / "model")
    copy = lt.load(tmp_path / "model", verify=True)
    for one, other in zip(model.predict_topk(queries, 5), copy.predict_topk(queries, 5), strict=True):
        np.testing.assert_array_equal(one, other)
    text, lost = names[N_LABELS - 1], f"l{N_LABELS - 1}"
    copy.retire([lost])
    assert lost not in copy.predict_topk([text], 5)[0]
    copy.compact()
    assert lost not in copy.classes_
    assert f"l{N_LABELS - 2}" in copy.predict_topk([names[N_LABELS - 2]], 5)[0]
    grown = lt.load(tmp_path / "model")
    grown.update([*texts[:20], "a new thing", "a new thing"], [*labels[:20], ["new"], ["new"]])
    assert lost in grown.predict_topk([text], 5)[0]


def test_moved_columns_do_not_change_what_names_propose():
    rng = np.random.default_rng(3)
    rows = sp.csr_array((rng.random((30, 8)) < 0.3) * rng.random((30, 8)))
    X = (rng.random((20, 8)) < 0.4).astype(np.float32)
    columns = np.array([0, 2, 3, 4, 7, 8, 9, 11])
    moved = np.zeros((20, 12), np.float32)
    moved[:, columns] = X
    kind = make_names(rows, np.zeros(30))
    wider = Evidence(31, 12, (kind.widen(31, 12, columns),))
    expected = Evidence(30, 8, (kind,)).propose_names(sp.csr_array(X), 5)
    np.testing.assert_array_equal(wider.propose_names(sp.csr_array(moved), 5), expected)


@pytest.mark.parametrize(
    ("source", "features"),
    [
        ("lists", "words"),
        ("lists", "words+pieces"),
        ("dataset", "words"),
        ("dataset", "words+pieces"),
        ("texts_of_dataset", "words"),
        ("command", "words+pieces"),
    ],
)
def test_a_word_that_no_training_text_has_finds_its_label(points, tmp_path, source, features):
    texts, labels, queries, names = points[0][:800], points[1][:800], points[2], points[4]
    named = {f"l{i:02}": [name] for i, name in enumerate(names[: N_LABELS - N_LOST])} | {
        "fruit": ["Banana", "plantain"]
    }
    asked = ["noise1 banana noise2", "a PLANTAIN", *queries[:20]]
    if source == "command":
        lines = [f"{text},{own[0]}" for text, own in zip(texts, labels, strict=True)]
        (tmp_path / "train.csv").write_text("\n".join(["text,labels", *lines]))
        vocabulary = [f"<{label}>\t{text}" for label, own in named.items() for text in own]
        (tmp_path / "names.tsv").write_text("\n".join(vocabulary))
        command = ["fit", tmp_path / "train.csv", "-o", tmp_path / "m", "--vocabulary", tmp_path / "names.tsv"]
        ran = CliRunner().invoke(cli, [*map(str, command), "--features", features])
        assert ran.exit_code == 0, ran.output
        model = lt.load(tmp_path / "m")
    else:
        model = lt.LabelTreeClassifier(vectorizer=features if source != "dataset" else None)
        given = (texts, labels)
        if source == "dataset":
            data = text_dataset(texts, labels, features)
            given = (data,)
        elif source == "texts_of_dataset":
            given = (lt.Dataset(texts, labels),)
        model.fit(*given, label_texts=named)
        model.save(tmp_path / "m")
    found, scores = model.predict_topk(asked, 3)
    assert found[:2, 0].tolist() == ["fruit", "fruit"]
    assert model.stats_["label_words"] == 2
    predict = model.predictor(k=3, names=True)
    again = lt.load(tmp_path / "m", verify=True)
    for row, text in enumerate(asked):
        assert list(predict(text)[0]) == found[row].tolist()
    for one, other in zip(again.predict_topk(asked, 3), (found, scores), strict=True):
        np.testing.assert_array_equal(one, other)
    if source == "dataset":  # its features lack the two columns, which are the last ones
        narrow = data.vectorizer.transform(queries)
        assert narrow.shape[1] == model.n_features_in_ - 2
        np.testing.assert_array_equal(model.predict_topk(narrow, 3)[0][:20], found[2:])
        assert list(predict(narrow[[3]])[0]) == found[5].tolist()
        model.update(narrow[:20], [["l00"]] * 20)
        with pytest.raises(InputError, match="features"):
            model.predict_topk(narrow[:, :-1], 3)


def test_training_points_do_not_change(points):
    texts = [*points[0][:800], "noise1 banana"]  # too rare for a feature
    labels = [*points[1][:800], ["l00"]]
    plain = lt.LabelTreeClassifier().fit(texts, labels)
    model = lt.LabelTreeClassifier().fit(texts, labels, label_texts={"fruit": ["banana", "plantain"]})
    assert model.n_features_in_ == plain.n_features_in_ + 2
    known = model.vectorizer_.transform(texts[:50])
    np.testing.assert_array_equal(known.toarray()[:, :-2], plain.vectorizer_.transform(texts[:50]).toarray())
    found = model.set_params(label_texts="none").predict_topk(texts[:-1], 5)
    for one, other in zip(found, plain.predict_topk(texts[:-1], 5), strict=True):
        np.testing.assert_array_equal(one, other)


def test_labels_with_points_add_no_words(points):
    texts, labels = points[0][:800], points[1][:800]
    model = lt.LabelTreeClassifier().fit(texts, labels, label_texts={"l00": "banana", "other": "noise1"})
    assert "label_words" not in model.stats_


def test_a_query_reads_the_shortest_lists_first_and_a_bounded_number():
    rng = np.random.default_rng(1)
    n_labels, n_features = 9000, 40
    dense = rng.random((n_labels, n_features)) < np.linspace(0.001, 0.3, n_features)
    rows = sp.csr_array(dense * rng.random(dense.shape))
    kind = make_names(rows, np.zeros(n_labels))
    X = sp.csr_array((rng.random((30, n_features)) < 0.2).astype(np.float32))
    found = Evidence(n_labels, n_features, (kind,)).propose_names(X, 20)
    weights = from_short(kind.rows.values)
    table = sp.csr_array((weights, rows.indices, rows.indptr), shape=rows.shape).toarray()
    for row in range(30):
        features = np.flatnonzero(X[[row]].toarray()[0])
        features = features[np.lexsort((features, dense[:, features].sum(axis=0)))]
        sums, left = np.zeros(n_labels), 4096
        for feature in features:
            own = np.flatnonzero(dense[:, feature])
            own = own[np.lexsort((own, -rows[:, [feature]].toarray()[own, 0]))][:left]
            sums[own] += table[own, feature]
            left -= len(own)
        best = np.sort(sums)[::-1][:20]
        kept = found[row][found[row] >= 0]
        np.testing.assert_allclose(sums[kept], best[: len(kept)], rtol=1e-5)


def test_rows_are_dropped_by_label():
    rows = sp.csr_array(np.array([[1.0, 0], [0, 2], [3, 4]]))
    assert keep_rows(rows, np.array([True, False, True])).toarray().tolist() == [[1, 0], [0, 0], [3, 4]]
    bias = make_names(keep_rows(rows, np.array([True, False, True])), np.ones(3)).bias
    assert bias.tolist() == [1, NO_NAME, 1]
    assert NameUse().points == 0


def test_names_need_texts():
    model = lt.LabelTreeClassifier(evidence="names")
    with pytest.raises(InputError, match="evidence='names' needs texts of points, and label_texts"):
        model.fit(np.eye(3), [["a"], ["b"], ["c"]])
