import pytest

from labeltrees.errors import InputError
from labeltrees.models.text.settings import TextSettings, buckets_in_use, check_text_settings


def test_buckets_are_needed_only_for_ngrams():
    assert buckets_in_use(TextSettings(word_ngrams=1)) == 0
    assert buckets_in_use(TextSettings(word_ngrams=2, buckets=7)) == 7
    assert buckets_in_use(TextSettings(word_ngrams=1, max_n=3, buckets=7)) == 7
    check_text_settings(TextSettings(word_ngrams=1, buckets=0))
    with pytest.raises(InputError, match="buckets must be at least 1 if there are n-grams, got 0"):
        check_text_settings(TextSettings(buckets=0))
