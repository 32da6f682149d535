"""The command `labeltrees` with all its subcommands."""

from __future__ import annotations

import difflib
import logging
import sys
import traceback
from importlib import import_module
from typing import Any

import click
from click.shell_completion import get_completion_class

import labeltrees
from labeltrees.cli.errors import ARGUMENTS, one_line, printable
from labeltrees.errors import LabelTreesError

# Module and function of each command, and its line in the list of commands. A command is imported when it is used.
_COMMANDS = {
    "quickstart": ("quickstart:quickstart", "Choose, train and try a model on bundled data."),
    "fit": ("fit:fit", "Train a model."),
    "predict": ("predict:predict", "Print the best labels of each point."),
    "evaluate": ("evaluate:evaluate", "Measure precision and speed of a model."),
    "choose": ("choose:choose", "Choose settings by measurement, and train."),
    "sweep": ("sweep:sweep", "Train and measure a model at every setting."),
    "serve": ("serve:serve", "Serve models over HTTP, with a page to try them."),
    "baselines": ("baselines:baselines", "Measure simple recommenders."),
    "update": ("update:update", "Add points and labels; retire, rename, forget."),
    "retire": ("update:retire", "Stop returning labels, without training."),
    "calibrate": ("calibrate:calibrate", "Learn probabilities and early stopping."),
    "inspect": ("inspect:inspect_model", "Show a model, its labels and its searches."),
    "tree": ("tree:tree", "Build, show and compare label trees; imbalance."),
    "logs": ("logs:logs", "Turn logs of events into training data."),
    "convert": ("convert:convert", "Convert data, a fastText model, or a result."),
}
# Commands that the list does not show.
_HIDDEN = {"imbalance": "tree:imbalance", "report": "convert:report"}
# Removed commands, and what to use instead.
_GONE = {
    "completion": "labeltrees --completion SHELL",
    "profile": "labeltrees inspect MODEL --searches DATA",
    "fit-text": "labeltrees fit --model text, with --set NAME=VALUE for its settings",
    "export-fasttext": "labeltrees convert MODEL -o FILE.bin",
    "import-fasttext": "labeltrees convert FILE.bin -o MODEL",
}
_INTERRUPTED = 130  # the exit code that shells use for Ctrl-C

_EPILOG = """\b
Examples:
  labeltrees quickstart
  labeltrees tree build train.txt -o products.tree --tradeoff 1.2
  labeltrees tree show products.tree
  labeltrees fit train.txt -o products.model
  labeltrees predict products.model new.txt -k 5
  labeltrees choose products/ -o products.model --max-precision-loss 0.005

\b
To complete commands and options with the Tab key, add to ~/.bashrc
  eval "$(labeltrees --completion bash)"
(~/.zshrc with zsh; for fish, write labeltrees --completion fish to
~/.config/fish/completions/labeltrees.fish).
"""


class _Commands(click.Group):
    """Imports a command when it is used, and turns its errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, the most used first."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        place = _HIDDEN.get(cmd_name) or _COMMANDS.get(cmd_name, ("",))[0]
        if not place:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(f"labeltrees.cli.{module}"), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that was typed; if there is none, name similar ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] in _GONE:
                message = f"The command {args[0]!r} is gone. Use {_GONE[args[0]]}"
                raise click.UsageError(message, ctx) from None
            near = difflib.get_close_matches(args[0], _COMMANDS, n=3)
            if not near:
                raise
            message = f"{error.message} Did you mean {' or '.join(near)}?"
            raise click.UsageError(message, ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            click.echo(f"Interrupted: {error}" if str(error) else "Interrupted.", err=True)
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            raise  # click handles a closed output, as in `| head`
        except (LabelTreesError, OSError, MemoryError) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            message = one_line(error, command, ctx.meta.get(ARGUMENTS, {}))
            click.echo(f"Error: {printable(message)}", err=True)
            ctx.exit(getattr(error, "exit_code", 1))


def _print_completion(ctx: click.Context, _parameter: click.Parameter, shell: str | None) -> None:
    """Print the script that lets a shell complete commands and options with the Tab key."""
    kind = get_completion_class(shell or "")
    if kind is None or ctx.resilient_parsing:
        return
    # Not `source()`, which starts bash to check its version.
    completer = kind(ctx.command, {}, "labeltrees", "_LABELTREES_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())
    ctx.exit()


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(labeltrees.__version__, prog_name="labeltrees", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    is_eager=True,
    expose_value=False,
    callback=_print_completion,
    help="Print the script that completes commands and options with the Tab key.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only warnings and errors, no progress.")
@click.pass_context
def cli(ctx: click.Context, debug: bool, quiet: bool) -> None:
    """Label trees for extreme multi-label classification: one setting moves between accurate and fast."""
    ctx.obj = not quiet  # whether to show progress
    _log_to_standard_error(ctx, logging.WARNING if quiet else logging.INFO)


def _log_to_standard_error(ctx: click.Context, level: int) -> None:
    """Write log messages to standard error until the command ends."""
    logger = logging.getLogger("labeltrees")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)

    def undo() -> None:
        logger.removeHandler(handler)
        logger.setLevel(before)

    ctx.call_on_close(undo)


def main() -> None:
    """Run the command line."""
    cli(prog_name="labeltrees")
