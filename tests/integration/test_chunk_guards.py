"""Forged chunks: each check of a chunk from a file is exact, and refuses with its own message."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from labeltrees.errors import FileFormatError
from labeltrees.search import Searcher

MASKS, WIDE, PAIRS, HALF, FLOAT = range(5)
FULL_ROW, MASK_ROW = 0x80, 0x81
N_LABELS, N_FEATURES, N_NODES = 5, 40, 3
OUTSIDE, SHORT, DAMAGED = "it lies outside the file", "longer than the chunk", "its header is damaged"
ROW_OUTSIDE, STRANGER, INDEX = "a row lies outside", "names a child that is not there", "its index is damaged"


def part(kind=PAIRS, children=(~0, ~1, ~2), levels=((0, 0),), slots=(), units=(), n_dense=0, header=None):
    """The bytes of a part as docs/format.md describes it; `header` has fields with other values."""
    words = b"".join(struct.pack("<Q", word) for level in levels for word in level)
    start = struct.pack(f"<{len(children)}i{len(children)}f", *children, *[0.0] * len(children))
    body = bytes(64) + start
    body += bytes(-len(body) % 64) + words
    body += struct.pack(f"<{len(slots)}{'Q' if kind == WIDE else 'I'}", *slots)
    body += struct.pack(f"<{len(units)}H", *units)
    if n_dense:
        body += bytes(-len(body) % 64) + bytes(n_dense * 2 * -(-len(children) // 16) * 16)
    if kind >= HALF:
        body += bytes(len(children) * 48 * (2 if kind == HALF else 4))
    body += bytes(-len(body) % 64)
    counts = [len(level) for level in levels] + [0] * (3 - len(levels))
    fields = {
        "lines": len(body) // 64,
        "n_children": len(children),
        "kind": kind,
        "more": 0,
        "first_child": 0,
        "n_features": N_FEATURES,
        "n_rows": len(slots),
        "n_units": len(units),
        "n_dense": n_dense,
        "n_levels": len(levels),
        **{f"words{i}": count for i, count in enumerate(counts)},
        **{f"reserved{i}": 0 for i in range(5)},
    } | (header or {})
    return struct.pack("<IHBB14I", *fields.values()) + body[64:]


def word(bits, before=0):
    return before << 32 | bits


@pytest.fixture(scope="module")
def base(twin):
    model = twin.random_model(0, n_labels=N_LABELS, n_features=N_FEATURES)
    tree = np.array([0, 3, 5, 7]), np.array([1, 2, ~0, ~1, ~2, ~3, ~4], np.int32)
    return twin.Model(*tree, N_LABELS, model.W[[0] * 7], model.bias[[0] * 7]).pack()


def check(base, chunk, node=0, matrices=False):
    """Check a store in which a node has this chunk; the others have a sound one."""
    sound = part(HALF, [~0], levels=()) if matrices else part(children=[~0])
    chunks = [sound] * N_NODES
    chunks[node] = chunk
    offsets = np.cumsum([0, *map(len, chunks)])[:-1].astype(np.int64)
    content = np.frombuffer(b"".join(chunks) + bytes(64), np.uint8)
    rank = base.feature_rank[: 0 if matrices else None]
    store = replace(base, chunks=content, offsets=offsets, feature_rank=rank, matrices=matrices, checked=False)
    Searcher(store).check()


def refused(base, chunk, message, **options):
    with pytest.raises(FileFormatError, match=rf"chunk of node \d: .*{message}"):
        check(base, chunk, **options)


FULL = (word(0b1111), word(0, 4))  # one level: features 0 to 3 have rows
ROWS = (1 | 2 << 8, FULL_ROW | 0 << 8, MASK_ROW | 0 << 8, 2 | 3 << 8)  # one weight, a full row, a mask row, two pairs
UNITS = (0b101, 0, 0, 0, 0, 0x0201)  # the mask and its two weights; two weights and their children 1 and 2


def pairs(slots=ROWS, units=UNITS, **options):
    return part(PAIRS, levels=(FULL,), slots=slots, units=units, n_dense=1, **options)


def test_sound_chunks_are_accepted(base):
    check(base, pairs())
    sixteen = [~(i % 5) for i in range(16)]
    check(base, part(MASKS, sixteen, (FULL,), [1, 0x8000, 0xFFFF, 3 | 14 << 16], units=[0] * 16))
    check(base, part(WIDE, levels=(FULL,), slots=[4, 7, 3 | 1 << 32, 0], units=[0] * 3))
    check(base, part(PAIRS, [~(i % 5) for i in range(256)]))
    for kind in (HALF, FLOAT):
        check(base, part(kind, [~0, ~1], levels=()), matrices=True)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"lines": 0}, OUTSIDE),
        ({"lines": 1}, SHORT),
        ({"lines": len(pairs()) // 64 - 1}, SHORT),
        ({"lines": 2**32 - 1}, OUTSIDE),
        ({"n_children": 0}, "impossible number of children"),
        ({"n_children": 257, "lines": 10}, "impossible number of children|outside"),
        ({"kind": 5}, "its kind is unknown"),
        ({"kind": 255}, "its kind is unknown"),
        ({"kind": HALF}, "its kind does not fit the model"),
        ({"more": 2}, DAMAGED),
        ({"first_child": 1}, "its parts do not follow each other"),
        ({"n_features": N_FEATURES - 1}, "for another number of features"),
        ({"n_features": N_FEATURES + 1}, "for another number of features"),
        ({"n_levels": 0}, "impossible number of levels"),
        ({"n_levels": 4}, "impossible number of levels"),
        ({"words0": 1}, "does not cover the features"),
        ({"words0": 3}, "does not cover the features"),
        ({"n_rows": 3}, INDEX),
        ({"n_rows": 5}, INDEX),
        ({"n_dense": 0}, ROW_OUTSIDE),
        *[({f"reserved{i}": 1}, DAMAGED) for i in range(5)],
        *[({f"words{i}": 1, "lines": 5}, DAMAGED) for i in (1, 2)],
    ],
    ids=str,
)
def test_each_field_of_the_header_is_checked(base, header, message):
    chunk = pairs(header=header)
    missing = 64 * header.get("lines", 0) - len(chunk)
    refused(base, chunk + bytes(missing if 0 < missing < 10**6 else 0), message)


@pytest.mark.parametrize("place", ["n_rows", "n_units", "n_dense", "n_levels", "words0", "words1", "words2"])
def test_a_matrix_has_no_rows_and_no_index(base, place):
    refused(base, part(HALF, [~0], levels=(), header={place: 1}), DAMAGED, matrices=True)


@pytest.mark.parametrize(
    ("row", "slot", "message"),
    [
        (0, 1 | 3 << 8, STRANGER),
        (0, 1 | 255 << 8, STRANGER),
        (1, FULL_ROW | 1 << 8, ROW_OUTSIDE),
        (2, MASK_ROW | 4 << 8, ROW_OUTSIDE),  # the mask is 0x0000 in the next case
        (2, MASK_ROW | 6 << 8, ROW_OUTSIDE),
        (3, 2 | 4 << 8, ROW_OUTSIDE),
        (3, 2 | 0xFFFFFF << 8, ROW_OUTSIDE),
        (3, 5 | 0 << 8, ROW_OUTSIDE),
        (3, 0x82, "a row's count is wrong"),
        (3, 0xFF, "a row's count is wrong"),
        (3, 0x7F, ROW_OUTSIDE),
    ],
)
def test_each_kind_of_row_stays_inside(base, row, slot, message):
    slots, units = list(ROWS), list(UNITS)
    slots[row] = slot
    if slot == MASK_ROW | 4 << 8:
        units[4] = 0b11  # two weights, but only one unit is left
    refused(base, pairs(slots, units), message)


@pytest.mark.parametrize(
    ("place", "unit", "message"),
    [(0, 0b1001, STRANGER), (0, 1 << 15, STRANGER), (5, 0x0301, STRANGER), (5, 0x0103, STRANGER)],
)
def test_rows_name_children_that_exist(base, place, unit, message):
    units = list(UNITS)
    units[place] = unit
    refused(base, pairs(units=units), message)


def test_a_mask_row_of_17_children_has_two_masks(base):
    children = [~(i % 5) for i in range(17)]

    def chunk(masks, n_weights, first=0):
        return part(PAIRS, children, ((word(1), word(0, 1)),), [MASK_ROW | first << 8], [*masks, *[0] * n_weights])

    check(base, chunk((0xFFFF, 1), 17))
    refused(base, chunk((0xFFFF, 1), 16), ROW_OUTSIDE)
    refused(base, chunk((0xFFFF, 2), 17), STRANGER)
    refused(base, chunk((0, 1), 0, first=1), ROW_OUTSIDE)
    check(base, chunk((0xFFFF, 0), 16))


@pytest.mark.parametrize("kind", [MASKS, WIDE])
def test_rows_with_masks_stay_inside(base, kind):
    half = 16 if kind == MASKS else 32
    for slot, message in [
        (0b111 | 1 << half, None),
        (0b111 | 2 << half, ROW_OUTSIDE),
        (0b111 | ((1 << half) - 1) << half, ROW_OUTSIDE),
        (0b11 | 2 << half, None),
        (0b11 | 3 << half, ROW_OUTSIDE),
        (0b1 | 9 << half, None),  # one weight is in the slot itself
        (0b1000, STRANGER),
        (1 << (half - 1), STRANGER),
    ]:
        chunk = part(kind, levels=((word(0), word(1 << 7)),), slots=[slot], units=[0] * 4)
        if message is None:
            check(base, chunk)
        else:
            refused(base, chunk, message)


def test_masks_have_at_most_16_children_and_no_full_rows(base):
    message = "its kind does not fit its children"
    for kind in (MASKS, WIDE):
        refused(base, part(kind, [~(i % 5) for i in range(17)]), message)
        refused(base, part(kind, n_dense=1), message)
        check(base, part(kind, [~(i % 5) for i in range(16)]))


def test_every_word_of_the_index_counts_the_bits_before(base):
    slots = [1] * 3
    check(base, part(levels=((word(0b11), word(0b1, 2)),), slots=slots))
    check(base, part(levels=((word(0b11),), (word(0b11), word(0b1, 2))), slots=slots))
    check(base, part(levels=((word(0b1),), (word(0b11),), (word(0b11), word(0b1, 2))), slots=slots))
    for levels in [
        ((word(0b11, 1), word(0b1, 3)),),
        ((word(0b11), word(0b1, 1)),),
        ((word(0b11), word(0b1, 3)),),
        ((word(0b111),), (word(0b11), word(0b1, 2))),
        ((word(0b1),), (word(0b11), word(0b1, 2))),
        ((word(0b11),), (word(0b11), word(0b1, 1))),
        ((word(0b1),), (word(0b1),), (word(0b11), word(0b1, 2))),
    ]:
        refused(base, part(levels=levels, slots=slots), INDEX)
    refused(base, part(levels=((word(0b11), word(0)), (word(0b11), word(0b1, 2))), slots=slots), "does not cover")


@pytest.mark.parametrize(
    ("node", "child", "is_sound"),
    [
        (0, 0, False),
        (0, 1, True),
        (1, 0, False),
        (1, 1, False),
        (1, 2, True),
        (1, N_NODES, False),
        (1, 2**31 - 1, False),
        (1, ~(N_LABELS - 1), True),
        (1, ~N_LABELS, False),
        (1, -(2**31), False),
    ],
)
def test_children_come_after_their_node_and_exist(base, node, child, is_sound):
    for children in ([child, ~0], [~0, child]):
        if is_sound:
            check(base, part(children=children), node=node)
        else:
            refused(base, part(children=children), "a child that is not in the tree", node=node)


def test_parts_follow_each_other(base):
    first, second = part(header={"more": 1}), part(children=[~3, ~4], header={"first_child": 3})
    check(base, first + second)
    for wrong in (0, 2, 4):
        refused(base, first + part(children=[~3, ~4], header={"first_child": wrong}), "do not follow each other")
    refused(base, part(header={"more": 1}), OUTSIDE, node=N_NODES - 1)


@pytest.mark.parametrize(("offset", "message"), [(-64, OUTSIDE), (1, OUTSIDE), (63, OUTSIDE), (-1, OUTSIDE)])
def test_offsets_are_multiples_of_64_in_the_file(base, offset, message):
    content = part(children=[~0])
    store = replace(
        base,
        chunks=np.frombuffer(content * N_NODES + bytes(64), np.uint8),
        offsets=np.array([0, offset, len(content)]),
        checked=False,
    )
    with pytest.raises(FileFormatError, match=f"chunk of node 1: {message}"):
        Searcher(store).check()


def test_the_last_line_belongs_to_the_file_and_the_tail_does_not(base):
    content = part(children=[~0])
    end = len(content) * N_NODES
    last = bytearray(content * N_NODES + bytes(64))
    last[end - 64 : end] = part(children=[~0], header={"lines": 1})[:64]
    for offset, message in ((end - 64, SHORT), (end, OUTSIDE)):
        store = replace(
            base, chunks=np.frombuffer(bytes(last), np.uint8), offsets=np.array([0, offset, 0]), checked=False
        )
        with pytest.raises(FileFormatError, match=f"chunk of node 1: .*{message}"):
            Searcher(store).check()
