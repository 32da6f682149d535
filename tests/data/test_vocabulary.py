"""Vocabularies: tables, and SKOS files in three forms."""

import gzip
import sys

import pytest

import labeltrees as lt

CATS, DOGS, OLD, SCHEME = (f"http://x.example/{name}" for name in ("cats", "dogs", "old", "scheme"))


@pytest.mark.parametrize(("name", "separator"), [("t.tsv", "\t"), ("t.csv", ","), ("t.txt", "\t")])
def test_a_file_of_two_columns(tmp_path, name, separator):
    rows = [("dog", "dogs"), ("<http://x/1>", "cats"), ("dog", "hounds")]
    (tmp_path / name).write_text("".join(f"{label}{separator}{text}\n" for label, text in rows))
    assert lt.read_vocabulary(tmp_path / name) == {"dog": ["dogs", "hounds"], "http://x/1": ["cats"]}


def test_a_file_of_commas_may_quote_and_one_of_tabs_may_have_a_notation(tmp_path):
    (tmp_path / "t.csv").write_text('dog,"dogs, hounds"\n')
    assert lt.read_vocabulary(tmp_path / "t.csv") == {"dog": ["dogs, hounds"]}
    (tmp_path / "t.tsv.gz").write_bytes(gzip.compress(b'<dog>\t"dogs"\t42.1\n\n'))
    assert lt.read_vocabulary(tmp_path / "t.tsv.gz") == {"dog": ['"dogs"']}


def test_a_table_with_a_column_per_language(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"uri,notation,label_en,label_fi\n{CATS},1,cats,kissat\n{DOGS},2,dogs,\n", encoding="utf-8-sig")
    assert lt.read_vocabulary(path, "en") == {CATS: ["cats"], DOGS: ["dogs"]}
    assert lt.read_vocabulary(path, "fi") == {CATS: ["kissat"]}  # no Finnish name for dogs
    with pytest.raises(lt.errors.InputError, match=r"has labels in en, fi; choose one, such as language='en'"):
        lt.read_vocabulary(path)
    with pytest.raises(lt.errors.InputError, match=r"not in 'sv'; choose one"):
        lt.read_vocabulary(path, "sv")


@pytest.mark.parametrize(
    ("text", "message"),
    [("dog\n", "row 1: must have two columns"), ("\n", "has no texts"), ("uri\tlabel_en\n", "has no texts")],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "t.tsv").write_text(text)
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.read_vocabulary(tmp_path / "t.tsv")


STATEMENTS = [
    (CATS, "type", "Concept", None),
    (CATS, "prefLabel", "cats", "en"),
    (CATS, "prefLabel", "kissat", "fi"),
    (CATS, "altLabel", "felines", "en"),
    (CATS, "altLabel", "big  cats", "en-GB"),
    (CATS, "hiddenLabel", "catz", "en"),
    (DOGS, "type", "Concept", None),
    (DOGS, "prefLabel", "dogs", "en"),
    (OLD, "type", "Concept", None),
    (OLD, "prefLabel", "hounds", "en"),
    (OLD, "deprecated", "true", None),
    (SCHEME, "type", "ConceptScheme", None),
    (SCHEME, "prefLabel", "All animals", "en"),
]
SPACES = {
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "owl": "http://www.w3.org/2002/07/owl#",
}
XML_SPACES = " ".join(f'xmlns:{space}="{uri}"' for space, uri in SPACES.items())


def qualified(predicate):
    space = {"type": "rdf", "deprecated": "owl"}.get(predicate, "skos")
    return f"{space}:{predicate}"


def whole(name):
    space, _, local = name.partition(":")
    return f"<{SPACES[space]}{local}>"


def as_turtle(statements):
    lines = [f"@prefix {space}: <{uri}> ." for space, uri in SPACES.items()]
    for subject, predicate, value, language in statements:
        literal = "true" if predicate == "deprecated" else f'"{value}"' + (f"@{language}" if language else "")
        lines.append(f"<{subject}> {qualified(predicate)} {f'skos:{value}' if predicate == 'type' else literal} .")
    return "\n".join(lines)


def as_ntriples(statements):
    boolean = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    lines = []
    for subject, predicate, value, language in statements:
        literal = boolean if predicate == "deprecated" else f'"{value}"' + (f"@{language}" if language else "")
        shown = whole(f"skos:{value}") if predicate == "type" else literal
        lines.append(f"<{subject}> {whole(qualified(predicate))} {shown} .")
    return "\n".join(lines) + "\n"


def as_xml(statements):
    lines = [f"<rdf:RDF {XML_SPACES}>"]
    for subject, predicate, value, language in statements:
        element = f"<{qualified(predicate)}" + (f' xml:lang="{language}"' if language else "")
        element += f">{value}</{qualified(predicate)}>"
        if predicate == "type":
            element = f'<rdf:type rdf:resource="{SPACES["skos"]}{value}"/>'
        lines.append(f'<rdf:Description rdf:about="{subject}">{element}</rdf:Description>')
    return "\n".join([*lines, "</rdf:RDF>"])


FORMS = {"v.ttl": as_turtle, "v.rdf": as_xml, "v.nt.gz": as_ntriples}


@pytest.fixture(params=FORMS)
def write_skos(request, tmp_path):
    """Return a function that writes statements in one of three forms."""
    pytest.importorskip("pyoxigraph", reason="the extra labeltrees[skos] is not installed")

    def write(statements):
        content = FORMS[request.param](statements).encode()
        path = tmp_path / request.param
        path.write_bytes(gzip.compress(content) if request.param.endswith(".gz") else content)
        return path

    return write


def test_skos_gives_the_preferred_name_first_in_one_language(write_skos):
    skos = write_skos(STATEMENTS)
    assert lt.read_vocabulary(skos, "en") == {CATS: ["cats", "felines", "big cats"], DOGS: ["dogs"]}
    assert lt.read_vocabulary(skos, "fi") == {CATS: ["kissat"]}
    with pytest.raises(lt.errors.InputError, match="has labels in en, fi; choose one"):
        lt.read_vocabulary(skos)


def test_a_file_without_types_has_only_concepts(write_skos):
    skos = write_skos([statement for statement in STATEMENTS if statement[1] != "type"])
    assert lt.read_vocabulary(skos, "en").keys() == {CATS, DOGS, SCHEME}


@pytest.mark.parametrize("name", ["v.ttl", "v.rdf", "v.nt"])
@pytest.mark.parametrize("content", [b"<not> <<a file\n", b"\xff\xfe", b"<rdf:RDF><a>"])
def test_a_damaged_file_of_skos_is_one_clear_error(tmp_path, name, content):
    pytest.importorskip("pyoxigraph", reason="the extra labeltrees[skos] is not installed")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(lt.errors.FileFormatError, match=rf"{name}: cannot be read as"):
        lt.read_vocabulary(tmp_path / name)


def test_a_file_that_is_cut_is_refused(write_skos):
    path = write_skos(STATEMENTS)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(lt.errors.FileFormatError):
        lt.read_vocabulary(path, "en")


def nested_entities():
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    return entity_file(f'<!ENTITY a0 "lolly">{entities}', "&a9;")


def entity_file(entities, text):
    return (
        f"<!DOCTYPE rdf:RDF [{entities}]>\n<rdf:RDF {XML_SPACES}><skos:Concept rdf:about='http://x/1'>"
        f"<skos:prefLabel>{text}</skos:prefLabel></skos:Concept></rdf:RDF>"
    )


def many_uses_of_a_long_prefix():
    names = "\n".join(f'a:b{i} <{SPACES["skos"]}prefLabel> "x" .' for i in range(3000))
    return f"@prefix a: <http://x/{'y' * 100_000}> .\n{names}"


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("v.rdf", nested_entities, "amplification"),
        ("v.rdf", lambda: entity_file(f'<!ENTITY a "{"x" * 100_000}">', "&a;" * 20_000), "amplification"),
        ("v.ttl", many_uses_of_a_long_prefix, r"decompresses to more than 250 times its size.*ratio"),
    ],
    ids=["nested entities", "a long entity", "a long prefix"],
)
def test_small_files_that_would_fill_the_memory_are_refused(tmp_path, name, make, message):
    pytest.importorskip("pyoxigraph", reason="the extra labeltrees[skos] is not installed")
    (tmp_path / name).write_text(make())
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.read_vocabulary(tmp_path / name)


def test_short_entities_and_huge_numbers_are_read_as_they_are(tmp_path):
    pytest.importorskip("pyoxigraph", reason="the extra labeltrees[skos] is not installed")
    (tmp_path / "v.rdf").write_text(entity_file('<!ENTITY cat "cats">', "big &cat;"))
    assert lt.read_vocabulary(tmp_path / "v.rdf") == {"http://x/1": ["big cats"]}
    number = '"1e999999999"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    (tmp_path / "v.nt").write_text(f"<{CATS}> <{SPACES['skos']}prefLabel> {number} .\n")
    assert lt.read_vocabulary(tmp_path / "v.nt") == {CATS: ["1e999999999"]}


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    (tmp_path / "v.ttl").write_text("")
    with pytest.raises(lt.errors.MissingExtraError, match=r"pip install 'labeltrees\[skos\]'"):
        lt.read_vocabulary(tmp_path / "v.ttl")


def test_deeply_nested_xml_is_refused(tmp_path):
    path = tmp_path / "deep.rdf"
    path.write_text('<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' + "<a>" * 50_000 + "</a>" * 50_000)
    with pytest.raises(lt.errors.FileFormatError, match="nested more than 100 deep"):
        lt.read_vocabulary(path)


def test_xml_may_have_100_levels(tmp_path):
    path = tmp_path / "deep.rdf"

    def write(n_pairs):
        spaces = f'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:s="{SPACES["skos"]}"'
        name = f'<s:Concept r:about="{CATS}"><s:prefLabel>cats</s:prefLabel></s:Concept>'
        nested = "<r:Description><s:related>" * n_pairs + "<r:Description/>" + "</s:related></r:Description>" * n_pairs
        path.write_text(f"<r:RDF {spaces}>{name}{nested}</r:RDF>")

    write(49)  # with the root and the innermost element: 100
    assert lt.read_vocabulary(path) == {CATS: ["cats"]}
    write(50)
    with pytest.raises(lt.errors.FileFormatError, match="nested more than 100 deep"):
        lt.read_vocabulary(path)
