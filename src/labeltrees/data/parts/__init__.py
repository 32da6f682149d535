"""Datasets in parts: a folder of slices on disk that is read as one Dataset."""

from labeltrees.data.parts.parts_dataset import PartsDataset, open_parts
from labeltrees.data.parts.writer import PartsWriter, write_parts

__all__ = ["PartsDataset", "PartsWriter", "open_parts", "write_parts"]
