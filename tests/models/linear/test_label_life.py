"""Any sequence of changes leaves a model that answers like one built directly."""

import tempfile

import numpy as np
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

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


class LabelLife(RuleBasedStateMachine):
    """A model and what it should know: its points with the names of their labels, and what is retired."""

    @initialize(seed=st.integers(0, 1000))
    def start(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = {number: f"label {number}" for number in range(8)}
        self.X, own = points(self.rng, np.arange(8), 60)
        self.Y = [[self.names[label] for label in labels] for labels in own]
        self.model = lt.LabelTreeClassifier(C=1.0, fanout=4, n_jobs=1).fit(self.X, self.Y)
        self.retired: set[str] = set()
        self.gone: set[str] = set()  # removed by compact or without a point
        self.queries = points(self.rng, np.arange(8), 10)[0]

    def direct(self):
        """Return a model fitted on the points that are left, on the tree of the updated model."""
        known = set(self.model.classes_.tolist())
        lists = [[name for name in names if name in known] for names in self.Y]
        order = {name: label for label, name in enumerate(self.model.classes_.tolist())}
        rows = [row for row, names in enumerate(lists) for _ in names]
        columns = [order[name] for names in lists for name in names]
        Y = sp.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(lists), len(order)))
        return lt.LabelTreeClassifier(C=1.0, fanout=4, n_jobs=1, tree=self.model.tree_).fit(self.X, Y)

    def assert_direct(self):
        direct = self.direct()
        for name, array in self.model.searcher_.stores[0].arrays().items():
            np.testing.assert_array_equal(array, direct.searcher_.stores[0].arrays()[name], err_msg=name)

    def assert_unchanged(self, before, rename=None):
        labels, scores = self.model.predict_topk(self.queries, 3, beam=None)
        np.testing.assert_allclose(scores, before[1], rtol=1e-4, atol=1e-6)
        assert labels.shape == before[0].shape

    @rule(n=st.integers(1, 6), more=st.integers(0, 2))
    def update(self, n, more):
        new = [len(self.names) + i for i in range(more)]
        self.names |= {number: f"label {number}" for number in new}
        alive = [number for number, name in self.names.items() if name not in self.gone]
        X, own = points(self.rng, np.array(alive), n)
        Y = [[self.names[label] for label in labels] for labels in own]
        self.model.update(X, Y, replay=(self.X, self.Y), exact=True)
        self.X, self.Y = sp.csr_array(sp.vstack([self.X, X], "csr")), self.Y + Y
        self.assert_direct()

    @rule(n=st.integers(1, 4))
    def forget(self, n):
        gone = self.rng.choice(self.X.shape[0], n, replace=False)
        self.model.forget(gone, (self.X, self.Y))
        kept = np.setdiff1d(np.arange(self.X.shape[0]), gone)
        self.X, self.Y = sp.csr_array(self.X[kept]), [self.Y[row] for row in kept.tolist()]
        left = {name for names in self.Y for name in names}
        self.retired |= {name for name in self.model.classes_.tolist() if name not in left} & set(self.model.retired_)
        self.assert_direct()

    @rule(index=st.integers(0, 100))
    def retire(self, index):
        alive = [name for name in self.model.classes_.tolist() if name not in self.retired]
        if len(alive) > 3:
            name = alive[index % len(alive)]
            self.model.retire([name])
            self.retired.add(name)

    @rule()
    def restore(self):
        before = self.model.predict_topk(self.queries, 3, beam=None)
        self.model.restore(sorted(self.retired))
        self.model.retire(sorted(self.retired))
        self.assert_unchanged(before)

    @rule(index=st.integers(0, 100))
    def rename(self, index):
        alive = [number for number, name in self.names.items() if name in self.model.classes_]
        number = alive[index % len(alive)]
        old, new = self.names[number], f"{self.names[number]}'"
        before = self.model.predict_topk(self.queries, 3, beam=None)
        self.model.rename(old, new)
        self.names[number] = new
        self.Y = [[new if name == old else name for name in names] for names in self.Y]
        self.retired = {new if name == old else name for name in self.retired}
        self.assert_unchanged(before)

    @rule()
    def compact(self):
        before = self.model.predict_topk(self.queries, 3, beam=None)
        self.model.compact()
        self.gone |= self.retired
        self.Y = [[name for name in names if name not in self.retired] for names in self.Y]
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
    def retired_labels_are_in_no_answer(self):
        if hasattr(self, "model"):
            found = set(self.model.predict_topk(self.queries, 30, beam=None)[0].ravel().tolist()) - {None}
            assert not found & (self.retired | self.gone)
            assert found <= set(self.model.classes_.tolist())


LabelLife.TestCase.settings = settings(
    max_examples=12, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
TestLabelLife = LabelLife.TestCase
