"""Trees over a grid of tradeoffs beside the baselines, measured alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from labeltrees._matrices import Float64s
from labeltrees._validation import Fanout
from labeltrees.data import Dataset
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies
from labeltrees.tree.baselines import fano_tree, flat_tree, huffman_tree, random_tree
from labeltrees.tree.builder import build_tree_from
from labeltrees.tree.contract import contract
from labeltrees.tree.kmeans import kmeans_tree
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.semantic_huffman import semantic_huffman_tree
from labeltrees.tree.similarity import within_node_similarity
from labeltrees.tuning.settings import PAPER_GRIDS

GRID = PAPER_GRIDS["parabel"]


@dataclass(frozen=True)
class TreeOptions:
    """How the trees of a comparison are built: the parameters of `build_tree` but for the tradeoff."""

    fanout: Fanout
    leaf_size: int
    smoothing: float
    cover: str
    cover_softness: float
    path: str
    random_state: int
    n_jobs: int


@dataclass(frozen=True)
class Row:
    """One tree of the comparison."""

    tree: str
    tradeoff: float | None
    height: int
    nodes: int
    expected_depth: float
    expected_cover_depth: float
    similarity: float

    def record(self) -> dict[str, Any]:
        """Return it as a plain record."""
        return asdict(self)


class Comparison:
    """What all trees of a comparison are built from and measured with."""

    def __init__(self, data: Dataset, options: TreeOptions) -> None:
        self.options = options
        self.frequencies: Float64s = label_frequencies(data.Y, data.sample_weight)
        self.cover: Float64s = cover_frequencies(
            data.Y, data.sample_weight, method=options.cover, softness=options.cover_softness
        )
        self.embeddings: Any = pifa(data.X, data.Y, n_jobs=options.n_jobs)

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
        options = self.options
        return build_tree_from(
            self.embeddings,
            self.frequencies,
            self.cover,
            tradeoff=tradeoff,
            fanout=options.fanout,
            leaf_size=options.leaf_size,
            smoothing=options.smoothing,
            path=options.path,
            random_state=options.random_state,
            n_jobs=options.n_jobs,
        )

    def row(self, name: str, tree: LabelTree, tradeoff: float | None = None) -> Row:
        """Measure a tree."""
        return Row(
            tree=name,
            tradeoff=tradeoff,
            height=tree.height,
            nodes=tree.n_nodes,
            expected_depth=tree.expected_depth(self.frequencies),
            expected_cover_depth=tree.expected_depth(self.cover),
            similarity=within_node_similarity(tree, self.embeddings),
        )

    def rows(self, tradeoffs: tuple[float, ...] = GRID) -> Iterator[Row]:
        """Build and measure one tree after the other."""
        for tradeoff in tradeoffs:
            yield self.row(f"tradeoff {tradeoff:.4g}", self.at(tradeoff), tradeoff)
        for name, build in self._baselines().items():
            yield self.row(name, build())

    @property
    def n_rows(self) -> int:
        """The number of trees on the paper's grid and of baselines."""
        return len(GRID) + len(self._baselines())

    def _baselines(self) -> dict[str, Callable[[], LabelTree]]:
        f, options = self.frequencies, self.options
        return {
            "huffman": lambda: self._widened(huffman_tree(f)),
            "fano": lambda: self._widened(fano_tree(f)),
            "semantic_huffman": lambda: self._widened(
                semantic_huffman_tree(self.embeddings, f, random_state=options.random_state, n_jobs=options.n_jobs)
            ),
            "kmeans": self._kmeans,
            "random": lambda: self._over_seen(
                lambda n_labels: random_tree(
                    n_labels, fanout=options.fanout, leaf_size=options.leaf_size, random_state=options.random_state
                )
            ),
            "flat": lambda: self._over_seen(flat_tree),
        }

    def _kmeans(self) -> LabelTree:
        options = self.options
        k = 2 if options.fanout == "auto" else options.fanout
        tree = kmeans_tree(
            self.embeddings,
            k,
            leaf_size=options.leaf_size,
            frequencies=self.frequencies,
            random_state=options.random_state,
        )
        return contract(tree, "auto", leaf_size=options.leaf_size) if options.fanout == "auto" else tree

    def _widened(self, tree: LabelTree) -> LabelTree:
        return tree if self.options.fanout == 2 else contract(tree, self.options.fanout)

    def _over_seen(self, build: Callable[[int], LabelTree]) -> LabelTree:
        """Return a tree over the labels that occur, as the other builders make it, from one over 0, 1, 2, ..."""
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
