"""Times of any form that logs have."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees.errors import InputError
from labeltrees.logs.settings import parse_length, parse_moment
from labeltrees.logs.times import time_expression


def read(times, time_format="auto"):
    frame = pl.LazyFrame({"time": times})
    return frame.select(time_expression(frame, time_format)).collect()["time"].to_list()


EXPECTED = dt.datetime(2011, 9, 4, 8, 26)
LATER = "31.12.2011 00:00"  # shows which number is the day


@pytest.mark.parametrize(
    "text",
    [
        "2011-09-04 08:26:00",
        "2011-09-04T08:26:00",
        "2011-09-04T08:26Z",
        "2011-09-04 08:26 UTC",
        "2011-09-04T10:26:00+02:00",
        "2011-09-04T03:56:00.000-0430",
        "2011/9/4 8:26",
        " 2011-09-04 08:26:00.000000 ",
        "4/9/2011 8:26",
        "04.09.2011 08:26:00",
        "04-09-2011 08:26",
        "4/9/11 8:26 AM",
        "1315124760",
        "1315124760000",
        "1315124760000000",
        "1315124760000000000",
        "1315124760.0",
    ],
)
def test_forms_that_are_known(text):
    # A column may mix its forms: one date shows for all of them that the day comes first.
    assert read([text, LATER, None, "", "rubbish"]) == [EXPECTED, dt.datetime(2011, 12, 31), None, None, None]


@pytest.mark.parametrize("text", ["9/4/2011 8:26", "09-04-2011 08:26", "9/4/11 8:26 am"])
def test_the_month_may_come_first(text):
    assert read([text, "12/31/2011 8:26 PM"]) == [EXPECTED, dt.datetime(2011, 12, 31, 20, 26)]


@pytest.mark.parametrize(("text", "hour"), [("12:30 AM", 0), ("12:30 PM", 12), ("1:30 PM", 13), ("23:30", 23)])
def test_hours_of_twelve_and_of_twenty_four(text, hour):
    assert read([f"31/1/2011 {text}"]) == [dt.datetime(2011, 1, 31, hour, 30)]


def test_dates_without_a_clock():
    assert read(["2011-09-04", "20110904", "4/9/2011", "31/1/2011"])[:3] == [dt.datetime(2011, 9, 4)] * 3


@pytest.mark.parametrize("text", ["2011-02-31", "2011-13-01", "31/2/2011", "2011-01-01 25:00", "2011-01-01 10:61"])
def test_dates_that_do_not_exist_are_not_understood(text):
    assert read([text, "2011-01-01", "31/1/2011"])[0] is None


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["1/2/2011", "3/4/2011"], r"'1/2/2011' could have the day or the month first: give time_format"),
        (["13/2/2011", "3/14/2011"], r"some times in the log have the day first, others the month"),
        (["soon", "later"], r"the format of the times is unknown \(the first is 'soon'\): give time_format"),
    ],
)
def test_ambiguous_formats_are_refused(times, message):
    with pytest.raises(InputError, match=message):
        read(times)


def test_a_format_may_be_given():
    assert read(["1/2/2011", "x"], "%d/%m/%Y") == [dt.datetime(2011, 2, 1), None]
    assert read(["1/2/2011 08:26"], "%m/%d/%Y %H:%M") == [dt.datetime(2011, 1, 2, 8, 26)]
    assert read(["2011-01-02 08:26 +0200"], "%Y-%m-%d %H:%M %z") == [dt.datetime(2011, 1, 2, 6, 26)]
    with pytest.raises(InputError, match=r"no time in the log has the format '%Y-%m-%d'; the first is '1/2/2011'"):
        read(["1/2/2011"], "%Y-%m-%d")


def test_columns_that_hold_times_or_numbers_already():
    zoned = pl.Series([EXPECTED]).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin")
    assert read(zoned) == [EXPECTED]
    assert read([EXPECTED, None]) == [EXPECTED, None]
    assert read([dt.date(2011, 9, 4)]) == [dt.datetime(2011, 9, 4)]
    assert read([1315124760, None]) == [EXPECTED, None]
    assert read([1315124760000]) == [EXPECTED]
    assert read([1315124760.0, float("nan"), float("inf")]) == [EXPECTED, None, None]
    with pytest.raises(InputError, match="the time column must hold texts, numbers or times, not Boolean"):
        read([True])


@given(st.datetimes(dt.datetime(1971, 1, 1), dt.datetime(2100, 1, 1)))
def test_written_times_read_back(moment):
    whole = moment.replace(microsecond=0)
    day_first = f"{whole:%d/%m/%Y %H:%M:%S}"
    assert read([moment.isoformat(), day_first, "31/1/2000"])[:2] == [moment, whole]


def test_moments_of_options():
    assert parse_moment("since", "2011-09-04T10:26+02:00") == EXPECTED
    assert parse_moment("since", dt.date(2011, 9, 4)) == dt.datetime(2011, 9, 4)
    assert parse_moment("since", EXPECTED) == EXPECTED
    assert parse_moment("since", None) is None
    assert parse_length("period", "36h") == dt.timedelta(hours=36)
    assert parse_length("period", "2y") == dt.timedelta(days=730)
