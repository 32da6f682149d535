"""What all commands share: options in groups in the help text, and their arguments kept for error messages."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import click

from labeltrees.cli.option_groups import OWN_GROUP, group_of, in_order

_ARGUMENTS = "labeltrees.arguments"


class Command(click.Command):
    """A command whose help shows its options in groups; `groups` has those that differ from other commands."""

    def __init__(self, *arguments: Any, groups: Mapping[str, str] | None = None, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._groups = groups or {}

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        ctx.meta[_ARGUMENTS] = ctx.params  # all contexts of a run share `meta`
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


def arguments_of(ctx: click.Context) -> dict[str, Any]:
    """Return the arguments of the command that ran; empty if it did not get so far."""
    found: dict[str, Any] = ctx.meta.get(_ARGUMENTS, {})
    return found
