"""What a librarian does: a corpus, a SKOS vocabulary, documents in folders, and Annif's routes."""

import itertools
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.cli.main import cli
from labeltrees.data.label_relations import LabelRelations, Vocabulary
from labeltrees.search.broader import broader_label

pytest.importorskip("pyoxigraph", reason="the extra labeltrees[skos] is not installed")

URI = "http://x.example/"
WORDS = {
    "cats": "cat kitten purr paw",
    "dogs": "dog puppy bone paw",
    "roses": "rose petal thorn bud",
    "oaks": "oak acorn timber bud",
    "paris": "paris seine louvre city",
    "rome": "rome tiber forum city",
}
BROADER = {
    "cats": "animals",
    "dogs": "animals",
    "roses": "plants",
    "oaks": "plants",
    "animals": "life",
    "plants": "life",
}
BROADER |= {"paris": "cities", "rome": "cities"}
CONCEPTS = [*WORDS, "animals", "plants", "life", "cities"]
PLACES = ("paris", "rome", "cities")
HEADER = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix x: <http://x.example/> .
x:things a skos:ConceptScheme ; skos:prefLabel "Things"@en .
x:places a skos:ConceptScheme ; skos:prefLabel "Places"@en, "Paikat"@fi ; skos:hasTopConcept x:cities .
x:pets a skos:Collection ; skos:prefLabel "Pets"@en ; skos:member x:cats, x:dogs .
x:living a skos:Collection ; skos:prefLabel "Living"@en ; skos:member x:pets, x:roses .
"""


def turtle():
    lines = []
    for name in CONCEPTS:
        kind = ", x:Place" if name in PLACES else ""
        scheme = "places" if name in PLACES else "things"
        above = f" ; skos:broader x:{BROADER[name]}" if name in BROADER else ""
        text = f'skos:prefLabel "{name.title()}"@en, "{name}t"@fi'
        lines.append(f"x:{name} a skos:Concept{kind} ; {text} ; skos:inScheme x:{scheme}{above} .\n")
    return HEADER + "".join(lines)


def document(rng, subjects):
    shared = rng.random() < 0.3  # a third of the documents do not say which of two it is
    words = [
        rng.choice(WORDS[name].split()[-1:] if shared else WORDS[name].split()) for name in subjects for _ in "123"
    ]
    return " ".join([*words, *rng.choice("the of a study history old new".split(), 6)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("library")
    (path / "subjects.ttl").write_text(turtle())
    rng = np.random.default_rng(0)

    def subjects():
        return [str(name) for name in rng.choice(list(WORDS), rng.integers(1, 3), replace=False)]

    drawn = [subjects() for _ in range(800)]
    lines = (f"{document(rng, own)}\t{' '.join(f'<{URI}{name}>' for name in own)}\n" for own in drawn)
    (path / "train.tsv").write_text("".join(lines))
    for name, n, with_subjects in (("documents", 60, True), ("plain", 4, False)):
        (path / name).mkdir()
        for number in range(n):
            own = subjects()
            (path / name / f"d{number}.txt").write_text(document(rng, own).replace(" ", "\n", 2))
            if with_subjects:
                (path / name / f"d{number}.tsv").write_text("".join(f"<{URI}{label}>\t{label}\n" for label in own))
    options = ("--vocabulary", path / "subjects.ttl", "--language", "en", "--calibrate", "0.3")
    options += ("--set", "label_text_points=missing")  # labels without points are in the tree
    ask("fit", path / "train.tsv", "-o", path / "m.model", *options)
    return path


def ask(*arguments, stdin=None, fails=False):
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="labeltrees", input=stdin)
    assert (result.exit_code != 0) == fails, result.output
    return result.stderr if fails else result.stdout


# ---- the vocabulary ------------------------------------------------------------------------------------------------


def test_broader_labels_and_sets_of_a_vocabulary(folder):
    found = lt.read_vocabulary(folder / "subjects.ttl", "en")
    assert {name.removeprefix(URI): own for name, own in found.broader.items()} == {
        name: [URI + above] for name, above in BROADER.items()
    }
    expected = {"places": PLACES, "Place": PLACES, "pets": ("cats", "dogs"), "living": ("cats", "dogs", "roses")}
    for name, labels in expected.items():
        assert found.labels_of(URI + name) == found.labels_of(f"<{URI}{name}>") == sorted(URI + own for own in labels)
    assert found.labels_of("Living") == found.labels_of("living") == found.sets[URI + "living"]
    assert found.set_titles[URI + "places"] == "Places"
    assert lt.read_vocabulary(folder / "subjects.ttl", "fi").set_titles[URI + "places"] == "Paikat"
    with pytest.raises(lt.errors.InputError, match=r"no scheme, type or collection 'Plces'.*did you mean 'Places'"):
        lt.read_vocabulary(folder / "subjects.ttl", "en", within="Plces")


def test_concepts_that_are_left_out_are_replaced_by_those_above_them(folder):
    found = lt.read_vocabulary(folder / "subjects.ttl", "en")
    kept = Vocabulary({name: texts for name, texts in found.items() if not name.endswith("animals")}, found.broader)
    assert kept.broader[URI + "cats"] == [URI + "life"]
    assert URI + "life" not in kept.broader


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_relations_survive_files_and_removed_labels(n, seed):
    rng = np.random.default_rng(seed)
    broader = [
        np.flatnonzero(rng.random(n) < 0.25).tolist() for _ in range(n)
    ]  # also cycles, and labels above themselves
    sets = {f"x:{name}": np.flatnonzero(rng.random(n) < 0.5).tolist() for name in "ab"}
    relations = LabelRelations(broader, sets, {"x:a": "A"})
    loaded = LabelRelations.from_arrays(relations.arrays("p."), "p.", n, "somewhere")
    for own in (relations, loaded):
        assert [own.broader(label) for label in range(n)] == broader
        assert own.labels_of("a").tolist() == sets["x:a"]
    reachable = np.zeros((n, n), dtype=bool)
    for label, own in enumerate(broader):
        reachable[label, own] = True
    for middle in range(n):  # Warshall
        reachable |= reachable[:, [middle]] & reachable[[middle]]
    for label in range(n):
        assert sorted(relations.above(label)) == [own for own in np.flatnonzero(reachable[label]) if own != label]
    kept = rng.random(n) < 0.7
    if kept.any():
        smaller = relations.keep_labels(kept, kept)
        new = np.flatnonzero(kept)
        for label, old in enumerate(new.tolist()):
            above = {new[own] for own in smaller.above(label)}
            assert above == {own for own in np.flatnonzero(reachable[old] & kept).tolist() if own != old}


def test_relations_that_are_damaged_are_refused():
    arrays = LabelRelations([[1], []], {"x:a": [0]}, {}).arrays("")
    for name, value in (("broader", 2), ("broader", -1), ("broader_ptr", 5), ("set_labels", 9), ("set_ptr", 7)):
        damaged = {key: array.copy() for key, array in arrays.items()}
        damaged[name][-1] = value
        with pytest.raises(lt.errors.FileFormatError, match="relations of labels are damaged"):
            LabelRelations.from_arrays(damaged, "", 2, "model")
    with pytest.raises(lt.errors.FileFormatError):
        LabelRelations.from_arrays({"broader_ptr": arrays["broader_ptr"]}, "", 2, "model")


# ---- a broader subject if unsure -----------------------------------------------------------------------------------


def brute_force(found, threshold, broader, allowed, n):
    """The rule from its definition, by paths instead of a search."""
    above = {label: set() for label in range(n)}
    for _ in range(n):
        for label in range(n):
            above[label] |= {other for own in broader[label] for other in {own, *above[own]}}
    own = dict(found)
    totals = {}
    for label in set().union(*(above[one] - {one} for one in own)) if own else ():
        total = own.get(label, 0.0) + sum(p for one, p in own.items() if one != label and label in above[one])
        if total >= threshold and label in allowed:
            totals[label] = min(total, 1.0)
    narrow = [
        label
        for label in totals
        if not any(other != label and label in above[other] and other not in above[label] for other in totals)
    ]
    return min(((-totals[label], label) for label in narrow), default=None)


@given(st.integers(2, 9), st.floats(0.1, 1.0), st.integers(0, 2**32 - 1))
def test_the_broader_label_is_that_of_the_definition(n, threshold, seed):
    rng = np.random.default_rng(seed)
    broader = [[own for own in np.flatnonzero(rng.random(n) < 0.3).tolist() if own > label] for label in range(n)]
    found = [(int(label), int(rng.integers(0, 65)) / 128) for label in rng.permutation(n)[: rng.integers(1, n + 1)]]
    allowed = set(np.flatnonzero(rng.random(n) < 0.8).tolist())
    relations = LabelRelations(broader, {}, {})
    chosen = broader_label(found, threshold, relations.above, allowed.__contains__)
    expected = brute_force(found, threshold, broader, allowed, n)
    assert chosen == (None if expected is None else (expected[1], -expected[0]))


def test_unsure_answers_are_broader(folder):
    model = lt.load(folder / "m.model")
    names = model.classes_.tolist()
    texts = ["paw", "paw of the old study", "bud", "city", "paris seine louvre", "qqq"]
    labels, probabilities = model.predict_topk(texts, 10)
    for threshold in (0.3, 0.5, 0.7, 0.9, 0.99):
        plain, plain_scores = model.predict_topk(texts, 3, threshold=threshold)
        got, scores = model.predict_topk(texts, 3, threshold=threshold, broader=True)
        for row, text in enumerate(texts):
            if plain[row, 0] is not None or text == "qqq":
                assert got[row].tolist() == plain[row].tolist()
                assert scores[row].tolist() == plain_scores[row].tolist()
                continue
            found = [
                (names.index(name), float(p)) for name, p in zip(labels[row], probabilities[row], strict=True) if name
            ]
            relations = model.label_relations_
            expected = broader_label(found, threshold, relations.above, lambda label: True)
            assert got[row, 0] == (None if expected is None else names[expected[0]])
            if expected is not None:
                assert scores[row, 0] == pytest.approx(expected[1], rel=1e-6)
    unsure = [text for text in texts if model.predict_topk([text], 1, threshold=0.9)[0][0, 0] is None]
    assert unsure  # otherwise this test shows nothing


def find_unsure(model):
    """Return a text and a threshold for which the answer is a broader label."""
    for text, threshold in itertools.product(
        ["paw", "bud", "city", "paw study", "paw bud"], (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
    ):
        if model.predict_topk([text], 1, threshold=threshold)[0][0, 0] is None:
            label = model.predict_topk([text], 1, threshold=threshold, broader=True)[0][0, 0]
            if label is not None:
                return text, threshold, label
    pytest.fail("no text is unsure")


def test_a_broader_label_must_be_allowed(folder):
    model = lt.load(folder / "m.model")
    text, threshold, label = find_unsure(model)
    for rule in ([label], model.label_set([label])):
        got, _ = model.predict_topk([text], 1, threshold=threshold, broader=True, exclude=rule)
        assert got[0, 0] != label
    others = [name for name in model.classes_ if name != label]
    for rule in (others, model.label_set(others), [others]):
        assert model.predict_topk([text], 1, threshold=threshold, broader=True, candidates=rule)[0][0, 0] != label


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "broader needs threshold"),
        ({"threshold": 0.5, "raw_scores": True}, "cannot be combined with raw_scores"),
        ({"threshold": 0.5, "label_weight": {URI + "cats": 2.0}}, "cannot be combined with label_weight"),
    ],
)
def test_broader_needs_probabilities_and_a_threshold(folder, options, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.load(folder / "m.model").predict_topk(["paw"], 1, broader=True, **options)


def test_broader_needs_a_vocabulary():
    model = lt.LabelTreeClassifier().fit(["ant bee", "cow dog"] * 5, [["x"], ["y"]] * 5)
    with pytest.raises(lt.errors.InputError, match="SKOS vocabulary"):
        model.predict_topk(["ant"], 1, broader=True, threshold=0.5)
    with pytest.raises(lt.errors.InputError, match="without a SKOS vocabulary"):
        model.predict_topk(["ant"], 1, candidates="@Places")


def test_broader_subjects_on_the_command_line(folder):
    model = folder / "m.model"
    text, threshold, label = find_unsure(lt.load(model))
    asked = ("predict", model, "--ask", text, "--threshold", threshold, "--with-texts", "--format", "jsonl")
    assert json.loads(ask(*asked))["labels"] == []
    found = json.loads(ask(*asked, "--broader"))
    assert found["labels"] == [label]
    assert found["unsure"] is True
    sure = json.loads(ask("predict", model, "--ask", "cat kitten purr", "--with-texts", "--format", "jsonl", "-k", 1))
    assert (sure["texts"], sure["broader"]) == (["Cats"], [["Animals", "Life"]])
    assert "unsure" not in sure


def test_inspect_shows_broader_subjects_and_sets(folder):
    shown = ask("inspect", folder / "m.model", "--label", URI + "cats")
    assert "Cats" in shown
    assert "Animals" in shown
    record = json.loads(ask("inspect", folder / "m.model", "--label", URI + "cats", "--json"))
    assert record["broader"] == ["Animals", "Life"]
    facts = json.loads(ask("inspect", folder / "m.model", "--json"))
    assert facts["vocabulary"] == {
        "language": "en",
        "broader": len(BROADER),
        "sets": {f"{URI}Place": 3, f"{URI}pets": 2, f"{URI}living": 3, f"{URI}places": 3, f"{URI}things": 7},
    }


def test_a_model_that_finds_labels_without_points_by_their_words(folder, tmp_path):
    options = ("--vocabulary", folder / "subjects.ttl", "--language", "en")
    ask("fit", folder / "train.tsv", "-o", tmp_path / "m.model", *options)
    model = lt.load(tmp_path / "m.model")
    assert URI + "cities" in model.predict_topk(["history of cities"], 10)[0][0]
    assert "depth" in ask("evaluate", tmp_path / "m.model", folder / "documents", "-k", 10)


# ---- schemes, types and collections as filters ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["@Places", "@place", f"@{URI}places", f"@<{URI}Place>"])
def test_candidates_may_be_a_scheme_a_type_or_a_collection(folder, name):
    model = lt.load(folder / "m.model")
    expected = model.predict_topk(["cat in paris"], 3, candidates=[URI + place for place in PLACES])
    got = model.predict_topk(["cat in paris"], 3, candidates=name)
    assert got[0].tolist() == expected[0].tolist()
    labels, _ = model.predictor(3, names=True)("cat in paris", candidates=model.label_set(name))
    assert labels == expected[0][0].tolist()
    shown = ask(
        "predict", folder / "m.model", "--ask", "cat in paris", "-k", 3, "--candidates", name, "--format", "jsonl"
    )
    assert json.loads(shown)["labels"] == expected[0][0].tolist()


def test_collections_can_be_excluded(folder):
    shown = ask("predict", folder / "m.model", "--ask", "cat in paris", "--exclude", "@Living", "--format", "jsonl")
    labels = {name.removeprefix(URI) for name in json.loads(shown)["labels"]}
    assert "paris" in labels
    assert not labels & {"cats", "dogs", "roses"}


@pytest.mark.parametrize("command", ["fit", "choose"])
def test_a_model_of_one_scheme(folder, tmp_path, command):
    options = ["--vocabulary", folder / "subjects.ttl", "--language", "en", "--within", "Places"]
    options += ["--time-budget", 2] if command == "choose" else []
    ask(command, folder / "train.tsv", "-o", tmp_path / "places", *options)
    assert sorted(lt.load(tmp_path / "places").classes_) == sorted(URI + name for name in PLACES)
    message = ask("fit", folder / "train.tsv", "-o", tmp_path / "x", *options[:4], "--within", "Plces", fails=True)
    assert "did you mean 'Places'" in " ".join(message.split())
    message = ask("fit", folder / "train.tsv", "-o", tmp_path / "x", "--within", "Places", fails=True)
    assert "add --vocabulary FILE" in message


def test_candidates_may_be_uris_in_angle_brackets(folder, tmp_path):
    (tmp_path / "c.txt").write_text(f"<{URI}cats>\n{URI}dogs\n")
    shown = ask("predict", folder / "m.model", "--ask", "rose", "--candidates", tmp_path / "c.txt", "--format", "jsonl")
    assert set(json.loads(shown)["labels"]) == {URI + "cats", URI + "dogs"}


# ---- documents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("data", "n"), [("documents", 60), ("plain", 4)])
@pytest.mark.parametrize("given", ["out/", "out"])
def test_one_result_file_per_document(folder, tmp_path, data, n, given):
    ask("predict", folder / "m.model", folder / data, "-o", f"{tmp_path}/{given}", "-k", 3)
    written = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in written] == sorted(f"d{number}.annif" for number in range(n))
    texts = [(folder / data / f"{path.stem}.txt").read_text() for path in written]
    labels, scores = lt.load(folder / "m.model").predict_topk(texts, 3)
    for path, own, values in zip(written, labels, scores, strict=True):
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        assert [row[0] for row in rows] == [f"<{name}>" for name in own]
        assert [row[1] for row in rows] == [name.removeprefix(URI).title() for name in own]
        assert [float(row[2]) for row in rows] == pytest.approx(values, rel=1e-5)


def test_a_folder_for_the_answers_to_one_file_is_refused(folder, tmp_path):
    message = ask("predict", folder / "m.model", folder / "train.tsv", "-o", f"{tmp_path}/", fails=True)
    assert "answers.tsv" in message
    assert not list(tmp_path.iterdir())


def test_a_document_from_a_file_and_from_standard_input(folder):
    text = (folder / "plain" / "d0.txt").read_text()
    assert "\n" in text
    expected, _ = lt.load(folder / "m.model").predict_topk([text], 3)
    asked = ("-k", 3, "--format", "jsonl")
    for got in (
        ask("predict", folder / "m.model", "-", *asked, stdin=text),
        ask("predict", folder / "m.model", folder / "plain" / "d0.txt", *asked),
    ):
        assert json.loads(got)["labels"] == expected[0].tolist()
    long = json.loads(ask("predict", folder / "m.model", "--ask", f"{text} " * 500, *asked))
    assert long["labels"][0] == expected[0][0]
    by_line = ask("predict", folder / "m.model", "-", *asked, "--data-format", "fasttext", stdin=text)
    assert len(by_line.splitlines()) == len(text.splitlines())
    two = ask("predict", folder / "m.model", folder / "plain" / "d0.txt", folder / "plain" / "d1.txt", *asked)
    assert len(two.splitlines()) == 2


def test_documents_without_subjects_cannot_be_trained_on(folder, tmp_path):
    message = " ".join(ask("fit", folder / "plain", "-o", tmp_path / "x", fails=True).split())
    assert "NAME.tsv or NAME.key" in message


def test_a_threshold_of_0_returns_everything(folder):
    shown = ask("predict", folder / "m.model", "--ask", "cat", "--threshold", 0, "--format", "jsonl")
    assert len(json.loads(shown)["labels"]) == 5


# ---- the counterparts of annif eval and annif optimize -------------------------------------------------------------


def test_evaluate_at_10(folder):
    record = json.loads(ask("evaluate", folder / "m.model", folder / "documents", "-k", 10, "--json"))
    assert list(record["precision"]) == ["1", "3", "5", "10"]
    assert "@10" in ask("evaluate", folder / "m.model", folder / "documents", "-k", 10)


def test_the_best_limit_and_threshold_are_suggested_and_nothing_changes(folder):
    before = {path.name: path.read_bytes() for path in (folder / "m.model").iterdir()}
    record = json.loads(ask("calibrate", folder / "m.model", folder / "documents", "--suggest", "--json"))
    assert {path.name: path.read_bytes() for path in (folder / "m.model").iterdir()} == before
    best = record["best"]
    assert best["f1"] == max(own["f1"] for own in record["limits"])
    files = sorted((folder / "documents").glob("*.txt"))
    truth = [
        {line.split("\t")[0][1:-1] for line in path.with_suffix(".tsv").read_text().splitlines()} for path in files
    ]
    labels, _ = lt.load(folder / "m.model").predict_topk(
        [path.read_text() for path in files], best["limit"], threshold=best["threshold"]
    )
    returned = [{name for name in own if name is not None} for own in labels]
    n_correct = sum(len(own & right) for own, right in zip(returned, truth, strict=True))
    f1 = 2 * n_correct / (sum(map(len, returned)) + sum(map(len, truth)))
    assert f1 == pytest.approx(best["f1"])
    shown = ask("calibrate", folder / "m.model", folder / "documents", "--suggest")
    assert f"-k {best['limit']} --threshold {best['threshold']:g}" in " ".join(shown.split())
    message = ask("calibrate", folder / "m.model", folder / "documents", "--suggest", "-o", folder / "x", fails=True)
    assert "--suggest" in message


# ---- the server ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(folder):
    pytest.importorskip("msgspec", reason="the extra labeltrees[serve] is not installed")
    testclient = pytest.importorskip("starlette.testclient")
    from labeltrees.serving import make_app

    vocabulary = lt.read_vocabulary(folder / "subjects.ttl", "en")
    with testclient.TestClient(make_app({"subjects": folder / "m.model"}, label_texts=vocabulary)) as found:
        yield found


def suggest(client, text, **form):
    return client.post("/v1/projects/subjects/suggest", data={"text": text, **form})


def test_annif_suggestions_with_limit_threshold_language_and_exclusion(client, folder):
    model = lt.load(folder / "m.model")
    labels, scores = model.predict_topk(["cat kitten in paris"], 4)
    found = suggest(client, "cat kitten in paris", limit=4, threshold=0).json()["results"]
    assert [own["uri"] for own in found] == labels[0].tolist()
    assert [own["score"] for own in found] == pytest.approx(scores[0], rel=1e-5)  # probabilities
    assert found[0]["label"] in ("Cats", "Paris")
    finnish = suggest(client, "cat kitten in paris", limit=4, threshold=0, language="fi").json()["results"]
    assert [own["label"] for own in finnish] == [own["uri"].removeprefix(URI) + "t" for own in found]
    reply = suggest(client, "cat", language="sv")
    assert (reply.status_code, reply.json()["error"]) == (400, "the labels have texts in en, fi, not in 'sv'")
    without = suggest(client, "cat kitten in paris", exclude=[f"<{URI}cats>", URI + "dogs"], limit=10, threshold=0)
    assert not {own["uri"] for own in without.json()["results"]} & {URI + "cats", URI + "dogs"}
    places = suggest(client, "cat kitten in paris", candidates="@Places", limit=10, threshold=0).json()["results"]
    assert {own["uri"] for own in places} == {URI + name for name in PLACES}
    assert suggest(client, "cat", limit=0).json()["results"] == []
    unknown = suggest(client, "cat", exclude=URI + "catz").json()
    assert list(unknown["unknown_labels"]) == [URI + "catz"]


def test_annif_suggestions_for_a_batch(client):
    texts = ["cat kitten", "paris seine", "rose"]
    documents = [{"text": text, "document_id": f"d{n}", "metadata": {"title": "x"}} for n, text in enumerate(texts)]
    path = "/v1/projects/subjects/suggest-batch?limit=2&threshold=0.1&language=fi"
    reply = client.post(path, json={"documents": documents})
    assert reply.status_code == 200
    for number, (text, own) in enumerate(zip(texts, reply.json(), strict=True)):
        assert own["document_id"] == f"d{number}"
        assert own["results"] == suggest(client, text, limit=2, threshold=0.1, language="fi").json()["results"]
    excluded = client.post(path + f"&exclude={URI}cats", json={"documents": documents}).json()
    assert URI + "cats" not in [one["uri"] for own in excluded for one in own["results"]]
    assert client.post(path, json={"documents": [{"text": "cat"}]}).json()[0]["document_id"] is None
    assert client.post(path, json={"documents": []}).json() == []
    for body in ({}, {"documents": [{"document_id": "d"}]}, {"documents": "cat"}):
        assert client.post(path, json=body).status_code == 400


def test_the_project_has_the_language_of_its_vocabulary(client):
    assert client.get("/v1/projects/subjects").json()["language"] == "en"


def test_answers_over_http_have_broader_subjects(client, folder):
    path = "/v1/models/subjects/predict"
    found = client.post(path, json={"text": "cat kitten purr", "k": 1}).json()
    assert (found["label_texts"], found["broader"]) == (["Cats"], [["Animals", "Life"]])
    text, threshold, label = find_unsure(lt.load(folder / "m.model"))
    asked = {"text": text, "threshold": threshold}
    assert client.post(path, json=asked).json()["labels"] == []
    found = client.post(path, json={**asked, "broader": True}).json()
    assert (found["labels"], found["unsure"]) == ([label], True)
    both = client.post(path, json={"texts": [text, "cat kitten purr"], "threshold": threshold, "broader": True}).json()
    assert [own["labels"] for own in both["results"]] == [[label], [URI + "cats"]]
    assert client.post(path, json={"text": text, "broader": True, "threshold": 0}).status_code == 400


def test_sets_of_the_vocabulary_are_filters_over_http(client):
    path = "/v1/models/subjects/predict"
    found = client.post(path, json={"text": "cat in paris", "candidates": "@Places", "k": 9}).json()
    assert set(found["labels"]) == {URI + name for name in PLACES}
    found = client.post(path, json={"text": "cat in paris", "exclude": "@Pets", "k": 20}).json()
    assert not set(found["labels"]) & {URI + "cats", URI + "dogs"}
    reply = client.post(path, json={"text": "cat", "candidates": "@Plces"})
    assert reply.status_code == 404
    assert "Places" in reply.json()["error"]
    assert client.get("/v1/models/subjects").json()["sets"][URI + "pets"] == 2
