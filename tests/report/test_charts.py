"""Places for names in charts, and smooth trends."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.report.charts import Box, place_labels, smooth, trends

WIDTH, HEIGHT, RADIUS = 300.0, 200.0, 4.0
places = st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT))


@given(st.lists(places, min_size=1, max_size=25), st.integers(1, 6))
def test_names_do_not_overlap(points, length):
    texts = ["8" * length] * len(points)
    found = place_labels(points, [RADIUS] * len(points), texts, [len(points) - 1], WIDTH, HEIGHT)
    half, line = length * 6.2 / 2, 12 / 2
    boxes = {
        i: Box(x - half, y - line, x + half, y + line) for i, (x, y) in enumerate(p or (-1e9, -1e9) for p in found)
    }
    boxes = {i: box for i, box in boxes.items() if found[i] is not None}
    for one, other in combinations(boxes.values(), 2):
        assert not one.overlaps(other)
    for index, box in boxes.items():
        assert 0 <= box.left < box.right <= WIDTH
        assert 0 <= box.top < box.bottom <= HEIGHT
        for other, (x, y) in enumerate(points):
            if other != index:
                assert not box.overlaps(Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS))


def test_the_first_ones_are_placed_first():
    points = [(50.0, 50.0)] * 12
    found = place_labels(points, [RADIUS] * 12, ["12345678"] * 12, [7], 100, 100)
    assert found[7] is not None
    assert found.count(None) > 0


def test_it_is_the_weighted_line_around_each_place():
    rng = np.random.default_rng(0)
    positions, values = np.sort(rng.random(9)) * 2, rng.random(9)
    at = np.array([0.1, 0.9, 2.0])
    width = 0.2 * np.ptp(positions)
    expected = []
    for place in at:
        weights = np.exp(-0.25 * ((positions - place) / width) ** 2)  # polyfit squares them
        expected.append(np.polyval(np.polyfit(positions, values, 1, w=weights), place))
    assert smooth(positions, values, at) == pytest.approx(expected)


def test_noise_is_reduced():
    rng = np.random.default_rng(1)
    positions = np.linspace(0, 2, 9)
    truth = 80 - positions
    error = [np.abs(smooth(positions, truth + rng.normal(size=9), positions) - truth).mean() for _ in range(200)]
    noise = np.sqrt(2 / np.pi)  # the mean distance of the noise itself
    assert np.mean(error) < 0.75 * noise


def test_one_curve_per_series_and_none_through_one_point():
    rows = [{"series": "a", "tradeoff": t, "x": 1 + t, "y": 2 * t} for t in (0, 1, 2)]
    rows += [{"series": "b", "tradeoff": 0, "x": 1, "y": 1}, {"series": "b", "tradeoff": 1, "x": 1, "y": None}]
    found = trends(rows)
    assert {row["series"] for row in found} == {"a"}
    assert [row["x"] for row in found] == pytest.approx([1 + row["tradeoff"] for row in found])
