"""Models that are given texts: the vectorizer they keep, and the way from a string to labels."""

import json
import pickle
import shutil
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import labeltrees as lt
from labeltrees.storage import load_arrays, save_arrays

WORDS = ["rice", "salt", "jäätelö", "米饭", "pan", "oven", "bread", "yeast", "ΟΔΟΣ", "fish", "smoke", "tea"]


def make_texts(n, seed=0):
    """Texts whose labels are some of their words."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = rng.choice(len(WORDS), size=4, p=np.arange(12, 0, -1) / 78)
        texts.append(" ".join(WORDS[i].title() if i % 2 else WORDS[i] for i in chosen) + ", how?")
        labels.append(sorted({f"about {WORDS[i]}" for i in chosen[:2]}))
    return texts, labels


TRAIN, TEST = make_texts(300), make_texts(40, seed=1)
VECTORIZERS = {
    "default": None,
    "double": lt.TfidfVectorizer(),
    "characters": lt.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), min_df=2, dtype=np.float32),
    "hashing": lt.TfidfVectorizer(hashing=500, ngram_range=(1, 2), norm=None),
    "rich": lt.TfidfVectorizer(
        stop_words=["how", "tea"], strip_accents="unicode", vocabulary=["rice", "salt", "jaatelo", "pan", "fish"]
    ),
}


@pytest.fixture(scope="module", params=list(VECTORIZERS))
def model(request):
    return lt.LabelTreeClassifier(fanout=4, vectorizer=VECTORIZERS[request.param]).fit(*TRAIN)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "model"
    rich = lt.LabelTreeClassifier(fanout=4, vectorizer=lt.TfidfVectorizer(stop_words=["how", "tea"], dtype=np.float32))
    rich.fit(*TRAIN).save(path)
    return path


def assert_same_answers(one, other, X, other_X=None):
    labels, scores = one.predict_topk(X, 5)
    other_labels, other_scores = other.predict_topk(X if other_X is None else other_X, 5)
    np.testing.assert_array_equal(labels, other_labels)
    np.testing.assert_array_equal(scores, other_scores)


def test_texts_are_as_good_as_their_features(model):
    vectorizer = clone(model.vectorizer_)
    X = vectorizer.fit_transform(TRAIN[0])
    two_steps = lt.LabelTreeClassifier(fanout=4).fit(X, TRAIN[1])
    assert model.n_features_in_ == X.shape[1]
    assert_same_answers(model, two_steps, TEST[0], vectorizer.transform(TEST[0]))
    assert_same_answers(model, model, TEST[0], vectorizer.transform(TEST[0]))
    assert model.score(TEST[0], TEST[1]) == two_steps.score(vectorizer.transform(TEST[0]), TEST[1])


def test_the_default_vectorizer():
    model = lt.LabelTreeClassifier().fit(*TRAIN)
    expected = Theirs(sublinear_tf=True, min_df=2, dtype=np.float32).fit(TRAIN[0])
    assert model.vectorizer_.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(model.vectorizer_.idf_, expected.idf_)


def test_a_predictor_goes_from_a_string_to_labels(model):
    predictor = model.predictor(k=4)
    X = model.vectorizer_.transform(TEST[0])
    for row, text in enumerate([*TEST[0], "", "none of these words", "\n"]):
        labels, scores = predictor(text)
        features = X[[row]] if row < X.shape[0] else model.vectorizer_.transform([text])
        expected_labels, expected_scores = predictor(features)
        np.testing.assert_array_equal(labels, expected_labels)
        np.testing.assert_array_equal(scores, expected_scores)
        for shorter in (predictor(text, 2), predictor(text, k=2)):
            np.testing.assert_array_equal(shorter[0], labels[:2])


def test_a_predictor_serves_texts_to_many_threads(model):
    predictor = model.predictor(3)
    expected = [predictor(text) for text in TEST[0]]
    wrong = []

    def ask():
        for _ in range(20):
            for text, (labels, scores) in zip(TEST[0], expected, strict=True):
                found = predictor(text)
                if not (np.array_equal(found[0], labels) and np.array_equal(found[1], scores)):
                    wrong.append(text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("call", [("a text", 0), ("a text", "3"), ("a text", 2, 3), ("\ud800",)])
def test_bad_calls_of_a_predictor_are_refused(saved, call):
    with pytest.raises(lt.InputError):
        lt.load(saved).predictor()(*call)


def test_saved_and_loaded_models_answer_texts_alike(model, tmp_path):
    model.save(tmp_path / "model")
    for options in ({}, {"in_memory": True}, {"verify": True}):
        loaded = lt.load(tmp_path / "model", **options)
        assert_same_answers(model, loaded, TEST[0])
        assert repr(loaded.get_params()) == repr(model.get_params())
        assert repr(loaded.vectorizer_.get_params()) == repr(model.vectorizer_.get_params())
        np.testing.assert_array_equal(loaded.predictor(3)(TEST[0][0])[0], model.predictor(3)(TEST[0][0])[0])
    loaded.save(tmp_path / "again")
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert files == {path.name for path in (tmp_path / "again").iterdir()}
    for name in files:
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert_same_answers(model, pickle.loads(pickle.dumps(loaded)), TEST[0])


def test_any_sequence_of_texts(saved):
    model = lt.load(saved)
    expected = model.predict_topk(TEST[0])[0].tolist()
    import polars as pl

    for form in (tuple, np.array, lambda texts: np.array(texts, object), pl.Series):
        assert model.predict_topk(form(TEST[0]))[0].tolist() == expected
    assert model.predict_topk([])[0].shape == (0, 5)
    assert model.predict(TEST[0]).shape == (40, 12)


def test_texts_and_models_that_do_not_fit_are_refused(saved, problem):
    matrix_model = lt.LabelTreeClassifier(fanout=4).fit(*problem)
    for use in (matrix_model.predict_topk, matrix_model.predict):
        with pytest.raises(lt.InputError, match="fitted on a matrix and has no vectorizer or other encoder: pass"):
            use(["some text"])
    with pytest.raises(lt.InputError, match="no vectorizer"):
        matrix_model.predictor()("some text")
    with pytest.raises(lt.InputError, match="X must be texts if a vectorizer is given"):
        lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer()).fit(*problem)
    with pytest.raises(lt.InputError, match="a sequence of texts, or a matrix"):
        lt.load(saved).predict_topk("one text")
    with pytest.raises(lt.InputError, match="put others before the model in a Pipeline"):
        lt.LabelTreeClassifier(vectorizer=Theirs()).fit(*TRAIN)
    with pytest.raises(lt.InputError, match=r"texts\[1\] must be a string"):
        lt.load(saved).predict_topk(["a", None])


def test_fitting_on_a_matrix_forgets_the_vectorizer(problem):
    model = lt.LabelTreeClassifier(fanout=4).fit(*TRAIN)
    assert model.vectorizer_ is not None
    assert model.fit(*problem).vectorizer_ is None


def test_a_pipeline_with_the_stock_vectorizer_works():
    stock = make_pipeline(Theirs(sublinear_tf=True, min_df=2, dtype=np.float32), lt.LabelTreeClassifier(fanout=4))
    own = make_pipeline(lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32), clone(stock[-1]))
    whole = lt.LabelTreeClassifier(fanout=4).fit(*TRAIN)
    for pipeline in (stock, own):
        pipeline.fit(*TRAIN)
        assert (pipeline.predict(TEST[0]) != whole.predict(TEST[0])).nnz == 0
        assert pipeline.score(*TEST) == whole.score(*TEST)


def test_parameters_of_the_vectorizer_can_be_searched():
    model = lt.LabelTreeClassifier(fanout=4, vectorizer=lt.TfidfVectorizer())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(model, {"vectorizer__vocabulary": [["oven"], None]}, cv=2, error_score="raise")
        search.fit(np.array(TRAIN[0]), lt.Dataset(np.ones((300, 1)), _indicator(TRAIN[1])).Y)
    assert search.best_params_ == {"vectorizer__vocabulary": None}


def _indicator(labels):
    names = sorted({name for row in labels for name in row})
    return np.array([[name in row for name in names] for row in labels], dtype=float)


# Damage.


def test_damaged_files_are_refused_or_answer(saved, tmp_path):
    copied = shutil.copytree(saved, tmp_path / "damaged")
    rng = np.random.default_rng(0)
    outcomes = {"refused": 0, "answers": 0}
    for file in sorted(path for path in saved.iterdir() if path.name.startswith("vectorizer")):
        original = file.read_bytes()
        for _ in range(40):
            altered = bytearray(original)
            for place in rng.integers(128 if rng.random() < 0.8 else 0, len(altered), size=2):
                altered[place] = rng.integers(256)
            (copied / file.name).write_bytes(altered)
            try:
                model = lt.load(copied)
                model.predict_topk(TEST[0])
                model.predictor()(TEST[0][0])
                outcomes["answers"] += 1
            except (lt.FileFormatError, lt.InputError):
                outcomes["refused"] += 1
            if bytes(altered) != original:
                with pytest.raises(lt.FileFormatError):
                    lt.load(copied, verify=True)
        (copied / file.name).write_bytes(original)
    assert min(outcomes.values()) > 10


def change(saved, tmp_path, parameters=None, **arrays):
    """Save the model again with its vectorizer altered, checksums and all."""
    loaded = load_arrays(saved)
    changed = json.loads(json.dumps(loaded.manifest.parameters))
    changed["vectorizer"]["settings"].update(parameters or {})
    kept = {name: array for name, array in (loaded.arrays | arrays).items() if array is not None}
    save_arrays(tmp_path / "changed", "LabelTreeClassifier", changed, kept)
    return tmp_path / "changed"


def ends_of(saved):
    return load_arrays(saved).arrays["vectorizer.terms.ends"].copy()


@pytest.mark.parametrize(
    "make",
    [
        lambda ends: {"vectorizer.terms.ends": ends[::-1].copy()},
        lambda ends: {"vectorizer.terms.ends": ends + 1},
        lambda ends: {"vectorizer.terms.ends": ends - 1},
        lambda ends: {"vectorizer.terms.ends": ends * 1000},
        lambda ends: {"vectorizer.terms.ends": np.where(ends == ends[3], -(2**62), ends)},
        lambda ends: {"vectorizer.terms.ends": ends.astype(np.int32)},
        lambda ends: {"vectorizer.terms.ends": ends[:-1]},
        lambda ends: {"vectorizer.terms.ends": None},
        lambda ends: {"vectorizer.terms": None},
        lambda ends: {"vectorizer.terms": np.zeros(0, np.uint8)},
        lambda ends: {"vectorizer.terms": np.full(ends[-1], 0xFF, np.uint8)},
        lambda ends: {"vectorizer.idf": None},
        lambda ends: {"vectorizer.idf": np.ones(3, np.float32)},
        lambda ends: {"vectorizer.idf": np.ones(len(ends) - 1)},
        lambda ends: {"vectorizer.idf": np.full(len(ends) - 1, np.nan, np.float32)},
        lambda ends: {"vectorizer.stop_words.ends": np.array([0, 2**40])},
        lambda ends: {"vectorizer.stop_words": np.full(6, 0xFF, np.uint8)},
    ],
)
def test_hostile_arrays_are_refused(saved, tmp_path, make):
    path = change(saved, tmp_path, **make(ends_of(saved)))
    with pytest.raises(lt.FileFormatError, match="changed"):
        lt.load(path, verify=True)
    try:  # without verifying they are refused now or when a text comes, or harm nobody
        model = lt.load(path)
        model.predictor()("some rice and salt")
        model.predict_topk(TEST[0])
    except (lt.FileFormatError, lt.InputError):
        pass


@pytest.mark.parametrize(
    "settings",
    [
        {"analyzer": "words"},
        {"ngram_range": [0, 10**9]},
        {"ngram_range": "12"},
        {"dtype": "object"},
        {"encoding": 3},
        {"strip_accents": 1},
        {"hashing": 10},
        {"hashing": -1},
        {"use_idf": False},
        {"token_pattern": "("},
        {"unknown": 1},
        {"stop_words": {"a": 1}},
    ],
    ids=str,
)
def test_hostile_settings_are_refused(saved, tmp_path, settings):
    with pytest.raises(lt.FileFormatError, match="changed"):
        lt.load(change(saved, tmp_path, settings))


def test_a_vectorizer_of_other_features_is_refused(saved, tmp_path):
    loaded = load_arrays(saved)
    other = lt.TfidfVectorizer(dtype=np.float32, stop_words=["how", "tea"]).fit(["one two three"])
    path = tmp_path / "changed"
    arrays = {**loaded.arrays, **other.get_state().arrays("vectorizer.")}
    save_arrays(path, "LabelTreeClassifier", loaded.manifest.parameters, arrays)
    with pytest.raises(lt.FileFormatError, match="a vectorizer of 3 features for a model of"):
        lt.load(path)
