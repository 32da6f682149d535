"""labeltrees export-fasttext, import-fasttext."""

from __future__ import annotations

import click

from labeltrees.cli.model_options import check_output, load_model, model_argument, output_option
from labeltrees.cli.output import check_folder_of, step
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


@click.command("export-fasttext", epilog=_EXPORT_EPILOG)
@model_argument
@click.argument("file", metavar="FILE.bin", type=click.Path(dir_okay=False))
@click.pass_obj
def export_fasttext(show_progress: bool, model_folder: str, file: str) -> None:
    """Write a text MODEL as FILE.bin, which fastText 0.9.3 loads and answers the same with.

    The real counts of the labels go to FILE.bin.label_counts.tsv: from those in FILE.bin fastText builds this tree.
    """
    check_folder_of(file)
    model = load_model(model_folder)
    if not isinstance(model, TextLabelTreeClassifier):
        message = f"{model_folder}: a {type(model).__name__}; fastText knows only models of labeltrees fit-text"
        raise InputError(message)
    with step("Writing the file", show_progress):
        model.export_fasttext(file)
    click.echo(f"{len(model.classes_):,} labels -> {file}")


@click.command("import-fasttext", epilog=_IMPORT_EPILOG)
@click.argument("file", metavar="FILE.bin", type=click.Path(exists=True, dir_okay=False))
@output_option
@click.pass_obj
def import_fasttext(show_progress: bool, file: str, output: str) -> None:
    """Save a supervised model that fastText has trained with -loss hs as the folder MODEL."""
    check_output(output)
    with step("Reading the file", show_progress):
        model = TextLabelTreeClassifier.from_fasttext(file)
    model.save(output)
    click.echo(f"{len(model.classes_):,} labels -> {output}")
