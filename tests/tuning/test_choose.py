"""choose, on data where the answer is known; the number of classifiers is used as the time."""

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.tuning import choose as choose_module
from tests.tuning.conftest import make_data

pytestmark = pytest.mark.usefixtures("counted_time")

QUICK = {"tradeoffs": [0, 1, 2], "fanouts": [2], "repeats": 1, "tune": "tree"}


@pytest.fixture(scope="module")
def separable():
    """One label per point, with distinct features; each label is half as frequent as the one before."""
    labels = np.repeat(np.arange(8), [256, 128, 64, 32, 16, 12, 10, 10])
    Y = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    X = np.eye(8, dtype=np.float32)[labels] + 0.01
    return lt.Dataset(X, Y)


def test_where_all_are_right_the_tree_by_frequency_is_taken(separable):
    choice = lt.choose(separable, max_precision_loss=0.0, k=1, **QUICK)
    assert choice.result.table[0]["p1"] == choice.result.table[-1]["p1"] == 1
    assert choice.parameters == {"tradeoff": 1.0, "fanout": 2} or choice.parameters["tradeoff"] == 2.0
    work = {record["setting"]: record["top1_p50_us"] for record in choice.result.table}
    assert work[choice.result.chosen] == min(work.values()) < work["tradeoff-0_fanout-2_marginal_weighted"]


@pytest.fixture(scope="module")
def data():
    return make_data(800)


@pytest.mark.parametrize("loss", [0.0, 0.01, 0.03, 0.2])
def test_it_is_the_fastest_of_those_close_to_the_best(data, loss):
    choice = lt.choose(data, max_precision_loss=loss, metric="p3", random_state=3, **QUICK)
    order = np.random.default_rng(3).permutation(800)
    train, validation = data[np.sort(order[160:])], data[np.sort(order[:160])]
    right, work = [], []
    for tradeoff in QUICK["tradeoffs"]:
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=2).fit(train.X, train.Y)
        labels, _, stats = model.predict_topk(validation.X, 5, return_stats=True)
        right.append(np.take_along_axis(validation.Y.toarray(), labels[:, :3], axis=1).mean(axis=1))
        work.append(np.median(stats.classifiers))
    best = int(np.argmax([values.mean() for values in right]))
    bounds = []
    for values in right:
        difference = values - right[best]
        bounds.append(difference.mean() - 1.6545 * difference.std(ddof=1) / np.sqrt(160))
    kept = [place for place, bound in enumerate(bounds) if bound >= -loss]
    about = [place for place in kept if work[place] <= 1.05 * min(work[place] for place in kept)]
    expected = max(about, key=lambda place: (right[place].mean(), -work[place]))
    assert choice.parameters["tradeoff"] == QUICK["tradeoffs"][expected]


def test_the_model_is_trained_on_all_data_with_names(data):
    choice = lt.choose(data, max_precision_loss=0.1, **QUICK)
    expected = lt.LabelTreeClassifier(**choice.parameters).fit(data.X, data.Y, label_names=data.label_names)
    for ours, theirs in zip(choice.model.predict_topk(data.X), expected.predict_topk(data.X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert choice.model.get_params() == expected.get_params()


def test_the_explanation_says_what_was_tried_and_chosen(data):
    choice = lt.choose(data, max_precision_loss=0.1, **QUICK)
    record = choice.record
    for part in (
        "Tried 3 settings on 640 training points, each measured on 160 points held out at random.",
        f"Chosen: tradeoff {record['tradeoff']:g}, fanout 2, with P@1 {100 * record['p1']:.2f} %",
        "at most 10.00 percentage points below the highest",
        "trained on all 800 points",
    ):
        assert part in choice.explanation
    assert "\n" not in choice.explanation
    assert choice.result.explanation == choice.explanation
    assert repr(choice).startswith("Choice(LabelTreeClassifier(tradeoff=")


def test_a_choice_of_an_automatic_fanout_is_shown(data):
    choice = lt.choose(data, max_precision_loss=1, tradeoffs=[1], fanouts=["auto"], repeats=1, tune="tree")
    assert repr(choice).startswith("Choice(LabelTreeClassifier(tradeoff=1.0, fanout='auto'), out of SweepResult(1 ")
    assert "Chosen: tradeoff 1, fanout auto, with P@1" in choice.explanation


def test_within_a_latency_the_most_precise_is_taken(data):
    everything = lt.choose(data, max_latency_us=1e9, **QUICK).result.table
    limit = sorted(record["top5_p99_us"] for record in everything)[1]
    choice = lt.choose(data, max_latency_us=limit, **QUICK)
    allowed = [record for record in everything if record["top5_p99_us"] <= limit]
    assert choice.record["p1"] == max(record["p1"] for record in allowed)
    assert f"within {limit:g} us per call" in choice.explanation


def test_a_latency_nothing_keeps_is_an_error(data):
    with pytest.raises(lt.LabelTreesError, match="no setting meets max_latency_us=1: the fastest, tradeoff-"):
        lt.choose(data, max_latency_us=1, **QUICK)


def test_early_rounds_train_fewer_models_fully_and_keep_the_limit(data, monkeypatch):
    monkeypatch.setattr(choose_module, "_MIN_POINTS", 200)
    sizes = []
    fit = lt.LabelTreeClassifier.fit

    def counting(self, X, *args, **kwargs):
        sizes.append(X.shape[0])
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", counting)
    wide = {
        "tradeoffs": [0, 0.5, 1, 1.5, 2],
        "fanouts": [2, 8],
        "max_precision_loss": 0.05,
        "repeats": 1,
        "tune": "tree",
    }
    early = lt.choose(data, **wide)
    assert sizes.count(213) == 10
    assert sizes.count(640) == 4
    assert "Tried 10 settings on 213 training points, then the 4 most promising on 640," in early.explanation
    # The choice may differ from that without early rounds, but it must be as precise as was asked for.
    everything = {
        record["setting"]: record["p1"] for record in lt.choose(data, **wide, early_rounds=False).result.table
    }
    assert len(everything) == 10
    assert everything[early.result.chosen] >= max(everything.values()) - wide["max_precision_loss"]


def test_progress_reaches_its_end(data, monkeypatch):
    monkeypatch.setattr(choose_module, "_MIN_POINTS", 200)
    reported = []
    lt.choose(
        data,
        max_precision_loss=0.05,
        tradeoffs=[0, 0.5, 1, 1.5, 2],
        fanouts=[2, 4],
        repeats=1,
        progress=lambda done, total: reported.append((done, total)),
    )
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)
    assert reported[-1][0] == reported[-1][1]


def test_validation_data_may_be_given(data):
    choice = lt.choose(data, max_precision_loss=0.1, validation=make_data(100, seed=5), **QUICK)
    assert "measured on the given validation data (100 points)" in choice.explanation
    assert choice.model.n_points_ == 800


def test_an_interrupted_choice_goes_on_from_its_folder(data, tmp_path, monkeypatch):
    lt.choose(data, max_precision_loss=0.1, folder=tmp_path, **QUICK)
    fits = []
    fit = lt.LabelTreeClassifier.fit
    monkeypatch.setattr(
        lt.LabelTreeClassifier, "fit", lambda self, *args, **kw: fits.append(1) or fit(self, *args, **kw)
    )
    lt.choose(data, max_precision_loss=0.1, folder=tmp_path, **QUICK)
    assert len(fits) == 1  # on all data


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tune": "everything"}, "tune must be"),
        ({"tune": ["C", "dim"]}, "tune must be"),
        ({"time_budget": 0}, "time_budget must be"),
        ({"max_precision_loss": 0.1, "validation": 1.5}, "validation must be"),
        ({"max_precision_loss": 0.1, "validation": 1e-9}, "holds out 0 of 800 points"),
        ({"max_precision_loss": 0.1, "validation": None}, "validation must be"),
        ({"max_precision_loss": 0.1, "k": 0}, "k must be"),
        ({"max_precision_loss": 0.1, "random_state": -1}, "random_state must be"),
    ],
)
def test_bad_arguments_are_refused(data, arguments, message):
    with pytest.raises(lt.InputError, match=message):
        lt.choose(data, **arguments)


def test_without_a_limit_wider_trees_are_tried_and_with_one_narrower_trees(data):
    options = {"tradeoffs": [1], "repeats": 1, "tune": "tree", "estimator": lt.LabelTreeClassifier(fanout=4, C=1.0)}
    tried = [
        {record["fanout"] for record in lt.choose(data, **limits, **options).result.table}
        for limits in ({}, {"max_precision_loss": 0.1}, {"max_latency_us": 1e6})
    ]
    assert tried == [{4, 8}, {4, 16}, {4, 16}]
