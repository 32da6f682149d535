"""Second classifiers: their hard negatives, and that each is the solution of its own problem."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import labeltrees as lt
from labeltrees.models.linear.classifiers import N_RANKED, KnownPoints, train_classifiers
from labeltrees.models.linear.settings import LinearSettings

N_LABELS = 40


def make_known(seed=0, n=600, weights=None, groups=None, loss="squared_hinge", n_jobs=1):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, 30), density=0.3, rng=rng, dtype=np.float32).tocsr()
    X = sp.csr_array(X / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)[:, None])
    Y = sp.csr_array(((X @ rng.standard_normal((30, N_LABELS))) > 0.9).astype(np.float32))
    model = lt.LabelTreeClassifier(fanout=4, loss=loss, C=1.0, n_jobs=n_jobs).fit(X, Y)
    settings = LinearSettings(loss=loss, eps=1e-5, max_iter=3000, prune_below=0)
    return KnownPoints(X, Y, weights, groups, model, settings, seed)


@pytest.fixture(scope="module")
def known():
    return make_known()


def test_hard_negatives_are_what_a_model_of_other_points_ranks_high(known):
    negatives = known.hard_negatives
    counts = np.diff(negatives.indptr)
    assert negatives.indptr[-1] == len(negatives.points) > 0
    labels = np.repeat(np.arange(N_LABELS), counts)
    assert not known.Y.toarray()[negatives.points, labels].any()  # none is a positive
    # A point has N_RANKED labels less its own among them.
    n_own = np.bincount(negatives.points, minlength=known.Y.shape[0])
    assert n_own.max() <= N_RANKED
    assert (n_own >= N_RANKED - np.diff(known.Y.indptr)).all()


def test_points_of_one_group_do_not_choose_each_others_negatives():
    groups = np.arange(600) % 150
    known = make_known(groups=groups)
    fitted, asked = [], []

    class Watched(KnownPoints):
        def fit(self, rows, **changes):
            fitted.append(set(groups[rows]))
            return super().fit(rows, **changes)

        def _wrong(self, model, rows):
            asked.append(set(groups[rows]))
            return super()._wrong(model, rows)

    Watched(**{name: getattr(known, name) for name in known.__dataclass_fields__}).hard_negatives  # noqa: B018
    assert len(fitted) == len(asked) == 2
    for own, other in zip(fitted, asked, strict=True):
        assert not own & other
        assert len(own | other) == 150


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_classifier_is_that_of_scikit_learn_on_the_same_points(loss, weighted):
    weights = np.random.default_rng(3).integers(1, 4, 600).astype(float) if weighted else None
    known = make_known(weights=weights, loss=loss)
    found, negatives = train_classifiers(known, C=0.5), known.hard_negatives
    compared = 0
    for label in range(0, N_LABELS, 7):
        positive = np.flatnonzero(known.Y[:, [label]].toarray()[:, 0])
        negative = negatives.points[negatives.indptr[label] : negatives.indptr[label + 1]]
        if len(positive) < 3 or len(negative) < 3:
            continue
        rows = np.concatenate([positive, negative])
        target = np.arange(len(rows)) < len(positive)
        # The bias is regularised: it is the weight of a feature that is 1 everywhere.
        X = np.hstack([known.X[rows].toarray(), np.ones((len(rows), 1))])
        if loss == "logistic":
            peer = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8, max_iter=5000)
        else:
            peer = LinearSVC(C=0.5, fit_intercept=False, tol=1e-8, max_iter=100_000)
        peer.fit(X, target, None if weights is None else weights[rows])
        dense = np.zeros(31)
        columns, values = found.row(label)
        dense[columns], dense[30] = values, found.bias[label]
        np.testing.assert_allclose(dense, peer.coef_[0], atol=0.01)
        compared += 1
    assert compared >= 3


def test_the_same_for_any_number_of_threads(known):
    one, two = train_classifiers(known, 1.0), train_classifiers(make_known(n_jobs=2), 1.0)
    for name, array in one.arrays().items():
        np.testing.assert_array_equal(two.arrays()[name], array)


def test_a_label_without_points_gets_a_low_score(known):
    Y = known.Y.toarray()
    Y[:, 5] = 0
    model = lt.LabelTreeClassifier(fanout=4, C=1.0).fit(known.X, sp.csr_array(Y))
    found = train_classifiers(KnownPoints(known.X, sp.csr_array(Y), None, None, model, known.settings, 0), 1.0)
    assert len(found.row(5)[0]) == 0
    assert found.bias[5] == -1.0


def test_only_the_largest_weights_of_long_rows_are_kept():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 400), density=0.02, rng=rng, dtype=np.float32).tocsr()
    Y = sp.csr_array((rng.random((300, 10)) < 0.3).astype(np.float32))
    model = lt.LabelTreeClassifier(C=1.0).fit(X, Y)
    settings = LinearSettings(prune_below=0)
    known = KnownPoints(sp.csr_array(X), Y, None, None, model, settings, 0)
    assert np.diff(train_classifiers(known, 1.0).rows.indptr).max() == 32 + 4 * X.nnz // 300
