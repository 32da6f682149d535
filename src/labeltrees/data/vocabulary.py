"""Vocabularies: what people call each label, from tables of two columns and from SKOS files."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, NoReturn

from labeltrees._extras import import_extra
from labeltrees._files import refuse_file
from labeltrees._names import nfc
from labeltrees.data.files import COMPRESSED, FilePath, open_any, read_lines
from labeltrees.data.text_formats import plain_uri
from labeltrees.errors import FileFormatError, InputError

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
# JSON-LD is left out: such a file can make the reader fetch other files from the network.
_RDF_FORMATS = {".ttl": "turtle", ".n3": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
_LANGUAGE_COLUMN = "label_"


def read_vocabulary(path: FilePath, language: str | None = None) -> dict[str, list[str]]:
    r"""Return the texts of each label of a vocabulary, the preferred name first.

    Parameters
    ----------
    path : path
        A file that may be compressed (.gz, .xz, .zst):

        - two columns, label and text, separated by a tab or, in a .csv file, by a comma. Several rows give a label
          several texts. Labels may be in angle brackets. A third column (Annif's notation) is ignored.
        - a table whose first row names its columns: ``uri`` and ``label_en``, ``label_fi``, ... (Annif's CSV).
        - SKOS in Turtle (.ttl), RDF/XML (.rdf, .xml) or N-Triples (.nt): preferred labels, then alternative labels.
          Deprecated concepts are left out. Needs the extra `skos`.
    language : str, optional
        The language of the texts, such as "en". Needed if the file has several.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import labeltrees as lt
    >>> path = pathlib.Path(tempfile.mkdtemp(), "subjects.csv")
    >>> size = path.write_text("uri,label_en,label_fi\nhttp://x.example/1,cats,kissat\n")
    >>> lt.read_vocabulary(path, language="fi")
    {'http://x.example/1': ['kissat']}
    """
    format = _RDF_FORMATS.get(_suffix(path))
    found = _read_table(path, language) if format is None else _read_skos(path, format, language)
    if not found:
        refuse_file(path, "has no texts of labels")
    return found


def _suffix(path: FilePath) -> str:
    plain = Path(path)
    return (plain.with_suffix("") if plain.suffix.lower() in COMPRESSED else plain).suffix.lower()


# Tables.


def _read_table(path: FilePath, language: str | None) -> dict[str, list[str]]:
    lines = read_lines(path)
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    if _suffix(path) == ".csv":
        try:
            rows = list(csv.reader(io.StringIO("\n".join(lines))))
        except csv.Error as error:
            refuse_file(path, f"not a file of two columns ({error})")
    else:
        rows = [line.split("\t") for line in lines]  # quotation marks have no meaning in a file with tabs
    first, second = 0, 1
    if rows and rows[0] and rows[0][0].strip().lower() == "uri":
        first, second = _columns(path, [name.strip().lower() for name in rows[0]], language)
        rows[0] = []
    found: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        name = plain_uri(row[first].strip())
        if len(row) <= second or not name:
            message = f"{path}, row {number}: must have two columns, a label and its text, got {len(row)}"
            raise FileFormatError(message)
        if row[second].strip():
            found.setdefault(nfc(name), []).append(row[second].strip())
    return found


def _columns(path: FilePath, header: list[str], language: str | None) -> tuple[int, int]:
    """Return the columns of the label and of its text."""
    languages = [name.removeprefix(_LANGUAGE_COLUMN) for name in header if name.startswith(_LANGUAGE_COLUMN)]
    if not languages:
        return 0, 1
    return 0, header.index(_LANGUAGE_COLUMN + _choose_language(path, languages, language))


def _choose_language(path: FilePath, languages: list[str], language: str | None) -> str:
    if language is None and len(languages) == 1:
        return languages[0]
    if language is None or language.lower() not in languages:
        _refuse_language(path, languages, language)
    return language.lower()


def _refuse_language(path: FilePath, languages: list[str], language: str | None) -> NoReturn:
    shown = ", ".join(sorted(languages)[:20])
    fault = "" if language is None else f", not in {language!r}"
    message = f"{path}: has labels in {shown}{fault}; choose one, such as language={min(languages)!r}"
    raise InputError(message)


# SKOS.


def _read_skos(path: FilePath, format: str, language: str | None) -> dict[str, list[str]]:
    graph = _parse(path, format)
    preferred, others = (_texts(graph, _SKOS + name) for name in ("prefLabel", "altLabel"))
    known = sorted({tag.partition("-")[0] for texts in preferred.values() for tag, _ in texts if tag})
    wanted = None
    if known:
        wanted = _choose_language(path, known, None if language is None else language.partition("-")[0])
    old = {str(concept) for concept, is_old in _pairs(graph, _DEPRECATED) if str(is_old).lower() in ("true", "1")}
    found: dict[str, list[str]] = {}
    for concept in sorted(preferred.keys() - old):
        texts = [*sorted(preferred[concept]), *sorted(others.get(concept, []))]
        names = [text for tag, text in texts if not tag or tag.partition("-")[0] == wanted]
        if names:
            found[nfc(concept)] = list(dict.fromkeys(names))
    return found


def _parse(path: FilePath, format: str) -> Any:
    rdflib = import_extra("rdflib", "skos", "reading a SKOS vocabulary")
    with open_any(path) as stream:
        content = stream.read()
    graph = rdflib.Graph()
    try:
        graph.parse(data=content, format=format, publicID="http://base.invalid/")
    except Exception as error:  # each parser of rdflib has its own kinds of errors
        message = " ".join(str(error).split())[:200]
        refuse_file(path, f"cannot be read as {format} ({message})")
    return graph


def _pairs(graph: Any, predicate: str) -> Any:
    from rdflib import URIRef

    return graph.subject_objects(URIRef(predicate))


def _texts(graph: Any, predicate: str) -> dict[str, list[tuple[str, str]]]:
    """Return language and text of the literals of each concept."""
    found: dict[str, list[tuple[str, str]]] = {}
    for concept, literal in _pairs(graph, predicate):
        text = " ".join(str(literal).split())
        if text:
            found.setdefault(str(concept), []).append(((getattr(literal, "language", None) or "").lower(), text))
    return found
