"""The answers of the JSON form are those of the model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving.details import ItemSearch
from tests.serving.conftest import WORDS, ask, make_texts

PREDICT = "/v1/models/model/predict"


@pytest.fixture(scope="module")
def app(text_model):
    return make_app(text_model)


@pytest.mark.parametrize(
    "options",
    [{}, {"k": 1}, {"k": 100}, {"beam": None}, {"beam": 2}, {"agreement": 0.9}, {"max_chunks": 2},
     {"exclude": ["is-red"]}, {"candidates": ["is-red", "is-plum"]}],
)  # fmt: skip
def test_many_questions_get_the_answers_of_predict_topk(app, text_model, post, options):
    texts, _ = make_texts(20, seed=5)
    reply = post(app, PREDICT, {"texts": texts, **options})
    assert reply.status_code == 200, reply.text
    labels, scores = text_model.predict_topk(texts, **{"k": 5, **options})
    for row, found in enumerate(reply.json()["results"]):
        known = [name for name in labels[row] if name is not None]
        assert found["labels"] == known
        np.testing.assert_allclose(found["scores"], scores[row][: len(known)], rtol=1e-5)


def test_the_search_of_a_request_is_that_of_a_model_with_it(app, text_model, post):
    texts, _ = make_texts(20, seed=5)
    reply = post(app, PREDICT, {"texts": texts, "search": "paths", "beam": 1})
    text_model.set_params(search="paths")
    try:
        labels, _ = text_model.predict_topk(texts, 5, beam=1)
    finally:
        text_model.set_params(search="best_first")
    assert [one["labels"] for one in reply.json()["results"]] == [
        [name for name in row if name is not None] for row in labels.tolist()
    ]


def test_one_question_gets_the_same_answer_as_in_a_list(app, post):
    one = post(app, PREDICT, {"text": "red apple", "k": 3}).json()
    (same,) = post(app, PREDICT, {"texts": ["red apple"], "k": 3}).json()["results"]
    assert {name: one[name] for name in same} == same
    assert (one["model"], one["version"]) == ("model", "1")
    assert one["microseconds"] > 0


def test_items_rows_and_ids(item_model, row_model, post):
    app = make_app({"shop": item_model, "rows": row_model})
    for items in (["bread", "milk"], [["bread", 1], "milk"], {"bread": 1, "milk": 1}, [101, 102]):
        labels, _ = item_model.predict_topk([["bread", "milk"]], 2)
        assert post(app, "/v1/models/shop/predict", {"items": items, "k": 2}).json()["labels"] == labels[0].tolist()
    seen = post(app, "/v1/models/shop/predict", {"items": ["bread"], "exclude_seen": True, "k": 4}).json()
    assert "bread" not in seen["labels"]
    x = np.zeros((1, 8), np.float32)
    x[0, [1, 5]] = 1, 0.5
    row = {"indices": [1, 5], "values": [1, 0.5]}
    for options in ({}, {"max_chunks": 50}):
        found = post(app, "/v1/models/rows/predict", {"rows": [row], "k": 3, **options}).json()["results"][0]
        assert found["labels"] == row_model.predict_topk(x, 3)[0][0].tolist()


def test_probabilities_and_threshold(app, text_model, post):
    found = post(app, PREDICT, {"text": "red apple", "k": 10, "probabilities": True}).json()
    raw = post(app, PREDICT, {"text": "red apple", "k": 10, "probabilities": True, "raw_scores": True}).json()
    expected = text_model.calibration_(np.array(raw["scores"], np.float32))
    np.testing.assert_allclose(found["scores"], expected, atol=1e-4)
    assert found["scores"] == pytest.approx(found["probabilities"], abs=1e-6)
    assert found["probabilities"] == pytest.approx(raw["probabilities"], abs=1e-4)
    assert raw["scores"] != found["scores"]
    cut = post(app, PREDICT, {"text": "red apple", "k": 10, "probabilities": True, "threshold": 0.5}).json()
    assert cut["probabilities"] == [value for value in found["probabilities"] if value >= 0.5]
    scored = post(app, PREDICT, {"text": "red apple", "k": 10, "threshold": 0.5}).json()
    assert scored["scores"] == [value for value in found["scores"] if value >= 0.5]


def test_a_model_without_probabilities_says_so(row_model, post):
    row = {"indices": [], "values": []}
    reply = post(make_app(row_model), PREDICT, {"row": row, "probabilities": True})
    assert reply.status_code == 400
    assert "calibrate" in reply.json()["error"]


def test_the_path_is_the_trace_of_the_search(app, text_model, post):
    reply = post(app, PREDICT, {"text": "red apple river", "k": 3, "path": True}).json()
    (path,) = reply["path"]
    tree = text_model.tree_
    names = text_model.label_names_.tolist()
    assert path["opened"][0]["node"] == 0
    opened = {node["node"] for node in path["opened"]}
    assert path["n_opened"] == len(opened)
    for node in path["opened"]:
        assert node["parent"] == tree.parent[node["node"]]
        assert node["node"] == 0 or node["parent"] in opened
        assert 0 <= node["score"] <= 1
    for label, above in zip(reply["labels"], path["answers"], strict=True):
        assert above == tree.path(names.index(label)).tolist()
        assert set(above) <= opened


def test_label_texts_are_shown_beside_names(text_model, post):
    app = make_app(text_model, label_texts={"is-red": "Rot"})
    found = post(app, PREDICT, {"text": "red red red", "k": 2, "candidates": ["is-red", "is-plum"]}).json()
    texts = dict(zip(found["labels"], found["label_texts"], strict=True))
    assert texts == {"is-red": "Rot", "is-plum": None}


def test_label_texts_that_the_model_has_are_shown(post):
    texts, labels = make_texts()
    named = {f"is-{word}": [word.upper(), "other"] for word in WORDS[:5]}
    model = lt.LabelTreeClassifier(n_jobs=1).fit(texts, labels, label_texts=named)
    found = post(make_app(model), PREDICT, {"text": "red plum", "k": 10}).json()
    assert found["label_texts"] == [named[name][0] if name in named else None for name in found["labels"]]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{", 400, "not valid JSON"),
        (b'{"text": "\xff"}', 400, "not valid JSON"),
        (b'{"text": "\\ud800"}', 400, "not valid JSON"),
        (b"[" * 50_000, 400, "object"),
        ({"text": 3}, 400, "$.text"),
        ({}, 400, "exactly one of"),
        ({"text": "a", "texts": ["b"]}, 400, "exactly one of"),
        ({"text": "a", "kk": 3}, 400, "kk"),
        ({"text": "a", "k": 0}, 400, "$.k"),
        ({"text": "a", "k": 21}, 400, "at most 20"),
        ({"text": "a" * 101}, 413, "at most 100"),
        ({"texts": ["a"] * 11}, 413, "at most 10"),
        ({"text": "a", "agreement": 2}, 400, "$.agreement"),
        ({"text": "a", "agreement": 0.9, "beam": 3}, 400, "beam"),
        ({"text": "a", "candidates": [10**9]}, 400, "candidates"),
        ({"text": "a", "candidates": [-1]}, 400, "candidates"),
        ({"items": ["a"]}, 400, "give text or texts"),
        ({"row": {"indices": [10**6], "values": [1]}}, 400, "indices"),
        ({"row": {"indices": [1], "values": []}}, 400, "as many"),
        ({"row": {"indices": [1], "values": [1e300]}}, 400, "1e+30"),
        ({"text": "a", "exclude_seen": True}, 400, "items"),
    ],
)
def test_a_wrong_request_is_refused_with_the_reason(text_model, post, body, status, says):
    app = make_app(text_model, settings=ServingSettings(max_k=20, max_text=100, max_rows=10))
    reply = post(app, PREDICT, body)
    assert reply.status_code == status
    assert says in reply.json()["error"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    "text texts items row rows context k beam agreement max_chunks candidates exclude path probabilities".split()
)


@settings(max_examples=60)
@given(body=st.dictionaries(fields, values | st.sampled_from(WORDS), max_size=4))
def test_any_json_is_answered_or_refused(app, body):
    assert ask(app, "POST", PREDICT, json=body).status_code in (200, 400, 413)


def test_models_are_described(app, get):
    (facts,) = get(app, "/v1/models").json()["models"]
    assert facts == get(app, "/v1/models/model").json()
    assert (facts["reads"], facts["n_labels"], facts["has_agreement"]) == ("text", len(WORDS), True)


def test_names_of_items_are_found(item_model, text_model, post):
    app = make_app(item_model)
    assert post(app, "/v1/models/model/items", {"text": "M"}).json() == {"items": ["milk", "jam"]}
    assert post(app, "/v1/models/model/items", {"text": "", "limit": 3}).json()["items"] == ["bread", "milk", "eggs"]
    assert app.state.service.registry.current("model").facts.picks == ["items"]
    for wrong in ({"text": "m", "column": "history"}, {"text": 1}, {"text": "m", "limit": 101}, {}):
        assert post(app, "/v1/models/model/items", wrong).status_code == 400
    assert post(make_app(text_model), "/v1/models/model/items", {"text": "m"}).status_code == 400


def test_the_search_for_items_finds_those_of_a_scan():
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice(list("aAb\n"), size=rng.integers(0, 5))) for _ in range(60)]
    search = ItemSearch(names)
    folded = [name.casefold().replace("\n", " ") for name in names]
    for text in ("", "a", "B", "ab", "ba", "aa", " ", "b\n", "zz"):
        wanted = text.casefold().replace("\n", " ")
        first = [i for i, name in enumerate(folded) if name.startswith(wanted)]
        then = [i for i, name in enumerate(folded) if wanted in name and i not in first]
        for limit in (1, 7, 100):
            assert search.find(text, limit) == [names[i] for i in (first + then)[:limit]]


def test_explain_says_which_words_speak_for_a_label(app):
    answer = ask(app, "POST", "/v1/models/model/explain", json={"text": "red apple", "label": "is-red"}).json()
    (own,) = answer["labels"]
    assert own["label"] == "is-red"
    assert sum(part["amount"] for part in own["contributions"]) == pytest.approx(own["log_score"], abs=1e-4)
    assert max(own["words"], key=lambda word: word["amount"])["text"] == "red"
    best = ask(app, "POST", "/v1/models/model/explain", json={"text": "red apple", "k": 2}).json()
    asked = {"text": "red apple", "k": 2, "raw_scores": True}
    predicted = ask(app, "POST", "/v1/models/model/predict", json=asked).json()
    assert [label["label"] for label in best["labels"]] == predicted["labels"]
    assert [label["score"] for label in best["labels"]] == pytest.approx(predicted["scores"], rel=1e-4)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": "red", "label": "bread"}, "one that the model knows, got 'bread'"),
        ({"texts": ["red", "apple"]}, "one question per request"),
        ({"text": "red", "label": ["is-red"] * 21}, "at most 20 labels"),
        ({"text": "red", "label": 4000}, "label must be"),
        ({"row": {"indices": [10**6], "values": [1]}}, "indices must be"),
    ],
)
def test_wrong_questions_to_explain(app, body, message):
    answer = ask(app, "POST", "/v1/models/model/explain", json=body)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_retired_labels_are_in_no_answer_of_any_protocol():
    texts, labels = make_texts()
    model = lt.LabelTreeClassifier(fanout=3, n_jobs=1).fit(texts, labels)
    model.retire(["is-red"])
    app = make_app(model)
    asked = [{"text": "red red"}, {"text": "red", "beam": None}, {"text": "red", "k": 100}, {"text": "xyz", "k": 100}]
    asked += [{"text": "red", "candidates": ["is-red", "is-plum"]}, {"text": "red", "max_chunks": 1}]
    for body in asked:
        assert "is-red" not in ask(app, "POST", PREDICT, json=body).json()["labels"]
    suggested = ask(app, "POST", "/v1/projects/model/suggest", data={"text": "red", "limit": "10"}).json()["results"]
    assert suggested
    assert "is-red" not in {entry["uri"] for entry in suggested}
    why = ask(app, "POST", "/v1/models/model/explain", json={"text": "red", "label": ["is-red", "is-plum"]}).json()
    assert [own.get("retired", False) for own in why["labels"]] == [True, False]
