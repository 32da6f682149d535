"""Claims judged on made-up curves: one that must hold, one that must fail, and one that must stay undecided."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.paper.claims import (
    curve_claim,
    depth_claim,
    imbalance_claim,
    least_depth,
    small_tradeoff_claim,
    text_claim,
)
from benchmarks.paper.curves import Collected, make_curve

TRADEOFFS = [0.0, 1.0, 1.5, 2.0]
DEPTHS = [10.0, 8.0, 6.0, 5.0]


def made_curve(precision, depths=DEPTHS, noise=0.0, n_points=10_000, tradeoffs=TRADEOFFS, seeds=3, rng=1):
    """Return a curve with these precisions (percent, at 1 and 3); noise is the spread between groups in points."""
    rng = np.random.default_rng(rng)
    rows = []
    for _ in range(seeds):
        row = []
        for p, depth in zip(precision, depths, strict=True):
            n = n_points // 100
            shares = np.clip(p / 100 + rng.normal(0, noise / 100, 100), 0, 1)
            row.append({"weights": [n] * 100, "depth1": [n * depth] * 100, "depth3": [n * depth] * 100})
            row[-1] |= {f"hits{k}": (n * k * shares).tolist() for k in (1, 3, 5)}
        rows.append(row)
    return make_curve(rows, list(tradeoffs), list(range(seeds)))


def found(validation=None, **test):
    return Collected(test, validation)


def test_depth_claim_holds_where_precision_is_kept_and_depth_falls():
    curve = made_curve([60, 60.2, 60.1, 50])
    finding = depth_claim("made", found(curve, marginal=curve))
    assert finding.verdict == "holds"
    assert finding.note == "tradeoff 1.5"
    assert finding.estimates["depth@1, %"].value == pytest.approx(-40)
    assert finding.estimates["depth@1 without the edge to the label, %"].value == pytest.approx(100 * (5 / 9 - 1))


def test_depth_claim_fails_where_test_points_lose_precision():
    finding = depth_claim("made", found(made_curve([60, 60.2, 60.1, 50]), marginal=made_curve([60, 59, 57, 50])))
    assert finding.verdict == "fails"
    assert finding.note == "tradeoff 1.5"  # selected on validation, not on test


def test_depth_claim_fails_where_only_tradeoff_0_keeps_precision():
    curve = made_curve([60, 59, 58, 50])
    assert depth_claim("made", found(curve, marginal=curve)).verdict == "fails"


def test_depth_claim_fails_where_depth_falls_too_little():
    curve = made_curve([60, 61, 61, 61], depths=[10, 9.9, 9.8, 9.7])
    assert depth_claim("made", found(curve, marginal=curve)).verdict == "fails"


def test_depth_claim_is_undecided_with_few_noisy_points():
    curve = made_curve([60, 60, 60, 60], noise=20, n_points=1000)
    validation = made_curve([60, 60.2, 60.1, 50])
    assert depth_claim("made", found(validation, marginal=curve)).verdict == "undecided"


def test_a_claim_is_undecided_with_fewer_than_three_seeds():
    curve = made_curve([60, 60.2, 60.1, 50], seeds=2)
    assert depth_claim("made", found(curve, marginal=curve)).verdict == "undecided"


def test_the_selected_tradeoff_has_the_least_depth_of_those_that_keep_precision():
    assert least_depth(made_curve([60, 61, 60, 59.4]), "p1", "depth1") == 1.5
    assert least_depth(made_curve([60, 61, 60, 59.6]), "p1", "depth1") == 2.0  # within the margin of the verdict
    assert least_depth(made_curve([60, 60, 60, 60], depths=[5, 4, 6, 7]), "p1", "depth1") == 1.0


@pytest.mark.parametrize(("gain", "verdict"), [(1.0, "holds"), (-1.0, "fails")])
def test_small_tradeoffs_are_judged_by_the_sign_of_the_gain(gain, verdict):
    curve = made_curve([60, 60 + gain, 60, 60])
    assert small_tradeoff_claim("made", found(curve, marginal=curve)).verdict == verdict


def test_a_curve_shifted_along_its_depths_is_not_worse():
    """At equal tradeoff the greedy curve has 2 points less; at equal depth both are the same line."""
    marginal = made_curve([60, 58, 56, 55], depths=[10, 8, 6, 5])
    greedy = made_curve([60, 56, 55.5, 55], depths=[10, 6, 5.5, 5])
    finding = curve_claim("greedy cover", "made", found(marginal=marginal, greedy=greedy))
    assert finding.verdict == "fails"
    for estimate in finding.estimates.values():
        assert estimate.value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("precision", "noise", "worse", "coincide"),
    [
        ([60, 58, 56, 55], 0, "holds", "fails"),
        ([60, 60, 60, 60], 0, "fails", "holds"),
        ([60, 60, 60, 60], 40, "undecided", "undecided"),
    ],
)
def test_a_path_is_worse_or_coincides_by_its_interval(precision, noise, worse, coincide):
    weighted = made_curve([60, 60, 60, 60], noise=noise)
    direct = made_curve(precision, noise=noise, rng=2)
    curves = found(marginal=weighted, direct=direct, greedy=weighted)
    curves.test["direct, greedy"] = direct
    assert curve_claim("direct path", "made", curves).verdict == worse
    assert curve_claim("coincide", "made", curves).verdict == coincide


def test_a_variant_with_more_depth_at_3_is_worse():
    marginal = made_curve([60] * 4)
    greedy = made_curve([60] * 4)
    greedy.values["depth3"] = greedy.values["depth3"] * 1.2
    finding = curve_claim("greedy cover", "made", found(marginal=marginal, greedy=greedy))
    assert finding.verdict == "holds"
    assert finding.estimates["depth@3 at equal depth@1, %"].value == pytest.approx(20)


def test_curves_without_common_depths_are_undecided():
    curves = found(marginal=made_curve([60] * 4), greedy=made_curve([50] * 4, depths=[10, 20, 30, 40]))
    finding = curve_claim("greedy cover", "made", curves)
    assert finding.verdict == "undecided"
    assert "depths" in finding.note


@pytest.mark.parametrize(("share", "verdict"), [(0.6, "holds"), (0.4, "fails"), (0.505, "undecided")])
def test_imbalance_is_judged_by_wilsons_interval(share, verdict):
    record = {"dataset": "made", "n_labels": 250, "n_points": 1000, "top_percent": share}
    (finding,) = imbalance_claim([record])
    assert finding.verdict == verdict
    assert finding.note == "3 of 250 labels"


def test_the_text_claim_uses_the_tradeoff_that_validation_selected():
    depth = {"huffman": 10.0, "ours": 11.0, "difference": 1.0, "low": 0.5, "high": 1.5}
    common = {
        "kind": "comparison",
        "dataset": "made",
        "tradeoff": 1.0,
        "epochs": 5,
        "seeds": [0, 1, 2],
        "depth1": depth,
    }
    good = {"huffman": 50.0, "difference": 5.0, "low": 4.0, "high": 6.0}
    bad = {"huffman": 50.0, "difference": -5.0, "low": -6.0, "high": -4.0}
    records = [
        common | {"p1": good, "selected_on_validation": False},
        common | {"p1": bad, "selected_on_validation": True},
    ]
    (finding,) = text_claim([{"dataset": "made", "p1": 50}, *records])
    assert finding.verdict == "fails"
    assert finding.estimates["P@1, relative %"].value == pytest.approx(-10)
    assert finding.estimates["depth@1, %"].value == pytest.approx(10)
