"""labeltrees sweep, choose and report."""

import csv
import json
from types import SimpleNamespace

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.cli import output
from labeltrees.cli.choose import _steps_table
from labeltrees.cli.sweep import result_table
from labeltrees.tuning import trial
from labeltrees.tuning.result import SweepResult
from tests.tuning.conftest import count_as_time

QUICK = ("--tradeoffs", "0,1,2", "--fanouts", "2,4", "--set", "prune_below=0")


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    monkeypatch.setattr(trial, "measure_times", count_as_time)


@pytest.fixture(scope="module")
def result_file(data_folder, tmp_path_factory):
    train, test = (lt.read_xmc(data_folder / name) for name in ("train.txt.xz", "test.txt"))
    path = tmp_path_factory.mktemp("result") / "result.json"
    lt.sweep(train, test, tradeoffs=[0, 1], fanouts=[4]).save(path)
    return path


def test_a_sweep_prints_saves_and_writes_its_table(run, data_folder, tmp_path):
    saved, table = tmp_path / "result.json", tmp_path / "table.csv"
    result = run("sweep", data_folder, "-o", saved, "--csv", table, *QUICK)
    assert result.exit_code == 0
    loaded = SweepResult.load(saved)
    assert [record["tradeoff"] for record in loaded.table] == [0, 0, 1, 1, 2, 2]
    assert loaded.data_name == data_folder.name
    assert loaded.details["examples"][0]["labels"][0].startswith("name-")
    with open(table, newline="") as file:
        assert [row["setting"] for row in csv.DictReader(file)] == [record["setting"] for record in loaded.table]
    assert "P@5 %" in result.stdout
    assert "neighbours" in result.stdout
    assert loaded.comparison in result.stdout
    assert "held out" not in result.stdout
    assert f"labeltrees convert {saved}" in result.stdout
    assert "Sweep: done" in result.stderr
    assert "MiB of work" not in result.stderr


def test_options_reach_the_models(run, data_folder, tmp_path):
    train, test = (lt.read_xmc(data_folder / name) for name in ("train.txt.xz", "test.txt"))
    options = ("--set", "C=0.5", "--set", "leaf_size=3", "--cover", "greedy", "--path", "direct", "--seed", "4")
    found = json.loads(run("sweep", data_folder, "--tradeoffs", "1.5", *options, "--json").stdout)["table"]
    model = lt.LabelTreeClassifier(
        tradeoff=1.5, C=0.5, leaf_size=3, tree=lt.TreeBuilder(cover="greedy", path="direct"), random_state=4, fanout=128
    ).fit(train.X, train.Y)
    assert found[0]["p1"] == model.score(test.X, test.Y)
    assert (found[0]["cover"], found[0]["path"]) == ("greedy", "direct")


def test_the_papers_grid_has_a_name(run, data_folder):
    found = json.loads(run("sweep", data_folder, "--tradeoffs", "logs", "--json").stdout)
    assert len(found["table"]) == 10
    assert found["held_out"] is False


def test_the_preset_is_the_papers_setting_and_other_options_change_it(run, data_folder):
    train, test = (lt.read_xmc(data_folder / name) for name in ("train.txt.xz", "test.txt"))
    found = json.loads(run("sweep", data_folder, "--preset", "paper", "--json").stdout)["table"]
    assert [round(record["tradeoff"], 3) for record in found][:4] == [0, 0.667, 1, 1.333]
    model = lt.LabelTreeClassifier.parabel(tradeoff=found[1]["tradeoff"]).fit(train.X, train.Y)
    assert (found[1]["fanout"], found[1]["p1"]) == (2, model.score(test.X, test.Y))
    in_python = lt.sweep(train, test, estimator=lt.LabelTreeClassifier.parabel(), tradeoffs="parabel")
    assert [record["p1"] for record in found] == [record["p1"] for record in in_python.table]
    changed = run("sweep", data_folder, "--preset", "paper", "--tradeoffs", "1", "--set", "leaf_size=3", "--json")
    model = lt.LabelTreeClassifier.parabel(tradeoff=1, leaf_size=3).fit(train.X, train.Y)
    assert [record["p1"] for record in json.loads(changed.stdout)["table"]] == [model.score(test.X, test.Y)]


def test_one_file_is_split_as_choose_splits_it_and_the_output_says_so(run, data_folder, tmp_path):
    path, saved = data_folder / "train.txt.xz", tmp_path / "result.json"
    shown = run("sweep", path, "--tradeoffs", "1", "--seed", "3", "-o", saved).stdout
    assert f"Measured on 40 points of {path}, held out from training at random (seed 3)." in shown
    estimator = lt.LabelTreeClassifier(random_state=3)
    expected = lt.sweep(lt.read_xmc(path), tradeoffs=[1], estimator=estimator)
    loaded = SweepResult.load(saved)
    assert loaded.table[0]["p1"] == expected.table[0]["p1"]
    assert loaded.baselines == expected.baselines
    assert loaded.facts["measured"]["held_out"] is True


def test_a_narrow_terminal_cuts_no_number(run, data_folder, monkeypatch):
    monkeypatch.setattr(output, "_WIDTH_WITHOUT_TERMINAL", 50)
    shown = run("sweep", data_folder, "--tradeoffs", "1").stdout
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert "Not shown at this width:" in shown
    assert "--json, --csv FILE" in " ".join(shown.split())


def test_a_sweep_goes_on_from_its_folder(run, data_folder, tmp_path, monkeypatch):
    folder = tmp_path / "sweep"
    first = run("sweep", data_folder, *QUICK, "--folder", folder, "--json").stdout
    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", lambda *_, **__: pytest.fail("trained again"))
    again = run("sweep", data_folder, *QUICK, "--folder", folder, "--json")
    assert again.stdout == first
    assert f"{folder}: 6 of 6 settings are finished already" in again.stderr


@pytest.mark.parametrize("command", ["sweep", "choose"])
def test_an_interrupted_run_says_how_to_continue(run, data_folder, tmp_path, monkeypatch, command):
    folder, trained = tmp_path / "sweep", []

    fit = lt.LabelTreeClassifier.fit

    def interrupted(self, *args, **kwargs):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(self)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", interrupted)
    output_option = ("-o", tmp_path / "model") if command == "choose" else ()
    options = (*QUICK, *output_option, *(("--tune", "tree") if command == "choose" else ()))
    result = run("-q", command, data_folder, *options, "--folder", folder)
    assert result.exit_code == 130
    assert result.stderr == f"Interrupted: 2 finished settings in {folder}; run the same command again to continue\n"
    trained.clear()
    result = run("-q", command, data_folder, *options)
    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted: nothing was kept; with --folder FOLDER")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tradeoffs", "a,b"), "is not a list of numbers"),
        (("--tradeoffs", "3"), "tradeoffs must be a number in"),
        (("--fanouts", "1"), "fanouts must be"),
        (("-o", "missing/result.json"), "its folder does not exist"),
    ],
)
def test_bad_options_exit_with_2(run, data_folder, arguments, message):
    result = run("sweep", data_folder, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_choose_saves_the_model_and_says_why(run, data_folder, tmp_path):
    model, saved = tmp_path / "model", tmp_path / "result.json"
    limits = ("--max-precision-loss", "0.5", "--metric", "p3", "-k", "3")
    result = run("choose", data_folder, "-o", model, "--result", saved, *limits, *QUICK)
    assert result.exit_code == 0
    loaded = SweepResult.load(saved)
    assert loaded.data_name == data_folder.name
    assert " ".join(loaded.explanation.split()) in " ".join(result.stdout.split())
    assert lt.load(model).tradeoff == loaded.record(loaded.chosen)["tradeoff"]
    assert lt.load(model).label_names_[0] == "name-0"
    assert lt.load(model).k == 3
    assert "chosen" in result.stdout


def test_few_of_the_combinations_without_a_gain_are_printed():
    cost = {"metric": 0.5, "us_per_call": 1.0, "training_seconds": 1.0, "model_bytes": 1}
    gains = [0.001 * place - 0.02 for place in range(20)]
    steps = [{"step": f"+ C {gain:.3f}", "gain": gain, "why": "no clear gain", **cost} for gain in gains]
    kept = {"step": "+ n_trees 3", "gain": 0.01, "why": "chosen", **cost}
    slow = {"step": "+ evidence auto", "gain": -0.3, "why": "too slow", **cost}
    result = SimpleNamespace(facts={"metric": "p1"})
    choice = SimpleNamespace(steps=[slow, *steps[:15], kept, *steps[15:]], result=result)
    rows = [row[0] for row in _steps_table(choice).rows]
    assert rows == ["+ evidence auto", "+ n_trees 3", *(step["step"] for step in steps[15:])]


def test_settings_of_one_tree_are_told_apart_by_their_other_parameters(data_folder):
    train, _ = lt.read_data(data_folder)
    result = lt.sweep(train, tradeoffs=[1], grid={"C": [0.5, 1.0]})
    table = result_table(result)
    place = [column.header for column in table.columns].index("other settings")
    assert [row[place] for row in table.rows] == ["C 0.5", "C 1.0"]


def test_choose_as_json(run, data_folder, tmp_path):
    found = json.loads(
        run("choose", data_folder, "-o", tmp_path / "m", "--max-latency-us", "1e6", *QUICK, "--json").stdout
    )
    assert set(found["parameters"]) == {"tradeoff", "fanout", "C", "evidence", "loss", "n_trees"}
    assert found["record"]["p1"] == max(record["p1"] for record in found["table"])


def test_choose_refuses_a_limit_that_no_setting_meets(run, data_folder, tmp_path):
    result = run("choose", data_folder, "-o", tmp_path / "m", "--max-latency-us", "0.001", *QUICK)
    assert result.exit_code == 1
    assert "no setting meets --max-latency-us 0.001: the fastest, tradeoff " in result.stderr
    assert not (tmp_path / "m").exists()


def test_report_writes_the_page_and_the_figures(run, result_file, tmp_path):
    pytest.importorskip("altair")
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    result = run("convert", result_file, "-o", page, "--figures", figures, "--title", "my <data>", "--json")
    assert json.loads(result.stdout)["page"] == str(page)
    assert len(list(figures.iterdir())) == len(json.loads(result.stdout)["figures"]) == 30
    assert page.read_text().startswith("<!doctype html>")
    assert "<h1>my &lt;data&gt;</h1>" in page.read_text()


def test_the_old_name_of_the_report_works_and_says_the_new_one(run, result_file, tmp_path):
    result = run("report", result_file, "-o", tmp_path / "page.html")
    assert result.exit_code == 0
    assert f"is now labeltrees convert {result_file} -o {tmp_path / 'page.html'}" in result.stderr
    assert (tmp_path / "page.html").exists()


def test_report_refuses_files_that_are_not_results(run, tmp_path):
    (tmp_path / "odd.json").write_text("{}")
    result = run("convert", tmp_path / "odd.json", "-o", tmp_path / "page.html")
    assert result.exit_code == 3
    assert "odd.json: not a sweep result" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(run, shell):
    script = run("--completion", shell).stdout
    assert f"_LABELTREES_COMPLETE={shell}_complete" in script


def test_the_script_completes_commands(monkeypatch):
    from click.shell_completion import BashComplete

    from labeltrees.cli.main import cli

    completer = BashComplete(cli, {}, "labeltrees", "_LABELTREES_COMPLETE")
    assert {item.value for item in completer.get_completions([], "s")} == {"serve", "sweep"}
    assert "--max-latency-us" in {item.value for item in completer.get_completions(["choose"], "--max")}


def test_fanout_auto_beside_others(run, data_folder, tmp_path):
    saved = tmp_path / "result.json"
    options = ("--tradeoffs", "1", "--fanouts", "auto,4")
    result = run("sweep", data_folder, "-o", saved, *options)
    assert result.exit_code == 0
    assert [line.split()[1] for line in result.stdout.splitlines() if line.startswith("1 ")] == ["auto", "4"]
    assert [record["fanout"] for record in SweepResult.load(saved).table] == ["auto", 4]
    assert run("convert", saved, "-o", tmp_path / "report.html").exit_code == 0
    wrong = run("sweep", data_folder, "--fanouts", "auto,wide")
    assert wrong.exit_code == 2
    assert "is not a list of numbers" in wrong.stderr


def test_texts_are_chosen_for_and_the_model_takes_texts(run, tmp_path):
    lines = ["text,labels"] + [f'"a {word} number {i}",lib{word}' for i in range(60) for word in ("web", "font")]
    table = tmp_path / "packages.csv"
    table.write_text("\n".join(lines) + "\n")
    fast = ("--tradeoffs", "0,1", "--fanouts", "2")
    limits = ("--max-precision-loss", "0.5", "--tune", "C,tradeoff,fanout", "--time-budget", "60")
    chosen = run("choose", table, "-o", tmp_path / "model", *limits, *fast)
    assert chosen.exit_code == 0, chosen.stderr
    assert "changes of 1 kind alone" in " ".join(chosen.stdout.split())
    answers = run("predict", tmp_path / "model", table, "-k", "1")
    assert answers.exit_code == 0
    assert [("libweb" in line, "libfont" in line) for line in answers.stdout.splitlines()[-2:]] == [
        (True, False),
        (False, True),
    ]
    other = tmp_path / "other.csv"
    other.write_text('text,labels\n"a web thing","libweb,libnew"\n')
    swept = run("sweep", table, "--validation", other, "--tradeoffs", "0", "--fanouts", "2", "--json")
    assert swept.exit_code == 0, swept.stderr
    assert '"p1": 1.0' in swept.stdout


def test_choose_with_a_vocabulary_keeps_texts_of_labels_and_writes_a_report(run, tmp_path):
    subjects = {"http://x/1": "tea", "http://x/2": "coffee", "http://x/3": "gardens", "http://x/4": "boats"}
    lines = [f"about {subjects[uri]} number {i % 7}\t<{uri}>\n" for i, uri in enumerate([*subjects][:3] * 60)]
    (tmp_path / "docs.tsv").write_text("".join(lines))
    (tmp_path / "words.tsv").write_text("".join(f"<{uri}>\t{text}\n" for uri, text in subjects.items()))
    options = ["--data-format", "annif", "--vocabulary", tmp_path / "words.tsv", "--tune", "features,C"]
    options += ["--metric", "fscore5", "--report", tmp_path / "report.html", "-o", tmp_path / "m"]
    result = run("choose", tmp_path / "docs.tsv", *options)
    assert result.exit_code == 0, result.stderr
    assert "F1@5" in result.stdout
    assert "F1@5" in (tmp_path / "report.html").read_text()
    model = lt.load(tmp_path / "m")
    assert model.label_names_.tolist() == [*subjects]  # also the label without a point
    assert model.label_texts_.of(3) == ["boats"]
    assert model.stats_["label_words"] == 1  # "boats" is in no document
    assert "http://x/4" in model.predictor(k=4, names=True)("boats")[0]
    result = run("predict", tmp_path / "m", "--ask", "tea", "--with-texts", "-k", "1")
    assert "http://x/1\ttea" in result.stdout


@pytest.fixture
def shop_folder(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["order,item,time"]
    for order in range(400):
        first = rng.integers(6)
        items = {int(first), int(first + 6), int(rng.integers(12)), int(rng.exponential(3)) % 12}
        lines += [f"order {order},item {item},2026-01-{1 + order // 20:02}" for item in items]
    (tmp_path / "orders.csv").write_text("\n".join(lines) + "\n")
    columns = ("--context", "order", "--item", "item", "--time", "time")
    prepared = run(
        "logs", "prepare", tmp_path / "orders.csv", "-o", tmp_path / "shop", *columns, "--features", "basket"
    )
    assert prepared.exit_code == 0, prepared.stderr
    return tmp_path / "shop"


def test_sweep_choose_and_evaluate_have_the_same_rules(run, shop_folder, tmp_path):
    (tmp_path / "stock.txt").write_text("".join(f"item {item}\n" for item in range(9)))
    (tmp_path / "brands.tsv").write_text("item 1\ta\nitem 2\ta\nitem 3\ta\n")
    (tmp_path / "boosts.tsv").write_text("item 4\t2\n")
    rules = ["--exclude-seen", "--candidates", tmp_path / "stock.txt", "--limit-per", f"{tmp_path / 'brands.tsv'}:1"]
    rules += ["--label-weight", tmp_path / "boosts.tsv", "--diversity", "0.1"]
    quick = ("--tradeoffs", "1", "--fanouts", "4")
    swept = run("sweep", shop_folder, *quick, *rules, "--folder", tmp_path / "kept", "--json")
    assert swept.exit_code == 0, swept.stderr
    record = json.loads(swept.stdout)["table"][0]
    model = lt.LabelTreeClassifier(fanout=4, n_jobs=-1).fit(lt.read_data(str(shop_folder))[0])
    model.save(tmp_path / "shop.model")
    evaluated = json.loads(run("evaluate", tmp_path / "shop.model", shop_folder, *rules, "--json").stdout)
    for k in ("1", "3", "5"):
        assert record[f"p{k}"] == pytest.approx(evaluated["precision"][k])
        assert record[f"ndcg{k}"] == pytest.approx(evaluated["ndcg"][k])
    chosen = run("choose", shop_folder, "-o", tmp_path / "chosen", "--tune", "tree", *quick, *rules, "--json")
    assert chosen.exit_code == 0, chosen.stderr
    plain = run("choose", shop_folder, "-o", tmp_path / "plain", "--tune", "tree", *quick, "--json")
    assert json.loads(chosen.stdout)["record"]["p5"] != json.loads(plain.stdout)["record"]["p5"]


@pytest.mark.parametrize(
    ("data", "rules", "message"),
    [
        ("shop", ("--candidates", "item 99"), "--candidates: 'item 99' is neither a file nor a label"),
        ("shop", ("--candidates", "@Places"), "without a SKOS vocabulary"),
        ("data", ("--exclude-seen",), "--exclude-seen needs data with items as features"),
    ],
)
def test_rules_that_cannot_hold_are_refused_before_training(
    run, data_folder, shop_folder, tmp_path, monkeypatch, data, rules, message
):
    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", lambda *_, **__: pytest.fail("trained"))
    folder = shop_folder if data == "shop" else data_folder
    for command in (("choose", folder, "-o", tmp_path / "model"), ("sweep", folder)):
        result = run(*command, *rules)
        assert result.exit_code == 2
        assert message in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [("--time-budget", 0), ("--max-precision-loss", -1), ("--max-latency-us", 0), ("--metric", "p9"), ("-k", 0)],
)
def test_choose_checks_limits_before_it_reads_the_data(run, tmp_path, option, value):
    (tmp_path / "broken.txt").write_text("no data")
    result = run("choose", tmp_path / "broken.txt", "-o", tmp_path / "model", option, str(value))
    assert result.exit_code == 2
    assert "broken.txt" not in result.stderr
    assert option in result.stderr
