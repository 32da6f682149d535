"""Real Annif uses a model through its http backend.

Set LABELTREES_ANNIF to the command `annif` of a virtual environment with Annif (pip install annif) to run this.
"""

import os
import re
import subprocess

import pytest

import labeltrees as lt
from tests.serving.conftest import WORDS, make_texts

ANNIF = os.environ.get("LABELTREES_ANNIF")
pytestmark = pytest.mark.skipif(ANNIF is None, reason="LABELTREES_ANNIF does not name the command annif")


def uri(name):
    return f"http://vocabulary.example/{name}"


@pytest.fixture(scope="module")
def project(start_server, tmp_path_factory):
    """A folder where Annif has the project fruit, and a function that runs Annif there."""
    folder = tmp_path_factory.mktemp("annif")
    texts, labels = make_texts()
    model = lt.LabelTreeClassifier(n_jobs=1).fit(texts, [[uri(name) for name in row] for row in labels])
    model.save(folder / "fruit.model")
    vocabulary = folder / "vocabulary.tsv"
    vocabulary.write_text("".join(f"<{uri('is-' + word)}>\tThing that is {word}\n" for word in WORDS))
    server = start_server(folder / "fruit.model", 1, "--label-texts", str(vocabulary))
    endpoint = f"{server.url}/v1/projects/fruit/suggest"
    lines = ["[fruit]", "name=fruit", "language=en", "backend=http", f"endpoint={endpoint}", "vocab=things"]
    (folder / "projects.cfg").write_text("\n".join(lines) + "\n")

    def annif(*arguments, text=None):
        done = subprocess.run(
            [ANNIF, *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    annif("load-vocab", "things", "--language", "en", str(vocabulary))
    return folder, annif, model


def test_annif_suggest_prints_the_labels_of_the_model(project):
    _, annif, model = project
    lines = annif("suggest", "fruit", "--limit", "3", text="red apple").splitlines()
    labels, scores = model.predict_topk(["red apple"], 3)
    assert [re.match("<(.*?)>", line)[1] for line in lines] == labels[0].tolist()
    assert [float(line.split("\t")[-1]) for line in lines] == pytest.approx(scores[0].tolist(), abs=1e-3)


def test_annif_eval_measures_the_precision_of_the_model(project):
    folder, annif, model = project
    texts, labels = make_texts(20, seed=7)
    corpus = [
        f"{text}\t{' '.join(f'<{uri(name)}>' for name in row)}\n" for text, row in zip(texts, labels, strict=True)
    ]
    (folder / "test.tsv").write_text("".join(corpus))
    printed = annif("eval", "fruit", "--limit", "5", str(folder / "test.tsv"))
    found = float(re.search(r"Precision@1:\s+([\d.]+)", printed)[1])
    best = model.predict_topk(texts, 1)[0][:, 0]
    expected = sum(one in [uri(name) for name in row] for one, row in zip(best, labels, strict=True)) / len(texts)
    assert found == pytest.approx(expected, abs=1e-3)
