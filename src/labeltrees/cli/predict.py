"""labeltrees predict."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any

import click

from labeltrees._progress import watch
from labeltrees.cli.answer_lines import AnswerLines
from labeltrees.cli.context_data import context_file, read_contexts
from labeltrees.cli.data_argument import Points, TextOptions, open_points, read_lines
from labeltrees.cli.label_weight import label_weight_option, read_label_weight
from labeltrees.cli.options import data_argument, index_base_option, jobs_option, model_argument
from labeltrees.cli.output import check_parent_folder, plural
from labeltrees.cli.saved_models import check_n_features, load_model, text_reader
from labeltrees.cli.search_options import SearchOptions, search_options
from labeltrees.cli.text_options import text_options
from labeltrees.data.files import write_any
from labeltrees.errors import FileFormatError
from labeltrees.models.common.protocol import Model

_logger = logging.getLogger("labeltrees")
_EPILOG = """\b
Examples:
  labeltrees predict debian.model debian | head
  labeltrees predict questions.model new.csv --text title --text body
  labeltrees predict products.model test.txt.xz -k 10 --format jsonl -o answers.jsonl.gz
"""


@click.command(epilog=_EPILOG)
@model_argument
@data_argument
@text_options
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="Number of labels per point.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "jsonl"]),
    default="tsv",
    show_default=True,
    help="tsv: label, score, label, score, ...; jsonl: one object per line with labels and scores.",
)
@search_options
@click.option(
    "--candidates",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the labels that may be returned, one name per line (ids if the labels have no names).",
)
@label_weight_option
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write to. [default: standard output]")
@index_base_option
@jobs_option
@click.pass_obj
def predict(
    show_progress: bool,
    model_folder: str,
    data: str,
    k: int,
    form: str,
    search: SearchOptions,
    candidates: str | None,
    label_weight: str | None,
    output: str | None,
    index_base: Any,
    n_jobs: int,
    texts: TextOptions,
) -> None:
    """Print the best labels of each point of DATA, best first, one line per point.

    DATA is a file of texts (.jsonl, .csv, .tsv, .parquet, or fastText's lines) if the model was trained on texts, a
    .jsonl file of lists of items (or objects from items to counts) if its encoder takes items, a file in XMC format, a
    folder with one such file named test*, or the word debian for the test part of the bundled data. Points are
    processed in batches of some thousand, so that DATA may be larger than memory. Labels in DATA are not used.
    """
    check_parent_folder(output)
    model = load_model(model_folder)
    allowed = None if candidates is None else _read_candidates(candidates, model)
    k = min(k, len(model.classes_))
    request = search.make_request(model, k, allowed, read_label_weight(label_weight, model))
    lines = AnswerLines(model.label_names_, form)
    # Predictions and a progress bar on the same terminal would overwrite each other.
    show_progress = show_progress and (output is not None or not sys.stdout.isatty())
    with (
        _open_points(data, index_base, texts, model, n_jobs) as points,
        _output(output) as stream,
    ):
        if points.n_features is not None:
            check_n_features(data, points.n_features, model)
        n_done = 0
        # The number of texts is not known before the last one: no progress bar for them.
        watched = show_progress and points.n_points is not None
        with watch("Predicting", points.n_points or 0, watched) as advance:
            for X in points.blocks:
                result = model.searcher_.topk(X, request, n_jobs=n_jobs)
                stream.write(lines.encode(result.labels, result.scores))
                stream.flush()
                n_done += X.shape[0]
                if advance is not None:
                    advance(n_done)


@contextmanager
def _open_points(data: str, index_base: Any, texts: TextOptions, model: Model, n_jobs: int) -> Iterator[Points]:
    contexts = context_file(data, "test", texts, model)
    if contexts is None:
        with open_points(data, index_base=index_base, texts=texts, read_texts=text_reader(model, n_jobs)) as points:
            yield points
        return
    encoder = model.encoder_
    assert encoder is not None
    n_unknown = 0

    def rows() -> Iterator[Any]:
        nonlocal n_unknown
        for block, _ in read_contexts(contexts):
            n_unknown += int(encoder.count_unknown(block).sum())
            yield model.check_queries(encoder.transform(block, n_jobs), n_jobs)

    yield Points(None, None, rows())
    if n_unknown:
        _logger.warning("%s: the model does not know %s, which were left out", data, plural(n_unknown, "item"))


def _output(path: str | None) -> AbstractContextManager[IO[bytes]]:
    if path is None:
        return nullcontext(sys.stdout.buffer)
    return write_any(path)


def _read_candidates(path: str, model: Model) -> list[int]:
    lines = [line for line in read_lines(path) if line]
    if not lines:
        message = f"{path}: contains no labels"
        raise FileFormatError(message)
    names = range(len(model.classes_)) if model.label_names_ is None else model.label_names_
    ids = {str(name): label for label, name in enumerate(names)}
    unknown = next((line for line in lines if line not in ids), None)
    if unknown is not None:
        message = f"{path}: the model has no label {unknown!r}"
        raise FileFormatError(message)
    return [ids[line] for line in lines]
