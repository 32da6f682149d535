"""The public names for type checkers and editors. `__init__.py` imports them when they are first used."""

from labeltrees import baselines, datasets, errors, metrics
from labeltrees.data import (
    Dataset,
    PartsWriter,
    TfidfVectorizer,
    encoders,
    open_parts,
    read_data,
    read_texts,
    read_vocabulary,
    read_xmc,
    write_parts,
    write_xmc,
)
from labeltrees.labels import cover_frequencies, label_frequencies, pifa, trend_weights
from labeltrees.logs import Columns, prepare_logs
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.settings import Solver
from labeltrees.models.load import load
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.tree.baselines import (
    fano_tree,
    flat_tree,
    huffman_tree,
    kmeans_tree,
    random_tree,
    semantic_huffman_tree,
)
from labeltrees.tree.builder import build_tree, build_tree_from
from labeltrees.tree.contract import contract
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder
from labeltrees.tree.splits import split_labels
from labeltrees.tuning.choose import choose
from labeltrees.tuning.cv import LabelTreeClassifierCV
from labeltrees.tuning.sweep import sweep

__version__: str

__all__ = [
    "Columns",
    "Dataset",
    "LabelTree",
    "LabelTreeClassifier",
    "LabelTreeClassifierCV",
    "PartsWriter",
    "Solver",
    "TextLabelTreeClassifier",
    "TfidfVectorizer",
    "TreeBuilder",
    "baselines",
    "build_tree",
    "build_tree_from",
    "choose",
    "contract",
    "cover_frequencies",
    "datasets",
    "encoders",
    "errors",
    "fano_tree",
    "flat_tree",
    "huffman_tree",
    "kmeans_tree",
    "label_frequencies",
    "load",
    "metrics",
    "open_parts",
    "pifa",
    "prepare_logs",
    "random_tree",
    "read_data",
    "read_texts",
    "read_vocabulary",
    "read_xmc",
    "semantic_huffman_tree",
    "split_labels",
    "sweep",
    "trend_weights",
    "write_parts",
    "write_xmc",
]
