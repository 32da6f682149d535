"""`fit --like`: everything is trained with the parameters of the evaluated model."""

import numpy as np
import pytest
from sklearn.base import clone

import labeltrees as lt
from labeltrees.errors import InputError


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    columns = lt.Columns(context="basket", weight="quantity")
    prepared = lt.prepare_logs(
        lt.datasets.load_shop_log(), columns, features=("basket", 2), test_share=0.2, min_engagement=0
    )
    prepared.save(folder / "data")
    return folder, prepared


def test_what_a_fit_has_chosen_becomes_parameters(shop):
    _, (train, _) = shop
    model = lt.LabelTreeClassifier(fanout=16, trend=30).fit(train)
    assert len(model.stats_["C"]) > 1
    again = lt.LabelTreeClassifier.like(model)
    assert again.C == tuple(model.stats_["C"])
    assert (again.fanout, again.trend) == (16, 30)
    assert clone(again).C == again.C
    assert lt.LabelTreeClassifier.like(model, fanout=8).fanout == 8
    fitted = again.fit(train)
    assert fitted.stats_["C"] == model.stats_["C"]
    np.testing.assert_array_equal(
        fitted.predict_topk(train.X[:50], 5)[1], model.predict_topk(train.X[:50], 5)[1]
    )  # the same C and the same points give the same model


def test_the_costs_by_depth_are_saved(shop, tmp_path):
    _, (train, _) = shop
    model = lt.LabelTreeClassifier(fanout=16, C=(0.5, 2.0)).fit(train[:2000])
    model.save(tmp_path / "model")
    loaded = lt.load(tmp_path / "model")
    assert list(loaded.C) == [0.5, 2.0]
    assert lt.LabelTreeClassifier.like(loaded).fit(train[:2000]).stats_["C"] == [0.5, 2.0]


@pytest.mark.parametrize("costs", [(), (1.0, -1.0), (1.0, "auto")])
def test_wrong_costs_are_refused(shop, costs):
    _, (train, _) = shop
    with pytest.raises(InputError, match="C must be"):
        lt.LabelTreeClassifier(C=costs).fit(train[:100])


def test_texts_keep_the_settings_of_the_vectorizer_and_evidence_that_was_off_stays_off():
    texts = ["red wine", "white wine", "red shoes", "white shoes"] * 20
    labels = [["wine"], ["wine"], ["shoes"], ["shoes"]] * 20
    vectorizer = lt.TfidfVectorizer(ngram_range=(1, 2))
    model = lt.LabelTreeClassifier(vectorizer=vectorizer, evidence="auto").fit(texts, labels)
    assert model.searcher_.evidence is None
    again = lt.LabelTreeClassifier.like(model)
    assert again.evidence is None
    assert again.vectorizer.ngram_range == (1, 2)
    assert not hasattr(again.vectorizer, "vocabulary_")
    assert "blue wine" in again.fit([*texts, "blue wine"] * 2, [*labels, ["wine"]] * 2).vectorizer_.vocabulary_


@pytest.mark.parametrize("in_parts", [False, True])
def test_the_command_trains_on_both_parts_of_a_prepared_log(run, shop, tmp_path, in_parts):
    folder, prepared = shop
    data = folder / "data"
    if in_parts:
        data = tmp_path / "parts"
        columns = lt.Columns(context="basket", weight="quantity")
        settings = {"features": ("basket", 2), "test_share": 0.2, "min_engagement": 0}
        lt.prepare_logs(lt.datasets.load_shop_log(), columns, **settings, parts=(data, 3000))
    run("fit", data, "-o", tmp_path / "evaluated", "--fanout", "16")
    run("fit", data, "-o", tmp_path / "deployed", "--like", tmp_path / "evaluated")
    evaluated, deployed = (lt.load(tmp_path / name) for name in ("evaluated", "deployed"))
    train, test = prepared
    assert evaluated.n_points_ == train.n_points
    assert deployed.n_points_ == train.n_points + test.n_points
    assert deployed.stats_["C"] == evaluated.stats_["C"]
    assert deployed.fanout == 16
    counts = np.asarray(train.Y.sum(axis=0) + test.Y.sum(axis=0)).ravel()
    np.testing.assert_array_equal(deployed.label_counts_, counts)


def test_both_parts_of_texts_are_joined_with_their_labels(run, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "train.jsonl").write_text('{"text": "red wine", "labels": ["wine"]}\n' * 3)
    (folder / "test.jsonl").write_text('{"text": "red shoes", "labels": ["shoes"]}\n' * 2)
    run("fit", folder, "-o", tmp_path / "one")
    run("fit", folder, "-o", tmp_path / "all", "--like", tmp_path / "one")
    assert lt.load(tmp_path / "all").label_names_.tolist() == ["shoes", "wine"]
    assert lt.load(tmp_path / "all").n_points_ == 5


def test_other_presets_and_text_models_are_refused(run, shop, tmp_path):
    folder, _ = shop
    run("fit", folder / "data", "-o", tmp_path / "model", "--C", "1")
    arguments = ("-o", tmp_path / "other", "--like", tmp_path / "model", "--preset", "parabel")
    result = run("fit", folder / "data", *arguments)
    assert result.exit_code != 0
    assert "--preset cannot be combined with --like" in result.stderr


def test_the_kinds_of_evidence_that_helped_are_kept(shop):
    _, (train, _) = shop
    model = lt.LabelTreeClassifier(evidence="neighbours").fit(train[:3000])
    again = lt.LabelTreeClassifier.like(model)
    assert again.evidence == ("neighbours" if model.stats_["evidence"]["used"] else None)
