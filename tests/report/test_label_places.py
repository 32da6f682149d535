"""Names beside points: none covers a point or another name."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from labeltrees.report.label_places import Box, place_labels

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
