"""Options: those that several commands share, and options generated from settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import click
from click.core import ParameterSource

from labeltrees._settings import checks_of, settings_of
from labeltrees.cli.errors import ARGUMENTS
from labeltrees.errors import InputError
from labeltrees.models.common.settings import ClassifierSettings
from labeltrees.models.linear.settings import LabelTextUse, Solver
from labeltrees.tree.settings import TreeBuilder, TreeSettings

Decorator = Callable[[Any], Any]  # of a command

data_argument = click.argument("data", metavar="DATA")


def _model_folder(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    path = Path(value)
    if path.is_dir():
        return value
    fault = "is a file, not the folder of a model" if path.exists() else "no such model"
    message = f"{value}: {fault}; labeltrees fit, fit-text and choose write models"
    raise InputError(message)


model_argument = click.argument("model_folder", metavar="MODEL", callback=_model_folder)
output_option = click.option(
    "-o", "--output", metavar="MODEL", type=click.Path(), required=True, help="Folder to save the model in."
)
jobs_option = click.option(
    "--jobs", "n_jobs", type=int, default=-1, show_default=True, help="Number of threads; -1 for all cores."
)
seed_option = click.option(
    "--seed", "random_state", type=int, default=0, show_default=True, help="Random seed; the same seed repeats a run."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")


class NumberOrWord(click.ParamType[Any]):
    """A number, or one of the words in lower case in `metavar`; the word none means None.

    Examples
    --------
    >>> beam = NumberOrWord(int, "N|none")
    >>> beam.convert("7", None, None), beam.convert("none", None, None)
    (7, None)
    """

    name = "number or word"

    def __init__(self, kind: Callable[[str], Any], metavar: str) -> None:
        self._kind, self._words = kind, [word for word in metavar.split("|") if word.islower()]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, the word, or None."""
        if not isinstance(value, str) or (param is not None and value == param.default):
            return value
        if value.lower() in self._words:
            return None if value.lower() == "none" else value.lower()
        try:
            return self._kind(value)
        except ValueError:
            numbers = ["a whole number"] if self._kind is int else ["a number"]
            numbers = ["a whole number", "a share"] if self._kind is _count_or_share else numbers
            self.fail(f"{value!r} is neither {' nor '.join([*numbers, *map(repr, self._words)])}.", param, ctx)


def setting_options(
    cls: Any, *, only: Sequence[str] = (), skip: Collection[str] = (), defaults: Mapping[str, Any] | None = None
) -> Decorator:
    """Return a decorator that adds one option per setting of a settings class.

    The name, type, choices, default and help text of each option come from the field of the setting.

    Parameters
    ----------
    cls : settings class
        A dataclass with fields made by `labeltrees._settings.setting`.
    only : sequence of str
        The settings to offer, in this order; by default all, in the order of the class.
    skip : collection of str
        Settings that the command offers in another way, or not at all.
    defaults : mapping from str to value, optional
        Defaults of the command that differ from those of the class.
    """
    known = {item.name: item for item in settings_of(cls)}
    offered = [known[name] for name in only or known if name not in skip]
    return add_options([_setting_option(item, (defaults or {}).get(item.name, item.default)) for item in offered])


_LABEL_TEXT = "label_text_"  # before the names of the settings of `LabelTextUse`


def classifier_options(cls: Any, *, skip: Collection[str] = ()) -> Decorator:
    """Return a decorator that adds one option per parameter of a classifier, and per setting of their objects."""
    known = {item.name for item in settings_of(cls)}
    skip = ("tree", "label_texts", "vectorizer", *ClassifierSettings.__dataclass_fields__, *skip)
    options = [setting_options(cls, skip=skip)]
    options.append(setting_options(TreeBuilder, skip=("embeddings", *skip)))
    if "loss" in known:
        options.append(setting_options(Solver, skip=("loss",)))
        texts = settings_of(LabelTextUse)
        options.append(add_options([_setting_option(item, item.default, _LABEL_TEXT) for item in texts]))
    return add_options(options)


def classifier_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of `classifier_options` as arguments of `set_params` of the classifier."""
    of_tree, of_solver = checks_of(TreeBuilder), checks_of(Solver).keys() - {"loss"}
    parameters: dict[str, Any] = {}
    for name, value in given.items():
        if name.startswith(_LABEL_TEXT):
            parameters.setdefault("label_texts", {})[name.removeprefix(_LABEL_TEXT)] = value
        else:
            prefix = "tree__" if name in of_tree else "loss__" if name in of_solver else ""
            parameters[prefix + name] = value
    return parameters


def classifier_option_names(cls: Any) -> set[str]:
    """Return the names of all options of `classifier_options`."""
    names = {item.name for part in (cls, TreeBuilder, Solver) for item in settings_of(part)}
    names |= {_LABEL_TEXT + item.name for item in settings_of(LabelTextUse)}
    return names - ClassifierSettings.__dataclass_fields__.keys()


def add_options(options: list[Decorator]) -> Decorator:
    """Return a decorator that adds options, which the help shows in this order."""

    def decorate(command: Any) -> Any:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


def _setting_option(item: dataclasses.Field[Any], default: Any, prefix: str = "") -> Decorator:
    name = prefix + item.name
    flag = "--" + name.replace("_", "-")
    if default is True:
        flag += f"/--no-{name.replace('_', '-')}"
    return click.option(
        flag,
        name,
        type=_option_type(item, default),
        is_flag=isinstance(default, bool),
        metavar=item.metadata["metavar"],
        default=default,
        show_default=True,
        help=item.metadata["help"],
    )


def _option_type(item: dataclasses.Field[Any], default: Any) -> Any:
    if isinstance(default, bool):
        return bool
    if item.metadata["choices"]:
        return click.Choice(item.metadata["choices"])
    if isinstance(default, tuple):
        return tuple(type(part) for part in default)
    annotation = str(item.type)
    kind: Any = float if "float" in annotation else int if "int" in annotation or isinstance(default, int) else str
    kind = _count_or_share if annotation == "int | float" else kind
    return NumberOrWord(kind, item.metadata["metavar"]) if "|" in (item.metadata["metavar"] or "") else kind


def _count_or_share(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)


def is_given(name: str) -> bool:
    """Whether the user has set the parameter `name` of the running command."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def given_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the running command that the user has set."""
    return {name: value for name, value in parameters.items() if is_given(name)}


def refuse_option(option: str, beside: str, why: str) -> Never:
    """Raise the error for an option that cannot be combined with another option or with a kind of model."""
    message = f"{option} cannot be combined with {beside}: {why}"
    raise InputError(message)


def refuse_tree_options(fixed: str, given: Mapping[str, Any]) -> None:
    """Raise `InputError` if tree settings are given beside the option `fixed`, which already says which tree to use."""
    useless = next((item.name for item in settings_of(TreeSettings) if item.name in given), None)
    if useless is not None:
        refuse_option("--" + useless.replace("_", "-"), fixed, "no tree is built")


class Command(click.Command):
    """A command whose help shows its options in groups; `groups` has those that differ from other commands."""

    def __init__(self, *arguments: Any, groups: Mapping[str, str] | None = None, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._groups = groups or {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctx.meta[ARGUMENTS] = ctx.params  # all contexts of a run share `meta`
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in one section per group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups.setdefault(group_of(parameter.name or "", self._groups), []).append(record)
        for name in in_order(groups):
            with formatter.section("Options" if name == OWN_GROUP else name):
                formatter.write_dl(groups[name])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; commands that are too long for the terminal continue in the next line."""
        if self.epilog:
            lines = [
                part
                for line in inspect.cleandoc(self.epilog).split("\n")
                for part in fit_example(line, formatter.width)
            ]
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text("\n".join(lines))


def fit_example(line: str, width: int) -> list[str]:
    r"""Return an example of a command in lines that fit, broken before options with a backslash as shells want it.

    Examples
    --------
    >>> fit_example("  labeltrees fit train.txt -o products.model --tradeoff 1.2", 50)
    ['  labeltrees fit train.txt -o products.model \\', '      --tradeoff 1.2']
    """
    space = width - 4  # the help indents examples, and a backslash follows
    if len(line) <= space:
        return [line]
    cut = line.rfind(" -", 10, space)
    if cut < 0 or not line.lstrip().startswith(("labeltrees", "-")):
        return [line]
    return [line[:cut] + " \\", *fit_example(" " * 6 + line[cut + 1 :], width)]


OWN_GROUP = ""  # options that belong to one command come first
_GROUPS = {
    "Labels and scores": "candidates exclude exclude_seen label_weight proba threshold propensity",
    "Data": "text labels weight label_separator format test_share split_seed label_names "
    "feature_names index_base times vocabulary language",
    "Features of texts": "features analyzer ngram_range min_df max_df max_features stop_words stem strip_accents "
    "hashing",
    "Tree": "tree tree_file tradeoff tradeoffs fanout fanouts leaf_size smoothing cover covers cover_softness path "
    "paths weights_of tolerance",
    "Training": "preset normalize loss score_power C class_weight eps max_iter prune_below n_trees evidence "
    "trend label_text_embedding label_text_points label_text_weight dim lr epochs min_count word_ngrams min_n max_n "
    "buckets shuffle",
    "Search": "search beam agreement",
    "Memory and cluster": "max_memory cluster workers memory_per_worker work_folder in_parts points_per_part",
    "Running and output": "random_state n_jobs form csv_file plot as_json help",
}
_LOG_GROUPS = {
    "Columns of EVENTS": "context item weight time item_name feature_column feature_separator session time_format "
    "encoding separator",
    "Which events count": "since until min_engagement min_item_contexts drop_duplicates",
    "Points and their weights": "preset features history_before hide session_gap half_life period point_weights",
    "Training and test part": "test_share test_since",
}


def _by_name(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: group for group, names in groups.items() for name in names.split()}


_GROUP_OF = _by_name(_GROUPS)
SEARCH_GROUPS = {"evidence": "Search"}  # for commands that search with a model, and do not train one
LOG_GROUPS = _by_name(_LOG_GROUPS)  # for the commands about logs, whose options have other meanings


def group_of(name: str, other_groups: Mapping[str, str]) -> str:
    """Return the group of an option; `other_groups` come first.

    Examples
    --------
    >>> group_of("n_jobs", {}), group_of("leaf_size", {}), group_of("max_latency_us", {})
    ('Running and output', 'Tree', '')
    """
    return other_groups.get(name, _GROUP_OF.get(name, OWN_GROUP))


def in_order(groups: Iterable[str]) -> list[str]:
    """Return groups in the order of the help text: the command's own options first."""
    order = [OWN_GROUP, *_LOG_GROUPS, *_GROUPS]
    return sorted(groups, key=order.index)
