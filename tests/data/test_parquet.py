"""Parquet files of texts, and files that would fill the memory."""

import re

import polars as pl
import pytest

import labeltrees as lt
from labeltrees.data import parquet as module
from labeltrees.data.parquet import _Damaged, _Decoder, check_parquet_sizes
from tests.data.text_samples import LABELS, TEXTS, WEIGHTS, label_field

BOOL, I32, I64, BINARY, LIST, STRUCT = 1, 5, 6, 8, 9, 12


def test_labels_may_be_lists_or_strings(tmp_path):
    for labels in (LABELS, [label_field(names, ";") for names in LABELS]):
        pl.DataFrame({"text": TEXTS, "labels": labels, "weight": WEIGHTS}).write_parquet(tmp_path / "data.parquet")
        dataset = lt.read_texts(tmp_path / "data.parquet", weight="weight", label_separator=";")
        assert dataset.texts.tolist() == TEXTS
        assert [sorted(dataset.label_names[row.indices].tolist()) for row in dataset.Y] == [
            sorted(row) for row in LABELS
        ]
        assert dataset.sample_weight.tolist() == WEIGHTS


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"text": ["a", None], "labels": [["x"], ["y"]]}, "row 2: 'text' is null (1 of 2 rows here)"),
        ({"text": [None, None], "labels": [["x"], ["y"]]}, "row 1: 'text' is null (2 of 2 rows here)"),
        ({"text": ["a", "b"], "labels": [None, None]}, "none of the 2 texts has a label"),
        ({"text": ["a"], "labels": [[1]]}, "column 'labels' is of type List(Int64), not lists of strings or strings"),
        ({"text": [1], "labels": [["x"]]}, "column 'text' is of type Int64, not strings"),
        ({"text": ["a"]}, "no column 'labels'; the columns are 'text'"),
        ({"text": [], "labels": []}, "the file has no texts"),
    ],
)
def test_bad_columns_of_parquet_are_refused(tmp_path, columns, fault):
    path = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(f"{path}: {fault}")):
        lt.read_texts(path)


def varint(n):
    return bytes([n]) if n < 0x80 else bytes([n & 0x7F | 0x80]) + varint(n >> 7)


def number(n):
    return varint(2 * n if n >= 0 else -2 * n - 1)


def structure(**fields):
    """A structure of numbers, or of (kind, bytes), by fields named f1, f2, ..."""
    encoded, last = b"", 0
    for name, value in sorted(fields.items(), key=lambda item: int(item[0][1:])):
        kind, content = (I64, number(value)) if isinstance(value, int) else value
        encoded += bytes([(int(name[1:]) - last) << 4 | kind]) + content
        last = int(name[1:])
    return encoded + b"\0"


def structures(*items):
    head = bytes([len(items) << 4 | STRUCT]) if len(items) < 15 else bytes([0xF0 | STRUCT]) + varint(len(items))
    return LIST, head + b"".join(items)


def forged(path, *columns, body=b""):
    """A file with these columns in one group of rows."""
    chunks = [structure(f3=(STRUCT, structure(**column))) for column in columns]
    metadata = structure(f4=structures(structure(f1=structures(*chunks))))
    path.write_bytes(b"PAR1" + body + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
    return path


def page(uncompressed, compressed):
    return structure(f2=uncompressed, f3=len(compressed)) + compressed


def refused(path, fault):
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(f"cannot be read as Parquet ({fault}")):
        check_parquet_sizes(path)


def test_all_pages_of_all_columns_count(tmp_path):
    body = page(100, b"x" * 10) + page(0, b"") + page(7, b"")
    second = page(1000, b"y")
    path = forged(
        tmp_path / "a.parquet",
        {"f7": len(body), "f9": 4},
        {"f7": len(second), "f9": 4 + len(body)},
        {"f7": 0, "f9": 4},
        body=body + second,
    )
    assert check_parquet_sizes(path) == 1107
    assert check_parquet_sizes(forged(path, *[{"f7": len(body), "f9": 4}] * 20, body=body)) == 20 * 107


def test_a_column_starts_with_its_dictionary(tmp_path):
    body = page(100, b"x") + page(7, b"yy")
    for starts in ({"f9": 4 + len(page(100, b"x")), "f11": 4}, {"f9": 4, "f11": 0}, {"f9": 4, "f11": 50}):
        assert check_parquet_sizes(forged(tmp_path / "a", {"f7": len(body), **starts}, body=body)) == 107


@pytest.mark.parametrize("kind", ["f5", "f7", "f8"])
def test_values_count_even_if_they_take_no_bytes_in_the_file(tmp_path, kind):
    body = structure(f2=20, f3=0, **{kind: (STRUCT, structure(f1=60_000_000))})
    path = forged(tmp_path / "a", {"f7": len(body), "f9": 4}, body=body)
    with pytest.raises(lt.errors.FileFormatError, match="decompresses to more than 250 times its size"):
        check_parquet_sizes(path)
    with lt.data.read_limits(ratio=10**9):
        assert check_parquet_sizes(path) == 8 * 60_000_000


def test_a_page_may_have_long_statistics(tmp_path):
    text = b"x" * 3_000_000
    statistics = structure(f1=(BINARY, varint(len(text)) + text))
    body = structure(f2=70, f3=0, f5=(STRUCT, structure(f1=2, f5=(STRUCT, statistics)))) + page(30, b"yy")
    assert check_parquet_sizes(forged(tmp_path / "a", {"f7": len(body), "f9": 4}, body=body)) == 100


def test_columns_outside_the_file_are_refused(tmp_path):
    for column in ({"f7": 3}, {"f7": 3, "f9": 0}, {"f9": 4}, {"f7": -1, "f9": 4}, {"f7": 10**6, "f9": 4}):
        refused(forged(tmp_path / "a", column, body=page(1, b"")), "a column is outside the file")
    refused(forged(tmp_path / "a", {"f7": (BOOL, b""), "f9": 4}, body=b""), "the metadata end too soon")


def test_the_last_byte_of_the_file_belongs_to_it(tmp_path):
    path = forged(tmp_path / "a", {"f7": 80, "f9": 4}, body=bytes(60))
    size = path.stat().st_size
    refused(forged(tmp_path / "a", {"f7": size - 4, "f9": 4}, body=bytes(60)), "a page has no size")
    refused(forged(tmp_path / "a", {"f7": size - 3, "f9": 4}, body=bytes(60)), "a column is outside the file")


@pytest.mark.parametrize("sizes", [{}, {"f2": 5}, {"f3": 5}, {"f2": -1, "f3": 5}, {"f2": 5, "f3": -1}])
def test_pages_need_two_sizes(tmp_path, sizes):
    body = structure(**sizes) + bytes(5)
    refused(forged(tmp_path / "a", {"f7": len(body), "f9": 4}, body=body), "a page has no size")


def test_lists_and_structures_may_be_missing(tmp_path):
    for metadata in (structure(), structure(f4=1), structure(f4=structures(structure()))):
        path = tmp_path / "a"
        path.write_bytes(b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
        refused(path, "a list is missing")
    metadata = structure(f4=structures(structure(f1=structures(structure()))))
    path.write_bytes(b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
    refused(path, "a structure is missing")


def test_the_end_of_the_file_is_checked(tmp_path, monkeypatch):
    path = tmp_path / "a"
    for content, fault in [
        (b"PAR1" + bytes(3) + b"PAR1", "the file is too short"),
        (b"PAR1" + bytes(4) + b"PAR1", "the metadata end too soon"),
        (b"PAR1" + bytes(4) + b"PAR2", "its end is not"),
        (b"PAR1\0" + b"\1\0\0\0PAR1", "a list is missing"),
        (b"PAR1\0" + b"\2\0\0\0PAR1", "its end is not"),
    ]:
        path.write_bytes(content)
        refused(path, fault)
    monkeypatch.setattr(module, "_MOST_METADATA_BYTES", 5)
    for n, fault in ((5, "a list is missing"), (6, "its end is not")):
        path.write_bytes(b"PAR1" + bytes(n) + n.to_bytes(4, "little") + b"PAR1")
        refused(path, fault)


def test_numbers_have_at_most_64_bits():
    assert _Decoder(b"\x80" * 9 + b"\x01").unsigned() == 2**63
    with pytest.raises(_Damaged, match="too long"):
        _Decoder(b"\x80" * 10 + b"\x01").unsigned()
    assert [_Decoder(number(n)).signed() for n in (0, -1, 1, -(2**40), 2**40)] == [0, -1, 1, -(2**40), 2**40]


def test_structures_have_at_most_32_levels():
    assert _Decoder(b"\x1c" * 31 + bytes(32)).structure() != {}
    with pytest.raises(_Damaged, match="too deeply"):
        _Decoder(b"\x1c" * 32 + bytes(33)).structure()
    beside = structure(f1=(STRUCT, b"\0"), f2=(LIST, b"\x03"), f3=1)  # levels are left again
    decoder = _Decoder(beside * 40)
    for _ in range(40):
        assert decoder.structure()[3] == 1


def test_values_stay_inside_the_bytes():
    for content in (b"\x18\x03abc\0", b"\x17" + bytes(9), b"\x19\x33\1\2\3\0", b"\x11\0", b"\x12\0", b"\x13\x05\0"):
        decoder = _Decoder(content)
        assert list(decoder.structure()) == [1]
        assert decoder.at == len(content)
        for cut in range(len(content)):
            with pytest.raises(_Damaged):
                _Decoder(content[:cut]).structure()
    with pytest.raises(_Damaged, match="too long"):
        _Decoder(b"\x19\x43\1\2\3").structure()
    for kind in (0, 11, 13, 14, 15):
        with pytest.raises(_Damaged, match=f"unexpected kind {kind}"):
            _Decoder(bytes([0x10 | kind, 0, 0, 0])).structure()


def test_fields_have_numbers_and_truths():
    assert _Decoder(b"\x11\x12\x05" + number(20) + number(9) + b"\x15" + number(-3) + b"\0").structure() == {
        1: True,
        2: False,
        20: 9,
        21: -3,
    }
    assert _Decoder(structure(f1=(LIST, b"\xf3" + varint(20) + bytes(range(20))))).structure() == {1: list(range(20))}
