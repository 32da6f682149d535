"""Label trees for extreme multi-label classification, with one knob between accurate and fast."""

from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.similarity import within_node_similarity
from labeltrees.tree.summary import TreeSummary

__version__ = "0.1.0"

__all__ = [
    "FileFormatError",
    "InputError",
    "LabelTree",
    "LabelTreesError",
    "MissingExtraError",
    "TreeSummary",
    "within_node_similarity",
]
