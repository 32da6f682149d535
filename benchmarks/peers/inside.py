"""Run in the peers' environment, without labeltrees: read our tree, train, predict, and write the results.

Commands: pecos, napkinxc, omikuji. The folder has X.npz, Y.npz and our tree in the peers' formats (exchange_check.py).
The peers' models are written to the same folder, with a JSON file of their contents as the peer itself reads them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def load(folder):
    return sp.load_npz(folder / "X.npz").tocsr(), sp.load_npz(folder / "Y.npz").tocsr()


def clusters_of(chain):
    """Return the labels below each node of a PECOS chain that has more than one child, from products of matrices."""
    chain = [matrix.tocsc() for matrix in chain]
    below, found = sp.identity(chain[-1].shape[0], format="csc"), set()
    for matrix in reversed(chain):
        below = (below @ matrix).tocsc()
        for column in np.flatnonzero(np.diff(matrix.indptr) > 1):
            found.add(tuple(sorted(below[:, column].indices.tolist())))
    return sorted(found)


def run_pecos(folder):
    from pecos.utils.cluster_util import ClusterChain
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    X, Y = load(folder)
    ours = ClusterChain.load(str(folder / "chain"))
    ours.save(str(folder / "chain_again"))
    model = XLinearModel.train(X, Y, C=ours, threads=2, bias=1.0, threshold=0.1)
    model.save(str(folder / "pecos_model"))
    model = XLinearModel.load(str(folder / "pecos_model"), is_predict_only=True)
    n_labels = Y.shape[1]
    scores = model.predict(X, beam_size=n_labels, only_topk=n_labels, threads=2)
    sp.save_npz(folder / "pecos_scores.npz", scores.tocsr())
    model_chain = [sp.load_npz(folder / f"pecos_model/ranker/{level}.model/C.npz") for level in range(len(ours))]
    embedding = LabelEmbeddingFactory.create(Y, X, method="pifa")
    own = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", nr_splits=3, max_leaf_size=4, seed=0)
    own.save(str(folder / "pecos_own"))
    return {
        "ours": clusters_of(ours),
        "model": clusters_of(model_chain),
        "own": clusters_of(own),
        "n_levels": len(ours),
    }


def run_napkinxc(folder):
    from napkinxc.models import PLT

    X, Y = load(folder)
    labels = [Y[row].indices.tolist() for row in range(Y.shape[0])]
    rows = [tuple(row) for row in json.loads((folder / "napkinxc.json").read_text())]
    result = {}
    for name, structure in (("list", rows), ("file", str(folder / "napkinxc.txt"))):
        model = PLT(str(folder / f"napkinxc_{name}"), tree_structure=structure, threads=2, seed=0)
        model.fit(X, labels)
        result[name] = {"rows": model.get_tree_structure(), "top": model.predict(X, top_k=Y.shape[1])}
    for name, options in (
        ("kmeans", {"tree_type": "hierarchicalKmeans", "arity": 2, "max_leaves": 4}),
        ("huffman", {"tree_type": "huffman", "arity": 3}),
    ):
        model = PLT(str(folder / f"napkinxc_{name}"), threads=2, seed=0, **options)
        model.fit(X, labels)
        result[name] = {"rows": model.get_tree_structure()}
    return result


def run_omikuji(folder):
    import cbor2
    import omikuji

    X, Y = load(folder)
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for row in range(X.shape[0]):
        points, labels = X[row], ",".join(map(str, sorted(Y[row].indices.tolist())))
        pairs = sorted(zip(points.indices.tolist(), points.data.tolist(), strict=True))
        lines.append(labels + " " + " ".join(f"{column}:{value:.6f}" for column, value in pairs))
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    result = {}
    for name, collapse in (("omikuji_binary", 0), ("omikuji_collapsed", 2)):
        settings = omikuji.Model.default_hyper_param()
        settings.n_trees, settings.min_branch_size, settings.collapse_every_n_layers = 2, 4, collapse
        omikuji.Model.train_on_data(str(folder / "train.txt"), settings, 2).save(str(folder / name))
        result[name] = [without_weights(cbor2.loads((folder / name / f"tree{i}.cbor").read_bytes())) for i in range(2)]
    return result


def without_weights(node):
    ((kind, content),) = node.items()
    if kind == "Leaf":
        return {"Leaf": {"labels": content["labels"]}}
    return {"Branch": {"children": [without_weights(child) for child in content["children"]]}}


if __name__ == "__main__":
    command, folder = sys.argv[1], Path(sys.argv[2])
    result = {"pecos": run_pecos, "napkinxc": run_napkinxc, "omikuji": run_omikuji}[command](folder)
    (folder / f"{command}_result.json").write_text(json.dumps(result))
