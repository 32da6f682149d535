import datetime as dt
import inspect

import polars as pl
import pytest

import labeltrees as lt
from labeltrees.errors import InputError
from labeltrees.logs.settings import LogSettings


@pytest.mark.parametrize(
    ("given", "features"),
    [
        ({}, "words"),
        ({"feature_column": "title"}, "column"),
        ({"history_before": "2020-01-01"}, "history"),
        ({"features": "words"}, "words"),
    ],
)
def test_features_follow_from_the_other_settings(given, features):
    assert LogSettings(**given).checked().features == features


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"context": ""}, "context must be a text"),
        ({"weight": 3}, "weight must be a text"),
        ({"separator": ";;"}, "separator must be one character"),
        ({"encoding": "latin-99"}, "encoding must be the name of an encoding"),
        ({"features": "numbers"}, "features must be one of"),
        ({"features": "history"}, "features='history' needs history_before"),
        ({"drop_duplicates": 1}, "drop_duplicates must be True or False"),
        ({"test_share": 1.0}, "test_share must be a number"),
        ({"random_state": -1}, "random_state must be"),
        ({"since": "2020-01-02", "until": "2020-01-01"}, "must be before until"),
        ({"since": "2020-01-02", "until": "2020-01-03", "period": "1d"}, "at most two of"),
        ({"feature_separator": ","}, "feature_separator needs feature_column"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        LogSettings(**given).checked()


def test_settings_are_written_as_json_values():
    written = LogSettings(since="2020-01-02", period="36h").checked().to_json()
    assert written["since"] == dt.datetime(2020, 1, 2).isoformat()
    assert written["period"] == str(dt.timedelta(hours=36))


def test_arguments_that_are_gone_name_the_new_way():
    events = pl.DataFrame({"context": ["a b"], "item": ["x"]})
    for name, value, way in (
        ("context", "query", r"columns=Columns\(context=...\)"),
        ("session_gap", "1d", r"columns=Columns\(session_gap=...\)"),
        ("since", "2020-01-01", r"period=\(start, end\)"),
        ("vectorizer", None, "features=vectorizer"),
        ("resume_folder", "work", "work_folder"),
        ("points_per_part", 5, r"parts=\(folder, points_per_part\)"),
    ):
        with pytest.raises(InputError, match=f"prepare_logs has no argument {name} any more: {way}"):
            lt.prepare_logs(events, **{name: value})


def test_columns_may_be_a_dict():
    events = pl.DataFrame({"who": ["ann", "ann", "bob", "bob"], "item": list("xyxz")})
    train = lt.prepare_logs(events, {"context": "who"}, features=("basket", 1), test_share=0).train
    assert train.n_points == 2
    with pytest.raises(InputError, match="columns must be a dict with keys among context, item"):
        lt.prepare_logs(events, {"contexts": "who"})
    with pytest.raises(InputError, match=r"columns must be Columns\(context=..., item=..., ...\), got 'who'"):
        lt.prepare_logs(events, "who")


def test_prepare_logs_has_few_arguments():
    assert len(inspect.signature(lt.prepare_logs).parameters) <= 18
