"""`read_xmc` and `read_texts` with ``parts=``: convert, then open."""

from __future__ import annotations

from typing import Any

from labeltrees.data.files import FilePath
from labeltrees.data.parts.parts_dataset import PartsDataset, open_parts
from labeltrees.data.parts.text_parts import texts_to_parts
from labeltrees.data.parts.writer import POINTS_PER_PART
from labeltrees.data.parts.xmc_parts import xmc_to_parts
from labeltrees.data.text_files import known_format
from labeltrees.data.text_formats import TextFields
from labeltrees.data.xmc_blocks import IndexBase


def xmc_in_parts(
    path: FilePath, folder: FilePath, index_base: IndexBase, weights: FilePath | None, points_per_part: int | None
) -> PartsDataset:
    """Write a file in XMC format as a folder of parts, and open it."""
    size = POINTS_PER_PART if points_per_part is None else points_per_part
    xmc_to_parts(path, folder, index_base=index_base, weights=weights, points_per_part=size)
    return open_parts(folder)


def texts_in_parts(
    path: FilePath, fields: TextFields, format: str, folder: FilePath, vectorizer: Any, points_per_part: int | None
) -> PartsDataset:
    """Write a file of texts as a folder of parts, and open it."""
    size = POINTS_PER_PART if points_per_part is None else points_per_part
    found = known_format(path, format)
    texts_to_parts(path, fields, found, folder, vectorizer=vectorizer, points_per_part=size)
    return open_parts(folder)
