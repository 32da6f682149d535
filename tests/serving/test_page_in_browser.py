"""The page in a real browser: typing, sliders, the tree, errors. LABELTREES_AXE can name axe.min.js of axe-core."""

import os
from pathlib import Path

import pytest

import labeltrees as lt
from tests.report.test_page import find_browser
from tests.serving.conftest import make_texts


@pytest.fixture(scope="module")
def two_tradeoffs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page") / "fruit"
    lt.sweep(make_texts(), make_texts(900, seed=1), tradeoffs=[0, 2], fanouts=[3], k=(1,), folder=folder)
    for own in (folder / "models").iterdir():  # a sweep saves models that take features
        tradeoff = lt.load(own).tradeoff
        model = lt.LabelTreeClassifier(tradeoff=tradeoff, fanout=3, n_jobs=1).fit(*make_texts())
        model.calibrate(*make_texts(900, seed=1)).save(own)
    return folder


@pytest.fixture(scope="module")
def page_server(start_server, two_tradeoffs):
    return start_server(two_tradeoffs, 1)


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
def view(browser, page_server, request):
    """The page; whatever it complains of fails the test, unless the test clears `problems`."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 390, "height": 800})
    context.route(lambda url: not url.startswith((page_server.url, "data:")), lambda route: route.abort())
    view = context.new_page()
    view.problems = []
    view.on("console", lambda message: view.problems.append(message.text))
    view.on("pageerror", lambda error: view.problems.append(str(error)))
    view.goto(page_server.url)
    view.wait_for_selector("#answers li")
    yield view
    context.close()
    assert view.problems == []


def type_text(view, text):
    with view.expect_response("**/predict"):
        view.fill("#text", text)
    view.wait_for_function("() => document.querySelectorAll('#answers li').length > 0")


def test_labels_and_the_tree_follow_what_is_typed_and_chosen(view):
    type_text(view, "red red apple")
    view.wait_for_function("() => document.querySelector('#answers .name').textContent.match(/is-(red|apple)/)")
    assert "microseconds" in view.inner_text("#summary")
    assert "nodes were opened" in view.inner_text("#tree-summary")
    nodes = view.locator(".tree .node")
    assert nodes.count() >= 2
    nodes.nth(1).hover()
    assert "labels below" in view.inner_text("#node-details")
    nodes.first.focus()
    view.keyboard.press("ArrowRight")
    assert view.inner_text("#node-details").startswith("Node 2 in order of opening")
    with view.expect_response("**/predict"):
        view.locator("#tradeoff").focus()
        view.keyboard.press("End")
    assert view.inner_text("#tradeoff-value") == "2"
    with view.expect_request(lambda request: '"beam":1' in (request.post_data or "")):
        view.locator("#beam").focus()
        view.keyboard.press("Home")
    with view.expect_request(lambda request: '"agreement":0.8' in (request.post_data or "")):
        view.locator("#agreement").focus()
        view.keyboard.press("ArrowRight")
    width = view.evaluate("document.documentElement.scrollWidth")
    assert width <= 390  # nothing is wider than a phone


def test_examples_are_words_of_the_model(view, page_server):
    known = {word for text in make_texts()[0] for word in text.split()}
    examples = view.locator("#examples button").all_inner_texts()
    assert examples
    assert set(" ".join(examples).split()) <= known
    assert view.input_value("#text") == examples[0]
    with view.expect_response("**/predict"):
        view.locator("#examples button").last.click()
    assert view.input_value("#text") == examples[-1]
    type_text(view, "red apple")
    with view.expect_response("**/predict"):
        view.locator("#tradeoff").focus()
        view.keyboard.press("ArrowRight")
    assert view.input_value("#text") == "red apple"  # what was typed stays


def test_items_are_picked_and_removed(browser, start_server, item_model, tmp_path):
    item_model.save(tmp_path / "shop.model")
    server = start_server(tmp_path / "shop.model", 1)
    view = browser.new_page(viewport={"width": 390, "height": 800})
    problems = []
    view.on("console", lambda message: problems.append(message.text))
    view.goto(server.url)
    view.wait_for_selector("#column-items")
    with view.expect_response("**/items"):
        view.locator("#column-items").press_sequentially("m")
    view.wait_for_selector("datalist option", state="attached")
    assert view.locator("datalist option").evaluate_all("all => all.map(one => one.value)") == ["milk", "jam"]
    for item in ("bread", "milk"):
        with view.expect_request(lambda request, item=item: f'"{item}"]' in (request.post_data or "")):
            view.fill("#column-items", item)
            view.keyboard.press("Enter")
    with view.expect_request(lambda request: '"items":["milk"]' in (request.post_data or "")):
        view.get_by_role("button", name="Remove bread").click()
    assert view.evaluate("document.activeElement.id") == "column-items"
    view.close()
    server.stop()
    assert problems == []


def test_an_error_of_the_server_is_shown_and_goes_away(view):
    view.route("**/predict", lambda route: route.fulfill(status=503, body='{"error": "the model is being loaded"}'))
    view.fill("#text", "pear")
    view.wait_for_selector("#problem:not([hidden])")
    assert view.inner_text("#problem") == "the model is being loaded"
    view.unroute("**/predict")
    type_text(view, "pear tree")
    view.wait_for_selector("#problem", state="hidden")
    view.problems.clear()  # the browser itself reports the status 503


def test_the_description_of_the_api_is_shown(view, page_server):
    view.goto(f"{page_server.url}/docs")
    view.wait_for_selector("#PredictRequest")
    assert "curl" in view.inner_text("main")
    assert "agreement" in view.inner_text("#PredictRequest")
    view.fill("#try-body", '{"text": "red apple", "k": 1}')
    view.click("#try button")
    view.wait_for_function("() => document.querySelector('#try-answer').textContent.includes('labels')")
    assert "is-" in view.inner_text("#try-answer")


@pytest.mark.skipif("LABELTREES_AXE" not in os.environ, reason="LABELTREES_AXE does not name axe.min.js")
@pytest.mark.parametrize("path", ["/", "/docs"])
def test_axe_finds_no_serious_fault(view, page_server, path):
    view.goto(page_server.url + path)
    view.wait_for_selector("#PredictRequest" if path == "/docs" else ".tree .node")
    view.evaluate(Path(os.environ["LABELTREES_AXE"]).read_text() + "; undefined")
    found = view.evaluate("axe.run().then(result => result.violations)")
    serious = [
        (fault["id"], [node["html"] for node in fault["nodes"]])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_a_threshold_leaves_out_what_is_less_probable(view):
    type_text(view, "red red apple")
    n_before = view.locator("#answers li").count()
    with view.expect_request(lambda request: '"threshold":1' in (request.post_data or "")):
        view.locator("#threshold").focus()
        view.keyboard.press("End")
    view.wait_for_function(f"() => document.querySelectorAll('#answers li').length < {n_before}")
    assert view.inner_text("#threshold-value") == "100 %"


def test_why_colours_the_words_that_speak_for_a_label(view):
    type_text(view, "red red apple")
    view.wait_for_function("() => document.querySelector('#answers .name').textContent.match(/is-(red|apple)/)")
    with view.expect_response("**/explain"):
        view.locator("#answers .why").first.click()
    view.wait_for_selector(".reasons mark")
    assert view.inner_text(".reasons") == "red red apple"
    label = view.inner_text("#answers .name >> nth=0").split("\n")[0].removeprefix("is-")
    strongest = view.locator(".reasons mark.for[data-strength='4']").first
    assert strongest.inner_text() == label
    view.locator("#answers .why").first.click()
    assert view.locator(".reasons").count() == 0
