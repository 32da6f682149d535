"""Any sequence of changes leaves a model that answers like one built directly."""

import tempfile
from collections import Counter

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sklearn.preprocessing import normalize

import labeltrees as lt

N_FEATURES = 24
CENTRES = np.random.default_rng(0).random((40, N_FEATURES)) ** 6


def points(rng, labels, n):
    """Return points with one or two of some labels, given as numbers."""
    own = [sorted(set(rng.choice(labels, 2).tolist())) for _ in range(n)]
    rows = [CENTRES[mine].sum(axis=0) + 0.02 * rng.random(N_FEATURES) for mine in own]
    X = np.array(rows, dtype=np.float32)
    X[X < 0.05] = 0
    return sp.csr_array(X), own


def brute_force(model, queries):
    """Return the score of every label (n, L) by the model's own classifiers; 0 for labels outside the tree."""
    tree, X = model.tree_, normalize(queries).toarray()
    scores, of_node = np.zeros((len(X), tree.n_labels)), {0: np.ones(len(X))}
    for node in range(tree.n_nodes):
        own = model.node_weights(node)
        margins = X @ own.weights.toarray().T + own.bias
        for child, margin in zip(own.children.tolist(), margins.T, strict=True):
            score = of_node[node] * np.exp(-(np.maximum(0, 1 - margin) ** 3))
            if child < 0:
                scores[:, ~child] = score
            else:
                of_node[child] = score
    return scores


class LabelLife(RuleBasedStateMachine):
    """A model and what it should know: its points with the numbers of their labels, and what is retired."""

    @initialize(seed=st.integers(0, 1000))
    def start(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = {number: [f"label {number}"] for number in range(8)}  # all names of a label, the present one last
        self.X, self.own = points(self.rng, np.arange(8), 60)
        self.model = lt.LabelTreeClassifier(C=1.0, fanout=4, n_jobs=1).fit(self.X, self.present(self.own))
        self.retired: set[int] = set()
        self.removed: set[int] = set()  # by compact
        self.queries = points(self.rng, np.arange(8), 10)[0]

    def present(self, own):
        """Return the names of the labels of points."""
        return [[self.names[number][-1] for number in numbers] for numbers in own]

    def replay(self):
        """Return all points, with any of the names that their labels have had."""
        Y = [[self.names[number][self.rng.integers(len(self.names[number]))] for number in own] for own in self.own]
        return self.X, Y

    def known(self):
        """Return the number of each label of the model."""
        numbers = {names[-1]: number for number, names in self.names.items() if number not in self.removed}
        return [numbers[name] for name in self.model.classes_.tolist()]

    def placed(self):
        """Return the labels with a classifier."""
        parents = self.model.tree_.label_parent
        return {number for number, parent in zip(self.known(), parents, strict=True) if parent >= 0}

    def answered(self):
        """Return the labels that searches may return."""
        return sorted(self.placed() - self.retired)

    def direct(self):
        """Return a model fitted on the points that are left, on the tree of the updated model."""
        place = {number: label for label, number in enumerate(self.known())}
        rows = [row for row, numbers in enumerate(self.own) for _ in numbers]
        columns = [place[number] for numbers in self.own for number in numbers]
        Y = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(self.own), len(place)))
        return lt.LabelTreeClassifier(C=1.0, fanout=4, n_jobs=1, tree=self.model.tree_).fit(self.X, Y)

    def assert_direct(self):
        direct = self.direct()
        for name, array in self.model.searcher_.stores[0].arrays().items():
            np.testing.assert_array_equal(array, direct.searcher_.stores[0].arrays()[name], err_msg=name)

    def assert_unchanged(self, before):
        labels, scores = self.model.predict_topk(self.queries, 3, beam=None)
        np.testing.assert_allclose(scores, before[1], rtol=1e-4, atol=1e-6)
        assert labels.shape == before[0].shape

    @rule(n=st.integers(1, 6), more=st.integers(0, 2), how=st.sampled_from(["exact", "continued", "alone"]))
    def update(self, n, more, how):
        self.names |= {len(self.names) + i: [f"label {len(self.names) + i}"] for i in range(more)}
        present = sorted(self.names.keys() - self.removed)
        X, own = points(self.rng, np.array(present), n)
        outside = set(present) - self.placed()
        replay = None if how == "alone" else self.replay()
        self.model.update(X, self.present(own), replay=replay, exact=how == "exact")
        self.X, self.own = sp.csr_array(sp.vstack([self.X, X], "csr")), self.own + own
        # A label that has lost all points is retired; new points bring it back.
        self.retired -= {number for numbers in own for number in numbers} & outside
        if how == "exact":
            self.assert_direct()

    @rule(n=st.integers(1, 4))
    def forget(self, n):
        gone = self.rng.choice(self.X.shape[0], n, replace=False)
        before = self.placed()
        report = self.model.forget(gone, self.replay())
        kept = np.setdiff1d(np.arange(self.X.shape[0]), gone)
        self.X, self.own = sp.csr_array(self.X[kept]), [self.own[row] for row in kept.tolist()]
        lost = before - {number for numbers in self.own for number in numbers}
        assert report.n_forgotten == n
        assert set(report.retired_labels) == {self.names[number][-1] for number in lost - self.retired}
        self.retired |= lost
        self.assert_direct()

    @rule(index=st.integers(0, 100))
    def retire(self, index):
        alive = self.answered()
        if len(alive) > 3:
            number = alive[index % len(alive)]
            self.model.retire([self.names[number][-1]])
            self.retired.add(number)

    @rule(again=st.booleans())
    def restore(self, again):
        names = sorted(self.names[number][-1] for number in self.retired)
        before = self.model.predict_topk(self.queries, 3, beam=None)
        self.model.restore(names)
        if again:
            self.model.retire(names)
            self.assert_unchanged(before)
        else:
            self.retired = set()

    @rule(index=st.integers(0, 100))
    def rename(self, index):
        number = self.known()[index % len(self.known())]
        before = self.model.predict_topk(self.queries, 3, beam=None)
        new = f"{self.names[number][-1]}'"
        self.model.rename(self.names[number][-1], new)
        self.names[number].append(new)
        self.assert_unchanged(before)

    @rule()
    def compact(self):
        before = self.model.predict_topk(self.queries, 3, beam=None)
        self.model.compact()
        self.removed |= self.retired
        self.own = [[number for number in numbers if number not in self.retired] for numbers in self.own]
        self.retired = set()
        self.assert_unchanged(before)

    @rule()
    def save_and_load(self):
        before = self.model.predict_topk(self.queries, 3, beam=None)
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(f"{folder}/model")
            self.model = lt.load(f"{folder}/model", in_memory=True, verify=True)
        self.assert_unchanged(before)

    @invariant()
    def answers_are_those_of_brute_force_without_retired_labels(self):
        if not hasattr(self, "model"):
            return
        order, allowed = self.known(), self.answered()
        found, scores = self.model.predict_topk(self.queries, 30, beam=None)
        expected = brute_force(self.model, self.queries)
        expected[:, [label for label, number in enumerate(order) if number not in allowed]] = -1
        names = {self.names[number][-1] for number in allowed}
        place = {name: label for label, name in enumerate(self.model.classes_.tolist())}
        for row in range(len(found)):
            assert {name for name in found[row].tolist() if name is not None} == names
            ids = [place[name] for name in found[row].tolist() if name is not None]
            np.testing.assert_allclose(scores[row][: len(ids)], expected[row][ids], rtol=1e-3, atol=1e-6)
            np.testing.assert_allclose(
                np.sort(expected[row])[::-1][: len(ids)], expected[row][ids], rtol=1e-3, atol=1e-6
            )

    @invariant()
    def counts_are_those_of_the_points(self):
        if hasattr(self, "model"):
            counts = Counter(number for numbers in self.own for number in numbers)
            assert self.model.label_counts_.tolist() == [counts[number] for number in self.known()]
            assert self.model.n_points_ == len(self.own)


LabelLife.TestCase.settings = settings(
    max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TestLabelLife = LabelLife.TestCase
