"""The settings of the text model: its tree, and fastText's training parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from labeltrees._settings import check_settings, flag, integer, number, setting, with_default
from labeltrees._validation import refuse
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.settings import TreeBuilder, TreeSettings, check_tree

TREES = ("huffman", "fano", "semantic_huffman", "random")
# Parameters of earlier versions, with what to do instead.
GONE = {item.name: f"give tree=lt.TreeBuilder({item.name}=...)" for item in fields(TreeBuilder)}
GONE_FROM_FIT = {"label_names": "give one Dataset, fit(lt.Dataset(texts, Y, label_names=...))"}


def _check_tree(name: str, value: Any) -> None:
    check_tree(name, value, names=TREES)


@dataclass(eq=False, kw_only=True)
class TextTreeSettings:
    """The tree of the text model; `TextLabelTreeClassifier` explains each setting."""

    tradeoff: float = with_default(TreeSettings, "tradeoff", 1.0)
    tree: LabelTree | TreeBuilder | str | None = setting(
        None, _check_tree, "A tree, or how it is built.", choices=TREES
    )


@dataclass(eq=False, kw_only=True)
class TextSettings:
    """How texts become vectors and how these are trained; `TextLabelTreeClassifier` explains each setting."""

    dim: int = setting(128, integer(1, 2**16), "Length of the vectors.")
    lr: float = setting(0.5, number(0, 1e6, low_open=True), "Initial learning rate; it falls linearly to 0.")
    epochs: int = setting(25, integer(0), "Number of passes over the texts.")
    min_count: int = setting(2, integer(0, 2**62), "Words that occur less often are left out.")
    word_ngrams: int = setting(2, integer(1, 1000), "Maximum length of word n-grams; 1 for single words.")
    min_n: int = setting(0, integer(0, 1000), "Minimum length of character n-grams.")
    max_n: int = setting(0, integer(0, 1000), "Maximum length of character n-grams; 0 for none.")
    shuffle: bool = setting(True, flag, "Read the texts in a new random order in every epoch; fastText does not.")
    buckets: int = setting(2_000_000, integer(0), "Number of buckets that n-grams are hashed into.")


def check_text_settings(settings: TextSettings) -> None:
    """Raise `InputError` for the first invalid setting; `settings` may be a classifier."""
    check_settings(settings)
    if settings.buckets == 0 and _has_ngrams(settings):
        refuse("buckets", "at least 1 if there are n-grams", settings.buckets)


def buckets_in_use(settings: TextSettings) -> int:
    """Return the number of buckets; 0 without n-grams."""
    return int(settings.buckets) if _has_ngrams(settings) else 0


def _has_ngrams(settings: TextSettings) -> bool:
    return settings.word_ngrams > 1 or settings.max_n > 0
