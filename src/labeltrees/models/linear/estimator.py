"""LabelTreeClassifier: linear classifiers in a label tree, and exact search in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from labeltrees._settings import check_settings, refuse_gone, refusing
from labeltrees._validation import check_integer
from labeltrees.models.common.label_names import column_names
from labeltrees.models.common.settings import ClassifierSettings
from labeltrees.models.common.update_labels import check_classes
from labeltrees.models.common.update_report import UpdateReport
from labeltrees.models.linear.features import check_points, encode_queries
from labeltrees.models.linear.files import save_classifier
from labeltrees.models.linear.fit import fit_here
from labeltrees.models.linear.prediction import LinearPredictionMixin
from labeltrees.models.linear.settings import GONE, GONE_FROM_FIT, LinearParameters, Solver, with_solver
from labeltrees.models.linear.update import forget_points, update_model
from labeltrees.storage.unpack import NodeClassifiers, unpack_node
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import with_builder


@refusing(GONE)
@dataclass(eq=False, repr=False, kw_only=True)
class LabelTreeClassifier(
    LinearPredictionMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    ClassifierSettings,
    LinearParameters,
):
    """Sparse linear classifiers in a label tree: Parabel and XR-Linear on a tree of any `tradeoff`.

    Every child of every node has a classifier, trained on the points of the node. A label's score is the product of
    the scores of the classifiers on its path; the search finds the k labels with the highest scores.

    Four parameters matter most. `tradeoff` moves between the most accurate tree (0 to 1) and the fastest (2).
    `fanout` is the width of the tree: wider nodes are more accurate and slower. `beam` limits the search: fewer nodes
    per depth are faster, None is exact. `C` is the cost of errors: "auto" chooses good values, a number saves the time
    for that. `choose` finds values for them, for a bound on the time per query or on the loss of precision.

    Parameters
    ----------
    tradeoff : float in [0, 2], default 1
        **The tree.** 0: balanced, similar labels together. 1: the same, each label weighted by its frequency. 2:
        frequency only.
    fanout : int or "auto", default 256
        Maximum number of children per node. "auto" chooses the width of each node to minimise the search cost.
    leaf_size : int, default 1
        A set of at most this many labels is not split further.
    tree : TreeBuilder, LabelTree or "flat", optional
        A `TreeBuilder` selects the paper's variants of building the tree, or gives label embeddings. A `LabelTree` is
        used instead of building one; "flat" is one node with all labels.
    n_trees : int, default 1
        Number of trees with different seeds; their scores are averaged.
    vectorizer : TfidfVectorizer or str, optional
        **Features.** Turns texts into features; fitted in `fit` if X is texts. A name is one of `labeltrees.features`,
        such as "words+pairs+chars". By default words that occur in at least two texts, with sublinear tf-idf.
    normalize : bool, default True
        Scale every point to unit length, in `fit` and when predicting.
    loss : {"squared_hinge", "logistic"} or Solver, default "squared_hinge"
        **Classifiers.** The loss function, or a `Solver` with it and the solver's settings.
    C : float, tuple of float or "auto", default "auto"
        Cost of errors, as in liblinear. "auto" chooses a value for each depth of the tree: it holds out a tenth of the
        points, trains a sample of the classifiers at several values on the others and compares the losses. `stats_`
        has the values as ``"C"``, by depth. A tuple gives values by depth; deeper nodes use the last one.
    class_weight : None, "balanced", mapping from labels to numbers, or array (L,)
        Costs of the labels' points.
    label_texts : {"auto", "missing", "all", "none"} or dict, default "auto"
        **Texts of labels.** How the `label_texts` given to `fit` are used. "auto": labels without training points are
        found by words of their texts in the text of a point; for labels with points, held-out points decide whether
        their texts count. "missing", "all": labels without a training point, or all, get their texts as extra training
        points. A dict has this as ``"points"``, the ``"weight"`` of such a point relative to the mean weight of a point
        (default 1), and the weight of a label's texts in its ``"embedding"`` when the tree is built, where its points
        together have weight 1 (default 0.5). After `fit`, ``set_params(label_texts="none")`` turns "auto" off.
    evidence : str or None, default "default"
        **Evidence.** Adjust the tree's scores of its best labels. "neighbours": by votes of similar training points.
        "centroids": by the cosine with the labels' centroids. "both": these two. "classifiers": by a second classifier
        per label, trained against its hardest negatives. "names": by words of the label's texts in the text of the
        point. For baskets and histories, "items": by which items go together; "own": by the value of the same item in
        the query. Join kinds with "+": "neighbours+classifiers". The weights are learned on held-out points, which
        trains further models on parts of the points. "auto" uses the kinds whose gain on held-out points is
        significant; "default" does so with "items" and "own" for baskets and histories in memory, and uses neither for
        other points. After `fit`, ``set_params(evidence=None)`` turns it off. See docs/choosing.md.
    trend : float, optional
        **Trend.** Half-life in days: scores are multiplied by the ratio of a label's recent frequency to its frequency
        over all time (`trend_weights`). It needs the times of the points, and searches are exact. See docs/logs.md.
    search : {"best_first", "paths"}, default "best_first"
        **Search.** "best_first" opens the best open node until no open node can hold a label that belongs in the list.
        "paths" goes level by level and keeps `beam` paths, as Parabel does.
    beam : int or None, default 10
        Maximum number of nodes opened per depth, or of paths for ``search="paths"``; None finds the exact k best.
    k : int, default 5
        `predict` returns the k best labels.
    threshold : float, optional
        `predict` returns all labels with at least this score instead; after `calibrate`, this probability. The server
        and the command line leave out labels below it by default.
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
        Turns texts or lists of items into features, if the model was fitted on texts or on a Dataset with an encoder;
        it is saved with the model.
    stats_ : dict
        Training time in seconds, number of weights, size in bytes, and ``"C"``: the cost of errors by depth of the
        node. With `evidence`, also its weights and its gain on held-out points. ``"label_words"`` is the number of
        features, the last ones, for words that only texts of labels without points have.

    Examples
    --------
    >>> import labeltrees as lt
    >>> texts = [[1, 0], [0.9, 0.1], [0, 1], [0.2, 0.8]]
    >>> model = lt.LabelTreeClassifier().fit(texts, [["a"], ["a", "c"], ["b"], ["b"]])
    >>> labels, scores = model.predict_topk([[1, 0.1]], k=1)
    >>> labels.tolist()
    [['a']]
    """

    @classmethod
    def parabel(cls, **changes: Any) -> LabelTreeClassifier:
        """Return Parabel's setting, which the paper uses at every tradeoff.

        A binary tree to leaves of 100 labels (balanced at tradeoff 0), C = 1, squared scores, no evidence, and a search
        that keeps 10 paths. Leaves whose score is below the k-th label found are not opened; this changes no result.
        """
        setting = {"tradeoff": 0.0, "fanout": 2, "leaf_size": 100, "C": 1.0, "loss": Solver(score_power=2)}
        return cls(**{**setting, "search": "paths", "beam": 10, "evidence": None, **changes})

    @classmethod
    def one_vs_all(cls, **changes: Any) -> LabelTreeClassifier:
        """Return DiSMEC's setting: one node, in which every label is trained against all others."""
        return cls(**{"tree": "flat", **changes})

    @classmethod
    def like(cls, model: LabelTreeClassifier, **changes: Any) -> LabelTreeClassifier:
        """Return an unfitted classifier with the parameters of a fitted one, and the values that its fit chose.

        Use it to train on all points with the parameters that were evaluated on some of them. C of each depth, the
        kinds of evidence, and the settings of the vectorizer are those of `model`, not chosen from the new points.

        Examples
        --------
        >>> import labeltrees as lt
        >>> evaluated = lt.LabelTreeClassifier(trend=None).fit([[1, 0], [0, 1]], [["a"], ["b"]])
        >>> lt.LabelTreeClassifier.like(evaluated)
        LabelTreeClassifier(C=1.0)
        """
        check_is_fitted(model, "searcher_")
        costs = tuple(model.stats_["C"])
        parameters = {**model.get_params(deep=False), "C": costs if len(costs) > 1 else costs[0]}
        if "evidence" in model.stats_:  # the kinds that helped; their weights are learned again
            found = [kind for kind in model.stats_["evidence"]["weights"] if kind != "names"]  # set by label_texts
            parameters["evidence"] = "+".join(found) or None
        if getattr(model, "vectorizer_", None) is not None:
            parameters["vectorizer"] = clone(model.vectorizer_)
        return cls(**{**parameters, **changes})

    def set_params(self, **parameters: Any) -> LabelTreeClassifier:
        """Set parameters, as scikit-learn does; ``tree__cover`` and ``loss__eps`` need no `TreeBuilder` or `Solver`."""
        refuse_gone(type(self).__name__, GONE, parameters)
        changed: LabelTreeClassifier = super().set_params(**with_builder(self, with_solver(self, parameters)))
        return changed

    # Training.

    @refusing(GONE_FROM_FIT)
    def fit(
        self,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        label_texts: Any = None,
        times: Any = None,
        groups: Any = None,
        max_memory: int | str | None = None,
        work_folder: str | os.PathLike[str] | None = None,
    ) -> LabelTreeClassifier:
        """Build the tree and train its classifiers.

        Parameters
        ----------
        X : sparse or dense matrix (N, d), N texts, or a Dataset
            A `Dataset` has the other arguments too, and names of labels and features and an encoder, which the model
            keeps: ``fit(lt.Dataset(X, Y, label_names=names))``.
        Y : sparse or dense matrix (N, L), or list of lists of label names or ids
            Values of a matrix are relevances: the weight of a point as a positive of that label. Points without labels
            are negatives at the root.
        sample_weight : array (N,), optional
        label_texts : L str or L lists of str, or dict from labels to them, optional
            Names, synonyms and descriptions of labels, which the model keeps. A model of texts uses them as its
            parameter `label_texts` says, and a dict may name labels without training points.
        times : array (N,) of datetime64 or numbers, optional
            When the points happened; needed for `trend`.
        groups : array (N,) of integers or str, optional
            Points that belong together, such as the orders of one customer: `C="auto"` and `evidence` hold out whole
            groups. Give them if the model will be asked about new groups.
        max_memory : int or str such as "4GiB", optional
            For a dataset in parts: how much memory `fit` may use. If the points do not fit into it, they are read part
            by part, with intermediate results on disk. The model is the same. By default 3/4 of the free memory.
        work_folder : path, optional
            For a dataset in parts: where intermediate results are written. They stay after an interruption, and the
            same call continues with them. By default a temporary folder beside the parts.
        """
        check_settings(self)
        fit_here(
            self,
            X,
            Y,
            sample_weight=sample_weight,
            label_texts=label_texts,
            times=times,
            groups=groups,
            max_memory=max_memory,
            work_folder=work_folder,
        )
        self._column_names = column_names(Y)
        return self

    def update(self, X: Any, Y: Any = None, *, replay: Any = None, exact: bool = False) -> UpdateReport:
        """Add points and labels to a fitted model; only what changed is trained.

        A label that the model does not know is placed in the tree, by similarity and frequency as `tradeoff` says. A
        node that becomes too wide is split, and a subtree whose weight has drifted is rebuilt.

        With `replay`, a classifier with new positives, or whose negatives grew by more than a tenth, is trained further
        from its old weights, on new points and a sample of old ones; new classifiers, and those whose positives have
        doubled, are trained on all points of their node. All others keep their bytes. Once several updates have added
        more than a fifth of the points, all classifiers are trained on all points, in a new tree unless it was given.
        Without `replay`, old classifiers keep their weights, and new ones have the classifiers of their siblings as
        negatives.

        New words and items get new columns. `agreement` must be calibrated again; with `exact`, probabilities too.
        Evidence is learned again; without `replay` it is dropped, except that of label names.

        Parameters
        ----------
        X, Y
            New points as in `fit`, or a Dataset.
        replay : Dataset, Dataset in parts or (X, Y), optional
            The points that the model was trained on.
        exact : bool
            Train every classifier whose input changed. The result has the same bytes as a fit on the updated tree, on
            the points of `replay` followed by the new ones.

        Returns
        -------
        UpdateReport
            What moved, what was trained, and whether a full fit is advisable.

        Examples
        --------
        >>> import labeltrees as lt
        >>> texts, labels = ["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5
        >>> model = lt.LabelTreeClassifier(C=1.0).fit(texts, labels)
        >>> report = model.update(["blue plum", "a blue plum"], [["plum"]] * 2, replay=(texts, labels))
        >>> report.new_labels, model.predict_topk(["plum"], k=1)[0].tolist()
        (['plum'], [['plum']])
        """
        return update_model(self, X, Y, replay, exact)

    def partial_fit(self, X: Any, Y: Any, classes: Any = None) -> LabelTreeClassifier:
        """Fit the first batch of points, and `update` with later batches, as in scikit-learn.

        Old classifiers keep their weights: only `update` with `replay` trains them on the new points too.

        Parameters
        ----------
        X, Y
            As in `fit`.
        classes : sequence of labels, optional
            All labels of all batches; every label of Y must be one of them.
        """
        check_classes(Y, classes)
        if not hasattr(self, "searcher_"):
            return self.fit(X, Y)
        check_points(self, encode_queries(self, X, self.n_jobs), fitting=False, n_jobs=self.n_jobs)
        self.update(X, Y)
        return self

    def forget(self, points: Any, replay: Any) -> UpdateReport:
        """Remove points from the model, exactly as if it had never been trained on them.

        As with ``update(exact=True)``, the result has the bytes of a fit of the remaining points on the current tree.

        Labels that lose their last point leave the tree and are retired. `replay` without any point of a label that the
        model was trained on is refused, unless the label is retired.

        Parameters
        ----------
        points : row numbers of `replay`, or one bool per row
        replay : Dataset, Dataset in parts or (X, Y)
            The points that the model was trained on, in the order of training.
        """
        return forget_points(self, points, replay)

    @property
    def tree_(self) -> LabelTree:
        """The tree; the first one if there are several."""
        return self.trees_[0]

    def node_weights(self, node: int, tree: int = 0) -> NodeClassifiers:
        """Return the classifiers of a node's children: `children` (a node id, or ~label), `bias` and sparse `weights`.

        They have the precision of the stored weights. The margin of a child for a point is its bias plus its row of
        weights times the point, which is first scaled to unit length if `normalize` is set.
        """
        check_is_fitted(self, "searcher_")
        store = self.searcher_.stores[check_integer("tree", tree, 0, len(self.trees_) - 1)]
        return unpack_node(store, node)

    # Saving.

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the model as a folder; `labeltrees.load` opens it."""
        check_is_fitted(self, "searcher_")
        save_classifier(self, folder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
