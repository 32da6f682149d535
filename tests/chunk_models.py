"""Small random models, and a search of all labels in plain NumPy to compare with."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from labeltrees import _core
from labeltrees.storage import LinearWeights, pack_chunks

HALVES = np.array([-1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 2.0])  # sums of these are exact, so ties are ties


@dataclass
class Model:
    """A tree and its classifiers."""

    child_ptr: np.ndarray
    children: np.ndarray
    n_labels: int
    W: sparse.csr_array
    bias: np.ndarray
    parent_edge: dict = field(default_factory=dict)

    def __post_init__(self):
        node_of = np.repeat(np.arange(self.n_nodes), np.diff(self.child_ptr))
        self.parent_edge = {int(c): (e, int(node_of[e])) for e, c in enumerate(self.children)}

    @property
    def n_nodes(self):
        return len(self.child_ptr) - 1

    @property
    def n_features(self):
        return self.W.shape[1]

    @property
    def weights(self):
        return LinearWeights(
            self.W.indptr.astype(np.int64), self.W.indices.astype(np.int32), self.W.data.astype(np.float32), self.bias
        )

    def pack(self, **options):
        mass = np.arange(self.n_nodes)[::-1].astype(float)
        return pack_chunks(self, self.weights, self.n_features, mass, **options)

    def edge_scores(self, X, power=3.0):
        """Log probability (n, n_edges) of each classifier, from weights in half precision, in double precision."""
        W = self.W.astype(np.float64)
        W.data = self.W.data.astype(np.float16).astype(np.float64)
        margins = np.asarray((X.astype(np.float64) @ W.T).todense()) + self.bias
        return log_probability(margins, power)

    def depth(self, child):
        _, node = self.parent_edge[child]
        return 1 if node == 0 else 1 + self.depth(node)


def random_tree(rng, n_labels, most_children, stop=0.3):
    """Random labels under random nodes, labels and nodes mixed, some labels left out."""
    labels = rng.permutation(n_labels)[: max(1, n_labels - rng.integers(0, 3))]
    groups, child_lists = [labels], []
    while groups:
        group = groups.pop(0)
        n = int(min(len(group), rng.integers(1, most_children + 1)))
        cuts = np.sort(rng.choice(np.arange(1, len(group)), n - 1, replace=False)) if n > 1 else []
        parts = np.split(group, cuts)
        if len(parts) == 1 and len(group) > 1 and rng.random() < 0.5:
            parts = [group[:1], group[1:]]
        own = []
        for part in parts:
            if len(part) == 1 and rng.random() < 0.9:
                own.append(~int(part[0]))
            elif len(part) <= most_children and rng.random() < stop:
                own.extend(~int(label) for label in part)
            else:
                own.append(None)
                groups.append(part)
        child_lists.append(own)
    # Breadth first, so that nodes get their numbers in the order in which they were put off.
    node = 0
    for own in child_lists:
        for place, child in enumerate(own):
            if child is None:
                node += 1
                own[place] = node
    ptr = np.concatenate([[0], np.cumsum([len(own) for own in child_lists])]).astype(np.int64)
    return ptr, np.array([c for own in child_lists for c in own], np.int32)


def random_model(seed, n_labels=30, most_children=5, n_features=20, fill=0.4, values=HALVES, full_features=0, stop=0.3):
    """A model; `full_features` of the features have a weight in every classifier."""
    rng = np.random.default_rng(seed)
    ptr, children = random_tree(rng, n_labels, most_children, stop)
    n_edges = len(children)
    mask = sparse.random_array((n_edges, n_features), density=fill, rng=rng, format="lil", dtype=np.float32)
    if full_features:
        mask[:, rng.permutation(n_features)[:full_features]] = 1.0
    W = sparse.csr_array(mask)
    W.sort_indices()
    if values is None:
        W.data = rng.standard_normal(W.nnz).astype(np.float32)
        bias = rng.standard_normal(n_edges).astype(np.float32)
    else:
        W.data = rng.choice(values, W.nnz).astype(np.float32)
        bias = rng.choice(values, n_edges).astype(np.float32)
    return Model(ptr, children, n_labels, W, bias)


def random_queries(seed, n, n_features, fill=0.3, values=HALVES):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, n_features), density=fill, rng=rng, format="csr", dtype=np.float32)
    X.data = (rng.choice(values, X.nnz) if values is not None else rng.standard_normal(X.nnz)).astype(np.float32)
    return X


def log_probability(z, power):
    if power == 0:
        return -np.logaddexp(0, -z)
    return -(np.maximum(0, 1 - z) ** power)


def path_scores(model, X, power=3.0):
    """Log scores (n, n_labels) of all labels, -inf for those not in the tree, in double precision."""
    edge = model.edge_scores(X, power)
    scores = np.full((X.shape[0], model.n_labels), -np.inf)
    node_score = np.zeros((X.shape[0], model.n_nodes))
    for node in range(model.n_nodes):
        for e in range(model.child_ptr[node], model.child_ptr[node + 1]):
            child = model.children[e]
            (scores if child < 0 else node_score)[:, ~child if child < 0 else child] = node_score[:, node] + edge[:, e]
    return scores


def best_of(scores, k):
    """The k best labels of each row, ties to the smaller label, padded with -1; -inf means not there."""
    labels = np.full((len(scores), k), -1, np.int64)
    values = np.zeros((len(scores), k))
    for i, row in enumerate(scores):
        order = np.lexsort((np.arange(len(row)), -row))
        order = order[np.isfinite(row[order])][:k]
        labels[i, : len(order)] = order
        values[i, : len(order)] = np.exp(row[order])
    return labels, values


@pytest.fixture(scope="session")
def twin():
    return SimpleNamespace(
        Model=Model,
        random_model=random_model,
        random_queries=random_queries,
        path_scores=path_scores,
        best_of=best_of,
        HALVES=HALVES,
    )


@pytest.fixture(params=_core.available_kernels())
def kernels(request):
    before = _core.active_kernels()
    assert _core.use_kernels(request.param)
    yield request.param
    _core.use_kernels(before)
