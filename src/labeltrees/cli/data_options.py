"""Options for DATA: fields, format, names, how one file is split, features of texts, and texts of labels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from labeltrees._settings import settings_of
from labeltrees.cli.command import rare_option
from labeltrees.cli.options import Decorator, add_options, option_of, refuse_option, setting_options
from labeltrees.data import TfidfVectorizer
from labeltrees.data.label_relations import Vocabulary
from labeltrees.data.read_data import DataOptions
from labeltrees.data.text_formats import AUTO, FORMATS, TextFields
from labeltrees.data.tfidf import PRESETS, preset_vectorizer
from labeltrees.data.vocabulary import read_vocabulary
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model

_FIELD_OPTIONS = [
    click.option(
        "--text",
        metavar="FIELD",
        multiple=True,
        default=("text",),
        show_default="text",
        help="Field with the text, if DATA has texts. Repeat it to join several fields.",
    ),
    click.option("--labels", metavar="FIELD", default="labels", show_default=True, help="Field with the labels."),
    rare_option("--weight", metavar="FIELD", help="Field with the weight of each point. [default: none]"),
    rare_option(
        "--label-separator",
        default=AUTO,
        show_default="; or | if most strings have it, else a comma",
        help="Separates labels in a string; put a label that contains it in quotes.",
    ),
    rare_option(
        "--data-format",
        "format",
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
    rare_option(
        "--index-base",
        type=click.Choice(["auto", "0", "1"]),
        default="auto",
        show_default=True,
        callback=lambda _context, _parameter, value: value if value == "auto" else int(value),
        help="First id in an XMC file; auto: 1 only if an id equals the number of features or labels.",
    ),
]
_NAME_OPTIONS = [
    rare_option(
        "--label-names",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the name of label i in line i. [default: labels.txt if DATA is a folder]",
    ),
    rare_option(
        "--feature-names",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the name of feature i in line i. [default: features.txt if DATA is a folder]",
    ),
]
_split_seed_option = rare_option(
    "--seed",
    "split_seed",
    type=int,
    default=0,
    show_default=True,
    help="Random seed of --test-share; use the seed of the training.",
)


def data_options(names: bool = True) -> Decorator:
    """Return a decorator that adds the options for DATA; the command gets them as one DataOptions named `reading`.

    If the command has --seed, it is also the seed of the split. `names` adds --label-names and --feature-names.
    """

    def decorate(command: Any) -> Any:
        has_seed = any(parameter.name == "random_state" for parameter in getattr(command, "__click_params__", ()))

        @functools.wraps(command)
        def packed(*arguments: Any, **given: Any) -> Any:
            fields = TextFields.of(*(given.pop(name) for name in ("text", "labels", "weight", "label_separator")))
            seed = given["random_state"] if has_seed else given.pop("split_seed")
            files = {name: given.pop(name) for name in ("label_names", "feature_names") if names}
            others = {name: given.pop(name) for name in ("format", "test_share", "index_base")}
            return command(*arguments, reading=DataOptions(fields, random_state=seed, **others, **files), **given)

        offered = [*_FIELD_OPTIONS, *(_NAME_OPTIONS if names else []), *([] if has_seed else [_split_seed_option])]
        return add_options(offered)(packed)

    return decorate


# Settings of the vectorizer that commands do not offer: functions, tables, and values that the library chooses.
_SKIPPED = ("input", "preprocessor", "tokenizer", "vocabulary", "dtype", "union", "n_jobs")
_NAMES = tuple(item.name for item in settings_of(TfidfVectorizer) if item.name not in _SKIPPED)

features_option = click.option(
    "--features",
    type=click.Choice(list(PRESETS)),
    metavar="KINDS",
    help=f"Kinds of terms: {', '.join(PRESETS)}; pieces have 4 characters, chars 3 and 4. [default: words; for short "
    "texts words+pieces]",
)


def vectorizer_options(command: Any) -> Any:
    """Add --features and the settings of the vectorizer; the command gets a vectorizer, or None, as `vectorizer`."""

    @functools.wraps(command)
    def packed(*arguments: Any, features: str | None, **given: Any) -> Any:
        changed = {name: given.pop(name) for name in _NAMES if name in given}
        if changed.get("hashing") is not None:
            changed = {"min_df": 1, **changed}
        for name in ("analyzer", "ngram_range"):
            if name in changed and features not in (None, "words"):
                refuse_option(option_of(name), "--features", "it already says which terms to use")
        vectorizer = preset_vectorizer(features or "words").set_params(**changed) if changed or features else None
        return command(*arguments, vectorizer=vectorizer, **given)

    defaults = preset_vectorizer().get_params()
    return features_option(setting_options(TfidfVectorizer, only=_NAMES, defaults=defaults)(packed))


TitleOf = Callable[[int], str | None]  # from a label id to its title


within_option = rare_option(
    "--within",
    metavar="NAME",
    multiple=True,
    help="Only labels of this scheme, type or collection of the SKOS vocabulary; other labels of DATA are left out. "
    "Repeat it for several.",
)


def read_labels_within(vocabulary: str | None, language: str | None, within: tuple[str, ...]) -> Vocabulary | None:
    """Return the vocabulary, limited to the labels of --within; None without a vocabulary."""
    if vocabulary is None and within:
        message = "--within names a part of a vocabulary: add --vocabulary FILE"
        raise InputError(message)
    return None if vocabulary is None else read_vocabulary(vocabulary, language, within=within or None)


def vocabulary_options(*flags: str, help: str) -> Decorator:
    """Return a decorator that adds --language and --vocabulary, which also has the names in `flags`."""
    file = click.option(*flags, "--vocabulary", "vocabulary", type=click.Path(exists=True, dir_okay=False), help=help)
    language = rare_option("--language", metavar="CODE", help="Language of the vocabulary's texts, such as en.")
    return add_options([file, language])


def titles_of(model: Model, vocabulary: str | None, language: str | None) -> TitleOf | None:
    """Return the function from label ids to titles, of the vocabulary or else of the model; None without titles."""
    if vocabulary is None:
        stored = getattr(model, "label_texts_", None)
        return None if stored is None else stored.title
    texts = read_vocabulary(vocabulary, language)
    names: Any = model.label_names_

    def title(label: int) -> str | None:
        found = texts.get(str(label) if names is None else names[label])
        return found[0] if found else None

    return title
