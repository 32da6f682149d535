"""Every parameter is checked on entry to fit, and refused with its name."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees._settings import check_settings, check_values, checks_of
from labeltrees.models.common.settings import seed_of

CHECKS = checks_of(lt.LabelTreeClassifier)
NO_NUMBER = [None, "1", True, np.nan, np.inf, -np.inf, 1j, [1.0]]
NO_INTEGER = [None, "3", True, 2.0, np.nan, 2**31, -1]
WRONG = {
    "tradeoff": [*NO_NUMBER, -0.01, 2.01],
    "fanout": [*NO_INTEGER, 1],
    "leaf_size": [*NO_INTEGER, 0],
    "smoothing": [*NO_NUMBER, -1],
    "cover": ["Marginal", None, 1, ["marginal"]],
    "cover_softness": [*NO_NUMBER, -0.1, 1.1],
    "path": ["straight", None, 0],
    "weights_of": ["tree", None, 0],
    "tree": ["round", 3, [0, 1], lt.LabelTree],
    "vectorizer": ["tfidf", lt.TfidfVectorizer, 3],
    "normalize": [None, 1, "yes"],
    "loss": ["hinge", None, 2],
    "score_power": [*NO_NUMBER, 0, -3],
    "C": [*NO_NUMBER, 0, -1, 1e-13, 1e13, "best", (1.0, 2.0)],
    "class_weight": ["even", 2.0, b"balanced", {1, 2}],
    "eps": [*NO_NUMBER, 0, -1],
    "max_iter": [*NO_INTEGER, 0],
    "prune_below": [*NO_NUMBER, -0.1],
    "negatives": ["random", None],
    "evidence": ["votes", 1],
    "label_text_points": ["some", None],
    "label_text_weight": [*NO_NUMBER, 0, -1],
    "label_text_embedding": [*NO_NUMBER, -1],
    "n_trees": [*NO_INTEGER, 0],
    "trend": [True, "14", np.nan, 0, -1],
    "search": ["best", None, "Beam"],
    "beam": ["10", True, 2.0, 0, -1],
    "k": [*NO_INTEGER, 0],
    "threshold": [True, "0.5", np.nan, 0, -0.1, 1.1],
    "random_state": ["0", 1.0, True, -1, 2**63, np.random.default_rng(0)],
    "n_jobs": ["2", 1.5, True, 0],
    "verbose": ["yes", None, -1, 0.5],
}
RIGHT = {
    "tradeoff": [0, 2, np.float32(0.5), np.int64(1)],
    "fanout": [2, np.int32(16), 2**31 - 1],
    "tree": [None, "flat", lt.flat_tree(3)],
    "normalize": [True, np.False_],
    "class_weight": [None, "balanced", {}, {0: 2.0}, [1, 2], np.ones(3)],
    "C": ["auto", 1, np.float32(0.3)],
    "beam": [None, 1, np.uint8(4)],
    "threshold": [None, 1, 1e-9, np.float64(0.5)],
    "random_state": [0, None, np.int64(3), np.random.RandomState(0)],
    "n_jobs": [None, 1, -1, -100],
    "verbose": [0, 2, True],
}


def cases(table):
    return [
        pytest.param(name, value, id=f"{name}={value!r}"[:40]) for name, values in table.items() for value in values
    ]


def test_every_parameter_has_a_check_and_is_tried_here():
    assert CHECKS.keys() == lt.LabelTreeClassifier().get_params().keys()
    assert WRONG.keys() == CHECKS.keys() - {"embeddings"}


@pytest.mark.parametrize(("name", "value"), cases(WRONG))
def test_wrong_values_are_refused_by_name_before_anything_else(name, value):
    with pytest.raises(lt.InputError, match=rf"^{name} must be .*, got "):
        lt.LabelTreeClassifier(**{name: value}).fit("no points", "no labels")


@pytest.mark.parametrize(("name", "value"), cases(RIGHT))
def test_right_values_pass(name, value):
    check_values({name: value}, CHECKS)


def test_defaults_and_presets_pass():
    for model in (lt.LabelTreeClassifier(), lt.LabelTreeClassifier.parabel(), lt.LabelTreeClassifier.one_vs_all()):
        check_settings(model)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.ones((5, 3)), "5"),
        (np.full((12, 2), np.nan), "NaN"),
        (np.ones(12), "two-dimensional"),
        ([["a"] * 2] * 12, "embeddings"),
        (np.full((12, 2), np.inf), "infinite"),
    ],
    ids=["rows", "nan", "vector", "text", "inf"],
)
def test_wrong_embeddings_are_refused(problem, embeddings, message):
    with pytest.raises(lt.InputError, match=message):
        lt.LabelTreeClassifier(embeddings=embeddings).fit(*problem)


def test_a_seed_is_taken_from_every_kind_of_random_state():
    assert seed_of(7) == seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    state = np.random.RandomState(0)
    assert seed_of(state) != seed_of(state)


def test_checking_does_not_draw_from_a_random_state():
    state = np.random.RandomState(0)
    check_values({"random_state": state}, CHECKS)
    assert seed_of(state) == seed_of(np.random.RandomState(0))


def test_a_random_state_gives_the_model_of_the_seed_it_draws(problem):
    drawn = lt.LabelTreeClassifier(random_state=np.random.RandomState(5)).fit(*problem)
    seed = int(np.random.RandomState(5).randint(2**31))
    fixed = lt.LabelTreeClassifier(random_state=seed).fit(*problem)
    assert drawn.searcher_.stores[0].chunks.tobytes() == fixed.searcher_.stores[0].chunks.tobytes()
