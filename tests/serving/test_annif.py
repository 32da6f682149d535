"""Annif's REST form."""

import pytest

from labeltrees.serving import make_app
from tests.serving.conftest import ask

TEXTS = {"is-red": "Red things"}


@pytest.fixture(scope="module")
def app(text_model, item_model):
    return make_app({"fruit": text_model, "shop": item_model}, label_texts=TEXTS)


def test_suggestions_are_the_answers_of_the_model(app, text_model):
    reply = ask(
        app, "POST", "/v1/projects/fruit/suggest", data={"text": "red apple", "limit": "3", "threshold": "0.01"}
    )
    labels, scores = text_model.predict_topk(["red apple"], 3)
    expected = [
        {"uri": name, "label": TEXTS.get(name, name), "notation": None, "score": pytest.approx(score, rel=1e-5)}
        for name, score in zip(labels[0], scores[0].tolist(), strict=True)
        if score >= 0.01
    ]
    assert reply.json()["results"] == expected


def test_projects_are_described_as_annif_does(app, get):
    (project,) = get(app, "/v1/projects").json()["projects"]
    assert project == get(app, "/v1/projects/fruit").json()
    assert project["is_trained"] is True
    assert {"project_id", "name", "language", "backend", "modification_time"} <= project.keys()


@pytest.mark.parametrize("body", [b"", b"limit=3", b"text=a&limit=x", b"text=a&threshold=2", b"text=%ff", b"text=\xff"])
def test_wrong_forms_are_refused(app, post, body):
    reply = post(app, "/v1/projects/fruit/suggest", body)
    assert reply.status_code == 400
    assert reply.json()["error"]
