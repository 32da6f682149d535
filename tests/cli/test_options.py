"""Options are generated from settings: a new setting needs no edit in the command line."""

from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from labeltrees._settings import anything, choice, flag, integer, number, optional, setting, settings_of
from labeltrees.cli.command import Command
from labeltrees.cli.main import cli
from labeltrees.cli.options import given_options, setting_options
from labeltrees.logs.settings import LogSettings
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.settings import Solver
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.serving.settings import ServingSettings
from labeltrees.tree.settings import TreeBuilder, TreeSettings


@dataclass
class Settings:
    rate: float = setting(0.5, number(0), "Learning rate.", daily=True)
    n_rounds: int = setting(3, integer(1), "Number of rounds.", daily=True)
    kind: str = choice("fast", ("fast", "exact"), "Kind of search.")
    width: int | None = setting(10, optional(integer(1)), "Width; none: unlimited.", metavar="N|none", daily=True)
    fanout: int | str = setting(16, integer(2), "Fanout.", metavar="N|auto", daily=True)
    limit: float | None = setting(None, optional(number(0)), "Limit.", daily=True)
    scale: bool = setting(True, flag, "Scale points.", daily=True)
    power: int = setting(3, integer(1), "Power.")
    pair: tuple[int, int] = setting((1, 2), anything, "Two numbers.")
    shift: bool = setting(True, flag, "Shift points.")
    stem: str | None = setting(None, anything, "Language.")
    internal: int = 7  # not made by `setting`


@pytest.fixture
def run():
    seen = {}

    @click.command(cls=Command)
    @setting_options(Settings, skip=("kind",), defaults={"n_rounds": 5})
    def command(**values):
        seen.update(values=values, given=given_options(values))

    def invoke(*arguments):
        result = CliRunner().invoke(command, list(arguments))
        return result, seen

    return invoke


def test_values_have_the_types_and_defaults_of_the_settings(run):
    _, seen = run()
    defaults = {"rate": 0.5, "n_rounds": 5, "width": 10, "fanout": 16, "limit": None, "scale": True}
    assert seen == {"values": defaults, "given": {}}
    _, seen = run("--rate", "1", "--n-rounds", "2", "--width", "none", "--fanout", "auto", "--limit", "3", "--no-scale")
    given = {"rate": 1.0, "n_rounds": 2, "width": None, "fanout": "auto", "limit": 3.0, "scale": False}
    assert seen == {"values": given, "given": given}
    assert isinstance(seen["values"]["rate"], float)


def test_the_help_is_that_of_the_settings(run):
    text = " ".join(run("--help")[0].output.split())
    assert "--rate FLOAT Learning rate. [default: 0.5]" in text
    assert "--n-rounds INTEGER Number of rounds. [default: 5]" in text
    assert "--width N|none Width; none: unlimited. [default: 10]" in text
    assert "--scale / --no-scale Scale points. [default: scale]" in text
    assert "--kind" not in text
    assert "--internal" not in text


def test_a_word_that_is_not_allowed_is_refused(run):
    assert "'wide' is neither a whole number nor 'none'" in run("--width", "wide")[0].output
    assert "'none' is neither a whole number nor 'auto'" in run("--fanout", "none")[0].output


def test_other_settings_are_given_with_set(run):
    _, seen = run("--set", "power=7", "--set", "pair=3,4", "--set", "shift=false", "--set", "stem=german")
    assert seen["given"] == {"power": 7, "pair": (3, 4), "shift": False, "stem": "german"}
    assert run("--set", "stem=none")[1]["given"] == {"stem": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("power", "'power' must be NAME=VALUE."),
        ("powr=3", "there is no setting 'powr'. Did you mean power?"),
        ("power=much", "power: 'much' is not a valid integer."),
        ("pair=3", "pair: '3' must be 2 values, such as 1,2."),
        ("shift=perhaps", "shift: 'perhaps' is not a valid boolean"),
    ],
)
def test_invalid_settings_are_refused(run, text, message):
    result, _ = run("--set", text)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_help_all_lists_the_settings(run):
    assert "power" not in run("--help")[0].output
    text = " ".join(run("--help-all")[0].output.split())
    assert "Settings for --set NAME=VALUE: power Power. [default: 3] pair Two numbers. [default: 1,2]" in text


@pytest.mark.parametrize(
    ("command", "settings", "missing"),
    [
        (("fit",), LabelTreeClassifier, {"vectorizer", "label_texts", "k", "threshold", "verbose"}),
        (("fit",), TextLabelTreeClassifier, {"k", "threshold", "verbose"}),
        (("fit",), TreeBuilder, {"embeddings"}),
        (("fit",), Solver, set()),
        (("tree", "build"), TreeSettings, set()),
        (("tree", "compare"), TreeSettings, {"tradeoff"}),
        (("logs", "prepare"), LogSettings, set()),
        (("serve",), ServingSettings, set()),
    ],
)
def test_every_setting_of_a_stage_can_be_given(command, settings, missing):
    found = cli
    for name in command:
        found = found.get_command(None, name)
    names = {parameter.name for parameter in found.params} | set(found.settable)
    assert {item.name for item in settings_of(settings)} - names == missing
