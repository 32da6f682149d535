"""Options are generated from settings: a new setting needs no edit in the command line."""

from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from labeltrees._settings import choice, flag, integer, number, optional, setting
from labeltrees.cli.main import cli
from labeltrees.cli.options import given_options, setting_options
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.settings import Solver
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.tree.settings import TreeBuilder, TreeSettings


@dataclass
class Settings:
    rate: float = setting(0.5, number(0), "Learning rate.")
    n_rounds: int = setting(3, integer(1), "Number of rounds.")
    kind: str = choice("fast", ("fast", "exact"), "Kind of search.")
    width: int | None = setting(10, optional(integer(1)), "Width; none: unlimited.", metavar="N|none")
    fanout: int | str = setting(16, integer(2), "Fanout.", metavar="N|auto")
    limit: float | None = setting(None, optional(number(0)), "Limit.")
    scale: bool = setting(True, flag, "Scale points.")
    internal: int = 7  # not made by `setting`


@pytest.fixture
def run():
    seen = {}

    @click.command()
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


@pytest.mark.parametrize(
    ("command", "settings", "missing"),
    [
        (("fit",), LabelTreeClassifier, {"vectorizer", "label_texts", "k", "threshold", "verbose"}),
        (("fit",), TreeBuilder, {"embeddings"}),
        (("fit",), Solver, set()),
        (("fit-text",), TextLabelTreeClassifier, {"k", "threshold", "verbose"}),
        (("fit-text",), TreeBuilder, {"embeddings"}),
        (("tree", "build"), TreeSettings, set()),
        (("tree", "compare"), TreeSettings, {"tradeoff"}),
    ],
)
def test_every_setting_of_a_stage_has_an_option(command, settings, missing):
    found = cli
    for name in command:
        found = found.get_command(None, name)
    names = {parameter.name for parameter in found.params} | {"tree"}
    assert set(settings.__dataclass_fields__) - names == missing
