"""The command `labeltrees`: what all its commands share."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import click

import labeltrees
from labeltrees.cli.calibrate import calibrate
from labeltrees.cli.choose import choose
from labeltrees.cli.completion import completion
from labeltrees.cli.evaluate import evaluate
from labeltrees.cli.fasttext import export_fasttext, import_fasttext
from labeltrees.cli.fit import fit
from labeltrees.cli.fit_text import fit_text
from labeltrees.cli.imbalance import imbalance
from labeltrees.cli.inspect import inspect_model
from labeltrees.cli.logs import logs
from labeltrees.cli.predict import predict
from labeltrees.cli.profile import profile_model
from labeltrees.cli.quickstart import quickstart
from labeltrees.cli.report import report
from labeltrees.cli.sweep import sweep
from labeltrees.cli.tree import tree
from labeltrees.errors import LabelTreesError

_INTERRUPTED = 130  # as a shell reports Ctrl-C

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
  eval "$(labeltrees completion bash)"
(labeltrees completion --help tells of zsh and fish).
"""


class _Commands(click.Group):
    """Turns what a command raises into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            raise  # click knows what to do when the reader of our output is gone
        except (LabelTreesError, OSError, MemoryError) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            click.echo(f"Error: {_one_line(error)}", err=True)
            ctx.exit(getattr(error, "exit_code", 1))


def _one_line(error: Exception) -> str:
    if isinstance(error, LabelTreesError):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return "not enough memory"
    return str(error) or type(error).__name__


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(labeltrees.__version__, prog_name="labeltrees", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error was raised.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, only warnings, on standard error.")
@click.pass_context
def cli(ctx: click.Context, debug: bool, quiet: bool) -> None:
    """Label trees for extreme multi-label classification, with one knob between accurate and fast."""
    ctx.obj = not quiet  # whether to show progress
    _log_to_standard_error(ctx, logging.WARNING if quiet else logging.INFO)


def _log_to_standard_error(ctx: click.Context, level: int) -> None:
    """Send the log of this command to standard error until it ends."""
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


_COMMANDS = (
    quickstart,
    tree,
    imbalance,
    fit,
    fit_text,
    predict,
    evaluate,
    calibrate,
    inspect_model,
    profile_model,
    sweep,
    choose,
    report,
    logs,
    export_fasttext,
    import_fasttext,
    completion,
)
for _command in _COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """Run the command line."""
    cli(prog_name="labeltrees")
