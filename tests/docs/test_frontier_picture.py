"""The picture of the README: its points come from the benchmark, and its files are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binomtest

from scripts import make_frontier_picture as script

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
TEXT = """
## small: 10 points

1,000 queries of 3 nonzeros on average

| ours: tradeoff 1 | exact | 80.00 / 70.00 / 60.00 | 5.00 | 3.00 | 4.0 | 9.0 |  |
| ours: tradeoff 2 | exact | 79.00 / 70.00 / 60.00 | 5.00 | 3.00 | 5.0 | 9.0 |  |
| ours: tradeoff 3 | exact | 81.00 / 70.00 / 60.00 | 5.00 | 3.00 | 6.0 | 9.0 |  |
| PECOS 2-way | beam 1 | 78.00 / 70.00 / 60.00 | 50.00 |  | 40.0 | 90.0 |  |

## other: 10 points
"""


def test_points_are_read_and_those_that_another_beats_are_left_out() -> None:
    points, n = script.read_points(TEXT, "small")
    assert n == 1000
    assert [(point.time, point.value) for point in points["ours"]] == [(4, 80), (6, 81)]
    assert [(point.time, point.value) for point in points["PECOS"]] == [(40, 78)]


@pytest.mark.parametrize(("right", "n"), [(0, 10), (70, 100), (3133, 4091)])
def test_intervals_are_those_of_scipy(right: int, n: int) -> None:
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert script.wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-7)


def test_the_arrow_compares_with_the_fastest_peer_that_is_nearly_the_best() -> None:
    at = {"ours": [(5, 70.0), (6, 76.9), (7, 77.5)], "PECOS": [(100, 74.0), (200, 76.5)], "napkinXC": [(400, 76.8)]}
    points = {name: [script.Point(time, p, p - 1, p + 1) for time, p in values] for name, values in at.items()}
    pair = script.speed_up(script.Panel(0, 0, 100, 100, points))
    assert pair is not None
    assert [point.time for point in pair] == [6, 200]


def test_the_files_are_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["make_frontier_picture.py", str(tmp_path)])
    script.main()
    made = sorted(tmp_path.iterdir())
    assert len(made) == 4
    for path in made:
        assert path.read_text() == (PICTURES / path.name).read_text(), "run python scripts/make_frontier_picture.py"
