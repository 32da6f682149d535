"""Names of features of texts, for the parameter `vectorizer` of `LabelTreeClassifier` and of `read_texts`.

All have sublinear tf-idf of terms that occur in at least two texts. Pairs of words and pieces of 3 or 4 characters
within words find more, and take more memory.

Examples
--------
>>> import labeltrees as lt
>>> lt.LabelTreeClassifier(vectorizer=lt.features.WORDS_PAIRS_CHARS)
LabelTreeClassifier(vectorizer='words+pairs+chars')
"""

WORDS = "words"
WORDS_PAIRS = "words+pairs"
WORDS_CHARS = "words+chars"
WORDS_PAIRS_CHARS = "words+pairs+chars"
CHARS = "chars"

__all__ = ["CHARS", "WORDS", "WORDS_CHARS", "WORDS_PAIRS", "WORDS_PAIRS_CHARS"]
