"""The language of texts, from their most frequent function words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

# The most frequent words of each language, without those that several of them share.
_WORDS = {
    "danish": "og af til på der ikke med det har fra jeg også være eller efter",
    "dutch": "het een van en niet voor met zijn dat aan door ook naar uit bij",
    "english": "the of and to in is for with on how from that what are an",
    "finnish": "ja on ei se että hän oli mutta kun joka tai olla sekä ovat myös",
    "french": "les des et une du dans pour qui sur est par avec au aux pas",
    "german": "der die und das von zu mit für auf ist den dem nicht ein eine",
    "hungarian": "az és hogy nem egy ez volt is meg csak vagy mint már még",
    "italian": "il di che della per una con nel gli alla non sono dei delle dal",
    "norwegian": "og av til på ikke med det har fra jeg også være eller etter",
    "portuguese": "os do da em não uma para com dos das ao pelo mais como foi",
    "romanian": "și în de la cu pe din pentru care este nu sau ale prin",
    "russian": "и в не на что по как из для это от или при",
    "spanish": "el los las del y en una con por que para se al lo más",
    "swedish": "och av till på inte med det har från jag också vara eller efter är",
    "turkish": "ve bir bu için ile da de olarak daha çok en gibi kadar sonra",
}
_N_TEXTS, _LEAST_SHARE, _MARGIN = 2000, 0.03, 1.3


def detect_language(texts: Iterable[str]) -> str | None:
    """Return the language that most texts are in, as Snowball names it; None if it is not clear.

    Examples
    --------
    >>> detect_language(["How to cook rice in the oven", "A history of the city and its people"])
    'english'
    >>> detect_language(["7f3a 99c2", "x1 y2 z3"]) is None
    True
    """
    counts: Counter[str] = Counter()
    for text in islice(texts, _N_TEXTS):
        counts.update(re.findall(r"\w+", str(text).lower()))
    total = sum(counts.values())
    found = {language: sum(counts[word] for word in words.split()) for language, words in _WORDS.items()}
    (best, most), (_, second), *_ = sorted(found.items(), key=lambda item: -item[1])
    is_clear = total > 0 and most >= _LEAST_SHARE * total and most >= _MARGIN * second
    return best if is_clear else None
