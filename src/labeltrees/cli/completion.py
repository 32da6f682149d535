"""labeltrees completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from labeltrees.cli.command import Command

_EPILOG = """\b
Examples:
  eval "$(labeltrees completion bash)"                                   # in ~/.bashrc
  eval "$(labeltrees completion zsh)"                                    # in ~/.zshrc
  labeltrees completion fish > ~/.config/fish/completions/labeltrees.fish
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets a SHELL complete commands and options with the Tab key."""
    kind = get_completion_class(shell)
    if kind is None:  # click knows all three
        raise click.UsageError(shell)
    # Not `source()`, which starts bash to check its version.
    completer = kind(ctx.find_root().command, {}, "labeltrees", "_LABELTREES_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())
