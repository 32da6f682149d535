"""The decision: three settings, found by brute force."""

import copy

import pytest

from labeltrees.report.page import first_example
from labeltrees.report.tables import decide


def test_the_rows_are_the_fastest_the_chosen_and_the_most_precise(result):
    decision = decide(result)
    times = {row["setting"]: row["top5_p50_us"] for row in result.table}
    precise = {row["setting"]: row["p1"] for row in result.table}
    assert [row[0].partition(" (")[0] for row in decision.rows] == ["fastest", "chosen", "most precise"]
    fastest, chosen, best = decision.settings
    assert times[fastest] == min(times.values())
    assert chosen == result.chosen
    assert precise[best] == max(precise.values())
    record = result.record(chosen)
    assert decision.sentence.startswith(f"Chosen: tradeoff {record['tradeoff']:g}, fanout {record['fanout']}. ")
    assert f"P@1 {100 * record['p1']:.2f} %" in decision.sentence
    assert f"{record['top5_p50_us']:.1f} µs per call" in decision.sentence


def test_without_a_choice_it_is_the_fastest_that_is_not_clearly_worse(result):
    other = copy.copy(result)
    other.chosen = None
    highest = max(row["p1"] for row in other.table)
    like = [row for row in other.table if other.interval(row["setting"], "p1")[1] >= highest]
    decision = decide(other)
    assert decision.rows[1][0].startswith("compromise (tradeoff ")
    assert decision.settings[1] == min(like, key=lambda row: row["top5_p50_us"])["setting"]
    assert decision.sentence.startswith("No setting was chosen.")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [([[True, True], [False], [True, False]], 2), ([[True], [False]], 0), ([[False, True], [True, False]], 0)],
)
def test_the_first_example_has_something_right_and_something_wrong(result, answers, expected):
    other = copy.copy(result)
    looks = [{"answers": [{"right": right} for right in rights]} for rights in answers]
    other.details = {"settings": {"a": {"looks": looks}}}
    assert first_example(other, "a") == expected
