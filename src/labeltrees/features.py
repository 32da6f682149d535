"""Names of text features, for the parameter `vectorizer` of `LabelTreeClassifier` and of `read_texts`.

All use sublinear tf-idf of terms that occur in at least two texts. Word pairs, and character n-grams of length 3 and 4
within words, can improve accuracy but take more memory.

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
