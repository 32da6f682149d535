"""Label sets, weights of labels and the prior: lists equal those of brute force over the allowed labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees.errors import InputError
from labeltrees.search import NodeValues, Searcher, SearchRequest

N = 120
NAMES = [f"label {label}" for label in range(N)]


@pytest.fixture(scope="module", params=[1, 3], ids=["one tree", "three trees"])
def case(request, twin):
    models = [twin.random_model(seed, n_labels=N, most_children=9, n_features=50) for seed in range(request.param)]
    return Searcher([model.pack() for model in models]), twin.random_queries(2, 6, 50)


def whole_lists(searcher, X):
    found = searcher.topk(X, N)
    return [list(zip(*row, strict=True)) for row in zip(found.labels.tolist(), found.scores.tolist(), strict=True)]


label_lists = st.lists(st.integers(0, N - 1), max_size=N + 20)


@settings(max_examples=40)
@given(exclude=st.none() | label_lists, candidates=st.none() | label_lists, k=st.integers(1, 12), data=st.data())
def test_all_forms_agree_with_filtering_by_hand(case, exclude, candidates, k, data):
    searcher, X = case
    if len(searcher.stores) > 1:  # the trees propose k labels each: compare with the batch, which other tests check
        expected = searcher.topk(X, SearchRequest(k, exclude=exclude, candidates=candidates))
        expected = [
            [pair for pair in zip(*row, strict=True) if pair[0] >= 0]
            for row in zip(expected.labels.tolist(), expected.scores.tolist(), strict=True)
        ]
    else:
        expected = [
            [
                (label, score)
                for label, score in row
                if label >= 0
                and (exclude is None or label not in exclude)
                and (candidates is None or label in candidates)
            ][:k]
            for row in whole_lists(searcher, X)
        ]
    names = _core.Names(*encode_names(NAMES), "names")
    answer = searcher.predictor(k, names=names)
    forms = {
        "ids": lambda labels: labels,
        "array": lambda labels: np.array(labels, np.int64),
        "set": set,
        "names": lambda labels: [NAMES[label] for label in labels],
        "prepared": searcher.label_set,
    }
    form = {what: forms[data.draw(st.sampled_from(sorted(forms)))] for what in ("exclude", "candidates")}
    given_labels = {
        name: labels if labels is None else form[name](labels)
        for name, labels in (("exclude", exclude), ("candidates", candidates))
    }
    for row in range(X.shape[0]):
        labels, scores = answer(X[[row]], **given_labels)
        assert list(zip(labels.tolist(), scores.tolist(), strict=True)) == expected[row]


@pytest.mark.parametrize("n", [0, 1, 14, 15, 60, 119, 120])
@pytest.mark.parametrize("options", [{}, {"beam": 2}, {"search": "paths", "beam": 2}, {"max_chunks": 3}], ids=str)
def test_batches_and_single_calls_agree_for_all_sizes(case, n, options):
    searcher, X = case
    labels = np.random.default_rng(n).permutation(N)[:n]
    prepared = searcher.label_set(labels)
    assert len(prepared) == n
    for name in ("exclude", "candidates"):
        request = SearchRequest(4, **options, **{name: labels})
        batch = searcher.topk(X, request)
        same = searcher.topk(X, SearchRequest(4, **options, **{name: prepared}))
        np.testing.assert_array_equal(batch.labels, same.labels)
        answer = searcher.predictor(SearchRequest(4, **options))
        for row in range(X.shape[0]):
            found = batch.labels[row][batch.labels[row] >= 0].tolist()
            assert answer(X[[row]], **{name: prepared})[0].tolist() == found
            if name == "candidates" or n * 8 < N:  # a long list to exclude only skips nodes once it is prepared
                assert answer(X[[row]], **{name: labels})[0].tolist() == found


def test_a_search_that_excludes_nearly_all_labels_opens_few_nodes(case):
    searcher, X = case
    labels = np.arange(N - 1)
    plain = searcher.topk(X, 1, stats=True).stats
    found = searcher.topk(X, SearchRequest(1, exclude=labels), stats=True)
    assert (found.labels == N - 1).all()
    one_path = searcher.topk(X, SearchRequest(1, candidates=[N - 1]), stats=True).stats
    assert found.stats.chunks.tolist() == one_path.chunks.tolist()
    assert plain.chunks.max() <= searcher.n_nodes


def test_names_are_returned_and_unknown_names_counted(case):
    searcher, X = case
    names = _core.Names(*encode_names(NAMES), "names")
    labels, scores = searcher.predictor(3, names=names, with_names=True)(X[[0]])
    ids, same = searcher.predictor(3)(X[[0]])
    assert labels == [NAMES[label] for label in ids]
    assert scores.tolist() == same.tolist()
    prepared = searcher.label_set(["label 3", "nothing", "label 3", "\ud800"], names)
    assert (len(prepared), prepared.n_unknown) == (1, 2)
    assert searcher.label_set(prepared, names) is prepared
    for asked in ({"candidates": ["labl 3"]}, {"exclude": ["label 3", "labl 3"]}, {"label_weight": {"labl 3": 2.0}}):
        with pytest.raises(lt.errors.InputError, match="labels that the model knows, got str 'labl 3'; did you mean"):
            searcher.predictor(3, names=names)(X[[0]], **asked)
    only = searcher.label_set(["nothing"], names)
    assert searcher.predictor(3, names=names)(X[[0]], candidates=only)[0].tolist() == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([N], rf"must hold label ids in \[0, {N}\), got {N}"),
        ([-1], "must hold label ids"),
        ([2**70], "must hold label ids"),
        (np.array([N]), "must hold label ids"),
        (np.zeros((1, 2), np.int64), r"must hold label names or ids, got list \[0, 0\]"),
        ([1.5], r"must hold label names or ids, got float 1\.5"),
        ([True], "must hold label names or ids"),
        (["label 3"], "must hold label ids: the labels of this model have no names"),
        ("label 3", "must be a list of labels or a label set, got str 'label 3'"),
        (3, "must be a list of labels or a label set"),
    ],
    ids=str,
)
def test_invalid_label_sets_are_refused(case, labels, message):
    searcher, X = case
    answer = searcher.predictor(3)
    for name in ("exclude", "candidates"):
        with pytest.raises(InputError, match=f"{name} {message}"):
            answer(X[[0]], **{name: labels})
    with pytest.raises(InputError, match=f"labels {message}"):
        searcher.label_set(labels)


def test_sets_of_another_model_are_refused(case, twin):
    searcher, X = case
    other = Searcher(twin.random_model(7, n_labels=N, n_features=50).pack()).label_set([1])
    with pytest.raises(InputError, match="exclude is a label set of another model"):
        searcher.predictor(3)(X[[0]], exclude=other)
    with pytest.raises(InputError, match="candidates is a label set of another model"):
        searcher.topk(X, SearchRequest(3, candidates=other))


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n_labels": st.integers(1, 60),
        "most_children": st.integers(2, 40),
        "n_features": st.sampled_from([5, 33, 600]),
        "stop": st.sampled_from([0.1, 0.9]),
    }
)


def random_weights(seed, n_labels):
    """Weights over several orders of magnitude, some of them 0."""
    rng = np.random.default_rng(seed)
    weights = np.exp(3 * rng.standard_normal(n_labels))
    weights[rng.random(n_labels) < 0.2] = 0
    return weights


def with_logs(weights):
    with np.errstate(divide="ignore"):
        return np.log(weights.astype(np.float32).astype(np.float64))


@given(shapes, st.integers(1, 70), st.sampled_from(["squared_hinge", "logistic"]))
@settings(max_examples=60, deadline=None)
def test_weighted_lists_equal_brute_force(twin, shape, k, loss):
    model = twin.random_model(**shape, values=None)
    X = twin.random_queries(shape["seed"], 6, model.n_features, values=None)
    weights = random_weights(shape["seed"], model.n_labels)
    power = 2.0 if loss == "squared_hinge" else 0
    labels, scores = twin.best_of(twin.path_scores(model, X, power) + with_logs(weights), k)
    searcher = Searcher(model.pack(), score_power=2.0, loss=loss)
    for search in ("best_first", "paths"):
        found = searcher.topk(X, SearchRequest(k, search=search, beam=None, label_weight=weights))
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-4, atol=1e-30)
    one = searcher.predictor(SearchRequest(k, label_weight=weights))(X[:1].indices, X[:1].data)
    assert one[0].tolist() == labels[0][labels[0] >= 0].tolist()


@pytest.mark.parametrize("restriction", [{"candidates": list(range(0, 40, 2))}, {"exclude": [0, 1, 2, 7]}])
def test_weights_work_beside_candidates_and_exclusions(twin, restriction):
    model = twin.random_model(3, n_labels=40, values=None)
    X = twin.random_queries(3, 10, model.n_features, values=None)
    weights = random_weights(4, 40)
    expected = twin.path_scores(model, X) + with_logs(weights)
    allowed = np.zeros(40, bool)
    allowed[restriction.get("candidates", slice(None))] = True
    allowed[restriction.get("exclude", [])] = False
    labels, _ = twin.best_of(np.where(allowed, expected, -np.inf), 6)
    found = Searcher(model.pack()).topk(X, SearchRequest(6, label_weight=weights, **restriction))
    np.testing.assert_array_equal(found.labels, labels)


def test_an_ensemble_weights_the_mean_of_its_trees(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(n_trees=3, fanout=4, leaf_size=4, tradeoff=1, C=1.0).fit(X, Y)
    weights = random_weights(0, Y.shape[1]) + 0.01
    labels, scores = model.predict_topk(X, Y.shape[1], beam=None)
    rows = np.arange(len(labels))[:, np.newaxis]
    every = np.zeros(labels.shape)
    every[rows, labels] = scores
    found, products = model.predict_topk(X, 3, label_weight=weights)
    trees = [model.searcher_.of_tree(tree).topk(X, Y.shape[1]) for tree in range(3)]
    for row in range(len(found)):
        pooled = set()
        for tree in trees:
            weighted = tree.scores[row] * weights[tree.labels[row]]
            pooled |= set(tree.labels[row][np.argsort(-weighted, kind="stable")[:3]].tolist())
        expected = sorted(pooled, key=lambda label: (-every[row, label] * weights[label], label))[:3]
        np.testing.assert_allclose(products[row], [every[row, label] * weights[label] for label in expected], rtol=1e-4)


@pytest.fixture
def toy_data():
    rng = np.random.default_rng(1)
    X = rng.random((80, 12)) * (rng.random((80, 12)) < 0.5)
    Y = (X @ rng.standard_normal((12, 30)) > 1.2).astype(float)
    Y[Y.sum(axis=1) == 0, 0] = 1
    return X, Y


def test_a_model_takes_arrays_mappings_and_prepared_weights(toy_data):
    X, Y = toy_data
    names = [f"label {i}" for i in range(Y.shape[1])]
    model = lt.LabelTreeClassifier(fanout=4, leaf_size=4, C=1.0).fit(lt.Dataset(X, Y, label_names=names))
    weights = np.ones(Y.shape[1])
    weights[8], weights[5] = 50, 0
    by_array = model.predict_topk(X, 4, label_weight=weights)
    assert "label 5" not in by_array[0]
    assert (by_array[0][:, 0] == "label 8").mean() > (model.predict_topk(X, 4)[0][:, 0] == "label 8").mean()
    prepared = model.label_weights({"label 8": 50, "label 5": 0})
    for other in ({"label 8": 50, "label 5": 0}, prepared):
        labels, scores = model.predict_topk(X, 4, label_weight=other)
        assert labels.tolist() == by_array[0].tolist()
        assert scores.tobytes() == by_array[1].tobytes()
    one, _ = model.predictor(4, label_weight=prepared, names=True)(X[0].astype(np.float32))
    assert one == by_array[0][0].tolist()


def test_weights_make_a_search_exact_unless_a_beam_is_given(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(fanout=2, leaf_size=1, beam=1, C=1.0).fit(X, Y)
    weights = random_weights(5, Y.shape[1])
    by_default = model.predict_topk(X, 5, label_weight=weights)
    exact = model.predict_topk(X, 5, label_weight=weights, beam=None)
    narrow = model.predict_topk(X, 5, label_weight=weights, beam=1)
    assert by_default[1].tobytes() == exact[1].tobytes()
    assert narrow[1].sum() < exact[1].sum()


def test_weights_make_a_search_with_agreement_exact(toy_data):
    X, Y = toy_data
    model = lt.LabelTreeClassifier(fanout=2, leaf_size=1, C=1.0).fit(X, Y)
    model.calibrate(np.repeat(X, 2, axis=0), k=[5])
    weights = random_weights(5, Y.shape[1])
    exact = model.predict_topk(X, 5, label_weight=weights)
    assert model.predict_topk(X, 5, label_weight=weights, agreement=0.5)[1].tobytes() == exact[1].tobytes()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(4), "label_weight must be 30 numbers, one per label"),
        (np.full(30, -1.0), "label_weight must be numbers in"),
        (np.full(30, np.nan), "label_weight must be numbers in"),
        (["a"] * 30, "label_weight must be 30 numbers, one per label"),
        ({99: 1.0}, "label_weight must be a mapping with labels of Y as keys"),
        ({3: -1.0}, r"label_weight\[3\] must be"),
    ],
)
def test_other_weights_are_refused(toy_data, weights, message):
    model = lt.LabelTreeClassifier(C=1.0).fit(*toy_data)
    with pytest.raises(InputError, match=message):
        model.predict_topk(toy_data[0], label_weight=weights)


def test_prepared_weights_belong_to_one_model(toy_data):
    one, other = (lt.LabelTreeClassifier(C=1.0).fit(*toy_data) for _ in range(2))
    with pytest.raises(InputError, match="prepared for another model"):
        one.predict_topk(toy_data[0], label_weight=other.label_weights(np.ones(30)))


def test_weights_cannot_be_combined_with_discounts(twin):
    model = twin.random_model(0)
    request = SearchRequest(3, discounts=NodeValues(np.zeros(model.n_nodes)), label_weight=np.ones(model.n_labels))
    with pytest.raises(InputError, match="discounts must be None with label_weight"):
        Searcher(model.pack()).topk(twin.random_queries(0, 2, model.n_features), request)


TEXTS = ["red apple", "red wine", "green apple", "green tea", "red car"] * 4
LABELS = [["fruit"], ["drink"], ["fruit"], ["drink"], ["thing", "fruit"]] * 4
SHARES = {"fruit": 0.6, "drink": 0.4, "thing": 0.2}


@pytest.fixture(params=["linear", "several trees", "text"])
def model(request):
    if request.param == "text":
        return lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1).fit(TEXTS, LABELS)
    n_trees = 2 if request.param == "several trees" else 1
    return lt.LabelTreeClassifier(n_trees=n_trees, vectorizer=lt.TfidfVectorizer()).fit(TEXTS, LABELS)


def test_unknown_words_get_the_prior_and_a_flag(model):
    labels, scores, stats = model.predict_topk(["red apple", "zzz qqq"], 5, return_stats=True)
    assert stats.no_features.tolist() == [False, True]
    assert labels[1].tolist() == [*SHARES, None, None]
    np.testing.assert_allclose(scores[1], [*SHARES.values(), 0, 0], rtol=1e-6)
    predictor = model.predictor(2, names=True)
    names, values = predictor("zzz")
    predictor("red apple")
    assert names == ["fruit", "drink"]
    np.testing.assert_allclose(values, [0.6, 0.4], rtol=1e-6)
    assert predictor.n_no_features == 1


def test_the_prior_respects_restrictions_and_weights(model):
    only, _ = model.predict_topk(["zzz"], 1, candidates=["drink", "thing"])
    without, _ = model.predict_topk(["zzz"], 1, exclude=["fruit"])
    weighted, scores = model.predict_topk(["zzz"], 2, label_weight={"thing": 10, "fruit": 0})
    assert only[0, 0] == without[0, 0] == "drink"
    assert weighted[0].tolist() == ["thing", "drink"]
    np.testing.assert_allclose(scores[0], [2.0, 0.4], rtol=1e-5)


def test_a_saved_model_and_a_pickled_one_have_the_same_prior(model, tmp_path):
    import pickle

    model.save(tmp_path / "model")
    expected = model.predict_topk(["zzz"], 3)[0].tolist()
    for other in (lt.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert other.predict_topk(["zzz"], 3)[0].tolist() == expected


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_of_zeros_have_no_features(form):
    X = np.eye(4)[[0, 1, 2, 3, 0]]
    model = lt.LabelTreeClassifier().fit(form(X), [[0], [1], [2], [0, 3], [0]])
    _, scores, stats = model.predict_topk(form(np.array([[0.0] * 4, X[0]])), 1, return_stats=True)
    assert stats.no_features.tolist() == [True, False]
    assert scores[0, 0] == pytest.approx(0.6)
