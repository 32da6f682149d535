"""Prediction with text models."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from labeltrees.data.dataset import Dataset
from labeltrees.models.common.prediction import PredictionMixin
from labeltrees.models.text.searcher import Texts, TextSearcher
from labeltrees.models.text.searches import TextSearches
from labeltrees.tree.label_tree import LabelTree


class TextPredictionMixin(PredictionMixin):
    """Prediction for an estimator that has a `TextSearcher`, which always searches exactly."""

    KIND: ClassVar[str] = "TextLabelTreeClassifier"
    READS_TEXTS: ClassVar[bool] = True
    UNSUPPORTED: ClassVar[tuple[str, ...]] = ("search", "beam", "evidence")

    searcher_: TextSearcher
    tree_: LabelTree

    @property
    def takes_texts(self) -> bool:
        """Whether the model takes texts as input: always."""
        return True

    @property
    def encoder_(self) -> None:
        """No encoder: the model reads texts itself."""

    @property
    def trees_(self) -> list[LabelTree]:
        """The tree, as a list."""
        return [self.tree_]

    def queries(self, dataset: Dataset) -> Any:
        """Return the texts of a dataset, which this model reads."""
        return dataset.texts

    def check_queries(self, X: Any, n_jobs: int | None = None) -> Texts:
        """Return texts in the form that `searcher_` takes."""
        check_is_fitted(self, "searcher_")
        return X if isinstance(X, Texts) else Texts(X)

    def sizes(self) -> dict[str, int | None]:
        """Return the numbers of words, of n-grams and of weights."""
        store = self.searcher_.store
        n_rows, n_nodes = len(store.input), len(store.output)
        return {
            "n_words": store.n_words,
            "n_ngrams": n_rows - store.n_words,
            "n_weights": (n_rows + n_nodes) * store.dim,
        }

    def searches(self) -> TextSearches:
        """Return the searches that early stopping and profiling need."""
        return TextSearches(self.searcher_, self.n_jobs)
