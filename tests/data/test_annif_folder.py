"""Annif's corpora: lines, and folders of documents."""

import gzip

import pytest

import labeltrees as lt

LINES = "Tea\t<http://x/tea> <http://x/drinks>\n\nNothing\t\nMilk and tea\t http://x/milk\t<http://x/tea>\r\n"
TEXTS = ["Tea", "Nothing", "Milk and tea"]
LABELS = [["http://x/drinks", "http://x/tea"], [], ["http://x/milk", "http://x/tea"]]


def read(path, **how):
    return lt.read_texts(path, vectorizer=lt.TfidfVectorizer(), **how)


@pytest.mark.parametrize(("name", "format"), [("a.tsv", "auto"), ("a.txt", "annif"), ("a.tsv.gz", "annif")])
def test_lines(tmp_path, name, format):
    content = LINES.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = read(tmp_path / name, format=format)
    assert list(data.texts) == TEXTS
    assert [data.labels_of(i) for i in range(3)] == LABELS


def test_a_tsv_with_a_header_is_not_taken_for_annifs(tmp_path):
    (tmp_path / "a.tsv").write_text("text\tlabels\nTea\t<http://x/tea>\n")
    assert read(tmp_path / "a.tsv").label_names.tolist() == ["<http://x/tea>"]


def test_a_line_without_a_tab_is_refused_with_its_number(tmp_path):
    (tmp_path / "a.tsv").write_text("Tea\t<http://x/tea>\nMilk\n")
    with pytest.raises(lt.FileFormatError, match=r"a.tsv, line 2: no tab between the text and its URIs"):
        read(tmp_path / "a.tsv")


def test_a_folder_of_documents(tmp_path):
    (tmp_path / "b.txt").write_text("Milk\nand tea\n", encoding="utf-8-sig")
    (tmp_path / "b.tsv").write_text("<http://x/milk>\tmilk\t1\n<http://x/tea>\ttea\n")
    (tmp_path / "a.txt").write_text("Tea")
    (tmp_path / "a.key").write_text("teas\n\nhot drinks\n")
    (tmp_path / "c.txt").write_text("No labels")
    data = read(tmp_path)
    assert list(data.texts) == ["Tea", "Milk\nand tea", "No labels"]
    assert [data.labels_of(i) for i in range(3)] == [["hot drinks", "teas"], ["http://x/milk", "http://x/tea"], []]


def test_weights_and_empty_folders_are_refused(tmp_path):
    with pytest.raises(lt.FileFormatError, match="a folder without documents"):
        read(tmp_path)
    (tmp_path / "a.txt").write_text("Tea")
    with pytest.raises(lt.FileFormatError, match="has no field for weights"):
        read(tmp_path, weight="n")
    (tmp_path / "a.tsv").write_text("Tea\t<http://x/tea>\n")
    with pytest.raises(lt.FileFormatError, match="has no field for weights"):
        read(tmp_path / "a.tsv", weight="n")
