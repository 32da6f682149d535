"""Functions of the user, lists of tokens and stems, against scikit-learn."""

import pickle
import sys
import types

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer as Theirs

import labeltrees as lt
from labeltrees.data.tfidf_files import tfidf_from_files, tfidf_to_files

CORPUS = ["Brown rice, brown RICE", "Kuinka keitän riisiä?", "rice-cooker and rice", ""]


def shout(text):
    return text.upper().replace(",", " , ")


def pairs(text):
    return (text[i : i + 2] for i in range(0, len(text), 2))


@pytest.mark.parametrize(
    "parameters",
    [
        {"tokenizer": str.split},
        {"tokenizer": str.split, "ngram_range": (1, 3), "stop_words": ["and"], "lowercase": False},
        {"tokenizer": pairs, "strip_accents": "unicode"},
        {"preprocessor": shout},
        {"preprocessor": shout, "tokenizer": str.split, "ngram_range": (2, 2)},
        {"preprocessor": shout, "analyzer": "char_wb", "ngram_range": (2, 3)},
        {"preprocessor": shout, "analyzer": "char"},
        {"analyzer": pairs},
        {"analyzer": str.split, "max_features": 3, "sublinear_tf": True},
        {"token_pattern": r"\w+-\w+|\S+"},
        {"token_pattern": r"(\w)\w+", "stop_words": ["r"]},
    ],
    ids=str,
)
def test_functions_give_scikit_learns_rows(parameters):
    ours = lt.TfidfVectorizer(**parameters, nfc=False)
    theirs = Theirs(**parameters)
    if parameters.get("tokenizer") is not None:
        theirs.set_params(token_pattern=None)  # it would warn
    rows, expected = ours.fit_transform(CORPUS), theirs.fit_transform(CORPUS)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(rows.toarray(), expected.toarray())
    for text in CORPUS:
        assert list(ours.build_analyzer()(text)) == list(theirs.build_analyzer()(text))
    np.testing.assert_allclose(ours.transform(CORPUS[1:]).toarray(), theirs.transform(CORPUS[1:]).toarray())


def test_a_function_may_take_any_object():
    ours = lt.TfidfVectorizer(analyzer=dict.keys, norm=None, use_idf=False)
    assert ours.fit_transform([{"a": 1, "b": 2}, {"b": 3}]).toarray().tolist() == [[1, 1], [0, 1]]


def test_functions_work_in_a_part_of_a_union():
    ours = lt.TfidfVectorizer(union=[{}, {"analyzer": pairs}, {"tokenizer": str.split}], nfc=False)
    rows = ours.fit_transform(CORPUS)
    plain, of_pairs, split = (
        Theirs(),
        Theirs(analyzer=pairs),
        Theirs(tokenizer=str.split, token_pattern=None),
    )
    expected = np.hstack([part.fit_transform(CORPUS).toarray() for part in (plain, of_pairs, split)])
    np.testing.assert_allclose(rows.toarray(), expected)


def test_errors_of_a_function_come_through():
    def broken(text):
        message = "gone"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="gone"):
        lt.TfidfVectorizer(tokenizer=broken).fit(CORPUS)
    with pytest.raises(lt.errors.InputError, match=r"texts\[0\]: token 0 must be a string, got int"):
        lt.TfidfVectorizer(analyzer=lambda text: [3]).fit(CORPUS)
    with pytest.raises(lt.errors.InputError, match="a function that returns a string"):
        lt.TfidfVectorizer(preprocessor=lambda text: 3, analyzer="char").fit(CORPUS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"analyzer": str.split, "ngram_range": (1, 2)}, "'ngram_range' will not be used since 'analyzer' is callable"),
        ({"analyzer": str.split, "preprocessor": str.upper}, "'preprocessor' will not be used"),
        ({"analyzer": "char", "tokenizer": str.split}, "'tokenizer' will not be used since 'analyzer' != 'word'"),
        ({"tokenizer": str.split, "token_pattern": "a+"}, "'token_pattern' will not be used since 'tokenizer'"),
        ({"analyzer": "char", "stem": "german"}, "'stem' will not be used"),
    ],
    ids=str,
)
def test_unused_parameters_are_named(parameters, message):
    with pytest.warns(UserWarning, match=message):
        lt.TfidfVectorizer(**parameters).fit(CORPUS)


# Lists of tokens.


def test_tokens_are_not_changed():
    documents = [["Brown rice", "RICE", "and", "tea"], ["tea", ""], [], ("tea",)]
    ours = lt.TfidfVectorizer(ngram_range=(1, 2), stop_words=["and"])
    theirs = Theirs(ngram_range=(1, 2), stop_words=["and"], tokenizer=list, token_pattern=None, preprocessor=list)
    rows = ours.fit_transform(documents)
    assert ours.get_feature_names_out().tolist() == theirs.fit(documents).get_feature_names_out().tolist()
    np.testing.assert_allclose(rows.toarray(), theirs.transform(documents).toarray())


def test_texts_and_tokens_may_be_mixed():
    ours = lt.TfidfVectorizer().fit(["brown rice", "tea"])
    rows = ours.transform(["Brown rice", ["brown", "rice"]]).toarray()
    np.testing.assert_array_equal(rows[0], rows[1])
    both = lt.TfidfVectorizer(union=[{}, {"ngram_range": (2, 2)}]).fit([["brown", "rice"], ["tea", "pot"]])
    assert both.transform([["brown", "rice"]]).nnz == 3


def test_tokens_need_words():
    with pytest.raises(lt.errors.InputError, match=r"texts\[0\] is a list of tokens, which only analyzer='word' takes"):
        lt.TfidfVectorizer(analyzer="char").fit([["a"]])
    with pytest.raises(lt.errors.InputError, match=r"texts\[1\] is a list of tokens"):
        lt.TfidfVectorizer(union=[{}, {"analyzer": "char"}]).fit(["aa bb"]).transform(["aa", ["bb"]])
    with pytest.raises(lt.errors.InputError, match=r"texts\[0\]: token 1 must be a string, got int"):
        lt.TfidfVectorizer().fit([["a", 3]])


def test_a_model_fitted_on_tokens_takes_tokens(tmp_path):
    documents = [["brown", "rice"], ["green", "tea"], ["brown", "bread"]] * 2
    model = lt.LabelTreeClassifier(vectorizer=lt.TfidfVectorizer()).fit(documents, [["a"], ["b"], ["c"]] * 2)
    model.save(tmp_path / "model")
    for copy in (model, lt.load(tmp_path / "model")):
        assert copy.predict_topk(documents[:3], 1)[0].tolist() == [["a"], ["b"], ["c"]]
        assert copy.predict_topk(["green tea"], 1)[0].tolist() == [["b"]]
        assert copy.predictor(1, names=True)(["green", "tea"])[0] == ["b"]


def test_a_model_fitted_on_texts_takes_no_list_for_a_text():
    model = lt.LabelTreeClassifier().fit(["brown rice", "green tea"] * 2, [["a"], ["b"]] * 2)
    with pytest.raises(lt.errors.InputError, match="pass one context per call"):
        model.predictor(1)(["green tea"])


# Stems.


@pytest.fixture
def stemmer(monkeypatch):
    """A stand-in for PyStemmer that cuts words to four letters."""

    class Stemmer:
        def __init__(self, language, max_cache_size=10_000):
            if language != "german":
                raise KeyError(language)

        def stemWords(self, words):
            return [word[:4] for word in words]

    module = types.SimpleNamespace(Stemmer=Stemmer, algorithms=lambda: ["german"])
    monkeypatch.setitem(sys.modules, "Stemmer", module)


def test_words_are_replaced_by_their_stems(stemmer):
    ours = lt.TfidfVectorizer(stem="german", ngram_range=(1, 2), stop_words=["und"])
    ours.fit(["Häuser und Häusern", "unde"])
    assert ours.get_feature_names_out().tolist() == ["häus", "häus häus", "unde"]
    with pytest.raises(lt.errors.InputError, match="stem must be one of german"):
        lt.TfidfVectorizer(stem="klingon").fit(CORPUS)
    split = lt.TfidfVectorizer(stem="german", tokenizer=str.split).fit(["Brown-rice x"])
    assert split.get_feature_names_out().tolist() == ["brow", "x"]


def test_a_saved_model_stems(stemmer, tmp_path):
    vectorizer = lt.TfidfVectorizer(stem="german")
    lt.LabelTreeClassifier(vectorizer=vectorizer).fit(["Häuser", "Bäume"] * 2, [["a"], ["b"]] * 2).save(tmp_path / "m")
    model = lt.load(tmp_path / "m", verify=True)
    assert model.vectorizer_.stem == "german"
    assert model.predict_topk(["Häusern"], 1)[0].tolist() == [["a"]]
    assert model.predictor(1, names=True)("Häusern")[0] == ["a"]


def test_stems_are_snowballs():
    pytest.importorskip("Stemmer")
    ours = lt.TfidfVectorizer(stem="german").fit(["Die Häuser und die Häusern"])
    assert ours.get_feature_names_out().tolist() == ["die", "haus", "und"]
    with pytest.raises(lt.errors.InputError, match=r"stem must be one of .*finnish"):
        lt.TfidfVectorizer(stem="klingon").fit(CORPUS)


def test_without_the_extra_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(lt.errors.MissingExtraError, match=r"pip install labeltrees\[stem\]"):
        lt.TfidfVectorizer(stem="german").fit(CORPUS)


# Saved models.


def test_a_model_with_functions_is_pickled_not_saved(tmp_path):
    vectorizer = lt.TfidfVectorizer(tokenizer=on_spaces)
    model = lt.LabelTreeClassifier(vectorizer=vectorizer).fit(["a-b c", "d e-f"] * 2, [["x"], ["y"]] * 2)
    with pytest.raises(lt.errors.InputError, match=r"the tokenizer of its vectorizer is a function. Pickle the model"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_topk(["e-f"], 1)[0].tolist() == [["y"]]
    assert copy.predictor(1, names=True)("e-f")[0] == ["y"]


def on_spaces(text):
    return text.split()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "tokenizer",
            {"function": "os:system"},
            "the function 'os:system'; models with functions are no",
        ),
        ("input", "filename", "reads files .* Fit the model again on the texts themselves"),
    ],
)
def test_saved_vectorizers_with_steps_that_are_gone_say_what_to_do(name, value, message):
    settings, arrays = tfidf_to_files(lt.TfidfVectorizer().fit(["a bc", "bc d"]), "v.")
    with pytest.raises(lt.errors.FileFormatError, match=f"^here: .*{message}"):
        tfidf_from_files({**settings, name: value}, arrays, "v.", "here")
