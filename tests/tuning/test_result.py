"""SweepResult: its forms, its frontier, and damaged files."""

import copy
import csv
import json
import math
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.tuning.result import SweepResult, frontier


def test_the_table_is_the_same_in_every_form(result, tmp_path):
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert frame.to_dict("records") == result.table
    result.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["setting"] for row in rows] == [record["setting"] for record in result.table]
    assert [float(row["p1"]) for row in rows] == [record["p1"] for record in result.table]
    assert json.loads(result.to_json())["table"] == result.table


def test_polars_gets_the_same_table(result):
    pytest.importorskip("polars")
    assert result.to_polars().to_dicts() == result.table


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_without_the_package_the_error_names_it(result, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(lt.errors.MissingExtraError, match=rf"{package}.*pip install"):
        getattr(result, f"to_{package}")()


def test_it_round_trips_through_a_file(result, tmp_path):
    result.save(tmp_path / "result.json")
    loaded = SweepResult.load(tmp_path / "result.json")
    assert (loaded.table, loaded.facts, loaded.details) == (result.table, result.facts, result.details)
    assert repr(loaded) == repr(result)


def test_saved_baselines_come_back(result, tmp_path):
    result.save(tmp_path / "result.json")
    loaded = SweepResult.load(tmp_path / "result.json")
    assert (loaded.baselines, loaded.comparison) == (result.baselines, result.comparison)
    setting = result.table[0]["setting"]
    assert loaded.interval(setting, "p1") == result.interval(setting, "p1")


def test_a_file_of_version_1_has_no_baselines_but_can_be_read_and_saved(tmp_path):
    path = Path(__file__).with_name("result_version_1.json")
    loaded = SweepResult.load(path)
    assert json.loads(path.read_text())["version"] == 1
    assert [record["tradeoff"] for record in loaded.table] == [0, 1]
    assert (loaded.baselines, loaded.comparison) == ([], None)
    assert loaded.interval(loaded.table[0]["setting"], "p1") is None
    assert len(loaded.frontier(x="depth", y="p1")) > 0
    loaded.save(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(path.read_text())


def test_a_file_of_version_2_can_be_read_and_saved(tmp_path):
    path = Path(__file__).with_name("result_version_2.json")
    loaded = SweepResult.load(path)
    assert "weighted_p1" in loaded.table[0]
    assert [record["baseline"] for record in loaded.baselines] == ["popularity", "co-occurrence", "neighbours"]
    loaded.save(tmp_path / "result.json")
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(path.read_text())


def test_repr_says_what_was_swept(result):
    assert repr(result).startswith("SweepResult(24 settings: tradeoff 0 to 2, fanout 2, 8; p1 0.")


def broken(record, change):
    record = copy.deepcopy(record)
    change(record)
    return record


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda r: r.update(format="something"), "not a sweep result"),
        (lambda r: r.update(version=4), "format version 4; this labeltrees reads versions 1 to 3"),
        (lambda r: r.update(version="1"), "format version '1'"),
        (lambda r: r.pop("baselines"), "keys missing or unknown: \\['baselines'\\]"),
        (lambda r: r.update(baselines={}), "baselines is not a list"),
        (lambda r: r["baselines"][0].pop("p1"), "baseline 0: columns missing or unknown"),
        (lambda r: r["baselines"][1].update(p1="much"), "baseline 1: damaged"),
        (lambda r: r["baselines"][1].update(baseline="luck"), "baseline 1: damaged"),
        (lambda r: r["baselines"][1]["intervals"].update(p1=3), "baseline 1: intervals are damaged"),
        (lambda r: r.update(comparison=3), "comparison is not a string"),
        (lambda r: r["table"][0].update(weighted_p1=0.5), "record 0: columns missing or unknown"),
        (lambda r: r.update(more=1), "keys missing or unknown: \\['more'\\]"),
        (lambda r: r.update(table=[]), "the table is empty"),
        (lambda r: r["table"][1].pop("p1"), "record 1: columns missing or unknown: \\['p1'\\]"),
        (lambda r: r["table"][1].update(p1="much"), "record 1: p1 is 'much'"),
        (lambda r: r["table"][1].update(setting=None), "record 1: setting is None"),
        (lambda r: r["table"].append(r["table"][0]), "occurs twice"),
        (lambda r: r.update(chosen="odd"), "chosen setting 'odd' is not in the table"),
        (lambda r: r.update(explanation=3), "explanation is not a string"),
        (lambda r: r["facts"].update(k=[]), "facts.k is not"),
        (lambda r: r["facts"].pop("data"), "facts: data is missing"),
        (lambda r: r["details"]["settings"].clear(), "missing, or not an object"),
    ],
)
def test_a_damaged_file_is_refused_by_name(result, tmp_path, change, fault):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(broken(json.loads(result.to_json()), change)))
    with pytest.raises(lt.errors.FileFormatError, match=f"result.json: .*{fault}"):
        SweepResult.load(path)


def test_a_file_that_is_not_json_is_refused(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("[" * 100_000)
    with pytest.raises(lt.errors.FileFormatError, match="not JSON"):
        SweepResult.load(path)


numbers = st.one_of(st.integers(0, 5), st.floats(0, 5), st.just(math.nan), st.none())
tables = st.lists(st.fixed_dictionaries({"x": numbers, "y": numbers}), max_size=12)


def beats(a, b):
    return a["x"] <= b["x"] and a["y"] >= b["y"] and (a["x"] < b["x"] or a["y"] > b["y"])


@given(tables)
def test_no_other_record_beats_one_on_the_frontier(table):
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
def test_columns_without_a_frontier_are_refused(result, x, y):
    with pytest.raises(lt.errors.InputError, match="must be"):
        result.frontier(x, y)
