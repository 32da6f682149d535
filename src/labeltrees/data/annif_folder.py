"""Annif's folders of documents: NAME.txt has a text, NAME.tsv or NAME.key its labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labeltrees._files import refuse_file
from labeltrees.data.files import FilePath, read_lines
from labeltrees.data.text_formats import TextBlock, TextFields

LABEL_SUFFIXES = (".tsv", ".key")


def is_document_folder(path: FilePath) -> bool:
    """Whether a path is a folder with at least one document and its labels."""
    folder = Path(path)
    return folder.is_dir() and any(labels_file(document) is not None for document in folder.glob("*.txt"))


def labels_file(document: Path) -> Path | None:
    """Return the file with the labels of a document, None if it has none."""
    return next((file for suffix in LABEL_SUFFIXES if (file := document.with_suffix(suffix)).is_file()), None)


def read_documents(folder: FilePath, fields: TextFields, block_size: int) -> Iterator[TextBlock]:
    """Yield the documents of a folder in blocks, in the order of their names."""
    if fields.weight is not None:
        refuse_file(folder, "a folder of documents has no field for weights")
    documents = sorted(Path(folder).glob("*.txt"))
    if not documents:
        refuse_file(folder, "a folder without documents (NAME.txt)")
    block = TextBlock()
    for document in documents:
        block.texts.append("\n".join(read_lines(document)).removeprefix("\ufeff"))
        if fields.labels is not None:
            block.labels.append(_labels_of(document))
        if len(block.texts) >= block_size:
            yield block
            block = TextBlock()
    if block.texts:
        yield block


def _labels_of(document: Path) -> list[str]:
    """Return the URIs in NAME.tsv (``<uri>``, a tab, other columns), or the lines of NAME.key."""
    file = labels_file(document)
    lines = [] if file is None else read_lines(file)
    names = [line.removeprefix("\ufeff").partition("\t")[0].strip() for line in lines]
    return [plain_uri(name) for name in names if name]


def plain_uri(text: str) -> str:
    """Return a URI without the angle brackets around it.

    Examples
    --------
    >>> plain_uri("<http://example.org/cats>")
    'http://example.org/cats'
    """
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text
