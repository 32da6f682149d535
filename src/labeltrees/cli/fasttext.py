"""labeltrees export-fasttext, import-fasttext."""

from __future__ import annotations

import click

from labeltrees.cli.command import Command
from labeltrees.cli.options import model_argument, output_option
from labeltrees.cli.output import check_parent_folder, plural, step
from labeltrees.cli.saved_models import check_output, load_model
from labeltrees.errors import InputError
from labeltrees.models.text.estimator import TextLabelTreeClassifier

_EXPORT_EPILOG = """\b
Example:
  labeltrees export-fasttext questions.model questions.bin
"""
_IMPORT_EPILOG = """\b
Example:
  labeltrees import-fasttext questions.bin -o questions.model
"""


@click.command("export-fasttext", cls=Command, epilog=_EXPORT_EPILOG)
@model_argument
@click.argument("file", metavar="FILE.bin", type=click.Path(dir_okay=False))
@click.pass_obj
def export_fasttext(show_progress: bool, model_folder: str, file: str) -> None:
    """Write a text MODEL as FILE.bin, for fastText 0.9.3, which then predicts the same.

    fastText builds its tree from label counts. FILE.bin holds counts that give the tree of MODEL; the real counts are
    written to FILE.bin.label_counts.tsv.
    """
    check_parent_folder(file)
    model = load_model(model_folder)
    if not hasattr(model, "export_fasttext"):
        message = f"{model_folder}: a {model.KIND}; only models of labeltrees fit-text can be exported to fastText"
        raise InputError(message)
    with step("Writing the file", show_progress):
        model.export_fasttext(file)
    click.echo(f"{plural(len(model.classes_), 'label')} -> {file}")


@click.command("import-fasttext", cls=Command, epilog=_IMPORT_EPILOG)
@click.argument("file", metavar="FILE.bin", type=click.Path(exists=True, dir_okay=False))
@output_option
@click.pass_obj
def import_fasttext(show_progress: bool, file: str, output: str) -> None:
    """Import a supervised model that fastText trained with -loss hs, and save it in the folder MODEL."""
    check_output(output)
    with step("Reading the file", show_progress):
        model = TextLabelTreeClassifier.from_fasttext(file)
    model.save(output)
    click.echo(f"{plural(len(model.classes_), 'label')} -> {output}")
