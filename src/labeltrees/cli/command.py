"""A command: help in groups, settings with --set, rare options with --help-all, and hints for removed options."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from labeltrees.cli.errors import ARGUMENTS

_ALL = "labeltrees.help_all"  # in `Context.meta`: whether --help-all was given
_SETTINGS = "Settings for --set NAME=VALUE"

# Removed options, and what to do instead. Settings for --set need no line here.
_GONE = {
    "--early-rounds": "leave it out, samples come first where there are enough points",
    "--no-early-rounds": "leave it out, samples come first where there are enough points",
    "--repeats": "leave it out, every model is timed in 5 rounds",
    "--temporary-folder": "use --work-folder FOLDER",
}


class RareOption(click.Option):
    """An option that only --help-all shows."""


rare_option = functools.partial(click.option, cls=RareOption)


class Setting(NamedTuple):
    """A setting for --set: how its value is read, and its line in the help."""

    type: click.ParamType[Any]
    default: Any
    help: str

    def read(self, text: str, option: click.Parameter, ctx: click.Context) -> Any:
        """Return the value that was typed; several values are separated by commas."""
        if isinstance(self.type, click.Tuple):
            parts = text.split(",")
            if len(parts) != len(self.type.types):
                self.type.fail(f"{text!r} must be {len(self.type.types)} values, such as {self.shown}.", option, ctx)
            return self.type(tuple(parts), option, ctx)
        is_none = text.lower() == "none" and self.default is None
        return None if is_none else self.type(text, option, ctx)

    @property
    def shown(self) -> str:
        """The default in the form that --set takes."""
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join("none" if value is None else str(value).lower() for value in values)


class SetOption(click.Option):
    """The option --set NAME=VALUE, for the settings in `settable`."""

    def __init__(self, settable: Mapping[str, Setting]) -> None:
        self.settable = settable
        super().__init__(
            ["--set"],
            metavar="NAME=VALUE",
            multiple=True,
            help="Any other setting; --help-all lists them. Repeat it for several.",
        )

    def read(self, ctx: click.Context, given: Iterable[str]) -> dict[str, Any]:
        """Return the settings that were given."""
        found = {}
        for text in given:
            name, is_pair, value = text.partition("=")
            if not is_pair:
                message = f"{text!r} must be NAME=VALUE."
                raise click.BadParameter(message, ctx, self)
            if name not in self.settable:
                near = difflib.get_close_matches(name, self.settable, n=3)
                hint = f"Did you mean {' or '.join(near)}?" if near else "--help-all lists the settings."
                message = f"there is no setting {name!r}. {hint}"
                raise click.BadParameter(message, ctx, self)
            try:
                found[name] = self.settable[name].read(value, self, ctx)
            except click.BadParameter as error:
                message = f"{name}: {error.message}"
                raise click.BadParameter(message, ctx, self) from None
        return found


class Command(click.Command):
    """A command whose help shows its options in groups; `groups` overrides the usual group of an option."""

    def __init__(self, *arguments: Any, groups: Mapping[str, str] | None = None, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._groups = groups or {}
        self.settable: Mapping[str, Setting] = getattr(self.callback, "__settable__", {})  # see `setting_options`
        if self._without_option():
            self.params.append(SetOption(self.settable))
        if any(isinstance(parameter, RareOption | SetOption) for parameter in self.params):
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show all options and settings, and exit.",
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; settings of --set become parameters like those that have options."""
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            new = self._new_way(error.option_name)
            if new is None:
                raise
            message = f"The option {error.option_name} is gone: {new}."
            raise click.UsageError(message, ctx) from None
        for option in self.params:
            if isinstance(option, SetOption):
                for name, value in option.read(ctx, ctx.params.pop("set")).items():
                    ctx.params[name] = value
                    ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
        return rest

    def _without_option(self) -> dict[str, Setting]:
        options = {parameter.name for parameter in self.params}
        return {name: own for name, own in self.settable.items() if name not in options}

    def _new_way(self, flag: str) -> str | None:
        """Return what to type instead of a removed option; None if there was no such option."""
        if flag in _GONE:
            return _GONE[flag]
        name = flag.removeprefix("--").replace("-", "_")
        if name in self.settable:
            return f"use --set {name}={'true' if self.settable[name].default is False else 'VALUE'}"
        name = name.removeprefix("no_")
        return f"use --set {name}=false" if name in self.settable else None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctx.meta[ARGUMENTS] = ctx.params  # all contexts of a run share `meta`
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, one section per group; --help-all also shows rare options and the settings for --set."""
        groups: dict[str, list[tuple[str, str]]] = {}
        with_all = ctx.meta.get(_ALL, False)
        for parameter in self.get_params(ctx):
            if isinstance(parameter, RareOption) and not with_all:
                continue
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                name = "help" if "--help" in parameter.opts else parameter.name or ""
                groups.setdefault(group_of(name, self._groups), []).append(record)
            if isinstance(parameter, SetOption) and with_all:
                groups[_SETTINGS] = [
                    (name, f"{own.help}  [default: {own.shown}]") for name, own in self._without_option().items()
                ]
        for name in in_order(groups):
            with formatter.section("Options" if name == OWN_GROUP else name):
                formatter.write_dl(groups[name])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; commands that are too long for the terminal continue on the next line."""
        if self.epilog:
            lines = [
                part
                for line in inspect.cleandoc(self.epilog).split("\n")
                for part in fit_example(line, formatter.width)
            ]
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text("\n".join(lines))


def _show_all(ctx: click.Context, _parameter: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def fit_example(line: str, width: int) -> list[str]:
    r"""Return an example command as lines that fit, broken before options with the backslash that shells need.

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
    "Labels and scores": "candidates exclude exclude_seen limit_per label_weight diversity proba threshold "
    "broader propensity",
    "Data": "text labels weight label_separator format test_share split_seed label_names "
    "feature_names index_base times vocabulary language within",
    "Features of texts": "features",
    "Tree": "tree tradeoff tradeoffs fanout fanouts covers paths",
    "Training": "preset like loss C n_trees evidence trend calibrate_share",
    "Search": "beam agreement",
    "Memory and cluster": "max_memory cluster workers memory_per_worker work_folder in_parts points_per_part",
    "Running and output": "random_state n_jobs form csv_file plot as_json set help help_all",
}
_LOG_GROUPS = {
    "Columns of EVENTS": "context item weight time item_name feature_column session",
    "Which events count": "period min_engagement min_item_contexts",
    "Points and their weights": "preset features history_before session_gap half_life",
    "Training and test part": "test_share test_since",
}


def _by_name(groups: Mapping[str, str]) -> dict[str, str]:
    return {name: group for group, names in groups.items() for name in names.split()}


_GROUP_OF = _by_name(_GROUPS)
SEARCH_GROUPS = {"evidence": "Search"}  # for commands that search and do not train
LOG_GROUPS = _by_name(_LOG_GROUPS)  # for the commands about logs, whose options have other meanings


def group_of(name: str, other_groups: Mapping[str, str]) -> str:
    """Return the group of an option; `other_groups` has precedence.

    Examples
    --------
    >>> group_of("n_jobs", {}), group_of("fanout", {}), group_of("max_latency_us", {})
    ('Running and output', 'Tree', '')
    """
    return other_groups.get(name, _GROUP_OF.get(name, OWN_GROUP))


def in_order(groups: Iterable[str]) -> list[str]:
    """Return groups in the order of the help text: the command's own options first."""
    order = [OWN_GROUP, *_LOG_GROUPS, *_GROUPS, _SETTINGS]
    return sorted(groups, key=order.index)
