"""Updating a text model: training continues from its vectors, with new words, n-grams and labels.

A new label is placed next to the old label that the model predicts most strongly for its texts: a new node above both
takes the place of the old label. So every old node separates the same old labels as before and keeps its unit.
"""

from __future__ import annotations

import heapq
import time
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from labeltrees import _core
from labeltrees._matrices import Int64s
from labeltrees._validation import check_n_jobs
from labeltrees.errors import InputError
from labeltrees.models.common.error_costs import point_costs
from labeltrees.models.common.given import arguments_of
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.settings import seed_of
from labeltrees.models.common.update_labels import new_labels, old_labels, read_replay, widen
from labeltrees.models.common.update_report import UpdateReport, advice, count, depths, shown_labels, updates_so_far
from labeltrees.models.text.searcher import Texts, TextSearcher, texts_of
from labeltrees.models.text.settings import TextSettings
from labeltrees.models.text.store import TextStore, zero_rows
from labeltrees.models.text.training import count_words, train_vectors
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import tree_settings
from labeltrees.tree.splits import split_rules

if TYPE_CHECKING:
    from labeltrees.models.text.estimator import TextLabelTreeClassifier

FOUND = 5  # predicted labels per text, used to place a new label
PRESENT = np.uint64(0xFFFFFFFF)  # the presence bits in an entry of `TextStore.buckets`


def update_text_model(model: TextLabelTreeClassifier, texts: Any, Y: Any, replay: Any) -> UpdateReport:
    """Update a fitted model; see `TextLabelTreeClassifier.update`."""
    check_is_fitted(model, "searcher_")
    started = time.perf_counter()
    settings = _trained_settings(model)
    data = _read(model, texts, Y, replay)
    old_tree, old_store = model.tree_, model.searcher_.store
    placed = np.zeros(data.n_labels, dtype=bool)
    placed[: old_tree.n_labels] = old_tree.label_parent >= 0
    here = np.bincount(data.new_labels.indices, minlength=data.n_labels)
    counts = here.astype(np.int64)
    counts[: len(model.label_counts_)] += model.label_counts_
    added = np.flatnonzero((here > 0) & ~placed)
    near = _nearest(model, data, added)
    tree = _with_weights(model, attach_labels(old_tree, data.n_labels, added, near, counts), counts)
    store, loss = _train(model, settings, data, tree)
    history = updates_so_far(model.stats_, old_tree, model.label_counts_, len(added))
    depth, fresh_depth = depths(history, tree, counts)
    report = UpdateReport(
        n_points=len(data.new_texts),
        n_replayed=len(data.old_texts),
        new_labels=shown_labels(data.names, added),
        n_new_features=len(store.input) - len(old_store.input),
        n_split=0,
        n_rebuilt=0,
        moved_labels=shown_labels(data.names, np.unique(near)),
        kept=0,
        continued=old_tree.n_nodes,
        trained=tree.n_nodes - old_tree.n_nodes,
        expected_depth=depth,
        fresh_depth=fresh_depth,
        similarity=None,
        fresh_similarity=None,
        exact=False,
        seconds=0.0,
        notes=_notes(model, data),
    )
    report.full_fit_advised = advice(report, history, replay is not None)
    _install(model, data, tree, store, counts, np.setdiff1d(model.searcher_.retired, added))
    model.stats_ |= {"loss": loss, "updates": history}
    report.seconds = time.perf_counter() - started
    for note in report.notes:
        warnings.warn(note, UserWarning, stacklevel=3)
    return report


def _trained_settings(model: TextLabelTreeClassifier) -> TextSettings:
    """Return the settings of the model, with the feature settings that it was trained with."""
    store = model.searcher_.store
    return replace(
        model._check(),
        dim=store.dim,
        word_ngrams=store.word_ngrams if store.n_buckets else 1,
        min_n=store.min_n if store.n_buckets else 0,
        max_n=store.max_n if store.n_buckets else 0,
        buckets=store.n_buckets,
    )


@dataclass(frozen=True, eq=False)
class _UpdateData:
    """New and old texts with their labels as CSR over all labels."""

    new_texts: tuple[Any, ...]
    old_texts: tuple[Any, ...]
    new_labels: Any
    old_labels: Any
    weights: Any  # of new and old texts, or None
    names: LabelNames | None
    n_labels: int
    n_dropped: int


def _read(model: TextLabelTreeClassifier, texts: Any, Y: Any, replay: Any) -> _UpdateData:
    given = arguments_of(texts, Y, None)
    old = None if replay is None else read_replay(replay)
    items = texts_of(texts)
    names, labels, n_labels = new_labels(model, given, len(items))
    if labels.nnz == 0:
        message = "Y has no labels"
        raise InputError(message)
    weights = [point_costs(given.sample_weight, len(items))]
    replayed, known, n_dropped = (), sp.csr_array((0, n_labels), dtype=np.float32), 0
    if old is not None:
        replayed = texts_of(replay if not isinstance(replay, tuple | list) else replay[0])
        known, n_dropped = old_labels(names, model.stats_.get("renamed", {}), old, len(replayed), n_labels)
        weights.append(point_costs(old.sample_weight, len(replayed)))
    all_weights = None
    if any(own is not None for own in weights):
        sizes = (len(items), len(replayed))
        all_weights = np.concatenate(
            [np.ones(n) if own is None else own for own, n in zip(weights, sizes, strict=False)]
        )
    return _UpdateData(
        items, replayed, widen(labels, n_labels), widen(known, n_labels), all_weights, names, n_labels, n_dropped
    )


# The tree.


def _nearest(model: TextLabelTreeClassifier, data: _UpdateData, added: Int64s) -> Int64s:
    """Return for each new label the old label with the highest sum of scores over the predictions for its texts."""
    if len(added) == 0:
        return added
    own = sp.csr_array(data.new_labels[:, added])
    rows = np.flatnonzero(np.diff(own.indptr) > 0)
    texts = Texts([data.new_texts[row] for row in rows.tolist()])
    found = model.searcher_.topk(texts, FOUND, n_jobs=model.n_jobs)
    point, column = np.nonzero(found.labels >= 0)
    pairs: Any = (found.scores[point, column].astype(np.float64), (point, found.labels[point, column]))
    scores = sp.csr_array(pairs, shape=(len(rows), model.searcher_.n_labels))
    sums = sp.csr_array(own[rows].T.astype(np.float64) @ scores)
    usual = int(np.argmax(np.where(model.tree_.label_parent >= 0, model.label_counts_, -1)))
    nearest = np.full(len(added), usual, dtype=np.int64)
    for number, (begin, end) in enumerate(pairwise(sums.indptr.tolist())):
        labels, values = sums.indices[begin:end], sums.data[begin:end]
        if end > begin:
            nearest[number] = labels[values == values.max()].min()
    return nearest


def attach_labels(tree: LabelTree, n_labels: int, added: Any, nearest: Any, counts: Any) -> LabelTree:
    """Return a binary tree in which each label of `added` is placed next to its nearest old label.

    An old label and all labels added to it form a Huffman tree by `counts`, which takes the place of the old label. Old
    nodes keep their ids, and new nodes come after them.

    Examples
    --------
    >>> import numpy as np
    >>> tree = LabelTree([0, 2], [~0, ~1], n_labels=2)
    >>> grown = attach_labels(tree, 3, np.array([2]), np.array([1]), np.array([5, 3, 2]))
    >>> grown.children.tolist() == [~0, 1, ~2, ~1]
    True
    """
    children = tree.children.tolist()
    edges = {~child: edge for edge, child in enumerate(children) if child < 0}
    groups: dict[int, list[int]] = {}
    for label, old in zip(np.asarray(added).tolist(), np.asarray(nearest).tolist(), strict=True):
        groups.setdefault(old, [old]).append(label)
    n_nodes = tree.n_nodes
    for old, labels in groups.items():
        waiting: list[Any] = [_huffman(labels, counts)]
        children[edges[old]] = n_nodes
        n_numbered = n_nodes + 1
        for pair in waiting:  # the list grows during the loop: parents get their ids before their children
            for child in pair:
                if isinstance(child, tuple):
                    waiting.append(child)
                    children.append(n_numbered)
                    n_numbered += 1
                else:
                    children.append(~child)
        n_nodes = n_numbered
    child_ptr = np.concatenate([tree.child_ptr, tree.child_ptr[-1] + 2 * np.arange(1, n_nodes - tree.n_nodes + 1)])
    return LabelTree(child_ptr, np.array(children, dtype=np.int32), n_labels)


def _huffman(labels: list[int], counts: Any) -> tuple[Any, Any]:
    """Return a Huffman tree of labels as nested pairs, with rare labels deeper."""
    heap: list[Any] = [(int(counts[label]), order, label) for order, label in enumerate(labels)]
    heapq.heapify(heap)
    for order in range(len(labels), 2 * len(labels) - 1):
        first, second = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (first[0] + second[0], order, (first[2], second[2])))
    root: tuple[Any, Any] = heap[0][2]
    return root


def _with_weights(model: TextLabelTreeClassifier, tree: LabelTree, counts: Any) -> LabelTree:
    """Return the tree with label weights if the old tree has them."""
    weights = None
    if model.tree_.label_weights is not None:
        weights = counts / max(counts.sum(), 1)
        if not isinstance(model.tree, str | LabelTree):
            settings = tree_settings(model.tree, tradeoff=model.tradeoff, fanout=2)
            weights = split_rules(weights, None, settings).weights
    return LabelTree(tree.child_ptr, tree.children, tree.n_labels, label_weights=weights)


# Vocabulary and training.


@dataclass(frozen=True, eq=False)
class _Vocabulary:
    """Old words, new words, then label tokens of fastText; `rows` are the new positions of the old input rows."""

    words: Any
    ends: Any
    counts: Any
    n_words: int
    buckets: Any
    rows: Int64s


def _grow(store: TextStore, corpus: _core.TextCorpus, min_count: int) -> _Vocabulary:
    """Return the vocabulary of a model, extended by the frequent words and all n-grams of new texts."""
    old, seen = _split(store.words, store.word_ends), _split(corpus.text, corpus.ends)
    number = {word: at for at, word in enumerate(seen)}
    seen_counts = corpus.counts
    counts = store.word_counts.copy()
    known = np.zeros(len(seen), dtype=bool)
    for at, word in enumerate(old):
        if (here := number.get(word)) is not None:
            counts[at] += seen_counts[here]
            known[here] = True
    new = np.flatnonzero(~known & (seen_counts >= min_count))
    n_old, n_words = store.n_words, store.n_words + len(new)
    words = [*old[:n_old], *(seen[at] for at in new.tolist()), *old[n_old:]]
    if len(store.buckets) == len(corpus.buckets):
        buckets = (store.buckets | corpus.buckets) & PRESENT
        places = np.searchsorted(_present(buckets), _present(store.buckets))
    else:  # fastText also saves buckets for models without n-grams, which never read them
        buckets, places = corpus.buckets, np.zeros(0, dtype=np.int64)
    return _Vocabulary(
        words=np.frombuffer(b"".join(words), dtype=np.uint8).copy(),
        ends=np.concatenate([[0], np.cumsum([len(word) for word in words])]).astype(np.int64),
        counts=np.concatenate([counts[:n_old], seen_counts[new], counts[n_old:]]),
        n_words=n_words,
        buckets=buckets,
        rows=np.concatenate([np.arange(n_old), n_words + places]),
    )


def _split(text: Any, ends: Any) -> list[bytes]:
    whole = text.tobytes()
    return [whole[begin:end] for begin, end in pairwise(ends.tolist())]


def _present(buckets: Any) -> Int64s:
    """Return the buckets that have a row, ascending."""
    halves = (buckets & PRESENT).astype("<u4")
    return np.flatnonzero(np.unpackbits(halves.view(np.uint8), bitorder="little"))


def _train(
    model: TextLabelTreeClassifier, settings: TextSettings, data: _UpdateData, tree: LabelTree
) -> tuple[TextStore, float]:
    old, seed, n_threads = model.searcher_.store, seed_of(model.random_state), check_n_jobs(model.n_jobs)
    progress, every = bool(model.verbose), replace(settings, min_count=1)
    corpus = count_words(data.new_texts, "", every, progress)
    n_tokens = old.n_tokens + corpus.n_tokens
    grown = _grow(old, corpus, settings.min_count)
    if data.old_texts:
        corpus = count_words(data.new_texts + data.old_texts, "", every, progress)
    corpus.set_vocabulary(grown.words, grown.ends, grown.counts, grown.n_words, grown.buckets)
    inputs = zero_rows(corpus.n_words + corpus.n_bucket_rows, old.dim)
    _core.start_input(inputs.reshape(-1), old.dim, inputs.shape[1], seed, n_threads)
    inputs[grown.rows] = old.input[: len(grown.rows)]
    outputs = zero_rows(tree.n_nodes, old.dim)
    outputs[: len(old.output)] = old.output
    store = train_vectors(
        corpus,
        settings,
        tree,
        sp.csr_array(sp.vstack([data.new_labels, data.old_labels], "csr")),
        point_weights=data.weights,
        start=(inputs, outputs),
        random_state=seed,
        n_threads=n_threads,
        progress=progress,
    )
    kept = {name: getattr(old, name) for name in ("word_ngrams", "min_n", "max_n")}
    slots = _core.word_slots(grown.words, grown.ends)
    words = {"words": grown.words, "word_ends": grown.ends, "word_counts": grown.counts, "word_slots": slots}
    return replace(store, **words, **kept, n_tokens=n_tokens), corpus.loss


# The result.


def _notes(model: TextLabelTreeClassifier, data: _UpdateData) -> list[str]:
    notes = []
    if model.early_stop_ is not None:
        notes.append("agreement must be learned again: call calibrate, or labeltrees calibrate")
    if model.calibration_ is not None:
        notes.append("probabilities are those of the model before the update; calibrate learns them again")
    if data.n_dropped:
        notes.append(f"{count(data.n_dropped, 'label')} of old points were left out: the model does not know them")
    return notes


def _install(
    model: TextLabelTreeClassifier, data: _UpdateData, tree: LabelTree, store: TextStore, counts: Any, retired: Any
) -> None:
    if isinstance(model.tree, LabelTree):
        model.tree = tree
    model.tree_ = tree
    model._label_names = data.names
    model.label_counts_ = counts
    model.n_points_ = None if model.n_points_ is None else model.n_points_ + len(data.new_texts)
    model.searcher_ = TextSearcher(store)
    model.searcher_.set_prior(counts, model.n_points_)
    model.searcher_.set_retired(retired)
    model.early_stop_ = None
    model.stats_ = {**model.stats_, "n_words": store.n_words, "n_tokens": store.n_tokens, "bytes": store.nbytes}
