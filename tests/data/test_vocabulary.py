"""Vocabularies: tables, and SKOS files as rdflib writes them."""

import gzip
import sys

import pytest

import labeltrees as lt

CATS, DOGS, OLD = "http://x.example/cats", "http://x.example/dogs", "http://x.example/old"


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
    with pytest.raises(lt.InputError, match=r"has labels in en, fi; choose one, such as language='en'"):
        lt.read_vocabulary(path)
    with pytest.raises(lt.InputError, match=r"not in 'sv'; choose one"):
        lt.read_vocabulary(path, "sv")


@pytest.mark.parametrize(
    ("text", "message"),
    [("dog\n", "row 1: must have two columns"), ("\n", "has no texts"), ("uri\tlabel_en\n", "has no texts")],
)
def test_other_files_are_refused(tmp_path, text, message):
    (tmp_path / "t.tsv").write_text(text)
    with pytest.raises(lt.FileFormatError, match=message):
        lt.read_vocabulary(tmp_path / "t.tsv")


@pytest.fixture(params=[("v.ttl", "turtle"), ("v.rdf", "xml"), ("v.nt.gz", "nt")], ids=lambda param: param[1])
def skos(request, tmp_path):
    """The same vocabulary in three forms, written by rdflib itself."""
    rdflib = pytest.importorskip("rdflib", reason="the extra labeltrees[skos] is not installed")
    name, format = request.param
    graph, skos = rdflib.Graph(), rdflib.namespace.SKOS
    for concept, predicate, text, language in [
        (CATS, skos.prefLabel, "cats", "en"),
        (CATS, skos.prefLabel, "kissat", "fi"),
        (CATS, skos.altLabel, "felines", "en"),
        (CATS, skos.altLabel, "big cats", "en-GB"),
        (CATS, skos.hiddenLabel, "catz", "en"),
        (DOGS, skos.prefLabel, "dogs", "en"),
        (OLD, skos.prefLabel, "hounds", "en"),
    ]:
        graph.add((rdflib.URIRef(concept), predicate, rdflib.Literal(text, lang=language)))
    graph.add((rdflib.URIRef(OLD), rdflib.OWL.deprecated, rdflib.Literal(True)))
    content = graph.serialize(format=format, encoding="utf-8")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def test_skos_gives_the_preferred_name_first_in_one_language(skos):
    assert lt.read_vocabulary(skos, "en") == {CATS: ["cats", "felines", "big cats"], DOGS: ["dogs"]}
    assert lt.read_vocabulary(skos, "fi") == {CATS: ["kissat"]}
    with pytest.raises(lt.InputError, match="has labels in en, fi; choose one"):
        lt.read_vocabulary(skos)


@pytest.mark.parametrize("name", ["v.ttl", "v.rdf", "v.nt"])
def test_a_damaged_file_of_skos_is_one_clear_error(tmp_path, name):
    pytest.importorskip("rdflib", reason="the extra labeltrees[skos] is not installed")
    (tmp_path / name).write_text("<not> <<a file\n")
    with pytest.raises(lt.FileFormatError, match=rf"{name}: cannot be read as"):
        lt.read_vocabulary(tmp_path / name)


def test_without_the_extra_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    (tmp_path / "v.ttl").write_text("")
    with pytest.raises(lt.MissingExtraError, match=r"pip install 'labeltrees\[skos\]'"):
        lt.read_vocabulary(tmp_path / "v.ttl")
