"""One long text does not keep the memory of its processing."""

import ctypes
import os
import sys

import numpy as np
import pytest

import labeltrees as lt

TEXTS = ["red cat", "red dog", "blue cat", "blue dog"] * 3
LABELS = [[text.split()[1]] for text in TEXTS]
MEGABYTE = 1 << 20


def resident_bytes():
    ctypes.CDLL(None).malloc_trim(0)  # what was freed is given to the system now, not later
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="AddressSanitizer keeps freed memory")
@pytest.mark.parametrize(
    "make_model",
    [
        lambda: lt.LabelTreeClassifier(),
        lambda: lt.LabelTreeClassifier(
            vectorizer=lt.TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), hashing=1000)
        ),
        lambda: lt.TextLabelTreeClassifier(dim=4, epochs=1, min_count=1, buckets=1000, min_n=2, max_n=4),
    ],
    ids=["words", "characters", "text model"],
)
def test_the_memory_of_a_long_text_is_released(make_model):
    model = make_model().fit(TEXTS, LABELS)
    answer = model.predictor(2)
    expected = answer("red cat")[0]
    before = resident_bytes()
    long = "red cat blue dog " * (10 * MEGABYTE // 17)
    answer(long)
    model.predict_topk([long], 2)
    del long
    assert resident_bytes() - before < 24 * MEGABYTE  # without giving it back, 70 MB and more
    np.testing.assert_array_equal(answer("red cat")[0], expected)
