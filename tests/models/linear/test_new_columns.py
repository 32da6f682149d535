"""New words and items get columns in an update, in every kind of encoder."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.data.tfidf import preset_vectorizer
from labeltrees.errors import InputError
from labeltrees.models.linear.new_columns import columns_in, move_features


def assert_same_bytes(model, other):
    for name, array in model.searcher_.stores[0].arrays().items():
        np.testing.assert_array_equal(array, other.searcher_.stores[0].arrays()[name], err_msg=name)


VECTORIZERS = {
    "words": "words",
    "words+pieces": "words+pieces",
    "words+pairs+chars": "words+pairs+chars",
    "stems": lt.TfidfVectorizer(min_df=2, dtype=np.float32, union=[{"stem": "english"}, {"analyzer": "char"}]),
    "hashed pieces": lt.TfidfVectorizer(union=[{"hashing": 64, "analyzer": "char_wb"}, {"ngram_range": (1, 2)}]),
    "tokens": lt.TfidfVectorizer(union=[{}, {"ngram_range": (2, 2), "name": "pairs"}]),
}
FRUIT = ["red apples", "green apple", "ripe pears", "green pear"] * 5
FRUIT_LABELS = [["apple"], ["apple"], ["pear"], ["pear"]] * 5


def as_given(kind, texts):
    return [text.split() for text in texts] if kind == "tokens" else list(texts)


@pytest.mark.parametrize("kind", VECTORIZERS)
@pytest.mark.parametrize("with_replay", [True, False], ids=["replay", "alone"])
def test_new_words_get_columns_in_every_part_of_a_vectorizer(kind, with_replay, tmp_path):
    texts, labels = as_given(kind, FRUIT), FRUIT_LABELS
    model = lt.LabelTreeClassifier(C=1.0, vectorizer=VECTORIZERS[kind]).fit(texts, labels)
    for word, name in [("figs", "fig"), ("quinces", "quince"), ("yams", "yam")]:
        before = model.vectorizer_
        scores = model.predict_topk(as_given(kind, FRUIT), 2, candidates=["apple", "pear"])[1]
        new = as_given(kind, [f"dried {word}", f"ripe {word}"] * 4)
        replay = (texts, labels) if with_replay else None
        report = model.update(new, [[name], [name, "pear"]] * 4, replay=replay)
        texts, labels = texts + new, labels + [[name], [name, "pear"]] * 4
        assert report.n_new_features == model.n_features_in_ - before.get_state().n_features > 0
        assert_known_terms_are_the_same(before, model.vectorizer_, as_given(kind, FRUIT))
        if not with_replay:
            np.testing.assert_allclose(
                model.predict_topk(as_given(kind, FRUIT), 2, candidates=["apple", "pear"])[1], scores, rtol=1e-5
            )
        questions = as_given(kind, [f"{word} dry", "a green pear", "an apple"])
        assert model.predict_topk(questions, 1)[0].ravel().tolist() == [name, "pear", "apple"]
        model.save(tmp_path / "model")
        loaded = lt.load(tmp_path / "model", verify=True)
        expected = model.predict_topk(questions, 3)
        for own, ours in zip(loaded.predict_topk(questions, 3), expected, strict=True):
            np.testing.assert_array_equal(own, ours)
        predict = loaded.predictor(3, names=True)
        assert [predict(question)[0] for question in questions] == expected[0].tolist()
        model = loaded
    if kind == "hashed pieces":
        return
    names = model.vectorizer_.get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == model.n_features_in_
    found = model.explain(as_given(kind, ["quinces"])[0], "quince")
    assert any("quinc" in str(name) for name in np.ravel(found.contributions).tolist())


def assert_known_terms_are_the_same(before, after, texts):
    """Check that old texts have the same values, in the columns of the same names, and no other ones."""
    old, new = before.transform(texts), after.transform(texts)
    sizes = [part.n_features for part in before.get_state().parts]
    grown = [part.n_features for part in after.get_state().parts]
    starts = np.cumsum([0, *grown])[:-1] - np.cumsum([0, *sizes])[:-1]
    columns = np.arange(sum(sizes)) + np.repeat(starts, sizes)
    assert new.data.tobytes() == old.data.tobytes()
    np.testing.assert_array_equal(new.indices, columns[old.indices])
    np.testing.assert_array_equal(after.idf_[columns], before.idf_)
    if after.get_state().has_names:
        assert after.get_feature_names_out()[columns].tolist() == before.get_feature_names_out().tolist()


def test_an_exact_update_with_new_words_has_the_bytes_of_a_fit_on_their_features():
    model = lt.LabelTreeClassifier(C=1.0, vectorizer="words+pieces").fit(FRUIT, FRUIT_LABELS)
    new, labels = ["dried figs", "ripe figs"] * 4, [["fig"], ["fig", "pear"]] * 4
    assert model.update(new, labels, replay=(FRUIT, FRUIT_LABELS), exact=True).n_new_features > 0
    Y = np.array([[name in own for name in model.classes_] for own in FRUIT_LABELS + labels], np.float32)
    full = lt.LabelTreeClassifier(C=1.0, tree=model.tree_)
    assert_same_bytes(model, full.fit(model.vectorizer_.transform(FRUIT + new), sp.csr_array(Y)))


@pytest.mark.parametrize("in_parts", [False, True])
def test_new_words_of_prepared_points_get_columns(in_parts, tmp_path):
    def prepared(texts, labels):
        encoder = lt.encoders.TextEncoder(preset_vectorizer("words+chars").fit(texts))
        data = lt.Dataset(encoder.transform(texts), labels, encoder=encoder)
        if in_parts:
            lt.write_parts(data, tmp_path / texts[0], 7)
        return lt.open_parts(tmp_path / texts[0]) if in_parts else data

    lt.LabelTreeClassifier(C=1.0).fit(prepared(FRUIT, FRUIT_LABELS)).save(tmp_path / "model")
    model = lt.load(tmp_path / "model")
    before = model.vectorizer_
    new = prepared(["dried figs", "ripe figs"] * 4, [["fig"], ["fig", "pear"]] * 4)
    report = model.update(new, replay=prepared(FRUIT, FRUIT_LABELS))
    assert report.n_new_features > 0
    assert_known_terms_are_the_same(before, model.vectorizer_, FRUIT)
    assert model.predict_topk(["figs", "a green pear", "an apple"], 1)[0].ravel().tolist() == ["fig", "pear", "apple"]


def test_new_items_get_columns():
    encoder = lt.encoders.ItemEncoder(["milk", "bread", "eggs"])
    baskets = [["milk"], ["bread"], ["eggs", "milk"]] * 5
    data = lt.Dataset(encoder.transform(baskets), [["a"], ["b"], ["c"]] * 5, encoder=encoder)
    model = lt.LabelTreeClassifier(C=1.0).fit(data)
    report = model.update([["jam"], ["jam", "milk"]] * 3, [["d"]] * 6, replay=data)
    assert report.n_new_features == 1
    assert model.predict_topk([["jam"]], 1)[0].tolist() == [["d"]]


def test_new_items_keep_both_their_names():
    def shop(items, titles, baskets, labels):
        encoder = lt.encoders.ItemEncoder(items, ids=titles)
        texts = dict(zip(items, titles, strict=True))
        own = {name: texts[name] for name in {name for one in labels for name in one}}
        return lt.Dataset(encoder.transform(baskets), labels, encoder=encoder, label_texts=own)

    old = shop(["1", "2"], ["milk, fresh", "bread"], [["1"], ["2"]] * 10, [["2"], ["1"]] * 10)
    new = shop(["2", "3"], ["bread", "jam, red"], [["3"], ["2"]] * 5, [["2"], ["3"]] * 5)
    model = lt.LabelTreeClassifier(C=1.0).fit(old)
    model.update(new, replay=old)
    assert model.encoder_.item_ids == ["milk, fresh", "bread", "jam, red"]
    assert model.titles(model.classes_).tolist() == ["milk, fresh", "bread", "jam, red"]
    by_title, by_number = (model.predict_topk([[item]], 3) for item in ("jam, red", "3"))
    assert by_title[0].tolist() == by_number[0].tolist()
    assert by_title[1].tobytes() == by_number[1].tobytes()


# Unions, such as the words of a query with the history of its customer.

WORDS = ["red", "green", "ripe", "dried", "figs", "apple", "pear", "yam"]
ITEMS = ["milk", "bread", "eggs", "jam", "5", "6"]
TAGS = ["new", "sale", "bio", "xl"]


def union_of(texts, items, tags, **titles):
    """Return a union of encoders that know some words, items and tags."""
    parts = {
        "query": lt.encoders.TextEncoder(lt.TfidfVectorizer(union=[{}, {"analyzer": "char_wb"}]).fit(texts)),
        "history": lt.encoders.ItemEncoder(items, **titles),
        "tags": lt.encoders.ColumnEncoder(tags, separator=";"),
        "device": lt.encoders.ItemEncoder(["phone", "desk"], weighting="binary", norm="l1"),
    }
    return lt.encoders.UnionEncoder(parts, weights={"tags": 0.5, "device": 2})


OLD = [
    {"query": "red apple", "history": ["milk"], "tags": "new"},
    {"query": "green apple", "history": {"milk": 2, "bread": 1}, "device": ["phone"]},
    ("ripe pear", ["bread"], ["sale", "new"], None),
    {"query": "green pear", "tags": "sale; new", "device": ["desk"]},
] * 5
OLD_LABELS = [["apple"], ["apple"], ["pear"], ["pear"]] * 5
DAYS = [
    ([{"history": ["jam", ("tea", 2)]}, {"history": ["tea"], "device": ["watch"]}] * 4, "breakfast"),
    ([{"query": "dried figs", "tags": "bio"}, ("ripe figs", [17], None, None)] * 4, "fig"),
    ([(None, None, "xl;bio", None), {"tags": ["xl"], "history": ["bread"]}] * 4, "coat"),
]
QUESTIONS = [
    ({"history": ["tea"]}, "breakfast"),
    (("dry figs", None, None, None), "fig"),
    ({"tags": "xl"}, "coat"),
    ({"query": "an apple"}, "apple"),
    ({"query": "a pear", "history": ["bread"]}, "pear"),
]


def make_old():
    encoder = union_of(["red apple", "green apple", "ripe pear", "green pear"], ["milk", "bread"], ["new", "sale"])
    return lt.Dataset(OLD, OLD_LABELS, encoder=encoder)


@pytest.mark.parametrize("how", ["replay", "parts", "alone", "partial_fit"])
def test_new_words_and_items_get_columns_in_every_part_of_a_union(how, tmp_path):
    lt.LabelTreeClassifier(C=1.0).fit(make_old()).save(tmp_path / "model")
    contexts, labels = list(OLD), list(OLD_LABELS)
    for day, name in DAYS:
        model = lt.load(tmp_path / "model")
        before, n_before = model.encoder_, model.n_features_in_
        replay = {"replay": (contexts, labels)}.get(how)
        if how == "parts":
            lt.write_parts(lt.Dataset(contexts, labels, encoder=before), tmp_path / name, 7)
            replay = lt.open_parts(tmp_path / name)
        earlier = model.predict_topk(OLD, 2, candidates=["apple", "pear"])[1]
        known = before.transform(OLD)
        if how == "partial_fit":
            model.partial_fit(day, [[name]] * len(day))
        else:
            report = model.update(day, [[name]] * len(day), replay=replay)
            assert report.n_new_features == model.n_features_in_ - n_before > 0
        contexts, labels = contexts + day, labels + [[name]] * len(day)
        columns = columns_in(before, model.encoder_)
        moved = model.encoder_.transform(OLD)
        assert moved[:, columns].toarray().tolist() == known.toarray().tolist()
        assert moved.nnz == known.nnz
        assert model.encoder_.feature_names[columns].tolist() == before.feature_names.tolist()
        if how in ("alone", "partial_fit"):
            np.testing.assert_allclose(
                model.predict_topk(OLD, 2, candidates=["apple", "pear"])[1], earlier, rtol=1e-5, atol=1e-7
            )
        model.save(tmp_path / "model")
    model = lt.load(tmp_path / "model", verify=True)
    asked = [question for question, _ in QUESTIONS]
    expected, scores = model.predict_topk(asked, 3)
    assert expected[:, 0].tolist() == [answer for _, answer in QUESTIONS]
    predict = model.predictor(3, names=True)
    for question, names, own in zip(asked, expected, scores, strict=True):
        assert [found.tolist() if hasattr(found, "tolist") else found for found in predict(question)] == [
            names.tolist(),
            own.tolist(),
        ]
    assert model.encoder_.parts["history"].feature_names.tolist() == ["milk", "bread", "jam", "tea", "17"]
    assert model.encoder_.weights == before.weights


def test_an_exact_update_of_a_union_has_the_bytes_of_a_fit_on_its_features():
    model = lt.LabelTreeClassifier(C=1.0).fit(make_old())
    contexts, labels = list(OLD), list(OLD_LABELS)
    for day, name in DAYS:
        model.update(day, [[name]] * len(day), replay=(contexts, labels), exact=True)
        contexts, labels = contexts + day, labels + [[name]] * len(day)
        Y = np.array([[own in given for own in model.classes_] for given in labels], np.float32)
        full = lt.LabelTreeClassifier(C=1.0, tree=model.tree_)
        assert_same_bytes(model, full.fit(model.encoder_.transform(contexts), sp.csr_array(Y)))
    gone = np.arange(len(OLD), len(OLD) + 8)  # the first day
    model.forget(gone, (contexts, labels))
    assert model.retired_.tolist() == ["breakfast"]
    full = lt.LabelTreeClassifier(C=1.0, tree=model.tree_)
    Y[:, model.classes_ == "breakfast"] = 0
    kept = np.delete(np.arange(len(contexts)), gone)
    assert_same_bytes(model, full.fit(model.encoder_.transform([contexts[row] for row in kept]), sp.csr_array(Y[kept])))


@pytest.mark.parametrize("in_parts", [False, True])
def test_prepared_points_of_a_union_bring_the_columns_of_their_encoder(in_parts, tmp_path):
    def prepared(folder, contexts, labels, encoder):
        data = lt.Dataset(contexts, labels, encoder=encoder)
        if in_parts:
            lt.write_parts(data, tmp_path / folder, 7)
        return lt.open_parts(tmp_path / folder) if in_parts else data

    old = prepared("old", OLD, OLD_LABELS, make_old().encoder)
    model = lt.LabelTreeClassifier(C=1.0).fit(old)
    own = union_of(["dried figs", "ripe figs"], ["tea", "17", "jam"], ["xl", "new", "bio"], ids=["Tea", "7", "Jam"])
    day = [context for contexts, _ in DAYS for context in contexts]
    labels = [[name] for contexts, name in DAYS for _ in contexts]
    report = model.update(prepared("new", day, labels, own), replay=old)
    assert report.n_new_features > 5
    assert model.encoder_.parts["history"].feature_names.tolist() == ["milk", "bread", "tea", "17", "jam"]
    assert model.encoder_.parts["tags"].feature_names.tolist() == ["new", "sale", "xl", "bio"]
    found = model.predict_topk([question for question, _ in QUESTIONS], 1)[0]
    assert found.ravel().tolist() == [answer for _, answer in QUESTIONS]


def test_names_of_columns_get_columns():
    encoder = lt.encoders.ColumnEncoder(["red", "wool"], separator=";", norm="l2")
    values = ["red; wool", ["wool"], "red"] * 5
    data = lt.Dataset(values, [["a"], ["b"], ["c"]] * 5, encoder=encoder)
    model = lt.LabelTreeClassifier(C=1.0).fit(data)
    assert model.update(["blue ;silk;", ["blue", "wool"]] * 3, [["d"]] * 6, replay=data).n_new_features == 2
    assert model.encoder_.feature_names.tolist() == ["red", "wool", "blue", "silk"]
    assert (model.encoder_.separator, model.encoder_.norm) == (";", "l2")
    assert model.predict_topk(["blue"], 1)[0].tolist() == [["d"]]


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([{"history": ["tea"], "other": 3}], "has a key that the encoder does not have"),
        ([("tea",)], "must be a dict with the keys"),
        ([{"history": [None]}], "an item of contexts.0.*must be a str or an int"),
        ([{"query": 3}], "must be a text"),
        ({"history": ["tea"]}, "contexts must be a list of contexts"),
    ],
    ids=str,
)
def test_contexts_that_do_not_fit_are_refused_and_change_nothing(contexts, message):
    model = lt.LabelTreeClassifier(C=1.0).fit(make_old())
    encoder = model.encoder_
    with pytest.raises(InputError, match=message):
        model.update(contexts, [["new"]])
    assert model.encoder_ is encoder
    assert model.predict_topk([{"query": "red apple"}], 1)[0].tolist() == [["apple"]]


def test_points_of_another_encoder_are_refused():
    model = lt.LabelTreeClassifier(C=1.0).fit(make_old())
    other = lt.encoders.ItemEncoder(["a", "b"])
    with pytest.raises(InputError, match="no feature that the model knows: another encoder"):
        model.update(lt.Dataset([["a"], ["b"]], [["x"], ["y"]], encoder=other))


def some(values, least=0):
    return st.lists(st.sampled_from(values), min_size=least, max_size=4)


CONTEXTS = st.fixed_dictionaries(
    {},
    optional={
        "query": some(WORDS).map(" ".join),
        "history": some([*ITEMS, 5, 6, 7, ("milk", 3), ("soap", 1)]),
        "tags": some([*TAGS, " new "]) | some(TAGS).map(";".join),
        "device": some(["phone", "desk", "watch"]),
    },
)


@settings(max_examples=60, deadline=None)
@given(old=some(WORDS, 1), items=some(ITEMS, 1), tags=some(TAGS, 1), days=st.lists(st.lists(CONTEXTS, min_size=1)))
def test_growing_keeps_known_features_and_learns_all_others(old, items, tags, days):
    """Dictionaries from names to values are the witness: they know nothing of columns."""
    encoder = union_of(old, sorted(set(items)), sorted(set(tags)))
    seen = [{"query": word, "history": items, "tags": tags, "device": ["desk"]} for word in old]
    labels = [["known"], *[["also"]] * (len(old) - 1)]
    model = lt.LabelTreeClassifier(C=1.0).fit(lt.Dataset(seen, labels, encoder=encoder))
    for day in days:
        before, values = model.encoder_, values_by_name(model.encoder_, seen)
        model.update(day, [["known"]] * len(day))
        grown = model.encoder_
        assert grown.count_unknown(day).tolist() == [0] * len(day)
        assert values_by_name(grown, seen) == values
        moved = move_features(before.transform(seen), columns_in(before, grown), grown.n_features)
        assert (moved != grown.transform(seen)).nnz == 0
        other, names = union_of(["yam figs"], ["soap", "5", "milk"], ["xl"]), grown.feature_names.tolist()
        place = [names.index(name) if name in names else -1 for name in other.feature_names.tolist()]
        assert columns_in(other, grown).tolist() == place
        seen += day


def values_by_name(encoder, contexts):
    """Return the features of each context as a dict from names to values."""
    names, rows = encoder.feature_names.tolist(), encoder.transform(contexts)
    assert len(set(names)) == len(names) == encoder.n_features
    pairs = [zip(rows[[i]].indices.tolist(), rows[[i]].data.tolist(), strict=True) for i in range(rows.shape[0])]
    return [{names[column]: value for column, value in own} for own in pairs]
