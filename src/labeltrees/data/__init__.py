"""Reading, checking and writing data."""

from labeltrees.data.dataset import Dataset, as_dataset
from labeltrees.data.encoders import ColumnEncoder, Encoder, ItemEncoder, TextEncoder, UnionEncoder
from labeltrees.data.limits import read_limits
from labeltrees.data.parts import PartsDataset, PartsWriter, open_parts, write_parts
from labeltrees.data.read_data import read_data
from labeltrees.data.texts import read_texts
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.data.xmc import read_xmc, write_xmc

__all__ = [
    "ColumnEncoder",
    "Dataset",
    "Encoder",
    "ItemEncoder",
    "PartsDataset",
    "PartsWriter",
    "TextEncoder",
    "TfidfVectorizer",
    "UnionEncoder",
    "as_dataset",
    "open_parts",
    "read_data",
    "read_limits",
    "read_texts",
    "read_vocabulary",
    "read_xmc",
    "write_parts",
    "write_xmc",
]
