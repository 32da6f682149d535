"""What a new user does on the first day: two files, tables, one label per point, probabilities and thresholds."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

import labeltrees as lt
from labeltrees.cli.main import main

WORDS = {"ant": "animal", "bee": "animal", "oak": "plant", "fir": "plant", "red": "colour", "blue": "colour"}


def make_texts(n, seed=0, words=tuple(WORDS)):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = [str(word) for word in rng.choice(words, 2, replace=False)]
        texts.append(f"{chosen[0]} and {chosen[1]} number {rng.integers(20)}")
        labels.append(sorted({WORDS[word] for word in chosen}))
    return texts, labels


def write_csv(path, texts, labels, mark=";"):
    frame = pd.DataFrame({"title": texts, "tags": [mark.join(own) for own in labels]})
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def train():
    return make_texts(120)


@pytest.fixture(scope="module")
def model(train):
    return lt.LabelTreeClassifier().fit(*train)


# ---- two files, one label space --------------------------------------------------------------------------------------


def datasets_of_two_files(folder):
    """Return two Datasets with the same number of labels, of which only two are the same."""
    train = make_texts(120, words=("ant", "bee", "oak", "fir"))
    test = make_texts(40, seed=1, words=("oak", "fir", "red", "blue"))
    return [
        lt.read_texts(write_csv(folder / f"{name}.csv", *own), text="title", labels="tags")
        for name, own in (("train", train), ("test", test))
    ]


def precision_by_names(model, texts, labels):
    best = model.predict_topk(texts, 1)[0][:, 0]
    return np.mean([own in truth for own, truth in zip(best, labels, strict=True)])


def test_labels_of_two_files_are_aligned_by_name(tmp_path, caplog):
    train, test = datasets_of_two_files(tmp_path)
    assert train.n_labels == test.n_labels == 2
    assert train.label_names.tolist() == ["animal", "plant"]
    assert test.label_names.tolist() == ["colour", "plant"]
    model = lt.LabelTreeClassifier().fit(train)
    expected = precision_by_names(model, test.texts.tolist(), [test.labels_of(row) for row in range(test.n_points)])
    assert 0 < expected < 1
    assert model.score(test) == model.score(test.texts, test.Y) == expected
    assert model.score(test[:20].texts, test.Y[:20]) == model.score(test[:20])
    assert "the model does not know 1 label of Y, such as 'colour'" in caplog.text


def test_a_model_fitted_without_names_aligns_the_labels_of_a_dataset(tmp_path):
    train, test = datasets_of_two_files(tmp_path)
    with_names = lt.LabelTreeClassifier().fit(train)
    without = lt.LabelTreeClassifier().fit(train.texts, train.Y)
    assert without.predict_topk(["oak"], 1)[0].dtype == np.int64
    assert without.score(test.texts, test.Y) == with_names.score(test)


def test_every_method_takes_a_dataset(train, tmp_path):
    first, second = lt.Dataset(*train), lt.Dataset(*make_texts(200, seed=3))
    shuffled = lt.Dataset(second.texts, [own[::-1] for own in make_texts(200, seed=3)[1]])
    model = lt.LabelTreeClassifier().fit(first)
    assert model.calibrate(second).calibration_ is not None
    assert model.score(shuffled) == model.score(second.texts.tolist(), make_texts(200, seed=3)[1])
    swept = lt.sweep(first, second, tradeoffs=[1])
    assert swept.table[0]["p1"] == pytest.approx(model.score(second))


def test_a_second_file_can_be_read_with_the_labels_of_the_first(tmp_path, caplog):
    paths = [tmp_path / "train.csv", tmp_path / "test.csv"]
    write_csv(paths[0], *make_texts(50, words=("ant", "bee", "oak", "fir")))
    write_csv(paths[1], *make_texts(20, seed=1))
    train = lt.read_texts(paths[0], text="title", labels="tags")
    test = lt.read_texts(paths[1], text="title", labels="tags", label_names=train.label_names)
    assert test.label_names.tolist() == train.label_names.tolist() == ["animal", "plant"]
    assert "1 label not among those given, such as 'colour'" in caplog.text
    both = lt.read_texts(paths, text="title", labels="tags")
    assert (both.n_points, both.n_labels) == (70, 3)


@pytest.mark.parametrize("mark", [";", "|"])
def test_a_column_of_labels_with_a_separator_is_split(mark, tmp_path, caplog):
    path = tmp_path / "train.csv"
    write_csv(path, ["a", "b", "c"], [["x", "y"], ["y", "z"], ["z"]], mark)
    letters = lt.TfidfVectorizer(token_pattern=".")
    assert lt.read_texts(path, text="title", labels="tags", vectorizer=letters).n_labels == 3
    assert f"most values of 'tags' contain {mark!r}, so labels are split there" in caplog.text


def test_labels_of_another_data_set_are_refused_by_name(model):
    other = lt.Dataset(["ant", "bee"], [list("defg"), list("hijk")])
    for method in (model.score, model.calibrate):
        with pytest.raises(lt.errors.InputError, match=r"knows none of the labels of Y .'d', 'e', 'f'.*'animal'"):
            method(other)


# ---- data as people have it ------------------------------------------------------------------------------------------

TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


class OnlyToPylist:
    """A column as pyarrow has them."""

    def __init__(self, values):
        self._values = values

    def to_pylist(self):
        return list(self._values)

    def __len__(self):
        return len(self._values)


COLUMNS = {
    "list": list,
    "array": lambda values: np.array([*values, None], dtype=object)[:-1],
    "pandas": pd.Series,
    "polars": pl.Series,
    "pyarrow": OnlyToPylist,
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("family", [lt.LabelTreeClassifier, lt.TextLabelTreeClassifier])
def test_texts_and_lists_of_labels_may_be_columns(kind, family, train):
    column = COLUMNS[kind]
    settings = {"dim": 8, "n_jobs": 1} if family is lt.TextLabelTreeClassifier else {}
    expected = family(**settings).fit(*train).predict_topk(train[0], 2)[0]
    model = family(**settings).fit(column(train[0]), column(train[1]))
    np.testing.assert_array_equal(model.predict_topk(column(train[0]), 2)[0], expected)
    assert model.score(column(train[0]), column(train[1])) > 0.9


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("mark", [";", "|", ", "])
def test_columns_of_a_table_with_labels_in_one_text(kind, mark, train):
    frame = TABLES[kind]({"title": train[0], "tags": [mark.join([*own, "all"]) for own in train[1]]})
    model = lt.LabelTreeClassifier().fit(frame["title"], frame["tags"])
    assert model.classes_.tolist() == ["all", "animal", "colour", "plant"]


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_indicators_has_the_names_of_its_columns(kind, train):
    names = ["animal", "colour", "plant"]
    frame = TABLES[kind]({name: [int(name in own) for own in train[1]] for name in names})
    model = lt.LabelTreeClassifier().fit(train[0], frame)
    assert model.classes_.tolist() == names
    assert model.score(train[0], train[1]) == lt.LabelTreeClassifier().fit(*train).score(*train)


@pytest.mark.parametrize(
    "y", [["no", "yes", "maybe"], [3, -7, 12], np.array([3, -7, 12])], ids=["texts", "integers", "array"]
)
@pytest.mark.parametrize("family", [lt.LabelTreeClassifier, lt.TextLabelTreeClassifier])
def test_one_label_per_point_is_predicted_in_one_dimension(y, family, tmp_path):
    words = ["ant", "oak", "red"]
    texts = [f"{words[row % 3]} {words[row % 3]} {row % 5}" for row in range(90)]
    labels = [y[row % 3] for row in range(90)]
    model = family(**({"dim": 8, "n_jobs": 1} if family is lt.TextLabelTreeClassifier else {})).fit(texts, labels)
    model.save(tmp_path / "model")
    for own in (model, lt.load(tmp_path / "model")):
        assert own.classes_.tolist() == sorted(y)
        assert own.predict(texts[:6]).tolist() == labels[:6]
        assert own.predict_topk(texts[:3], 1)[0][:, 0].tolist() == labels[:3]
        assert own.score(texts, labels) == np.mean(own.predict(texts) == np.array(labels)) == 1.0
        only = own.predict_topk(texts[:1], 2, candidates=[y[1]])[0].tolist()
        assert only == [[y[1], None]]


@pytest.mark.parametrize("kind", [*TABLES, "arrow"])
def test_a_table_is_read_like_a_file(kind, train, tmp_path):
    values = {"title": train[0], "tags": [";".join(own) for own in train[1]]}
    table = OnlyArrow(pl.DataFrame(values)) if kind == "arrow" else TABLES[kind](values)
    dataset = lt.read_texts(table, text="title", labels="tags")
    of_file = lt.read_texts(write_csv(tmp_path / "train.csv", *train), text="title", labels="tags")
    assert dataset.label_names.tolist() == of_file.label_names.tolist() == ["animal", "colour", "plant"]
    np.testing.assert_array_equal(dataset.X.toarray(), of_file.X.toarray())
    np.testing.assert_array_equal(dataset.Y.toarray(), of_file.Y.toarray())
    with pytest.raises(lt.errors.InputError, match="no column 'tag'; the columns are 'title', 'tags'"):
        lt.read_texts(table, text="title", labels="tag")


class OnlyArrow:
    """A table with nothing but Arrow's interface."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=repr)
def test_a_missing_text_is_named_with_its_row(missing, model, train):
    texts = [*train[0][:3], missing, *train[0][4:]]
    for call in (lambda: lt.LabelTreeClassifier().fit(texts, train[1]), lambda: model.predict_topk(texts)):
        with pytest.raises(lt.errors.InputError, match=r"\[3\] must be a text, got .*leave the row out, or fill it"):
            call()


# ---- one meaning of confident ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["linear", "text", "trend and evidence"])
def calibrated(request):
    texts, labels = make_texts(300, seed=5)
    for row in range(0, 300, 3):  # labels that cannot be learned, so that probabilities differ from 0 and 1
        labels[row] = ["other"]
    if request.param == "text":
        model = lt.TextLabelTreeClassifier(dim=8, epochs=5, n_jobs=1).fit(texts, labels)
    elif request.param == "linear":
        model = lt.LabelTreeClassifier().fit(texts, labels)
    else:
        times = np.arange(300).astype("datetime64[D]")
        model = lt.LabelTreeClassifier(trend=30, evidence="both").fit(texts, labels, times=times)
    return model.calibrate(*make_texts(300, seed=6))


def test_scores_and_thresholds_are_probabilities_everywhere(calibrated, tmp_path):
    model, texts = calibrated, make_texts(60, seed=7)[0]
    labels, raw = model.predict_topk(texts, 4, raw_scores=True)
    same, found = model.predict_topk(texts, 4)
    np.testing.assert_array_equal(same, labels)
    np.testing.assert_array_equal(found[labels != None], model.calibration_(raw[labels != None]))  # noqa: E711
    np.testing.assert_array_equal(model.predict_scores(texts, 4).toarray(), model.predict_proba(texts, 4).toarray())
    assert not np.array_equal(found, raw)
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    for threshold in (0.2, 0.5, float(np.median(found)), 0.999):
        expected = [
            [own for own, p in zip(*row, strict=True) if p >= np.float32(threshold) and p > 0]
            for row in zip(labels, found, strict=True)
        ]
        cut, values = loaded.predict_topk(texts, 4, threshold=threshold)
        assert [[own for own in row if own is not None] for row in cut] == expected
        assert values[values > 0].min(initial=1) >= np.float32(threshold)
        given, made = loaded.predictor(4, names=True), loaded.predictor(4, names=True, threshold=threshold)
        assert [given(text, threshold=threshold)[0] for text in texts] == expected
        assert [made(text)[0] for text in texts] == expected
        matrix = loaded.set_params(threshold=threshold).predict(texts)
        assert [sorted(loaded.classes_[row.indices]) for row in matrix] == [sorted(row) for row in expected]
        loaded.set_params(threshold=None)
    raw_answers = loaded.predictor(4, raw_scores=True)
    np.testing.assert_allclose([raw_answers(text)[1] for text in texts], raw, rtol=1e-6)


def test_weighted_scores_are_not_probabilities(calibrated):
    texts = make_texts(5, seed=8)[0]
    labels, raw = calibrated.predict_topk(texts, 4, raw_scores=True)
    weights = {"animal": 3.0, "plant": 0.5}
    same, products = calibrated.predict_topk(texts, 4, label_weight=weights)
    expected = {own: score * weights.get(own, 1.0) for own, score in zip(labels[0], raw[0], strict=True) if own}
    assert dict(zip(same[0], products[0], strict=True)) == pytest.approx(expected, rel=1e-4)
    one = calibrated.predictor(4, names=True)(texts[0], label_weight=weights)
    assert dict(zip(*one, strict=True)) == pytest.approx(expected, rel=1e-4)


def test_a_text_without_known_words_gets_shares_of_the_labels(calibrated):
    _, scores, stats = calibrated.predict_topk(["zzz"], 2, return_stats=True)
    assert stats.no_features.tolist() == [True]
    assert scores[0, 0] == pytest.approx(calibrated.label_counts_.max() / calibrated.n_points_, rel=0.5)
    none, _ = calibrated.predict_topk(["zzz"], 2, threshold=0.95)
    assert none.tolist() == [[None, None]]
    assert calibrated.predictor(2, names=True)("zzz", threshold=0.95)[0] == []


@pytest.mark.parametrize("family", ["linear", "text"])
def test_fit_calibrates_and_predict_uses_the_stored_threshold(family, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts, labels = make_texts(400)
    for row in range(0, 400, 4):
        labels[row] = ["other"]
    write_csv("train.csv", texts, labels)
    write_csv("new.csv", *make_texts(100, seed=9))
    columns = ["--text", "title", "--labels", "tags"]

    def run(*command):
        monkeypatch.setattr("sys.argv", ["labeltrees", *map(str, command)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    options = ["--model", "text", "--set", "dim=8", "--jobs", 1] if family == "text" else []
    shown = run("fit", "train.csv", "-o", "m", *columns, *options, "--calibrate", 0.25)
    assert "best F1" in shown
    model = lt.load("m")
    assert model.n_points_ == 300
    assert model.calibration_ is not None
    record = json.loads(run("calibrate", "m", "train.csv", *columns, "--threshold", "best-f1", "--json"))
    best = record["probabilities"]["thresholds"][0]
    assert (best["name"], lt.load("m").threshold) == ("best F1", best["threshold"])
    asked = make_texts(30, seed=10)[0]
    expected = lt.load("m").predict_topk(asked, 5, threshold=best["threshold"])[0]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in [*asked, "zzz"]))
    lines = [json.loads(line) for line in run("predict", "m", "asked.jsonl", "--format", "jsonl").splitlines()]
    assert [line["labels"] for line in lines[:-1]] == [[own for own in row if own is not None] for row in expected]
    assert [line.get("no_features", False) for line in lines] == [False] * 30 + [True]
    everything = run("predict", "m", "asked.jsonl", "--format", "jsonl", "--threshold", 0)
    assert all(len(json.loads(line)["labels"]) >= 3 for line in everything.splitlines())


# ---- scikit-learn ----------------------------------------------------------------------------------------------------


def test_decision_function_has_the_scores_of_all_labels(model, train):
    found = model.decision_function(train[0][:7])
    labels, scores = model.predict_topk(train[0][:7], 3, beam=None)
    position = {name: column for column, name in enumerate(model.classes_)}
    for row in range(7):
        assert [found[row, position[name]] for name in labels[row]] == scores[row].tolist()
    Y = np.array([[name in own for name in model.classes_] for own in train[1]])
    assert roc_auc_score(Y, model.decision_function(train[0])) > 0.9


def test_cross_validation_with_texts(train):
    texts, labels = np.array(train[0], dtype=object), np.array([own[0] for own in train[1]])
    assert cross_val_score(lt.LabelTreeClassifier(), texts, labels, cv=3).mean() > 0.6
    search = GridSearchCV(lt.LabelTreeClassifier(), {"tradeoff": [0, 2]}, cv=2).fit(texts, labels)
    assert search.best_estimator_.predict(texts[:5]).shape == (5,)


@pytest.mark.parametrize("form", ["lists", "sparse", "dense"])
def test_cross_validation_with_sets_of_labels(train, form):
    """The recipe of docs/predicting.md: KFold, and lists instead of a sparse Y for cross_val_score."""
    dataset = lt.Dataset(*train)
    Y = {"lists": train[1], "sparse": dataset.Y, "dense": dataset.Y.toarray()}[form]
    search = GridSearchCV(lt.LabelTreeClassifier(), {"tradeoff": [0, 2]}, cv=KFold(2), error_score="raise")
    assert search.fit(train[0], Y).best_score_ > 0.9
    if form != "sparse":  # scikit-learn refuses one
        scores = cross_val_score(lt.LabelTreeClassifier(), train[0], Y, cv=KFold(3), error_score="raise")
        assert scores.shape == (3,)
        assert scores.mean() > 0.9


def test_choosing_by_cross_validation_takes_texts(train):
    search = lt.LabelTreeClassifierCV(tune={"tradeoff": [0, 1]}, max_precision_loss=0.5)
    search.fit(pd.Series(train[0]), train[1])
    assert search.score(*train) > 0.9
    assert search.predict_topk(["red ant"], 1)[0][0, 0] in ("animal", "colour")
    assert search.decision_function(train[0][:2]).shape == (2, 3)
