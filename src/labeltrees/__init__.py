"""Label trees for extreme multi-label classification, with one knob between accurate and fast."""

from labeltrees import datasets
from labeltrees.data import Dataset, read_xmc, write_xmc
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, MissingExtraError

__version__ = "0.1.0"

__all__ = [
    "Dataset",
    "FileFormatError",
    "InputError",
    "LabelTreesError",
    "MissingExtraError",
    "datasets",
    "read_xmc",
    "write_xmc",
]
