"""Tables fit the terminal: nothing is cut, and what is left out is named."""

import os
import re
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from labeltrees.cli.output import Column, Table, make_table, with_margin
from tests.cli.table_scenes import SCENES

SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = bool(os.environ.get("LABELTREES_UPDATE_SNAPSHOTS"))  # writes them anew, to be looked at before a commit
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def rendered(table, width):
    out = Console(width=width, file=None, highlight=False, markup=False)
    with out.capture() as captured:
        out.print(table)
    return captured.get()


# The layout.

WIDE = Table(
    [
        Column("name", align="left"),
        Column("precision at 1", "P@1"),
        Column("seconds", "s", 1),
        Column("nodes", priority=2),
    ],
    [("first", "80.94", "1,234.5", "17"), ("second one", "79.78", "2.0", "8")],
)


def test_a_wide_terminal_shows_everything():
    lines = rendered(WIDE, 100).splitlines()
    assert lines[0] == "name        precision at 1  seconds  nodes"
    assert len(lines) == 3


def test_headers_wrap_at_words_then_shorten_then_columns_go_by_priority():
    wrapped = rendered(WIDE, 40).splitlines()
    assert [line.split() for line in wrapped[:2]] == [["precision", "at"], ["name", "1", "seconds", "nodes"]]
    narrow = rendered(WIDE, 30).splitlines()
    assert narrow[0].split() == ["name", "P@1", "s", "nodes"]
    narrower = rendered(WIDE, 22).splitlines()
    assert narrower[0].split() == ["name", "P@1", "s"]
    assert "nodes" in " ".join(narrower[3:])


def test_the_note_names_what_is_missing_and_the_ways_to_see_it():
    command = click.Command("x", params=[click.Option(["--json", "as_json"]), click.Option(["--csv", "csv_file"])])
    with click.Context(command):
        shown = " ".join(rendered(WIDE, 22).split())
    assert "Not shown at this width: nodes. To see all: --json, --csv FILE, a wider terminal." in shown


def test_margins_go_before_columns():
    cells = [with_margin(0.7012, 0.69, 0.71), with_margin(0.5, 0.4, 0.6)]
    table = make_table(("", "P@1", "P@5"), [("model", *cells)])
    assert "70.12 ± 1.0" in rendered(table, 40)
    narrow = " ".join(rendered(table, 24).split())
    assert "model 70.12 50.00" in narrow
    assert "± intervals" in narrow


def test_texts_wrap_at_words():
    table = make_table(None, [("what", "a long text that does not fit into one line")], left=(0, 1))
    lines = rendered(table, 30).splitlines()
    assert len(lines) == 2
    assert " ".join(" ".join(lines).split()) == "what a long text that does not fit into one line"


words = st.text("abcdefghij", min_size=1, max_size=12)
numbers = st.from_regex(r"[0-9]{1,6}\.[0-9]{1,2}", fullmatch=True)


@given(
    st.lists(st.tuples(words, numbers, numbers, numbers), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.integers(24, 120),
)
def test_no_number_is_ever_cut(rows, priorities, width):
    columns = [Column("name", align="left"), *(Column(f"a column {i}", f"c{i}", p) for i, p in enumerate(priorities))]
    shown = rendered(Table(columns, rows), width)
    assert all(len(line) <= width for line in shown.splitlines())
    found = {word for line in shown.splitlines() for word in line.split() if re.fullmatch(r"[\d.]+", word)}
    known = {cell for row in rows for cell in row[1:]}
    assert found - {"0", "1", "2", "2."} <= known | {"1.", "0."}
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown


# The main commands; those that measure something, with fixed measurements.

COMMANDS = {
    "imbalance": lambda paths: ("imbalance", paths["data"]),
    "tree-compare": lambda paths: ("tree", "compare", paths["data"], "--jobs", 1),
    "tree-show": lambda paths: ("tree", "show", paths["tree"], "--depth", 2, "--width", 3),
}


def terminal(monkeypatch, width, colour):
    for name, value in {"TTY_COMPATIBLE": "1", "TTY_INTERACTIVE": "0", "COLUMNS": str(width), "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if colour:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")


def check_snapshot(name, width, colour, shown, full):
    file = SNAPSHOTS / f"{name}-{width}{'-colour' if colour else ''}.txt"
    if UPDATE:
        SNAPSHOTS.mkdir(exist_ok=True)
        file.write_text(shown)
    plain = ESCAPES.sub("", shown)
    assert all(len(line) <= width for line in plain.splitlines())
    assert "\N{HORIZONTAL ELLIPSIS}" not in plain
    # Every number of the narrow output is one of the full output, not a piece of one.
    number = re.compile(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?![\w.,])")
    assert set(number.findall(plain)) <= set(number.findall(full))
    assert shown == file.read_text()


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", SCENES)
def test_scenes_at_three_widths(monkeypatch, capsys, name, width, colour):
    SCENES[name]()
    full = capsys.readouterr().out
    terminal(monkeypatch, width, colour)
    SCENES[name]()
    check_snapshot(name, width, colour, capsys.readouterr().out, full)


@pytest.mark.parametrize("colour", [False, True], ids=["plain", "colour"])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_at_three_widths(run, monkeypatch, data_folder, tree_file, name, width, colour):
    arguments = COMMANDS[name]({"data": data_folder, "tree": tree_file})
    full = run("-q", *arguments).stdout
    terminal(monkeypatch, width, colour)
    check_snapshot(name, width, colour, run("-q", *arguments).stdout, full)


def test_without_a_terminal_everything_is_shown(capsys):
    SCENES["sweep"]()
    header = capsys.readouterr().out.splitlines()[0]
    assert header.split()[-2:] == ["s", "MB"]
    assert "top-5 us" in header
