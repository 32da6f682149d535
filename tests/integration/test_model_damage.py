"""A damaged model is refused or answers, and never brings the interpreter down."""

import json
import shutil

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import _core
from labeltrees.storage import encode_names, save_arrays

# The rich model has feature names, and arrays have none.
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def is_normal(model, X):
    """Whether a model answers with labels it has and scores between 0 and 1."""
    names = {*model.classes_.tolist(), None, -1}
    labels, scores = model.predict_topk(X[:8], 14)
    few, low = model.predict_topk(X[:8], 3, candidates=[1, 2], beam=2)
    probabilities = model.predict_proba(X[:8]).data if hasattr(model, "predict_proba") else scores.ravel()
    model.predictor(3)(X[[0]])
    if model.early_stop_ is not None:
        model.predict_topk(X[:8], 3, agreement=0.6)
        model.predictor(3, agreement=0.6)(X[[0]])
    values = np.concatenate([scores.ravel(), low.ravel(), probabilities])
    return {*labels.ravel(), *few.ravel()} <= names and ((values >= 0) & (values <= 1)).all()


def damages(data, rng, n):
    """Bytes with a few things altered, or cut, or longer."""
    for _ in range(n):
        altered = bytearray(data)
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(altered)))
            altered[place] = rng.choice([altered[place] ^ (1 << rng.integers(8)), 0, 127, 128, 255])
        yield bytes(altered)
    for place in (0, 1, len(data) // 2, len(data) - 1):
        yield data[:place]
    yield data + b"\0"


@pytest.fixture(scope="module")
def dense_folder(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("dense") / "model"
    lt.LabelTreeClassifier(fanout=3).fit(problem[0].toarray(), problem[1]).save(path)
    return path


@pytest.fixture(scope="module")
def evidence_folder(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("evidence") / "model"
    lt.LabelTreeClassifier(fanout=3, evidence="both").fit(*problem).save(path)
    return path


@pytest.mark.parametrize("kind", ["rich", "dense", "evidence"])
def test_damaged_files_are_refused_or_answer(folder, dense_folder, evidence_folder, problem, tmp_path, kind):
    folder = {"rich": folder, "dense": dense_folder, "evidence": evidence_folder}[kind]
    copied = shutil.copytree(folder, tmp_path / "damaged")
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "normal": 0}
    for file in sorted(folder.iterdir()):
        original = file.read_bytes()
        for altered in damages(original, rng, 60 if "chunks" in file.name else 15):
            (copied / file.name).write_bytes(altered)
            try:
                assert is_normal(lt.load(copied), problem[0]), file.name
                outcomes["normal"] += 1
            except lt.errors.FileFormatError:
                outcomes["refused"] += 1
            if altered.strip() != original.strip():  # the manifest may lose its last newline
                with pytest.raises(lt.errors.FileFormatError):
                    lt.load(copied, verify=True)
        (copied / file.name).write_bytes(original)
    assert min(outcomes.values()) > 20
    assert is_normal(lt.load(copied, verify=True), problem[0])


@pytest.fixture(scope="module")
def encoder_folder(problem, name_lists, tmp_path_factory):
    path = tmp_path_factory.mktemp("encoder") / "model"
    items = lt.encoders.ItemEncoder([f"label {chr(97 + item)}" for item in range(30)], ids=range(30))
    words = lt.encoders.TextEncoder(lt.TfidfVectorizer().fit(["one two three four five six seven eight", "nine ten"]))
    encoder = lt.encoders.UnionEncoder({"history": items, "query": words}, weights={"query": 0.5})
    lt.LabelTreeClassifier(fanout=3).fit(lt.Dataset(problem[0], name_lists, encoder=encoder)).save(path)
    return path


def answers_contexts(model):
    """Whether a model answers contexts with names that it has."""
    answer = model.predictor(5, names=True, exclude_seen=True)
    contexts = [{"history": ["label b", 3, "label zz", ("label z", 2)], "query": "one two nine"}, {"query": "ten"}]
    found = [answer(context, exclude=["label e"]) for context in contexts]
    model.predict_topk(contexts, candidates=model.label_set(["label c", "label d"]))
    assert model.encoder_.count_unknown(contexts).max() <= 40
    known = set(model.classes_.tolist())
    return all(set(names) <= known and ((scores >= 0) & (scores <= 1)).all() for names, scores in found)


def test_damaged_encoders_are_refused_or_answer(encoder_folder, tmp_path):
    copied = shutil.copytree(encoder_folder, tmp_path / "damaged")
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "normal": 0}
    for file in sorted(encoder_folder.iterdir()):
        if not file.name.startswith(("encoder.", "label_names", "manifest")):
            continue
        original = file.read_bytes()
        for altered in damages(original, rng, 40):
            (copied / file.name).write_bytes(altered)
            try:
                assert answers_contexts(lt.load(copied)), file.name
                outcomes["normal"] += 1
            except lt.errors.FileFormatError:
                outcomes["refused"] += 1
            if altered.strip() != original.strip():
                with pytest.raises(lt.errors.FileFormatError):
                    lt.load(copied, verify=True)
        (copied / file.name).write_bytes(original)
    assert min(outcomes.values()) > 20
    assert answers_contexts(lt.load(copied, verify=True))


@pytest.mark.parametrize("value", [1e30, -1e30, np.inf, np.nan])
def test_an_idf_that_makes_rows_overflow_is_refused(encoder_folder, tmp_path, value):
    copied = shutil.copytree(encoder_folder, tmp_path / "damaged")
    idf = np.load(copied / "encoder.part1.idf.npy")
    idf[2] = value
    rewrite(copied, lambda body: None, {"encoder.part1.idf": idf})
    with pytest.raises(lt.errors.FileFormatError, match="idf is damaged"):
        lt.load(copied)


@pytest.fixture(scope="module")
def texts_folder(tmp_path_factory):
    """A model with several kinds of terms and texts of labels."""
    path = tmp_path_factory.mktemp("texts") / "model"
    union = [{"stop_words": ["and"]}, {"analyzer": "char_wb", "ngram_range": (2, 3), "weight": 0.5}]
    texts = ["brown rice and beans", "green tea", "white bread"] * 2
    model = lt.LabelTreeClassifier(fanout=2, vectorizer=lt.TfidfVectorizer(union=union))
    model.fit(texts, [["a"], ["b"], ["c"]] * 2, label_texts={"a": ["rice", "Reis"], "d": "toasted bread"}).save(path)
    return path


def answers_texts(model):
    """Whether a model answers texts with labels and titles that it can have."""
    labels, scores = model.predict_topk(["brown bread", "tea"], 3)
    names, _ = model.predictor(3, names=True)("green beans")
    for label in range(len(model.classes_)):
        assert all(isinstance(text, str) for text in model.label_texts_.of(label))
    known = {*model.classes_.tolist(), None}
    return {*labels.ravel(), *names} <= known and ((scores >= 0) & (scores <= 1)).all()


def test_damaged_vectorizers_and_label_texts_are_refused_or_answer(texts_folder, tmp_path):
    copied = shutil.copytree(texts_folder, tmp_path / "damaged")
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "normal": 0}
    for file in sorted(texts_folder.iterdir()):
        if not file.name.startswith(("vectorizer.", "label_texts", "manifest")):
            continue
        original = file.read_bytes()
        for altered in damages(original, rng, 20 if file.name.startswith("label") else 8):
            (copied / file.name).write_bytes(altered)
            try:
                model = lt.load(copied)
                assert model.label_texts_ is None or answers_texts(model), file.name
                outcomes["normal"] += 1
            except lt.errors.FileFormatError:
                outcomes["refused"] += 1
            if altered.strip() != original.strip():
                with pytest.raises(lt.errors.FileFormatError):
                    lt.load(copied, verify=True)
        (copied / file.name).write_bytes(original)
    assert min(outcomes.values()) > 10
    assert answers_texts(lt.load(copied, verify=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda settings: settings.update(union=[]), "union must have 1 to 16 parts"),
        (lambda settings: settings["union"][0].pop("norm"), "must have a name, a weight and all parameters"),
        (lambda settings: settings["union"][0].update(weight="big"), "settings are damaged"),
        (lambda settings: settings["union"][0].update(analyzer="letters"), "settings are damaged"),
        (lambda settings: settings["union"][1].update(name="word"), "settings are damaged"),
        (lambda settings: settings["union"].pop(), "a vectorizer of .* features for a model"),
        (lambda settings: settings.update(tokenizer={"function": "os:system"}), "a function can run any code"),
        (
            lambda settings: settings["union"][0].update(analyzer={"function": "os:system"}),
            "a function can run any code",
        ),
        (lambda settings: settings.update(preprocessor={"function": 3}), "a function can run any code"),
        (lambda settings: settings.update(stem=["german"]), "settings are damaged"),
        (lambda settings: settings.update(on_tokens=1), "on_tokens must be true or false"),
    ],
)
def test_hostile_vectorizers_are_refused(texts_folder, tmp_path, change, message):
    copied = shutil.copytree(texts_folder, tmp_path / "hostile")
    rewrite(copied, lambda body: change(body["parameters"]["vectorizer"]["settings"]))
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.load(copied)


HOSTILE_ENCODERS = {
    "not an object": ([], {}, "of one of the kinds"),
    "another kind": ({"kind": "pickle"}, {}, "of one of the kinds"),
    "of another size": (
        {"kind": "items", "weighting": "log", "norm": "none"},
        dict(zip(("encoder.names", "encoder.names.ends"), encode_names(["a", "b"]), strict=True)),
        "an encoder of 2 features for a model of 40",
    ),
    "without arrays": (
        {"kind": "column", "weighting": "log", "norm": "none", "separator": None},
        {},
        "names is missing",
    ),
}


@pytest.mark.parametrize("case", HOSTILE_ENCODERS)
def test_hostile_encoders_are_refused(copied, case):
    encoder, arrays, message = HOSTILE_ENCODERS[case]
    rewrite(copied, put(encoder=encoder), arrays)
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.load(copied)


def test_missing_files_are_named(folder, copied):
    for file in folder.iterdir():
        (copied / file.name).unlink()
        with pytest.raises(lt.errors.FileFormatError, match=file.name):
            lt.load(copied)
        shutil.copy(file, copied)


def rewrite(folder, change, files=None):
    """Change manifest and arrays as someone would who can compute checksums."""
    body = json.loads((folder / "manifest.json").read_text())
    if files:
        part = folder.parent / "part"
        save_arrays(part, "part", {}, files)
        body["arrays"] |= json.loads((part / "manifest.json").read_text())["arrays"]
        for name in files:
            shutil.copy(part / f"{name}.npy", folder)
    change(body)
    body.pop("checksum")
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    body["checksum"] = f"{_core.xxh64(np.frombuffer(canonical, np.uint8)):016x}"
    (folder / "manifest.json").write_text(json.dumps(body))


def put(**values):
    return lambda body: body["parameters"].update(values)


def setting(**values):
    return lambda body: body["parameters"]["settings"].update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(n_labels=0), "n_labels"),
        (put(n_labels=-1), "n_labels"),
        (put(n_labels=2**31), "n_labels"),
        (put(n_labels=2**80), "n_labels"),
        (put(n_labels="12"), "n_labels"),
        (put(n_labels=12.0), "n_labels"),
        (put(n_labels=True), "n_labels"),
        (put(n_labels=None), "n_labels"),
        (put(n_labels=13), "class_weight"),
        (put(n_features=0), "n_features"),
        (put(n_features=41), "number of features"),
        (put(stats={"renamed": ["old", "new"]}), "renamed must be an object of names"),
        (put(stats={"renamed": {"old": 3}}), "renamed must be an object of names"),
        (put(n_trees=0), "n_trees"),
        (put(n_trees=3), "tree2"),
        (put(n_trees=2**31 - 1), "tree2"),
        (put(n_trees=[2]), "n_trees"),
        (put(matrices=0), "matrices"),
        (put(matrices="yes"), "matrices"),
        (put(stats=[]), "stats"),
        (put(settings=[]), "settings"),
        (put(settings={}), "settings"),
        (put(scoring={}), "scoring"),
        (put(scoring={"loss": "hinge", "score_power": 3, "normalize": True}), "loss"),
        (put(scoring={"loss": "squared_hinge", "score_power": 0, "normalize": True}), "score_power"),
        (put(scoring={"loss": "squared_hinge", "score_power": 3, "normalize": 1}), "normalize"),
        (put(extra=1), "extra"),
        (lambda body: body["parameters"].pop("n_trees"), "n_trees"),
        (lambda body: body["parameters"]["settings"].pop("C"), "'C'"),
        (setting(color="red"), "color"),
        (setting(tradeoff=3), "tradeoff"),
        (setting(k="5"), "k must be"),
        (setting(n_jobs=0), "n_jobs"),
        (setting(tree="round"), "tree"),
        (setting(class_weight="even"), "class_weight"),
        (setting(class_weight={"0": 2.0}), "class_weight"),
        (lambda body: body.update({"class": "os.system"}), "unknown kind 'os.system'"),
        (lambda body: body["arrays"].pop("label_names.ends"), "label names"),
        (lambda body: body["arrays"].pop("feature_names.ends"), "feature names"),
        (lambda body: body["arrays"].pop("calibration.probabilities"), "calibration"),
        (lambda body: body["arrays"].pop("tree1.children"), "tree1.children is missing"),
        (lambda body: body["arrays"].pop("agreement.losses"), "of the bounds for agreement is missing"),
        (put(agreement={"n_checked": -1}), "bounds for agreement are damaged"),
        (put(agreement={"n_checked": True}), "bounds for agreement are damaged"),
        (put(agreement={"n_checked": 1}), "bounds for agreement are damaged"),
        (put(agreement={"n_checked": 100.5}), "bounds for agreement are damaged"),
        (put(agreement={}), "agreement must have the keys"),
        (put(agreement=3), "agreement must have the keys"),
    ],
)
def test_hostile_manifests_are_refused(copied, change, message):
    rewrite(copied, change)
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.load(copied)


AGREEMENT_FAULT = "bounds for agreement are damaged"
HOSTILE_ARRAYS = {
    "label weights": ("tree0.label_weights", np.ones(11), "does not have one number per label"),
    "weights of another type": ("tree0.label_weights", np.ones(12, np.float32), "does not have one number per label"),
    "too few names": ("label_names.ends", np.arange(5), "4 label names for 12 labels"),
    "names of another type": ("label_names", np.ones(3), "label names are damaged"),
    "ends of another type": ("label_names.ends", np.arange(13, dtype=np.int32), "label names are damaged"),
    "ends of two dimensions": ("label_names.ends", np.zeros((1, 13), np.int64), "label names are damaged"),
    "a feature's rank that is not there": ("tree0.feature_rank", np.full(40, 40, np.int32), "feature_rank names"),
    "too few ranks of features": ("tree0.feature_rank", np.zeros(39, np.int32), "feature_rank does not fit"),
    "too few feature names": ("feature_names.ends", np.zeros(3, np.int64), "names"),
    "falling calibration": ("calibration.scores", np.array([1.0, 0.0]), "calibration is damaged"),
    "nan in calibration": ("calibration.probabilities", np.full(3, np.nan), "calibration is damaged"),
    "narrow calibration": ("calibration.scores", np.zeros(3, np.float32), "calibration is damaged"),
    "lengths that fall": ("agreement.k", np.array([1, 5, 3, 10]), AGREEMENT_FAULT),
    "lengths of nothing": ("agreement.k", np.array([0, 3, 5, 10]), AGREEMENT_FAULT),
    "lengths beyond the labels": ("agreement.k", np.array([1, 3, 5, 2**40]), AGREEMENT_FAULT),
    "too few lengths": ("agreement.k", np.array([1, 3, 5]), AGREEMENT_FAULT),
    "no settings": ("agreement.losses", np.zeros((4, 0, 2), np.float32), AGREEMENT_FAULT),
    "losses of another shape": ("agreement.losses", np.zeros((4, 64), np.float32), AGREEMENT_FAULT),
    "losses that are no number": ("agreement.losses", np.full((4, 64, 2), np.nan, np.float32), AGREEMENT_FAULT),
    "broken lists that become whole": (
        "agreement.broken",
        np.tile(np.arange(64)[::-1], (4, 1)),
        AGREEMENT_FAULT,
    ),
    "more broken lists than lists": ("agreement.broken", np.full((4, 64), 10**6), AGREEMENT_FAULT),
    "broken lists of another type": ("agreement.broken", np.zeros((4, 64), np.int32), AGREEMENT_FAULT),
    "classes that fall": ("agreement.classes", np.array([70, 1], np.int32), AGREEMENT_FAULT),
    "infinite work": ("agreement.chunks", np.full((4, 64), np.inf), AGREEMENT_FAULT),
    "class weight": ("class_weight", np.zeros(12, np.float32), "class_weight"),
    "matrix as children": ("tree0.children", np.zeros((3, 3), np.int32), "children"),
    "offsets of another tree": ("tree0.offsets", np.zeros(1, np.int64), "number of nodes"),
}


@pytest.mark.parametrize("case", HOSTILE_ARRAYS)
def test_hostile_arrays_are_refused(copied, case):
    name, array, message = HOSTILE_ARRAYS[case]
    rewrite(copied, lambda body: None, {name: array})
    with pytest.raises(lt.errors.FileFormatError, match=message):
        lt.load(copied)


def test_verify_finds_what_a_search_may_never_meet(copied, rich):
    children = rich.tree_.children.copy()
    children[-1] = children[-2]
    rewrite(copied, lambda body: None, {"tree0.children": children})
    lt.load(copied)
    with pytest.raises(lt.errors.FileFormatError, match=r"tree 0: .* already elsewhere"):
        lt.load(copied, verify=True)


@pytest.mark.parametrize(
    "use",
    [
        lambda tree: tree.to_newick(),
        lambda tree: tree.to_json(),
        lambda tree: tree.to_dot(),
        lambda tree: tree.leaf_order(),
        lambda tree: tree.mass(np.ones(tree.n_labels)),
        lambda tree: tree.summary(),
        lambda tree: tree.children,
        repr,
    ],
)
@pytest.mark.parametrize("child", [0, 1])
def test_a_damaged_tree_is_refused_on_first_use(copied, rich, use, child):
    children = rich.tree_.children.copy()
    children[-1] = child  # a cycle, or a node with two parents
    rewrite(copied, lambda body: None, {"tree0.children": children})
    tree = lt.load(copied).tree_
    for _ in range(2):
        with pytest.raises(lt.errors.InputError, match="child"):
            use(tree)


def test_verify_finds_a_name_twice(copied, rich):
    text, ends = encode_names(["same"] * 12)
    rewrite(copied, lambda body: None, {"label_names": text, "label_names.ends": ends})
    lt.load(copied)
    with pytest.raises(lt.errors.FileFormatError, match="a label name occurs twice"):
        lt.load(copied, verify=True)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match=r"manifest\.json"):
        lt.load(tmp_path)
    with pytest.raises(lt.errors.FileFormatError, match="nowhere: no such folder"):
        lt.load(tmp_path / "nowhere")
