"""Labels allowed or excluded, prepared or per call: the same lists as a search of everything, filtered by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import _core
from labeltrees._names import encode_names
from labeltrees.errors import InputError
from labeltrees.search import Searcher, SearchRequest

N = 120
NAMES = [f"label {label}" for label in range(N)]


@pytest.fixture(scope="module", params=[1, 3], ids=["one tree", "three trees"])
def case(request, twin):
    models = [twin.random_model(seed, n_labels=N, most_children=9, n_features=50) for seed in range(request.param)]
    return Searcher([model.pack() for model in models]), twin.random_queries(2, 6, 50)


def whole_lists(searcher, X):
    found = searcher.topk(X, N)
    return [list(zip(*row, strict=True)) for row in zip(found.labels.tolist(), found.scores.tolist(), strict=True)]


label_lists = st.lists(st.integers(0, N - 1), max_size=N + 20)


@settings(max_examples=40)
@given(exclude=st.none() | label_lists, candidates=st.none() | label_lists, k=st.integers(1, 12), data=st.data())
def test_all_forms_agree_with_filtering_by_hand(case, exclude, candidates, k, data):
    searcher, X = case
    if len(searcher.stores) > 1:  # the trees propose k labels each: compare with the batch, which other tests check
        expected = searcher.topk(X, SearchRequest(k, exclude=exclude, candidates=candidates))
        expected = [
            [pair for pair in zip(*row, strict=True) if pair[0] >= 0]
            for row in zip(expected.labels.tolist(), expected.scores.tolist(), strict=True)
        ]
    else:
        expected = [
            [
                (label, score)
                for label, score in row
                if label >= 0
                and (exclude is None or label not in exclude)
                and (candidates is None or label in candidates)
            ][:k]
            for row in whole_lists(searcher, X)
        ]
    names = _core.Names(*encode_names(NAMES), "names")
    answer = searcher.predictor(k, names=names)
    forms = {
        "ids": lambda labels: labels,
        "array": lambda labels: np.array(labels, np.int64),
        "set": set,
        "names": lambda labels: [NAMES[label] for label in labels],
        "prepared": searcher.label_set,
    }
    form = {what: forms[data.draw(st.sampled_from(sorted(forms)))] for what in ("exclude", "candidates")}
    given_labels = {
        name: labels if labels is None else form[name](labels)
        for name, labels in (("exclude", exclude), ("candidates", candidates))
    }
    for row in range(X.shape[0]):
        labels, scores = answer(X[[row]], **given_labels)
        assert list(zip(labels.tolist(), scores.tolist(), strict=True)) == expected[row]


@pytest.mark.parametrize("n", [0, 1, 14, 15, 60, 119, 120])
@pytest.mark.parametrize("options", [{}, {"beam": 2}, {"search": "paths", "beam": 2}, {"max_chunks": 3}], ids=str)
def test_batches_and_single_calls_agree_for_all_sizes(case, n, options):
    searcher, X = case
    labels = np.random.default_rng(n).permutation(N)[:n]
    prepared = searcher.label_set(labels)
    assert len(prepared) == n
    for name in ("exclude", "candidates"):
        request = SearchRequest(4, **options, **{name: labels})
        batch = searcher.topk(X, request)
        same = searcher.topk(X, SearchRequest(4, **options, **{name: prepared}))
        np.testing.assert_array_equal(batch.labels, same.labels)
        answer = searcher.predictor(SearchRequest(4, **options))
        for row in range(X.shape[0]):
            found = batch.labels[row][batch.labels[row] >= 0].tolist()
            assert answer(X[[row]], **{name: prepared})[0].tolist() == found
            if name == "candidates" or n * 8 < N:  # a long list to exclude only skips nodes once it is prepared
                assert answer(X[[row]], **{name: labels})[0].tolist() == found


def test_a_search_that_excludes_nearly_all_labels_opens_few_nodes(case):
    searcher, X = case
    labels = np.arange(N - 1)
    plain = searcher.topk(X, 1, stats=True).stats
    found = searcher.topk(X, SearchRequest(1, exclude=labels), stats=True)
    assert (found.labels == N - 1).all()
    one_path = searcher.topk(X, SearchRequest(1, candidates=[N - 1]), stats=True).stats
    assert found.stats.chunks.tolist() == one_path.chunks.tolist()
    assert plain.chunks.max() <= searcher.n_nodes


def test_names_are_returned_and_unknown_names_counted(case):
    searcher, X = case
    names = _core.Names(*encode_names(NAMES), "names")
    labels, scores = searcher.predictor(3, names=names, with_names=True)(X[[0]])
    ids, same = searcher.predictor(3)(X[[0]])
    assert labels == [NAMES[label] for label in ids]
    assert scores.tolist() == same.tolist()
    prepared = searcher.label_set(["label 3", "nothing", "label 3", "\ud800"], names)
    assert (len(prepared), prepared.n_unknown) == (1, 2)
    assert searcher.label_set(prepared, names) is prepared
    assert searcher.predictor(3, names=names)(X[[0]], candidates=["nothing"])[0].tolist() == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([N], rf"must hold label ids in \[0, {N}\), got {N}"),
        ([-1], "must hold label ids"),
        ([2**70], "must hold label ids"),
        (np.array([N]), "must hold label ids"),
        (np.zeros((1, 2), np.int64), r"must hold label names or ids, got list \[0, 0\]"),
        ([1.5], r"must hold label names or ids, got float 1\.5"),
        ([True], "must hold label names or ids"),
        (["label 3"], "must hold label ids: the labels of this model have no names"),
        ("label 3", "must be a list of labels or a label set, got str 'label 3'"),
        (3, "must be a list of labels or a label set"),
    ],
    ids=str,
)
def test_what_is_no_set_of_labels_is_refused(case, labels, message):
    searcher, X = case
    answer = searcher.predictor(3)
    for name in ("exclude", "candidates"):
        with pytest.raises(InputError, match=f"{name} {message}"):
            answer(X[[0]], **{name: labels})
    with pytest.raises(InputError, match=f"labels {message}"):
        searcher.label_set(labels)


def test_sets_of_another_model_are_refused(case, twin):
    searcher, X = case
    other = Searcher(twin.random_model(7, n_labels=N, n_features=50).pack()).label_set([1])
    with pytest.raises(InputError, match="exclude is a label set of another model"):
        searcher.predictor(3)(X[[0]], exclude=other)
    with pytest.raises(InputError, match="candidates is a label set of another model"):
        searcher.topk(X, SearchRequest(3, candidates=other))
