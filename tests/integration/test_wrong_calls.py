"""Wrong calls that new users make: the message says what is wrong, where, and what to do next."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import labeltrees as lt
from labeltrees.cli.main import main
from tests.integration.test_everyday import make_texts, write_csv

TEXTS, LABELS = make_texts(60)


@pytest.fixture(scope="module")
def model():
    return lt.LabelTreeClassifier().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def matrix_model():
    return lt.LabelTreeClassifier().fit(np.eye(6), [[0], [1], [2], [0], [1], [2]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, matrix_model):
    place = tmp_path_factory.mktemp("wrong")
    write_csv(place / "train.csv", TEXTS, LABELS)
    (place / "empty.csv").write_text("")
    (place / "header.csv").write_text("title,tags\n")
    (place / "plain.txt").write_text("red ant\nblue oak\n")
    (place / "broken.jsonl").write_text('{"text": "a"\n')
    (place / "no-labels.jsonl").write_text('{"text": "a"}\n')
    (place / "number.jsonl").write_text('{"text": 3, "labels": ["a"]}\n')
    (place / "label.txt").write_text("animl\n")
    (place / "nothing").mkdir()
    model.save(place / "text.model")
    matrix_model.save(place / "matrix.model")
    lt.LabelTreeClassifier().fit(TEXTS, LABELS).calibrate(TEXTS, LABELS).save(place / "calibrated.model")
    return place


NAN = float("nan")
PYTHON_CALLS = {
    "no labels": (lambda m: lt.LabelTreeClassifier().fit(TEXTS), "pass Y, or one Dataset"),
    "arguments in the wrong order": (
        lambda m: lt.LabelTreeClassifier().fit(LABELS, TEXTS),
        "is it Y, fit.texts, labels.",
    ),
    "one text": (lambda m: m.predict_topk("red ant"), "X must be a sequence of texts"),
    "a missing text": (lambda m: m.predict_topk(["red", None]), r"X\[1\] must be a text.*leave the row out, or fill"),
    "a missing text in training": (
        lambda m: lt.LabelTreeClassifier().fit([NAN, *TEXTS[1:]], LABELS),
        r"X\[0\] must be a text, got nan",
    ),
    "fewer labels than texts": (lambda m: lt.LabelTreeClassifier().fit(TEXTS, LABELS[:-1]), "60 .*59"),
    "a missing label": (
        lambda m: lt.LabelTreeClassifier().fit(TEXTS[:2], ["x", None]),
        r"Y\[1\] must be a label as in the other rows; leave the row out",
    ),
    "labels of two kinds": (
        lambda m: lt.LabelTreeClassifier().fit(TEXTS[:2], [["x"], "y"]),
        r"Y\[1\] must be a list of labels",
    ),
    "continuous labels": (
        lambda m: lt.LabelTreeClassifier().fit(np.eye(2), [0.5, 1.5]),
        r"Y\[0\] = 0.5 is not a class",
    ),
    "a table instead of a column": (
        lambda m: lt.LabelTreeClassifier().fit(pd.DataFrame({"title": TEXTS}), LABELS),
        r"one column of texts, such as table\['title'\]",
    ),
    "texts for a model of features": (lambda m: matrix().predict_topk(["red"]), "or fit on texts"),
    "features for a model of texts": (lambda m: m.predict_topk(np.eye(3)), "features|was fitted on texts"),
    "k of 0": (lambda m: m.predict_topk(["red"], 0), "k must be an integer of at least 1, got 0"),
    "k as text": (lambda m: m.predict_topk(["red"], "5"), "k must be an integer"),
    "an unknown candidate": (
        lambda m: m.predict_topk(["red"], candidates=["animl"]),
        "candidates must be names of labels that the model knows, got 'animl'; did you mean 'animal'",
    ),
    "an unknown exclusion": (lambda m: m.predict_topk(["red"], exclude=["Plants"]), "did you mean 'plant'"),
    "an unknown candidate of a call": (
        lambda m: m.predictor()("red", candidates=["animl"]),
        "did you mean 'animal'.*label_set leaves out",
    ),
    "an unknown weight": (lambda m: m.predict_topk(["red"], label_weight={"animl": 2}), "did you mean 'animal'"),
    "a negative weight": (lambda m: m.predict_topk(["red"], label_weight={"animal": -1}), "label_weight.* -1"),
    "a threshold below 0": (lambda m: m.predict_topk(["red"], threshold=-1), "threshold must be a number"),
    "a threshold above 1": (
        lambda m: lt.LabelTreeClassifier(threshold=3).fit(TEXTS, LABELS),
        r"threshold must be a number in \(0, 1\]",
    ),
    "a misspelt option": (lambda m: m.predict_topk(["red"], treshold=0.5), "did you mean threshold"),
    "a misspelt parameter": (lambda m: lt.LabelTreeClassifier(tradeof=1), "tradeof"),
    "a tradeoff outside": (
        lambda m: lt.LabelTreeClassifier(tradeoff=5).fit(TEXTS, LABELS),
        r"tradeoff must be a number in \[0, 2\], got 5",
    ),
    "unknown features": (
        lambda m: lt.LabelTreeClassifier(vectorizer="bigrams").fit(TEXTS, LABELS),
        "one of 'words', 'words.pieces'",
    ),
    "probabilities without calibration": (lambda m: m.predict_proba(["red"]), r"calibrate\(X, Y\)"),
    "agreement without calibration": (lambda m: m.predict_topk(["red"], agreement=0.9), r"call calibrate\(X\)"),
    "a score without labels": (lambda m: m.score(["red"]), "pass Y, or one Dataset"),
    "a score on a matrix of another width": (
        lambda m: m.score(["red"], sparse.csr_array((1, 7))),
        "7 columns without names, and the model has 3 labels: pass a Dataset",
    ),
    "a Dataset and labels": (lambda m: m.score(lt.Dataset(TEXTS, LABELS), LABELS), "Y must be left out"),
    "labels of another data set": (
        lambda m: m.score(lt.Dataset(["red"], [list("vwxyz")])),
        "knows none of the labels of Y .*; its labels are 'animal'",
    ),
    "a model that is not fitted": (lambda m: lt.LabelTreeClassifier().predict(["red"]), "not fitted yet"),
    "a missing file": (lambda m: lt.read_texts("missing.csv"), "missing.csv: no such file"),
    "a missing model": (lambda m: lt.load("missing.model"), "missing.model: no such folder"),
    "a missing column": (
        lambda m: lt.read_texts(pd.DataFrame({"title": TEXTS, "tags": LABELS}), labels="tags"),
        "no column 'text'; the columns are 'title', 'tags'",
    ),
    "too dense scores": (
        lambda m: matrix().decision_function(sparse.csr_array((2**28, 6), dtype=np.float32)),
        "use predict_scores",
    ),
}


def matrix():
    return lt.LabelTreeClassifier().fit(np.eye(6), [[0], [1], [2], [0], [1], [2]])


@pytest.mark.parametrize("name", PYTHON_CALLS)
def test_a_wrong_call_in_python(name, model):
    call, message = PYTHON_CALLS[name]
    with pytest.raises((ValueError, TypeError, AttributeError), match=message) as caught:
        call(model)
    assert len(str(caught.value)) < 600


COMMANDS = {
    "a wrong column": (
        "fit train.csv -o m",
        "no column 'text'; the columns are 'title', 'tags'; name the columns with --text",
    ),
    "a wrong label column": ("fit train.csv -o m --text title --labels tag", "the columns are 'title', 'tags'"),
    "a misspelt file": ("fit tran.csv -o m", "tran.csv: no such file or folder; did you mean 'train.csv'"),
    "an empty file": ("fit empty.csv -o m", "empty.csv: the file is empty; it must have a header"),
    "a header only": ("fit header.csv -o m --text title --labels tags", "header.csv: the file has no texts"),
    "a plain text": ("fit plain.txt -o m", "--data-format fasttext"),
    "broken JSON": ("fit broken.jsonl -o m", "line 1: not a line of JSON"),
    "no field of labels": ("fit no-labels.jsonl -o m", "'labels' is missing; the fields are 'text'; name the fields"),
    "a number as text": ("fit number.jsonl -o m", "line 1: 'text' is not a string"),
    "an empty folder": ("fit nothing -o m", "no file train*.txt"),
    "a folder that does not exist": ("fit train.csv -o no/m --text title --labels tags", "its folder does not exist"),
    "a calibrated model replaced": (
        "fit train.csv -o calibrated.model --text title --labels tags",
        "has probabilities, which its clients may use.*add --calibrate 0.1",
    ),
    "a share of 2": (
        "fit train.csv -o m --text title --labels tags --calibrate 2",
        "--calibrate must be a number between",
    ),
    "a misspelt model": ("predict text.modl train.csv", "no such model; labeltrees fit and choose write models"),
    "a file as model": ("predict train.csv train.csv", "is a file, not the folder of a model"),
    "data and a question": ("predict text.model train.csv --ask red", "give either DATA or --ask"),
    "probabilities of no calibration": (
        "predict text.model --ask red --proba",
        "run labeltrees calibrate text.model DATA",
    ),
    "an unknown label in a file": ("predict text.model --ask red --exclude label.txt", "did you mean 'animal'"),
    "a question to features": ("predict matrix.model --ask red", "train it on texts"),
    "texts for features": ("evaluate matrix.model train.csv --text title --labels tags", "train a model on texts"),
    "a threshold of 2": ("predict text.model --ask red --threshold 2", r"--threshold must be a number in \[0, 1\]"),
    "a misspelt option": ("fit train.csv -o m --tradeof 1", "--tradeoff"),
    "a misspelt setting": ("fit train.csv -o m --set min_fd=1", "Did you mean min_df"),
    "standard input and a file": ("predict text.model - train.csv", "cannot be combined with other DATA"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_command(name, folder, monkeypatch, capsys):
    command, message = COMMANDS[name]
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["labeltrees", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code not in (0, None)
    lines = capsys.readouterr().err.strip().splitlines()
    shown = " ".join(line.strip() for line in lines)
    if "*" in message and "train*" in message:
        assert message in shown
    else:
        import re

        assert re.search(message, shown), shown
    assert "Traceback" not in shown
    parts = [part.strip() for part in lines[-1].split(";")]
    assert len(parts) == len(set(parts)), "a hint is printed twice"


def test_a_missing_path_is_a_file_not_found_error():
    for call in (lt.load, lt.read_texts, lt.read_data, lt.read_xmc, lt.open_parts, lt.LabelTree.load):
        with pytest.raises(FileNotFoundError):
            call("missing.csv")
