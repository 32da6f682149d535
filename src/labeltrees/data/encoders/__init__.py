"""Encoders: from what a user has (a text, a list of items, a row of a log) to a row of features."""

from labeltrees.data.encoders.base import Encoder
from labeltrees.data.encoders.encoder_file import ENCODER_FILE, read_encoder, write_encoder
from labeltrees.data.encoders.files import encoder_from_files, encoder_to_files
from labeltrees.data.encoders.items import ColumnEncoder, ItemEncoder
from labeltrees.data.encoders.text import TextEncoder
from labeltrees.data.encoders.union import UnionEncoder

__all__ = [
    "ENCODER_FILE",
    "ColumnEncoder",
    "Encoder",
    "ItemEncoder",
    "TextEncoder",
    "UnionEncoder",
    "encoder_from_files",
    "encoder_to_files",
    "read_encoder",
    "write_encoder",
]
