"""Prediction with fitted models of all families: best labels, matrices, probabilities, calibration, precision."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labeltrees._matrices import check_sample_weight
from labeltrees._settings import check_names, refusing, settings_from, settings_of
from labeltrees._validation import check_integer, check_number, refuse
from labeltrees.data.dataset import Dataset
from labeltrees.data.label_sets import SETS, has_label, known_labels
from labeltrees.errors import InputError, Parameter, Phrase
from labeltrees.models.common.early_stop import LENGTHS, EarlyStop, check_lengths, learn_early_stop
from labeltrees.models.common.explanation import ExplainMixin
from labeltrees.models.common.label_changes import LabelChangesMixin
from labeltrees.models.common.label_names import LabelNames
from labeltrees.models.common.label_rules import LabelRulesMixin
from labeltrees.models.common.protocol import Searches
from labeltrees.models.common.scores import Calibration, fit_calibration, scores_above, top_scores
from labeltrees.search.broader import with_broader
from labeltrees.search.request import AS_FITTED, SearchRequest
from labeltrees.tree.label_tree import LabelTree

# Arguments that searches no longer have, with what to do instead.
_GONE = {"prune": "nodes that cannot hold a label of the list are always skipped"}
_GONE_FROM_TOPK = {
    **_GONE,
    "search": "set it for the model, model.set_params(search='paths')",
    "evidence": "turn it off for the model, model.set_params(evidence=None)",
}
# The **options of predict_topk: all options of a request that are not named arguments.
_OWN = ("k", "candidates", "exclude", "label_weight", "limits", "threshold", "beam", *_GONE_FROM_TOPK)
TOPK_OPTIONS = ("n_jobs", *(item.name for item in settings_of(SearchRequest) if item.name not in _OWN))
LEARNED_LABELS = 10  # labels per point that probabilities are learned from
_MOST_DENSE = 2**28  # maximum number of scores in a dense matrix: 1 GiB


class PredictionMixin(ExplainMixin, LabelChangesMixin, LabelRulesMixin):
    """Prediction for an estimator that has a searcher.

    `fit` of an estimator sets `searcher_`, `trees_`, `calibration_`, `early_stop_` and `_label_names`. A family defines
    how queries are checked, which options of a request it does not support, and the fitted defaults of the others.
    """

    KIND: ClassVar[str]
    UNSUPPORTED: ClassVar[tuple[str, ...]] = ()  # options of a SearchRequest that the family does not support

    searcher_: Any
    n_points_: int | None
    calibration_: Calibration | None
    early_stop_: EarlyStop | None
    _label_names: LabelNames | None
    k: int
    threshold: float | None
    n_jobs: int | None
    verbose: int

    @abstractmethod
    def check_queries(self, X: Any, n_jobs: int | None = None) -> Any:
        """Return points in the form that `searcher_` takes; the result has a shape and can be indexed by rows."""

    @abstractmethod
    def sizes(self) -> dict[str, int | None]:
        """Return the numbers of features or words and of weights, for a summary."""

    @abstractmethod
    def searches(self) -> Searches:
        """Return the searches that early stopping and profiling need."""

    @abstractmethod
    def queries(self, dataset: Dataset) -> Any:
        """Return the texts or the features of a dataset, whichever the model reads."""

    def _n_proposed(self, k: int) -> int:
        """Return how many labels the search must find for a list of k labels."""
        return k

    def _fill_fitted(self, request: SearchRequest) -> SearchRequest:
        """Return the request with the model's own values for options that are not given."""
        return request

    def _make_predictor(self, request: SearchRequest, names: bool, exclude_seen: bool) -> Any:
        if exclude_seen:
            message = "{} needs a model whose encoder reads items; this {} reads texts"
            raise InputError(message, Parameter("exclude_seen"), self.KIND)
        return self.searcher_.predictor(request, names=self._native_names(), with_names=names)

    def _check_probabilities(self) -> None:
        """Raise `NotCalibratedError` if the model has no probabilities."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the parameters that differ from the defaults and, after `fit`, the sizes of the model."""
        parameters = str(super().__repr__(N_CHAR_MAX))  # type: ignore[call-arg]
        if getattr(self, "searcher_", None) is None:
            return parameters
        return f"{parameters}\n  fitted: {self._describe_fitted()}"

    def _describe_fitted(self) -> str:
        """Return the sizes of a fitted model in one line."""
        counts = {"label": self.searcher_.n_labels, "point": self.n_points_, **_nouns(self.sizes())}
        words = [f"{count:,} {noun}" + ("" if count == 1 else "s") for noun, count in counts.items() if count]
        family: Any = self  # trees_ is an attribute or a property, depending on the family
        trees: list[LabelTree] = family.trees_
        shape = f"{trees[0].n_nodes:,} node" + ("" if trees[0].n_nodes == 1 else "s") + f", height {trees[0].height}"
        words.append(f"a tree of {shape}" if len(trees) == 1 else f"{len(trees)} trees, the first of {shape}")
        learned = {"label names": self._label_names, "probabilities": self.calibration_, "agreement": self.early_stop_}
        known = [name for name, value in learned.items() if value is not None]
        return ", ".join(words) + (f"; with {', '.join(known)}" if known else "")

    @property
    def label_names_(self) -> Any:
        """The names of the labels (L,), or None if they have no names."""
        return None if self._label_names is None else self._label_names.array

    def titles(self, labels: Any) -> Any:
        """Return readable titles of labels, such as product names where labels are product ids.

        Parameters
        ----------
        labels : array of any shape
            As `predict_topk` and a `Predictor` return them: names, or ids if labels have no names.

        Returns
        -------
        array of the same shape
            The first of the label's texts (`label_texts_`); None for padding and for labels without texts.

        Examples
        --------
        >>> import labeltrees as lt
        >>> train = lt.Dataset([[1, 0], [0, 1]], [["17"], ["4"]], label_texts={"17": "Milk, fresh", "4": "Bread"})
        >>> model = lt.LabelTreeClassifier().fit(train)
        >>> model.titles(model.predict_topk([[1, 0]], k=2)[0]).tolist()
        [['Milk, fresh', 'Bread']]
        """
        texts = getattr(self, "label_texts_", None)
        given = np.asarray(labels, dtype=None if self._label_names is None else object)
        if texts is None:
            return np.full(given.shape, None, dtype=object)
        if self._label_names is not None:
            flat = given.ravel().tolist()
            known = iter(
                np.asarray(self._label_names.ids("labels", [name for name in flat if name is not None])).tolist()
            )
            given = np.array([-1 if name is None else next(known) for name in flat], np.int64).reshape(given.shape)
        return texts.titles(given)

    @property
    def classes_(self) -> Any:
        """The names of the labels (L,), or their ids if they have no names."""
        return np.arange(self.searcher_.n_labels) if self._label_names is None else self._label_names.classes

    @property
    def _has_classes(self) -> bool:
        """Whether the model was fitted on one label per point, so that predictions have one dimension."""
        return self._label_names is not None and self._label_names.kind != SETS

    # The best labels.

    @refusing(_GONE_FROM_TOPK)
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        candidates: Any = None,
        exclude: Any = None,
        label_weight: Any = None,
        limits: Any = None,
        threshold: float | None = None,
        beam: int | None = AS_FITTED,
        return_stats: bool = False,
        **options: Any,
    ) -> Any:
        """Return the k best labels of each point, and their scores.

        Four parameters matter most. `k` is the length of the lists. `candidates` and `exclude` say which labels may be
        returned. `threshold` leaves out labels with low scores, so that lists can be shorter.

        Searches with rules (`candidates`, `exclude`, `label_weight`, `limits`, `diversity`) are exact: the list is the
        same as if all labels were scored, unless `beam` is given. Without rules, the search uses the beam that the
        model was fitted with, and a `threshold` cuts its list. With several trees, this holds for the list of each
        tree. In a model with evidence, it holds for the labels that the trees propose; evidence then adjusts their
        scores.

        Parameters
        ----------
        X : n points
            A sparse or dense matrix (n, d), or n contexts of the model's encoder: texts, or lists of items.
        k : int
            Length of the lists. A k above both 1,000 and the number of labels is reduced to the number of labels.
        candidates : labels, a set of `label_set`, one list of labels per point, or sparse matrix (n, L), optional
            The labels allowed, by name or by id; only their ancestors are searched. A string such as ``"@Places"``
            names a scheme, type or collection of the SKOS vocabulary that the model was fitted with.
        exclude : like candidates, optional
            Labels not to return.
        label_weight : array (L,), mapping from labels to numbers, or weights of `label_weights`, optional
            Factors for the scores of labels; a label missing from a mapping has the weight 1. The list contains the
            labels with the largest products, with the products as scores. Labels with weight 0 are left out.
            ``lt.metrics.inverse_propensity(Y_train)`` gives the best lists for propensity-scored precision.
        limits : pair (groups, m), or limits of `label_limits`, optional
            At most m labels of each group, such as a brand: labels are taken best first, and labels whose group is full
            are skipped. `groups` has one group per label (-1 or None: no group), or maps labels to groups; `m` is a
            number, or maps groups to numbers.
        threshold : float, optional
            Leave out labels whose score (after `calibrate`: probability) is below it.
        beam : int or None, optional
            Maximum number of nodes opened per depth. None finds exactly the k best labels. By default the beam that the
            model was fitted with. A `TextLabelTreeClassifier` always searches exactly and does not have this option.
        return_stats : bool
            Whether to return `stats` as well.
        **options
            n_jobs : int
                Number of threads; by default the model's `n_jobs`.
            raw_scores : bool
                Return the scores of the search even after `calibrate`, and compare `threshold` with them.
            diversity : float in [0, 1]
                How much the similarity of labels in the tree counts against their scores (maximal marginal relevance).
                The list is then in the order in which labels were chosen.
            broader : bool
                If no label reaches `threshold`, return a broader one: the narrowest label of the vocabulary for which
                the probabilities of the labels found below it add up to the threshold. This sum is its score. The
                labels found are the 10 best, or the k best if k is larger. Needs a calibrated model that was fitted
                with a SKOS vocabulary.
            agreement : float
                Instead of `beam`: stop early, so that at least this share of the lists is the same as with exact
                search. This holds for points from the distribution that `calibrate` learned from. Searches with rules,
                and with an agreement of 1, are exact.
            max_chunks, max_microseconds : int
                Budgets per point, in nodes opened and in time. `partial` of the stats marks searches that a budget
                ended. The budgets cover the search of the trees, but not the evidence after it.

        Returns
        -------
        labels : array (n, k)
            Best first: label ids padded with -1, or names padded with None if the labels have names. A point
            without any known feature gets the most frequent labels, and `no_features` of the stats is True for it.
        scores : array of float32 (n, k)
            In [0, 1], padded with 0; raw scores of a model with a trend can exceed 1. After `calibrate(X, Y)`: the
            probability that the label is correct. With `label_weight`: the products of raw scores and weights, which
            are not probabilities. For a point without any known feature: the labels' shares of the training points.
        stats : SearchStats, if `return_stats`
            What each search did: chunks (nodes opened), classifiers, depth, microseconds, partial, no_features.
        """
        check_names("predict_topk", options, TOPK_OPTIONS, _OWN)
        n_jobs = options.pop("n_jobs", None)
        points = self.check_queries(X, n_jobs)
        names = self._label_names
        candidates, exclude = self.vocabulary_set(candidates), self.vocabulary_set(exclude)
        if names is not None:
            candidates, exclude = names.ids("candidates", candidates), names.ids("exclude", exclude)
        label_weight, limits = self._label_boosts(label_weight), self._group_limits(limits)
        request = self.complete_request(settings_from(SearchRequest, {**locals(), **options}))
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        result = self.searcher_.topk(points, request, n_jobs=n_jobs, stats=return_stats)
        if request.broader:
            result, _ = with_broader(self.searcher_, points, request, result, self.label_relations_, n_jobs)
        labels = result.labels if names is None else names.take(result.labels)
        return (labels, result.scores, result.stats) if return_stats else (labels, result.scores)

    @refusing(_GONE)
    def predictor(
        self,
        k: int = 5,
        *,
        search: str | None = None,
        beam: int | None = AS_FITTED,
        agreement: float | None = None,
        max_chunks: int | None = None,
        max_microseconds: int | None = None,
        evidence: bool = True,
        label_weight: Any = None,
        limits: Any = None,
        threshold: float | None = None,
        diversity: float | None = None,
        raw_scores: bool = False,
        names: bool = False,
        exclude_seen: bool = False,
    ) -> Any:
        """Return a predictor for serving: one query in, the k best labels and their scores out, with little overhead.

        Four parameters matter most. `k` is the length of the lists. `names` returns names instead of ids.
        `exclude_seen` leaves out the items of the query, for recommendations. `agreement` makes searches of a
        calibrated model faster, and changes few of the lists.

        A query is what the model's encoder takes: a string, or a list of items. Every call also takes ``exclude=``,
        ``candidates=`` (labels, or a set of `label_set`), ``label_weight=`` (a dict, or weights of `label_weights`),
        ``limits=`` (those of `label_limits`), ``threshold=`` and ``diversity=``. With any of these, a call is exact
        unless the predictor was made with `beam` or `search`.

        Parameters
        ----------
        k, beam, agreement, max_chunks, max_microseconds
            As in `predict_topk`. With `agreement`, a call can ask for fewer than `k` labels, or for up to the next
            length that `calibrate` learned. A call with `candidates`, or with more excluded labels than that length
            leaves room for, is exact.
        search : {"best_first", "paths"}, optional
            How to search the tree. By default as the model was fitted.
        evidence : bool
            Whether to use the evidence that the model was fitted with; False returns the list of the tree alone.
        label_weight, limits, threshold, diversity, raw_scores : optional
            As in `predict_topk`; they apply to every call.
        names : bool
            Return names (a list of str) instead of ids.
        exclude_seen : bool
            Leave out labels that have the name of an item in the query.
        """
        check_is_fitted(self, "searcher_")
        if (names or exclude_seen) and self._label_names is None:
            option = "names" if names else "exclude_seen"
            message = "{} needs label names, and this model has none: {}"
            raise InputError(message, Parameter(option, True), Phrase.FIT_WITH_NAMES)
        label_weight, limits = self._label_boosts(label_weight), self._group_limits(limits)
        request = settings_from(SearchRequest, locals())
        return self._make_predictor(self.complete_request(request), names, exclude_seen)

    def complete_request(self, request: SearchRequest) -> SearchRequest:
        """Return the request for `searcher_`: with calibration, fitted defaults, and discounts for `agreement`."""
        request = self._with_calibration(request)
        for option in fields(request):
            if option.name in self.UNSUPPORTED and getattr(request, option.name) != option.default:
                refuse(option.name, f"left out: a {self.KIND} has no such option", getattr(request, option.name))
        if request.agreement is None:
            return self._fill_fitted(request)
        exact = replace(request, search="best_first", beam=None)
        if request.agreement == 1 or request.has_rules or request.threshold:  # discounts were learned without rules
            return exact
        early_stop = getattr(self, "early_stop_", None)
        if early_stop is None:
            message = "{} needs a calibrated model: {}"
            raise InputError(message, Parameter("agreement"), Phrase.CALIBRATE)
        place = early_stop.place(self._n_proposed(min(request.k, self.searcher_.n_labels)))
        discounts = early_stop.node_discounts(self.searches().trees, place, request.agreement)
        return replace(exact, discounts=discounts, n_searched=int(early_stop.k[place]))

    def _with_calibration(self, request: SearchRequest) -> SearchRequest:
        """Return the request with the model's calibration, if any, unless raw or weighted scores are requested."""
        calibration = getattr(self, "calibration_", None)
        if calibration is None or request.raw_scores or request.label_weight is not None:
            return request
        return replace(request, calibration=calibration)

    # The same as sparse matrices.

    def predict_scores(self, X: Any, k: int | None = None) -> Any:
        """Return the scores of the k best labels of each point as CSR (n, L); after `calibrate`, probabilities."""
        X = self.check_queries(X)
        return top_scores(*self._topk(X, self.k if k is None else k), self.searcher_.n_labels)

    def predict(self, X: Any) -> Any:
        """Return the predicted labels as a CSR indicator (n, L): the k best, or those that reach `threshold`.

        After `calibrate(X, Y)`, `threshold` is compared with probabilities. A model that was fitted on a
        one-dimensional Y, with one label per point, returns the best label of each point (n,), as scikit-learn's
        classifiers do.
        """
        X = self.check_queries(X)
        if self._has_classes:
            best = self._topk(X, 1)[0][:, 0]
            if (best < 0).any():
                message = "predict needs at least one label that is not retired"
                raise InputError(message)
            return self.classes_[best]
        if self.threshold is None:
            matrix = top_scores(*self._topk(X, self.k), self.searcher_.n_labels)
        else:
            threshold = check_number("threshold", self.threshold, 0, 1, low_open=True)
            matrix = scores_above(threshold, X, self._topk, self.searcher_.n_labels)
        matrix.data = np.ones(matrix.nnz, dtype=np.int32)
        return matrix

    def decision_function(self, X: Any) -> Any:
        """Return the raw scores of all labels as a dense array (n, L), for metrics of scikit-learn such as ROC AUC.

        The search is exact. A model fitted on one label per point with two classes returns (n,): the score of the
        second class minus that of the first. `predict_scores` returns only the best labels, as a sparse matrix.
        """
        X = self.check_queries(X)
        n, n_labels = X.shape[0], self.searcher_.n_labels
        if n * n_labels > _MOST_DENSE:
            message = (
                f"decision_function would return {n:,} x {n_labels:,} scores: use predict_scores(X, k), or fewer points"
            )
            raise InputError(message)
        exact: dict[str, Any] = {} if "beam" in self.UNSUPPORTED else {"search": "best_first", "beam": None}
        request = self.complete_request(SearchRequest(n_labels, raw_scores=True, **exact))
        result = self.searcher_.topk(X, request, n_jobs=self.n_jobs)
        scores = top_scores(result.labels, result.scores, n_labels).toarray()
        return scores[:, 1] - scores[:, 0] if self._has_classes and n_labels == 2 else scores

    @property
    def predict_proba(self) -> Callable[..., Any]:
        """``predict_proba(X, k=None)`` returns the probabilities of the k best labels of each point as CSR (n, L).

        After `calibrate(X, Y)`, these are the probabilities that the point has the label, the same as from
        `predict_scores` and `predict_topk`. Without calibration, they are raw scores. A `LabelTreeClassifier` then
        needs ``loss="logistic"`` without evidence and trend; its scores are products of regularised estimates along the
        path, which are usually too low. The scores of a `TextLabelTreeClassifier` estimate the probability of drawing
        the label from the labels of the text.
        """
        self._check_probabilities()
        return self._probabilities

    def _probabilities(self, X: Any, k: int | None = None) -> Any:
        return self.predict_scores(X, k)

    def _topk(self, X: Any, k: Any, raw_scores: bool = False) -> tuple[Any, Any]:
        """Return label ids (n, k) and scores (n, k) of checked points, k at most the number of labels."""
        k = min(check_integer("k", k, 1), self.searcher_.n_labels)
        request = self.complete_request(SearchRequest(k, raw_scores=raw_scores))
        result = self.searcher_.topk(X, request, n_jobs=self.n_jobs)
        return result.labels, result.scores

    # Calibration and evaluation.

    def calibrate(self, X: Any, Y: Any = None, *, k: Any = LENGTHS) -> Self:
        """Learn when a search may stop early and, if Y is given, how to turn scores into probabilities.

        Parameters
        ----------
        X : n points, or a Dataset
            Points that the model has not seen, from the distribution of the points to be predicted. To learn when to
            stop, a third of them is used for training and the others for validation: ``agreement=0.99`` needs at least
            700 points, and 0.999 needs 7,000. More points help.
        Y : labels, as in `fit`, optional
            If given, scores become probabilities: `predict_topk`, `predict_scores`, `predictor`, the server and the
            command line return them, and `threshold` is compared with them. Labels with names are aligned with those
            of the model.
        k : sequence of int
            The list lengths to learn `agreement` for. Other lengths up to the longest are cut from the next longer one.
        """
        X, Y, _ = self._of_dataset(X, Y)
        X = self.check_queries(X)
        lengths = sorted({self._n_proposed(length) for length in check_lengths(k, self.searcher_.n_labels)})
        calibration = getattr(self, "calibration_", None) if Y is None else self._learn_probabilities(X, Y)
        progress = bool(getattr(self, "verbose", 0))
        self.early_stop_ = learn_early_stop(self.searches(), X, X.shape[0], lengths, progress=progress)
        self.calibration_ = calibration
        return self

    def _learn_probabilities(self, X: Any, Y: Any) -> Calibration:
        Y = self._aligned(Y, X.shape[0])
        labels, scores = self._topk(X, max(check_integer("k", self.k, 1), LEARNED_LABELS), raw_scores=True)
        found = labels >= 0
        return fit_calibration(scores[found], has_label(Y, np.nonzero(found)[0], labels[found]))

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None) -> float:
        """Return the precision at 1: the share of points whose best label is correct.

        Parameters
        ----------
        X : n points, or a Dataset
        Y : labels, as in `fit`
            Labels with names (lists of names, or the Y of a Dataset) are aligned with those of the model; names that
            the model does not know are never predicted. A matrix without names must have the columns of the model.
        sample_weight : array (n,), optional
        """
        X, Y, sample_weight = self._of_dataset(X, Y, sample_weight)
        if Y is None:
            message = "score requires y to be passed: pass Y, or one Dataset with the labels in it"
            raise InputError(message)
        X = self.check_queries(X)
        Y = self._aligned(Y, X.shape[0])
        labels, _ = self._topk(X, 1)
        best = labels[:, 0]
        if len(best) == 0:
            message = "score needs at least one point"
            raise InputError(message)
        hits = has_label(Y, np.arange(len(best)), np.maximum(best, 0)) & (best >= 0)
        return float(np.average(hits, weights=check_sample_weight(sample_weight, len(best))))

    def _aligned(self, Y: Any, n_points: int) -> Any:
        """Return the labels of points as CSR (n, L), in the order of the model's labels."""
        # A model fitted on the Y of a Dataset, without the Dataset, returns ids but still aligns by column name.
        names = self._label_names or getattr(self, "_column_names", None)
        return known_labels(Y, (n_points, self.searcher_.n_labels), names)

    def _of_dataset(self, X: Any, Y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
        """Return points, labels and weights: from X if it is a Dataset, otherwise as given."""
        if not isinstance(X, Dataset):
            return X, Y, sample_weight
        if Y is not None:
            message = "Y must be left out if X is a Dataset, which has its own labels"
            raise InputError(message)
        check_is_fitted(self, "searcher_")
        return self.queries(X), X.Y, X.sample_weight if sample_weight is None else sample_weight


def _nouns(sizes: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return sizes with singular nouns as keys: n_features becomes feature."""
    return {name.removeprefix("n_").removesuffix("s"): count for name, count in sizes.items()}
