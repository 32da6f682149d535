"""labeltrees convert."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from labeltrees.cli.command import Command
from labeltrees.cli.data_options import data_options, vectorizer_options
from labeltrees.cli.options import json_option
from labeltrees.cli.output import check_parent_folder, console, plural, print_json, size, step
from labeltrees.cli.saved_models import check_output, load_model
from labeltrees.data import PartsDataset, TfidfVectorizer, open_parts, write_parts
from labeltrees.data.data_folder import find_file
from labeltrees.data.files import read_lines
from labeltrees.data.parts.convert import texts_to_parts, xmc_to_parts
from labeltrees.data.parts.writer import POINTS_PER_PART, check_parts_target
from labeltrees.data.read_data import DataOptions, folder_others, load_data, name_files, open_text_file
from labeltrees.data.xmc import open_xmc_blocks
from labeltrees.errors import InputError
from labeltrees.models.text.estimator import TextLabelTreeClassifier
from labeltrees.report.page import write_figures
from labeltrees.storage.folder import MANIFEST_FILE
from labeltrees.tuning.result import SweepResult

_EPILOG = """\b
Examples:
  labeltrees convert train.txt.gz -o train.parts
  labeltrees convert questions.jsonl -o questions.parts --points-per-part 100000
  labeltrees fit train.parts -o products.model --max-memory 4GiB
  labeltrees convert questions.model -o questions.bin
  labeltrees convert questions.bin -o questions.model
  labeltrees convert debian.sweep.json -o report.html --figures figures/
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("source", metavar="DATA|MODEL|FILE.bin|RESULT")
@click.option("-o", "--output", metavar="TARGET", type=click.Path(), required=True, help="Folder or file to write to.")
@click.option(
    "--points-per-part",
    type=click.IntRange(1),
    default=POINTS_PER_PART,
    show_default=True,
    help="Number of points per part; one part must fit in memory.",
)
@click.option("--title", help="Title of a page. [default: the data of the RESULT]")
@click.option(
    "--figures",
    type=click.Path(file_okay=False),
    help="Also write each figure of a page to this folder, as PNG, SVG and PDF.",
)
@data_options()
@vectorizer_options
@json_option
@click.pass_obj
def convert(
    show_progress: bool,
    /,
    source: str,
    output: str,
    points_per_part: int,
    title: str | None,
    figures: str | None,
    reading: DataOptions,
    vectorizer: TfidfVectorizer | None,
    as_json: bool,
) -> None:
    """Convert data to a dataset in parts, a model to or from a fastText file, or a result to an HTML page.

    DATA becomes a dataset in parts, the folder TARGET, which every command takes as DATA. The file is read in blocks
    and may be larger than memory. Only a file that is split (--test-share) is read whole.

    A MODEL of labeltrees fit --model text becomes a file TARGET for fastText 0.9.3, with the same predictions. fastText
    builds its tree from label counts, so the file has artificial counts that give the tree of MODEL. The real counts
    are written to TARGET.label_counts.tsv.

    FILE.bin, a supervised model that fastText trained with -loss hs, becomes a model in the folder TARGET.

    A RESULT of labeltrees sweep or choose becomes one HTML page that needs no network and no other file; TARGET must
    end in .html. The page starts with the decision, then shows precision against depth and time, example searches, the
    trees at every tradeoff, and a table of all settings.
    """
    if Path(output).suffix == ".html":
        write_report(source, output, title, figures, as_json, show_progress)
    elif (Path(source) / MANIFEST_FILE).is_file():
        _export_fasttext(source, output, show_progress)
    elif Path(source).suffix == ".bin":
        _import_fasttext(source, output, show_progress)
    else:
        _convert_data(source, output, points_per_part, reading, vectorizer, show_progress)
        report_parts(open_parts(output), output, as_json)


def _convert_data(
    data: str,
    output: str,
    points_per_part: int,
    reading: DataOptions,
    vectorizer: TfidfVectorizer | None,
    show_progress: bool,
) -> None:
    check_parent_folder(output)
    check_parts_target(output)
    with step("Converting", show_progress):
        if reading.test_share is not None:
            write_parts(load_data(data, options=reading), output, points_per_part)
        else:
            convert_file(data, output, points_per_part, reading, vectorizer)


def convert_file(
    data: str, output: str, points_per_part: int, reading: DataOptions, vectorizer: TfidfVectorizer | None
) -> None:
    """Write the training part of DATA as a dataset in parts, block by block."""
    with open_text_file(data, "train", reading) as file:
        if file is not None:
            reading.refuse_names(data, "contains texts, which have names already")
            texts_to_parts(
                file.path, file.fields, file.format, output, vectorizer=vectorizer, points_per_part=points_per_part
            )
            return
    path = find_file(data, "train")
    assert path is not None  # the bundled data has texts
    others: dict[str, Any] = {}
    if Path(data).is_dir():
        with open_xmc_blocks(path, reading.index_base) as blocks:
            others = folder_others(data, "train", blocks.n_points)
    label_names, feature_names = name_files(data, reading)
    xmc_to_parts(
        path,
        output,
        index_base=reading.index_base,
        points_per_part=points_per_part,
        label_names=None if label_names is None else read_lines(label_names),
        feature_names=None if feature_names is None else read_lines(feature_names),
        **others,
    )


def report_parts(parts: PartsDataset, folder: str, as_json: bool) -> None:
    """Print the counts and the size of a dataset in parts."""
    n_bytes = sum(entry.nbytes for entry in parts.manifest.parts)
    if as_json:
        counts = {name: getattr(parts, name) for name in ("n_points", "n_features", "n_labels")}
        print_json({"dataset": folder, **counts, "n_parts": len(parts.parts), "bytes": n_bytes})
        return
    counts_text = f"{plural(parts.n_points, 'point')}, {plural(parts.n_labels, 'label')}"
    console().print(f"{counts_text} in {plural(len(parts.parts), 'part')}, {size(n_bytes)} -> {folder}")


def _export_fasttext(model_folder: str, file: str, show_progress: bool) -> None:
    check_parent_folder(file)
    model = load_model(model_folder)
    if not hasattr(model, "export_fasttext"):
        message = (
            f"{model_folder}: a {model.KIND}; only models of labeltrees fit --model text can be exported to fastText"
        )
        raise InputError(message)
    with step("Writing the file", show_progress):
        model.export_fasttext(file)
    click.echo(f"{plural(len(model.classes_), 'label')} -> {file}")


def _import_fasttext(file: str, output: str, show_progress: bool) -> None:
    check_output(output)
    with step("Reading the file", show_progress):
        model = TextLabelTreeClassifier.from_fasttext(file)
    model.save(output)
    click.echo(f"{plural(len(model.classes_), 'label')} -> {output}")


def write_report(
    result_file: str, page: str, title: str | None, figures: str | None, as_json: bool, show_progress: bool
) -> None:
    """Write the page of a result, and its figures."""
    check_parent_folder(page)
    result = SweepResult.load(result_file)
    written = []
    with step("Drawing", show_progress):
        result.report(page, title)
        if figures is not None:
            written = [str(path) for path in write_figures(result, figures)]
    if as_json:
        print_json({"page": page, "figures": written})
        return
    click.echo(f"The report is in {page}. Open it in a browser.")
    if figures is not None:
        click.echo(f"{plural(len(written), 'figure')} written to {figures}.")


@click.command(cls=Command, epilog="\b\nExample:\n  labeltrees convert debian.sweep.json -o report.html")
@click.argument("result_file", metavar="RESULT", type=click.Path(exists=True, dir_okay=False))
@click.option("-o", "--output", metavar="PAGE", type=click.Path(dir_okay=False), default="report.html")
@click.option("--title", help="Title of the page.")
@click.option("--figures", type=click.Path(file_okay=False), help="Also write each figure to this folder.")
@json_option
@click.pass_obj
def report(
    show_progress: bool, result_file: str, output: str, title: str | None, figures: str | None, as_json: bool
) -> None:
    """Write a RESULT as an HTML page. Use labeltrees convert RESULT -o PAGE.html instead."""
    click.echo(f"labeltrees report is now labeltrees convert {result_file} -o {output}", err=True)
    write_report(result_file, output, title, figures, as_json, show_progress)
