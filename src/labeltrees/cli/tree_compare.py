"""Compare trees at several tradeoffs with baseline trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees._settings import check_settings
from labeltrees.data import Dataset
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.tree.baselines import (
    fano_tree,
    flat_tree,
    huffman_tree,
    kmeans_tree,
    random_tree,
    semantic_huffman_tree,
)
from labeltrees.tree.builder import grow_tree_from
from labeltrees.tree.contract import contract
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.measures import within_node_similarity
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.splits import embedding_rows
from labeltrees.tuning.candidates import PAPER_GRIDS

GRID = PAPER_GRIDS["parabel"]


@dataclass(frozen=True)
class TreeRow:
    """One tree of the comparison."""

    tree: str
    tradeoff: float | None
    height: int
    nodes: int
    expected_depth: float
    expected_cover_depth: float
    similarity: float

    def record(self) -> dict[str, Any]:
        """Return the row as a plain record."""
        return asdict(self)


class Comparison:
    """Builds and measures the trees of a comparison; all share the same inputs.

    Parameters
    ----------
    data : Dataset
    settings : TreeSettings
        Settings of all trees; its tradeoff is not used.
    random_state, n_jobs : int
    """

    def __init__(self, data: Dataset, settings: TreeSettings, random_state: int, n_jobs: int) -> None:
        check_settings(settings)
        self.settings, self.random_state, self.n_jobs = settings, random_state, n_jobs
        self.frequencies: Float64s = label_frequencies(data.Y, data.sample_weight)
        self.cover: Float64s = cover_frequencies(
            data.Y, data.sample_weight, method=settings.cover, softness=settings.cover_softness
        )
        self.embeddings: Any = pifa(data.X, data.Y, n_jobs=n_jobs)

    @property
    def entropy(self) -> float:
        """Entropy of the frequencies in bits: no binary tree has a smaller expected depth."""
        return entropy(self.frequencies)

    @property
    def cover_entropy(self) -> float:
        """Entropy of the cover frequencies in bits."""
        return entropy(self.cover)

    def at(self, tradeoff: float) -> LabelTree:
        """Return the tree at a tradeoff."""
        return grow_tree_from(
            embedding_rows(self.embeddings).unit(),
            self.frequencies,
            self.cover,
            replace(self.settings, tradeoff=tradeoff),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def row(self, name: str, tree: LabelTree, tradeoff: float | None = None) -> TreeRow:
        """Measure a tree."""
        return TreeRow(
            tree=name,
            tradeoff=tradeoff,
            height=tree.height,
            nodes=tree.n_nodes,
            expected_depth=tree.expected_depth(self.frequencies),
            expected_cover_depth=tree.expected_depth(self.cover),
            similarity=within_node_similarity(tree, self.embeddings),
        )

    def rows(self, tradeoffs: tuple[float, ...] = GRID) -> Iterator[TreeRow]:
        """Build and measure the trees, one after the other."""
        for tradeoff in tradeoffs:
            yield self.row(f"tradeoff {tradeoff:.4g}", self.at(tradeoff), tradeoff)
        for name, build in self._baselines().items():
            yield self.row(name, build())

    @property
    def n_rows(self) -> int:
        """The number of rows: trees on the paper's grid, and baselines."""
        return len(GRID) + len(self._baselines())

    def _baselines(self) -> dict[str, Callable[[], LabelTree]]:
        f, settings = self.frequencies, self.settings
        return {
            "huffman": lambda: self._contracted(huffman_tree(f)),
            "fano": lambda: self._contracted(fano_tree(f)),
            "semantic_huffman": lambda: self._contracted(
                semantic_huffman_tree(self.embeddings, f, random_state=self.random_state, n_jobs=self.n_jobs)
            ),
            "kmeans": self._kmeans,
            "random": lambda: self._over_used_labels(
                lambda n_labels: random_tree(
                    n_labels, fanout=settings.fanout, leaf_size=settings.leaf_size, random_state=self.random_state
                )
            ),
            "flat": lambda: self._over_used_labels(flat_tree),
        }

    def _kmeans(self) -> LabelTree:
        settings = self.settings
        k = 2 if settings.fanout == "auto" else settings.fanout
        tree = kmeans_tree(
            self.embeddings,
            k,
            leaf_size=settings.leaf_size,
            frequencies=self.frequencies,
            random_state=self.random_state,
        )
        return contract(tree, "auto", leaf_size=settings.leaf_size) if settings.fanout == "auto" else tree

    def _contracted(self, tree: LabelTree) -> LabelTree:
        return tree if self.settings.fanout == 2 else contract(tree, self.settings.fanout)

    def _over_used_labels(self, build: Callable[[int], LabelTree]) -> LabelTree:
        """Return a tree over the labels that occur in the data, from a builder of trees over 0, 1, 2, ..."""
        seen = np.flatnonzero(self.frequencies > 0)
        tree = build(len(seen))
        children = tree.children.copy()
        is_label = children < 0
        children[is_label] = ~seen[~children[is_label]]
        return LabelTree(tree.child_ptr, children, len(self.frequencies))


def entropy(shares: Float64s) -> float:
    """Return the entropy of shares that sum to 1, in bits."""
    positive = shares[shares > 0]
    return float(-(positive * np.log2(positive)).sum())
