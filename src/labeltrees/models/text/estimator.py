"""TextLabelTreeClassifier: fastText's hierarchical softmax on any binary label tree; saving and loading it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from labeltrees import _core
from labeltrees._files import refuse_file
from labeltrees._matrices import CheckedX, CheckedY
from labeltrees._names import same_in_nfc
from labeltrees._settings import refuse_gone, refusing, take_settings
from labeltrees._validation import check_n_jobs
from labeltrees.data.files import check_readable
from labeltrees.data.label_sets import read_training_labels
from labeltrees.errors import InputError
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import label_frequencies
from labeltrees.models.common.error_costs import point_costs
from labeltrees.models.common.given import FitArguments, arguments_of
from labeltrees.models.common.label_names import LabelNames, column_names
from labeltrees.models.common.model_files import ModelReader, shared_to_files
from labeltrees.models.common.settings import ClassifierSettings, seed_of
from labeltrees.models.common.update_labels import check_classes
from labeltrees.models.common.update_report import UpdateReport
from labeltrees.models.text.searcher import TextPredictionMixin, Texts, TextSearcher, texts_of
from labeltrees.models.text.settings import (
    GONE,
    GONE_FROM_FIT,
    TextSettings,
    TextTreeSettings,
    check_text_settings,
)
from labeltrees.models.text.store import TextStore
from labeltrees.models.text.training import count_words, make_tree, tfidf_bag, train_vectors
from labeltrees.models.text.update import update_text_model
from labeltrees.storage import LoadedModel, decode_names, save_arrays
from labeltrees.tree.settings import TreeBuilder, with_builder

PREFIX = "__label__"


@refusing(GONE)
@dataclass(eq=False, repr=False, kw_only=True)
class TextLabelTreeClassifier(
    TextPredictionMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ClassifierSettings,
    TextSettings,
    TextTreeSettings,
):
    """Hierarchical softmax over texts: fastText's supervised model on a tree of any `tradeoff`.

    A text is the mean of the vectors of its words and hashed n-grams; every node of a binary tree has a logistic unit.
    A label's score is the probability of its path. Tokens, hashes and training are fastText's.

    Four parameters matter most. `epochs` and `lr` decide how long and how fast it learns: few texts need more epochs.
    `dim` is the length of the vectors: shorter ones are faster. `tradeoff` moves between trees that group similar
    labels (0 to 1), which are more accurate, and trees with frequent labels near the root (2), which are faster.

    Parameters
    ----------
    tradeoff : float in [0, 2], default 1
        **The tree.** It is binary. 0: balanced, similar labels together. 1: the same, each label weighted by its
        frequency. 2: frequency only.
    tree : TreeBuilder, "huffman", "fano", "semantic_huffman", "random" or a binary LabelTree, optional
        A `TreeBuilder` has the paper's variants of building the tree, and label embeddings (by default PIFA over the
        texts' words and n-grams with tf-idf weights). The others are used instead of building a tree.
    min_count : int, default 2
        **Features.** Words that occur less often are left out.
    word_ngrams : int, default 2
        Maximum length of word n-grams.
    min_n, max_n : int, default 0
        Minimum and maximum length of character n-grams; max_n 0 for none.
    buckets : int, default 2_000_000
        Number of buckets that n-grams are hashed into. Only buckets that occur use memory.
    dim : int, default 128
        **Training.** Length of the vectors.
    lr : float, default 0.5
        Initial learning rate; it falls linearly to 0.
    epochs : int, default 25
        Number of passes over the texts.
    shuffle : bool, default True
        Read the texts in a new random order in every epoch. False reads them in the given order, as fastText does: if
        they are sorted by topic or label, the model is much worse.
    k : int, default 5
        **Search.** `predict` returns the k best labels.
    threshold : float, optional
        `predict` returns all labels with at least this score (after `calibrate`: probability) instead.
    random_state : int, RandomState or None, default 0
        **Running.** With one thread, the same seed gives the same model to the byte.
    n_jobs : int, optional
        Number of threads. Training threads are not synchronised: with more than one, results differ slightly between
        runs.
    verbose : int, default 0
        1 shows progress: words per second, loss, time left.

    Attributes
    ----------
    tree_ : LabelTree
    classes_ : array (L,)
        Label names, or label ids if they have no names.
    label_names_ : array of str (L,) or None
    label_counts_ : array of int64 (L,)
    stats_ : dict
        Seconds, words, tokens, loss and bytes of the training.

    Examples
    --------
    >>> import labeltrees as lt
    >>> texts = ["red apple", "green apple", "red car", "fast car", "fast train"] * 20
    >>> labels = [["fruit"], ["fruit"], ["vehicle"], ["vehicle"], ["vehicle", "rail"]] * 20
    >>> model = lt.TextLabelTreeClassifier(dim=16).fit(texts, labels)
    >>> model.predict_topk(["an apple"], k=1)[0].tolist()
    [['fruit']]
    """

    @classmethod
    def paper(cls, **changes: Any) -> TextLabelTreeClassifier:
        """Return a classifier with the paper's fastText setting: 200 epochs, words and word pairs, vectors of 128."""
        setting = {"dim": 128, "lr": 0.5, "epochs": 200, "min_count": 2, "word_ngrams": 2}
        return cls(**{**setting, **changes})

    def set_params(self, **parameters: Any) -> TextLabelTreeClassifier:
        """Set parameters, as scikit-learn does; ``tree__cover=...`` works without giving a `TreeBuilder` first."""
        refuse_gone(type(self).__name__, GONE, parameters)
        changed: TextLabelTreeClassifier = super().set_params(**with_builder(self, parameters))
        return changed

    # Training.

    @refusing(GONE_FROM_FIT)
    def fit(self, texts: Any, Y: Any = None, sample_weight: Any = None) -> TextLabelTreeClassifier:
        """Build the tree and train it.

        Parameters
        ----------
        texts : N str, or a Dataset with texts
            A newline counts as a space; words that start with ``__label__`` are ignored. A Dataset also contains the
            other arguments and label names: ``fit(lt.Dataset(texts, Y, label_names=names))``.
        Y : sparse or dense matrix (N, L), or list of lists of label names or ids
            Every value above 0 is a label, regardless of its size. Texts without a label only count for the vocabulary.
        sample_weight : array (N,), optional
            Weights of the texts, for training steps (relative to the mean weight) and for building the tree.
        """
        settings = self._check()
        given = arguments_of(texts, Y, sample_weight)
        items = texts_of(given.X if isinstance(texts, FitArguments) else texts)
        labels = read_training_labels(given.Y, given.label_names, len(items))
        weights = point_costs(given.sample_weight, len(items))
        started = time.perf_counter()
        corpus = count_words(items, "", settings, bool(self.verbose))
        names = None if labels.names is None else LabelNames(labels.names, labels.kind)
        counts = np.bincount(labels.Y.indices, minlength=labels.Y.shape[1])
        self._fit(corpus, settings, names, counts, CheckedY(labels.Y), weights, started)
        self._column_names = column_names(Y)
        return self

    def update(self, texts: Any, Y: Any = None, *, replay: Any = None) -> UpdateReport:
        """Train a fitted model further, with new texts, words and labels.

        New words that occur at least `min_count` times in the new texts, and all n-grams of the new texts, get vectors.
        A new label is placed next to the old label that the model predicts most strongly for its texts: a new node
        decides between the two. Then all vectors are trained, from their old values, for `epochs` epochs with a
        learning rate that falls from `lr` to 0.

        Without `replay`, the model slowly forgets old labels that the new texts do not have. It forgets at once the old
        labels next to which a new label was placed (`moved_labels` of the report). Give all old texts if you can; a few
        texts of every label also help.

        `agreement` must be learned again with `calibrate`. Retired labels stay retired.

        Parameters
        ----------
        texts, Y
            New texts as in `fit`, or a Dataset.
        replay : Dataset or (texts, Y), optional
            All or some of the texts that the model was trained on. They are used for training again, but not counted
            again.

        Returns
        -------
        UpdateReport
            What was added, and whether a full fit is advisable.

        Examples
        --------
        >>> import labeltrees as lt
        >>> texts, labels = ["red apple", "green pear"] * 20, [["apple"], ["pear"]] * 20
        >>> model = lt.TextLabelTreeClassifier(dim=16).fit(texts, labels)
        >>> report = model.update(["blue plum"] * 20, [["plum"]] * 20, replay=(texts, labels))
        >>> report.new_labels, model.predict_topk(["plum", "apple"], k=1)[0].tolist()
        (['plum'], [['plum'], ['apple']])
        """
        return update_text_model(self, texts, Y, replay)

    def partial_fit(self, texts: Any, Y: Any, classes: Any = None) -> TextLabelTreeClassifier:
        """Call `fit` the first time and `update` afterwards: scikit-learn's interface for incremental learning.

        Parameters
        ----------
        texts, Y
            As in `fit`.
        classes : sequence of labels, optional
            All labels that may occur in any call; a label of Y that is not among them is an error.
        """
        check_classes(Y, classes)
        if not hasattr(self, "searcher_"):
            return self.fit(texts, Y)
        self.update(texts, Y)
        return self

    def label_embeddings(self, texts: Any, Y: Any) -> Any:
        """Return the label embeddings (L, d) that `fit` builds its tree from, to build several trees from them."""
        settings = self._check()
        items = Texts(texts).items
        labels = read_training_labels(Y, None, len(items))
        X, _ = tfidf_bag(count_words(items, "", settings, False))
        return pifa(CheckedX(X), CheckedY(labels.Y), n_jobs=self.n_jobs)

    def fit_file(self, path: str | os.PathLike[str]) -> TextLabelTreeClassifier:
        """Build the tree and train it on a file in fastText's format, which is read again in every epoch.

        At most 16 MiB of the file per thread are in memory. A larger file is shuffled in two steps: blocks of at most
        64 KiB are read in random order, and the lines of all blocks in memory are shuffled.

        Each line is one text. Its words that start with ``__label__`` are its labels, named without that prefix. Labels
        are numbered as in fastText, the most frequent first. The file must be plain text, not compressed.
        """
        settings = self._check()
        name = check_readable(path)
        started = time.perf_counter()
        corpus = count_words(None, name, settings, bool(self.verbose))
        if corpus.n_labels == 0:
            refuse_file(name, f"no line has a label (a word that starts with {PREFIX})")
        names = LabelNames(_label_names(corpus, name))
        if same := same_in_nfc(names.array.tolist()):
            fault = f"labels in several Unicode forms that look the same, such as {same[0]!r} ({len(same)} in all)"
            refuse_file(name, f"{fault}; write the file in the form NFC, for example with uconv -x nfc")
        return self._fit(corpus, settings, names, corpus.counts[corpus.n_words :], None, None, started)

    def _check(self) -> TextSettings:
        check_text_settings(self)
        return take_settings(TextSettings, self)

    def _fit(
        self,
        corpus: _core.TextCorpus,
        settings: TextSettings,
        names: LabelNames | None,
        counts: Any,
        Y: CheckedY | None,
        weights: Any,
        started: float,
    ) -> TextLabelTreeClassifier:
        seed = seed_of(self.random_state)

        def read_texts() -> tuple[CheckedX, CheckedY]:
            X, in_file = tfidf_bag(corpus, progress=bool(self.verbose))
            return CheckedX(X), CheckedY(in_file) if Y is None else Y

        tree = make_tree(
            self.tree,
            self.tradeoff,
            counts / counts.sum() if Y is None else label_frequencies(Y, weights),
            read_texts,
            label_names=None if names is None else names.array,
            sample_weight=weights,
            random_state=seed,
            n_jobs=self.n_jobs,
            progress=bool(self.verbose),
        )
        built = time.perf_counter()
        store = train_vectors(
            corpus,
            settings,
            tree,
            None if Y is None else Y.matrix,
            point_weights=weights,
            random_state=seed,
            n_threads=check_n_jobs(self.n_jobs),
            progress=bool(self.verbose),
        )
        self._label_names = names
        self.label_counts_ = np.asarray(counts, dtype=np.int64)
        self.tree_ = tree
        self.n_points_: int | None = corpus.n_lines  # None: unknown, as in models from fastText
        self.searcher_ = TextSearcher(store)
        self.searcher_.set_prior(self.label_counts_, self.n_points_)
        self.calibration_ = None
        self.early_stop_ = None
        self.stats_: dict[str, Any] = {
            "tree_seconds": built - started,
            "seconds": time.perf_counter() - started,
            "n_words": store.n_words,
            "n_tokens": store.n_tokens,
            "loss": corpus.loss,
            "bytes": store.nbytes,
        }
        return self

    # Saving.

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as a folder; `labeltrees.load` opens it."""
        check_is_fitted(self, "searcher_")
        save_text_model(self, folder)

    def export_fasttext(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a ``.bin`` file for fastText 0.9.3, which then makes the same predictions.

        fastText builds its tree from label counts, so the counts in the ``.bin`` are chosen to give this tree. The real
        counts are written to ``<path>.label_counts.tsv``. This works if 2^(D - d) * 2 L is below 1e15, for L labels at
        depths d to D; deeper trees are refused. fastText cannot leave out labels: a model with retired ones
        is refused.
        """
        from labeltrees.models.text.fasttext import export_model

        check_is_fitted(self, "searcher_")
        if len(self.retired_):
            message = "fastText would return the retired labels: restore them first, or fit a model without them"
            raise InputError(message)
        export_model(self, path)

    @classmethod
    def from_fasttext(cls, path: str | os.PathLike[str]) -> TextLabelTreeClassifier:
        """Open a supervised model with hierarchical softmax (``-loss hs``) that fastText saved as ``.bin``."""
        from labeltrees.models.text.fasttext import import_model

        return import_model(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags


def _label_names(corpus: _core.TextCorpus, path: str) -> Any:
    ends = corpus.ends[corpus.n_words :]
    text = corpus.text[ends[0] :]
    names = decode_names(text, ends - ends[0], path)
    return np.array([name.removeprefix(PREFIX) for name in names], dtype=object)


def save_text_model(model: TextLabelTreeClassifier, folder: str | os.PathLike[str]) -> None:
    """Save a fitted model as a folder."""
    store = model.searcher_.store
    parameters, arrays = shared_to_files(model)
    # The shape of the trained model: `set_params` may have changed the settings since.
    parameters["shape"] = {name: getattr(store, name) for name in TextStore.NUMBERS}
    arrays |= {name: getattr(store, name) for name, _ in TextStore.ARRAYS}
    if model.tree_.label_weights is not None:
        arrays["label_weights"] = model.tree_.label_weights
    save_arrays(folder, model.KIND, parameters, arrays)


def open_text_model(loaded: LoadedModel, *, verify: bool = False) -> TextLabelTreeClassifier:
    """Return the model of an opened folder; `verify` reads and checks all of it."""
    return _TextReader(loaded).read(verify)


class _TextReader(ModelReader):
    def read(self, verify: bool) -> TextLabelTreeClassifier:
        try:
            model = self.read_parameters()
        except InputError as error:
            self.fail(f"the manifest's parameters are damaged: {error}")
        store = self.read_store()
        model.searcher_ = TextSearcher(store)
        model.tree_ = self.tree(store.child_ptr, store.children)
        if self.parameters["n_points"] == 1 and "seconds" not in self.parameters["stats"]:
            self.parameters["n_points"] = None  # imported from fastText by an old release, which saved 1 for "unknown"
        self.set_shared(model)
        if verify:
            store.check_all()
            self.check_names_differ(model.classes_)
        return model

    def read_parameters(self) -> TextLabelTreeClassifier:
        parameters = self.parameters
        self.check_parameters({"shape"})
        settings = self.read_settings(TextLabelTreeClassifier, {"tree": TreeBuilder})
        self.check_keys("shape", parameters["shape"], set(TextStore.NUMBERS))
        self.check_counts(("n_labels",) if parameters["n_points"] is None else ("n_labels", "n_points"), 2**62)
        if parameters["shape"]["n_labels"] != parameters["n_labels"]:
            self.fail("n_labels occurs twice in the manifest, with different values")
        return TextLabelTreeClassifier(**settings)

    def read_store(self) -> TextStore:
        for name, _ in TextStore.ARRAYS:
            if name not in self.arrays:
                self.fail(f"the array {name} is missing")
        arrays: dict[str, Any] = {name: self.arrays[name] for name, _ in TextStore.ARRAYS}
        return TextStore(**arrays, **self.parameters["shape"], source=self.source)
