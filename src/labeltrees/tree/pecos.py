"""PECOS' cluster chain: one matrix per level, all labels at the same depth."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from labeltrees._files import PathLike, naming_file, refuse_file, write_atomically
from labeltrees.errors import FileFormatError
from labeltrees.tree.arrays import MAX_LABELS, Int32s, TreeArrays
from labeltrees.tree.exchange import labels_to_keep, place_all, prune
from labeltrees.tree.files import MAX_DEFLATION

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


def write_pecos_chain(tree: LabelTree, folder: PathLike) -> None:
    """Write the tree as a folder that `pecos.utils.cluster_util.ClusterChain.load` reads."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    n_levels = 0
    for level in pecos_chain(tree):
        buffer = io.BytesIO()
        sparse.save_npz(buffer, level, compressed=False)
        write_atomically(folder / f"C{n_levels}.npz", [buffer.getvalue()])
        n_levels += 1
    # Written last: PECOS does not load a folder without it.
    write_atomically(folder / "config.json", [json.dumps({"len": n_levels}).encode()])


def pecos_chain(tree: LabelTree) -> Iterator[sparse.csc_matrix]:
    """Yield the matrices from the root down, each (nodes at depth t + 1, nodes at depth t), the last over labels."""
    if tree.height == 1 and len(tree.unplaced_labels) > 0:
        # One more level would need a pass-through node for every label and double the model.
        everything = np.concatenate((tree.children, ~tree.unplaced_labels.astype(np.int32)))
        tree = tree._adopt(TreeArrays(np.array([0, len(everything)]), everything, tree.n_labels))
    tree = place_all(tree)
    # The nodes at this depth, and the labels that pass through, in the order of the columns.
    level = np.zeros(1, dtype=np.int32)
    for depth in range(tree.height):
        owner, below = _expand(tree, level)
        rows = ~below if depth == tree.height - 1 else np.arange(len(below))
        yield sparse.csc_matrix(
            (np.ones(len(below), dtype=np.float32), (rows, owner)), shape=(len(below), len(level)), dtype=np.float32
        )
        level = below


def _expand(tree: LabelTree, level: Int32s) -> tuple[Int32s, Int32s]:
    """Return the children of all entries of a level, and the column of each; a label is its own child."""
    is_node = level >= 0
    nodes = np.where(is_node, level, 0)
    start, n_children = tree.child_ptr[nodes], np.where(is_node, np.diff(tree.child_ptr)[nodes], 1)
    owner = np.repeat(np.arange(len(level), dtype=np.int32), n_children)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(n_children) - n_children, n_children)
    below = np.where(is_node[owner], tree.children[np.where(is_node[owner], start[owner] + within, 0)], level[owner])
    return owner, below


def read_pecos_chain(folder: PathLike, unplaced_labels: ArrayLike | None = None) -> TreeArrays:
    """Return the arrays of the tree in a folder that PECOS' `ClusterChain.save` wrote."""
    folder = Path(folder)
    matrices = [_read_level(folder / f"C{level}.npz") for level in range(_read_length(folder / "config.json"))]
    owners, entries, n_nodes = [], [], 0
    for level, (indices, indptr, (n_rows, n_columns)) in enumerate(matrices):
        path = folder / f"C{level}.npz"
        expected = 1 if level == 0 else matrices[level - 1][2][0]
        if n_columns != expected:
            refuse_file(path, f"has {n_columns} columns where the level above has {expected} nodes")
        owners.append(np.repeat(np.arange(n_nodes, n_nodes + n_columns), np.diff(indptr)))
        n_nodes += n_columns
        if n_nodes + n_rows > MAX_LABELS:
            refuse_file(path, f"brings the chain to more than {MAX_LABELS} nodes")
        last = level == len(matrices) - 1
        entries.append((~indices if last else indices + n_nodes).astype(np.int32))
    keep = labels_to_keep(unplaced_labels, n_labels=matrices[-1][2][0])
    with naming_file(folder):
        return prune(np.concatenate(owners), np.concatenate(entries), n_nodes, keep, splice=True)


def _read_length(path: Path) -> int:
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        refuse_file(path, f"is not JSON: {error}")
    length = config.get("len") if isinstance(config, dict) else None
    if type(length) is not int or length < 1:
        refuse_file(path, 'has no positive "len"')
    return length


def _read_level(path: Path) -> tuple[Any, Any, tuple[int, int]]:
    """Return the row indices, sorted in each column, the column starts and the shape of one matrix, all checked."""
    if not path.is_file():
        refuse_file(path, "is missing")
    members = read_npz(path, ("indices", "indptr", "format", "shape", "data"))
    kind = members["format"]
    if kind.size != 1 or kind.reshape(-1)[0] not in (b"csc", "csc"):
        refuse_file(path, "is not a CSC matrix")
    shape, indices, indptr, data = (members[name] for name in ("shape", "indices", "indptr", "data"))
    if any(array.dtype.kind not in "iu" for array in (shape, indices, indptr)) or data.dtype.kind not in "iuf":
        refuse_file(path, "has members of the wrong type")
    if shape.shape != (2,) or not all(1 <= size <= MAX_LABELS for size in shape.tolist()):
        refuse_file(path, "has a shape that is not two positive numbers")
    n_rows, n_columns = map(int, shape)
    if indices.shape != (n_rows,) or data.shape != (n_rows,) or indptr.shape != (n_columns + 1,):
        refuse_file(path, f"must have one entry per row: {n_rows} rows, {indices.size} entries, {data.size} values")
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if indptr[0] != 0 or indptr[-1] != n_rows or np.any(np.diff(indptr) < 0):
        refuse_file(path, f"has column starts that do not increase from 0 to {n_rows}")
    if not np.array_equal(np.sort(indices), np.arange(n_rows)) or not np.all(data != 0):
        refuse_file(path, "must have each row in exactly one column")
    # Rows ascending within each column: PECOS also sorts them when it loads.
    column = np.repeat(np.arange(n_columns), np.diff(indptr))
    return indices[np.lexsort((indices, column))], indptr, (n_rows, n_columns)


_HEADER = re.compile(
    rb"\{'descr': '([<|][bfiuSU]\d{1,3})', 'fortran_order': (?:False|True), 'shape': \(((?:\d{1,18},? ?)*)\), \} *\n"
)


def read_npz(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return the named arrays of an npz file, each of at most one dimension."""
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: _read_member(path, archive, name, len(data)) for name in names}
    except FileFormatError:
        raise
    except KeyError as error:
        refuse_file(path, f"has a missing member: {error.args[0]}")
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        # The bytes are in memory, so every error here is about the contents, not about the disk.
        refuse_file(path, f"is not a supported npz file: {error}")


def _read_member(path: Path, archive: zipfile.ZipFile, name: str, n_bytes: int) -> Any:
    info = archive.getinfo(f"{name}.npy")

    def fail(fault: str) -> NoReturn:
        refuse_file(path, f"member {name}: {fault}")

    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        fail("has an unsupported compression")
    if info.file_size > MAX_DEFLATION * info.compress_size + 64 or info.compress_size > n_bytes:
        fail(f"claims {info.file_size} bytes in {info.compress_size}")
    with archive.open(info) as member:
        raw = member.read(info.file_size + 1)
    if len(raw) != info.file_size or raw[:8] not in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"):
        fail("is not an array of npy version 1 or 2")
    start = 10 if raw[6] == 1 else 12
    end = start + int.from_bytes(raw[8:start], "little")
    header = _HEADER.fullmatch(raw[start:end])
    if header is None or end > len(raw):
        fail("has an unsupported npy header")
    dtype = np.dtype(header[1].decode())
    sizes = [int(size) for size in re.findall(rb"\d+", header[2])]
    count = sizes[0] if sizes else 1
    if len(sizes) > 1 or len(raw) - end != count * dtype.itemsize or dtype.itemsize == 0:
        fail(f"has {len(raw) - end} bytes where its header claims {sizes} values of {dtype}")
    array = np.frombuffer(raw, dtype=dtype, offset=end)
    return array if sizes else array.reshape(())
