"""Label trees for extreme multi-label classification, with one knob between accurate and fast."""

from labeltrees.data import Dataset, read_xmc, write_xmc
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.summary import TreeSummary

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "FileFormatError",
    "InputError",
    "LabelTree",
    "LabelTreesError",
    "MissingExtraError",
    "TreeSummary",
    "read_xmc",
    "write_xmc",
]
