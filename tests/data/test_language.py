"""Which language texts are in."""

import pytest

from labeltrees.data.tfidf_state import detect_language

SENTENCES = {
    "english": "How to cook the rice that is left from the day before",
    "german": "Die Geschichte der Stadt und das Leben der Menschen in den Dörfern",
    "french": "Une histoire des villes et des villages dans le sud de la France",
    "spanish": "Los pueblos del norte y las ciudades del sur en el siglo XX",
    "dutch": "Het leven van een boer in de stad en op het land met zijn familie",
    "swedish": "Livet på landet och i staden för en bonde som inte har något hus",
    "italian": "La storia della città e dei paesi nel sud che non sono più abitati",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_the_language_of_a_text(language):
    assert detect_language([SENTENCES[language]]) == language


def test_most_texts_decide():
    assert detect_language([SENTENCES["german"]] * 5 + [SENTENCES["english"]]) == "german"


@pytest.mark.parametrize("texts", [[], [""], ["libc6 gcc-12 g++"], ["1 2 3"]])
def test_texts_without_function_words_have_no_language(texts):
    assert detect_language(texts) is None
