"""Early stopping keeps the agreement on new points; discounts are compared with trying every threshold."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import labeltrees as lt
from labeltrees.models.common.early_stop import (
    COSTS,
    SHARES,
    EarlyStop,
    Visits,
    learn_early_stop,
    learn_tables,
    node_classes,
    visits_of,
)
from labeltrees.models.text.searcher import Texts, TextSearches
from labeltrees.search import NodeValues, SearchRequest
from labeltrees.search.result import SearchTrace
from tests.models.text.test_searcher import WORDS, random_searcher
from tests.models.twin import make_problem
from tests.strategies import labels_below


@pytest.fixture(scope="module")
def points():
    """Points that train, and many more of the same distribution."""
    return make_problem(seed=5, n=4000, d=60, n_labels=80)


@pytest.fixture(scope="module")
def model(points):
    X, Y = points
    fitted = lt.LabelTreeClassifier(fanout=4, loss=lt.Solver(prune_below=0.0)).fit(X[:600], Y[:600])
    return fitted.calibrate(X[600:2300], k=(1, 3, 5))


@pytest.fixture(scope="module")
def unseen(points):
    return points[0][2300:]


@pytest.fixture(scope="module")
def texts():
    """Texts whose words tell their labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 30, 1500)
    noise = rng.integers(0, 60, (1500, 4))
    lines = [
        f"w{label} w{label % 7} " + " ".join(f"n{word}" for word in row)
        for label, row in zip(labels, noise, strict=True)
    ]
    return lines, [[f"l{label}"] for label in labels]


@pytest.fixture(scope="module")
def text_model(texts):
    lines, labels = texts
    fitted = lt.TextLabelTreeClassifier(dim=8, epochs=4, min_count=1, buckets=1000).fit(lines[:500], labels[:500])
    return fitted.calibrate(lines[500:1000], k=(1, 3))


N_DRAWS = 12


def exact_lists(model, X, k):
    how = {} if isinstance(model, lt.TextLabelTreeClassifier) else {"beam": None}
    return model.predict_topk(X, k, return_stats=True, **how)


# The promise.


def shares_unchanged(draw_lists, n_draws):
    """Shares of lists unchanged in each draw."""
    return np.array([draw_lists(np.random.default_rng(draw)) for draw in range(n_draws)])


def is_kept(shares, agreement, n):
    """Whether hardly any draw has fewer lists unchanged, of n new points, than chance allows where the promise holds.

    One in a hundred may have a setting that is too bold, by the promise, and one in twenty others looks like one.
    """
    below = (binom.cdf(np.round(shares * n), n, agreement) < 0.05).sum()
    return below <= binom.ppf(0.95, len(shares), 0.01 + 0.99 * 0.05)


@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("agreement", [0.8, 0.95])
def test_new_points_of_the_same_distribution_agree(points, n_trees, agreement):
    X, Y = points
    solver = lt.Solver(prune_below=0.0)
    model = lt.LabelTreeClassifier(fanout=4, loss=solver, C=1.0, n_trees=n_trees, random_state=1)
    model.fit(X[:600], Y[:600])
    opened = np.zeros(2)

    def draw(rng):
        rows = 600 + rng.permutation(X.shape[0] - 600)
        model.calibrate(X[rows[:300]], k=(3,))
        new = X[rows[300:1300]]
        exact, _, work = exact_lists(model, new, 3)
        labels, _, less = model.predict_topk(new, 3, agreement=agreement, return_stats=True)
        opened[:] += work.chunks.sum(), less.chunks.sum()
        return (labels == exact).all(axis=1).mean()

    shares = shares_unchanged(draw, N_DRAWS)
    assert is_kept(shares, agreement, 1000)
    assert shares.mean() < 1  # something was risked,
    assert opened[1] < opened[0]  # and something gained


@pytest.mark.parametrize("agreement", [0.8, 0.95])
def test_new_texts_of_the_same_distribution_agree(agreement):
    searcher = random_searcher(lt.huffman_tree(1 / np.arange(1, 120)), 0, 3.0)
    searches = TextSearches(searcher)
    opened = np.zeros(2)

    def draw(rng):
        texts = Texts([" ".join(rng.choice(WORDS, size=rng.integers(1, 8))) for _ in range(1400)])
        learned = learn_early_stop(searches, texts[np.arange(400)], 400, [3])
        new = texts[np.arange(400, 1400)]
        exact, work = searches.lists(new, 3)
        labels, less = searches.lists(new, 3, learned.node_discounts(searches.trees, 0, agreement))
        opened[:] += work.sum(), less.sum()
        return (labels == exact).all(axis=1).mean()

    shares = shares_unchanged(draw, N_DRAWS)
    assert is_kept(shares, agreement, 1000)
    assert shares.mean() < 1
    assert opened[1] < opened[0]


def test_lower_agreements_open_fewer_nodes(model, unseen):
    work = [model.predict_topk(unseen, 5, agreement=a, return_stats=True)[2].chunks.sum() for a in (1, 0.99, 0.9, 0.6)]
    assert work == sorted(work, reverse=True)
    assert work[-1] < work[0]


def test_the_setting_is_the_boldest_that_is_allowed():
    broken = np.array([[0, 0, 1, 1, 4, 9, 30, 100]])
    learned = EarlyStop(
        np.array([1]), np.zeros(1, np.int32), np.zeros((1, 8, 1), np.float32), broken, np.full((1, 8), 0.5), 1000
    )
    assert learned.is_sound()
    for agreement in (0.9999, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.5, 0.1):
        chances = [binom.cdf(count, 1000, 1 - agreement) for count in broken[0]]
        assert learned.setting(0, agreement) == sum(chance <= 0.01 for chance in chances) - 1, agreement
    assert learned.setting(0, 0.999) == -1  # 1,000 points are too few
    assert learned.setting(0, 0.9) == 6
    learned.chunks[0, 6] = 0.96  # saves too little
    assert learned.setting(0, 0.9) == -1
    assert learned.kept(0, 0.9) == (1.0, 1.0)
    assert learned.setting(0, 0.98) == 5
    assert learned.kept(0, 0.98) == (0.991, 0.5)


@pytest.mark.parametrize("agreement", [0.5, 0.9, 0.95, 0.99])
def test_the_error_allowed_is_exactly_one_in_a_hundred(agreement):
    n = 600
    learned = EarlyStop(
        np.array([1]),
        np.zeros(1, np.int32),
        np.zeros((1, n, 1), np.float32),
        np.arange(n)[None],
        np.ones((1, n)) / 2,
        n,
    )
    allowed = np.flatnonzero(binom.cdf(np.arange(n), n, 1 - agreement) <= 0.01)  # every count occurs
    assert learned.setting(0, agreement) == (allowed[-1] if len(allowed) else -1)


SOUND = {
    "k": np.array([1, 3]),
    "classes": np.array([0, 2, 5], np.int32),
    "discounts": np.array([[[0, 1, 1], [0, 1, 2]]] * 2, np.float32),
    "broken": np.array([[0, 0], [2, 9]]),
    "chunks": np.array([[1, 0.5], [0.5, 0]]),
    "n_checked": 9,
}


def change_of(name, place, value):
    array = SOUND[name].copy()
    array[place] = value
    return {name: array}


UNSOUND = [
    *({name: value.astype(np.int16)} for name, value in SOUND.items() if name != "n_checked"),
    *(change_of(name, ..., np.nan) for name in ("discounts", "chunks")),
    {"discounts": SOUND["discounts"][0]},
    {"discounts": SOUND["discounts"][:0]},
    {"discounts": SOUND["discounts"][:, :0], "broken": SOUND["broken"][:, :0], "chunks": SOUND["chunks"][:, :0]},
    {"classes": SOUND["classes"][:2]},
    *({name: SOUND[name][:1]} for name in ("k", "broken", "chunks")),
    *({"n_checked": value} for value in (-1, 2**62, 9.0, True, 8)),
    change_of("k", 0, 0),
    change_of("k", 1, 1),
    change_of("classes", 1, 0),
    change_of("discounts", (0, 0, 0), -1),
    change_of("discounts", (0, 1, 2), 0.5),
    change_of("broken", (0, 0), -1),
    change_of("broken", (1, 1), 1),
    change_of("broken", (1, 1), 10),
    change_of("chunks", (1, 1), -0.1),
]


@pytest.mark.parametrize("change", UNSOUND, ids=lambda change: "-".join(change))
def test_each_fault_of_stored_arrays_is_found(change):
    assert EarlyStop(**SOUND).is_sound()
    assert not EarlyStop(**{**SOUND, **change}).is_sound()


def test_the_extremes_of_stored_arrays_are_sound():
    still = {"broken": np.zeros((2, 2), np.int64), "n_checked": 0}
    assert EarlyStop(**{**SOUND, **still}).is_sound()
    assert EarlyStop(**{**SOUND, "n_checked": 2**62 - 1}).is_sound()


def test_stored_counts_equal_those_of_the_searches(model, points):
    """The counts of one setting, by hand, on the points that checked."""
    learned = model.early_stop_
    X = points[0][600:2300]
    checked = X[np.sort(np.random.default_rng(0).permutation(1700)[566:])]
    assert learned.n_checked == 1134
    assert learned.is_sound()
    exact, _, work = exact_lists(model, checked, 3)
    settings = range(learned.setting(1, 0.9) + 1)
    changed = np.zeros(1134, bool)
    for setting in settings:
        by_class = dict(zip(learned.classes.tolist(), learned.discounts[1, setting].tolist(), strict=True))
        discounts = np.array([by_class[own] for own in node_classes(model.tree_).tolist()], np.float32)
        result = model.searcher_.topk(checked, SearchRequest(3, discounts=NodeValues(discounts)), stats=True)
        changed |= (result.labels != exact).any(axis=1)
        assert learned.broken[1, setting] == changed.sum()
    assert learned.chunks[1, settings[-1]] == pytest.approx(result.stats.chunks.sum() / work.chunks.sum())
    assert learned.kept(1, 0.9) == (1 - changed.sum() / 1134, learned.chunks[1, settings[-1]])


def test_classes_are_depth_and_size(model):
    tree = model.tree_
    sizes = [len(labels) for labels in labels_below(tree)]
    expected = [64 * min(depth, 31) + size.bit_length() - 1 for depth, size in zip(tree.node_depth, sizes, strict=True)]
    assert node_classes(tree).tolist() == expected


def test_too_few_points_guarantee_nothing_and_search_exactly(points):
    X, Y = points
    model = lt.LabelTreeClassifier(fanout=4).fit(X[:300], Y[:300]).calibrate(X[300:320])
    exact, _, work = exact_lists(model, X[400:600], 5)
    labels, _, same = model.predict_topk(X[400:600], 5, agreement=0.99, return_stats=True)
    assert labels.tolist() == exact.tolist()
    assert same.chunks.tolist() == work.chunks.tolist()
    with pytest.raises(lt.errors.InputError, match="calibrate needs at least 2 points, got 1"):
        model.calibrate(X[:1])


def test_learning_repeats_and_does_not_depend_on_threads(points, model):
    X, Y = points
    again = lt.LabelTreeClassifier(fanout=4, loss=lt.Solver(prune_below=0.0), n_jobs=2).fit(X[:600], Y[:600])
    again.calibrate(X[600:2300], k=[5, 3, 1, 1])
    for name, _, _ in EarlyStop.ARRAYS:
        assert getattr(again.early_stop_, name).tobytes() == getattr(model.early_stop_, name).tobytes()


# How it is asked for.


@pytest.mark.parametrize("agreement", [0.9, 0.6])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_lists_of_other_lengths_are_cut_from_the_next(model, unseen, agreement, k):
    searched = {1: 1, 2: 3, 3: 3, 4: 5, 5: 5}[k]
    whole, scores = model.predict_topk(unseen, searched, agreement=agreement)
    labels, cut = model.predict_topk(unseen, k, agreement=agreement)
    assert labels.tolist() == whole[:, :k].tolist()
    assert cut.tobytes() == scores[:, :k].tobytes()
    predictor = model.predictor(k, agreement=agreement)
    for row in range(20):
        ids, own = predictor(unseen[[row]])
        assert ids.tolist() == labels[row].tolist()
        assert own.tolist() == cut[row].tolist()
        assert predictor(unseen[[row]], k=1)[0].tolist() == whole[row, :1].tolist()


def test_texts_too(text_model, texts):
    lines = texts[0][1000:]
    exact, true, work = exact_lists(text_model, lines, 3)
    labels, scores, less = text_model.predict_topk(lines, 2, agreement=0.7, return_stats=True)
    assert less.chunks.sum() < work.chunks.sum()
    same = (labels == exact[:, :2]).all(axis=1)
    assert same.mean() > 0.6
    assert scores[same].tobytes() == true[same, :2].tobytes()  # true scores, to the bit
    predictor = text_model.predictor(2, agreement=0.7)
    for row in range(50):
        ids, own = predictor(lines[row])
        assert text_model.classes_[ids].tolist() == labels[row].tolist()
        assert own.tolist() == scores[row].tolist()
    with pytest.raises(lt.errors.InputError, match="k must be at most 3, the number of labels that"):
        predictor(lines[0], 4)


def test_an_agreement_of_one_is_exact_and_needs_no_calibration(points):
    X, Y = points
    model = lt.LabelTreeClassifier(fanout=4, beam=1, search="paths").fit(X[:300], Y[:300])
    assert model.predict_topk(X, 7, agreement=1)[0].tolist() == exact_lists(model, X, 7)[0].tolist()
    assert model.predictor(7, agreement=1.0)(X[[0]])[0].tolist() == exact_lists(model, X[:1], 7)[0][0].tolist()


def test_more_labels_than_there_are_is_all_of_them(points):
    X, Y = points
    few = lt.LabelTreeClassifier(fanout=2).fit(X[:300], Y[:300, :6]).calibrate(X[300:900])
    assert few.early_stop_.k.tolist() == [1, 3, 5, 6]
    labels, scores = few.predict_topk(X[900:910], 9, agreement=0.9)
    assert labels.shape == scores.shape == (10, 9)
    assert (labels[:, 6:] == -1).all()
    assert (scores[:, 6:] == 0).all()


def test_budgets_may_be_combined(model, text_model, unseen, texts):
    _, _, stats = model.predict_topk(unseen, 3, agreement=0.9, max_chunks=2, return_stats=True)
    assert stats.chunks.max() == 2
    assert stats.partial.any()
    _, _, stats = text_model.predict_topk(texts[0], 3, agreement=0.9, max_chunks=3, return_stats=True)
    assert stats.chunks.max() == 3
    assert stats.partial.any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 6}, "k must be at most 5 with agreement, because calibrate learned k = 1, 3, 5, got 6"),
        ({"agreement": 0}, r"agreement must be a number in \(0, 1\]"),
        ({"agreement": 1.01}, r"agreement must be a number in \(0, 1\]"),
        ({"agreement": "all"}, r"agreement must be a number in \(0, 1\]"),
        ({"beam": 10}, "beam cannot be combined with agreement"),
    ],
)
def test_unreachable_agreements_are_refused(model, unseen, arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        model.predict_topk(unseen[:2], **{"k": 3, "agreement": 0.9, **arguments})


def test_a_model_without_calibration_is_refused(points, texts):
    X, Y = points
    lines, labels = texts
    for model, some in (
        (lt.LabelTreeClassifier().fit(X[:100], Y[:100]), X[:2]),
        (lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1).fit(lines[:100], labels[:100]), lines[:2]),
    ):
        for ask in (
            lambda m=model, s=some: m.predict_topk(s, 1, agreement=0.9),
            lambda m=model: m.predictor(1, agreement=0.9),
        ):
            with pytest.raises(lt.errors.InputError, match=r"call calibrate\(X\) on points the model has not seen"):
                ask()


@pytest.mark.parametrize("k", [5, (), "15", [0], [1.5], None])
def test_lengths_must_be_integers(model, points, k):
    with pytest.raises(lt.errors.InputError, match="k must be"):
        model.calibrate(points[0][:50], k=k)


def test_probabilities_are_learned_beside_only_where_labels_are_given(points):
    X, Y = points
    model = lt.LabelTreeClassifier(fanout=4).fit(X[:300], Y[:300]).calibrate(X[300:600], k=(1,))
    assert model.calibration_ is None
    model.calibrate(X[300:600], Y[300:600], k=(1, 2))
    before = model.calibration_
    assert before is not None
    assert model.early_stop_.k.tolist() == [1, 2]
    assert model.calibrate(X[300:600], k=(1,)).calibration_ is before  # and they stay
    assert model.fit(X[:300], Y[:300]).early_stop_ is None  # but not over a new training


# Keeping.


def test_saved_and_pickled_models_keep_their_promises(model, text_model, unseen, texts, tmp_path):
    for original, some in ((model, unseen), (text_model, texts[0][1000:])):
        original.save(tmp_path / "saved")
        labels, scores = original.predict_topk(some, 3, agreement=0.7)
        copies = [
            lt.load(tmp_path / "saved"),
            lt.load(tmp_path / "saved", verify=True),
            pickle.loads(pickle.dumps(original)),
        ]
        for copy in copies:
            again, same = copy.predict_topk(some, 3, agreement=0.7)
            assert again.tolist() == labels.tolist()
            assert same.tobytes() == scores.tobytes()
            assert copy.early_stop_.n_checked == original.early_stop_.n_checked


def test_models_saved_without_bounds_load_as_not_calibrated(points, tmp_path):
    X, Y = points
    lt.LabelTreeClassifier().fit(X[:100], Y[:100]).save(tmp_path / "model")
    assert not list((tmp_path / "model").glob("agreement*"))
    assert lt.load(tmp_path / "model").early_stop_ is None


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([3, 1000]))
@settings(max_examples=60, deadline=None)
def test_tables_are_the_best_of_all_thresholds(seed, n, n_values):
    rng = np.random.default_rng(seed)
    classes, required = rng.integers(0, 3, n), rng.integers(0, n_values, n) / 64  # some equal
    needed = rng.random(n) < 0.3
    table = learn_tables(Visits(classes, required, needed), 4)
    assert table.shape == (len(SHARES) + 2 * len(COSTS) - 1, 4)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (table[:, 3] == 0).all()  # a class that was never met
    for number in range(3):
        own, lost = required[classes == number], needed[classes == number]

        def gain(discount, cost, own=own, lost=lost):
            skipped = own < discount
            return skipped.sum() - cost * (lost[skipped].sum() + 0.5) if skipped.any() else 0.0

        # The first table is not yet raised by others: no threshold does better.
        first = gain(table[len(SHARES), number], COSTS[0])
        assert first == max([gain(value + 1e-4, COSTS[0]) for value in own] + [0.0])
        best = 0.0
        for setting, cost in enumerate(COSTS):
            own_best = max([0.0, *own], key=lambda value: gain(value + 1e-4, cost))
            if gain(own_best + 1e-4, cost) > 0:
                best = max(best, own_best)
            skipped = own < table[len(SHARES) + 2 * setting, number]
            assert skipped.sum() >= (own <= best).sum() * (best > 0)
    own = table[len(SHARES) :].astype(float)
    np.testing.assert_allclose(own[1::2], (own[:-1:2] + own[2::2]) / 2, rtol=1e-6, atol=1e-30)
    np.testing.assert_allclose(table[: len(SHARES)], SHARES[:, None] * table[len(SHARES)], rtol=1e-6, atol=1e-30)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_visits_are_compared_with_the_labels_elsewhere(seed, k):
    rng = np.random.default_rng(seed)
    tree = lt.contract(lt.random_tree(20, random_state=seed % 1000), int(rng.integers(2, 6)))
    n, n_found = 4, int(rng.integers(0, 2 * k + 1))
    labels = np.stack([rng.permutation(20)[: 2 * k] for _ in range(n)])
    scores = np.sort(-rng.random((n, 2 * k)), axis=1)[:, ::-1]
    labels[:, n_found:] = -1
    nodes = [np.concatenate([[0], rng.permutation(np.arange(1, tree.n_nodes))[:5]]) for _ in range(n)]
    ends = np.concatenate([[0], np.cumsum([len(own) for own in nodes])])
    trace = SearchTrace(ends, np.concatenate(nodes).astype(np.int32), -rng.random(ends[-1]).astype(np.float32))
    visits = visits_of(tree, trace, labels, scores, k, lambda at, limit: at - limit)
    below = labels_below(tree)
    at = 0
    for query in range(n):
        for place, node in enumerate(nodes[query][1:], start=1):
            assert visits.nodes[at] == node
            assert visits.needed[at] == bool(set(labels[query, :k].tolist()) & set(below[node]))
            elsewhere = [rank for rank in range(n_found) if labels[query, rank] not in below[node]]
            limit = scores[query, elsewhere[k - 1]] if len(elsewhere) >= k else -80.0
            assert visits.required[at] == np.float64(trace.scores[ends[query] + place]) - limit
            at += 1
    assert at == len(visits.nodes)


def test_no_visits_join_to_an_empty_list():
    joined = Visits.joined([])
    assert [part.shape for part in joined] == [(0,)] * 3
    assert [part.dtype for part in joined] == [np.int64, np.float64, np.bool_]
