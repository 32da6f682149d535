"""LabelTreeClassifier: linear classifiers in a label tree, and exact search in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from labeltrees._settings import (
    check_settings,
    choice,
    flag,
    integer,
    number,
    optional,
    setting,
    with_default,
)
from labeltrees._validation import Fanout, refuse
from labeltrees.data.encoders import Encoder
from labeltrees.data.parts import PartsDataset
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.models.common.error_costs import check_class_weight
from labeltrees.models.common.settings import ClassifierSettings
from labeltrees.models.linear.contexts import check_vectorizer
from labeltrees.models.linear.evidence import KINDS
from labeltrees.models.linear.files import save_classifier
from labeltrees.models.linear.in_memory import fit_in_memory
from labeltrees.models.linear.in_parts.local import fit_parts
from labeltrees.models.linear.prediction import LinearPredictionMixin
from labeltrees.models.linear.settings import SolverSettings
from labeltrees.search.request import MODES
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeSettings


def _check_tree(name: str, value: Any) -> None:
    is_flat = isinstance(value, str) and value == "flat"
    if value is not None and not is_flat and not isinstance(value, LabelTree):
        refuse(name, "None, a LabelTree or 'flat'", value)


@dataclass(eq=False, repr=False, kw_only=True)
class LabelTreeClassifier(
    LinearPredictionMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ClassifierSettings,
    SolverSettings,
    TreeSettings,
):
    """Sparse linear classifiers in a label tree: Parabel and XR-Linear on a tree of any `tradeoff`.

    Every child of every node has a classifier, trained on the points of the node. A label's score is the product of
    the scores of the classifiers on its path; the search finds the k labels with the highest scores.

    Parameters
    ----------
    tradeoff : float in [0, 2], default 1
        **The tree.** 0: balanced, similar labels together. 1: the same, each label weighted by its frequency. 2:
        frequency only.
    fanout : int or "auto", default 256
        Maximum number of children per node. "auto" chooses the width of each node to minimise the search cost.
    leaf_size : int, default 1
        A set of at most this many labels is not split further.
    smoothing : float, default 0.1
        Added to the label frequencies, spread evenly over all labels, so that rare labels do not sink too deep.
    cover : {"marginal", "greedy"}, default "marginal"
        How cover frequencies are counted. They matter only if tradeoff > 1, or for ``path="direct"``.
    cover_softness : float in [0, 1], default 0
        Share of a point's weight that its other labels get, too; 1 gives plain frequencies.
    path : {"weighted", "direct"}, default "weighted"
        From similarity to frequency through weighted similarity (tradeoff 1), or directly.
    weights_of : {"root", "node"}, default "root"
        Compute label weights once for the whole tree, or in each node from its own labels.
    tree : LabelTree or "flat", optional
        Used instead of building one; "flat" is one node with all labels.
    embeddings : sparse or dense matrix (L, d), optional
        Label embeddings for building the tree; by default PIFA.
    n_trees : int, default 1
        Number of trees with different seeds; their scores are averaged.
    vectorizer : TfidfVectorizer, optional
        **Features.** Turns texts into features; fitted in `fit` if X is texts. By default words that occur in at least
        two texts, with sublinear tf-idf.
    normalize : bool, default True
        Scale every point to unit length, in `fit` and when predicting.
    loss : {"squared_hinge", "logistic"}, default "squared_hinge"
        **Classifiers.** The loss function.
    score_power : float, default 3
        q in the score exp(-max(0, 1 - z)^q) of a squared hinge classifier with margin z.
    C : float or "auto", default "auto"
        Cost of errors, as in liblinear. "auto" chooses a value for each depth of the tree: it holds out a tenth of the
        points, trains a sample of the classifiers at several values on the others and compares the losses. `stats_`
        has the values as ``"C"``, by depth.
    eps : float, default 0.1
        Tolerance at which the solver stops, as in liblinear.
    max_iter : int, default 100
        Maximum number of passes over the points.
    class_weight : None, "balanced", mapping from labels to numbers, or array (L,)
        Costs of the labels' points.
    prune_below : float, default 0.1
        Weights smaller than this are dropped.
    negatives : {"siblings", "matcher"}, default "siblings"
        "siblings": train a node's classifiers on the points of the node. "matcher": also on points that the model sends
        there by mistake, which takes two trainings.
    label_text_points : {"missing", "all", "none"}, default "missing"
        **Texts of labels.** Which labels get their `label_texts` as extra training points: those without a training
        point, all, or none.
    label_text_weight : float, default 1
        Weight of such a point, relative to the mean weight of a point.
    label_text_embedding : float, default 0.5
        Weight of a label's texts in its embedding when the tree is built; its points together have weight 1.
    evidence : {"auto", "neighbours", "centroids", "both"}, optional
        **Evidence.** Adjust the tree's scores of its 10 best labels by the votes of similar training points, by the
        cosine with the labels' centroids, or by both. The weights are learned on held-out points, which takes a second
        training on up to 90 % of the points (half of them where there are more than 40,000). "auto" is "both", turned
        off unless the gain on held-out points is significant. See docs/choosing.md.
    trend : float, optional
        **Trend.** Half-life in days: scores are multiplied with how much more frequent labels are lately than over the
        whole time (`trend_weights`). It needs the times of the points, and searches are exact. See docs/logs.md.
    search : {"best_first", "beam", "paths"}, default "best_first"
        **Search.** How the tree is searched: see `SearchRequest`.
    beam : int or None, default 10
        Maximum number of nodes opened per depth, or of paths for ``search="paths"``; None finds the exact k best.
    k : int, default 5
        `predict` returns the k best labels.
    threshold : float, optional
        `predict` returns all labels with at least this score instead.
    random_state : int, RandomState or None, default 0
        **Running.** The seed: the same data, parameters and seed give the same model.
    n_jobs : int, optional
        Number of threads, as in scikit-learn. Models and predictions do not depend on it.
    verbose : int, default 0
        1 shows progress.

    Attributes
    ----------
    tree_ : LabelTree
    trees_ : list of LabelTree
    classes_ : array (L,)
        Label names, or label ids if they have no names.
    label_names_ : array of str (L,) or None
    label_texts_ : LabelTexts or None
        The texts of labels given to `fit`; they are saved with the model.
    label_counts_ : array of int64 (L,)
        The number of training points of each label.
    n_points_, n_features_in_ : int
        Of the training data.
    feature_names_in_ : array of str (d,), if features have names
    vectorizer_ : TfidfVectorizer or None
        Fitted, if the model was fitted on texts; it is saved with the model.
    encoder_ : Encoder or None
        What turns texts or lists of items into features, if the model was fitted on texts or on a Dataset with an
        encoder; it is saved with the model.
    stats_ : dict
        Seconds, weights and bytes of the training, and ``"C"``: the cost of errors by depth of the node. With
        `evidence`, also what was learned about it.

    Examples
    --------
    >>> import labeltrees as lt
    >>> texts = [[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]]
    >>> model = lt.LabelTreeClassifier(prune_below=0).fit(texts, [["a"], ["a", "c"], ["b"], ["b"]])
    >>> labels, scores = model.predict_topk([[1, 0.1]], k=1)
    >>> labels.tolist()
    [['a']]
    """

    fanout: Fanout = with_default(TreeSettings, "fanout", 256)
    tree: LabelTree | str | None = setting(None, _check_tree, "A tree instead of a new one.")
    vectorizer: TfidfVectorizer | None = setting(None, check_vectorizer, "Turns texts into features.")
    normalize: bool = setting(True, flag, "Scale every point to unit length.")
    score_power: float = setting(
        3, number(0, low_open=True), "q in the score exp(-max(0, 1 - z)^q) of a margin z (squared hinge)."
    )
    class_weight: Any = setting(
        None,
        check_class_weight,
        "balanced: positives and negatives have the same total weight.",
        choices=("balanced",),
    )
    negatives: str = choice(
        "siblings", ("siblings", "matcher"), "Train on the points of the node, or also on points sent there by mistake."
    )
    n_trees: int = setting(1, integer(1), "Number of trees with different seeds; their scores are averaged.")
    label_text_points: str = choice(
        "missing", ("missing", "all", "none"), "Which labels get their texts as extra training points."
    )
    label_text_weight: float = setting(1.0, number(0, 1e6, low_open=True), "Weight of the text of a label as a point.")
    label_text_embedding: float = setting(
        0.5, number(0, 1e6), "Weight of the texts of a label in its embedding when the tree is built."
    )
    evidence: str | None = choice(
        None, KINDS, "Adjust scores by similar training points and label centroids; auto: only if that helps."
    )
    trend: float | None = setting(
        None,
        optional(number(0, 1e6, low_open=True)),
        "Scores follow how frequent labels are lately: half-life in days; none: the whole time counts the same.",
        metavar="DAYS|none",
    )
    search: str = choice("best_first", MODES, "How the tree is searched.")
    beam: int | None = setting(
        10,
        optional(integer(1)),
        "Maximum number of nodes opened per depth, or of paths (search paths); none: exact search.",
        metavar="N|none",
    )

    @classmethod
    def parabel(cls, **changes: Any) -> LabelTreeClassifier:
        """Return Parabel's setting, which the paper uses at every tradeoff.

        A binary tree to leaves of 100 labels (at tradeoff 0 balanced), C of 1, squared scores, and a search that keeps
        10 paths. Leaves whose score is below the k-th label found are not opened; this changes no result.
        """
        setting = {"tradeoff": 0.0, "fanout": 2, "leaf_size": 100, "C": 1.0, "score_power": 2}
        return cls(**{**setting, "search": "paths", "beam": 10, **changes})

    @classmethod
    def one_vs_all(cls, **changes: Any) -> LabelTreeClassifier:
        """Return DiSMEC's setting: no tree to speak of, every label against all others."""
        return cls(**{"tree": "flat", **changes})

    # Training.

    def fit(
        self,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        label_names: Any = None,
        feature_names: Any = None,
        encoder: Encoder | None = None,
        max_memory: int | str | None = None,
        work_folder: str | os.PathLike[str] | None = None,
        label_texts: Any = None,
        times: Any = None,
        groups: Any = None,
    ) -> LabelTreeClassifier:
        """Build the tree and train its classifiers.

        Parameters
        ----------
        X : sparse or dense matrix (N, d), N texts, or a Dataset
            A Dataset has the other arguments too: ``fit(train)``. The model keeps its encoder.
        Y : sparse or dense matrix (N, L), or list of lists of label names or ids
            Values of a matrix are relevances: the weight of a point as a positive of that label. Points without labels
            are negatives at the root.
        sample_weight : array (N,), optional
        label_names : L str, optional
            Names of the columns (or ids) of Y, for a Y without names.
        feature_names : d str, optional
            Names of the columns of X, stored in `feature_names_in_`.
        encoder : Encoder, optional
            What made X, or makes it from the contexts given as X; the model keeps it and then takes such contexts.
        max_memory : int or str such as "4GiB", optional
            For a dataset in parts: how much memory `fit` may use. If the points do not fit into it, they are read part
            by part, with intermediate results on disk. The model is the same. By default 3/4 of the free memory.
        work_folder : path, optional
            For a dataset in parts: where intermediate results are written. They stay after an interruption, and the
            same call continues with them. By default a temporary folder beside the parts.
        label_texts : L str or L lists of str, or dict from labels to them, optional
            Names, synonyms and descriptions of labels, which the model keeps. A model of texts uses them as
            `label_text_points` and `label_text_embedding` say, and a dict may name labels without training points.
        times : array (N,) of datetime64 or numbers, optional
            When the points happened; needed for `trend`.
        groups : array (N,) of integers or str, optional
            Points that belong together, such as the orders of one customer: `C="auto"` and `evidence` hold out whole
            groups. Give them if the model will be asked about new groups.
        """
        check_settings(self)
        if isinstance(X, PartsDataset):
            others = {"Y": Y, "sample_weight": sample_weight, "feature_names": feature_names, "encoder": encoder}
            others |= {"label_texts": label_texts, "times": times, "groups": groups}
            if fit_parts(self, X, others, label_names, max_memory, work_folder):
                return self
        elif max_memory is not None or work_folder is not None:
            refuse("X", "a dataset in parts if max_memory or work_folder is given (`write_parts` makes one)", type(X))
        fit_in_memory(
            self, X, Y, sample_weight, label_names, feature_names, encoder, label_texts, times=times, groups=groups
        )
        return self

    @property
    def tree_(self) -> LabelTree:
        """The tree, or the first of them."""
        return self.trees_[0]

    # Saving.

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as a folder; `labeltrees.load` opens it."""
        check_is_fitted(self, "searcher_")
        save_classifier(self, folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        return tags
