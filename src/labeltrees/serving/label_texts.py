"""Texts to show for labels: labels can be URIs or codes, and people read texts."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labeltrees.errors import FileFormatError


def read_label_texts(source: Any) -> dict[str, str]:
    """Return the text of each label name.

    Parameters
    ----------
    source : mapping, path or None
        A file has two columns, the name of a label and its text, separated by a tab, or by a comma if its name ends in
        .csv. Names may be in angle brackets, as in Annif's vocabularies. A first line that starts with "uri" is a
        header.
    """
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return {str(name): str(text) for name, text in source.items()}
    path = Path(os.fspath(source))
    separator = "," if path.suffix == ".csv" else "\t"
    texts: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            # Quotation marks have no meaning in a file with tabs.
            rows = csv.reader(file) if separator == "," else (line.rstrip("\r\n").split("\t") for line in file)
            for number, row in enumerate(rows, start=1):
                if not any(row) or (number == 1 and row[0].lower() == "uri"):
                    continue
                if len(row) < 2:
                    message = f"{path}, line {number}: two columns expected, the name of a label and its text"
                    raise FileFormatError(message)
                texts[row[0].strip().removeprefix("<").removesuffix(">")] = row[1].strip()
    except (UnicodeDecodeError, csv.Error) as error:
        message = f"{path}: not a file with two columns in UTF-8 ({error})"
        raise FileFormatError(message) from None
    return texts
