"""Intervals of curves: paired over points and seeds, and precision at equal depth."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.paper.claims import above, all_of, any_of, below, within
from benchmarks.paper.curves import Curve, Interval, at_equal_depth, interval, make_curve
from benchmarks.paper.train import groups_of, point_values


def records_of(hits, n=100):
    """Return the record of one run from hits per point (0 or 1), grouped as in the runs."""
    groups = groups_of(len(hits))
    sums = np.bincount(groups, weights=hits).tolist()
    sizes = np.bincount(groups).tolist()
    return {"weights": sizes, **{f"hits{k}": sums for k in (1, 3, 5)}, "depth1": sizes, "depth3": sizes}


def test_the_estimate_is_the_mean_over_seeds_and_points():
    rng = np.random.default_rng(0)
    hits = rng.random((4, 2, 1234)) < 0.3
    curve = make_curve([[records_of(h) for h in seed] for seed in hits], [0.0, 1.0], [0, 1, 2, 3])
    np.testing.assert_allclose(curve.values["p1"][0], 100 * hits.mean(axis=(0, 2)))


def test_the_interval_of_one_seed_is_that_of_a_bootstrap_over_points():
    """Drawing 100 groups of points gives the same width as drawing the points."""
    hits = (np.random.default_rng(0).random(5000) < 0.3).astype(float)
    found = make_curve([[records_of(hits)]], [0.0], [0]).interval(0.0, "p1")
    half = 196 * hits.std() / np.sqrt(len(hits))
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.25)


def test_differences_are_paired():
    hits = np.random.default_rng(0).random(5000) < 0.3
    better = hits | (np.arange(5000) % 50 == 0)
    curve = make_curve([[records_of(hits), records_of(better)]], [0.0, 1.0], [0])
    difference = interval(curve.at(1.0, "p1") - curve.at(0.0, "p1"))
    alone = curve.interval(0.0, "p1")
    assert difference.high - difference.low < (alone.high - alone.low) / 2
    assert difference.low > 0


def test_seeds_widen_the_interval():
    rng = np.random.default_rng(0)
    same = [[records_of(rng.random(5000) < 0.3)] for _ in range(5)]
    differing = [[records_of(rng.random(5000) < 0.3 + shift)] for shift in (-0.1, -0.05, 0, 0.05, 0.1)]
    widths = [np.ptp(make_curve(runs, [0.0], list(range(5))).interval(0.0, "p1")[1:]) for runs in (same, differing)]
    assert widths[1] > 2 * widths[0]


def line(depths, values, measure="p3"):
    depths, values = (np.tile(np.array(v, float), (3, 1)) for v in (depths, values))
    return Curve([0.0, 1.0, 2.0], [0], {"depth1": depths, measure: values})


def test_equal_depth_compares_along_depth_1():
    first, second = line([10, 8, 6], [50, 48, 46]), line([12, 9, 4], [54, 51, 46])
    result = at_equal_depth(first, second, "p3")
    assert (result.shallow, result.deep) == (6, 10)
    assert result.difference.value == pytest.approx(-2)  # 40 + depth against 42 + depth


def test_depth_3_is_compared_in_percent():
    first, second = line([10, 8, 6], [22, 22, 22], "depth3"), line([12, 9, 4], [20, 20, 20], "depth3")
    assert at_equal_depth(first, second, "depth3").difference.value == pytest.approx(10)


def test_a_branch_that_turns_back_is_left_out():
    """The last point has more depth@1 than the one before it, at a precision that would change the mean."""
    first, second = line([10, 6, 8], [50, 46, 0]), line([10, 8, 6], [50, 48, 46])
    assert at_equal_depth(first, second, "p3").difference.value == pytest.approx(0)


@pytest.mark.parametrize(
    ("estimate", "verdict"), [((2, 1, 3), "holds"), ((-2, -3, -1), "fails"), ((0.2, -1, 1), "undecided")]
)
def test_a_limit_inside_the_interval_leaves_a_claim_undecided(estimate, verdict):
    assert above(Interval(*estimate), 0) == verdict
    value, low, high = estimate
    assert below(Interval(-value, -high, -low), 0) == verdict


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [((-0.4, 0.4), "holds"), ((0.6, 2), "fails"), ((-2, -0.6), "fails"), ((-0.4, 0.6), "undecided")],
)
def test_within_needs_the_whole_interval(ends, verdict):
    assert within(Interval(sum(ends) / 2, *ends), 0.5) == verdict


def test_a_claim_with_parts_fails_if_one_fails():
    assert all_of(["holds", "holds"]) == "holds"
    assert all_of(["holds", "undecided"]) == "undecided"
    assert all_of(["undecided", "fails"]) == "fails"


def test_a_claim_with_alternatives_holds_if_one_holds():
    assert any_of(["holds", "fails"]) == "holds"
    assert any_of(["undecided", "fails"]) == "undecided"
    assert any_of(["fails", "fails"]) == "fails"


def test_point_values_count_hits_and_the_deepest_label():
    import scipy.sparse as sp

    Y = sp.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0]]))
    labels = np.array([[2, 1, 0, 3, -1], [-1, -1, -1, -1, -1]])
    values = point_values(Y, labels, np.array([3, 7, 2, 9]), height=9)
    assert {name: v.tolist() for name, v in values.items()} == {
        "hits1": [1, 0],
        "hits3": [2, 0],
        "hits5": [2, 0],
        "depth1": [2, 9],
        "depth3": [7, 9],
    }
