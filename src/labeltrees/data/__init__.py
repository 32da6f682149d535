"""Reading, checking and writing data."""

from labeltrees.data.dataset import Dataset, as_dataset
from labeltrees.data.logs import PreparedLogs, prepare_logs
from labeltrees.data.text_files import read_texts
from labeltrees.data.tfidf import TfidfVectorizer
from labeltrees.data.xmc import read_xmc, write_xmc

__all__ = [
    "Dataset",
    "PreparedLogs",
    "TfidfVectorizer",
    "as_dataset",
    "prepare_logs",
    "read_texts",
    "read_xmc",
    "write_xmc",
]
