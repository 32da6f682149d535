"""The text model on the command line: fit-text, the commands about models, and fastText's files."""

import gzip
import inspect
import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import TextLabelTreeClassifier
from labeltrees.cli.fit import fit
from labeltrees.data.texts import split_rows
from labeltrees.models.text.searcher import TextSearcher

LEFT_OUT = {"tree", "k", "threshold", "verbose"}  # --tree takes names and files
TAGS = ["rice", "bread", "tea", "salt", "oil"]
FIT = ("fit", "--model", "text")
QUICK = ("--set", "dim=8", "--set", "epochs=5", "--jobs", 1)


def make_points(n, seed):
    """Texts and their tags, the first of which are the most frequent."""
    rng = np.random.default_rng(seed)
    chance = np.array([0.4, 0.25, 0.15, 0.12, 0.08])
    tags = [rng.choice(5, size=rng.integers(1, 3), replace=False, p=chance).tolist() for _ in range(n)]
    texts = [f"question {i % 7} " + " ".join(f"word{tag} also{tag}" for tag in some) for i, some in enumerate(tags)]
    return texts, [[TAGS[tag] for tag in some] for some in tags]


TRAIN, TEST = make_points(200, seed=0), make_points(40, seed=1)


def as_jsonl(texts, labels, **columns):
    keys = ("text", "labels", *columns)
    rows = zip(texts, labels, *columns.values(), strict=True)
    return "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows)


def as_fasttext(texts, tags):
    lines = zip((" ".join("__label__" + tag for tag in some) for some in tags), texts, strict=True)
    return "".join(f"{marks} {text}\n" for marks, text in lines)


def small(**parameters):
    return TextLabelTreeClassifier(**{"dim": 8, "epochs": 5, "n_jobs": 1, **parameters})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with train.jsonl and test.jsonl."""
    made = tmp_path_factory.mktemp("texts")
    (made / "train.jsonl").write_text(as_jsonl(*TRAIN))
    (made / "test.jsonl").write_text(as_jsonl(*TEST))
    return made


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """A file in fastText's form."""
    path = tmp_path_factory.mktemp("lines") / "train.txt"
    path.write_text(as_fasttext(*TRAIN))
    return path


@pytest.fixture(scope="module")
def text_model(tmp_path_factory):
    """A model that the library has trained and saved."""
    path = tmp_path_factory.mktemp("model") / "text.model"
    small().fit(*TRAIN).save(path)
    return path


def assert_same_answers(folder, expected):
    model = lt.load(folder, verify=True)
    assert model.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_array_equal(model.predict_scores(TEST[0]).toarray(), expected.predict_scores(TEST[0]).toarray())


# Training.


def test_every_parameter_has_an_option_or_is_set_with_its_default():
    options = {parameter.name: parameter.default for parameter in fit.params}
    defaults = {name: own.default for name, own in fit.settable.items()} | options
    for name, parameter in inspect.signature(TextLabelTreeClassifier).parameters.items():
        if name not in LEFT_OUT:
            assert defaults[name] == (-1 if name == "n_jobs" else parameter.default)


def test_it_saves_the_model_the_library_trains(run, folder, tmp_path):
    settings = {"tradeoff": 1.5, "dim": 12, "lr": 0.3, "epochs": 3, "min_count": 1, "word_ngrams": 1, "min_n": 2}
    settings |= {"max_n": 3, "buckets": 500}
    tree = {"smoothing": 0.2, "cover": "greedy", "cover_softness": 0.5}
    given = [part for name, value in {**settings, **tree}.items() for part in ("--set", f"{name}={value}")]
    result = run(*FIT, folder, "-o", tmp_path / "model", *given, "--set", "path=direct", "--seed", 3, "--jobs", 1)
    assert result.exit_code == 0, result.stderr
    expected = small(**settings, tree=lt.TreeBuilder(**tree, path="direct"), random_state=3)
    assert_same_answers(tmp_path / "model", expected.fit(*TRAIN))
    kept = lt.load(tmp_path / "model").get_params()
    assert kept == {**expected.get_params(), "n_jobs": None}


@pytest.mark.parametrize("shuffle", [True, False])
def test_lines_are_shuffled_unless_the_user_says_no(run, lines, tmp_path, shuffle):
    result = run(*FIT, lines, "-o", tmp_path / "model", *QUICK, "--set", f"shuffle={str(shuffle).lower()}")
    assert result.exit_code == 0, result.stderr
    assert_same_answers(tmp_path / "model", small(shuffle=shuffle).fit_file(lines))
    assert lt.load(tmp_path / "model").shuffle is shuffle
    assert "shuffle  " in run(*FIT, "--help-all").stdout


def test_a_plain_file_of_fasttext_is_streamed(run, lines, tmp_path, monkeypatch):
    expected = small().fit_file(lines)
    monkeypatch.setattr(TextLabelTreeClassifier, "fit", lambda *_, **__: pytest.fail("the texts are held"))
    result = run(*FIT, lines, "-o", tmp_path / "model", *QUICK)
    assert result.exit_code == 0, result.stderr
    assert "Reading data" not in result.stderr
    assert_same_answers(tmp_path / "model", expected)


def test_a_compressed_or_split_file_of_fasttext_is_read_whole(run, lines, tmp_path):
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes()))
    assert run(*FIT, packed, "-o", tmp_path / "packed", *QUICK).exit_code == 0
    assert_same_answers(tmp_path / "packed", small().fit(*TRAIN))
    assert run(*FIT, lines, "-o", tmp_path / "part", *QUICK, "--test-share", 0.2, "--seed", 7).exit_code == 0
    rows, _ = split_rows(200, 0.2, 7)
    part = ([column[row] for row in rows] for column in TRAIN)
    assert_same_answers(tmp_path / "part", small(random_state=7).fit(*part))


def test_weights_of_points_count(run, tmp_path):
    weights = [1.0 + i % 3 for i in range(200)]
    (tmp_path / "train.jsonl").write_text(as_jsonl(*TRAIN, w=weights))
    assert run(*FIT, tmp_path, "-o", tmp_path / "model", *QUICK, "--weight", "w").exit_code == 0
    assert_same_answers(tmp_path / "model", small().fit(*TRAIN, sample_weight=weights))


@pytest.mark.parametrize("name", ["huffman", "fano", "semantic_huffman", "random"])
def test_a_tree_by_name(run, folder, tmp_path, name):
    assert run(*FIT, folder, "-o", tmp_path / "model", *QUICK, "--tree", name).exit_code == 0
    assert lt.load(tmp_path / "model").tree == name
    assert_same_answers(tmp_path / "model", small(tree=name).fit(*TRAIN))


def test_a_tree_from_a_file(run, folder, tmp_path):
    tree = tmp_path / "binary.tree"
    assert run("tree", "build", folder, "-o", tree, "--fanout", 2, "--tradeoff", 0).exit_code == 0
    result = run(*FIT, folder, "-o", tmp_path / "model", *QUICK, "--tree", tree)
    assert result.exit_code == 0, result.stderr
    assert_same_answers(tmp_path / "model", small(tree=lt.LabelTree.load(tree)).fit(*TRAIN))
    run("tree", "build", folder, "-o", tree, "--fanout", 5)
    wide = run(*FIT, folder, "-o", tmp_path / "model", *QUICK, "--tree", tree)
    assert wide.exit_code == 2
    assert "tree must be a binary LabelTree" in wide.stderr


def test_the_summary(run, folder, tmp_path):
    result = run(*FIT, folder, "-o", tmp_path / "model", *QUICK)
    assert f"5 labels, 200 points -> {tmp_path / 'model'}" in result.stdout
    for expected in ("time", "words", "loss", "weights", "size on disk", "expected depth"):
        assert expected in result.stdout
    assert "Training vectors" in result.stderr
    assert run("-q", *FIT, folder, "-o", tmp_path / "model", *QUICK).stderr == ""


def test_the_summary_as_json(run, folder, tmp_path):
    record = json.loads(run(*FIT, folder, "-o", tmp_path / "model", *QUICK, "--json").stdout)
    model = lt.load(tmp_path / "model")
    store = model.searcher_.store
    assert (record["n_points"], record["n_labels"], record["n_words"]) == (200, 5, store.n_words)
    assert record["n_weights"] == 8 * (record["n_words"] + record["n_ngrams"] + model.tree_.n_nodes)
    assert record["disk_bytes"] == sum(path.stat().st_size for path in (tmp_path / "model").iterdir())
    assert (record["loss"], record["parameters"]["dim"]) == (model.stats_["loss"], 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tradeoff", 3), "tradeoff must be a number in [0, 2], got 3.0"),
        (("--set", "dim=0"), "dim must be an integer"),
        (("--set", "lr=-1"), "lr must be a number"),
        (("--jobs", 0), "--jobs must be a non-zero integer, got 0"),
        (("--tree", "huffman", "--tradeoff", 1), "--tradeoff cannot be combined with --tree"),
        (("--tree", "elm"), "'elm' is neither one of huffman, fano, semantic_huffman, random nor a file"),
        (("-o", "missing/model"), "missing/model: its folder does not exist"),
        (("-o", "DATA"), "exists and is not a saved model"),
    ],
)
def test_impossible_values_are_refused_before_the_data_is_read(run, folder, tmp_path, options, message):
    places = {"DATA": folder}
    result = run(*FIT, folder, "-o", tmp_path / "model", *(places.get(option, option) for option in options))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Reading" not in result.stderr
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "content", "options", "exit_code", "message"),
    [
        ("x.txt", "1 3 2\n0 0:1\n", (), 2, "x.txt: not a file of texts; train on features without --model text"),
        ("x.ft", "no label here\n", (), 3, "x.ft: no line has a label"),
        ("x.ft", "__label__a one\n", ("--set", "word_ngrams=1"), 2, "no word occurs 2 times"),
        ("x.ft", "__label__a one one\n", ("--weight", "w"), 3, "fastText's format has no field for weights"),
        ("x.jsonl", '{"text": "one one"}\n', (), 3, "x.jsonl, line 1"),
        ("x.jsonl", '{"text": "one", "labels": ["a"]}\n', ("--set", "word_ngrams=1"), 2, "no word occurs 2 times"),
    ],
)
def test_bad_data_is_one_line(run, tmp_path, name, content, options, exit_code, message):
    (tmp_path / name).write_text(content)
    result = run("-q", *FIT, tmp_path / name, "-o", tmp_path / "model", *QUICK, *options)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "model").exists()


# Answering.


def test_predict_prints_the_answers_of_the_library(run, text_model, folder):
    answers = run("predict", text_model, folder, "-k", 3, "--format", "jsonl").stdout.splitlines()
    labels, scores = lt.load(text_model).predict_topk(TEST[0], k=3)
    assert [json.loads(line)["labels"] for line in answers] == labels.tolist()
    np.testing.assert_allclose([json.loads(line)["scores"] for line in answers], scores, rtol=1e-5)


def test_predict_streams_blocks(run, text_model, tmp_path, monkeypatch):
    search, asked = TextSearcher.topk, []

    def topk(self, texts, *arguments, **options):
        asked.append(texts.shape[0])
        return search(self, texts, *arguments, **options)

    expected = lt.load(text_model).predict_topk(TEST[0], k=1)[0][:, 0].tolist()
    monkeypatch.setattr("labeltrees.data.texts.read_blocks.__defaults__", (15,))
    monkeypatch.setattr(TextSearcher, "topk", topk)
    (tmp_path / "new.ft").write_text("".join(text + "\n" for text in TEST[0]))
    answers = run("predict", text_model, tmp_path / "new.ft", "-k", 1).stdout.splitlines()
    assert asked == [15, 15, 10]
    assert [line.split("\t")[0] for line in answers] == expected


def test_candidates(run, text_model, folder, tmp_path):
    (tmp_path / "allowed.txt").write_text("tea\noil\n")
    lines = run("predict", text_model, folder, "--candidates", tmp_path / "allowed.txt").stdout.splitlines()
    labels, _ = lt.load(text_model).predict_topk(TEST[0], k=2, candidates=["tea", "oil"])
    assert [line.split("\t")[::2] for line in lines] == labels.tolist()
    (tmp_path / "allowed.txt").write_text("tee\n")
    result = run("predict", text_model, folder, "--candidates", tmp_path / "allowed.txt")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "the model has no label 'tee'" in result.stderr


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_beams_and_features_are_refused(run, text_model, folder, data_folder, command):
    result = run("-q", command, text_model, folder, "--beam", "none")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--beam cannot be combined with a TextLabelTreeClassifier: its search is always exact" in result.stderr
    result = run("-q", command, text_model, data_folder)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "has 30 features per point, but a TextLabelTreeClassifier needs texts" in result.stderr


def test_evaluate_has_the_values_of_the_metrics(run, text_model, folder):
    model = lt.load(text_model)
    record = json.loads(run("evaluate", text_model, folder, "--json").stdout)
    result = model.predict_topk(TEST[0], k=5, return_stats=True)
    places = {name: label for label, name in enumerate(model.classes_)}
    ids = np.array([[places[name] for name in row] for row in result[0]])
    Y, Y_train = (
        np.array([[name in tags for name in model.classes_] for tags in labels], int) for _, labels in (TEST, TRAIN)
    )
    for k in (1, 3, 5):
        assert record["precision"][str(k)] == lt.metrics.precision_at_k(Y, ids, k)
        assert record["ndcg"][str(k)] == lt.metrics.ndcg_at_k(Y, ids, k)
        assert record["psp"][str(k)] == lt.metrics.psp_at_k(Y, ids, k, Y_train=Y_train)
        assert record["expected_depth"][str(k)] == lt.metrics.expected_depth_at_k(model.tree_, ids, k)
    assert record["precision"]["1"] == model.score(*TEST)
    assert record["nodes"] == result[2].chunks.mean()
    assert (record["single_calls"], record["n_points"], record["beam"]) == (40, 40, None)
    assert 0 < record["microseconds"]["p50"] <= record["microseconds"]["p99"]
    assert not {"chunks", "classifiers"} & set(record)


def test_the_table_of_evaluate(run, text_model, folder):
    output = run("evaluate", text_model, folder).stdout
    for expected in ("P (%)", "PSP (%)", "expected depth", "search for 5 labels", "nodes evaluated per point"):
        assert expected in output
    assert "chunks" not in output


def test_labels_that_the_model_does_not_know_count_as_missed(run, text_model, tmp_path):
    (tmp_path / "new.jsonl").write_text(as_jsonl(["word0"], [["pepper"]]))
    result = run("evaluate", text_model, tmp_path / "new.jsonl", "--json")
    assert json.loads(result.stdout)["precision"]["1"] == 0
    assert "the model does not know 1 label, such as 'pepper'" in result.stderr


# Looking.


def test_inspect(run, text_model):
    output = run("inspect", text_model, "--verify").stdout
    words = lt.load(text_model).searcher_.store.n_words
    assert f"5 labels and {words} words, trained on 200 points, with label names; takes texts" in output
    assert ["dim", "8"] in [line.split() for line in output.splitlines()]
    record = json.loads(run("inspect", text_model, "--json").stdout)
    assert record["files"] == {path.name: path.stat().st_size for path in text_model.iterdir()}
    assert record["disk_bytes"] == sum(record["files"].values())
    assert (record["takes_texts"], record["has_feature_names"]) == (True, False)
    assert record["trees"][0]["height"] == lt.load(text_model).tree_.height


def test_the_path_to_a_label(run, text_model):
    tree, label = lt.load(text_model).tree_, sorted(TAGS).index("tea")
    record = json.loads(run("inspect", text_model, "--label", "tea", "--json").stdout)
    assert (record["label"], record["name"]) == (label, "tea")
    assert record["n_points"] == sum("tea" in tags for tags in TRAIN[1])
    assert record["trees"][0]["depth"] == tree.label_depth[label]
    assert [step["node"] for step in record["trees"][0]["path"]] == tree.path(label).tolist()
    lines = run("inspect", text_model, "--label", "tea").stdout.splitlines()
    assert lines[1] == f"depth {tree.label_depth[label]}"
    assert len(lines) == 2 + tree.label_depth[label]
    assert lines[-1].endswith("-> tea")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "tee"), "no label 'tee'; did you mean 'tea'"),
        (("--label", "tea", "--features", 3), "--features cannot be combined with a TextLabelTreeClassifier"),
    ],
)
def test_inspect_refuses_options_it_cannot_show(run, text_model, options, message):
    result = run("inspect", text_model, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


# fastText's files.


def test_to_fasttext_and_back(run, text_model, folder, tmp_path):
    exported = run("convert", text_model, "-o", tmp_path / "model.bin")
    assert exported.exit_code == 0, exported.stderr
    assert exported.stdout == f"5 labels -> {tmp_path / 'model.bin'}\n"
    assert (tmp_path / "model.bin.label_counts.tsv").exists()
    assert run("convert", tmp_path / "model.bin", "-o", tmp_path / "back").exit_code == 0
    assert run("predict", tmp_path / "back", folder).stdout == run("predict", text_model, folder).stdout
    # How many points a model was trained on is not in fastText's file.
    record = json.loads(run("inspect", tmp_path / "back", "--json").stdout)
    assert record["n_points"] is None
    assert "trained on" not in run("inspect", tmp_path / "back").stdout
    assert json.loads(run("evaluate", tmp_path / "back", folder, "--json").stdout)["psp"]["1"] is None


def test_models_that_fasttext_cannot_hold_are_refused(run, model_folder, text_model, tmp_path):
    result = run("convert", model_folder, "-o", tmp_path / "model.bin")
    assert result.exit_code == 2
    assert (
        "a LabelTreeClassifier; only models of labeltrees fit --model text can be exported to fastText" in result.stderr
    )
    result = run("convert", text_model, "-o", tmp_path / "missing" / "model.bin")
    assert result.exit_code == 2
    assert "its folder does not exist" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [0, 10, -100])
def test_a_damaged_file_of_fasttext_is_one_line(run, text_model, tmp_path, cut):
    run("convert", text_model, "-o", tmp_path / "model.bin")
    (tmp_path / "cut.bin").write_bytes((tmp_path / "model.bin").read_bytes()[:cut])
    result = run("-q", "convert", tmp_path / "cut.bin", "-o", tmp_path / "back")
    assert result.exit_code == 3
    assert "cut.bin: " in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "back").exists()


def test_an_import_takes_no_other_folder_away(run, text_model, folder, tmp_path):
    run("convert", text_model, "-o", tmp_path / "model.bin")
    result = run("convert", tmp_path / "model.bin", "-o", folder)
    assert result.exit_code == 2
    assert "exists and is not a saved model" in result.stderr
    assert (folder / "train.jsonl").exists()
