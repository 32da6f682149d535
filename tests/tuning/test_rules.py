"""Models and baselines are compared under the rules that they serve with."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.baselines.baseline import training_points
from labeltrees.baselines.table import make_baselines
from labeltrees.tuning.baseline_table import measure_baselines
from labeltrees.tuning.data import as_tuning_data
from labeltrees.tuning.rules import NO_RULES, Rules
from labeltrees.tuning.trial import Timing, measure_times
from tests.tuning.conftest import make_data

ITEMS = [f"item {number}" for number in range(40)]
GROUPS = {item: f"brand {number % 5}" for number, item in enumerate(ITEMS) if number % 3}
RULES = {
    "exclude_seen": True,
    "candidates": ITEMS[:30],
    "exclude": ["item 3"],
    "label_weight": {"item 1": 3.0, "item 5": 0.2, "item 7": 0},
    "limits": (GROUPS, 1),
}


def make_shop(n_points, seed):
    """Baskets with three known items; the labels are the other items and one of the known ones."""
    rng = np.random.default_rng(seed)
    baskets = [rng.permutation(40)[(rng.random(40) < 0.5 / (1 + np.arange(40) / 8))[:40]][:7] for _ in range(n_points)]
    baskets = [[ITEMS[item] for item in [*basket, 0, 1, 2, 4, 6][:7]] for basket in baskets]
    encoder = lt.encoders.ItemEncoder(ITEMS)
    Y = np.array([[item in basket[2:] for item in ITEMS] for basket in baskets], float)
    X = encoder.transform([basket[:3] for basket in baskets])
    return lt.Dataset(X, Y, label_names=ITEMS, encoder=encoder), [basket[:3] for basket in baskets]


@pytest.fixture(scope="module")
def shop():
    (train, _), (validation, known) = make_shop(250, 0), make_shop(80, 1)
    return train, validation, known


def tuning_data(dataset, estimator=None):
    return as_tuning_data(dataset, "train", estimator or lt.LabelTreeClassifier())


def ids_of(labels):
    return np.array([[-1 if label is None else ITEMS.index(label) for label in row] for row in labels])


def topk(model, validation, known, k, *, weighted=True):
    rules = {name: value for name, value in RULES.items() if name != "exclude_seen"}
    rules["exclude"] = [[*basket, "item 3"] for basket in known]
    return ids_of(model.predict_topk(validation.X, k, **rules)[0])


def test_a_choice_has_the_metric_of_the_lists_under_its_rules(shop):
    train, validation, known = shop
    arguments = {"validation": validation, "tune": {"tradeoff": [0, 1]}, "metric": "p3"}
    choice = lt.choose(train, rules=RULES, **arguments)
    model = lt.LabelTreeClassifier(tradeoff=choice.parameters["tradeoff"]).fit(train)
    labels = topk(model, validation, known, 5)
    for k in (1, 3, 5):
        assert choice.record[f"p{k}"] == pytest.approx(lt.metrics.precision_at_k(validation.Y, labels, k))
    without = lt.metrics.precision_at_k(validation.Y, ids_of(model.predict_topk(validation.X, 5)[0]), 3)
    assert choice.record["p3"] != pytest.approx(without)
    assert choice.result.facts["measured"]["rules"].startswith("exclude seen, candidates (30), exclude (1)")
    for looked in choice.result.details["settings"].values():
        names = [answer["name"] for look in looked["looks"] for answer in look["answers"]]
        assert names
        assert set(names) <= set(ITEMS[:30]) - {"item 3", "item 7"}


def test_a_sweep_and_an_estimator_have_the_same_rules(shop):
    train, validation, known = shop
    rules = {"exclude_seen": True, "beam": 2}
    swept = lt.sweep(train, validation, tradeoffs=[0, 1], fanouts=[4], rules=rules).table
    search = lt.LabelTreeClassifierCV(tune={"tradeoff": [0, 1], "fanout": [4]}, validation=validation, rules=rules)
    search.fit(train)
    for record in swept:
        model = lt.LabelTreeClassifier(tradeoff=record["tradeoff"], fanout=4).fit(train)
        labels = ids_of(model.predict_topk(validation.X, 5, exclude=known, beam=2)[0])
        assert record["ndcg5"] == pytest.approx(lt.metrics.ndcg_at_k(validation.Y, labels, 5))
        if record["tradeoff"] == search.best_params_["tradeoff"]:
            assert search.best_score_ == pytest.approx(record["p1"])


def test_timed_calls_and_batches_return_the_lists_under_the_rules(shop):
    train, validation, known = shop
    model = lt.LabelTreeClassifier(fanout=4).fit(train)
    expected = topk(model, validation, known, 5)
    model._label_names = None  # as in trials, which return ids
    rules = Rules.of(RULES, model, tuning_data(train))
    answer, X = rules.predictor(model, 5), validation.X
    for row, labels in enumerate(expected):
        found, _ = answer(X[[row]].indices, X[[row]].data)
        assert found.tolist() == labels[labels >= 0].tolist()
    np.testing.assert_array_equal(model.predict_topk(X, 5, **rules.topk(X))[0], expected)
    times = measure_times([model], [X], [1, 5], Timing(1, 10), rules=rules)
    assert set(times[0]) == {"top1_p50_us", "top1_p99_us", "top5_p50_us", "top5_p99_us", "batch_us"}


@pytest.mark.parametrize("left_out", [(), ("limits",), ("label_weight", "limits"), ("exclude_seen", "exclude"), "all"])
def test_baselines_return_the_best_of_all_allowed_labels(shop, left_out):
    train, validation, known = shop
    given = {name: value for name, value in RULES.items() if name not in left_out} if left_out != "all" else {}
    rules = Rules.of(given, lt.LabelTreeClassifier(), tuning_data(train))
    weight = given.get("label_weight", {})
    for baseline in make_baselines(training_points(train)):
        found = rules.rank(baseline, validation.X, validation.X, 4)
        everything, scores = baseline.rank(validation.X, len(ITEMS))
        for row, basket in enumerate(known):
            seen = basket if "exclude_seen" in given else ()
            pairs = [
                (ITEMS[label], score) for label, score in zip(everything[row], scores[row], strict=True) if label >= 0
            ]
            pairs = [(name, float(score) * np.float32(weight.get(name, 1))) for name, score in pairs]
            allowed = set(given.get("candidates", ITEMS)) - {*seen, *given.get("exclude", ())}
            pairs = [pair for pair in pairs if pair[0] in allowed and weight.get(pair[0], 1) > 0]
            if weight:
                pairs.sort(key=lambda pair: (-pair[1], ITEMS.index(pair[0])))
            best, full = [], set()
            for name, _ in pairs:
                group = GROUPS.get(name) if "limits" in given else None
                if group is None or group not in full:
                    best.append(name)
                    full.add(group)
            assert [ITEMS[label] for label in found[row] if label >= 0] == best[:4], baseline.name


def test_baselines_leave_out_the_items_of_the_basket(shop):
    train, validation, known = shop
    rules = Rules.of({"exclude_seen": True}, lt.LabelTreeClassifier(), tuning_data(train))
    table = measure_baselines(tuning_data(train), tuning_data(validation), (1, 5), rules=rules)
    plain = measure_baselines(tuning_data(train), tuning_data(validation), (1, 5))
    ranked, _ = lt.baselines.popularity(train).rank(validation.X, len(ITEMS))
    unseen = np.array(
        [[label for label in row if ITEMS[label] not in basket][:5] for row, basket in zip(ranked, known, strict=True)]
    )
    assert table.records[0]["p5"] == pytest.approx(lt.metrics.precision_at_k(validation.Y, unseen, 5))
    assert table.records[0]["p5"] != pytest.approx(plain.records[0]["p5"])


def test_trials_under_other_rules_are_not_reused(shop, tmp_path):
    train, validation, _ = shop
    arguments = {"tradeoffs": [1], "fanouts": [4], "folder": tmp_path / "sweep"}
    lt.sweep(train, validation, rules={"exclude_seen": True}, **arguments)
    lt.sweep(train, validation, rules={"exclude_seen": True, "candidates": None}, **arguments)  # the same rules
    for other in (None, {"exclude_seen": True, "exclude": ["item 3"]}):
        with pytest.raises(lt.errors.InputError, match=r"another sweep \(rules differ\)"):
            lt.sweep(train, validation, rules=other, **arguments)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["exclude_seen"], "rules must be a dict of rules of predict_topk"),
        ({"exclude_sen": True}, "rules has no option 'exclude_sen'; did you mean exclude_seen"),
        ({"threshold": 0.5}, "rules has no option 'threshold'"),
        ({"exclude_seen": 1}, "exclude_seen must be True or False"),
        ({"candidates": ["label a", "item 1"]}, "candidates must be names of labels .*, got 'item 1'"),
        ({"exclude": [99]}, r"exclude must hold label ids in \[0, 24\)"),
        ({"exclude": [["label a"], ["label b"]]}, "exclude of rules must be one list of labels for all points"),
        ({"candidates": "@Places"}, "without a SKOS vocabulary"),
        ({"label_weight": {"item 1": 2}}, "label_weight must be a mapping with labels of Y as keys"),
        ({"label_weight": [1, 2]}, "label_weight must be 24 numbers"),
        ({"limits": ({"item 1": "a"}, 1)}, "the labels of limits must be names of labels"),
        ({"limits": 3}, "limits must be a pair"),
        ({"diversity": 2}, "diversity must be"),
        ({"beam": 0}, "beam must be"),
        ({"exclude_seen": True}, "exclude_seen needs data with items as features"),
    ],
)
def test_rules_that_cannot_hold_are_refused_before_training(rules, message, monkeypatch):
    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", lambda *_, **__: pytest.fail("trained"))
    for function in (lt.choose, lt.sweep):
        with pytest.raises(lt.errors.InputError, match=message):
            function(make_data(60), rules=rules)


def test_a_model_without_a_beam_refuses_one():
    texts = ["red wine", "white wine", "red shoes", "white shoes"] * 10
    train = lt.Dataset(np.zeros((40, 0)), [[text.split()[0]] for text in texts], texts=texts)
    estimator = lt.TextLabelTreeClassifier(dim=4, epochs=2)
    for name, value in (("beam", 3), ("exclude_seen", True)):
        with pytest.raises(lt.errors.InputError, match=name):
            lt.choose(train, estimator=estimator, rules={name: value})
    found = lt.sweep(train, train, estimator=estimator, tradeoffs=[1], k=1, rules={"exclude": ["red"]})
    assert found.table[0]["p1"] == 0.5


def test_no_rules_change_nothing(train):
    for none in (None, {}, {"exclude_seen": False, "candidates": None}):
        assert Rules.of(none, lt.LabelTreeClassifier(), tuning_data(train)) is NO_RULES
    assert not NO_RULES.topk(train.X)
