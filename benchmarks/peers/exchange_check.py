"""Check that the peers load our trees, train on them and predict, and that we read the peers' trees.

`python -m benchmarks.peers.exchange_check` runs all checks and prints one line for each.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import labeltrees as lt
from benchmarks.peers.environment import run_in_peers

INSIDE = Path(__file__).with_name("inside.py")
N_LABELS = 21  # the last one never occurs and is not in the tree


def example_tree() -> lt.LabelTree:
    """Return a tree with labels at every level."""
    groups = [[~0, 1, 2, ~1], [~2, 3, 4], [~3, 5], [~4, ~5, ~6], [~7, 6, ~8], [~9, ~10, ~11, ~12], [7, 8]]
    groups += [[~13, ~14, ~15], [~16, ~17, 9], [~18, ~19]]
    child_ptr = np.cumsum([0, *map(len, groups)])
    return lt.LabelTree(child_ptr, [child for group in groups for child in group], N_LABELS)


def example_data(n_points: int = 800, seed: int = 0) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return points with one to three labels each, features that predict the labels, and some noise."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, N_LABELS)
    Y = np.zeros((n_points, N_LABELS), dtype=np.float32)
    for point in range(n_points):
        Y[point, rng.choice(N_LABELS - 1, size=rng.integers(1, 4), replace=False, p=share / share.sum())] = 1
    Y[np.arange(N_LABELS - 1), np.arange(N_LABELS - 1)] = 1
    signal = np.repeat(Y, 3, axis=1) * (rng.random((n_points, 3 * N_LABELS)) < 0.8)
    noise = (rng.random((n_points, 30)) < 0.1).astype(np.float32)
    X = np.hstack((signal, noise, np.full((n_points, 1), 0.1))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return sparse.csr_matrix(X), sparse.csr_matrix(Y)


def prepare(folder: Path) -> lt.LabelTree:
    """Write the data and our tree in the peers' formats."""
    X, Y = example_data()
    sparse.save_npz(folder / "X.npz", X)
    sparse.save_npz(folder / "Y.npz", Y)
    tree = example_tree()
    tree.to_pecos_chain(folder / "chain")
    rows = tree.to_napkinxc(folder / "napkinxc.txt")
    (folder / "napkinxc.json").write_text(json.dumps(rows))
    return tree


def ask(command: str, folder: Path) -> dict[str, object]:
    run_in_peers(INSIDE, command, folder)
    return json.loads((folder / f"{command}_result.json").read_text())


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def clusters(tree: lt.LabelTree) -> list[list[int]]:
    """Return the label sets of the nodes that have more than one child."""
    below: list[list[int]] = [[] for _ in range(tree.n_nodes)]
    found = set()
    for node in reversed(range(tree.n_nodes)):
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()
        below[node] = sorted(label for child in children for label in ([~child] if child < 0 else below[child]))
        if len(children) > 1:
            found.add(tuple(below[node]))
    return [list(labels) for labels in sorted(found)]


def check_predictions(top: list[list[int]], name: str) -> float:
    """Check predictions for the training points: far better than guessing, and every label is predicted."""
    _, Y = example_data()
    truth = Y.toarray() > 0
    precision = float(np.mean([truth[point, labels[0]] for point, labels in enumerate(top)]))
    guessing = float(truth.mean(axis=0).max())
    expect(
        precision > 0.9 > guessing,
        f"{name}: precision {precision:.2f}, by guessing {guessing:.2f}",
    )
    reached = {label for point, labels in enumerate(top) for label in labels[: int(truth[point].sum())]}
    missing = set(range(N_LABELS - 1)) - reached
    expect(not missing, f"{name}: labels {sorted(missing)} are never predicted")
    return precision


def check_pecos(folder: Path) -> str:
    tree = prepare(folder)
    result = ask("pecos", folder)
    placed = lt.LabelTree.from_pecos_chain(folder / "chain")
    expect(result["ours"] == clusters(placed), "PECOS reads other clusters from our chain")
    expect(result["model"] == result["ours"], "PECOS did not train on our tree")
    for level in range(int(str(result["n_levels"]))):
        ours, theirs = (sparse.load_npz(folder / name / f"C{level}.npz") for name in ("chain", "chain_again"))
        expect((ours != theirs).nnz == 0 and ours.dtype == theirs.dtype, f"PECOS saved a different level {level}")
    again = lt.LabelTree.from_pecos_chain(folder / "chain_again", unplaced_labels=tree.unplaced_labels)
    expect(clusters(again) == clusters(tree), "our tree changed on the way back")
    expect(np.array_equal(again.label_depth, tree.label_depth), "the depths of labels changed on the way back")
    scores = sparse.load_npz(folder / "pecos_scores.npz").tocsr()
    top = [scores[point].indices[np.argsort(-scores[point].data)].tolist() for point in range(scores.shape[0])]
    precision = check_predictions(top, "PECOS on our tree")
    own = lt.LabelTree.from_pecos_chain(folder / "pecos_own")
    expect(clusters(own) == result["own"], "PECOS' own tree was read wrongly")
    return f"PECOS trained on our tree, P@1 {precision:.3f}; its own tree: {own!r}"


def check_napkinxc(folder: Path) -> str:
    tree = prepare(folder)
    result = ask("napkinxc", folder)
    rows = [list(row) for row in tree.to_napkinxc()]
    for name in ("list", "file"):
        expect(sorted(result[name]["rows"]) == sorted(rows), f"napkinXC changed our tree, passed as a {name}")
        again = lt.LabelTree.from_napkinxc([tuple(row) for row in result[name]["rows"]], tree.unplaced_labels)
        expect(clusters(again) == clusters(tree), "our tree changed on the way back")
        precision = check_predictions(result[name]["top"], "napkinXC on our tree")
    words = []
    for name in ("kmeans", "huffman"):
        own = lt.LabelTree.from_napkinxc([tuple(row) for row in result[name]["rows"]])
        expect(own == lt.LabelTree.from_napkinxc(folder / f"napkinxc_{name}" / "tree.txt"), "list and file differ")
        expect(sorted(own.leaf_order()) == list(range(own.n_labels)), "labels are missing in napkinXC's own tree")
        words.append(f"{name} {own!r}")
    return f"napkinXC trained on our tree, P@1 {precision:.3f}; its own trees: {', '.join(words)}"


def check_omikuji(folder: Path) -> str:
    prepare(folder)
    result = ask("omikuji", folder)
    for name, nested in result.items():
        for i in range(2):
            own = lt.LabelTree.from_omikuji(folder / name, tree=i, n_labels=N_LABELS)
            expect(own.to_omikuji() == nested[i], f"{name} tree {i} was not read as cbor2 reads it")
            expect(own.unplaced_labels.tolist() == [N_LABELS - 1], f"labels are missing in {name}, tree {i}")
    return f"omikuji's trees were read, the last one: {own!r}"


CHECKS: dict[str, Callable[[Path], str]] = {"pecos": check_pecos, "napkinxc": check_napkinxc, "omikuji": check_omikuji}

if __name__ == "__main__":
    for check in CHECKS.values():
        with tempfile.TemporaryDirectory() as folder:
            print(check(Path(folder)))
