"""Models that are asked with lists of items."""

import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import labeltrees as lt

N = 40
ITEMS = [f"item {item}" for item in range(N)]


def make_histories(n=300, seed=0):
    """Histories, and as labels the items that follow their first and last item."""
    rng = np.random.default_rng(seed)
    rows = [rng.choice(N, size=rng.integers(1, 8)).tolist() for _ in range(n)]
    return [[ITEMS[item] for item in row] for row in rows], [[ITEMS[(row[i] + 1) % N] for i in (0, -1)] for row in rows]


HISTORIES, LABELS = make_histories()
QUERIES = make_histories(20, seed=1)[0]


@pytest.fixture(scope="module")
def encoder():
    return lt.encoders.ItemEncoder(ITEMS[:30], ids=range(100, 130))  # the last ten items are labels only


@pytest.fixture(scope="module")
def model(encoder):
    return lt.LabelTreeClassifier(fanout=4).fit(lt.Dataset(HISTORIES, LABELS, encoder=encoder))


def test_contexts_are_the_features_of_the_encoder(model, encoder):
    X = encoder.transform(QUERIES)
    for method in (model.predict, model.predict_scores):
        assert (method(QUERIES) != method(X)).nnz == 0
    Y = make_histories(20, seed=1)[1]
    assert model.score(QUERIES, Y) == model.score(X, Y)
    for found, expected in zip(model.predict_topk(QUERIES, 3), model.predict_topk(X, 3), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert model.predict_topk([], 3)[0].shape == (0, 3)


def test_single_calls_equal_the_batch(model):
    labels, scores = model.predict_topk(QUERIES, 3)
    answer, named = model.predictor(3), model.predictor(3, names=True)
    for row, query in enumerate(QUERIES):
        counts = {item: query.count(item) for item in query}
        ids = [100 + ITEMS.index(item) if item in ITEMS[:30] else item for item in query]
        for form in (query, tuple(query), counts, list(counts.items()), ids):
            assert model.classes_[answer(form)[0]].tolist() == labels[row].tolist()
            assert named(form)[0] == labels[row].tolist()
            assert named(form)[1].tolist() == scores[row].tolist()
        assert named(query, 1)[0] == labels[row, :1].tolist()
        assert named(query, k=1)[0] == labels[row, :1].tolist()


def test_unknown_items_are_counted(model):
    answer = model.predictor()
    assert answer.n_unknown == 0
    for _ in range(3):
        answer(["item 1", "nothing", "item 35"])  # item 35 is a label, not a feature
    assert answer.n_unknown == 6
    assert len(answer(["nothing"])[0]) == 5  # as a row of zeros


@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_items_of_the_history_are_left_out(encoder, k):
    # With a beam, a long list of excluded labels for all points frees places that a list of one call does not.
    model = lt.LabelTreeClassifier(fanout=4, beam=None).fit(lt.Dataset(HISTORIES, LABELS, encoder=encoder))
    answer = model.predictor(k, names=True, exclude_seen=True)
    bought = ["item 2", "item 33"]
    stock = [name for name in ITEMS if name not in ("item 5", "item 6")]
    for query in QUERIES:
        expected = model.predict_topk([query], k, exclude=query)[0][0]
        assert answer(query)[0] == [name for name in expected if name is not None]
        ids = [100 + ITEMS.index(item) if item in ITEMS[:30] else item for item in query]
        assert answer(ids)[0] == answer(query)[0]
        expected = model.predict_topk([query], k, exclude=[*query, *bought], candidates=stock)[0][0]
        for exclude in (bought, model.label_set(bought)):
            for candidates in (stock, model.label_set(stock)):
                found = answer(query, exclude=exclude, candidates=candidates)[0]
                assert found == [name for name in expected if name is not None]


def test_the_items_of_features_are_left_out_too(encoder):
    model = lt.LabelTreeClassifier(fanout=4, beam=None).fit(lt.Dataset(HISTORIES, LABELS, encoder=encoder))
    answer, plain = model.predictor(5, names=True, exclude_seen=True), model.predictor(5, names=True)
    for query in QUERIES:
        row = encoder.transform([query])
        known = [item for item in query if item in ITEMS[:30]]  # features name no other items
        expected = [name for name in model.predict_topk([query], 5, exclude=known)[0][0] if name is not None]
        for form in ((row,), (row.indices, row.data), (row.toarray()[0],)):
            assert answer(*form)[0] == expected
            assert plain(*form)[0] == plain(query)[0]
    assert answer(np.zeros(30, np.float32))[0] == plain(np.zeros(30, np.float32))[0]


def test_agreement_and_budgets_hold_with_sets(encoder):
    histories, labels = make_histories(2000)
    model = lt.LabelTreeClassifier(fanout=4).fit(lt.Dataset(histories, labels, encoder=encoder)).calibrate(histories)
    answer = model.predictor(5, names=True, agreement=0.8, exclude_seen=True)
    longer = model.predictor(10, names=True, agreement=0.8)
    for query in QUERIES:
        exact = model.predict_topk([query], 5, beam=None, exclude=query)[0][0].tolist()
        assert answer(query)[0] == exact  # excluded labels leave no room in a list of 5, so the search is exact
        assert model.predict_topk([query], 5, agreement=0.8, exclude=query)[0][0].tolist() == exact
        among_all = longer(query, k=10)[0]
        excluded = among_all[1:4]  # room for them in a list of 10: they are found and dropped
        assert longer(query, k=5, exclude=excluded)[0] == [name for name in among_all if name not in excluded][:5]
        stock = model.label_set(ITEMS[:20])
        exact = model.predict_topk([query], 5, beam=None, candidates=ITEMS[:20])[0][0].tolist()
        assert longer(query, k=5, candidates=stock)[0] == exact
    cut = model.predictor(5, names=True, max_chunks=2, exclude_seen=True)
    for query in QUERIES:
        expected = model.predict_topk([query], 5, max_chunks=2, exclude=query)[0][0]
        assert cut(query)[0] == [name for name in expected if name is not None]


def test_saving_and_loading_keeps_the_encoder(model, tmp_path):
    model.save(tmp_path / "a")
    loaded = lt.load(tmp_path / "a", verify=True)
    assert isinstance(loaded.encoder_, lt.encoders.ItemEncoder)
    loaded.save(tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name
    again = pickle.loads(pickle.dumps(loaded))
    for other in (loaded, again):
        answer = other.predictor(3, names=True, exclude_seen=True)
        assert answer(QUERIES[0])[0] == model.predictor(3, names=True, exclude_seen=True)(QUERIES[0])[0]


def test_a_dataset_is_all_that_fit_needs(encoder):
    X = encoder.transform(HISTORIES)
    Y = np.array([[name in own for name in ITEMS] for own in LABELS])
    weights = np.linspace(1, 2, len(HISTORIES))
    train = lt.Dataset(X, Y, label_names=ITEMS, sample_weight=weights, encoder=encoder)
    assert train[:5].encoder is encoder
    model = lt.LabelTreeClassifier(fanout=4).fit(train)
    same = lt.LabelTreeClassifier(fanout=4).fit(lt.Dataset(X, Y, label_names=ITEMS), sample_weight=weights)
    np.testing.assert_array_equal(model.predict_topk(QUERIES)[1], same.predict_topk(encoder.transform(QUERIES))[1])
    assert model.encoder_ is encoder
    assert model.fit(X, Y).encoder_ is None
    named = lt.LabelTreeClassifier(fanout=4).fit(lt.Dataset(X, Y, feature_names=ITEMS[:30]))
    assert named.feature_names_in_.tolist() == ITEMS[:30]
    with pytest.raises(lt.errors.InputError, match="the target y is None"):
        model.fit(X)
    with pytest.raises(lt.errors.InputError, match="Y must be left out if X is a Dataset"):
        model.fit(train, Y)
    with pytest.raises(lt.errors.InputError, match="encoder must be one with 30 features"):
        lt.Dataset(X, Y, encoder=lt.encoders.ItemEncoder(["a"]))


def test_the_vectorizer_of_a_dataset_is_kept():
    vectorizer = lt.TfidfVectorizer().fit(["red wine", "white wine"])
    X = vectorizer.transform(["red wine", "white wine"])
    for keeps in ({"vectorizer": vectorizer}, {"encoder": lt.encoders.TextEncoder(vectorizer)}):
        model = lt.LabelTreeClassifier().fit(lt.Dataset(X, np.eye(2), label_names=["a", "b"], **keeps))
        assert model.vectorizer_ is vectorizer
        assert model.takes_texts
        assert model.predictor(1, names=True)("Red red")[0] == ["a"]


def test_a_union_is_asked_with_a_dict():
    texts = lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(ITEMS))
    parts = {"query": texts, "bought": lt.encoders.ItemEncoder(ITEMS)}
    contexts = [{"query": history[0], "bought": history[1:]} for history in HISTORIES]
    model = lt.LabelTreeClassifier().fit(lt.Dataset(contexts, LABELS, encoder=lt.encoders.UnionEncoder(parts)))
    labels, scores = model.predict_topk(contexts[:20], 4, exclude=[own["bought"] for own in contexts[:20]])
    answer = model.predictor(4, names=True, exclude_seen=True)
    for row, context in enumerate(contexts[:20]):
        found = answer(context)
        assert found[0] == labels[row].tolist()
        assert found[1].tolist() == scores[row].tolist()
        assert answer((context["query"], context["bought"]))[0] == found[0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda model: model.predictor()("item 1"), "must be a list of items.*; for one item, pass a list with it"),
        (lambda model: model.predictor()(3), "must be a list of items"),
        (lambda model: model.predictor()(["item 1"], 3, 4), "k is given twice"),
        (lambda model: model.predictor()(["item 1"], 0), "k must be an integer of at least 1"),
        (lambda model: model.predictor()({"item 1": -1}), "a count that is not a finite number"),
        (lambda model: model.predict_topk("item 1"), "contexts must be a list of contexts"),
        (lambda model: model.predict_topk(["item 1"]), r"contexts\[0\] must be a list of items"),
        (lambda model: model.predict_topk({"item 1": 2}), "contexts must be a list of contexts"),
    ],
)
def test_other_queries_are_refused_with_advice(model, ask, message):
    with pytest.raises(lt.errors.InputError, match=message):
        ask(model)


def test_models_without_items_refuse_them_and_name_their_input(model, encoder):
    plain = lt.LabelTreeClassifier().fit(encoder.transform(HISTORIES), LABELS)
    for ask in (plain.predictor(), plain.predict_topk):
        for question in (["LUNCH BAG WOODLAND"], [["LUNCH BAG WOODLAND"]], {"LUNCH BAG": 2}, "LUNCH BAG"):
            with pytest.raises(
                lt.errors.InputError, match=r"no vectorizer or other encoder.*Dataset with an encoder|matrix"
            ):
                ask(question)
    texts = lt.LabelTreeClassifier().fit(["red wine", "white wine"] * 3, [["a"], ["b"]] * 3)
    with pytest.raises(
        lt.errors.InputError, match=r"must be a text \(str\), got list .*; pass one context per call, or a list"
    ):
        texts.predictor()(["LUNCH BAG WOODLAND"])
    with pytest.raises(lt.errors.InputError, match="the model was fitted on texts"):
        texts.predict_topk([["LUNCH BAG WOODLAND"]])
    with pytest.raises(lt.errors.InputError, match="exclude_seen needs a model whose encoder reads items"):
        texts.predictor(exclude_seen=True)
    unnamed = lt.LabelTreeClassifier().fit(
        lt.Dataset(HISTORIES, np.eye(N)[: len(HISTORIES) % N].repeat(15, 0), encoder=encoder)
    )
    for option in ("names", "exclude_seen"):
        with pytest.raises(lt.errors.InputError, match=f"{option}=True needs label names"):
            unnamed.predictor(**{option: True})


def test_text_models_take_sets_and_return_names():
    texts = ["red wine", "white wine", "red shoes", "old shoes"] * 10
    labels = [["a"], ["b"], ["c"], ["d"]] * 10
    model = lt.TextLabelTreeClassifier(dim=8, epochs=3, min_count=1, buckets=100).fit(texts, labels)
    answer = model.predictor(3, names=True)
    for options in ({}, {"exclude": ["a"]}, {"candidates": ["b", "c"]}, {"exclude": ["b"], "candidates": ["b", "d"]}):
        expected = model.predict_topk(["red shoes"], 3, **options)
        prepared = {name: model.label_set(own) for name, own in options.items()}
        for given in (options, prepared):
            names, scores = answer("red shoes", **given)
            assert names == [name for name in expected[0][0] if name is not None]
            assert scores.tolist() == expected[1][0][: len(names)].tolist()
        np.testing.assert_array_equal(model.predict_topk(["red shoes"], 3, **prepared)[0], expected[0])
    with pytest.raises(lt.errors.InputError, match="this TextLabelTreeClassifier reads texts"):
        model.predictor(exclude_seen=True)


def test_threads_and_forked_processes_may_ask(model):
    answer = model.predictor(3, names=True, exclude_seen=True)
    stock = model.label_set(ITEMS[:30])
    expected = [answer(query, candidates=stock)[0] for query in QUERIES]

    def work(_=0):
        return [answer(query, candidates=stock)[0] for query in QUERIES]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(work, range(40)))
    if not hasattr(os, "fork"):
        return
    stop = threading.Event()
    thread = threading.Thread(target=lambda: [work() for _ in iter(stop.is_set, True)])
    thread.start()
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if work() == expected else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_a_text_model_takes_a_dataset_with_texts():
    texts, Y = ["red wine", "white wine"] * 5, np.tile(np.eye(2), (5, 1))
    train = lt.Dataset(np.ones((10, 1)), Y, label_names=["a", "b"], texts=texts)
    model = lt.TextLabelTreeClassifier(dim=8, epochs=2, min_count=1, buckets=100)
    found = model.fit(train).predict_topk(["red"], 2)
    same = model.fit(lt.Dataset(texts, Y, label_names=["a", "b"])).predict_topk(["red"], 2)
    assert found[0].tolist() == same[0].tolist()
    assert found[1].tolist() == same[1].tolist()
    with pytest.raises(lt.errors.InputError, match="the Dataset has no texts"):
        model.fit(lt.Dataset(np.ones((10, 1)), Y))
    with pytest.raises(lt.errors.InputError, match="the target y is None"):
        model.fit(texts)
