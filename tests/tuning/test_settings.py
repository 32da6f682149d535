"""The grid of a sweep."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning.settings import PAPER_GRIDS, Setting, make_settings


def test_every_combination_is_there_once():
    settings = make_settings(lt.LabelTreeClassifier(), [0, 1, 1], [2, 16], ["marginal", "greedy"], ["weighted"])
    assert len(settings) == len({setting.name for setting in settings}) == 8
    assert settings[0] == Setting(0.0, 2, "marginal", "weighted")


def test_the_fanout_is_the_estimators_own_unless_given():
    (setting,) = make_settings(lt.LabelTreeClassifier(fanout=32), [1], None)
    assert setting.fanout == 32


@pytest.mark.parametrize("fanout", [2, 8])
@pytest.mark.parametrize(("tradeoff", "path"), [(0, "direct"), (0, "weighted"), (0.5, "weighted"), (1, "weighted")])
def test_settings_that_are_not_trained_twice_give_the_same_tree(train, tradeoff, path, fanout):
    setting = Setting(tradeoff, fanout, "greedy", path)
    other = setting.trained_as()
    assert other != setting
    assert lt.build_tree(train.X, train.Y, **setting.parameters) == lt.build_tree(train.X, train.Y, **other.parameters)


@pytest.mark.parametrize(("tradeoff", "path"), [(1.5, "weighted"), (0.5, "direct"), (2, "direct")])
def test_settings_whose_cover_counts_are_trained_for_themselves(tradeoff, path):
    setting = Setting(tradeoff, 8, "greedy", path)
    assert setting.trained_as() == setting


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
        (([1], None, ["odd"]), "covers must be one of"),
        (([1], None, ["marginal"], ["odd"]), "paths must be one of"),
    ],
)
def test_what_is_no_setting_is_refused(arguments, message):
    with pytest.raises(lt.InputError, match=message):
        make_settings(lt.LabelTreeClassifier(), *arguments)


def test_an_estimator_with_a_tree_of_its_own_is_refused():
    with pytest.raises(lt.InputError, match="a model that builds its tree"):
        make_settings(lt.LabelTreeClassifier.one_vs_all(), [1], None)


def test_fanout_auto_is_a_setting_like_others():
    settings = make_settings(lt.LabelTreeClassifier(), [1], ["auto", 16])
    assert [setting.fanout for setting in settings] == ["auto", 16]
    assert settings[0].name == "tradeoff-1_fanout-auto_marginal_weighted"
    with pytest.raises(lt.InputError, match="fanouts must be an integer of at least 2 or 'auto', got 'wide'"):
        make_settings(lt.LabelTreeClassifier(), [1], ["wide"])
