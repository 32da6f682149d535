"""The command `labeltrees` with all its subcommands."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import click

import labeltrees
from labeltrees.cli.baselines import baselines
from labeltrees.cli.calibrate import calibrate
from labeltrees.cli.choose import choose
from labeltrees.cli.completion import completion
from labeltrees.cli.error_messages import one_line
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
from labeltrees.cli.serve import serve
from labeltrees.cli.sweep import sweep
from labeltrees.cli.tree import tree
from labeltrees.errors import LabelTreesError

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
  eval "$(labeltrees completion bash)"
(see labeltrees completion --help for zsh and fish).
"""


class _Commands(click.Group):
    """Turns errors of a command into one line and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(_INTERRUPTED)
        except BrokenPipeError:
            raise  # click handles a closed output, as in `| head`
        except (LabelTreesError, OSError, MemoryError) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            click.echo(f"Error: {one_line(error, command)}", err=True)
            ctx.exit(getattr(error, "exit_code", 1))


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(labeltrees.__version__, prog_name="labeltrees", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
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


_COMMANDS = (
    quickstart,
    tree,
    imbalance,
    baselines,
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
    serve,
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
