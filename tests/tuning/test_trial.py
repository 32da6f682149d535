"""Training and measuring one candidate, and timing models in turns."""

import itertools

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.profiling import single_call_microseconds
from labeltrees.tuning.candidates import AS_GIVEN, configured, make_grid
from labeltrees.tuning.data import aligned_with, as_tuning_data
from labeltrees.tuning.trial import Sample, Timing, TrialInputs, measure_in_turns, measure_times


class Clock:
    """A clock that changes only when it is set."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class Model:
    """A predictor that takes a given time."""

    def __init__(self, clock, log, name, microseconds):
        self.clock, self.log, self.name, self.microseconds = clock, log, name, microseconds

    def predictor(self, k):
        def answer(row):
            self.log.append((self.name, k))
            self.clock.now += int(1000 * self.microseconds * k * (1 + row[0]))

        return answer

    def predict_topk(self, points, k, n_jobs=None):
        self.log.append((self.name, "batch"))
        self.clock.now += int(1000 * self.microseconds * len(points))


def test_times_are_those_of_each_model():
    clock, log = Clock(), []
    models = [Model(clock, log, "slow", 10), Model(clock, log, "fast", 1)]
    points = np.arange(101.0)[:, np.newaxis]
    slow, fast = measure_times(models, [points, points], [1, 5], Timing(3, 101), clock=clock)
    assert slow == pytest.approx(
        {"top1_p50_us": 510, "top1_p99_us": 1000, "top5_p50_us": 2550, "top5_p99_us": 5000, "batch_us": 10}
    )
    assert fast == pytest.approx({name: value / 10 for name, value in slow.items()})


def test_models_take_turns_and_none_is_always_first():
    log = []
    tasks = [lambda name=name: log.append(name) or np.zeros(1) for name in "abc"]
    rounds = []
    measure_in_turns(tasks, 4, rounds.append)
    assert ["".join(log[i : i + 3]) for i in range(0, 12, 3)] == ["abc", "bca", "cab", "abc"]
    assert rounds == [1, 2, 3, 4]


def test_one_disturbed_round_does_not_count():
    values = itertools.chain([1.0, 500.0, 1.0])
    (median,) = measure_in_turns([lambda: np.array([next(values)])], 3)
    assert median.tolist() == [1.0]


def test_a_single_call_of_a_text_is_the_text():
    asked = []
    texts = np.array(["one", "two"], dtype=object)
    single_call_microseconds(asked.append, texts)
    assert sorted(asked) == ["one", "one", "two", "two"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"normalize": False},
        {"n_trees": 2},
        {"tree": lt.TreeBuilder(cover_softness=0.5), "leaf_size": 3},
        {"evidence": "auto"},
    ],
)
def test_a_model_with_shared_embeddings_is_the_one_fit_gives(train, changes):
    estimator = lt.LabelTreeClassifier(**changes)
    data = as_tuning_data(train, "train", estimator)
    sample = Sample(data, data)
    for parameters in make_grid(estimator, [0.7, 1.6], [4], {"tree__cover": ["marginal", "greedy"]}).values():
        model = sample.fit(configured(estimator, parameters)).model
        expected = configured(lt.LabelTreeClassifier(**changes), parameters).fit(train.X, train.Y)
        for ours, theirs in zip(model.searcher_.stores, expected.searcher_.stores, strict=True):
            assert ours.chunks.tobytes() == theirs.chunks.tobytes()
        assert model.get_params() == expected.get_params()


FRUIT = ["apple", "plum", "quince"]
TEXTS = ["red apple", "green apple", "red plum", "sweet plum"]


@pytest.mark.parametrize("features", [AS_GIVEN, "words+pairs"])
def test_trials_find_labels_by_words_that_no_training_text_has(features):
    Y = np.repeat(np.eye(3)[[0, 0, 1, 1]], 5, axis=0)  # no point has the third label
    trained, asked = (
        as_tuning_data(
            lt.Dataset(np.zeros((len(texts), 0)), Y, label_names=FRUIT, texts=texts, label_texts=[[x] for x in FRUIT]),
            "data",
            lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer(dtype=np.float32)),
        )
        for texts, Y in ((np.repeat(TEXTS, 5).tolist(), Y), (["red quince", "sweet plum"], np.eye(3)[[2, 1]]))
    )
    asked = aligned_with(trained, asked)
    inputs = TrialInputs(lt.LabelTreeClassifier(label_texts="missing", C=1.0), trained, asked, (1,), 0)
    sample = inputs.sample(trained.n_points, features)
    model = sample.fit(configured(inputs.estimator, {})).model
    assert model.predict_topk(sample.validation.points, 1)[0].ravel().tolist() == [2, 1]
