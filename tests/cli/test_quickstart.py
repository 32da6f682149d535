"""labeltrees quickstart, on a small set in place of the bundled one."""

import builtins
import sys

import numpy as np
import pytest
from rich.console import Console
from sklearn.model_selection import PredefinedSplit, cross_val_score

import labeltrees as lt
from labeltrees.cli import quickstart as quickstart_command
from labeltrees.data.texts import default_vectorizer, text_dataset
from labeltrees.tuning import choose
from labeltrees.tuning.result import SweepResult
from tests.tuning.conftest import count_as_time

WORDS = ("music", "perl", "python", "qt", "xml", "web")


def small_pair():
    texts, labels = [], []
    for number in range(240):
        words = [word for place, word in enumerate(WORDS) if number % (place + 2) == 0] or ["music"]
        texts.append("package with " + " ".join(words))
        labels.append([f"lib{word}" for word in words])
    names = sorted({name for row in labels for name in row})
    vectorizer = default_vectorizer()
    train = text_dataset(texts[:200], labels[:200], vectorizer, names)
    return train, text_dataset(texts[200:], labels[200:], vectorizer, names)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(quickstart_command, "load_debian", small_pair)
    monkeypatch.setattr(choose, "TRADEOFFS", (0, 1, 2))
    monkeypatch.setattr(quickstart_command, "measure_times", count_as_time)


@pytest.fixture
def without_plots(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)


def test_it_compares_predicts_and_saves(run, tmp_path):
    pytest.importorskip("altair")
    folder = tmp_path / "first" / "look"
    result = run("quickstart", "--folder", folder)
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["debian.model", "report.html", "result.json"]
    for expected in ("Chosen: tradeoff", "(chosen)", "P@1 (%)", "expected depth", "against 0", "report is in"):
        assert expected in result.stdout
    answers = [line for line in result.stdout.splitlines() if line.startswith("  would depend on")]
    assert len(answers) == 3
    assert "libperl" in answers[1].split(",")[0] + answers[1].split(",")[1]
    model = lt.load(folder / "debian.model")
    saved = SweepResult.load(folder / "result.json")
    assert model.tradeoff == saved.record(saved.chosen)["tradeoff"]
    assert model.predict_topk(["package with web"], 1)[0].shape == (1, 1)


def test_the_comparison_is_cross_validated():
    data, _ = small_pair()
    rows = quickstart_command.compare_tradeoffs({"tradeoff": 1.0, "fanout": 4}, data, 1)
    assert [row.tradeoff for row in rows] == [0, 0.67, 1, 1.33, 2]
    # The witness: scikit-learn's cross-validation on the same parts.
    parts = PredefinedSplit(np.random.default_rng(0).permutation(data.n_points) % 4)
    model = lt.LabelTreeClassifier(tradeoff=1.0, fanout=4, k=1)
    scores = cross_val_score(model, data.X, data.Y.toarray(), cv=parts)
    sizes = [len(test) for _, test in parts.split()]
    assert rows[2].precision == pytest.approx(np.average(scores, weights=sizes))
    assert rows[2].against(rows[2]) == (0, 0, 0)


def test_lines_fit_80_columns(run, tmp_path, monkeypatch, without_plots):
    monkeypatch.setattr(quickstart_command, "console", lambda: Console(width=80, highlight=False, markup=False))
    lines = run("quickstart", "--folder", tmp_path).stdout.splitlines()
    commands = [line for line in lines if "labeltrees" in line or str(tmp_path) in line]
    assert all(len(line) <= 80 for line in lines if line not in commands)


def test_proposed_commands_work(run, tmp_path, without_plots):
    result = run("quickstart", "--folder", tmp_path)
    line = next(line for line in result.stdout.splitlines() if "labeltrees inspect" in line)
    command = line.split()[1:]
    command[command.index("python3")] = "libweb"
    assert run(*command).exit_code == 0


def test_without_the_extra_it_says_how_to_get_the_report(run, tmp_path, without_plots):
    result = run("quickstart", "--folder", tmp_path)
    assert result.exit_code == 0
    assert "pip install labeltrees[plots] && labeltrees convert" in result.stdout
    assert not (tmp_path / "report.html").exists()


def test_on_a_terminal_it_asks_for_descriptions_until_an_empty_line(monkeypatch, capsys):
    train, _ = small_pair()
    model = lt.LabelTreeClassifier().fit(train)
    typed = iter(["a program for the web\x1b[31m", "", "never asked"])
    monkeypatch.setattr(builtins, "input", lambda _: next(typed))
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    out = quickstart_command.console()
    quickstart_command.ask(out, model)
    shown = capsys.readouterr().out
    assert "an empty line ends" in shown
    assert "libweb" in shown
    assert "\x1b[31m" not in shown
    assert next(typed) == "never asked"


def test_without_a_terminal_nothing_is_asked(run, tmp_path, monkeypatch, without_plots):
    monkeypatch.setattr(builtins, "input", lambda _: pytest.fail("asked"))
    assert "Describe a package" not in run("quickstart", "--folder", tmp_path).stdout


def test_from_a_log_it_compares_answers_and_saves(run, tmp_path):
    result = run("quickstart", "--logs", "--folder", tmp_path)
    assert result.exit_code == 0, result.output
    for expected in ("It is synthetic", "best sellers", "bought together", "label tree", "P@5 (%)"):
        assert expected in result.stdout
    answers = [line for line in result.stdout.splitlines() if line.startswith("  goes with")]
    assert len(answers) == 4
    assert "passata" in answers[0]  # spaghetti and garlic
    assert "garlic" not in answers[0]  # which is in the basket already
    line = next(line for line in result.stdout.splitlines() if "labeltrees evaluate" in line)
    assert run(*line.split()[1:]).exit_code == 0
    answer = lt.load(tmp_path / "shop.model").predictor(k=3, names=True)
    assert "baby wipes" in answer(["nappies", "never sold"])[0]
