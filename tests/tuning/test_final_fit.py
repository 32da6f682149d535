"""The final training of a choice keeps what belongs to the data."""

import labeltrees as lt
from labeltrees.tuning.final_fit import fit_on_all
from labeltrees.tuning.tuning_data import as_tuning_data

BASKETS = [["milk", "bread"], ["bread", "jam"], ["milk"], ["jam"]] * 5


def test_a_chosen_model_takes_what_the_encoder_of_the_data_takes():
    encoder = lt.ItemEncoder(["milk", "bread", "jam"])
    Y = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]] * 5
    train = lt.Dataset(encoder.transform(BASKETS), Y, label_names=["milk", "bread", "jam"], encoder=encoder)
    estimator = lt.LabelTreeClassifier()
    model = fit_on_all(estimator, as_tuning_data(train, "train", estimator), n_jobs=1)
    assert model.encoder_ is encoder
    names, _ = model.predictor(1, names=True, exclude_seen=True)(["milk"])
    assert names == lt.LabelTreeClassifier().fit(train).predictor(1, names=True, exclude_seen=True)(["milk"])[0]


def test_a_chosen_model_of_texts_takes_texts():
    texts = ["red wine", "white wine", "red shoes", "white shoes"] * 3
    vectorizer = lt.TfidfVectorizer().fit(texts)
    encoder = lt.TextEncoder(vectorizer)
    train = lt.Dataset(encoder.transform(texts), [[1, 0], [1, 0], [0, 1], [0, 1]] * 3, encoder=encoder)
    estimator = lt.LabelTreeClassifier()
    model = fit_on_all(estimator, as_tuning_data(train, "train", estimator), n_jobs=1)
    assert model.predictor(1)("red wine")[0].tolist() == [0]
