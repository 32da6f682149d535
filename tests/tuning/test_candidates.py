"""Candidates: grids, names, and parameters without effect."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.candidates import (
    PAPER_GRIDS,
    configured,
    estimator_fingerprint,
    make_grid,
    setting_name,
    tree_columns,
    without_effect,
)

ESTIMATOR = lt.LabelTreeClassifier()


def variant(tradeoff, cover, path, fanout=8):
    return {"tradeoff": tradeoff, "fanout": fanout, "tree__cover": cover, "tree__path": path}


def test_every_combination_is_there_once():
    found = make_grid(ESTIMATOR, [0, 1, 1], [2, 16], {"tree__cover": ["marginal", "greedy"]})
    assert len(found) == 8
    assert next(iter(found.items())) == (
        "tradeoff-0_fanout-2_marginal_weighted",
        {"tradeoff": 0.0, "fanout": 2, "tree__cover": "marginal"},
    )


def test_the_fanout_is_the_estimators_own_unless_given():
    (found,) = make_grid(lt.LabelTreeClassifier(fanout=32), [1], None).values()
    assert found["fanout"] == 32


@pytest.mark.parametrize("fanout", [2, 8])
@pytest.mark.parametrize(("tradeoff", "path"), [(0, "direct"), (0, "weighted"), (0.5, "weighted"), (1, "weighted")])
def test_candidates_that_are_not_trained_twice_give_the_same_tree(train, tradeoff, path, fanout):
    own = variant(tradeoff, "greedy", path, fanout)
    other = without_effect(ESTIMATOR, own)
    assert other != own
    trees = [configured(ESTIMATOR, parameters).fit(train.X, train.Y).tree_ for parameters in (own, other)]
    assert trees[0] == trees[1]


@pytest.mark.parametrize(("tradeoff", "path"), [(1.5, "weighted"), (0.5, "direct"), (2, "direct")])
def test_candidates_whose_cover_counts_are_trained_on_their_own(tradeoff, path):
    found = without_effect(ESTIMATOR, variant(tradeoff, "greedy", path))
    assert found == {"tradeoff": tradeoff, "fanout": 8, "tree": lt.TreeBuilder(cover="greedy", path=path)}


def test_the_papers_grids_span_all_tradeoffs():
    for grid in PAPER_GRIDS.values():
        assert grid[0] == 0
        assert grid[-1] == pytest.approx(2, abs=1e-4)
        assert (np.diff(grid) > 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3], None), "tradeoffs must be a number in"),
        (([], None), "tradeoffs must be a list of at least one value"),
        (([1], [1]), "fanouts must be an integer of at least 2"),
    ],
)
def test_values_that_are_not_allowed_are_refused(arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        make_grid(ESTIMATOR, *arguments)


def test_an_estimator_with_a_given_tree_is_refused():
    with pytest.raises(lt.errors.InputError, match="a model that builds its tree"):
        make_grid(lt.LabelTreeClassifier.one_vs_all(), [1], None)


def test_fanout_auto_is_a_setting_like_others():
    found = make_grid(ESTIMATOR, [1], ["auto", 16])
    assert [own["fanout"] for own in found.values()] == ["auto", 16]
    assert next(iter(found)) == "tradeoff-1_fanout-auto_marginal_weighted"
    with pytest.raises(lt.errors.InputError, match="fanouts must be an integer of at least 2 or 'auto', got 'wide'"):
        make_grid(ESTIMATOR, [1], ["wide"])


def test_the_estimators_own_cover_and_path_are_kept():
    estimator = lt.LabelTreeClassifier(tree=lt.TreeBuilder(cover="greedy", path="direct"))
    assert setting_name(estimator, {"tradeoff": 1, "fanout": 2}) == "tradeoff-1_fanout-2_greedy_direct"
    assert tree_columns(estimator, {"tradeoff": 1.5})["cover"] == "greedy"


def test_a_tree_builder_is_a_candidate_and_is_not_changed():
    builders = [lt.TreeBuilder(cover="greedy"), lt.TreeBuilder(smoothing=0.5, embeddings=np.eye(3))]
    found = make_grid(ESTIMATOR, [0.5], [8], {"tree": builders})
    names = list(found)
    assert names[0] == "tradeoff-0.5_fanout-8_greedy_weighted"
    assert names[1].startswith("tradeoff-0.5_fanout-8_marginal_weighted_smoothing-0.5_embeddings-array ")
    assert without_effect(ESTIMATOR, found[names[0]])["tree"] is None
    assert builders[0].cover == "greedy"


def test_the_default_tree_builder_is_no_tree_builder():
    with_builder = lt.LabelTreeClassifier(tree=lt.TreeBuilder())
    assert estimator_fingerprint(with_builder) == estimator_fingerprint(ESTIMATOR)
    other = lt.LabelTreeClassifier(tree=lt.TreeBuilder(smoothing=0.5))
    assert estimator_fingerprint(other) != estimator_fingerprint(ESTIMATOR)
