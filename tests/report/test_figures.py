"""The charts: what data they hold, and that they draw."""

import copy
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import labeltrees as lt
from labeltrees.report.charts import save
from labeltrees.report.figures import NAMES
from labeltrees.report.page import write_figures
from labeltrees.tuning.result import SweepResult

pytest.importorskip("altair")


def rows_of(chart):
    return chart.to_dict()["data"]["values"]


def test_the_curves_hold_every_setting_the_frontier_and_the_choice(result):
    for name, x, column in (("precision_depth", "depth", "depth1"), ("precision_time", "time", "top1_p50_us")):
        rows = rows_of(result.figure(name))
        assert [row["setting"] for row in rows] == [record["setting"] for record in result.table]
        assert [row["x"] for row in rows] == [record[column] for record in result.table]
        assert [row["y"] for row in rows] == pytest.approx([100 * record["p1"] for record in result.table])
        best = {record["setting"] for record in result.frontier(x, "p1")}
        assert {row["setting"] for row in rows if row["frontier"]} == best
        assert [row["setting"] for row in rows if row["note"]] == [result.chosen]


@pytest.mark.parametrize(("value", "is_drawn"), [(-0.5, False), (0.5, True), (1.5, True)])
def test_the_best_baseline_is_a_line_unless_it_is_far_below(result, value, is_drawn):
    intervals = [bound for row in result.table for bound in result.interval(row["setting"], "p1")]
    low, high = min(intervals), max(intervals)
    reached = low + (value if is_drawn else -2) * (high - low)
    others = copy.copy(result)
    others.baselines = [{"baseline": "popularity", "p1": reached - 1}, {"baseline": "neighbours", "p1": reached}]
    spec = others.figure("precision_time").to_dict()
    rules = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rule" and "data" in layer]
    assert len(rules) == is_drawn
    assert spec["title"]["subtitle"][-1].startswith(f"best baseline: neighbours, {100 * reached:.2f} %")
    assert ("below this chart" in spec["title"]["subtitle"][-1]) is not is_drawn
    if is_drawn:
        assert rules[0]["data"]["values"][0]["y"] == pytest.approx(100 * reached)
        bottom, top = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
        assert bottom < 100 * reached < top


def test_a_result_of_version_1_has_charts_without_baselines():
    path = Path(__file__).parent.parent / "tuning" / "result_version_1.json"
    chart = SweepResult.load(path).figure("precision_depth").to_dict()
    assert len(chart["title"]["subtitle"]) == 1
    assert all(row["low"] == row["y"] == row["high"] for row in rows_of(chart_of_dict(chart)))  # it has no intervals


def chart_of_dict(chart):
    return SimpleNamespace(to_dict=lambda: chart)


def test_points_have_their_intervals_and_names(result):
    for row in rows_of(result.figure("precision_time")):
        low, high = result.interval(row["setting"], "p1")
        assert (row["low"], row["high"]) == pytest.approx((100 * low, 100 * high))
        is_chosen = row["setting"] == result.chosen
        assert row["name"] == ("chosen: " if is_chosen else "") + f"{row['tradeoff']:g}"


def test_the_levels_are_those_of_the_chosen_curve(result):
    rows = rows_of(result.figure("depths"))
    fanout = result.record(result.chosen)["fanout"]
    for tradeoff in (0, 0.5, 1, 1.5, 2):
        found = [row["value"] for row in rows if row["tradeoff"] == f"{tradeoff:g}"]
        details = result.details["settings"][f"tradeoff-{tradeoff:g}_fanout-{fanout}_marginal_weighted"]
        assert found == details["labels_per_depth"][1:]
        assert sum(found) == 24
    mass = [row["value"] for row in rows_of(result.figure("mass")) if row["tradeoff"] == "2"]
    assert sum(mass) == pytest.approx(100)


def test_every_figure_is_written_as_png_svg_and_pdf(result, tmp_path):
    written = write_figures(result, tmp_path / "figures")
    more = [f"{name}_p{k}" for name in NAMES[:2] for k in result.ks[1:]]
    assert {path.name for path in written} == {f"{n}.{e}" for n in (*NAMES, *more) for e in ("png", "svg", "pdf")}
    assert all(path.stat().st_size > 1000 for path in written)


def test_the_points_against_depth_are_joined_in_the_order_of_tradeoffs(result):
    lines = [layer for layer in result.figure("precision_depth").to_dict()["layer"] if layer["mark"]["type"] == "line"]
    drawn = lines[0]["data"]["values"]
    for series in {row["series"] for row in drawn}:
        tradeoffs = [row["tradeoff"] for row in drawn if row["series"] == series]
        assert tradeoffs == sorted(tradeoffs)
    assert {(row["x"], row["y"]) for row in drawn} == {(row["depth1"], 100 * row["p1"]) for row in result.table}


def test_a_chart_saves_itself_as_a_page_without_links(result, tmp_path):
    save(result.figure("served"), tmp_path / "served.html")
    text = (tmp_path / "served.html").read_text()
    assert "<script src=" not in text
    assert "at least one label" in text


def test_the_same_result_gives_the_same_chart(result):
    first, second = (json.dumps(result.figure("precision_time").to_dict()) for _ in range(2))
    assert first == second


def test_an_unknown_figure_is_refused(result):
    with pytest.raises(lt.errors.InputError, match="name must be one of 'precision_depth'"):
        result.figure("odd")


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra_the_error_names_it(result, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(lt.errors.MissingExtraError, match=r"pip install labeltrees\[plots\]"):
        result.figure("served")
    with pytest.raises(lt.errors.MissingExtraError, match=r"pip install labeltrees\[plots\]"):
        result.report(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
