"""A small file cannot fill the memory: long lines and decompression bombs are refused with the file and the line."""

import contextlib
import dataclasses
import gzip
import io
import lzma
import re
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import labeltrees as lt
from labeltrees.data import encoder_file, read_limits, vocabulary
from labeltrees.data import limits as module
from labeltrees.data import parquet as parquet_module
from labeltrees.data.files import open_any, read_lines, write_any
from labeltrees.data.parquet import check_parquet_sizes

SUFFIXES = ["", ".gz", ".xz", ".zst"]


def write(path, data):
    with write_any(path) as stream:
        stream.write(data)
    return path


@pytest.fixture
def small_free_size(monkeypatch):
    monkeypatch.setattr(module, "FREE_BYTES", 1 << 20)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("a.jsonl", b'{"text": "red cat", "labels": ["x"]}\n', b'{"text": "%s", "labels": ["x"]}\n' % (b"red " * 150)),
        ("a.csv", b"text,labels\nred cat,x\n", b"%s,x\n" % (b"red " * 150)),
        ("a.tsv", b"text\tlabels\nred cat\tx\n", b"%s\tx\n" % (b"red " * 150)),
        ("a.ft", b"__label__x red cat\n", b"__label__x %s\n" % (b"red " * 150)),
    ],
)
def test_a_long_line_is_refused_with_its_number(tmp_path, suffix, name, good, bad):
    path = write(tmp_path / f"{name}{suffix}", good + bad + good.splitlines(True)[-1])
    line = good.count(b"\n") + 1
    lt.read_texts(path)
    with pytest.raises(lt.errors.FileFormatError, match=rf"{name}{suffix}, line {line}: longer than 500 bytes"):
        with read_limits(line_bytes=500):
            lt.read_texts(path)
    with read_limits(line_bytes=len(bad)):
        lt.read_texts(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_long_lines_of_xmc_files_and_names_are_refused(tmp_path, suffix):
    points = write(tmp_path / f"a.txt{suffix}", b"2 100 1\n0 0:1\n0 %s\n" % b" ".join(b"%d:1" % i for i in range(100)))
    names = write(tmp_path / f"names.txt{suffix}", b"one\n%s\n" % (b"x" * 300))
    with read_limits(line_bytes=200):
        with pytest.raises(lt.errors.FileFormatError, match=r"a\.txt.*, line 3: longer than 200 bytes"):
            lt.read_xmc(points)
        with pytest.raises(lt.errors.FileFormatError, match=r"names\.txt.*, line 2: longer than 200 bytes"):
            read_lines(names)


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 16])
def test_the_limit_is_exact_however_the_file_is_read(tmp_path, block):
    path = write(tmp_path / "a.txt", b"123456789\n" * 5 + b"1234567890\n" + b"1")

    def read(line_bytes):
        with read_limits(line_bytes=line_bytes), open_any(path) as stream:
            return b"".join(iter(lambda: stream.read(block), b""))

    assert read(11) == path.read_bytes()
    with pytest.raises(lt.errors.FileFormatError, match="line 6"):
        read(10)
    with pytest.raises(lt.errors.FileFormatError, match="line 1"):
        read(9)


def test_a_quoted_field_that_does_not_end_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", b"text,labels\nred,x\n" + b'"open\n' * 1 + b"more\n" * 200)
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.csv, line \d+: longer than 100 bytes"):
        with read_limits(line_bytes=100):
            lt.read_texts(path)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_a_bomb_is_refused_before_it_is_in_memory(tmp_path, small_free_size, compress):
    suffix = ".gz" if compress is gzip.compress else ".xz"
    path = tmp_path / f"a.jsonl{suffix}"
    path.write_bytes(compress(b'{"text": "red cat", "labels": ["x"]}\n' * 3 + b" " * (4 << 20)))
    with pytest.raises(
        lt.errors.FileFormatError, match=r"a\.jsonl\.\w\w, line 4: decompresses to more than 250 times its"
    ):
        lt.read_texts(path)
    with read_limits(ratio=10**6):
        assert lt.read_texts(path).n_points == 3


def test_the_size_after_decompression_is_limited(tmp_path):
    path = write(tmp_path / "a.ft.gz", b"__label__x red cat\n" * 1000)
    with pytest.raises(lt.errors.FileFormatError, match="decompresses to more than 9,999 bytes"):
        with read_limits(decompressed_bytes=9999):
            lt.read_texts(path)
    plain = write(tmp_path / "a.ft", b"__label__x red cat\n" * 1000)
    with read_limits(decompressed_bytes=9999):
        assert lt.read_texts(plain).n_points == 1000


@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_lines_are_counted_in_blocks_of_any_size(block):
    def read(data, line_bytes):
        with read_limits(line_bytes=line_bytes):
            reader = module.BoundedReader("a.txt", io.BytesIO(data), None)
        while reader.readinto(bytearray(block)):
            pass

    data = b"\n\n12345\n\n123456\n1"
    read(data, 7)
    for line_bytes, line in ((6, 5), (5, 3), (1, 3)):
        with pytest.raises(lt.errors.FileFormatError, match=f"line {line}: longer"):
            read(data, line_bytes)
    read(b"1234567", 7)
    with pytest.raises(lt.errors.FileFormatError, match="line 1: longer"):
        read(b"1234567", 6)


def test_limits_of_the_environment_are_exact(monkeypatch):
    for text in ("1", "9" * 18):
        monkeypatch.setenv("LABELTREES_MAX_DECOMPRESSION_RATIO", text)
        assert module.current_limits().ratio == int(text)
    for text in ("9" * 19, "\uff11", "1_0", " 1"):
        monkeypatch.setenv("LABELTREES_MAX_DECOMPRESSION_RATIO", text)
        with pytest.raises(lt.errors.InputError, match="LABELTREES_MAX_DECOMPRESSION_RATIO must be"):
            module.current_limits()


def test_limits_of_sizes_are_exact(monkeypatch):
    monkeypatch.setattr(module, "FREE_BYTES", 10)
    module.ReadLimits(decompressed_bytes=1000).check_size("a", 1000, 999)
    with pytest.raises(lt.errors.FileFormatError, match="a: decompresses to more than 1,000 bytes"):
        module.ReadLimits(decompressed_bytes=1000).check_size("a", 1001, 999)
    for n_bytes, n_compressed in ((20, 10), (10, 1), (10, 0)):
        module.ReadLimits(ratio=2).check_size("a", n_bytes, n_compressed)
        with pytest.raises(lt.errors.FileFormatError, match="a, line 7: decompresses to more than 2 times its size"):
            module.ReadLimits(ratio=2).check_size("a", n_bytes + 1, n_compressed, 7)


def test_limits_come_from_the_environment(tmp_path, monkeypatch):
    path = write(tmp_path / "a.ft", b"__label__x red cat\n" * 3)
    monkeypatch.setenv("LABELTREES_MAX_LINE_BYTES", "5")
    with pytest.raises(lt.errors.FileFormatError, match=r"line 1: longer than 5 bytes.*LABELTREES_MAX_LINE_BYTES"):
        lt.read_texts(path)
    with read_limits(line_bytes=100):
        assert lt.read_texts(path).n_points == 3
    for wrong in ("much", "-1", "0", "9" * 30):
        monkeypatch.setenv("LABELTREES_MAX_LINE_BYTES", wrong)
        with pytest.raises(lt.errors.InputError, match="LABELTREES_MAX_LINE_BYTES must be a positive integer"):
            lt.read_texts(path)


@pytest.mark.parametrize("value", [0, -1, 1.5, "1"])
def test_bad_limits_are_refused(value):
    with pytest.raises(lt.errors.InputError, match="ratio must be"), read_limits(ratio=value):
        pass


# ---- Parquet ---------------------------------------------------------------------------------------------------------


def parquet(path, texts, labels=None, **options):
    labels = [["x"]] * len(texts) if labels is None else labels
    pl.DataFrame({"text": texts, "labels": labels}).write_parquet(path, **options)
    return path


@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "zstd", "gzip", "lz4", "brotli"])
def test_the_sizes_of_parquet_pages_are_found(tmp_path, compression):
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abcdef "), 200)) for _ in range(500)]
    path = parquet(tmp_path / "a.parquet", texts, compression=compression, row_group_size=100)
    assert 500 * 200 <= check_parquet_sizes(path) <= 500 * 230


def test_a_parquet_bomb_is_refused(tmp_path, small_free_size):
    path = parquet(tmp_path / "a.parquet", ["a" * (4 << 20)], compression="zstd", statistics=False)
    assert path.stat().st_size < 10_000
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.parquet: decompresses to more than 250 times its size"):
        lt.read_texts(path)
    with pytest.raises(lt.errors.FileFormatError, match="decompresses to more than 250 times"):
        lt.prepare_logs(path, lt.Columns(context="text", item="text"))


@pytest.mark.parametrize("labels", [[[None] * 400_000], [[]] * 400_000], ids=["nulls in one list", "empty rows"])
def test_millions_of_values_that_take_no_bytes_are_refused(tmp_path, small_free_size, labels):
    path = parquet(tmp_path / "a.parquet", [""] * len(labels), labels, compression="zstd")
    assert path.stat().st_size < 10_000
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.parquet: decompresses to more than 250 times its size"):
        lt.read_texts(path)


def test_one_long_text_for_many_rows_is_refused(tmp_path, small_free_size):
    path = parquet(tmp_path / "a.parquet", ["red " * 30_000] * 500, compression="zstd", statistics=False)
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.parquet, line 1: decompresses to more than"):
        lt.read_texts(path)


@pytest.mark.parametrize("field", ["texts", "labels"])
def test_a_long_text_of_a_parquet_file_is_refused_with_its_row(tmp_path, field):
    long = {"texts": ["red cat", "red cat", "red " * 150], "labels": [["x"], ["x"], ["x", "y" * 600]]}
    path = parquet(tmp_path / "a.parquet", long["texts"] if field == "texts" else ["red cat"] * 3, long["labels"])
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.parquet, line 3: longer than 500 bytes"):
        with read_limits(line_bytes=500):
            lt.read_texts(path)


def test_damaged_parquet_files_end_in_our_error(tmp_path):
    whole = parquet(tmp_path / "a.parquet", [f"text {i}" for i in range(300)]).read_bytes()
    rng = np.random.default_rng(3)
    path = tmp_path / "b.parquet"
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(4, len(whole))] if rng.random() < 0.3 else damaged)
        with contextlib.suppress(lt.errors.LabelTreesError):
            lt.read_texts(path)


def test_deep_parquet_metadata_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    for metadata in (b"\x49" + b"\x19" * 5000, b"\x1c" * 5000, b"\x49\xff\xff\xff\xff\xff\xff\x0f", b""):
        path.write_bytes(b"PAR1" + metadata + len(metadata).to_bytes(4, "little") + b"PAR1")
        with pytest.raises(lt.errors.FileFormatError, match=r"a\.parquet: cannot be read as Parquet"):
            lt.read_texts(path)


def test_a_small_xz_file_cannot_declare_a_large_dictionary(tmp_path):
    path = tmp_path / "a.jsonl.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4 << 20}]
    data = lzma.compress(b'{"text": "red cat", "labels": ["x"]}\n' * 2, filters=filters)
    # The byte of the block header that holds the size of the dictionary: 40 is 4 GiB - 1.
    at = data.index(bytes([lzma.FILTER_LZMA2, 1])) + 2
    header = data[12 : 12 + 4 * (data[12] + 1) - 4]
    changed = header[: at - 12] + bytes([40]) + header[at - 11 :]
    crc = zlib.crc32(changed).to_bytes(4, "little")
    path.write_bytes(data[:12] + changed + crc + data[12 + len(header) + 4 :])
    assert path.stat().st_size < 200
    with pytest.raises(lt.errors.FileFormatError, match=r"takes more than 134,217,728 bytes.*dictionary_bytes"):
        lt.read_texts(path)
    with read_limits(dictionary_bytes=1 << 33):
        assert lt.read_texts(path).n_points == 2


def test_a_zstd_file_with_a_large_window_is_refused(tmp_path):
    path = write(tmp_path / "a.jsonl.zst", b'{"text": "%s", "labels": ["x"]}\n' % (b"red " * 3_000_000))
    with read_limits(dictionary_bytes=1 << 12), pytest.raises(lt.errors.FileFormatError, match="dictionary_bytes"):
        lt.read_texts(path)


def test_xz_streams_one_after_another_are_read(tmp_path):
    path = tmp_path / "a.jsonl.xz"
    line = b'{"text": "red cat", "labels": ["x"]}\n'
    path.write_bytes(lzma.compress(line) + b"\0" * 8 + lzma.compress(line * 50_000) + lzma.compress(line))
    assert lt.read_texts(path).n_points == 50_002
    path.write_bytes(lzma.compress(line * 50_000)[:-20])
    with pytest.raises(lt.errors.FileFormatError, match="ends too soon"):
        lt.read_texts(path)


def test_the_defaults_are_those_of_the_documentation():
    text = " ".join((Path(__file__).parents[2] / "SECURITY.md").read_text("utf-8").split())
    rows = re.findall(r"\| ([\d,]+)( [MG]iB)? \| `(\w+)` \| `(\w+)` \|", text)
    units = {"": 1, " MiB": 2**20, " GiB": 2**30}
    assert {name: int(size) * units[unit] for size, unit, name, _ in rows} == dataclasses.asdict(module.ReadLimits())
    assert "above 64 MiB" in text
    assert module.FREE_BYTES == 64 * 2**20
    assert f"{encoder_file._HEADER_BYTES >> 20} MiB for the header of an encoder file" in text
    assert f"{parquet_module._MOST_METADATA_BYTES >> 20} MiB for the metadata of a Parquet file" in text
    assert f"{vocabulary._DEEPEST_XML} nested elements" in text


@pytest.mark.parametrize("variable", ["LINE_BYTES", "DECOMPRESSED_BYTES", "DECOMPRESSION_RATIO", "DICTIONARY_BYTES"])
def test_every_variable_of_the_documentation_is_read(variable, monkeypatch):
    monkeypatch.setenv(f"LABELTREES_MAX_{variable}", "77")
    assert 77 in dataclasses.astuple(module.current_limits())
