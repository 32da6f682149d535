"""Sets, weights and groups stored by name: requests that use them get the answers of the model with these rules."""

import os
import resource
import threading
from types import SimpleNamespace

import httpx2
import numpy as np
import pytest

import labeltrees as lt
from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving.shown_labels import prepare_set
from tests.serving.conftest import WORDS, ask, make_texts

PREDICT = "/v1/models/model/predict"
LABELS = [f"is-{word}" for word in WORDS]
GROUPS = {label: "abc"[number % 3] for number, label in enumerate(LABELS)}
TEXTS = make_texts(12, seed=5)[0]


@pytest.fixture
def app(text_model, tmp_path):
    app = make_app(text_model, settings=ServingSettings(sets=str(tmp_path / "sets")))
    for name, content in {
        "in_stock": {"labels": [*LABELS[:6], "is-new"]},
        "boosts": {"weights": {LABELS[3]: 4.0, "is-new": 2.0}},
        "colours": {"groups": {**GROUPS, "is-new": "a"}, "m": 2},
    }.items():
        assert ask(app, "PUT", f"/v1/sets/{name}", json=content).status_code == 200
    return app


def answers(reply):
    assert reply.status_code == 200, reply.text
    return [one["labels"] for one in reply.json()["results"]]


def expected(model, **rules):
    return [[label for label in row if label is not None] for row in model.predict_topk(TEXTS, 5, **rules)[0].tolist()]


@pytest.mark.parametrize(
    ("asked", "rules"),
    [
        ({"candidates": "@in_stock"}, {"candidates": LABELS[:6]}),
        ({"exclude": "@in_stock"}, {"exclude": LABELS[:6]}),
        ({"label_weight": "@boosts"}, {"label_weight": {LABELS[3]: 4.0}}),
        ({"label_weight": {LABELS[3]: 4.0}}, {"label_weight": {LABELS[3]: 4.0}}),
        ({"limits": "@colours"}, {"limits": (GROUPS, 2)}),
        ({"limits": {"groups": "@colours", "m": 1}}, {"limits": (GROUPS, 1)}),
        ({"limits": {"groups": GROUPS, "m": {"a": 0}}}, {"limits": (GROUPS, {"a": 0})}),
        ({"diversity": 0.7}, {"diversity": 0.7}),
        ({"candidates": "@in_stock", "limits": {"groups": GROUPS}}, {"candidates": LABELS[:6], "limits": (GROUPS, 1)}),
        ({"candidates": "@in_stock", "max_chunks": 1000}, {"candidates": LABELS[:6]}),
        ({"label_weight": {LABELS[3]: 4.0}, "max_chunks": 1000}, {"label_weight": {LABELS[3]: 4.0}}),
    ],
    ids=str,
)
def test_requests_use_stored_sets(app, text_model, post, asked, rules):
    assert answers(post(app, PREDICT, {"texts": TEXTS, **asked})) == expected(text_model, **rules)
    single = post(app, PREDICT, {"text": TEXTS[0], **asked}).json()
    assert single["labels"] == expected(text_model, **rules)[0]
    tensor = {"name": "text", "shape": [len(TEXTS)], "datatype": "BYTES", "data": TEXTS}
    reply = post(app, "/v2/models/model/infer", {"inputs": [tensor], "parameters": {"k": 5, **asked}})
    assert reply.status_code == 200, reply.text
    names = reply.json()["outputs"][0]
    rows = np.array(names["data"], dtype=object).reshape(names["shape"]).tolist()
    assert [[name for name in row if name] for row in rows] == expected(text_model, **rules)


@pytest.mark.parametrize("more", [{}, {"max_chunks": 1000}], ids=str)
@pytest.mark.parametrize(
    ("asked", "rules"),
    [
        ({"label_weight": {LABELS[3]: 4.0, "is-redd": 2.0}}, {"label_weight": {LABELS[3]: 4.0}}),
        ({"label_weight": {"is-redd": 2.0}}, {}),
        ({"limits": {"groups": {**GROUPS, "is-redd": "a"}, "m": 1}}, {"limits": (GROUPS, 1)}),
        ({"limits": {"groups": {"is-redd": "a"}}}, {}),
        ({"candidates": [*LABELS[:4], "is-redd"]}, {"candidates": LABELS[:4]}),
    ],
    ids=str,
)
def test_unknown_labels_of_every_rule_are_left_out_and_reported(app, text_model, post, asked, rules, more):
    reply = post(app, PREDICT, {"texts": TEXTS, **asked, **more})
    assert answers(reply) == expected(text_model, **rules)
    assert all(list(one["unknown_labels"]) == ["is-redd"] for one in reply.json()["results"])
    single = post(app, PREDICT, {"text": TEXTS[0], **asked, **more}).json()
    assert list(single["unknown_labels"]) == ["is-redd"]
    assert single["labels"] == expected(text_model, **rules)[0]


def test_a_set_is_replaced_for_the_next_request(app, text_model, post):
    for labels in (LABELS[:3], LABELS[3:7], []):
        assert ask(app, "PUT", "/v1/sets/in_stock", json={"labels": labels}).status_code == 200
        assert answers(post(app, PREDICT, {"texts": TEXTS, "candidates": "@in_stock"})) == expected(
            text_model, candidates=labels
        )


def test_sets_are_listed_with_the_labels_that_models_do_not_know(app, get):
    sets = {one["name"]: one for one in get(app, "/v1/sets").json()["sets"]}
    assert list(sets) == ["boosts", "colours", "in_stock"]
    assert (sets["in_stock"]["kind"], sets["in_stock"]["n_labels"]) == ("labels", 7)
    assert sets["in_stock"]["unknown"] == {"model": 1}
    assert get(app, "/v1/sets/boosts").json() == sets["boosts"]
    assert ask(app, "DELETE", "/v1/sets/boosts").status_code == 200
    assert ask(app, "DELETE", "/v1/sets/boosts").status_code == 404
    assert len(get(app, "/v1/sets").json()["sets"]) == 2


def test_sets_survive_a_restart_and_a_new_version_of_the_model(tmp_path, post):
    folder, sets = tmp_path / "model.model", tmp_path / "sets"
    old = lt.LabelTreeClassifier(n_jobs=1).fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    new = lt.LabelTreeClassifier(n_jobs=1).fit(["red apple", "green pear", "plum"] * 5, [["a"], ["pear"], ["plum"]] * 5)
    old.save(folder)
    app = make_app(folder, settings=ServingSettings(sets=str(sets)))
    ask(app, "PUT", "/v1/sets/stock", json={"labels": ["pear", "plum"]})
    question = {"text": "red plum", "candidates": "@stock"}
    assert post(app, PREDICT, question).json()["labels"] == ["pear"]
    new.save(folder)
    app.state.service.registry.refresh()
    assert post(app, PREDICT, question).json()["labels"] == ["plum", "pear"]
    again = make_app(folder, settings=ServingSettings(sets=str(sets)))
    assert post(again, PREDICT, question).json()["labels"] == ["plum", "pear"]


@pytest.mark.parametrize(
    ("asked", "status", "message"),
    [
        ({"candidates": "@nothing"}, 404, "no stored set @nothing; stored: boosts, colours, in_stock"),
        ({"candidates": "in_stock"}, 400, "must be a list of labels or the name of a stored set"),
        ({"candidates": "@boosts"}, 400, "candidates needs a set of labels; @boosts has weights"),
        ({"candidates": "@../in_stock"}, 400, "the name of a set has up to 64 letters"),
        ({"limits": "@in_stock"}, 400, "limits needs a set of groups; @in_stock has labels"),
        ({"limits": {"groups": GROUPS, "m": -1}}, 400, "Expected"),
        ({"label_weight": {"is-red": -1}}, 400, "Expected"),
        ({"diversity": 2}, 400, "Expected"),
    ],
)
def test_faults_of_requests_are_named(app, post, asked, status, message):
    reply = post(app, PREDICT, {"text": "red", **asked})
    assert reply.status_code == status
    assert message in reply.json()["error"]


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("s", {}, "exactly one of labels, weights, groups"),
        ("s", {"labels": [], "weights": {}}, "exactly one of labels, weights, groups"),
        ("s", {"labels": [], "m": 2}, "m is for groups"),
        ("s", {"weights": {"a": -1}}, "Expected"),
        ("s", {"other": 1}, "unknown field"),
        (".hidden", {"labels": []}, "the name of a set"),
        ("x" * 65, {"labels": []}, "the name of a set"),
    ],
)
def test_other_sets_are_refused(app, name, body, message, get):
    reply = ask(app, "PUT", f"/v1/sets/{name}", json=body)
    assert reply.status_code == 400
    assert message in reply.json()["error"]
    assert len(get(app, "/v1/sets").json()["sets"]) == 3


def test_a_server_stores_a_limited_number_of_sets_of_limited_size(app, text_model, tmp_path):
    small = make_app(text_model, settings=ServingSettings(sets=str(tmp_path / "own"), max_body=200))
    assert ask(small, "PUT", "/v1/sets/a", json={"labels": ["x" * 300]}).status_code == 413
    for number in range(97):
        ask(app, "PUT", f"/v1/sets/s{number}", json={"labels": []})
    assert "at most 100 sets" in ask(app, "PUT", "/v1/sets/more", json={"labels": []}).json()["error"]
    assert ask(app, "PUT", "/v1/sets/s1", json={"labels": []}).status_code == 200


def test_limits_that_requests_choose_are_kept_for_few_of_them(app, post, monkeypatch):
    from labeltrees.serving import sets

    monkeypatch.setattr(sets, "_MAX_PREPARED", 5)
    for m in range(12):
        asked = {"texts": TEXTS, "limits": {"groups": "@colours", "m": m}}
        assert post(app, PREDICT, asked).status_code == 200
        assert len(app.state.service.registry.current("model").prepared) <= 5


def test_a_full_disk_leaves_the_set_before(app, text_model, post, tmp_path):
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, usual[1]))
    try:
        reply = ask(app, "PUT", "/v1/sets/in_stock", json={"labels": LABELS})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (reply.status_code, "File too large" in reply.json()["error"]) == (507, True)
    asked = {"texts": TEXTS, "candidates": "@in_stock"}
    assert answers(post(app, PREDICT, asked)) == expected(text_model, candidates=LABELS[:6])
    assert len(list((tmp_path / "sets").iterdir())) == 3


def test_keys_hold_for_sets_and_a_server_without_a_folder_stores_none(text_model, tmp_path, get):
    app = make_app(text_model, settings=ServingSettings(sets=str(tmp_path)), api_keys=["secret"])
    for method in ("PUT", "GET", "DELETE"):
        assert (
            ask(app, method, "/v1/sets/a", **({"json": {"labels": []}} if method == "PUT" else {})).status_code == 401
        )
    assert ask(app, "PUT", "/v1/sets/a", json={"labels": []}, headers={"X-API-Key": "secret"}).status_code == 200
    plain = make_app(text_model)
    reply = ask(plain, "PUT", "/v1/sets/a", json={"labels": []})
    assert (reply.status_code, "--sets FOLDER" in reply.json()["error"]) == (404, True)
    assert get(plain, "/v1/sets").json() == {"sets": []}


def test_models_without_names_take_numbers(row_model, tmp_path, post):
    app = make_app(row_model, settings=ServingSettings(sets=str(tmp_path)))
    ask(app, "PUT", "/v1/sets/some", json={"labels": [1, 2, 99]})
    ask(app, "PUT", "/v1/sets/more", json={"weights": {"2": 0}})
    row = {"indices": [0, 3], "values": [1.0, 0.5]}
    reply = post(app, PREDICT, {"row": row, "candidates": "@some", "label_weight": "@more"})
    assert reply.json()["labels"] == [1]
    assert "give their numbers" in post(app, PREDICT, {"row": row, "label_weight": {"a": 1}}).json()["error"]
    assert post(app, PREDICT, {"row": row, "candidates": [1, 2], "label_weight": {"2": 0}}).json()["labels"] == [1]


def test_answers_list_unknown_items(item_model, post):
    app = make_app(item_model)
    reply = post(app, PREDICT, {"items": ["bread", "caviar", ["rye", 2], "caviar", 101]}).json()
    assert reply["unknown"] == ["caviar", "rye"]
    assert "unknown" not in post(app, PREDICT, {"items": ["bread"]}).json()
    many = post(app, PREDICT, {"histories": [["bread"], {"rye": 1.0}]}).json()["results"]
    assert [one.get("unknown") for one in many] == [None, ["rye"]]


def test_all_workers_use_a_set_as_soon_as_it_is_stored(start_server, model_folder, tmp_path):
    server = start_server(model_folder, 2, "--sets", tmp_path / "sets")
    predict = f"{server.url}/v1/models/fruit/predict"
    rng = np.random.default_rng(0)
    for _ in range(5):
        labels = [LABELS[number] for number in rng.permutation(10)[:2]]
        assert httpx2.put(f"{server.url}/v1/sets/stock", json={"labels": labels}).status_code == 200
        for _ in range(8):  # each on a connection of its own, so that both workers answer
            found = httpx2.post(predict, json={"text": "red apple", "candidates": "@stock"}).json()["labels"]
            assert set(found) == set(labels)
    assert os.listdir(tmp_path / "sets") == ["stock.json"]


def test_the_path_of_a_search_is_that_of_the_allowed_labels(app, text_model, post):
    reply = post(app, PREDICT, {"text": "red apple", "candidates": "@in_stock", "path": True}).json()
    tree = text_model.tree_
    allowed = {list(text_model.classes_).index(label) for label in LABELS[:6]}
    above = {int(node) for label in allowed for node in tree.path(label)}
    assert {one["node"] for one in reply["path"][0]["opened"]} <= above
    assert all(set(nodes) <= above for nodes in reply["path"][0]["answers"])


def test_sets_for_many_requests_are_packed_beside_them():
    packed = []
    searcher = SimpleNamespace(pack=packed.append)
    model = SimpleNamespace(label_set=lambda labels: ("set of", *labels), searcher_=searcher)
    assert prepare_set(model, ["a", "b"]) == ("set of", "a", "b")
    for thread in threading.enumerate():
        if thread.name == "labeltrees-pack":
            thread.join()
    assert packed == [("set of", "a", "b")]
