"""A family of models that reads texts and builds its own binary trees goes through the same doors."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import labeltrees as lt
from labeltrees.data.texts import default_vectorizer
from labeltrees.tuning import trial
from labeltrees.tuning.result import SweepResult
from tests.tuning.conftest import count_as_time

SAVED = {}


class TextModel(BaseEstimator):
    """A linear model behind a vectorizer, with only what a sweep may ask of a model."""

    READS_TEXTS = True

    def __init__(self, tradeoff=1.0, tree=None, n_jobs=None, verbose=0):
        self.tradeoff, self.tree, self.n_jobs, self.verbose = tradeoff, tree, n_jobs, verbose

    def fit(self, texts, Y):
        self.vectorizer_ = default_vectorizer().fit(texts)
        self.model_ = lt.LabelTreeClassifier(tradeoff=self.tradeoff, fanout=2).fit(self.vectorizer_.transform(texts), Y)
        self.tree_, self.trees_ = self.model_.tree_, self.model_.trees_
        self.label_counts_ = self.model_.label_counts_
        return self

    def predict_topk(self, texts, k=5, **options):
        return self.model_.predict_topk(self.vectorizer_.transform(texts), k, **options)

    def predictor(self, k=5):
        answer = self.model_.predictor(k)
        return lambda text: answer(self.vectorizer_.transform([text]))

    def save(self, folder):
        folder.mkdir()
        SAVED[str(folder)] = self


@pytest.fixture
def texts(monkeypatch):
    monkeypatch.setattr(trial, "load", SAVED.__getitem__)
    words = ("red", "green", "blue", "ant", "bee", "cat")
    rng = np.random.default_rng(0)
    Y = rng.random((120, 6)) < 0.35
    Y[np.arange(120), rng.integers(0, 6, 120)] = True
    documents = np.array([" ".join(word for word, there in zip(words, row, strict=True) if there) for row in Y], object)
    return documents, Y


def test_it_is_swept(texts):
    documents, Y = texts
    data = (documents[:80], Y[:80]), (documents[80:], Y[80:])
    result = lt.sweep(*data, estimator=TextModel(), tradeoffs=[0, 2], k=(1, 2))
    assert [record["setting"] for record in result.table] == ["tradeoff-0", "tradeoff-2"]
    assert result.table[0]["p1"] > 0.9
    assert result.table[0]["top2_p99_us"] > 0
    assert result.table[0]["fanout"] is None
    assert result.details["examples"][0]["text"] in set(documents)
    assert repr(result).startswith("SweepResult(2 settings: tradeoff 0 to 2; p1 ")


def test_it_is_chosen_from_a_dataset_with_texts(texts, monkeypatch, tmp_path):
    monkeypatch.setattr(trial, "measure_times", count_as_time)
    documents, Y = texts
    data = lt.Dataset(np.zeros((120, 1)), Y, texts=documents)
    choice = lt.choose(data, max_precision_loss=1, estimator=TextModel(), tune={"tradeoff": [0, 2]})
    assert choice.parameters == {"tradeoff": choice.model.tradeoff}
    choice.result.save(tmp_path / "result.json")
    assert len(SweepResult.load(tmp_path / "result.json")) == 2


def test_unsupported_requests_are_refused(texts):
    documents, Y = texts
    pair = (documents, Y)
    with pytest.raises(lt.errors.InputError, match="fanouts must be None or 2"):
        lt.sweep(pair, pair, estimator=TextModel(), fanouts=[16])
    with pytest.raises(lt.errors.InputError, match="grid must be parameters of a TextModel"):
        lt.sweep(pair, pair, estimator=TextModel(), grid={"tree__cover": ["greedy"]})
    with pytest.raises(lt.errors.InputError, match="train must have texts"):
        lt.sweep(lt.Dataset(np.eye(120), Y), pair, estimator=TextModel())
