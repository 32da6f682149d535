"""labeltrees predict."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from labeltrees._matrices import Float32s, Int64s
from labeltrees._progress import showing, watch
from labeltrees.cli.answers import AnswerLines, DocumentFiles
from labeltrees.cli.command import SEARCH_GROUPS, Command
from labeltrees.cli.data_files import data_or_documents
from labeltrees.cli.data_options import data_options, titles_of, vocabulary_options
from labeltrees.cli.errors import printable
from labeltrees.cli.options import jobs_option, model_argument, refuse_option
from labeltrees.cli.output import check_parent_folder
from labeltrees.cli.queries import documents_of, find_contexts, open_queries
from labeltrees.cli.saved_models import check_n_features, load_model
from labeltrees.cli.search_options import (
    RuleOptions,
    ScoreOptions,
    SearchOptions,
    rule_options,
    score_options,
    search_options,
    seen_labels,
)
from labeltrees.data.encoders import ItemEncoder
from labeltrees.data.files import write_any
from labeltrees.data.point_blocks import PointBlocks
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.search.broader import check_broader, with_broader
from labeltrees.search.request import SearchRequest

_EPILOG = """\b
Examples:
  labeltrees predict debian.model debian | head
  labeltrees predict questions.model new.csv --text title --text body
  labeltrees predict products.model test.txt.xz -k 10 --format jsonl -o answers.jsonl.gz
  labeltrees predict subjects.model --ask "a history of tea" --vocabulary subjects.ttl --language en
  labeltrees predict debian.model debian --threshold 0.5
  labeltrees predict subjects.model - < document.txt
  labeltrees predict subjects.model documents/ -o suggestions/ -k 10
  labeltrees predict subjects.model book.txt --candidates @Places --threshold 0.5 --broader
  labeltrees predict clicks.model --ask "red wine"
  labeltrees predict shop.model --ask '["bread", "milk"]' --exclude-seen --limit-per brands.tsv:2
"""


@click.command(cls=Command, groups=SEARCH_GROUPS, epilog=_EPILOG)
@model_argument
@click.argument("data", metavar="[DATA...]", nargs=-1)
@click.option(
    "--ask",
    "questions",
    metavar="CONTEXT",
    multiple=True,
    help="Instead of DATA: a text, or a list of items as JSON. Repeat it for several.",
)
@data_options(names=False)
@data_or_documents
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="Number of labels per point.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "jsonl"]),
    default="tsv",
    show_default=True,
    help="tsv: label, score, label, score, ...; jsonl: one object per line with labels and scores.",
)
@click.option("--explain", is_flag=True, help="Also print which words, items or features support each label.")
@click.option(
    "--with-texts/--without-texts",
    default=None,
    help="Also print the title of each label, before its score. [default: with, for items that have names]",
)
@vocabulary_options(help="Texts for --with-texts: two columns, or SKOS. [default: those that the model keeps]")
@score_options("Leave out labels whose probability (score, if not calibrated) is below T. [default: the model's own]")
@click.option(
    "--broader",
    is_flag=True,
    help="If no label reaches the threshold, return the narrowest broader subject of the SKOS vocabulary whose "
    "narrower subjects together reach it.",
)
@search_options
@rule_options
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="File to write to; a folder, if DATA is a folder of documents: one file per document. [default: standard "
    "output]",
)
@jobs_option
@click.pass_obj
def predict(
    show_progress: bool,
    model_folder: str,
    data: str | None,
    questions: tuple[str, ...],
    k: int,
    form: str,
    explain: bool,
    with_texts: bool | None,
    vocabulary: str | None,
    language: str | None,
    score: ScoreOptions,
    broader: bool,
    search: SearchOptions,
    rules: RuleOptions,
    output: str | None,
    n_jobs: int,
    reading: DataOptions,
) -> None:
    """Print the best labels of each point of DATA, best first, one line per point.

    DATA is a file of texts (.jsonl, .csv, .tsv, .parquet, fastText's or Annif's lines) if the model was trained on
    texts, a .jsonl file of lists of items (or objects from items to counts) if its encoder takes items, a file with the
    feature column (--text names it) if its encoder takes that, a file in XMC format, a folder with one such file named
    test*, a folder of documents, or the word debian for the test part of the bundled data. Points are processed in
    batches of a few thousand, so DATA may be larger than memory. Labels in DATA are not used. Several files of texts
    are joined. Standard input (-) is JSON lines, a table with a header, or one document. A plain .txt file is one
    document; --data-format fasttext reads one text per line.

    A score orders the labels of a point. For a calibrated model (labeltrees calibrate, or fit --calibrate) it is the
    probability that the label is correct; --set raw_scores=true prints the scores of the search. Of the -k best labels,
    --threshold 0.5 leaves out those below 0.5. The default is the threshold stored with the model, if any.
    """
    if (data is None) == (not questions):
        message = "give either DATA or --ask"
        raise click.UsageError(message)
    check_parent_folder(output)
    model = load_model(model_folder)
    score.check(model, model_folder, rules.label_weight)
    k = min(k, len(model.classes_))
    labels = rules.read(model)
    threshold = score.threshold_of(model) or None
    request = search.make_request(model, k, threshold=threshold, broader=broader, **labels)
    if with_texts is None:
        with_texts = vocabulary is not None or (
            type(model.encoder_) is ItemEncoder and titles_of(model, None, None) is not None
        )
    titles = titles_of(model, vocabulary, language) if with_texts else None
    if with_texts and titles is None:
        message = "--with-texts: the model keeps no texts of its labels; give them with --vocabulary FILE"
        raise InputError(message)
    folder = _result_folder(output, data, reading)
    if request.broader:
        check_broader(request, model.label_relations_)
    if rules.exclude_seen and (explain or request.broader):
        other = "--explain" if explain else "--broader"
        refuse_option(other, "--exclude-seen", "ask without it, or exclude the items with --exclude FILE")
    if folder is not None:
        if explain or rules.exclude_seen or form == "jsonl":
            other = "--explain" if explain else "--exclude-seen" if rules.exclude_seen else "--format jsonl"
            refuse_option(other, "one result file per document", f"give one file, such as -o {output}/answers.jsonl")
        named = titles_of(model, vocabulary, language)
        files = DocumentFiles(documents_of(data, reading) or [], folder, model.label_names_, named)
        with open_queries(data, questions, reading, model, n_jobs) as points:
            _write_answers(points, model, lambda _: request, files.write, n_jobs, show_progress, stats=False)
        return
    above = None if model.label_relations_ is None else model.label_relations_.above
    terminal = output is None and sys.stdout.isatty()
    lines = AnswerLines(model.label_names_, form, titles, above=above, terminal=terminal)
    with _output(output) as stream:
        if rules.exclude_seen:
            contexts = find_contexts(data, questions, reading, model)
            if contexts is not None:
                answer = _Answer(model, k, search, threshold, labels)
                for block in contexts.blocks():
                    stream.write(lines.encode(*answer(block)))
                return
        # Predictions and a progress bar would overwrite each other on a terminal.
        show_progress = show_progress and (output is not None or not sys.stdout.isatty())
        with open_queries(data, questions, reading, model, n_jobs, as_given=explain) as points:
            if points.n_features is not None:
                check_n_features(str(data), points.n_features, model)
            if explain:
                _write_explained(points, model, request, lines, stream, form)
            else:

                def write(*answers: Any) -> None:
                    stream.write(lines.encode(*answers))
                    stream.flush()

                def request_of(X: Any) -> SearchRequest:
                    if not rules.exclude_seen:
                        return request
                    seen = {**labels, "exclude": seen_labels(model, X, labels["exclude"])}
                    return search.make_request(model, k, threshold=threshold, **seen)

                _write_answers(points, model, request_of, write, n_jobs, show_progress, stats=lines.is_json)


def _result_folder(output: str | None, data: str | None, reading: DataOptions) -> str | None:
    """Return the folder for one result file per document; None if all answers go to one file."""
    if output is None:
        return None
    is_folder = output.endswith(("/", os.sep)) or Path(output).is_dir()
    documents = documents_of(data, reading)
    if documents is None and is_folder:
        message = (
            f"-o {output}: is a folder, and one result file per document needs a folder of documents (NAME.txt) as "
            f"DATA; for one file: -o {os.path.join(output, 'answers.tsv')}"
        )
        raise InputError(message)
    return output if documents is not None and (is_folder or not Path(output).suffix) else None


def _write_answers(
    points: PointBlocks,
    model: Model,
    request_of: Callable[[Any], SearchRequest],
    write: Callable[..., None],
    n_jobs: int,
    show_progress: bool,
    stats: bool,
) -> None:
    n_done = 0
    # The number of texts is unknown until the end of the file, so progress shows the share of the file instead.
    watched = show_progress and points.n_points is not None
    with (
        showing(show_progress and not watched),
        watch("Predicting", points.n_points or 0, watched, unit="points") as advance,
    ):
        for X in points.blocks:
            request = request_of(X)
            result, unsure = model.searcher_.topk(X, request, n_jobs=n_jobs, stats=stats), None
            if request.broader:
                result, unsure = with_broader(model.searcher_, X, request, result, model.label_relations_, n_jobs)
            write(result.labels, result.scores, result.stats and result.stats.no_features, unsure)
            n_done += X.shape[0]
            if advance is not None:
                advance(n_done)


def _write_explained(
    points: PointBlocks, model: Model, request: SearchRequest, lines: AnswerLines, stream: IO[bytes], form: str
) -> None:
    for given in points.blocks:
        X = model.check_queries(given)
        result = model.searcher_.topk(X, request)
        if request.broader:
            result, _ = with_broader(model.searcher_, X, request, result, model.label_relations_)
        for row in range(X.shape[0]):
            line = lines.encode(result.labels[row : row + 1], result.scores[row : row + 1])
            labels = [label for label in result.labels[row].tolist() if label >= 0]
            why = model.explain(given[row] if isinstance(given, list) else given[[row]], labels)
            if form == "jsonl":
                record = json.loads(line) | {"explanation": why.to_dict()["labels"]}
                stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            else:
                shown = "\n".join(printable(text) for text in str(why).splitlines() if text)
                stream.write(line + textwrap.indent(shown, "  ").encode() + b"\n")
            stream.flush()


class _Answer:
    """Predicts for contexts one by one, leaving out the items that they contain."""

    def __init__(
        self, model: Model, k: int, search: SearchOptions, threshold: float | None, labels: dict[str, Any]
    ) -> None:
        options = {name: labels[name] for name in ("label_weight", "limits")} | {"threshold": threshold}
        self._predictor = model.predictor(k, exclude_seen=True, **options, **search.given)
        sets = {name: labels[name] for name in ("candidates", "exclude")}
        self._sets = {name: model.label_set(found) for name, found in sets.items() if found is not None}
        self._k = k

    def __call__(self, contexts: list[Any]) -> tuple[Int64s, Float32s]:
        """Return labels (n, k) padded with -1, and their scores."""
        labels = np.full((len(contexts), self._k), -1, dtype=np.int64)
        scores = np.zeros(labels.shape, dtype=np.float32)
        for row, context in enumerate(contexts):
            found, own = self._predictor(context, **self._sets)
            labels[row, : len(found)], scores[row, : len(found)] = found, own
        return labels, scores


def _output(path: str | None) -> AbstractContextManager[IO[bytes]]:
    if path is None:
        return nullcontext(sys.stdout.buffer)
    return write_any(path)
