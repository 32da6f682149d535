"""Options for DATA: texts of every form, features, texts of labels and vocabularies."""

import csv
import gzip
import json

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import labeltrees as lt
from labeltrees.data.tfidf import PRESETS
from tests.cli.conftest import sets

TAGS = ["baking, bread", 'say "cheese"', "rice", "涼麵", "tea"]


def make_records(n, seed=0):
    rng = np.random.default_rng(seed)
    records = []
    for i in range(n):
        tags = sorted(rng.choice(len(TAGS), size=rng.integers(1, 3), replace=False, p=[0.4, 0.25, 0.15, 0.1, 0.1]))
        words = " ".join(f"word{tag} also{tag}" for tag in tags)
        records.append({"title": f"Question {i % 7}", "body": words, "tags": [TAGS[tag] for tag in tags]})
    return records


RECORDS, OTHERS = make_records(200), make_records(50, seed=1)


def tag_field(tags):
    return ";".join('"' + tag.replace('"', '""') + '"' for tag in tags)


def write(path, records):
    rows = [(record["title"], record["body"], record["tags"]) for record in records]
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
        case ".gz":
            path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))
        case ".csv" | ".tsv":
            with open(path, "w", newline="") as stream:
                writer = csv.writer(stream, delimiter="," if path.suffix == ".csv" else "\t")
                writer.writerow(["title", "body", "tags"])
                writer.writerows((title, body, tag_field(tags)) for title, body, tags in rows)
        case ".parquet":
            pl.DataFrame(records).write_parquet(path)
        case _:
            marks = (" ".join("__label__" + tag.replace(" ", "-") for tag in tags) for _, _, tags in rows)
            lines = (f"{m} {title} {body}\n" for m, (title, body, _) in zip(marks, rows, strict=True))
            path.write_text("".join(lines))
    return path


FIELDS = ("--text", "title", "--text", "body", "--labels", "tags", "--label-separator", ";")
FORMS = [".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet", ".txt"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with train and test files for every form."""
    made = {}
    for form in FORMS:
        made[form] = tmp_path_factory.mktemp("texts")
        write(made[form] / f"train{form}", RECORDS)
        write(made[form] / f"test{form}", OTHERS)
    return made


@pytest.mark.parametrize("form", FORMS)
def test_every_command_takes_texts_of_every_form(run, folders, tmp_path, form):
    folder, model = folders[form], tmp_path / "model"
    fitted = run("fit", folder, "-o", model, *FIELDS, "--json")
    assert fitted.exit_code == 0, fitted.stderr
    assert json.loads(fitted.stdout)["n_labels"] == len(TAGS)
    names = sorted(TAGS if form != ".txt" else [tag.replace(" ", "-") for tag in TAGS])
    assert lt.load(model).label_names_.tolist() == names

    for data in (folder, folder / f"test{form}"):
        answers = run("predict", model, data, *FIELDS, "-k", 1, "--format", "jsonl")
        best = [json.loads(line)["labels"][0] for line in answers.stdout.splitlines()]
        assert len(best) == 50
        measured = json.loads(run("evaluate", model, data, *FIELDS, "--json").stdout)
        true = [[tag.replace(" ", "-") if form == ".txt" else tag for tag in record["tags"]] for record in OTHERS]
        assert measured["precision"]["1"] == np.mean([label in tags for label, tags in zip(best, true, strict=True)])
        assert measured["precision"]["1"] > 0.9

    tree = tmp_path / "x.tree"
    assert run("tree", "build", folder, "-o", tree, *FIELDS).exit_code == 0
    assert sorted(lt.LabelTree.load(tree).label_names) == names
    again = run("fit", folder, "-o", tmp_path / "again", "--tree", tree, *FIELDS)
    assert again.exit_code == 0, again.stderr
    record = json.loads(run("imbalance", folder, *FIELDS, "--json").stdout)
    assert (record["n_labels"], record["n_points"]) == (5, 200)
    assert run("tree", "compare", folder / f"train{form}", *FIELDS, "--json").exit_code == 0
    inspected = json.loads(run("inspect", model, "--json").stdout)
    assert inspected["takes_texts"]
    assert inspected["has_feature_names"]
    way = json.loads(run("inspect", model, "--label", names[0], "--json").stdout)
    features = [feature["name"] for step in way["trees"][0]["path"] for feature in step["features"]]
    assert any(name.startswith(("word", "also")) for name in features)


def test_the_model_is_the_librarys(run, folders, tmp_path):
    run(
        "fit",
        folders[".jsonl"],
        "-o",
        tmp_path / "model",
        *FIELDS,
        *sets(analyzer="char_wb", ngram_range="2,3"),
    )
    model = lt.load(tmp_path / "model")
    texts = [f"{record['title']} {record['body']}" for record in RECORDS]
    expected = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), sublinear_tf=True, min_df=2, dtype=np.float32)
    X = expected.fit_transform(texts)
    assert model.vectorizer_.vocabulary_ == expected.vocabulary_
    twin = lt.LabelTreeClassifier().fit(X, [record["tags"] for record in RECORDS])
    np.testing.assert_array_equal(model.predict_topk(texts)[1], twin.predict_topk(X)[1])


@pytest.mark.parametrize(
    ("name", "value", "expected"), [("min_df", "3", 3), ("max_df", "0.5", 0.5), ("min_df", "1", 1)]
)
def test_document_frequencies_are_numbers_or_shares(run, folders, tmp_path, name, value, expected):
    run("fit", folders[".jsonl"], "-o", tmp_path / "model", *FIELDS, "--set", f"{name}={value}")
    found = lt.load(tmp_path / "model").vectorizer.get_params()[name]
    assert found == expected
    assert type(found) is type(expected)


def test_features_may_be_hashed(run, folders, tmp_path):
    result = run("fit", folders[".jsonl"], "-o", tmp_path / "model", *FIELDS, *sets(hashing=300), "--json")
    assert json.loads(result.stdout)["n_features"] == 300
    measured = json.loads(run("evaluate", tmp_path / "model", folders[".jsonl"], *FIELDS, "--json").stdout)
    assert measured["precision"]["1"] > 0.9
    assert not json.loads(run("inspect", tmp_path / "model", "--json").stdout)["has_feature_names"]


@pytest.mark.parametrize("form", [".jsonl", ".parquet"])
def test_one_file_is_split_by_a_seed(run, tmp_path, form):
    path, model = write(tmp_path / f"all{form}", RECORDS), tmp_path / "model"
    split = ("--test-share", 0.2, "--seed", 7)
    fitted = json.loads(run("fit", path, "-o", model, *FIELDS, *split, "--json").stdout)
    assert fitted["n_points"] == 160
    assert json.loads(run("evaluate", model, path, *FIELDS, *split, "--json").stdout)["n_points"] == 40
    answers = run("predict", model, path, *FIELDS, *split).stdout.splitlines()
    assert len(answers) == 40
    assert answers != run("predict", model, path, *FIELDS, "--test-share", 0.2, "--seed", 8).stdout.splitlines()
    order = np.random.default_rng(7).permutation(200)
    texts = [f"{RECORDS[row]['title']} {RECORDS[row]['body']}" for row in np.sort(order[:40])]
    best = lt.load(model).predict_topk(texts, 1)[0][:, 0].tolist()
    assert [line.split("\t")[0] for line in answers] == best


def test_a_file_in_xmc_form_is_split_too(run, data_folder, tmp_path):
    path = data_folder / "train.txt.xz"
    split = ("--test-share", 0.25, "--seed", 3)
    fitted = json.loads(run("fit", path, "-o", tmp_path / "model", *split, "--json").stdout)
    assert fitted["n_points"] == 150
    assert len(run("predict", tmp_path / "model", path, *split).stdout.splitlines()) == 50
    train, test = (lt.read_data(path, part, test_share=0.25, random_state=3) for part in ("train", "test"))
    whole = lt.read_data(path)
    rows = np.sort(np.random.default_rng(3).permutation(200)[:50])
    assert (test.X != whole.X[rows]).nnz == 0
    assert train.n_points == 150


def test_both_parts_of_texts_share_features_and_labels(folders):
    train, test = lt.read_data(folders[".jsonl"], text=["title", "body"], labels="tags")
    assert train.label_names.tolist() == test.label_names.tolist()
    assert train.feature_names.tolist() == test.feature_names.tolist()
    assert test.n_points == 50


def test_texts_without_labels_are_answered_a_line_each(run, folders, tmp_path):
    run("fit", folders[".jsonl"], "-o", tmp_path / "model", *FIELDS)
    for name, content, options in (
        ("new.csv", "title,body\nword0,also0\n,\nq,word2\n", FIELDS),
        (
            "new.jsonl",
            '{"title": "a", "body": "word0"}\n{"title": "", "body": ""}\n{"title": "b", "body": "x"}\n',
            FIELDS,
        ),
        ("new.ft", "word0 also0\n\nword2\n", ()),
        ("new", "word0 also0\n\nword2\n", ("--data-format", "fasttext")),
    ):
        path = tmp_path / name
        path.write_text(content)
        result = run("predict", tmp_path / "model", path, *options)
        assert len(result.stdout.splitlines()) == 3
        assert f"{path}: 1 of 3 texts is empty; it is kept" in result.stderr


def test_labels_the_model_does_not_know_count_as_not_found(run, folders, tmp_path):
    run("fit", folders[".jsonl"], "-o", tmp_path / "model", *FIELDS)
    known = write(tmp_path / "known.jsonl", OTHERS)
    more = write(tmp_path / "more.jsonl", [{**record, "tags": [*record["tags"], "unknown"]} for record in OTHERS])
    first = json.loads(run("evaluate", tmp_path / "model", known, *FIELDS, "--json").stdout)
    result = run("evaluate", tmp_path / "model", more, *FIELDS, "--json")
    assert "the model does not know 1 label, such as 'unknown'" in result.stderr
    second = json.loads(result.stdout)
    assert second["precision"]["1"] == first["precision"]["1"]
    assert second["ndcg"]["5"] < first["ndcg"]["5"]


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "tree", "imbalance"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv: the file is empty; it must have a header"),
        ("a.csv", b"text,labels\nred,x\nred\n", "a.csv, line 3: 1 fields, but the header has 2"),
        ("a.csv", b"title,labels\nred,x\n", "a.csv, line 1: no column 'text'"),
        ("a.csv", b"text,labels\n\xff\xfe,x\n", "a.csv, line 2: not UTF-8 text"),
        ("a.jsonl", b'{"text": "a", "labels": ["b"]}\n{"text"\n', "a.jsonl, line 2: not a line of JSON"),
        ("a.jsonl.gz", b"no gzip", "a.jsonl.gz: the compressed file is damaged"),
        ("a.parquet", b"", "a.parquet: cannot be read as Parquet"),
    ],
)
def test_bad_texts_give_one_line(run, text_model, tmp_path, command, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    arguments = {
        "fit": ("fit", path, "-o", tmp_path / "model"),
        "predict": ("predict", text_model, path),
        "evaluate": ("evaluate", text_model, path),
        "tree": ("tree", "build", path, "-o", tmp_path / "tree"),
        "imbalance": ("imbalance", path),
    }[command]
    result = run("-q", *arguments)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"Error: {tmp_path}/{message}")
    assert len(result.stderr.splitlines()) == 1


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("text-model") / "model"
    lt.LabelTreeClassifier().fit(["red cat", "red dog", "red cat"], [["cat"], ["dog"], ["cat"]]).save(path)
    return path


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_of_features_refuses_texts(run, model_folder, tmp_path, command):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "labels": ["b"]}\n')
    result = run("-q", command, model_folder, path)
    assert result.exit_code == 2
    assert "contains texts, but the model was trained on features and cannot read texts" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--test-share", 0.5), "already has a test part; --test-share is for a single file"),
        (("--label-names", "labels.txt"), "leave out --label-names and --feature-names"),
        (("--label-separator", '"'), "--label-separator must be"),
        (sets(analyzer="char", ngram_range="3,2"), "--set ngram_range must be a pair"),
        (sets(min_df="some"), "neither a whole number nor a share"),
        (sets(hashing=10, min_df=5), "--set min_df must be 1 with hashing"),
    ],
)
def test_options_that_make_no_sense_are_refused(run, folders, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.txt").write_text("one\n")
    result = run("-q", "fit", folders[".jsonl"], "-o", tmp_path / "model", *FIELDS[:6], *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_split_must_leave_both_parts(run, tmp_path):
    path = write(tmp_path / "a.jsonl", RECORDS[:3])
    result = run("-q", "fit", path, "-o", tmp_path / "model", *FIELDS, "--test-share", 0.1)
    assert "--test-share 0.1 leaves no test part of 3 points" in result.stderr


POINTS = [("brown rice", ["rice"]), ("white rice", ["rice"]), ("green tea", ["tea"]), ("black tea", ["tea"])] * 2


@pytest.fixture
def texts_file(tmp_path):
    path = tmp_path / "points.jsonl"
    path.write_text("".join(json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in POINTS))
    return path


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_of_features(run, texts_file, tmp_path, preset):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", preset)
    assert result.exit_code == 0, result.output
    model = lt.load(tmp_path / "model")
    assert model.predict_topk(["brown rice"], 1)[0].tolist() == [["rice"]]
    expected = lt.LabelTreeClassifier(vectorizer=lt.data.tfidf.preset_vectorizer(preset))
    texts, labels = zip(*POINTS, strict=True)
    assert model.n_features_in_ == expected.fit(list(texts), list(labels)).n_features_in_


def test_a_preset_goes_with_other_options(run, texts_file, tmp_path):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", "words+chars", *sets(min_df=4))
    assert result.exit_code == 0, result.output
    names = lt.load(tmp_path / "model").vectorizer_.get_feature_names_out().tolist()
    assert "word__rice" in names
    assert "word__brown" not in names


def test_a_preset_says_which_terms_to_use(run, texts_file, tmp_path):
    result = run("fit", texts_file, "-o", tmp_path / "model", "--features", "chars", *sets(ngram_range="1,2"))
    assert result.exit_code == 2
    assert "--set ngram_range cannot be combined with --features" in result.stderr


def test_texts_of_labels(run, texts_file, tmp_path):
    (tmp_path / "labels.tsv").write_text("rice\tRice and grains\ncocoa\tblack cocoa\n")
    options = (
        "--label-texts",
        tmp_path / "labels.tsv",
        *sets(label_text_points="all", label_text_weight=0.5),
    )
    result = run("fit", texts_file, "-o", tmp_path / "model", *options)
    assert result.exit_code == 0, result.output
    model = lt.load(tmp_path / "model")
    assert model.classes_.tolist() == ["rice", "tea", "cocoa"]
    assert model.label_texts_.lists() == [["Rice and grains"], [], ["black cocoa"]]
    assert model.label_texts == {"points": "all", "weight": 0.5}


def test_texts_of_labels_need_names(run, tmp_path):
    (tmp_path / "labels.tsv").write_text("rice\tRice and grains\n")
    (tmp_path / "points.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    result = run("fit", tmp_path / "points.txt", "-o", tmp_path / "model", "--label-texts", tmp_path / "labels.tsv")
    assert result.exit_code == 2
    assert "give --label-names" in result.stderr


TEA, MILK = "http://x.example/tea", "http://x.example/milk"
TEXTS = ["black tea in a cup", "green tea", "milk of cows", "fresh milk", "tea with milk"] * 4
LABELS = [[TEA], [TEA], [MILK], [MILK], [TEA, MILK]] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("annif")
    lines = [f"{text}\t{' '.join(f'<{uri}>' for uri in uris)}\n" for text, uris in zip(TEXTS, LABELS, strict=True)]
    (folder / "corpus.tsv").write_text("".join(lines))
    (folder / "names.csv").write_text(f"uri,label_en,label_fi\n{TEA},tea,tee\n{MILK},milk,maito\n")
    documents = folder / "documents"
    for part in ("train", "test"):
        (documents / part).mkdir(parents=True)
        for number, (text, uris) in enumerate(zip(TEXTS, LABELS, strict=True)):
            (documents / part / f"{number:02}.txt").write_text(text)
            (documents / part / f"{number:02}.tsv").write_text("".join(f"<{uri}>\tname\n" for uri in uris))
    return folder


@pytest.fixture(scope="module")
def model(folder):
    lt.LabelTreeClassifier().fit(TEXTS, LABELS).save(folder / "plain.model")
    return folder / "plain.model"


def test_fit_keeps_uris_as_labels_and_names_as_texts(run, folder):
    run(
        "fit", folder / "corpus.tsv", "-o", folder / "a.model", "--vocabulary", folder / "names.csv", "--language", "fi"
    )
    model = lt.load(folder / "a.model")
    assert model.classes_.tolist() == [MILK, TEA]
    assert model.label_texts_.lists() == [["maito"], ["tee"]]
    shown = run("predict", folder / "a.model", "--ask", "green tea", "-k", "1", "--with-texts").stdout
    assert shown.split("\t")[:2] == [TEA, "tee"]


def test_predict_shows_names_of_a_vocabulary(run, folder, model):
    options = ("--vocabulary", folder / "names.csv", "--language", "en")
    shown = run("predict", model, "--ask", "fresh milk", "-k", "2", *options, "--format", "jsonl").stdout
    record = json.loads(shown)
    assert record["labels"] == [MILK, TEA]
    assert record["texts"] == ["milk", "tea"]
    plain = json.loads(run("predict", model, "--ask", "fresh milk", "-k", "2", "--format", "jsonl").stdout)
    assert plain == {name: record[name] for name in ("labels", "scores")}


def test_missing_texts_and_languages_are_named(run, folder, model):
    failed = run("predict", model, "--ask", "tea", "--with-texts")
    assert "give them with --vocabulary FILE" in failed.stderr
    failed = run("predict", model, "--ask", "tea", "--vocabulary", folder / "names.csv")
    assert "has labels in en, fi; choose one, such as --language en" in failed.stderr


def test_a_folder_of_documents_has_a_train_and_a_test_part(run, folder):
    run("fit", folder / "documents", "-o", folder / "b.model")
    assert lt.load(folder / "b.model").n_points_ == len(TEXTS)
    record = json.loads(run("evaluate", folder / "b.model", folder / "documents", "--json").stdout)
    assert record["n_points"] == len(TEXTS)
    one = folder / "documents" / "train"
    run("fit", one, "-o", folder / "c.model", "--test-share", "0.25")
    assert lt.load(folder / "c.model").n_points_ == 15


def test_evaluate_writes_a_row_per_label(run, folder, model):
    options = ("--vocabulary", folder / "names.csv", "--language", "en", "--label-results", folder / "labels.tsv")
    run("evaluate", model, folder / "corpus.tsv", *options)
    with open(folder / "labels.tsv", newline="") as file:
        rows = {row["label"]: row for row in csv.DictReader(file, delimiter="\t")}
    # Both labels are returned for each of the 20 points, and each is true for 12 of them.
    for uri, text in ((TEA, "tea"), (MILK, "milk")):
        assert rows[uri] == {
            "label": uri,
            "text": text,
            "true": "12",
            "returned": "20",
            "correct": "12",
            "precision": "0.6000",
            "recall": "1.0000",
            "f1": "0.7500",
        }
