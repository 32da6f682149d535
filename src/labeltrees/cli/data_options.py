"""Options for DATA with texts: fields, format, and how one file is split."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from labeltrees.cli.options import Decorator, add_options, given_options, refuse_option, setting_options
from labeltrees.cli.text_data import TextOptions
from labeltrees.data import TfidfVectorizer
from labeltrees.data.text_formats import FORMATS, TextFields
from labeltrees.data.tfidf_presets import PRESETS, preset_vectorizer
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.models.common.protocol import Model

_OPTIONS = [
    click.option(
        "--text",
        "text_names",
        metavar="FIELD",
        multiple=True,
        default=("text",),
        show_default="text",
        help="Field with the text, if DATA has texts. Repeat it to join several fields.",
    ),
    click.option(
        "--labels", "label_field", metavar="FIELD", default="labels", show_default=True, help="Field with the labels."
    ),
    click.option(
        "--weight", "weight_field", metavar="FIELD", help="Field with the weight of each point. [default: none]"
    ),
    click.option(
        "--label-separator",
        default=",",
        show_default=True,
        help="Separates labels in a string; put a label that contains it in quotes.",
    ),
    click.option(
        "--data-format",
        type=click.Choice(["auto", *FORMATS]),
        default="auto",
        show_default=True,
        help="Format of texts; auto: by the name of the file. Any other file must be in XMC format.",
    ),
    click.option(
        "--test-share",
        type=float,
        help="Split one file at random: this share is the test part, the rest is the training part.",
    ),
]
_split_seed_option = click.option(
    "--seed",
    "split_seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed of --test-share; use the seed of the training.",
)


def text_options(command: Any) -> Any:
    """Add the options for DATA with texts; the command gets them as one TextOptions named `texts`.

    If the command has a seed, it is also the seed of the split.
    """
    has_seed = any(parameter.name == "random_state" for parameter in getattr(command, "__click_params__", ()))

    @functools.wraps(command)
    def packed(*arguments: Any, **given: Any) -> Any:
        fields = TextFields.of(
            given.pop("text_names"), given.pop("label_field"), given.pop("weight_field"), given.pop("label_separator")
        )
        seed = given["random_state"] if has_seed else given.pop("split_seed")
        texts = TextOptions(fields, given.pop("data_format"), given.pop("test_share"), seed)
        return command(*arguments, texts=texts, **given)

    return add_options([*_OPTIONS, *([] if has_seed else [_split_seed_option])])(packed)


_NAMES = (
    "analyzer",
    "ngram_range",
    "min_df",
    "max_df",
    "max_features",
    "stop_words",
    "stem",
    "strip_accents",
    "hashing",
)

features_option = click.option(
    "--features",
    type=click.Choice(list(PRESETS)),
    default="words",
    show_default=True,
    help="Kinds of terms: words, pairs of words, and pieces of 3 or 4 characters within words.",
)


def vectorizer_options(command: Any) -> Any:
    """Add the options; the command gets a vectorizer, or None if no option is given, as `vectorizer`."""

    @functools.wraps(command)
    def packed(*arguments: Any, features: str, **given: Any) -> Any:
        changed = given_options({name: given.pop(name) for name in _NAMES})
        if changed.get("hashing") is not None:
            changed = {"min_df": 1, **changed}
        for name in ("analyzer", "ngram_range"):
            if name in changed and features != "words":
                refuse_option(f"--{name.replace('_', '-')}", "--features", "it already says which terms to use")
        vectorizer = preset_vectorizer(features).set_params(**changed) if changed or features != "words" else None
        return command(*arguments, vectorizer=vectorizer, **given)

    defaults = preset_vectorizer().get_params()
    return features_option(setting_options(TfidfVectorizer, only=_NAMES, defaults=defaults)(packed))


TitleOf = Callable[[int], str | None]  # what people call a label, by its id


def vocabulary_options(*flags: str, help: str) -> Decorator:
    """Return the options --vocabulary (with other `flags` for it) and --language."""
    file = click.option(*flags, "--vocabulary", "vocabulary", type=click.Path(exists=True, dir_okay=False), help=help)
    language = click.option("--language", metavar="CODE", help="Language of the vocabulary's texts, such as en.")
    return add_options([file, language])


def titles_of(model: Model, vocabulary: str | None, language: str | None) -> TitleOf | None:
    """Return the function from labels to titles: of the vocabulary, or else of the model; None if there are none."""
    if vocabulary is None:
        stored = getattr(model, "label_texts_", None)
        return None if stored is None else stored.title
    texts = read_vocabulary(vocabulary, language)
    names: Any = model.label_names_

    def title(label: int) -> str | None:
        found = texts.get(str(label) if names is None else names[label])
        return found[0] if found else None

    return title
