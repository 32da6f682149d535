"""Vocabularies: the texts of each label, from tables and from SKOS files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn
from xml.parsers import expat

from labeltrees._extras import import_extra
from labeltrees._files import refuse_file
from labeltrees._names import nfc
from labeltrees.data.files import COMPRESSED, FilePath, open_any, read_lines
from labeltrees.data.label_relations import Vocabulary, above
from labeltrees.data.limits import current_limits
from labeltrees.data.text_formats import plain_uri
from labeltrees.errors import FileFormatError, InputError, LabelTreesError, Parameter

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_CONCEPT = _SKOS + "Concept"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEEPEST_XML = 100  # nested elements; vocabularies have 5
_DEPRECATED = "http://www.w3.org/2002/07/owl#deprecated"
_FORMAT_NAMES = {"TURTLE": "Turtle", "N_TRIPLES": "N-Triples", "RDF_XML": "RDF/XML"}
# JSON-LD is left out: such a file can refer to other files on the network.
_RDF_FORMATS = {".ttl": "TURTLE", ".n3": "TURTLE", ".nt": "N_TRIPLES"} | dict.fromkeys(
    (".rdf", ".xml", ".owl"), "RDF_XML"
)
_LANGUAGE_COLUMN = "label_"
_OF_SET = (_SKOS + "inScheme", _SKOS + "topConceptOf", _TYPE)  # from a concept to a set that it belongs to


def read_vocabulary(
    path: FilePath, language: str | None = None, *, within: str | Iterable[str] | None = None
) -> Vocabulary:
    r"""Return the texts of each label of a vocabulary, the preferred name first.

    Parameters
    ----------
    path : path
        A file that may be compressed (.gz, .xz, .zst):

        - two columns, label and text, separated by a tab or, in a .csv file, by a comma. Several rows give a label
          several texts. Labels may be in angle brackets. A third column (Annif's notation) is ignored.
        - a table whose first row names its columns: ``uri`` and ``label_en``, ``label_fi``, ... (Annif's CSV).
        - SKOS in Turtle (.ttl), RDF/XML (.rdf, .xml) or N-Triples (.nt): preferred labels, then alternative labels,
          of resources of the type ``skos:Concept`` that are not deprecated. Needs the extra `skos`.
    language : str, optional
        The language of the texts, such as "en". Needed if the file has several.
    within : str or list of str, optional
        Only the labels of these schemes, types or collections: each by its URI, its name, or the end of its URI.

    Returns
    -------
    Vocabulary
        A dict from labels to texts. For SKOS, `broader` has the broader labels of each label (``skos:broader``, and
        ``skos:narrower`` reversed; a concept that is not a label is replaced by those above it), and `sets`
        the labels of each scheme, type and collection by its URI. A collection in a collection counts as its members.

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
    if within is None:
        return found
    try:
        return found.within(within)
    except InputError as error:
        message = f"{path}: {error}"
        raise InputError(message) from None


def _suffix(path: FilePath) -> str:
    plain = Path(path)
    return (plain.with_suffix("") if plain.suffix.lower() in COMPRESSED else plain).suffix.lower()


# Tables.


def _read_table(path: FilePath, language: str | None) -> Vocabulary:
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
    first, second, languages, header = 0, 1, [], []
    if rows and rows[0] and rows[0][0].strip().lower() == "uri":
        header = [name.strip().lower() for name in rows[0]]
        languages = [name.removeprefix(_LANGUAGE_COLUMN) for name in header if name.startswith(_LANGUAGE_COLUMN)]
        language = _choose_language(path, languages, language) if languages else None
        second = header.index(f"{_LANGUAGE_COLUMN}{language}") if languages else 1
        rows[0] = []
    found: dict[str, list[str]] = {}
    titles: dict[str, dict[str, str]] = {one: {} for one in languages}
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        name = plain_uri(row[first].strip())
        if len(row) <= second or not name:
            message = f"{path}, row {number}: must have two columns, a label and its text, got {len(row)}"
            raise FileFormatError(message)
        if row[second].strip():
            found.setdefault(nfc(name), []).append(row[second].strip())
        for one, own in titles.items():
            place = header.index(_LANGUAGE_COLUMN + one)
            if place < len(row) and row[place].strip():
                own.setdefault(nfc(name), row[place].strip())
    return Vocabulary(found, language=language if languages else None, titles=titles)


def _choose_language(path: FilePath, languages: list[str], language: str | None) -> str:
    if language is None and len(languages) == 1:
        return languages[0]
    if language is None or language.lower() not in languages:
        _refuse_language(path, languages, language)
    return language.lower()


def _refuse_language(path: FilePath, languages: list[str], language: str | None) -> NoReturn:
    shown = ", ".join(sorted(languages)[:20])
    fault = "" if language is None else f", not in {language!r}"
    message = "{}: has labels in {}{}; choose one, such as {}"
    raise InputError(message, path, shown, fault, Parameter("language", min(languages)))


# SKOS.


def _read_skos(path: FilePath, format: str, language: str | None) -> Vocabulary:
    preferred: dict[str, list[tuple[str, str]]] = {}
    others: dict[str, list[tuple[str, str]]] = {}
    names = {_SKOS + "prefLabel": preferred, _SKOS + "altLabel": others}
    concepts, old = set(), set()
    relations = _Relations()
    for subject, predicate, value, tag in _triples(path, format):
        if predicate in names:
            text = " ".join(value.split())
            if text and tag is not None:
                names[predicate].setdefault(subject, []).append((tag, text))
        elif predicate == _TYPE and value == _CONCEPT:
            concepts.add(subject)
        elif predicate == _DEPRECATED and value.lower() in ("true", "1"):
            old.add(subject)
        elif tag is None:
            relations.add(subject, predicate, value)
    # Schemes and collections have names too. Without any resource of the type skos:Concept, all count.
    labels = (preferred.keys() & concepts if concepts else preferred.keys()) - old
    known = sorted({tag.partition("-")[0] for concept in labels for tag, _ in preferred[concept] if tag})
    wanted = None
    if known:
        wanted = _choose_language(path, known, None if language is None else language.partition("-")[0])
    found: dict[str, list[str]] = {}
    for concept in sorted(labels):
        texts = [*sorted(preferred[concept]), *sorted(others.get(concept, []))]
        chosen = [text for tag, text in texts if not tag or tag.partition("-")[0] == wanted]
        if chosen:
            found[nfc(concept)] = list(dict.fromkeys(chosen))
    sets = relations.sets()
    titles = {
        name: sorted(preferred.get(name, []), key=lambda text: (text[0].partition("-")[0] != wanted, text))
        for name in sets
    }
    by_language: dict[str, dict[str, str]] = {tag: {} for tag in known}
    for concept in found:
        for tag, text in sorted(preferred.get(concept, [])):
            if tag:
                by_language[tag.partition("-")[0]].setdefault(concept, text)
    named = {name: texts[0][1] for name, texts in titles.items() if texts}
    return Vocabulary(found, relations.broader, sets, named, wanted, by_language)


class _Relations:
    """The relations in a file: of concepts to each other, and to schemes, types and collections."""

    def __init__(self) -> None:
        self.broader: dict[str, list[str]] = {}
        self._members: dict[str, list[str]] = {}  # of collections, which may be in other collections
        self._others: dict[str, list[str]] = {}  # of schemes and types

    def add(self, subject: str, predicate: str, value: str) -> None:
        """Keep a statement if it is such a relation."""
        subject, value = nfc(subject), nfc(value)
        if predicate == _SKOS + "broader":
            self.broader.setdefault(subject, []).append(value)
        elif predicate == _SKOS + "narrower":
            self.broader.setdefault(value, []).append(subject)
        elif predicate == _SKOS + "member":
            self._members.setdefault(subject, []).append(value)
        elif predicate == _SKOS + "hasTopConcept":
            self._others.setdefault(subject, []).append(value)
        elif predicate in _OF_SET:
            self._others.setdefault(value, []).append(subject)

    def sets(self) -> dict[str, list[str]]:
        """Return the members of each scheme, type and collection, including those of nested collections."""
        inside = {name: above(name, lambda one: self._members.get(one, ())) for name in self._members}
        return {name: [*inside.get(name, ()), *self._others.get(name, ())] for name in inside.keys() | self._others}


def _triples(path: FilePath, format: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Yield subject, predicate, object and its language ("" for a literal without one, None for a resource).

    Statements with blank nodes are left out. A small file can use a long prefix many times, so the total size of all
    terms has the same limits as the size after decompression.
    """
    ox = import_extra("pyoxigraph", "skos", "reading a SKOS vocabulary")
    limits, size, n_bytes = current_limits(), Path(path).stat().st_size if Path(path).is_file() else 0, 0
    with open_any(path) as stream:
        source: Any = stream
        if format == "RDF_XML":
            source = stream.read()
            _check_xml(path, source)
        try:
            for triple in ox.parse(source, format=getattr(ox.RdfFormat, format), base_iri="http://base.invalid/"):
                subject, value = triple.subject, triple.object
                if not isinstance(subject, ox.NamedNode) or isinstance(value, ox.BlankNode | ox.Triple):
                    continue
                n_bytes += len(subject.value) + len(value.value)
                limits.check_size(path, n_bytes, size)
                tag = (value.language or "") if isinstance(value, ox.Literal) else None
                yield subject.value, triple.predicate.value, value.value, tag
        except (SyntaxError, ValueError, OSError) as error:
            if isinstance(error, LabelTreesError):
                raise
            refuse_file(path, f"cannot be read as {_FORMAT_NAMES[format]} ({' '.join(str(error).split())[:200]})")


def _check_xml(path: FilePath, content: bytes) -> None:
    """Refuse XML that is damaged, cut off or deeply nested, or whose entities expand to a hundred times their size.

    pyoxigraph's time grows with the square of the depth.
    """
    depth = 0

    def enter(_name: str, _attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST_XML:
            refuse_file(path, f"elements are nested more than {_DEEPEST_XML} deep")

    def leave(_name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        refuse_file(path, f"cannot be read as {_FORMAT_NAMES['RDF_XML']} ({error})")
