"""A small problem, and the model for it put together from scikit-learn's LinearSVC, one classifier at a time."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import labeltrees as lt
from tests.strategies import children_of, labels_below

# Settings under which the solver goes as far as float32 lets it, so that it can be compared.


def tight(loss="squared_hinge", score_power=3, **parameters):
    """Parameters for classifiers near the optimum and exact searches."""
    solver = lt.Solver(loss, score_power=score_power, eps=1e-5, max_iter=5000, prune_below=0.0)
    return {"loss": solver, "beam": None, "C": 1.0, **parameters}


TIGHT = tight()


def make_problem(seed=0, n=120, d=40, n_labels=12, unlabelled=0):
    """Points whose features tell their one to three labels; frequent and rare labels; some points without a label."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, n_labels + 1)
    Y = np.zeros((n, n_labels), np.float32)
    for row in range(n):
        labels = rng.choice(n_labels, rng.integers(1, 4), replace=False, p=frequency / frequency.sum())
        Y[row, labels if row >= n_labels else [row, *labels]] = 1
    Y[n - unlabelled :] = 0
    prototypes = rng.random((n_labels, d)) * (rng.random((n_labels, d)) < 0.2)
    X = Y @ prototypes + rng.random((n, d)) * (rng.random((n, d)) < 0.1)
    X[:, -1] = 0.1
    return sp.csr_array(X.astype(np.float32)), sp.csr_array(Y)


def any_tree(seed=0, n_labels=12):
    """A tree with labels and nodes mixed and three levels."""
    return lt.contract(lt.random_tree(n_labels, random_state=seed), 3)


def linear_scores(X, y, queries, costs, power):
    """The score exp(-max(0, 1 - z)^power) of one classifier for all queries, or its sigmoid where power is None."""
    if y.all():
        return np.ones(len(queries))
    if power is None:
        logistic = LogisticRegression(solver="liblinear", tol=1e-8).fit(X, y, sample_weight=costs)
        return logistic.predict_proba(queries)[:, 1]
    svm = LinearSVC(dual=False, tol=1e-8, max_iter=10_000).fit(X, y, sample_weight=costs)
    return np.exp(-(np.maximum(0, 1 - svm.decision_function(queries)) ** power))


def tree_scores(
    tree, X, Y, queries, *, C=1.0, power=3, sample_weight=None, label_cost=None, balanced=False, extra=None, scale=True
):
    """All labels' scores (n, L) under the model's definition, 0 for labels that are not in the tree.

    A node's classifiers see the points with a label below it, the root sees all points, and `extra` (N, n_nodes) says
    which points they see besides. A positive counts for its largest relevance times label cost below the child.
    """
    X, queries, Y = (np.asarray(sp.csr_array(m).todense(), dtype=np.float64) for m in (X, queries, Y))
    if scale:
        X, queries = normalize(X), normalize(queries)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    pair_cost = Y * (np.ones(Y.shape[1]) if label_cost is None else np.asarray(label_cost))
    extra = np.zeros((len(X), tree.n_nodes), bool) if extra is None else np.asarray(extra, bool)
    below = [sorted(labels) for labels in labels_below(tree)]
    scores = np.zeros((len(queries), tree.n_labels))
    node_scores = {0: np.ones(len(queries))}
    for node in range(tree.n_nodes):
        seen = (Y[:, below[node]] > 0).any(axis=1) | extra[:, node] | (node == 0)
        rows = np.flatnonzero(seen & (weight > 0))
        for child in children_of(tree, node):
            labels = [~child] if child < 0 else below[child]
            y = (Y[np.ix_(rows, labels)] > 0).any(axis=1)
            costs = C * weight[rows] * np.where(y, pair_cost[np.ix_(rows, labels)].max(axis=1), 1.0)
            if balanced:
                costs *= len(y) / (2 * np.where(y, y.sum(), (~y).sum()))
            found = node_scores[node] * linear_scores(X[rows], y, queries, costs, power)
            if child < 0:
                scores[:, ~child] = found
            else:
                node_scores[child] = found
    return scores


def all_scores(model, queries):
    """The scores (n, L) of all labels a fitted model gives, by searching everything."""
    result = model.searcher_.topk(queries, model.searcher_.n_labels)
    dense = np.zeros((len(result.labels), model.searcher_.n_labels), np.float32)
    for row, (labels, scores) in enumerate(zip(result.labels, result.scores, strict=True)):
        dense[row, labels[labels >= 0]] = scores[labels >= 0]
    return dense


def best(scores, k, allowed=True):
    """The k best labels of each row by brute force, ties to the smaller id."""
    masked = np.where(allowed, scores, -1)
    order = np.argsort(-masked, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(masked, order, axis=1)
    labels = np.where(found >= 0, order, -1)
    return labels, np.maximum(found, 0)


def same(answer, expected):
    np.testing.assert_array_equal(answer[0], expected[0])
    np.testing.assert_array_equal(answer[1], expected[1])
