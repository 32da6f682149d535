"""Faults in logs are refused with a clear error, or dropped and counted, never silently."""

import contextlib

import numpy as np
import polars as pl
import pytest

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.logs import shards
from labeltrees.logs.events import invalid_utf8
from tests.logs import helpers


def write(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def prepare(events, **settings):
    """Prepare with all contexts as features of their own, so that small logs have features."""
    settings = {"feature_column": "context", "min_engagement": 0} | settings
    return helpers.prepare(events, feature_separator="\t", test_share=0, **settings)


LATIN = "context,item\ncaf\xe9,x\nth\xe9,y\n"


def test_a_wrong_encoding_names_the_file_and_the_byte(tmp_path):
    path = write(tmp_path, LATIN.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"log\.csv: not UTF-8 text \(byte 16\); give its encoding"):
        prepare(path)


def test_a_wrong_encoding_late_in_a_folder_names_the_file(tmp_path):
    write(tmp_path, "context,item\n" + "a,x\n" * 1000, "a.csv")
    write(tmp_path, b"context,item\n" + b"b,x\n" * 300_000 + b"\xff,y\n", "b.csv")
    with pytest.raises(FileFormatError, match=r"b\.csv: not UTF-8 text \(byte 1200013\)"):
        prepare(tmp_path)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_other_encodings_can_be_read(tmp_path, encoding):
    path = write(tmp_path, LATIN.encode(encoding))
    assert prepare(path, encoding=encoding).train.feature_names.tolist() == ["café", "thé"]


def test_an_encoding_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"log\.csv: not text in ascii"):
        prepare(write(tmp_path, LATIN.encode("latin-1")), encoding="ascii")
    with pytest.raises(FileFormatError, match=r"log\.csv: not UTF-8 text \(byte 0\)"):
        prepare(write(tmp_path, LATIN.encode("utf-16")))


def test_a_header_with_a_byte_order_mark_and_carriage_returns(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfcontext,item\r\na,x\r\nb,y\r\n")
    assert prepare(path).train.label_names.tolist() == ["x", "y"]


def test_lines_with_too_many_fields_are_dropped_and_counted(tmp_path):
    path = write(tmp_path, "context,item,weight\na,x,1\nb,y,1,2,3\nc,z,1,\nd,w,1\n")
    summary = prepare(path).summary
    assert summary.events_read == 4
    assert summary.events_dropped["line with too many fields"] == 1  # a separator at the end does no harm
    assert summary.events_used == {"labels": 3}


def test_lines_with_too_few_fields_lack_the_last_ones(tmp_path):
    path = write(tmp_path, "context,item,weight\na,x,1\nb,y\nc\n\nd,w,1\n")
    summary = prepare(path).summary
    assert summary.events_dropped["weight missing or not a number"] == 1
    assert summary.events_dropped["no item"] == 1
    assert summary.events_dropped["no context"] == 1  # the empty line
    assert summary.events_used == {"labels": 2}
    assert summary.events_read == 5


def test_a_quote_that_never_ends_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"log\.csv: cannot be read: could not parse"):
        prepare(write(tmp_path, 'context,item\na,"x\nb,y\n'))


@pytest.mark.parametrize("settings", [{"item": "article"}, {"weight": "qty"}, {"time": "when"}, {"item_name": "name"}])
def test_missing_columns_are_named_with_those_that_exist(tmp_path, settings):
    path = write(tmp_path, "context,item\na,x\n")
    name = next(iter(settings.values()))
    with pytest.raises(InputError, match=rf"log\.csv: no column '{name}' \(.*\); there are 'context', 'item'"):
        prepare(path, **settings)


def test_two_columns_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"log\.csv: two columns are called 'item'"):
        prepare(write(tmp_path, "context,item,item\na,x,1\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"log\.csv: the file is empty"),
        (b"\n\n", r"log\.csv: the first line, which must name the columns, is empty"),
        (b"context,item\n", "the log has no events"),
    ],
)
def test_empty_files_are_refused(tmp_path, text, message):
    with pytest.raises((FileFormatError, InputError), match=message):
        prepare(write(tmp_path, text))


def test_an_empty_part_of_a_folder_is_named(tmp_path):
    write(tmp_path, "context,item\na,x\n", "a.csv")
    write(tmp_path, "", "b.csv")
    with pytest.raises(FileFormatError, match=r"b\.csv: the file is empty"):
        prepare(tmp_path)


def test_a_folder_without_events_is_refused(tmp_path):
    write(tmp_path, "hello", "readme.md")
    with pytest.raises(FileFormatError, match="no events in this folder"):
        prepare(tmp_path)


def test_other_files_of_a_folder_are_left_out_with_a_warning(tmp_path, caplog):
    write(tmp_path, "context,item\na,x\nb,x\n", "a.csv")
    write(tmp_path, "hello", "readme.md")
    summary = prepare(tmp_path).summary
    assert [name.rsplit("/", 1)[-1] for name in summary.files_left_out] == ["readme.md"]
    assert "1 files are not event files and are left out: readme.md" in caplog.text


def test_files_with_other_columns_are_refused(tmp_path):
    write(tmp_path, "context,item\na,x\n", "a.csv")
    write(tmp_path, "item,context\na,x\n", "b.csv")
    with pytest.raises(FileFormatError, match=r"b\.csv: other columns than a\.csv: item, context"):
        prepare(tmp_path)


def test_parquet_files_with_other_columns_are_refused(tmp_path):
    pl.DataFrame({"context": ["a"], "item": ["x"]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"context": ["a"], "other": ["x"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(FileFormatError, match="cannot be read"):
        prepare(tmp_path)


def test_csv_beside_parquet_is_refused(tmp_path):
    write(tmp_path, "context,item\na,x\n")
    pl.DataFrame({"context": ["a"], "item": ["x"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="CSV and Parquet files in one folder"):
        prepare(tmp_path)


def test_other_formats_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"log\.json: must end in \.csv, \.tsv, \.parquet"):
        prepare(write(tmp_path, "{}", "log.json"))
    with pytest.raises(FileFormatError, match=r"none\.csv: no such file or folder"):
        prepare(tmp_path / "none.csv")


@pytest.mark.parametrize("cut", [10, -20])
def test_damaged_parquet_is_refused(tmp_path, cut):
    path = tmp_path / "log.parquet"
    pl.DataFrame({"context": ["a"] * 100, "item": ["x"] * 100}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(FileFormatError, match=r"log\.parquet: cannot be read"):
        prepare(path)


@pytest.mark.parametrize("column", ["context", "item", "weight", "time"])
def test_a_column_of_nulls_leaves_nothing_and_says_why(column):
    frame = pl.DataFrame({"context": ["a"], "item": ["x"], "weight": [1.0], "time": ["2020-01-01"]})
    reason = {"weight": "weight missing or not a number"}.get(column, f"no {column}")
    with pytest.raises(InputError, match=f"none of the 3 events can be used: 3 {reason}"):
        prepare(pl.concat([frame] * 3).with_columns(pl.lit(None).alias(column)))


def test_nulls_and_blanks_are_counted():
    frame = pl.DataFrame(
        {
            "context": ["a", None, "", "  ", "b", "c", "d", "e", "f"],
            "item": ["x", "x", "x", "x", None, "x", "x", "x", "x"],
            "weight": ["1", "1", "1", "1", "1", "many", "-2", " 0 ", "inf"],
        }
    )
    summary = prepare(frame).summary
    assert summary.events_dropped == {
        "no context": 3,
        "no item": 1,
        "weight missing or not a number": 2,
        "weight not above 0": 2,
        "context without features": 0,
        "pair of low engagement": 0,
        "rare item": 0,
    }
    assert summary.events_used == {"labels": 1}


def test_labels_with_commas_and_quotes_are_not_changed(tmp_path):
    text = 'context,item\na,"red, round"\nb,"the ""best"" hat"\nc,\'single\'\n'
    prepared = prepare(write(tmp_path, text))
    assert prepared.train.label_names.tolist() == ["'single'", "red, round", 'the "best" hat']
    prepared.save(tmp_path / "out")
    lines = (tmp_path / "out" / "labels.txt").read_text().splitlines()
    assert lines == prepared.train.label_names.tolist()


def test_names_with_line_breaks_become_one_line_and_are_counted(tmp_path):
    text = 'context,item\na,"two\nlines"\nb,"two lines"\nc,"two\r\n\tlines"\nd,plain\n'
    prepared = prepare(write(tmp_path, text))
    names = prepared.train.label_names.tolist()
    assert names == ["plain", "two lines [two lines]", "two lines [two lines] (2)", "two lines [two lines] (3)"]
    assert prepared.summary.notes["names with line breaks (a space is put)"] == 2
    assert prepared.summary.notes["names of several items (their id is added)"] == 3


def test_items_get_their_most_common_name():
    frame = pl.DataFrame(
        {
            "context": list("abcdefg"),
            "item": ["1", "1", "1", "2", "3", "4", "4"],
            "name": ["Hat", "Hut", "Hat", "Hat ", None, "B", "A"],
        }
    )
    prepared = prepare(frame, item_name="name")
    assert prepared.train.label_names.tolist() == ["1", "2", "3", "4"]
    assert prepared.train.label_texts.lists() == [["Hat"], ["Hat"], [], ["A"]]
    assert prepared.summary.notes == {
        "items without a name": 1,
        "names of several items (their id is added)": 2,
    }


def test_very_many_items_of_which_most_occur_once(monkeypatch):
    n = 200_000
    rng = np.random.default_rng(0)
    common = pl.DataFrame({"context": rng.integers(0, 500, 5000), "item": rng.integers(0, 20, 5000)})
    once = pl.DataFrame({"context": rng.integers(0, 500, n), "item": np.arange(1000, 1000 + n)})
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 60_000)
    prepared = prepare(pl.concat([common, once]), min_item_contexts=2)
    assert prepared.train.n_labels == 20
    assert prepared.summary.items["seen"] == n + 20
    assert prepared.summary.events_dropped["rare item"] == n
    assert prepare(pl.concat([common, once])).train.n_labels == n + 20


def test_an_empty_result_says_which_events_were_dropped():
    frame = pl.DataFrame({"context": ["a", "b"], "item": ["x", "y"]})
    with pytest.raises(InputError, match=r"no context remains: of 2 events, 2 rare item"):
        prepare(frame, min_item_contexts=2)
    with pytest.raises(InputError, match=r"no context remains: of 2 events, 2 pair of low engagement"):
        prepare(frame, min_engagement=2)


@pytest.mark.parametrize(
    ("column", "values"),
    [("context", [["a"]]), ("item", [["a"]]), ("weight", [["a"]])],
)
def test_columns_of_lists_where_there_should_be_values_are_refused(column, values):
    frame = pl.DataFrame({"context": ["a"], "item": ["x"], "weight": [1.0]}).with_columns(pl.Series(column, values))
    with pytest.raises(InputError, match=f"the column '{column}' .* must hold"):
        prepare(frame, feature_column="item")


def test_the_first_byte_that_is_not_utf8_is_found_across_blocks(tmp_path):
    good = "é".encode() * (1 << 19) + "€𝄞".encode()  # the euro sign is cut by the end of the first block
    path = write(tmp_path, b"x" + good)
    assert invalid_utf8(path) is None
    path.write_bytes(b"x" + good + b"\xe9 and more")
    assert invalid_utf8(path) == len(good) + 1
    path.write_bytes(b"x" + good + b"\xe2\x82")
    assert invalid_utf8(path) == len(good) + 1


def test_a_header_that_is_not_csv_is_refused(tmp_path):
    path = write(tmp_path, b"context,it\rem\na,x\n")
    with pytest.raises(FileFormatError, match=r"log\.csv, line 1: cannot be read as CSV: new-line character"):
        prepare(path)


def test_damaged_parquet_logs_end_in_our_error(tmp_path):
    frame = pl.DataFrame({"context": [f"c{i % 9}" for i in range(300)], "item": [f"i{i % 7}" for i in range(300)]})
    frame.write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").unlink()
    path = tmp_path / "log.parquet"
    rng = np.random.default_rng(1)
    for _ in range(30):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=4):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(lt.errors.LabelTreesError):
            prepare(path)
