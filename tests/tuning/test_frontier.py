"""The non-dominated records, against comparing all pairs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.tuning.frontier import frontier

numbers = st.one_of(st.integers(0, 5), st.floats(0, 5), st.just(math.nan), st.none())
tables = st.lists(st.fixed_dictionaries({"x": numbers, "y": numbers}), max_size=12)


def beats(a, b):
    return a["x"] <= b["x"] and a["y"] >= b["y"] and (a["x"] < b["x"] or a["y"] > b["y"])


@given(tables)
def test_it_is_what_no_other_record_beats(table):
    table = [{**record, "place": place} for place, record in enumerate(table)]
    known = [row for row in table if all(row[key] is not None and not math.isnan(row[key]) for key in "xy")]
    expected = {row["place"] for row in known if not any(beats(other, row) for other in known)}
    found = frontier(table, "x", "y")
    assert {row["place"] for row in found} == expected
    assert len(found) == len(expected)
    assert [row["x"] for row in found] == sorted(row["x"] for row in found)


def test_time_and_depth_mean_those_of_the_metrics_k(result):
    assert result.frontier("time", "p1") == result.frontier("top1_p50_us", "p1")
    assert result.frontier("time", "p3") == result.frontier("top5_p50_us", "p3")
    assert result.frontier("depth", "ndcg3") == result.frontier("depth3", "ndcg3")


@pytest.mark.parametrize(("x", "y"), [("odd", "p1"), ("p3", "p1"), ("time", "depth1"), ("time", "p2"), ("cover", "p1")])
def test_columns_that_make_no_frontier_are_refused(result, x, y):
    with pytest.raises(lt.InputError, match="must be"):
        result.frontier(x, y)
