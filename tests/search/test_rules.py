"""Limits per group, boosts, thresholds and diversity: lists equal those of brute force over all labels."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.search import Searcher, SearchRequest
from labeltrees.search.queries import LabelBoosts, label_limits

N = 60


@pytest.fixture(scope="module", params=[1, 3], ids=["one tree", "three trees"])
def case(request, twin):
    models = [twin.random_model(seed, n_labels=N, most_children=9, n_features=50) for seed in range(request.param)]
    searcher = Searcher([model.pack() for model in models], loss="logistic")  # no score is rounded to 0
    X = twin.random_queries(2, 6, 50)
    trees = [searcher.of_tree(tree).topk(X, N) for tree in range(request.param)]
    lists = [[dict(zip(*row, strict=True)) for row in zip(t.labels.tolist(), t.scores, strict=True)] for t in trees]
    return searcher, X, lists, [similarities(model) for model in models]


def similarities(model):
    """The information of the lowest common ancestor of each pair of labels, from the definition."""
    above = [[] for _ in range(model.n_labels)]
    parent = {child: node for child, (_, node) in model.parent_edge.items()}
    for label in range(model.n_labels):
        node = parent.get(~label)
        while node is not None:
            above[label].append(node)
            node = parent.get(node)
    below = {node: sum(node in path for path in above) for node in range(model.n_nodes)}
    found = np.zeros((model.n_labels, model.n_labels))
    for a in range(model.n_labels):
        for b in range(model.n_labels):
            common = next((node for node in above[a] if node in above[b]), None)
            if common is not None:
                found[a, b] = 1 - math.log(below[common]) / math.log(max(below[0], 2))
    return found


def greedy(scores, k, groups, most, factor=1):
    """Labels by falling score; those whose group is full are skipped."""
    found, counts = [], {}
    for label, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
        group = -1 if groups is None else groups[label]
        if group >= 0:
            if counts.get(group, 0) >= most * factor:
                continue
            counts[group] = counts.get(group, 0) + 1
        found.append(label)
    return found[:k]


def brute_force(trees, rules, k, n_proposed):
    """Scores of the labels that the rules choose from, and the labels in order."""
    groups, most, weights = rules["groups"], rules["most"], rules["weights"]
    allowed = rules["allowed"]
    weighted = [
        {one: s * weights.get(one, np.float32(1)) for one, s in tree.items() if one in allowed} for tree in trees
    ]
    weighted = [{one: s for one, s in tree.items() if s > 0} for tree in weighted]
    factor = max(n_proposed // k, 1)
    if len(trees) == 1:
        scores = weighted[0]
    else:
        pool = {label for tree in weighted for label in greedy(tree, n_proposed, groups, most, factor)}
        scores = {one: np.mean([t.get(one, 0) for t in trees]) * weights.get(one, np.float32(1)) for one in pool}
    return scores, greedy(scores, n_proposed, groups, most, factor)


rule_sets = st.fixed_dictionaries(
    {
        "groups": st.none() | st.lists(st.integers(-1, 5), min_size=N, max_size=N),
        "most": st.integers(0, 3),
        "weights": st.dictionaries(st.integers(0, N - 1), st.sampled_from([0, 0.25, 0.5, 2, 16]), max_size=8),
        "allowed": st.just(set(range(N))) | st.sets(st.integers(0, N - 1)),
        "threshold": st.none() | st.sampled_from([1e-6, 1e-3, 0.05, 0.5]),
    }
)


def request_of(rules, k, **options):
    boosted = sorted(rules["weights"])
    values = np.array([rules["weights"][label] for label in boosted], np.float32)
    return SearchRequest(
        k,
        limits=None if rules["groups"] is None else (rules["groups"], rules["most"]),
        label_weight=LabelBoosts(np.array(boosted, np.int32), values) if boosted else None,
        candidates=None if len(rules["allowed"]) == N else sorted(rules["allowed"]),
        threshold=rules["threshold"],
        **options,
    )


@settings(max_examples=150, deadline=None)
@given(rules=rule_sets, k=st.integers(1, 2 * N))
def test_lists_under_all_rules_equal_brute_force(case, rules, k):
    searcher, X, lists, _ = case
    found = searcher.topk(X, request_of(rules, k))
    answer = searcher.predictor(SearchRequest(k))
    limits = None if rules["groups"] is None else prepared(searcher, rules)
    for row in range(X.shape[0]):
        scores, labels = brute_force([tree[row] for tree in lists], rules, min(k, N), min(k, N))
        labels = [label for label in labels if rules["threshold"] is None or scores[label] >= rules["threshold"]]
        own = found.labels[row][found.labels[row] >= 0].tolist()
        np.testing.assert_allclose(found.scores[row][: len(own)], [scores[label] for label in labels], rtol=1e-5)
        assert own == labels or np.allclose([scores[one] for one in own], [scores[one] for one in labels], rtol=1e-6)
        options = {} if len(rules["allowed"]) == N else {"candidates": rules["allowed"]}
        options |= {"label_weight": rules["weights"]} if rules["weights"] else {}
        single = answer(X[[row]], limits=limits, threshold=rules["threshold"], **options)
        assert single[0].tolist() == own
        assert single[1].tobytes() == found.scores[row][: len(own)].tobytes()


def prepared(searcher, rules):
    return label_limits((rules["groups"], rules["most"]), searcher.n_labels)


@settings(max_examples=60, deadline=None)
@given(rules=rule_sets, k=st.integers(1, 12), diversity=st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_diverse_lists_are_greedy_by_marginal_relevance(case, rules, k, diversity):
    searcher, X, lists, similar = case
    similar = np.mean(similar, axis=0)
    found = searcher.topk(X, request_of(rules, k, diversity=diversity))
    n_proposed = min(max(k, min(10 * k, 100)), N)
    for row in range(X.shape[0]):
        scores, proposed = brute_force([tree[row] for tree in lists], rules, k, n_proposed)
        proposed = [label for label in proposed if rules["threshold"] is None or scores[label] >= rules["threshold"]]
        own = found.labels[row][found.labels[row] >= 0].tolist()
        counts = dict.fromkeys(range(6), 0)
        groups = rules["groups"] or [-1] * N
        for place in range(k):
            left = [one for one in proposed if one not in own[:place]]
            left = [one for one in left if groups[one] < 0 or counts[groups[one]] < rules["most"]]
            if not left:
                assert len(own) == place
                break
            best = max(scores[one] for one in proposed)
            nearest = {one: max([similar[one, other] for other in own[:place]], default=0) for one in left}
            value = {one: (1 - diversity) * scores[one] / best - diversity * nearest[one] for one in left}
            assert value[own[place]] >= max(value.values()) - 1e-5
            if groups[own[place]] >= 0:
                counts[groups[own[place]]] += 1


def test_diversity_of_0_is_the_plain_list(case):
    searcher, X, _, _ = case
    assert searcher.topk(X, SearchRequest(5, diversity=0)).labels.tolist() == searcher.topk(X, 5).labels.tolist()


def test_a_list_has_k_labels_whenever_the_limits_allow_it(case):
    searcher, X, _, _ = case
    groups = [label // 10 for label in range(N)]  # 6 groups of 10
    for k, most, n in [(5, 1, 5), (6, 1, 6), (7, 1, 6), (12, 2, 12), (60, 3, 18)]:
        for diversity in (None, 0.5):
            labels = searcher.topk(X, SearchRequest(k, limits=(groups, most), diversity=diversity)).labels
            assert (labels >= 0).sum(axis=1).tolist() == [n] * X.shape[0]
            for row in labels:
                assert np.bincount(row[row >= 0] // 10).max() <= most


def test_boosts_are_forgotten_after_the_call(case):
    searcher, X, _, _ = case
    answer = searcher.predictor(5)
    plain = answer(X[[0]])[0].tolist()
    for boosts in ({3: 1e6}, {plain[0]: 0}, {3: 0.1, 7: 1e9}):
        labels = answer(X[[0]], label_weight=boosts)[0].tolist()
        assert labels != plain
    assert answer(X[[0]], label_weight={})[0].tolist() == plain
    assert answer(X[[0]])[0].tolist() == plain


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (3, r"limits must be a pair \(groups, m\)"),
        ("ab", r"limits must be a pair \(groups, m\)"),
        (([1, 2], 1), f"the groups of limits must be {N} groups, one per label"),
        (([0] * N, -1), "m of limits must be an integer of at least 0"),
        (([0] * N, {0: 1.5}), r"m of limits\[0\] must be an integer"),
        (({N: 1}, 1), "the labels of limits must hold label ids"),
        (([[]] * N, 1), "the groups of limits must be texts or numbers"),
    ],
)
def test_other_limits_are_refused(case, limits, message):
    searcher, X, _, _ = case
    with pytest.raises(InputError, match=message):
        searcher.topk(X, SearchRequest(3, limits=limits))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": ([0] * N, 1)}, "limits of a call must be prepared with label_limits"),
        ({"threshold": -1}, "threshold must be a number of at least 0"),
        ({"threshold": True}, "threshold must be a number of at least 0"),
        ({"diversity": 1.5}, r"diversity must be in \[0, 1\]"),
        ({"diversity": float("nan")}, r"diversity must be in \[0, 1\]"),
        ({"label_weight": {0: -1}}, "label_weight must hold numbers"),
        ({"label_weight": {0: "x"}}, "label_weight must hold numbers"),
        ({"label_weight": {N: 1}}, "label_weight must hold label ids"),
        ({"label_weight": [1]}, "label_weight of a call must be a dict"),
    ],
)
def test_other_options_of_a_call_are_refused(case, options, message):
    searcher, X, _, _ = case
    with pytest.raises(InputError, match=message):
        searcher.predictor(3)(X[[0]], **options)


@pytest.mark.parametrize(
    ("groups", "most", "n"),
    [
        (["a", "a", None, "b"], 1, 3),
        ({0: "a", 1: "a"}, 1, 3),
        (np.array([4, 4, -1, -7]), 1, 3),
        ([math.nan, 1.0, 1.0, math.nan], 1, 3),
        (["a", "a", "b", "b"], {"a": 0}, 2),
        (["a", "a", "b", "b"], {"a": 1, "b": 1, "c": 1}, 2),
    ],
)
def test_groups_take_many_forms(groups, most, n):
    model = lt.LabelTreeClassifier(C=1.0).fit(np.eye(4), np.eye(4))
    labels, _ = model.predict_topk(np.eye(4), 4, limits=(groups, most))
    assert (labels >= 0).sum(axis=1).tolist() == [n] * 4


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(0)
    items = [f"item {i}" for i in range(40)]
    taste = rng.random((8, 40)) ** 6
    baskets, targets = [], []
    for _ in range(400):
        own = taste[rng.integers(8)]
        chosen = rng.choice(40, size=6, replace=False, p=own / own.sum())
        baskets.append([items[i] for i in chosen[:4]])
        targets.append([items[i] for i in chosen[4:]])
    return items, baskets, targets


def make_model(shop, kind):
    items, baskets, targets = shop
    if kind == "text":
        texts = [" ".join(item.replace(" ", "") for item in basket) for basket in baskets]
        return lt.TextLabelTreeClassifier(dim=8, epochs=5, min_count=1, n_jobs=1).fit(texts, targets), texts
    encoder = lt.encoders.ItemEncoder(items)
    options = {"several trees": {"n_trees": 3}, "evidence": {"evidence": "neighbours"}}.get(kind, {"evidence": None})
    columns = [[items.index(item) for item in target] for target in targets]
    Y = np.zeros((len(targets), len(items)))
    for row, own in enumerate(columns):
        Y[row, own] = 1
    data = lt.Dataset(encoder.transform(baskets), Y, label_names=items, encoder=encoder)
    times = {"trend": True} if kind == "trend" else {}
    model = lt.LabelTreeClassifier(C=1.0, fanout=3, leaf_size=2, beam=1, **options)
    if times:
        weights = np.random.default_rng(1).random(len(items)) + 0.5
        model.fit(data)
        model.searcher_.set_trend(weights)
        return model, baskets
    return model.fit(data), baskets


@pytest.mark.parametrize("kind", ["linear", "several trees", "evidence", "trend", "text"])
def test_rules_hold_in_every_kind_of_model_and_place(shop, kind):
    model, questions = make_model(shop, kind)
    names = list(model.classes_)
    groups = {name: int(str(name).split()[-1]) % 4 for name in names}
    rules = {"limits": (groups, 1), "exclude": names[:3], "label_weight": {names[5]: 3.0}}
    labels, scores = model.predict_topk(questions[:50], 6, **rules)
    assert (labels[:, :4] != None).all()  # noqa: E711
    assert (labels[:, 4:] == None).all()  # noqa: E711
    assert not np.isin(labels, names[:3]).any()
    answer = model.predictor(6, names=True)
    limits = model.label_limits(groups, 1)
    for row, question in enumerate(questions[:50]):
        found = answer(question, limits=limits, exclude=names[:3], label_weight={names[5]: 3.0})
        assert found[0] == labels[row, :4].tolist()
        assert found[1].tobytes() == scores[row, :4].tobytes()
    if kind in ("several trees", "evidence"):
        return  # their lists depend on what the trees propose; the tests above check ensembles
    every, values = model.predict_topk(questions[:50], len(names), **({} if kind == "text" else {"beam": None}))
    for row in range(50):
        boosted = {one: v * (3 if one == names[5] else 1) for one, v in zip(every[row], values[row], strict=True)}
        order = sorted(boosted, key=lambda label: (-boosted[label], names.index(label)))
        expected, used = [], set()
        for label in order:
            if label not in names[:3] and groups[label] not in used:
                expected.append(label)
                used.add(groups[label])
        np.testing.assert_allclose(scores[row, :4], [boosted[label] for label in expected], rtol=1e-5)


def test_rules_make_a_search_exact_unless_a_beam_is_given(shop):
    model, baskets = make_model(shop, "linear")
    names = list(model.classes_)
    rules = [{"candidates": names[::2]}, {"exclude": names[:1]}, {"limits": ([0] * 40, 5)}]
    for rule in [*rules, {"diversity": 0.3}]:
        exact = model.predict_topk(baskets, 5, beam=None, **rule)
        assert model.predict_topk(baskets, 5, **rule)[0].tolist() == exact[0].tolist()
        per_call = dict(rule)
        if "limits" in rule:
            per_call = {"limits": model.label_limits(*rule["limits"])}
        answer, narrow = model.predictor(5, names=True), model.predictor(5, names=True, beam=1)
        found = [answer(basket, **per_call)[0] for basket in baskets]
        assert found == [[label for label in row if label is not None] for row in exact[0].tolist()]
        given = model.predict_topk(baskets, 5, beam=1, **rule)[0].tolist()
        assert [narrow(basket, **per_call)[0] for basket in baskets] == [[one for one in row if one] for row in given]
    seen = model.predictor(5, names=True, exclude_seen=True)
    exact = model.predict_topk(baskets, 5, beam=None, exclude=baskets)[0]
    assert [seen(basket)[0] for basket in baskets] == exact.tolist()


@pytest.mark.parametrize("threshold", [1e-9, 0.01, 0.3])
def test_a_threshold_cuts_the_list_of_the_same_search_without_it(shop, threshold):
    model, baskets = make_model(shop, "linear")
    for beam in ({}, {"beam": 1}, {"beam": None}):
        labels, scores = model.predict_topk(baskets, 5, **beam)
        cut, kept = model.predict_topk(baskets, 5, threshold=threshold, **beam)
        expected = [
            [one for one, score in zip(*row, strict=True) if score >= np.float32(threshold)]
            for row in zip(labels.tolist(), scores, strict=True)
        ]
        assert [[one for one in row if one is not None] for row in cut.tolist()] == expected
        assert all((row[row > 0] >= np.float32(threshold)).all() for row in kept)
        answer = model.predictor(5, names=True, **beam)
        assert [answer(basket, threshold=threshold)[0] for basket in baskets] == expected


def test_unknown_options_are_named(shop):
    model, baskets = make_model(shop, "linear")
    with pytest.raises(TypeError, match="predict_topk has no option 'agrement'; did you mean agreement"):
        model.predict_topk(baskets, agrement=0.9)
    with pytest.raises(TypeError, match="predict_topk has no option 'zzz'; it has n_jobs, agreement"):
        model.predict_topk(baskets, zzz=0.9)
    assert model.predict_topk(baskets, n_jobs=2, max_chunks=9, max_microseconds=10**6, diversity=0.1)[0].shape[1] == 5
