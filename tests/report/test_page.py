"""The page, as text and in a real browser: Debian's Chromium, or the one CHROMIUM names."""

import copy
import json
import os
import re
import shutil

import pytest

from labeltrees.report.tables import baseline_rows
from tests.report.conftest import NAME


def test_it_loads_nothing_from_elsewhere(page):
    text = page.read_text()
    head = text[: text.index("<script>")] + text[text.index('<script id="data"') :]
    assert not re.search(r"""(src|href)=(?!"data:)""", head)
    assert "@import" not in text


def test_names_cannot_leave_the_data(page):
    text = page.read_text()
    assert NAME not in text
    assert text.count("</script>") == 3
    start = text.index('type="application/json">') + len('type="application/json">')
    data = json.loads(text[start : text.index("</script>", start)])
    assert NAME in json.dumps(data, ensure_ascii=False)


def test_baselines_and_the_model_are_in_one_table(result):
    table = baseline_rows(result)
    assert [row[0] for row in table["rows"]] == ["chosen model", "popularity", "co-occurrence", "neighbours"]
    assert table["columns"][1] == "P@1 (%)"
    low, high = result.details["settings"][result.chosen]["intervals"]["p1"]
    value = f"{100 * result.record(result.chosen)['p1']:.2f}"
    assert table["rows"][0][1] == [value, f"{100 * low:.1f} to {100 * high:.1f}"]
    assert result.comparison in table["note"]


def find_browser():
    if "LD_PRELOAD" in os.environ:
        pytest.skip("Chromium does not start with a preloaded sanitizer")
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright, which drives the browser, is missing")
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed (apt-get install chromium), so the page is not looked at in a browser")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark"])
def view(browser, page, request):
    """The page, opened offline; whatever it complains of fails the test."""
    context = browser.new_context(color_scheme=request.param, offline=True)
    view = context.new_page()
    complaints = []
    view.on("console", lambda message: complaints.append(message.text))
    view.on("pageerror", lambda error: complaints.append(str(error)))
    view.on("requestfailed", lambda sent: complaints.append(sent.url))
    view.goto(page.as_uri())
    view.wait_for_selector("body[data-ready=yes]")
    yield view
    context.close()
    assert complaints == []


def marked_point(view, chart):
    """Where the ring of a chart is."""
    ring = view.locator(f"#chart-{chart} path[stroke='#e00070'][opacity='1']")
    assert ring.count() == 1
    return ring.get_attribute("transform")


def move_slider(view, place):
    view.locator("#tradeoff").evaluate(
        "(slider, place) => { slider.value = place; slider.dispatchEvent(new Event('input')); }", place
    )
    at = view.locator("#settings tr.at").get_attribute("data-setting")
    view.wait_for_selector(f"body[data-marked='{at}']")
    return at


def column(view, name):
    place = view.locator("#settings th").evaluate_all(
        "(all, name) => all.findIndex(th => th.dataset.column === name)", name
    )
    return [
        float(text.replace(",", ""))
        for text in view.locator(f"#settings tbody td:nth-child({place + 1})").all_inner_texts()
    ]


def test_the_slider_moves_the_point_and_shows_its_setting(view, result):
    depths, times = set(), set()  # figures with the places of their rings: both may be equal for two settings
    for place, tradeoff in enumerate(("0", "0.5", "1", "1.5", "2")):
        setting = move_slider(view, place)
        assert view.locator("#tradeoff-value").inner_text() == tradeoff
        record = result.record(setting)
        depths.add((record["depth1"], record["p1"], marked_point(view, "depth")))
        times.add((record["top1_p50_us"], record["p1"], marked_point(view, "time")))
        assert record["tradeoff"] == float(tradeoff)
        assert f"{100 * record['p1']:.2f}" in view.locator("#figures").inner_text()
        height = result.details["settings"][setting]["height"]
        assert view.locator("#levels tr").count() == 1 + height
        assert view.locator("#top circle").count() > 3
    for seen in (depths, times):
        places = {place for _, _, place in seen}
        assert len(seen) == len(places) > 1


def test_it_starts_at_the_choice_and_shows_its_search(view, result):
    assert view.locator("#settings tr.at").get_attribute("data-setting") == result.chosen
    looks = result.details["settings"][result.chosen]["looks"]
    first = int(view.locator("#example").input_value())
    rights = {answer["right"] for answer in looks[first]["answers"]}
    assert rights == {True, False} or all(len({a["right"] for a in look["answers"]}) == 1 for look in looks)
    view.locator("#example").select_option("2")
    assert view.locator("#example-text").inner_text() == result.details["examples"][2]["text"]
    assert view.locator("#answers tr").count() == 1 + len(looks[2]["answers"])
    assert view.locator("#visits li.visited").count() == looks[2]["chunks"]
    assert view.locator("main b", has_text="bold").count() == 0  # names are text


def test_the_tree_folds_by_mouse_and_keyboard(view):
    def opened():
        root = view.locator("#top g[data-node='0']")
        return root.get_attribute("aria-expanded"), view.locator("#top circle").count()

    before = opened()
    assert before[0] == "true"
    view.locator("#top g[data-node='0']").click()
    assert opened() == ("false", 1)
    view.keyboard.press("Enter")
    assert opened() == before


@pytest.mark.parametrize("width", [390, 1300])
def test_nothing_is_wider_than_the_window(browser, page, width):
    context = browser.new_context(viewport={"width": width, "height": 800})
    view = context.new_page()
    view.goto(page.as_uri())
    view.wait_for_selector("body[data-ready=yes]")
    assert view.evaluate("document.documentElement.scrollWidth") == width
    context.close()


def test_the_decision_comes_first_and_works_without_scripts(page, result):
    text = page.read_text()
    head = text[: text.index("<main>")]
    assert "Chosen: tradeoff" in head
    assert head.count("<tr data-setting=") == 3


def test_the_title_names_the_data(result, monkeypatch):
    pytest.importorskip("altair")
    from labeltrees.report import page as module

    monkeypatch.setattr(module, "_library", lambda: "")
    other = copy.copy(result)
    other.facts = copy.deepcopy(result.facts)
    assert "<h1>320 points, 24 labels</h1>" in module.make_page(other)
    other.data_name = "shops & <b>"
    assert "<title>shops &amp; &lt;b&gt; - labeltrees</title>" in module.make_page(other)
    assert "<h1>other</h1>" in module.make_page(other, "other")


def test_the_table_sorts_both_ways(view, result):
    heading = view.locator("#settings th[data-column=top5_p50_us]")
    for direction, falling in (("ascending", False), ("descending", True)):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        values = column(view, "top5_p50_us")
        assert len(values) == len(result.table)
        assert values == sorted(values, reverse=falling)


def test_a_row_and_a_metric_can_be_picked(view, result):
    other = next(row["setting"] for row in result.table if row["fanout"] != result.record(result.chosen)["fanout"])
    view.locator(f"#settings tr[data-setting='{other}']").click()
    assert view.locator("#curve").input_value() == f"fanout {result.record(other)['fanout']}"
    view.locator("#metric").select_option("ndcg5")
    view.wait_for_function("document.querySelector('#chart-depth').textContent.includes('nDCG@5')")
    assert marked_point(view, "depth")


def test_the_baselines_are_shown(view, result):
    assert view.locator("#baselines tr").count() == 2 + len(result.baselines)
    assert "The best baseline is" in view.locator("#baselines-note").inner_text()


def test_the_summary_is_escaped(result, monkeypatch):
    pytest.importorskip("altair")
    from labeltrees.report import page as module

    monkeypatch.setattr(module, "_library", lambda: "")
    other = copy.copy(result)
    other.explanation = "5 < 6 & <b>bold</b>"
    text = module.make_page(other)
    assert "5 &lt; 6 &amp; &lt;b&gt;bold&lt;/b&gt;" in text
    assert "<b>bold" not in text


def test_every_text_of_the_page_is_escaped(result, monkeypatch):
    pytest.importorskip("altair")
    from labeltrees.report import page as module
    from labeltrees.report.tables import Decision

    decision = Decision("<x>sentence", ["<x>column"], [["<x>row (<x>interval)"]], ["<x>setting"])
    monkeypatch.setattr(module, "_library", lambda: "")
    monkeypatch.setattr(module, "decide", lambda result: decision)
    monkeypatch.setattr(module, "_summary", lambda result: "<x>summary")
    text = module.make_page(result, title="<x>title")
    for name in ("sentence", "column", "row", "interval", "setting", "summary", "title"):
        assert f"&lt;x&gt;{name}" in text
    assert "<x>" not in text
