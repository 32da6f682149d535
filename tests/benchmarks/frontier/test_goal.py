"""The check of the goal in benchmarks/frontier, on points made by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frontier.goal import check, fastest_from, most_precise_within, on_frontier


def point(contestant: str, us: float | None, p1: float, *, texts: bool = False) -> dict[str, Any]:
    return {"contestant": contestant, "ours": contestant == "ours", "texts": texts, "batch": us, "p1": p1}


def test_a_peers_point_is_compared_with_our_fastest_that_is_as_precise() -> None:
    ours = [point("ours", 1, 79.0), point("ours", 2, 80.0), point("ours", 4, 81.0)]
    (verdict,) = check([*ours, point("peer", 40, 80.0)], "batch", "p1", 8)
    (race,) = verdict.races
    assert race.fastest is ours[1]
    assert race.ratio == 20
    assert not verdict.slow


@pytest.mark.parametrize(("p1", "ratio", "ratio_noise"), [(80.0, 10, 10), (79.95, 5, 10), (79.5, 5, 5)])
def test_a_precision_lower_by_the_noise_counts_only_in_the_tolerant_reading(
    p1: float, ratio: float, ratio_noise: float
) -> None:
    points = [point("ours", 4, p1), point("ours", 8, 80.0), point("peer", 40, 80.0)]
    (race,) = check(points, "batch", "p1", 8)[0].races
    assert (race.ratio, race.ratio_noise) == (ratio, ratio_noise)


def test_only_points_within_one_of_the_peers_best_count_for_speed() -> None:
    peer = [point("peer", 10, 79.0), point("peer", 5, 78.9), point("peer", 100, 80.0)]
    (verdict,) = check([point("ours", 5, 85.0), *peer], "batch", "p1", 8)
    assert [race.peer["batch"] for race in verdict.near] == [10, 100]
    assert [race.peer["batch"] for race in verdict.slow] == [10]
    assert verdict.median_ratio == 11


def test_the_goal_is_missed_if_no_point_of_ours_is_as_precise() -> None:
    (verdict,) = check([point("ours", 1, 70.0), point("peer", 1000, 80.0)], "batch", "p1", 8)
    assert verdict.races[0].fastest is None
    assert verdict.slow == verdict.slow_noise == verdict.races


def test_at_equal_time_ours_must_be_more_precise() -> None:
    ours = [point("ours", 10, 80.0), point("ours", 30, 82.0)]
    peer = [point("peer", 20, 80.0), point("peer", 30, 81.0), point("peer", 5, 1.0)]
    (verdict,) = check([*ours, *peer], "batch", "p1", 8)
    assert [race.gain for race in verdict.races] == [0.0, 1.0, None]
    assert [race.peer["batch"] for race in verdict.not_more_precise] == [20, 5]


def test_a_peer_that_reads_texts_is_compared_with_ours_that_read_texts() -> None:
    points = [point("ours", 1, 90.0), point("ours", 10, 85.0, texts=True), point("peer", 100, 80.0, texts=True)]
    (race,) = check(points, "batch", "p1", 8)[0].races
    assert race.ratio == 10


def test_points_without_a_measurement_are_left_out() -> None:
    points = [point("ours", 1, 90.0), point("peer", None, 80.0), point("other", 3, 80.0)]
    assert [verdict.contestant for verdict in check(points, "batch", "p1", 8)] == ["other"]


POINTS = st.lists(
    st.builds(point, st.sampled_from(["ours", "peer"]), st.integers(1, 9).map(float), st.integers(0, 9).map(float)),
    min_size=1,
    max_size=12,
)


@given(POINTS)
def test_the_frontier_rises_and_holds_every_winner(points: list[dict[str, Any]]) -> None:
    best = on_frontier(points, "batch", "p1")
    corners = dict.fromkeys((p["batch"], p["p1"]) for p in best)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(corners))
    for each in points:
        fastest = fastest_from(points, "batch", "p1", each["p1"])
        precise = most_precise_within(points, "batch", "p1", each["batch"])
        assert fastest is not None
        assert precise is not None
        assert fastest["batch"] in {p["batch"] for p in best}
        assert precise["p1"] in {p["p1"] for p in best}
