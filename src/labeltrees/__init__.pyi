"""The public names for type checkers and editors. `__init__.py` imports them when they are first used."""

from labeltrees import baselines, datasets, metrics
from labeltrees.data import (
    ColumnEncoder,
    Dataset,
    Encoder,
    ItemEncoder,
    PartsDataset,
    PartsWriter,
    TextEncoder,
    TfidfVectorizer,
    UnionEncoder,
    open_parts,
    read_data,
    read_limits,
    read_texts,
    read_vocabulary,
    read_xmc,
    write_parts,
    write_xmc,
)
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError
from labeltrees.labels.embedding import pifa
from labeltrees.labels.frequency import cover_frequencies, label_frequencies, label_weights
from labeltrees.labels.imbalance import Imbalance, imbalance
from labeltrees.labels.trend import trend_weights
from labeltrees.logs import Columns, PreparedLogs, prepare_logs
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.models.linear.settings import Solver
from labeltrees.models.load import load
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.tree.baselines import fano_tree, flat_tree, huffman_tree, random_tree
from labeltrees.tree.builder import build_tree, build_tree_from
from labeltrees.tree.contract import contract
from labeltrees.tree.kmeans import kmeans_tree
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.search_cost import SearchCost
from labeltrees.tree.semantic_huffman import semantic_huffman_tree
from labeltrees.tree.settings import TreeBuilder
from labeltrees.tree.similarity import within_node_similarity
from labeltrees.tree.splits import split_labels
from labeltrees.tree.summary import TreeSummary
from labeltrees.tuning.choose import Choice, choose
from labeltrees.tuning.cv import LabelTreeClassifierCV
from labeltrees.tuning.result import SweepResult
from labeltrees.tuning.sweep import sweep

__version__: str

__all__ = [
    "Choice",
    "ColumnEncoder",
    "Columns",
    "Dataset",
    "Encoder",
    "FileFormatError",
    "Imbalance",
    "InputError",
    "ItemEncoder",
    "LabelTree",
    "LabelTreeClassifier",
    "LabelTreeClassifierCV",
    "LabelTreesError",
    "MissingExtraError",
    "PartsDataset",
    "PartsWriter",
    "PreparedLogs",
    "SearchCost",
    "Solver",
    "SweepResult",
    "TextEncoder",
    "TextLabelTreeClassifier",
    "TfidfVectorizer",
    "TreeBuilder",
    "TreeSummary",
    "UnionEncoder",
    "baselines",
    "build_tree",
    "build_tree_from",
    "choose",
    "contract",
    "cover_frequencies",
    "datasets",
    "fano_tree",
    "flat_tree",
    "huffman_tree",
    "imbalance",
    "kmeans_tree",
    "label_frequencies",
    "label_weights",
    "load",
    "metrics",
    "open_parts",
    "pifa",
    "prepare_logs",
    "random_tree",
    "read_data",
    "read_limits",
    "read_texts",
    "read_vocabulary",
    "read_xmc",
    "semantic_huffman_tree",
    "split_labels",
    "sweep",
    "trend_weights",
    "within_node_similarity",
    "write_parts",
    "write_xmc",
]
