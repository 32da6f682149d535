"""Matrices, texts and other contexts give the same model and the same answers in every form; wrong ones are refused."""

import json
import pickle
import shutil
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline

import labeltrees as lt
from labeltrees.data.tfidf import preset_vectorizer
from labeltrees.models.linear.features import check_points
from labeltrees.storage import load_arrays, save_arrays
from tests.models.twin import all_scores, tight

SPARSE = {
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "float64": lambda X: X.astype(np.float64),
    "int64_indices": lambda X: with_indices(X, np.int64),
    "unsorted": lambda X: with_reversed_rows(X),
    "halves_twice": lambda X: with_every_entry_twice(X),
    "read_only": lambda X: read_only(X),
}


def with_indices(X, dtype):
    copy = sp.csr_array(X)
    copy.indices, copy.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return copy


def with_reversed_rows(X):
    order = np.concatenate([np.arange(X.indptr[row + 1] - 1, X.indptr[row] - 1, -1) for row in range(X.shape[0])])
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def with_every_entry_twice(X):
    return sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def read_only(X):
    copy = X.copy()
    for part in (copy.data, copy.indices, copy.indptr):
        part.flags.writeable = False
    return copy


@pytest.mark.parametrize("form", SPARSE)
@pytest.mark.parametrize("normalize", [True, False])
def test_sparse_points_in_every_form_are_the_same_points(problem, form, normalize):
    X, Y = problem
    options = {"fanout": 3, "normalize": normalize}
    plain = lt.LabelTreeClassifier(**options).fit(X, Y)
    other = SPARSE[form](X)
    before = sp.csr_array(other, copy=True).toarray()
    found = lt.LabelTreeClassifier(**options).fit(other, Y)
    assert found.searcher_.stores[0].chunks.tobytes() == plain.searcher_.stores[0].chunks.tobytes()
    for expected, answer in zip(plain.predict_topk(X), found.predict_topk(other), strict=True):
        np.testing.assert_array_equal(answer, expected)
    np.testing.assert_array_equal(sp.csr_array(other).toarray(), before)  # nobody wrote into it


DENSE = {
    "float32": lambda X: X,
    "float64": lambda X: X.astype(np.float64),
    "columns": np.asfortranarray,
    "lists": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "read_only": lambda X: np.frombuffer(X.tobytes(), np.float32).reshape(X.shape),
}


@pytest.mark.parametrize("form", DENSE)
@pytest.mark.parametrize("normalize", [True, False])
def test_dense_points_in_every_form_are_the_same_points(problem, form, normalize):
    X, Y = problem[0].toarray() + np.float32(0.1), problem[1]
    options = {"fanout": 3, "normalize": normalize}
    plain = lt.LabelTreeClassifier(**options).fit(X, Y)
    assert plain.searcher_.stores[0].matrices
    found = lt.LabelTreeClassifier(**options).fit(DENSE[form](X), Y)
    assert found.searcher_.stores[0].chunks.tobytes() == plain.searcher_.stores[0].chunks.tobytes()
    for queries in (DENSE[form](X), sp.csr_array(X)):
        for expected, answer in zip(plain.predict_topk(X), found.predict_topk(queries), strict=True):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_dense_and_sparse_points_make_nearly_the_same_model(problem, loss):
    X, Y = problem
    sparse, dense = (lt.LabelTreeClassifier(fanout=3, **tight(loss)).fit(x, Y) for x in (X, X.toarray()))
    assert sparse.tree_ == dense.tree_
    np.testing.assert_allclose(all_scores(sparse, X), all_scores(dense, X), atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, int, bool, object])
def test_dense_and_sparse_queries_find_the_same_labels(problem, model, dtype):
    dense = (problem[0].toarray() * 4).round().astype(dtype)
    for order in ("C", "F"):
        found = model.predict_topk(np.array(dense, order=order))
        for expected, answer in zip(model.predict_topk(sp.csr_array(dense.astype(float))), found, strict=True):
            np.testing.assert_array_equal(answer, expected)
    np.testing.assert_array_equal(model.predict_topk(dense.tolist())[0], found[0])


def test_an_empty_batch_has_an_empty_answer(problem, model, named):
    X, Y = problem
    for empty in (X[:0], X[:0].toarray()):
        labels, scores = model.predict_topk(empty, 3)
        assert labels.shape == scores.shape == (0, 3)
        assert named.predict_topk(empty, 3)[0].shape == (0, 3)
        assert model.predict(empty).shape == model.predict_scores(empty).shape == (0, 12)
    with pytest.raises(lt.errors.InputError, match="score needs at least one point"):
        model.score(X[:0], Y[:0])


def damaged(change):
    matrix = sp.csr_array(np.eye(3, dtype=np.float32))
    change(matrix)
    return matrix


WRONG = {
    "nan": (sp.csr_array([[np.nan, 1.0]]), "X has a NaN at row 0, column 0"),
    "inf": (sp.csr_array([[1.0, np.inf]]), "X has an infinite value at row 0, column 1"),
    "too large": (sp.csr_array([[1.0, 1e300]]), "too large for float32, at row 0, column 1"),
    "complex": (sp.csr_array([[1j, 0]]), "real numbers"),
    "no column": (sp.csr_array((3, 0)), r"0 feature\(s\)"),
    "no row": (sp.csr_array((0, 3)), r"0 sample\(s\)"),
    "one dimension": (sp.coo_array(np.ones(3)), "two-dimensional"),
    "index": (damaged(lambda X: X.indices.__setitem__(1, 7)), "damaged sparse matrix"),
    "negative index": (damaged(lambda X: X.indices.__setitem__(1, -7)), "damaged sparse matrix"),
    "indptr": (damaged(lambda X: X.indptr.__setitem__(1, 900)), "damaged sparse matrix"),
    "falling indptr": (damaged(lambda X: X.indptr.__setitem__(1, -5)), "damaged sparse matrix"),
    "dense nan": (np.array([[np.nan, 1.0]]), "NaN"),
    "dense inf": (np.array([[np.inf, 1.0]]), "infinity"),
    "dense too large": (np.array([[1e300, 1.0]]), "infinity|too large"),
    "dense no row": (np.ones((0, 3)), r"0 sample\(s\)"),
    "dense no column": (np.ones((3, 0)), r"0 feature\(s\)"),
    "dense vector": (np.ones(3), "2D array"),
    "dense cube": (np.ones((2, 2, 2)), "dim 3"),
    "text": ([["a", "b"]], "could not convert string to float|numeric|got lists of texts"),
    "ragged": ([[1.0], [1.0, 2.0]], "inhomogeneous"),
    "nothing": (None, "array"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_points_are_refused(case):
    X, message = WRONG[case]
    with pytest.raises(lt.errors.InputError, match=message):
        lt.LabelTreeClassifier(tree="flat").fit(X, [["a"]])


@pytest.mark.parametrize("case", ["nan", "index", "indptr", "dense nan", "dense vector"])
def test_wrong_queries_are_refused(model, case):
    X, message = WRONG[case]
    with pytest.raises(lt.errors.InputError, match=message):
        model.predict_topk(X)


@pytest.mark.parametrize("make", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
@pytest.mark.parametrize("method", ["predict", "predict_topk", "predict_scores"])
def test_queries_of_other_width_are_refused(model, make, method):
    with pytest.raises(lt.errors.InputError, match="X has 39 features, but LabelTreeClassifier is expecting 40"):
        getattr(model, method)(make(np.ones((2, 39))))


def test_the_number_of_features_is_noted(problem):
    model = lt.LabelTreeClassifier()
    assert check_points(model, problem[0], fitting=True).shape == (120, 40)
    assert model.n_features_in_ == 40


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
def text_model(request):
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


def test_texts_are_as_good_as_their_features(text_model):
    vectorizer = clone(text_model.vectorizer_)
    X = vectorizer.fit_transform(TRAIN[0])
    two_steps = lt.LabelTreeClassifier(fanout=4).fit(X, TRAIN[1])
    assert text_model.n_features_in_ == X.shape[1]
    assert_same_answers(text_model, two_steps, TEST[0], vectorizer.transform(TEST[0]))
    assert_same_answers(text_model, text_model, TEST[0], vectorizer.transform(TEST[0]))
    assert text_model.score(TEST[0], TEST[1]) == two_steps.score(vectorizer.transform(TEST[0]), TEST[1])


def test_long_texts_get_words_by_default():
    texts = [f"{text} {'and so on ' * 20}" for text in TRAIN[0]]
    model = lt.LabelTreeClassifier().fit(texts, TRAIN[1])
    expected = Theirs(sublinear_tf=True, min_df=2, dtype=np.float32).fit(texts)
    assert model.vectorizer_.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(model.vectorizer_.idf_, expected.idf_)


def test_short_texts_get_words_and_pieces_of_words_by_default():
    settings = {"sublinear_tf": True, "min_df": 2, "dtype": np.float32}
    model = lt.LabelTreeClassifier().fit(*TRAIN)
    pieces = Theirs(analyzer="char_wb", ngram_range=(4, 4), **settings)
    expected = FeatureUnion([("word", Theirs(**settings)), ("char_wb", pieces)]).fit(TRAIN[0])
    assert model.vectorizer_.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    found, wanted = model.vectorizer_.transform(TEST[0]), expected.transform(TEST[0])
    np.testing.assert_allclose(found.toarray(), wanted.toarray(), rtol=1e-6)
    few = lt.LabelTreeClassifier().fit(TRAIN[0][:100], TRAIN[1][:100])
    assert few.vectorizer_.get_params()["union"] is None


def test_a_predictor_goes_from_a_string_to_labels(text_model):
    predictor = text_model.predictor(k=4)
    X = text_model.vectorizer_.transform(TEST[0])
    for row, text in enumerate([*TEST[0], "", "none of these words", "\n"]):
        labels, scores = predictor(text)
        features = X[[row]] if row < X.shape[0] else text_model.vectorizer_.transform([text])
        expected_labels, expected_scores = predictor(features)
        np.testing.assert_array_equal(labels, expected_labels)
        np.testing.assert_array_equal(scores, expected_scores)
        for shorter in (predictor(text, 2), predictor(text, k=2)):
            np.testing.assert_array_equal(shorter[0], labels[:2])


def test_a_predictor_serves_texts_to_many_threads(text_model):
    predictor = text_model.predictor(3)
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
    with pytest.raises(lt.errors.InputError):
        lt.load(saved).predictor()(*call)


def test_saved_and_loaded_models_answer_texts_alike(text_model, tmp_path):
    text_model.save(tmp_path / "text_model")
    for options in ({}, {"in_memory": True}, {"verify": True}):
        loaded = lt.load(tmp_path / "text_model", **options)
        assert_same_answers(text_model, loaded, TEST[0])
        assert repr(loaded.get_params()) == repr(text_model.get_params())
        assert repr(loaded.vectorizer_.get_params()) == repr(text_model.vectorizer_.get_params())
        np.testing.assert_array_equal(loaded.predictor(3)(TEST[0][0])[0], text_model.predictor(3)(TEST[0][0])[0])
    loaded.save(tmp_path / "again")
    files = {path.name for path in (tmp_path / "text_model").iterdir()}
    assert files == {path.name for path in (tmp_path / "again").iterdir()}
    for name in files:
        assert (tmp_path / "text_model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert_same_answers(text_model, pickle.loads(pickle.dumps(loaded)), TEST[0])


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
        with pytest.raises(
            lt.errors.InputError, match="fitted on a matrix and has no vectorizer or other encoder: pass"
        ):
            use(["some text"])
    with pytest.raises(lt.errors.InputError, match="no vectorizer"):
        matrix_model.predictor()("some text")
    with pytest.raises(lt.errors.InputError, match="X must be texts if a vectorizer is given"):
        lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer()).fit(*problem)
    with pytest.raises(lt.errors.InputError, match="a sequence of texts, or a matrix"):
        lt.load(saved).predict_topk("one text")
    with pytest.raises(lt.errors.InputError, match="put others before the model in a Pipeline"):
        lt.LabelTreeClassifier(vectorizer=Theirs()).fit(*TRAIN)
    with pytest.raises(lt.errors.InputError, match=r"X\[1\] must be a text"):
        lt.load(saved).predict_topk(["a", None])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None], r"X\[0\] must be a text, got None"),
        ([1, float("nan")], r"X\[1\] must be a text, got nan"),
        ([1], r"X\[0\] must be a text \(str\), because the model was fitted on texts, got 1"),
        (np.array([1.0]), r"X\[0\] must be a text \(str\), because"),
    ],
    ids=str,
)
def test_values_that_are_no_texts_are_named(saved, values, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.load(saved).predict_topk(values, 1)


def test_masked_points_are_refused():
    points = np.ma.masked_array(np.eye(3), np.eye(3) > 0)
    with pytest.raises(lt.errors.InputError, match="X must be an array without masked values"):
        lt.LabelTreeClassifier().fit(points, [["a"], ["b"], ["c"]])
    with pytest.raises(lt.errors.InputError, match="Y must be an array without masked values"):
        lt.LabelTreeClassifier().fit(np.eye(3), points)


def test_fitting_on_a_matrix_forgets_the_vectorizer(problem):
    model = lt.LabelTreeClassifier(fanout=4).fit(*TRAIN)
    assert model.vectorizer_ is not None
    assert model.fit(*problem).vectorizer_ is None


def test_a_pipeline_with_the_stock_vectorizer_works():
    stock = make_pipeline(Theirs(sublinear_tf=True, min_df=2, dtype=np.float32), lt.LabelTreeClassifier(fanout=4))
    own = make_pipeline(lt.TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32), clone(stock[-1]))
    whole = lt.LabelTreeClassifier(fanout=4, vectorizer=preset_vectorizer("words")).fit(*TRAIN)
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
            except (lt.errors.FileFormatError, lt.errors.InputError):
                outcomes["refused"] += 1
            if bytes(altered) != original:
                with pytest.raises(lt.errors.FileFormatError):
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
    with pytest.raises(lt.errors.FileFormatError, match="changed"):
        lt.load(path, verify=True)
    try:  # without verifying they are refused now or when a text comes, or harm nobody
        model = lt.load(path)
        model.predictor()("some rice and salt")
        model.predict_topk(TEST[0])
    except (lt.errors.FileFormatError, lt.errors.InputError):
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
    with pytest.raises(lt.errors.FileFormatError, match="changed"):
        lt.load(change(saved, tmp_path, settings))


def test_a_vectorizer_of_other_features_is_refused(saved, tmp_path):
    loaded = load_arrays(saved)
    other = lt.TfidfVectorizer(dtype=np.float32, stop_words=["how", "tea"]).fit(["one two three"])
    path = tmp_path / "changed"
    arrays = {**loaded.arrays, **other.get_state().arrays("vectorizer.")}
    save_arrays(path, "LabelTreeClassifier", loaded.manifest.parameters, arrays)
    with pytest.raises(lt.errors.FileFormatError, match="a vectorizer of 3 features for a model of"):
        lt.load(path)


def test_like_a_model_of_texts_of_a_log_keeps_the_features_of_the_log():
    vectorizer = lt.TfidfVectorizer().fit(["red apple", "green pear"])
    texts, labels = ["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5
    train = lt.Dataset(vectorizer.transform(texts), labels, encoder=lt.encoders.TextEncoder(vectorizer))
    again = lt.LabelTreeClassifier.like(lt.LabelTreeClassifier().fit(train)).fit(train)
    assert again.predict_topk(["green"], k=1)[0].tolist() == [["pear"]]
    other = lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer(lowercase=False))
    with pytest.raises(ValueError, match="X must be texts if a vectorizer is given"):
        other.fit(train)
