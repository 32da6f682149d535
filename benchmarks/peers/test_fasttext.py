"""fastText 0.9.3 loads our files and we load its files: `python -m pytest -m peers benchmarks/peers`."""

import json
from pathlib import Path

import numpy as np
import pytest

import labeltrees as lt
from benchmarks.peers.environment import run_in_peers

INSIDE = Path(__file__).with_name("fasttext_inside.py")
pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Write the bundled set as a training file; return the file and the test texts."""
    folder = tmp_path_factory.mktemp("texts")
    train, test = lt.datasets.load_debian()
    lines = []
    for text, row in zip(train.texts, range(train.n_points), strict=True):
        labels = [f"__label__{train.label_names[label]}" for label in train.Y[[row]].indices]
        lines.append(" ".join([*labels, *text.split()]))
    (folder / "train.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "train.txt", [" ".join(text.split()) for text in test.texts]


def fasttext_answers(model, texts, folder):
    (folder / "texts.json").write_text(json.dumps(texts))
    run_in_peers(INSIDE, "answer", model, folder / "texts.json", folder / "answers.json")
    return json.loads((folder / "answers.json").read_text())


def check_agreement(model, answers, texts):
    """Check that scores differ by at most 1e-5 and lists are equal, except for ties."""
    labels, scores = model.predict_topk(texts, 5)
    same = 0
    for (theirs, probabilities), names, ours in zip(answers, labels, scores, strict=True):
        np.testing.assert_allclose(ours[: len(probabilities)], np.minimum(probabilities, 1.0), atol=1e-5)
        same += [label.removeprefix("__label__") for label in theirs] == [name for name in names if name is not None]
    assert same >= 0.99 * len(texts)


@pytest.mark.parametrize(
    "options",
    [
        {"tradeoff": 0.0},
        {"tradeoff": 1.0},
        {"tradeoff": 1.5, "word_ngrams": 3, "min_n": 2, "max_n": 4},
        {"tree": "huffman", "word_ngrams": 1},
        {"tree": "fano"},
        {"tree": "random"},
    ],
)
def test_fasttext_predicts_the_same_from_our_file(texts, tmp_path, options):
    file, queries = texts
    model = lt.TextLabelTreeClassifier(dim=24, epochs=3, buckets=50_000, n_jobs=2, **options).fit_file(file)
    model.export_fasttext(tmp_path / "model.bin")
    check_agreement(model, fasttext_answers(tmp_path / "model.bin", queries, tmp_path), queries)


@pytest.mark.parametrize("arguments", [{"wordNgrams": 2, "bucket": 50_000}, {"wordNgrams": 1, "minn": 3, "maxn": 4}])
def test_we_predict_the_same_from_fasttexts_file(texts, tmp_path, arguments):
    file, queries = texts
    given = {"dim": 20, "epoch": 2, "lr": 0.5, "minCount": 2, "thread": 10, "bucket": 20_000, **arguments}
    (tmp_path / "arguments.json").write_text(json.dumps(given))
    run_in_peers(INSIDE, "train", file, tmp_path / "model.bin", tmp_path / "arguments.json")
    model = lt.TextLabelTreeClassifier.from_fasttext(tmp_path / "model.bin")
    check_agreement(model, fasttext_answers(tmp_path / "model.bin", queries, tmp_path), queries)
