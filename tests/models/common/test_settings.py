"""Every parameter is checked on entry to fit, and refused with its name."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

import labeltrees as lt
from labeltrees._settings import check_settings, check_values, checks_of
from labeltrees.models.common.settings import seed_of
from labeltrees.models.linear.settings import GONE

CHECKS = checks_of(lt.LabelTreeClassifier)
NO_NUMBER = [None, "1", True, np.nan, np.inf, -np.inf, 1j, [1.0]]
NO_INTEGER = [None, "3", True, 2.0, np.nan, 2**31, -1]
WRONG = {
    "tradeoff": [*NO_NUMBER, -0.01, 2.01],
    "fanout": [*NO_INTEGER, 1],
    "leaf_size": [*NO_INTEGER, 0],
    "label_texts": ["some", None, {"weights": 1.0}, 1],
    "tree": ["round", 3, [0, 1], lt.LabelTree],
    "vectorizer": ["tfidf", lt.TfidfVectorizer, 3],
    "normalize": [None, 1, "yes"],
    "loss": ["hinge", None, 2],
    "C": [*NO_NUMBER[:-1], [], 0, -1, 1e-13, 1e13, "best", (1.0, -2.0)],
    "class_weight": ["even", 2.0, b"balanced", {1, 2}],
    "evidence": ["votes", 1],
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
WRONG_IN_BUILDER = {
    "smoothing": [*NO_NUMBER, -1],
    "cover": ["Marginal", None, 1, ["marginal"]],
    "cover_softness": [*NO_NUMBER, -0.1, 1.1],
    "path": ["straight", None, 0],
    "weights_of": ["tree", None, 0],
    "tolerance": [*NO_NUMBER, -2],
}
WRONG_IN_SOLVER = {
    "loss": ["hinge", None, 2],
    "score_power": [*NO_NUMBER, 0, -3],
    "eps": [*NO_NUMBER, 0, -1],
    "max_iter": [*NO_INTEGER, 0],
    "prune_below": [*NO_NUMBER, -0.1],
}
WRONG_USES_OF_TEXTS = {"points": ["some", None], "weight": [*NO_NUMBER, 0, -1], "embedding": [*NO_NUMBER, -1]}
RIGHT = {
    "tradeoff": [0, 2, np.float32(0.5), np.int64(1)],
    "fanout": [2, np.int32(16), 2**31 - 1],
    "tree": [None, "flat", lt.flat_tree(3), lt.TreeBuilder()],
    "loss": ["logistic", lt.Solver("logistic", eps=1)],
    "label_texts": ["none", {}, {"points": "all", "weight": 2}],
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
    assert CHECKS.keys() == lt.LabelTreeClassifier().get_params().keys() == WRONG.keys()
    assert len(CHECKS) == 20
    assert WRONG_IN_BUILDER.keys() == lt.TreeBuilder().get_params().keys() - {"embeddings"}
    assert WRONG_IN_SOLVER.keys() == lt.Solver().get_params().keys()


@pytest.mark.parametrize(("name", "value"), cases(WRONG))
def test_wrong_values_are_refused_by_name_before_anything_else(name, value):
    with pytest.raises(lt.errors.InputError, match=rf"^{name} must be .*, got "):
        lt.LabelTreeClassifier(**{name: value}).fit("no points", "no labels")


@pytest.mark.parametrize(("name", "value"), cases(WRONG_IN_BUILDER))
def test_a_builder_refuses_wrong_values_at_once_and_in_fit(name, value):
    message = rf"^{name} must be .*, got "
    with pytest.raises(lt.errors.InputError, match=message):
        lt.TreeBuilder(**{name: value})
    builder = lt.TreeBuilder()
    with pytest.raises(lt.errors.InputError, match=message):
        builder.set_params(**{name: value})
    setattr(builder, name, value)
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier(tree=builder).fit("no points", "no labels")


@pytest.mark.parametrize(("name", "value"), cases(WRONG_IN_SOLVER))
def test_a_solver_refuses_wrong_values(name, value):
    with pytest.raises(lt.errors.InputError, match=rf"^{name} must be .*, got "):
        lt.Solver(**{name: value})


@pytest.mark.parametrize(("name", "value"), cases(WRONG_USES_OF_TEXTS))
def test_wrong_uses_of_label_texts_are_refused(name, value):
    with pytest.raises(lt.errors.InputError, match=rf"^{name} must be .*, got "):
        lt.LabelTreeClassifier(label_texts={name: value}).fit("no points", "no labels")


@pytest.mark.parametrize("name", [*GONE, "fit: label_names", "fit: encoder", "predict_topk: prune"])
def test_arguments_that_are_gone_name_the_new_way(name):
    function, _, argument = name.rpartition(": ")
    model = lt.LabelTreeClassifier()
    calls = [getattr(model, function)] if function else [lt.LabelTreeClassifier, model.set_params]
    for call in calls:
        with pytest.raises(lt.errors.InputError, match=rf"has no argument {argument} any more: ") as error:
            call(**{argument: None})
        assert isinstance(error.value, TypeError)


def test_scikit_learn_sees_the_parameters_of_objects():
    model = lt.LabelTreeClassifier().set_params(tree__cover="greedy", loss__eps=0.5, loss="logistic")
    assert model.tree == lt.TreeBuilder(cover="greedy")
    assert model.loss == lt.Solver("logistic", eps=0.5)
    copy = clone(model)
    assert (copy.tree, copy.loss) == (model.tree, model.loss)
    assert copy.tree is not model.tree
    assert copy.get_params()["tree__cover"] == "greedy"
    copy.set_params(tree__cover="marginal")
    assert model.tree.cover == "greedy"
    with pytest.raises(lt.errors.InputError, match="a parameter must be one of smoothing, cover"):
        model.set_params(tree__fanout=3)
    assert lt.TreeBuilder() != lt.Solver()


def test_the_signatures_are_those_of_the_functions():
    assert list(inspect.signature(lt.LabelTreeClassifier).parameters) == [
        "tradeoff", "fanout", "leaf_size", "tree", "n_trees", "vectorizer", "normalize", "loss", "C", "class_weight",
        "label_texts", "evidence", "trend", "search", "beam", "k", "threshold", "random_state", "n_jobs", "verbose",
    ]  # fmt: skip
    assert len(inspect.signature(lt.LabelTreeClassifier.fit).parameters) == 1 + 8
    assert len(inspect.signature(lt.LabelTreeClassifier.predict_topk).parameters) == 1 + 10


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
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier(tree=lt.TreeBuilder(embeddings=embeddings)).fit(*problem)


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
