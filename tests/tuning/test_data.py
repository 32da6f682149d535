"""Which points a sweep measures on."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.tuning import sweep as sweep_module
from labeltrees.tuning.data import MAX_VALIDATION_POINTS, hold_out
from tests.tuning.conftest import make_data


def parts_of_a_sweep(monkeypatch, train, **options):
    """The training and the validation data that a sweep uses."""
    seen = {}
    original = sweep_module.TrialInputs

    def spy(estimator, train, validation, *arguments):
        seen.update(train=train, validation=validation)
        return original(estimator, train, validation, *arguments)

    monkeypatch.setattr(sweep_module, "TrialInputs", spy)
    result = lt.sweep(train, tradeoffs=[1], **options)
    return seen["train"], seen["validation"], result


def numbered_data():
    """Data whose first feature is the number of the point."""
    data = make_data(100)
    X = data.X.toarray()
    X[:, 0] = np.arange(1, 101)
    return lt.Dataset(X, data.Y, sample_weight=np.arange(1, 101))


def test_without_validation_data_no_measured_point_is_a_training_point(monkeypatch):
    train, validation, result = parts_of_a_sweep(monkeypatch, numbered_data())
    trained, measured = (set(part.points[:, [0]].toarray()[:, 0].tolist()) for part in (train, validation))
    assert len(measured) == 20
    assert trained & measured == set()
    assert trained | measured == set(range(1, 101))
    assert sorted(measured) == sorted(validation.sample_weight)
    assert result.facts["measured"]["held_out"] is True
    assert result.facts["data"]["n_validation_points"] == 20


def test_the_seed_chooses_the_points(monkeypatch):
    estimators = [lt.LabelTreeClassifier(random_state=seed) for seed in (0, 0, 1)]
    rows = [parts_of_a_sweep(monkeypatch, numbered_data(), estimator=own)[1].sample_weight for own in estimators]
    assert rows[0].tolist() == rows[1].tolist() != rows[2].tolist()


def test_given_validation_data_is_used_whole(monkeypatch):
    train, validation, result = parts_of_a_sweep(monkeypatch, numbered_data(), validation=make_data(30, seed=3))
    assert (train.n_points, validation.n_points) == (100, 30)
    assert result.facts["measured"]["held_out"] is False


def test_a_sweep_that_holds_out_points_does_not_see_their_labels():
    # Random labels cannot be learnt: a sweep that measured on training points would find them again.
    rng = np.random.default_rng(0)
    X, Y = np.eye(200), np.eye(20)[rng.integers(0, 20, 200)]
    result = lt.sweep((X, Y), tradeoffs=[0], k=1)
    assert result.table[0]["p1"] < 0.5


def test_the_share_is_limited_for_large_data():
    train, held_out = hold_out(1_000_000, 0.2, 0)
    assert len(held_out) == MAX_VALIDATION_POINTS
    assert len(train) + len(held_out) == 1_000_000


@pytest.mark.parametrize("share", [1e-9, 1])
def test_a_share_that_leaves_an_empty_part_is_refused(share):
    with pytest.raises(lt.errors.InputError, match="choose another share"):
        hold_out(100, share, 0)


def test_the_newest_points_are_held_out_if_points_have_times():
    times = np.array([5, 1, 4, 2, 3, 9, 8, 7, 6, 0])
    train, held_out = hold_out(10, 0.3, 0, times)
    assert set(times[held_out]) == {7, 8, 9}
    assert sorted([*train, *held_out]) == list(range(10))
    rng = np.random.default_rng(0)
    data = lt.Dataset(np.eye(100), np.eye(5)[rng.integers(0, 5, 100)], times=np.arange(100))
    result = lt.sweep(data, tradeoffs=[0], k=1)
    assert result.facts["measured"]["held_out_how"] == "because they are the newest"
