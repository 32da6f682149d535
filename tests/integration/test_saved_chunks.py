"""Chunks from a file are searched as those made here; damaged ones are refused and never crash the interpreter."""

import struct
from dataclasses import replace

import numpy as np
import pytest

from labeltrees.errors import FileFormatError
from labeltrees.search import Searcher, SearchRequest
from labeltrees.storage import ChunkStore, load_arrays, pack_dense_chunks, save_arrays


def save(folder, store):
    sizes = {"n_labels": store.n_labels, "n_features": store.n_features, "matrices": store.matrices}
    save_arrays(folder, "Example", sizes, store.arrays())


def load(folder, **options):
    loaded = load_arrays(folder, **options)
    return ChunkStore.from_arrays(loaded.arrays, **loaded.manifest.parameters, source=str(folder))


@pytest.fixture(scope="module", params=[(700, 0.03), (4000, 0.002)], ids=["full", "sparse"])
def case(twin, request):
    n_features, fill = request.param
    shape = {"n_labels": 900, "most_children": 40, "n_features": n_features, "fill": fill, "full_features": 3}
    X = twin.random_queries(2, 20, n_features, fill=0.2, values=None)
    return twin.random_model(1, values=None, **shape), X


def layouts(store):
    """Kinds and levels."""
    return {(int(store.chunks[offset + 6]), int(store.chunks[offset + 28])) for offset in store.offsets}


@pytest.mark.parametrize("options", [{}, {"in_memory": True}, {"verify": True}], ids=str)
def test_a_saved_store_finds_the_same(case, tmp_path, options):
    model, X = case
    store = model.pack()
    assert layouts(store) >= ({(0, 1), (2, 1)} if model.n_features == 700 else {(0, 2), (0, 3), (2, 2)})
    save(tmp_path / "model", store)
    loaded = load(tmp_path / "model", **options)
    assert not loaded.checked
    searcher = Searcher(loaded)
    np.testing.assert_array_equal(searcher.topk(X, 9).scores, Searcher(store).topk(X, 9).scores)
    searcher.check()


def test_processes_that_load_a_model_share_its_pages(case, tmp_path):
    save(tmp_path / "model", case[0].pack())
    chunks = load(tmp_path / "model").chunks
    with open("/proc/self/maps") as maps:
        mapped = [line.split() for line in maps if line.rstrip().endswith("chunks.npy")]
    start, end = (int(part, 16) for part in mapped[0][0].split("-"))
    assert start <= chunks.ctypes.data < end
    assert mapped[0][1].startswith("r--")


def mutations(arrays, seed, n):
    """Arrays with one thing altered: a bit, a byte, a number, a run of bytes."""
    rng = np.random.default_rng(seed)
    names = list(arrays)
    for _ in range(n):
        name = names[rng.choice(len(names), p=[0.8, 0.05, 0.05, 0.05, 0.05])]
        if len(arrays[name]) == 0:
            continue
        data = bytearray(arrays[name].tobytes())
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(data)))
            if name == "chunks" and rng.random() < 0.7:  # near a header, where it hurts most
                place = min(len(data) - 8, int(rng.choice(arrays["offsets"])) + int(rng.integers(0, 200)))
            how = rng.integers(4)
            if how == 0:
                data[place] ^= 1 << rng.integers(8)
            elif how == 1:
                data[place] = rng.choice([0, 1, 127, 128, 255])
            elif how == 2:
                place -= place % 4
                extreme = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 65535, 65536]))
                data[place : place + 4] = struct.pack("<I", extreme)
            else:
                data[place : place + 64] = bytes(len(data[place : place + 64]))
        yield name, np.frombuffer(bytes(data), arrays[name].dtype)


@pytest.mark.parametrize("matrices", [False, True])
def test_altered_chunks_never_crash_the_interpreter(case, twin, matrices):
    model, X = case
    if matrices:
        model = twin.random_model(3, n_labels=60, n_features=40, values=None)
        X = twin.random_queries(4, 5, 40, values=None)
        store = pack_dense_chunks(model, model.W.toarray(), model.bias, np.ones(model.n_nodes))
    else:
        store = model.pack()
    refused = 0
    for name, array in mutations(store.arrays(), 5, 400):
        try:
            searcher = Searcher(replace(store, checked=False, **{name: array}))
            searcher.topk(X[:3], 5)
            searcher.topk(X[:3], SearchRequest(50, search="paths", beam=20, candidates=np.arange(model.n_labels)))
            searcher.predictor(3)(X[[0]])
            searcher.check()
        except FileFormatError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("keep", [0, 63, 64, 127, 128, 1000, -64, -1])
def test_cut_chunks_are_refused(case, keep):
    model, X = case
    store = model.pack()
    with pytest.raises(FileFormatError):
        Searcher(replace(store, chunks=store.chunks[:keep].copy(), checked=False)).topk(X, 900)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("offsets", lambda a: a * 0 - 64),
        ("offsets", lambda a: a + 1),
        ("offsets", lambda a: a + 2**62),
        ("offsets", lambda a: a[:-1]),
        ("offsets", lambda a: a[:0]),
        ("offsets", lambda a: a.astype(np.int32)),
        ("offsets", lambda a: a[::-1]),
        ("feature_rank", lambda a: a[:-1]),
        ("feature_rank", lambda a: a - 1),
        ("feature_rank", lambda a: a + 1),
        ("child_ptr", lambda a: a[:-1]),
        ("child_ptr", lambda a: a + 1),
        ("children", lambda a: a[:-1]),
        ("children", lambda a: a.reshape(1, -1)),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(case, name, change):
    model, X = case
    store = model.pack()
    arrays = {**store.arrays(), name: change(store.arrays()[name])}
    with pytest.raises(FileFormatError):
        Searcher(ChunkStore.from_arrays(arrays, n_labels=store.n_labels, n_features=store.n_features)).topk(X, 900)


@pytest.mark.parametrize(
    "change", [{"n_labels": 3}, {"n_labels": 0}, {"n_features": 0}, {"n_features": 64}, {"matrices": True}]
)
def test_sizes_that_do_not_fit_the_chunks_are_refused(case, change):
    model, _ = case
    store = model.pack()
    X = np.ones((1, change.get("n_features", model.n_features) or 1), np.float32)
    with pytest.raises(FileFormatError):
        Searcher(replace(store, checked=False, **change)).topk(X, 900)


def test_a_missing_array_is_named(case):
    store = case[0].pack()
    with pytest.raises(FileFormatError, match="offsets is missing"):
        ChunkStore.from_arrays({"chunks": store.chunks}, n_labels=1, n_features=1)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([0, 2, 3, 4], "are not a tree"),
        ([0, -1, 2, 4], "child_ptr"),
        ([0, 5, 3, 4], "child_ptr"),
    ],
)
def test_a_damaged_tree_is_found_when_it_is_needed(twin, tree, message):
    model = twin.random_model(1, n_labels=3)
    model = twin.Model(
        np.array([0, 2, 3, 4]), np.array([1, 2, ~0, ~1], np.int32), 3, model.W[[0] * 4], model.bias[[0] * 4]
    )
    store = model.pack()
    children = store.children if "ptr" in message else np.array([1, 1, ~0, ~1], np.int32)
    searcher = Searcher(replace(store, child_ptr=np.array(tree), children=children, checked=False))
    X = np.zeros((1, model.n_features))
    assert searcher.topk(X, 1).labels[0, 0] >= 0
    with pytest.raises(FileFormatError, match=message):
        searcher.topk(X, SearchRequest(1, candidates=[0]))


def test_paths_that_multiply_end_the_search(twin):
    # Node 0 has node 1 four times, and so on: no tree, though every chunk is sound.
    depth, fan = 12, 4
    children = np.concatenate([np.full(fan, node + 1) for node in range(depth)] + [[~0] * fan]).astype(np.int32)
    base = twin.random_model(1, n_labels=1)
    model = twin.Model(
        np.arange(0, len(children) + 1, fan), children, 1, base.W[[0] * len(children)], base.bias[[0] * len(children)]
    )
    store = replace(model.pack(), checked=False)
    with pytest.raises(FileFormatError, match="do not form a tree"):
        Searcher(store).topk(np.zeros((1, model.n_features)), SearchRequest(5))
