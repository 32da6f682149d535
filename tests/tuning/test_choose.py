"""choose: which model is taken, on data where the answer is known; the number of classifiers is the time."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse as sp

import labeltrees as lt
from labeltrees.data.texts import text_dataset
from labeltrees.tasks import FolderResults, LocalRunner
from labeltrees.tuning import choose as choose_module
from labeltrees.tuning import search as search_module
from labeltrees.tuning import trial
from labeltrees.tuning.budget import TimeBudget
from labeltrees.tuning.choose import TUNED, check_tuned, fit_on_all
from labeltrees.tuning.data import as_tuning_data
from labeltrees.tuning.limits import Limits
from labeltrees.tuning.trial import can_make_features
from tests.tuning.conftest import count_as_time, make_data

pytestmark = pytest.mark.usefixtures("counted_time")

TRADEOFFS = [0, 1, 2]
QUICK = {"tune": {"tradeoff": TRADEOFFS, "fanout": [2]}}


@pytest.fixture(scope="module")
def separable():
    """One label per point, with distinct features; each label is half as frequent as the one before."""
    labels = np.repeat(np.arange(8), [256, 128, 64, 32, 16, 12, 10, 10])
    Y = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    X = np.eye(8, dtype=np.float32)[labels] + 0.01
    return lt.Dataset(X, Y)


def test_if_all_settings_are_equally_precise_the_tree_by_frequency_is_chosen(separable):
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
    choice = lt.choose(
        data, max_precision_loss=loss, metric="p3", estimator=lt.LabelTreeClassifier(random_state=3), **QUICK
    )
    order = np.random.default_rng(3).permutation(800)
    train, validation = data[np.sort(order[160:])], data[np.sort(order[:160])]
    right, work = [], []
    for tradeoff in TRADEOFFS:
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=2, random_state=3).fit(train.X, train.Y)
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
    assert choice.parameters["tradeoff"] == TRADEOFFS[expected]


def test_the_model_is_trained_on_all_data_with_names(data):
    choice = lt.choose(data, max_precision_loss=0.1, **QUICK)
    expected = lt.LabelTreeClassifier(**choice.parameters).fit(data)
    for ours, theirs in zip(choice.model.predict_topk(data.X), expected.predict_topk(data.X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert choice.model.get_params() == expected.get_params()


def test_the_explanation_says_what_was_tried_and_chosen(data):
    choice = lt.choose(data, max_precision_loss=0.1, **QUICK)
    record = choice.record
    for part in (
        "Tried 3 settings on 640 training points, each measured on 160 points held out at random.",
        f"Chosen: tradeoff {record['tradeoff']:g}, fanout 2 (",
        f", with P@1 {100 * record['p1']:.2f} %",
        "at most 10.00 percentage points below the highest",
        "trained on all 800 points",
    ):
        assert part in choice.explanation
    assert "\n" not in choice.explanation
    assert choice.result.explanation == choice.explanation
    assert repr(choice).startswith("Choice(LabelTreeClassifier(tradeoff=")


def test_a_choice_of_an_automatic_fanout_is_shown(data):
    choice = lt.choose(data, max_precision_loss=1, tune={"tradeoff": [1], "fanout": ["auto"]})
    assert repr(choice).startswith("Choice(LabelTreeClassifier(tradeoff=1.0, fanout='auto'), out of SweepResult(1 ")
    assert "Chosen: tradeoff 1, fanout auto (the only setting" in choice.explanation


def test_within_a_latency_the_most_precise_is_taken(data):
    everything = lt.choose(data, max_latency_us=1e9, **QUICK).result.table
    limit = sorted(record["top5_p99_us"] for record in everything)[1]
    choice = lt.choose(data, max_latency_us=limit, **QUICK)
    allowed = [record for record in everything if record["top5_p99_us"] <= limit]
    assert choice.record["p1"] == max(record["p1"] for record in allowed)
    assert f"within {limit:g} us per call" in choice.explanation


def test_a_latency_that_no_setting_meets_is_an_error(data):
    with pytest.raises(lt.errors.LabelTreesError, match="no setting meets max_latency_us=1: the fastest, tradeoff "):
        lt.choose(data, max_latency_us=1, **QUICK)


def test_early_rounds_train_fewer_models_fully_and_keep_the_limit(data, monkeypatch):
    monkeypatch.setattr(search_module, "MIN_POINTS", 200)
    sizes = []
    fit = lt.LabelTreeClassifier.fit

    def counting(self, X, *args, **kwargs):
        sizes.append(getattr(X, "X", X).shape[0])
        return fit(self, X, *args, **kwargs)

    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", counting)
    tune = {"tradeoff": [0, 0.5, 1, 1.5, 2], "fanout": [2, 8]}
    early = lt.choose(data, max_precision_loss=0.05, tune=tune)
    assert sizes.count(213) == 10
    assert sizes.count(640) == 4
    assert "Tried 10 settings on 213 training points, then the 4 most promising on 640," in early.explanation
    # The choice may differ from that without early rounds, but it must be as precise as was asked for.
    late = choose_module.run_choice(data, Limits(0.05, None, "p1", 5), tune=tune, early_rounds=False)
    everything = {record["setting"]: record["p1"] for record in late.result.table}
    assert len(everything) == 10
    assert everything[early.result.chosen] >= max(everything.values()) - 0.05


@pytest.fixture
def reported(monkeypatch):
    """All that is reported to a progress bar: units done, and their total."""
    found = []
    watch = choose_module.watch

    def shown(what, total, progress, detail):
        return watch(what, total, lambda done, total: found.append((done, total, detail(done))))

    monkeypatch.setattr(choose_module, "watch", shown)
    return found


def test_progress_reaches_its_end(data, monkeypatch, reported):
    monkeypatch.setattr(search_module, "MIN_POINTS", 200)
    tune = {"all": None, "tradeoff": [0, 0.5, 1, 1.5, 2], "fanout": [2, 4]}
    lt.choose(data, max_precision_loss=0.05, tune=tune)
    assert [done for done, _, _ in reported] == sorted(done for done, _, _ in reported)
    assert reported[-1][0] == reported[-1][1]
    assert reported[-1][2].startswith("best so far: ")


def test_validation_data_may_be_given(data):
    choice = lt.choose(data, max_precision_loss=0.1, validation=make_data(100, seed=5), **QUICK)
    assert "measured on the given validation data (100 points)" in choice.explanation
    assert choice.model.n_points_ == 800


def test_an_interrupted_choice_continues_from_its_folder(data, tmp_path, monkeypatch):
    runner = LocalRunner(FolderResults(tmp_path / "choice"))
    lt.choose(data, max_precision_loss=0.1, client=runner, **QUICK)
    fits = []
    fit = lt.LabelTreeClassifier.fit
    monkeypatch.setattr(
        lt.LabelTreeClassifier, "fit", lambda self, *args, **kw: fits.append(1) or fit(self, *args, **kw)
    )
    lt.choose(data, max_precision_loss=0.1, client=runner, **QUICK)
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
        ({"estimator": lt.LabelTreeClassifier(random_state=-1)}, "random_state must be"),
        ({"estimator": lt.LabelTreeClassifier}, "estimator must be a model such as LabelTreeClassifier\\(\\), got"),
        ({"estimator": 5}, "estimator must be a model such as LabelTreeClassifier\\(\\), got 5"),
        ({"tune": {"C": []}}, "must be a list of at least one value"),
    ],
)
def test_bad_arguments_are_refused(data, arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.choose(data, **arguments)


def test_without_a_limit_wider_trees_are_tried_and_with_one_narrower_trees(data):
    options = {"tune": {"tradeoff": [1], "fanout": None}, "estimator": lt.LabelTreeClassifier(fanout=4, C=1.0)}
    tried = [
        {record["fanout"] for record in lt.choose(data, **limits, **options).result.table}
        for limits in ({}, {"max_precision_loss": 0.1}, {"max_latency_us": 1e6})
    ]
    assert tried == [{4, 8}, {4, 16}, {4, 16}]


PLAIN = lt.LabelTreeClassifier(C=1.0)
ONE_TREE = {"tune": {"all": None, "tradeoff": [1], "fanout": [8]}, "estimator": PLAIN}


def choose_by_work(data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial, "measure_times", count_as_time)
        return lt.choose(data, metric="p3", **ONE_TREE)


@pytest.fixture(scope="module")
def choice(data):
    return choose_by_work(data)


def test_all_parameters_are_tried_alone_and_those_that_gain_together(choice, data):
    assert set(choice.parameters) == set(TUNED) - {"features", "stem", "trend"}
    alone = [trial["variant"] for trial in choice.trials if " + " not in trial["variant"]]
    assert set(alone) >= {
        "as given",
        *(f"C {cost}" for cost in (0.1, 0.3, 3.0)),
        *(f"loss logistic, C {cost}" for cost in (0.3, 1.0, 3.0, 10.0)),
        "n_trees 3",
        "evidence auto",
    }
    trials = {trial["variant"]: trial for trial in choice.trials}
    before = trials["as given"]["p3"]
    for row in choice.steps[1:]:  # every step is compared with the best before it
        assert row["gain"] == pytest.approx(row["metric"] - before)
        assert row["stays"] <= (row["gain"] > 0)
        before = row["metric"] if row["stays"] else before
    assert choice.record["p3"] == pytest.approx(before)
    for name, value in choice.parameters.items():
        assert choice.model.get_params()[name] == value
    assert choice.model.n_points_ == data.n_points


def test_trials_equal_models_fitted_by_hand(choice, data):
    order = np.random.default_rng(0).permutation(800)
    train, validation = data[np.sort(order[160:])], data[np.sort(order[:160])]
    trial = next(trial for trial in choice.trials if trial["variant"] == "loss logistic, C 3.0")
    model = lt.LabelTreeClassifier(loss="logistic", C=3.0, fanout=8).fit(train.X, train.Y)
    labels, _ = model.predict_topk(validation.X, 3)
    assert trial["p3"] == pytest.approx(lt.metrics.precision_at_k(validation.Y, labels, 3))
    assert trial["n_points"] == 640


def test_the_explanation_and_the_table_have_the_same_figures(choice):
    first = choice.steps[0]
    last = [row for row in choice.steps if row["stays"]][-1]
    text = choice.explanation
    assert "Tried 9 changes of 3 kinds alone on 640 points, then those that may gain together on 640" in text
    assert f"P@3 {100 * last['metric']:.2f} %" in text
    assert f"{100 * (last['metric'] - first['metric']):+.2f} percentage points" in text
    assert f"{last['us_per_call']:.1f} instead of {first['us_per_call']:.1f} us per call" in text
    assert "against the best baseline, " in text


def test_a_model_that_does_not_beat_the_baselines_is_reported_as_such():
    rng = np.random.default_rng(0)
    Y = sp.csr_array(rng.random((1200, 20)) < np.linspace(0.6, 0.02, 20))
    X = sp.csr_array(rng.random((1200, 200)) < 0.05, dtype=np.float32)  # says nothing about the labels
    explanation = lt.choose(
        (X, Y), tune=["C"], estimator=lt.LabelTreeClassifier(C=1.0, loss=lt.Solver(prune_below=0))
    ).explanation
    assert re.search("Warning: the model does not( clearly)? beat the best baseline", explanation)


def test_only_the_named_parameters_are_tried(data):
    choice = lt.choose(data, tune={"C": None, "tradeoff": [0, 1]}, estimator=PLAIN)
    assert set(choice.parameters) == {"C", "tradeoff"}
    alone = [trial["variant"] for trial in choice.trials][:4]
    assert alone == ["as given", "C 0.1", "C 0.3", "C 3.0"]
    assert {record["tradeoff"] for record in choice.result.table} == {0, 1}
    assert {record["fanout"] for record in choice.result.table} == {256}


def test_a_cost_found_by_the_model_itself_is_tried_beside_the_numbers(data):
    for costs, tried in ((None, [0.1, 0.3, 1.0, 3.0]), ([0.2], [0.2])):
        choice = lt.choose(data, tune={"C": costs})
        assert [trial["C"] for trial in choice.trials if "C" in trial] == tried
        assert choice.trials[0]["variant"] == "as given"


def test_samples_come_first_where_there_are_enough_points(data, monkeypatch, reported):
    monkeypatch.setattr(search_module, "MIN_POINTS", 60)
    choice = lt.choose(data, tune=["loss", "C"], estimator=PLAIN)
    sizes = [trial["n_points"] for trial in choice.trials]
    assert sizes == sorted(sizes)
    assert sizes.count(71) == 8
    assert 2 <= sizes.count(213) <= 3  # at most two changes of a kind go on
    assert sizes.count(640) >= 1
    assert reported[-1][0] == reported[-1][1]


def test_the_same_data_and_seed_give_the_same_choice(data, choice):
    again = choose_by_work(data)
    assert again.parameters == choice.parameters
    assert [trial["p3"] for trial in again.trials] == [trial["p3"] for trial in choice.trials]


def test_a_time_budget_that_is_too_short_still_gives_a_model(data):
    choice = lt.choose(data, time_budget=1e-6, tune=["loss", "C", "n_trees"], estimator=PLAIN)
    assert {trial["variant"] for trial in choice.trials} == {"as given"}
    assert choice.parameters["loss"] == "squared_hinge"
    assert "the time budget of 1e-06 s left out 8 trials" in choice.explanation
    assert choice.model.predict_topk(data.X[:2], 3)[0].shape == (2, 3)


def test_the_time_on_all_points_is_not_guessed_from_the_smallest_sample_alone(data, monkeypatch):
    monkeypatch.setattr(search_module, "MIN_POINTS_IN_A_HURRY", 60)
    record = TimeBudget.record  # a trial needs a second to start, and another one for all 640 points
    monkeypatch.setattr(TimeBudget, "record", lambda own, name, n, _: record(own, name, n, 1 + n / 640))
    choice = lt.choose(data, time_budget=20, tune=["C"], estimator=PLAIN)
    own = [trial["n_points"] for trial in choice.trials if trial["variant"] == "as given"]
    assert sorted(own) == [71, 213, 640]
    assert choice.steps[0]["n_points"] == 640


def test_a_choice_ends_with_a_timed_model_if_there_is_no_time_after_the_samples(data, monkeypatch):
    monkeypatch.setattr(search_module, "MIN_POINTS_IN_A_HURRY", 60)
    record = TimeBudget.record
    monkeypatch.setattr(TimeBudget, "record", lambda own, name, n, _: record(own, name, n, 1 + n))
    monkeypatch.setattr(
        TimeBudget, "has_time", lambda own, name, n, until=1.0, best="": until == search_module._SCREEN_UNTIL
    )
    choice = lt.choose(data, tune=["loss", "C"], time_budget=100)
    assert {"model_bytes", "top5_p50_us"} <= set(choice.record)
    assert "It costs" in choice.explanation


def test_one_validation_point_is_enough(data):
    choice = lt.choose(data[:5], time_budget=20, tune=["C", "n_trees"], estimator=PLAIN)
    assert "each measured on 1 point held out" in choice.explanation
    assert choice.model.n_points_ == 5


def test_limits_hold_for_changes_too(data):
    choice = lt.choose(data, max_precision_loss=1.0, tune=["n_trees", "tradeoff"], estimator=PLAIN)
    assert choice.parameters["n_trees"] == 1  # three trees take more work, and any loss is allowed


def test_a_text_model_has_only_its_own_parameters():
    assert list(check_tuned("all", lt.TextLabelTreeClassifier())) == ["tradeoff"]
    with pytest.raises(lt.errors.InputError, match="parameters of a TextLabelTreeClassifier"):
        check_tuned(["C"], lt.TextLabelTreeClassifier())


def test_a_trend_is_found_where_labels_come_and_go():
    # Features say little, and each label is frequent in its own month only.
    rng = np.random.default_rng(0)
    days = np.sort(rng.integers(0, 300, 3000))
    labels = np.where(rng.random(3000) < 0.8, days // 30, rng.integers(0, 10, 3000))
    X = np.ones((3000, 4)) + 0.1 * rng.random((3000, 4))
    train = lt.Dataset(X, np.eye(10)[labels], times=days)
    late = lt.Dataset(X[:300], np.eye(10)[np.where(rng.random(300) < 0.8, 9, rng.integers(0, 10, 300))])
    choice = lt.choose(train, metric="p1", validation=late, tune=["trend"])
    assert choice.parameters["trend"] == 14.0
    assert choice.model.trend_.argmax() == 9
    assert "trend" in choice.explanation


def test_trend_needs_times():
    with pytest.raises(lt.errors.InputError, match="trend can only be chosen for a Dataset with times"):
        lt.choose((np.eye(50), np.eye(50)), tune=["trend"])


@pytest.fixture(scope="module")
def data_feature_search():
    """Texts in which only parts of words say what the label is."""
    rng = np.random.default_rng(0)
    stems = ["garten", "wasser", "kinder", "feuer", "winter", "sommer"]
    letters = list("abcdefghijklmnop")
    texts, labels = [], []
    for _ in range(500):
        stem = int(rng.integers(len(stems)))
        ends = ["".join(rng.choice(letters, 4)) for _ in range(3)]
        texts.append(" ".join([stems[stem] + ends[0], ends[1], "wort"]))
        labels.append([f"label {stem}"])
    return text_dataset(texts, labels)  # of words and pieces, as the texts are short


def test_features_are_chosen_and_the_model_reads_texts(data_feature_search):
    choice = lt.choose(data_feature_search, tune=["features", "C"])
    assert choice.parameters["features"] in ("as given", "words+pairs+chars")
    own, words = (
        next(t["p1"] for t in choice.trials if t["variant"] == name) for name in ("as given", "features words")
    )
    assert own > words + 0.2
    tried = [trial["variant"] for trial in choice.trials if trial["variant"].startswith("features")]
    assert tried[:3] == [f"features {kind}" for kind in ("words", "words+pairs", "words+pairs+chars")]
    labels, _ = choice.model.predict_topk(["feuerwehr und wort"], 1)
    assert labels[0, 0] == "label 3"
    assert choice.model.vectorizer_.get_state().n_features == choice.model.n_features_in_


def test_features_need_texts_and_a_vectorizer(data_feature_search):
    pair = (data_feature_search.X, data_feature_search.Y)
    assert not can_make_features(as_tuning_data(pair, "train", lt.LabelTreeClassifier()))
    with pytest.raises(lt.errors.InputError, match="features can only be chosen for a Dataset with texts"):
        lt.choose(pair, tune=["features"])


BASKETS = [["milk", "bread"], ["bread", "jam"], ["milk"], ["jam"]] * 5


def test_a_chosen_model_takes_what_the_encoder_of_the_data_takes():
    encoder = lt.encoders.ItemEncoder(["milk", "bread", "jam"])
    Y = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]] * 5
    train = lt.Dataset(encoder.transform(BASKETS), Y, label_names=["milk", "bread", "jam"], encoder=encoder)
    estimator = lt.LabelTreeClassifier()
    model = fit_on_all(estimator, as_tuning_data(train, "train", estimator))
    assert model.encoder_ is encoder
    names, _ = model.predictor(1, names=True, exclude_seen=True)(["milk"])
    assert names == lt.LabelTreeClassifier().fit(train).predictor(1, names=True, exclude_seen=True)(["milk"])[0]


def test_a_chosen_model_of_texts_takes_texts():
    texts = ["red wine", "white wine", "red shoes", "white shoes"] * 3
    vectorizer = lt.TfidfVectorizer().fit(texts)
    encoder = lt.encoders.TextEncoder(vectorizer)
    train = lt.Dataset(encoder.transform(texts), [[1, 0], [1, 0], [0, 1], [0, 1]] * 3, encoder=encoder)
    estimator = lt.LabelTreeClassifier()
    model = fit_on_all(estimator, as_tuning_data(train, "train", estimator))
    assert model.predictor(1)("red wine")[0].tolist() == [0]


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lt.choose, {"tradeoffs": [1]}, 'choose has no argument tradeoffs any more: give tune={"tradeoff": '),
        (lt.choose, {"folder": "here"}, "choose has no argument folder any more: give client=LocalRunner"),
        (lt.choose, {"n_jobs": 2}, "no argument n_jobs any more: give estimator=lt.LabelTreeClassifier\\(n_jobs"),
        (lt.sweep, {"covers": ["greedy"]}, "sweep has no argument covers any more: give grid"),
        (lt.sweep, {"progress": True}, "give estimator=lt.LabelTreeClassifier\\(verbose=..."),
    ],
)
def test_arguments_that_are_gone_name_the_new_way(data, function, arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        function(data, **arguments)
    with pytest.raises(TypeError, match="fanouts any more"):
        lt.LabelTreeClassifierCV(fanouts=[2])


def test_there_are_few_arguments():
    assert len(inspect.signature(lt.choose).parameters) <= 11
    assert len(inspect.signature(lt.sweep).parameters) <= 10


def test_any_metric_that_is_a_mean_over_points_can_decide(data):
    choice = lt.choose(data, metric="recall3", **QUICK)
    assert "recall@3" in choice.explanation
    assert choice.record["recall3"] > 0


def test_a_solver_keeps_its_settings_when_the_loss_is_chosen(data):
    estimator = lt.LabelTreeClassifier(C=1.0, loss=lt.Solver(prune_below=0.05))
    choice = lt.choose(data, tune=["loss"], estimator=estimator)
    assert [trial["loss__loss"] for trial in choice.trials if "loss__loss" in trial][:1] == ["logistic"]
    assert choice.model.loss.prune_below == 0.05
    assert estimator.loss.loss == "squared_hinge"


# What a choice finds, and when it stops.


def make_phrases(n_points, n_kinds=40, seed=0):
    """Texts whose label is a pair of words: each word alone says little, and there are many pairs."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n_kinds, (2, n_points))
    texts = [f"word{a} pair{b} filler{c}" for a, b, c in zip(first, second, rng.integers(0, 30, n_points), strict=True)]
    return text_dataset(texts, [[f"label {(7 * a + 11 * b) % 50}"] for a, b in zip(first, second, strict=True)])


def test_features_that_gain_only_with_more_points_are_found_from_samples(monkeypatch):
    monkeypatch.setattr(search_module, "_WORTHWHILE", -1e9)  # samples are used however little time they save
    choice = lt.choose(make_phrases(6000), tune=["features"], time_budget=200)
    assert "pairs" in choice.parameters["features"]
    names = "as given", f"features {choice.parameters['features']}"
    own, found = ({t["n_points"]: t["p1"] for t in choice.trials if t["variant"] == name} for name in names)
    gains = [found[size] - own[size] for size in sorted(found)]
    assert len(gains) == 3
    assert gains == sorted(gains)  # they gain more with more points
    assert gains[0] < 0.1
    assert gains[-1] > 0.5


def test_gains_of_several_kinds_add_up():
    # Pieces of words and stems of German words help; the language is found by itself.
    rng = np.random.default_rng(0)
    nouns = ["Häuser", "Hauses", "Kindern", "Kinder", "Gärten", "Gartens", "Feuers", "Feuern", "Wassers", "Wasser"]
    places = rng.integers(0, len(nouns), 900)
    texts = [f"Die Geschichte der {nouns[i]} und das Leben von {rng.integers(200)} mit den" for i in places]
    data = text_dataset(texts, [[f"label {i // 2}"] for i in places])
    choice = lt.choose(data, tune=["features", "stem", "n_trees"])
    tried = {trial["variant"] for trial in choice.trials}
    assert "stem german" in tried
    assert any(" + " in name for name in tried) or choice.record["p1"] == 1.0
    assert choice.model.predict_topk(texts[:1], 1)[0].shape == (1, 1)


def test_one_vs_all_is_tried_on_few_points(data):
    choice = lt.choose(data, tune=["tradeoff", "fanout", "C"], estimator=lt.LabelTreeClassifier(fanout=4))
    trials = {trial["variant"]: trial for trial in choice.trials}
    order = np.random.default_rng(0).permutation(800)
    train, validation = data[np.sort(order[160:])], data[np.sort(order[:160])]
    labels, _ = lt.LabelTreeClassifier(fanout=4, tree="flat").fit(train.X, train.Y).predict_topk(validation.X, 5)
    assert trials["one-vs-all"]["p1"] == pytest.approx(lt.metrics.precision_at_k(validation.Y, labels, 1))


def test_a_trial_that_is_measured_again_replaces_the_first(choice):
    keys = [(trial["variant"], trial["n_points"]) for trial in choice.trials]
    assert len(keys) == len(set(keys))
    assert keys[0][0] == "as given"


@pytest.mark.parametrize("after", [1, 3, 7, 9])
def test_interrupting_returns_the_best_so_far(data, monkeypatch, after):
    fits, fit = [], trial.Sample.fit

    def interrupted(self, model):
        fits.append(model)
        if len(fits) == after + 1:
            raise KeyboardInterrupt
        return fit(self, model)

    monkeypatch.setattr(trial.Sample, "fit", interrupted)
    choice = lt.choose(data, tune=["loss", "C", "n_trees", "evidence"], estimator=PLAIN)
    assert "Warning: the search was interrupted, and this is the best so far" in choice.explanation
    assert choice.model.n_points_ == 800
    best = max(trial["p1"] for trial in choice.trials)
    assert choice.record["p1"] >= choice.trials[0]["p1"]
    assert choice.record["p1"] >= best - 0.02


def test_an_interrupt_before_the_first_trial_is_one(data, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(trial.Sample, "fit", stop)
    with pytest.raises(KeyboardInterrupt):
        lt.choose(data, tune=["C"])


def test_latency_is_named_where_it_is_the_reason(data):
    free = lt.choose(data, tune=["n_trees"], estimator=PLAIN, max_latency_us=1e9)
    limit = next(trial["top5_p99_us"] for trial in free.trials if trial["variant"] == "as given") + 1
    choice = lt.choose(data, tune=["n_trees"], estimator=PLAIN, max_latency_us=limit)
    assert choice.parameters["n_trees"] == 1
    step = next((row for row in choice.steps if row["step"] == "+ n_trees 3"), None)
    if step is not None and step["gain"] > 0:
        assert step["why"] == "too slow"
        assert "too slow: n_trees 3, which gains" in choice.explanation
