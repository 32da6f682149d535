"""Run under one build of labeltrees: measure trees, splits and the models that use them.

    python benchmarks/builds/tree_quality.py SOURCE

SOURCE is "bundled" or a dataset's folder. A request names what to do: "tree" (build a binary tree and measure it),
"splits" (split the label sets of a saved tree) or "model" (fit and measure precision). `python -m
benchmarks.split_quality` asks. Only public names that both builds have may be used here.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp
from inputs import load
from sklearn.preprocessing import normalize

import labeltrees as lt
from labeltrees.tree.measures import within_node_similarity

LEAF_SIZE = 100
MOST_SPLITS = 200
GROUPS = 100  # of test points, for intervals


class Quality:
    """One dataset, with what trees are built from."""

    def __init__(self, source):
        train, test = load(source)
        self.X, self.Xt = (sp.csr_array(normalize(part.X)) for part in (train, test))
        self.Y, self.Yt = train.Y, test.Y
        self.frequencies, self.cover = lt.label_frequencies(self.Y), lt.cover_frequencies(self.Y)
        self.embeddings = sp.csr_array(lt.pifa(self.X, self.Y))

    def build(self, tradeoff, seed, leaf_size, settings):
        """Build a binary tree."""
        return lt.build_tree_from(
            self.embeddings,
            self.frequencies,
            self.cover,
            tradeoff=tradeoff,
            fanout=2,
            leaf_size=leaf_size,
            random_state=seed,
            n_jobs=1,
            **settings,
        )

    def tree(self, tradeoff, seed, settings, save=None):
        """Build a tree to leaves of 100 and return its figures; `save` names a file for one to leaves of 1 label."""
        start = time.process_time()
        tree = self.build(tradeoff, seed, LEAF_SIZE, settings)
        seconds = time.process_time() - start
        if save:
            self.build(tradeoff, seed, 1, settings).save(save)
        sets = label_sets(tree, LEAF_SIZE + 1)
        return {
            "seconds": seconds,
            "height": tree.height,
            "objectives": sum(
                tree.label_weights[ids].sum() * self.objective_of_node(tree, node, tradeoff) for node, ids in sets
            ),
            "depth_f": tree.expected_depth(self.frequencies),
            "depth_cover": tree.expected_depth(self.cover),
            "similarity": within_node_similarity(tree, self.embeddings, LEAF_SIZE),
        }

    def objective_of_node(self, tree, node, tradeoff):
        """Return the objective of the split of a node; its + side is the one that makes it larger."""
        first = tree.children[tree.child_ptr[node]]
        ids = labels_below(tree, node)
        alpha = np.where(np.isin(ids, labels_below(tree, first)), 1.0, -1.0)
        return max(self.objective(tree.label_weights, ids, side, tradeoff) for side in (alpha, -alpha))

    def objective(self, weights, ids, alpha, tradeoff):
        """Return the paper's objective for an assignment of labels, with the best centres."""
        f, V = weights[ids] / weights[ids].sum(), self.embeddings[ids]
        lengths = [np.linalg.norm((f * (1 + side * alpha) / 2) @ V) for side in (1, -1)]
        return float((2 - tradeoff) * sum(lengths) + max(tradeoff - 1, 0) * (alpha @ f**2))

    def splits(self, tradeoff, saved):
        """Return the objectives of the splits of the same label sets, those of a saved tree."""
        tree = lt.LabelTree.load(saved)
        sets = label_sets(tree, 4)
        chosen = np.random.default_rng(0).permutation(len(sets))[:MOST_SPLITS]
        objectives = []
        for i in chosen:
            ids = sets[i][1]
            alpha, _ = lt.split_labels(self.embeddings[ids], tree.label_weights[ids], tradeoff, random_state=int(i))
            objectives.append(self.objective(tree.label_weights, ids, alpha, tradeoff))
        return {"objectives": objectives}

    def model(self, settings):
        """Fit a model; return its precision at 1, 3 and 5 in percent, also per group of points, and its depth at 1."""
        if hasattr(lt, "TreeBuilder"):  # builds of version 0.1 have these settings as parameters of the classifier
            inner = {"score_power": "loss__score_power", "weights_of": "tree__weights_of"}
            settings = {inner.get(name, name): value for name, value in settings.items()}
        model = lt.LabelTreeClassifier(n_jobs=1).set_params(**settings).fit(self.X, self.Y)
        labels = model.predict_topk(self.Xt, 5)[0]
        groups = np.random.default_rng(0).permutation(len(labels)) % GROUPS
        precision = [
            [100 * lt.metrics.precision_at_k(self.Yt[rows], labels[rows], k) for k in (1, 3, 5)]
            for rows in (slice(None), *(np.flatnonzero(groups == group) for group in range(GROUPS)))
        ]
        return {
            "precision": precision[0],
            "of_groups": precision[1:],
            "depth1": lt.metrics.expected_depth_at_k(model.tree_, labels, 1),
        }


def labels_below(tree, child):
    """Return the labels below a node, or the label itself (~label), ascending."""
    labels, stack = [], [int(child)]
    while stack:
        child = stack.pop()
        if child < 0:
            labels.append(~child)
        else:
            stack.extend(tree.children[tree.child_ptr[child] : tree.child_ptr[child + 1]].tolist())
    return np.sort(np.array(labels))


def label_sets(tree, least):
    """Return the nodes with at least `least` labels, and the labels below each."""
    return [(node, labels_below(tree, node)) for node in np.flatnonzero(tree.n_labels_below >= least).tolist()]


def main():
    quality = Quality(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(quality, request.pop("do"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
