"""Groups are held out as a whole: brute force over points, and what depends on it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees._holding_out import draw_held_out
from labeltrees.models.linear.cost import draw_samples
from labeltrees.models.linear.evidence import _split
from labeltrees.tuning.data import hold_out


@given(st.lists(st.integers(-3, 9), min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 99))
def test_no_group_is_cut(groups, n_wanted, seed):
    n_wanted = min(n_wanted, len(groups))
    order, n_held_out = draw_held_out(len(groups), n_wanted, np.random.default_rng(seed), groups)
    assert sorted(order) == list(range(len(groups)))
    if len(set(groups)) == 1:
        assert n_held_out == n_wanted
        return
    held_out, others = ({groups[point] for point in part} for part in (order[:n_held_out], order[n_held_out:]))
    assert not held_out & others
    assert held_out
    assert n_held_out <= n_wanted or len(held_out) == 1
    next_group = [group for group in groups if others and group == groups[order[n_held_out]]]
    assert n_held_out + len(next_group) > n_wanted or not others


def test_points_without_groups_are_held_out_as_before():
    order, n_held_out = draw_held_out(50, 7, np.random.default_rng(3))
    np.testing.assert_array_equal(order, np.random.default_rng(3).permutation(50))
    assert n_held_out == 7


def assert_whole(groups, is_held_out):
    assert 0 < is_held_out.sum() < len(groups)
    assert not set(groups[is_held_out]) & set(groups[~is_held_out])


def test_everything_that_holds_out_points_keeps_groups_together():
    groups = np.random.default_rng(0).integers(0, 80, 1000)
    sample = draw_samples(1000, lt.flat_tree(20), np.ones(1, np.int64), np.full(1, 1000), 0, groups)[0]
    assert_whole(groups, sample.held_out.astype(bool))
    for held_out in (_split(1000, 0, groups)[1], hold_out(1000, 0.2, 0, None, groups)[1]):
        assert_whole(groups, np.isin(np.arange(1000), held_out))


def test_groups_come_before_times():
    groups, times = np.arange(100) // 5, np.arange(100)
    _, held_out = hold_out(100, 0.2, 1, times, groups)
    assert_whole(groups, np.isin(times, held_out))
    assert set(held_out) != set(range(80, 100))


def memorised(n_groups=150, copies=6):
    """Groups of equal points with labels that features do not explain: a point helps only others of its group."""
    rng = np.random.default_rng(0)
    X = (rng.random((n_groups, 40)) < 0.3) * rng.random((n_groups, 40))
    Y = rng.random((n_groups, 12)) < 0.15
    return (
        np.repeat(X, copies, axis=0),
        np.repeat(Y, copies, axis=0).astype(float),
        np.repeat(np.arange(n_groups), copies),
    )


def test_memorising_groups_does_not_raise_the_cost_of_errors():
    X, Y, groups = memorised()
    plain, grouped = (lt.LabelTreeClassifier(n_jobs=1).fit(X, Y, groups=given) for given in (None, groups))
    assert max(grouped.stats_["C"]) < min(plain.stats_["C"])


def test_a_dataset_in_memory_or_in_parts_gives_the_same_model(tmp_path):
    X, Y, groups = memorised()
    data = lt.Dataset(X, Y, groups=groups)
    lt.write_parts(data, tmp_path / "parts", 250)
    opened = lt.open_parts(tmp_path / "parts")
    np.testing.assert_array_equal(opened.groups, groups)
    expected = lt.LabelTreeClassifier(n_jobs=1).fit(data.X, data.Y, groups=[f"{group:03d}" for group in groups])
    fits = {
        "dataset": lt.LabelTreeClassifier(n_jobs=1).fit(data),
        "joined": lt.LabelTreeClassifier(n_jobs=1).fit(opened),
        "in parts": lt.LabelTreeClassifier(n_jobs=1).fit(opened, work_folder=tmp_path),
    }
    for model in fits.values():
        assert model.stats_["C"] == expected.stats_["C"]
        assert model.stats_["C_losses"] == expected.stats_["C_losses"]


def test_a_choice_says_that_groups_were_held_out():
    X, Y, groups = memorised()
    data = lt.Dataset(X, Y, groups=groups)
    choice = lt.choose(data, tune={"tradeoff": [0], "fanout": [8]})
    assert "points held out at random in whole groups" in choice.explanation
    result = lt.sweep(data, tradeoffs=[0], k=1)
    assert result.facts["measured"]["held_out_how"] == "at random in whole groups"


def test_points_made_from_label_texts_are_separate_groups():
    texts = [f"word{i % 7} word{i % 5}" for i in range(300)]
    Y = [[f"label {i % 7}"] for i in range(300)]
    model = lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer(), evidence="auto", label_texts="all", n_jobs=1)
    model.fit(texts, Y, groups=np.arange(300) // 4, label_texts={f"label {i}": f"word{i}" for i in range(9)})
    assert model.n_points_ == 300


def test_datasets_keep_groups():
    data = lt.Dataset(np.eye(3), np.eye(3), groups=["b", "a", "b"])
    assert data.groups.tolist() == [1, 0, 1]
    assert data[[2, 1]].groups.tolist() == [1, 0]
    assert "groups" in repr(data)


@pytest.mark.parametrize("groups", [[1, 2], [0.5, 1, 2], [[1], [2], [3]], [1, None, "a"]])
def test_wrong_groups_are_refused(groups):
    with pytest.raises(lt.errors.InputError, match="groups must be 3 integers or texts, one per point"):
        lt.Dataset(np.eye(3), np.eye(3), groups=np.array(groups, dtype=object) if None in groups else groups)


def test_blocks_of_parts_have_numbers_as_groups(tmp_path):
    with (
        pytest.raises(lt.errors.InputError, match="groups must be 2 integers, one per point"),
        lt.PartsWriter(tmp_path / "parts", 2, 2) as writer,
    ):
        writer.add(np.eye(2), np.eye(2), groups=["a", "b"])
    with lt.PartsWriter(tmp_path / "parts", 2, 2) as writer:
        writer.add(np.eye(2), np.eye(2), groups=[1, 1])
        with pytest.raises(
            lt.errors.InputError, match="with weights, texts, times and groups like the blocks before it"
        ):
            writer.add(np.eye(2), np.eye(2))
