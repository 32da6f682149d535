"""The XMC format: whole files against a plain parser, and in blocks."""

import gzip
import io
import itertools
import logging
import lzma
import os
import re
import struct
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import labeltrees as lt
from labeltrees import _core
from labeltrees.data.xmc import open_xmc_blocks
from labeltrees.errors import FileFormatError, InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}
OUT_OF_RANGE = "is out of range (the header says D=5)"
HEADER_FAULT = ", line 1: the header must be three counts, 'N D L', got "
SMALL = b"3 5 4\n0,3 0:0.5 4:-1.25\n 1:3\n2\n"
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
numbers = st.one_of(
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
)
pieces = st.sampled_from(
    b" |\t|\n|\r\n|:|,|-|+|.|e|0|1|2|17|99999999999999999999|1:1| 2:0.5|0,1|nan|inf|\x00|\xff|1e5|\r".split(b"|")
)
nonsense = st.one_of(
    st.binary(max_size=60),
    st.lists(pieces, max_size=25).map(b"".join),
    st.tuples(st.integers(0, 4), st.lists(pieces, max_size=25)).map(lambda x: b"%d 3 3\n" % x[0] + b"".join(x[1])),
)
N_POINTS = 500


class Refused(Exception):
    pass


def require(condition):
    if not condition:
        raise Refused


def plain_read(data):
    """Read as the format is described, one token after the other; the witness for the native reader, ids from 0."""
    require(data)
    header, *lines = data.removesuffix(b"\n").split(b"\n")
    require(re.fullmatch(rb"[ \t\r]*\d+[ \t\r]+\d+[ \t\r]+\d+[ \t\r]*", header))
    n_points, n_features, n_labels = map(int, header.split())
    require(max(n_features, n_labels) < 2**31)
    lines = [line.removesuffix(b"\r") for line in lines]
    require(len(lines) >= n_points and not any(line.strip(b" \t") for line in lines[n_points:]))
    rows = []
    for line in lines[:n_points]:
        tokens = re.split(rb"[ \t]+", line)
        has_labels = tokens[0] and b":" not in tokens[0]
        label_tokens = tokens.pop(0).split(b",") if has_labels else []
        require(all(re.fullmatch(rb"\d+", token) for token in label_tokens))
        labels = {int(token) for token in label_tokens}
        features = {}
        for token in filter(None, tokens):
            feature, colon, value = token.partition(b":")
            require(colon and re.fullmatch(rb"\d+", feature) and NUMBER.fullmatch(value))
            require(int(feature) not in features)
            with np.errstate(over="ignore"):
                features[int(feature)] = np.float32(float(value))
        require(all(label < n_labels for label in labels) and all(feature < n_features for feature in features))
        require(np.isfinite(list(features.values())).all())
        rows.append((sorted(labels), sorted(features.items())))
    return n_features, n_labels, rows


def native_read(data, index_base=0, cuts=()):
    """Feed the native parser with pieces of `data`; what `plain_read` gives."""
    parser = _core.XmcParser(index_base)
    for start, end in itertools.pairwise([0, *cuts, len(data)]):
        parser.feed(data[start:end])
    parser.finish()
    values, features, feature_ptr, labels, label_ptr = parser.take_block()
    rows = []
    for i in range(parser.n_points):
        part = slice(feature_ptr[i], feature_ptr[i + 1])
        pairs = list(zip(features[part].tolist(), values[part], strict=True))
        rows.append((labels[label_ptr[i] : label_ptr[i + 1]].tolist(), pairs))
    return parser.n_features, parser.n_labels, rows


def write(folder, data, name="data.txt"):
    path = folder / name
    path.write_bytes(COMPRESS[path.suffix if path.suffix in COMPRESS else ""](data))
    return path


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_file_is_read_by_its_extension(tmp_path, suffix):
    dataset = lt.read_xmc(write(tmp_path, SMALL, "data.txt" + suffix))
    np.testing.assert_array_equal(
        dataset.X.toarray(), np.float32([[0.5, 0, 0, 0, -1.25], [0, 3, 0, 0, 0], [0, 0, 0, 0, 0]])
    )
    np.testing.assert_array_equal(dataset.Y.toarray(), [[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])
    assert dataset.X.indices.dtype == dataset.Y.indptr.dtype == np.int32


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"0,1 2:1\n", ([0, 1], {2: 1})),
        (b" 2:1\n", ([], {2: 1})),
        (b"2:1\n", ([], {2: 1})),
        (b"2:1 3:4\n", ([], {2: 1, 3: 4})),
        (b"1\n", ([1], {})),
        (b"1 \n", ([1], {})),
        (b"\n", ([], {})),
        (b" \t \n", ([], {})),
        (b"1 2:1", ([1], {2: 1})),
        (b"1", ([1], {})),
        (b"1 2:1  \t3:5   \n", ([1], {2: 1, 3: 5})),
        (b"1 2:1\r\n", ([1], {2: 1})),
        (b"1 2:1 \r\n", ([1], {2: 1})),
        (b"1\r\n", ([1], {})),
        (b"\r\n", ([], {})),
        (b"1 2:1\r", ([1], {2: 1})),
        (b"1 3:5 2:1\n", ([1], {2: 1, 3: 5})),
        (b"3,1,3,0 2:1\n", ([0, 1, 3], {2: 1})),
        (b"003 00000000000000000000002:1\n", ([3], {2: 1})),
        (b"1 2:1\n\n \r\n\t\n", ([1], {2: 1})),
        (b"1 2:0\n", ([1], {2: 0})),
    ],
)
def test_unusual_but_valid_lines(lines, expected):
    assert plain_read(b"1 5 4\n" + lines) == (5, 4, [(expected[0], sorted(expected[1].items()))])
    assert native_read(b"1 5 4\n" + lines) == plain_read(b"1 5 4\n" + lines)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", ": the file is empty: no header 'N D L'"),
        (b"\n", HEADER_FAULT + "''"),
        (b"3 4\n", HEADER_FAULT + "'3 4'"),
        (b"1 2 3 4\n", HEADER_FAULT + "'1 2 3 4'"),
        (b"a b c\n", HEADER_FAULT + "'a b c'"),
        (b"-1 2 3\n", HEADER_FAULT + "'-1 2 3'"),
        (b"1,2 3:4\n", HEADER_FAULT + "'1,2 3:4'"),
        (b"\xff\x00" * 3000, HEADER_FAULT + "'" + r"\xff\x00" * 15 + "...'"),
        (b"1 3000000000 3\n", ", line 1: the header's D is too large"),
        (b"1 5 4" + b" " * 1000 + b"9\n0 1:1\n", HEADER_FAULT + "'1 5 4" + " " * 25 + "...'"),
        (b"1 3 99999999999999999999\n", ", line 1: the header's L is too large"),
        (b"4" + SMALL[1:], ": the header says N=4 points, the file has 3"),
        (b"2" + SMALL[1:], ", line 4: more points than the header says (N=2)"),
        (b"2 5 4\n\n\n\n\n 1:1", ", line 6: more points than the header says (N=2)"),
        (b"1 5 4\n0 5001:1\n", ", line 2: feature id 5001 is out of range (the header says D=5)"),
        (b"1 5 4\n7,1 1:1\n", ", line 2: label id 7 is out of range (the header says L=4)"),
        (b"1 0 4\n1 0:1\n", ", line 2: feature id 0 is out of range (the header says D=0)"),
        (b"1 5 0\n0 0:1\n", ", line 2: label id 0 is out of range (the header says L=0)"),
        (b"1 5 4\n0 18446744073709551617:1", f", line 2: feature id 18446744073709551617 {OUT_OF_RANGE}"),
        (b"1 5 4\n4294967296 1:1", ", line 2: label id 4294967296 is out of range (the header says L=4)"),
        (b"2 5 4\n0\n0 -1:1\n", ", line 3: feature id -1 is negative"),
        (b"1 5 4\n-1,2 1:1\n", ", line 2: label id -1 is negative"),
        (b"1 5 4\n1,-2 1:1\n", ", line 2: label id -2 is negative"),
        (b"1 5 4\n1,,2 1:1\n", ", line 2: a label id is missing beside ','"),
        (b"1 5 4\n1,2, 1:1\n", ", line 2: a label id is missing beside ','"),
        (b"1 5 4\n,1 1:1\n", ", line 2: a label id is missing beside ','"),
        (b"1 5 4\n1,2:3 1:1\n", ", line 2: a ':' among the labels, at '2:3'"),
        (b"1 5 4\n1.5 1:1\n", ", line 2: '1.5' is not a label id"),
        (b"1 5 4\ncat 1:1\n", ", line 2: 'cat' is not a label id"),
        (b"1 5 4\n0 1:1 2\n", ", line 2: a ':' is missing after feature id '2'"),
        (b"1 5 4\n0 cat:1\n", ", line 2: 'cat:1' is not a feature id"),
        (b"1 5 4\n0 1;2\n", ", line 2: '1;2' is not a feature id"),
        (b"1 5 4\n0 :2\n", ", line 2: the feature id before ':' is missing"),
        (b"1 5 4\n:2\n", ", line 2: the feature id before ':' is missing"),
        (b"1 5 4\n0 1:\n", ", line 2: feature 1 has no value"),
        (b"1 5 4\n0 1: 2:1\n", ", line 2: feature 1 has no value"),
        (b"1 5 4\n0 1:x\n", ", line 2: the value 'x' of feature 1 is not a number"),
        (b"1 5 4\n0 1:1:2\n", ", line 2: the value '1:2' of feature 1 is not a number"),
        (b"1 5 4\n0 1:0x10\n", ", line 2: the value '0x10' of feature 1 is not a number"),
        (b"1 5 4\n0 1:nan\n", ", line 2: the value 'nan' of feature 1 is not a finite float32"),
        (b"1 5 4\n0 1:-inf\n", ", line 2: the value '-inf' of feature 1 is not a finite float32"),
        (b"1 5 4\n0 1:1e39\n", ", line 2: the value '1e39' of feature 1 is not a finite float32"),
        (b"1 5 4\n0 1:-1e999999999\n", ", line 2: the value '-1e999999999' of feature 1 is not a finite float32"),
        (b"1 5 4\n0 3:1 1:2 3:1\n", ", line 2: feature id 3 occurs twice"),
        (b"1 5 4\n0 3:1 3:1\n", ", line 2: feature id 3 occurs twice"),
        (b"1 5 4\n0 3:1\r 2:1\n", ", line 2: a carriage return in the middle of the line"),
        (b"1 5 4\n0 3:1 \x00\n", r", line 2: '\x00' is not a feature id"),
    ],
)
def test_a_fault_names_the_file_and_the_line(tmp_path, data, message):
    path = write(tmp_path, data, "bad.txt.gz")
    with pytest.raises(lt.errors.FileFormatError) as raised:
        lt.read_xmc(path)
    assert str(raised.value) == f"{path}{message}"


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_truncated_or_damaged_compressed_file_is_named(tmp_path, suffix):
    rows = b"".join(b"%d %d:%d\n" % (i % 4, i % 5, i * i) for i in range(5000))
    whole = COMPRESS[suffix](b"5000 5 4\n" + rows)
    path = tmp_path / f"data.txt{suffix}"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(lt.errors.FileFormatError, match=f"{path}: the compressed file ends too soon"):
        lt.read_xmc(path)
    path.write_bytes(SMALL)
    with pytest.raises(lt.errors.FileFormatError, match=f"{path}: the compressed file is damaged"):
        lt.read_xmc(path)


def test_a_missing_file_is_an_error_of_both_families(tmp_path):
    for kind in (lt.errors.FileFormatError, FileNotFoundError):
        with pytest.raises(kind, match=r"none\.txt: no such file"):
            lt.read_xmc(tmp_path / "none.txt")


@pytest.mark.parametrize("index_base", [2, "one", True, None])
def test_index_base_is_checked(tmp_path, index_base):
    with pytest.raises(lt.errors.InputError, match="index_base must be 'auto', 0 or 1"):
        lt.read_xmc(tmp_path / "none.txt", index_base)


@pytest.mark.parametrize(
    ("data", "judged_by"),
    [
        (b"2 5 4\n1,2 1:1 2:1\n3 5:2\n", 3),
        (b"2 5 4\n4,2 1:1 2:1\n3 4:2\n", 2),
    ],
)
def test_ids_count_from_1_only_if_one_equals_d_or_l(tmp_path, caplog, data, judged_by):
    path = write(tmp_path, data)
    with caplog.at_level(logging.INFO, logger="labeltrees"):
        judged = lt.read_xmc(path)
    assert caplog.messages == [
        f"{path}: ids are taken to start at 1, because line {judged_by} has an id equal to the header's D or L"
    ]
    caplog.clear()
    given = lt.read_xmc(path, index_base=1)
    assert not caplog.messages
    for dataset in (judged, given):
        assert dataset.X[[0]].indices.tolist() == [0, 1]
        assert dataset.Y[[1]].indices.tolist() == [2]
        assert dataset.n_features == 5
    with pytest.raises(lt.errors.FileFormatError, match="is out of range"):
        lt.read_xmc(path, index_base=0)


def test_without_such_an_id_they_count_from_0(tmp_path, caplog):
    dataset = lt.read_xmc(write(tmp_path, b"1 5 4\n3 4:1\n"))
    assert (dataset.X.indices.tolist(), dataset.Y.indices.tolist(), caplog.messages) == ([4], [3], [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"3 5 4\n1 1:1\n4\n0 1:1\n", "line 4: label id 0, but ids seem to count from 1: line 3 has label id 4 (= L)"),
        (
            b"2 5 4\n2 3:1 0:2\n1 5:1\n",
            "line 2: feature id 0, but ids seem to count from 1: line 3 has feature id 5 (= D)",
        ),
    ],
)
def test_a_zero_in_a_file_judged_to_count_from_1_is_an_error(tmp_path, data, message):
    with pytest.raises(lt.errors.FileFormatError, match=re.escape(message)):
        lt.read_xmc(write(tmp_path, data))
    with pytest.raises(lt.errors.FileFormatError, match="id 0 in a file whose ids count from 1"):
        lt.read_xmc(write(tmp_path, data), index_base=1)


@settings(deadline=None, max_examples=300)
@given(numbers)
@example("9007199254740993")
@example("9007199254740992.0000")
@example("0.00000000000000000000000000000000000000000000140129846432481707")
@example("3.4028235677973366e38")
@example("340282346638528859811704183484516925440")
@example("1e-400")
@example("0e999999999999999999999")
@example("0." + "0" * 500 + "1e501")
@example("1" + "0" * 500 + "e-500")
@example("1.00000005960464477539062500000000000000000000001")
@example("2.2250738585072011e-308")
@example("5.")
@example(".5")
@example("+5")
@example("-0")
def test_values_equal_pythons_float_rounded_to_float32(text):
    with np.errstate(over="ignore"):
        expected = np.float32(float(text))
    data = b"1 1 1\n 0:" + text.encode() + b"\n"
    if not np.isfinite(expected):
        with pytest.raises(ValueError, match="is not a finite float32"):
            native_read(data)
        return
    ((_, ((_, value),)),) = native_read(data)[2]
    assert value.tobytes() == expected.tobytes()


@settings(deadline=None, max_examples=600)
@given(nonsense, st.lists(st.integers(0, 80), max_size=4))
def test_any_bytes_give_what_the_plain_reader_gives_or_one_error(data, cuts):
    cuts = sorted(min(cut, len(data)) for cut in cuts)
    try:
        expected = plain_read(data)
    except Refused:
        with pytest.raises(ValueError, match=r"^line \d+: |header"):
            native_read(data, cuts=cuts)
    else:
        assert native_read(data, cuts=cuts) == expected


@settings(deadline=None, max_examples=150)
@given(nonsense, st.sampled_from([-1, 1]))
def test_any_bytes_are_harmless_under_every_index_base(data, index_base):
    try:
        n_features, n_labels, rows = native_read(data, index_base)
    except ValueError:
        return
    for labels, pairs in rows:
        assert all(0 <= label < n_labels for label in labels)
        assert all(0 <= feature < n_features for feature, _ in pairs)


@st.composite
def datasets(draw):
    n, d, n_labels = draw(st.integers(0, 6)), draw(st.integers(0, 8)), draw(st.integers(0, 5))
    values = st.floats(width=32, allow_nan=False, allow_infinity=False)
    X = np.array(draw(st.lists(values, min_size=n * d, max_size=n * d)), dtype=np.float32).reshape(n, d)
    Y = np.array(draw(st.lists(st.booleans(), min_size=n * n_labels, max_size=n * n_labels)), dtype=bool)
    return lt.Dataset(X, Y.reshape(n, n_labels))


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(datasets(), st.sampled_from(list(COMPRESS)))
def test_written_files_read_back_bit_by_bit(tmp_path, dataset, suffix):
    path = tmp_path / f"data.txt{suffix}"
    lt.write_xmc(dataset, path)
    again = lt.read_xmc(path, index_base=0)
    for a, b in ((dataset.X, again.X), (dataset.Y, again.Y)):
        assert a.shape == b.shape
        assert (a.indptr.tolist(), a.indices.tolist()) == (b.indptr.tolist(), b.indices.tolist())
        assert a.data.tobytes() == b.data.tobytes()


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 2**32 - 1))
@example(0x15AE43FD)  # its shortest text, 7.038531e-26, is read as its neighbour
@example(0x95AE43FD)
def test_every_float32_has_a_text_that_reads_back(bits):
    value = np.frombuffer(struct.pack("<I", bits), dtype=np.float32)
    if not np.isfinite(value[0]):
        return
    pointer = np.array([0, 1], dtype=np.int64)
    line = _core.write_xmc_lines(
        0, 1, pointer, np.zeros(1, np.int32), value, np.zeros(2, np.int64), np.zeros(0, np.int32)
    )
    ((_, ((_, again),)),) = native_read(b"1 1 1\n" + line)[2]
    assert again.tobytes() == value.tobytes()
    assert len(line) <= len(f" 0:{value[0]!s}\n") + 2


def random_dataset(n_points, n_features, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_points, n_features)) * (rng.random((n_points, n_features)) < 0.3)
    return lt.Dataset(X, rng.random((n_points, n_labels)) < 0.1)


def test_scikit_learn_reads_the_same(tmp_path):
    path = tmp_path / "data.txt"
    lt.write_xmc(random_dataset(300, 40, 20), path)
    X, labels = load_svmlight_file(
        io.BytesIO(path.read_bytes().split(b"\n", 1)[1]), n_features=40, multilabel=True, zero_based=True
    )
    dataset = lt.read_xmc(path)
    np.testing.assert_array_equal(dataset.X.toarray(), X.toarray().astype(np.float32))
    assert [tuple(dataset.Y[[i]].indices.tolist()) for i in range(300)] == [tuple(map(int, row)) for row in labels]


def test_files_of_many_blocks_are_read_and_written_whole(tmp_path):
    dataset = random_dataset(4000, 400, 50)
    path = tmp_path / "data.txt"
    lt.write_xmc(dataset, path)
    assert path.stat().st_size > 4 << 20
    again = lt.read_xmc(path)
    np.testing.assert_array_equal(again.X.toarray(), dataset.X.toarray())
    np.testing.assert_array_equal(again.Y.toarray(), dataset.Y.toarray())


def test_relevance_other_than_1_cannot_be_written(tmp_path):
    with pytest.raises(lt.errors.InputError, match=r"relevance 0.5 at row 1, column 0"):
        lt.write_xmc(lt.Dataset([[1], [1]], [[1, 0], [0.5, 1]]), tmp_path / "data.txt")
    assert not list(tmp_path.iterdir())


def test_only_datasets_are_written(tmp_path):
    with pytest.raises(lt.errors.InputError, match="dataset must be a Dataset"):
        lt.write_xmc(([[1]], [[1]]), tmp_path / "data.txt")


def sparse_dataset():
    rng = np.random.default_rng(0)
    X = sp.random_array((N_POINTS, 60), density=0.2, rng=rng, dtype=np.float32, format="csr")
    Y = sp.random_array((N_POINTS, 20), density=0.1, rng=rng, dtype=np.float32, format="csr")
    Y.data[:] = 1
    return lt.Dataset(X, Y)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / "points.txt.gz"
    lt.write_xmc(sparse_dataset(), path)
    return path


def one_based(path, target):
    """Write the points of `path` with ids from 1."""
    whole = lt.read_xmc(path)
    lines = [f"{N_POINTS} {whole.n_features} {whole.n_labels}"]
    for x, y in zip(whole.X, whole.Y, strict=True):
        labels = ",".join(str(label + 1) for label in y.indices)
        lines.append(" ".join([labels, *(f"{f + 1}:{v}" for f, v in zip(x.indices, x.data, strict=True))]))
    target.write_text("\n".join(lines) + "\n")
    return target


def put_together(blocks):
    blocks = list(blocks)
    return sp.vstack([block.X for block in blocks]), sp.vstack([block.Y for block in blocks]), len(blocks)


@pytest.mark.parametrize("block_bytes", [1, 100, 5000, 1 << 22])
def test_the_blocks_together_are_the_file(path, block_bytes):
    whole = lt.read_xmc(path)
    with open_xmc_blocks(path, block_bytes=block_bytes) as blocks:
        assert (blocks.n_points, blocks.n_features, blocks.n_labels) == (N_POINTS, 60, 20)
        X, Y, n_blocks = put_together(blocks)
    assert (X != whole.X).nnz == 0
    assert (Y != whole.Y).nnz == 0
    assert n_blocks > 10 or block_bytes > 5000


def test_auto_looks_at_the_whole_file_before_the_first_block(path, tmp_path, caplog):
    moved = one_based(path, tmp_path / "moved.txt")
    with open_xmc_blocks(moved, block_bytes=300) as blocks:
        X, Y, _ = put_together(blocks)
    whole = lt.read_xmc(path)
    assert (X != whole.X).nnz == 0
    assert (Y != whole.Y).nnz == 0
    assert "ids are taken to start at 1" in caplog.text


@pytest.mark.parametrize("index_base", ["auto", 0])
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the file is empty"),
        ("2 2 2\n0 0:1\n", r"the header says N=2 points, the file has 1"),
        ("1 2 2\n0 0:1\n1 1:1\n", "line 3"),
        ("2 2 2\n0 0:1\n1 5:1\n", "line 3: feature id 5 is out of range"),
        ("x" * 5000, "line 1: the header must be three counts"),
    ],
)
def test_a_fault_names_file_and_line(tmp_path, index_base, text, fault):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=rf"bad\.txt.*{fault}"), open_xmc_blocks(path, index_base) as blocks:
        list(blocks)


def test_a_fault_far_in_the_file_names_its_line(path, tmp_path):
    whole = one_based(path, tmp_path / "cut.txt").read_text().splitlines()
    whole[400] += " 61:1"
    (tmp_path / "cut.txt").write_text("\n".join(whole))
    with (
        pytest.raises(FileFormatError, match=r"line 401: feature id 61 "),
        open_xmc_blocks(tmp_path / "cut.txt", 1, block_bytes=2000) as blocks,
    ):
        list(blocks)


def test_streams_need_an_index_base(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot be read twice, so index_base must be 0 or 1"):
        with open_xmc_blocks(tmp_path / "pipe"):
            pass


@pytest.mark.parametrize("index_base", [2, True, "zero"])
def test_another_base_is_refused(path, index_base):
    with pytest.raises(InputError, match="index_base must be 'auto', 0 or 1"):
        with open_xmc_blocks(path, index_base):
            pass
