"""labeltrees predict."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import click
import numpy as np

from labeltrees._matrices import Float32s, Int64s
from labeltrees._progress import showing, watch
from labeltrees.cli.answer_lines import AnswerLines
from labeltrees.cli.command import Command
from labeltrees.cli.data_argument import Points, TextOptions, read_lines
from labeltrees.cli.label_weight import label_weight_option, read_label_weight
from labeltrees.cli.option_groups import SEARCH_GROUPS
from labeltrees.cli.options import index_base_option, jobs_option, model_argument
from labeltrees.cli.output import check_parent_folder, plural
from labeltrees.cli.queries import find_contexts, open_queries
from labeltrees.cli.saved_models import check_n_features, load_model
from labeltrees.cli.score_options import ScoreOptions, score_options
from labeltrees.cli.search_options import SearchOptions, search_options
from labeltrees.cli.text_options import text_options
from labeltrees.cli.vocabulary_options import titles_of, vocabulary_options
from labeltrees.data import ItemEncoder
from labeltrees.data.files import write_any
from labeltrees.errors import FileFormatError, InputError
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest

_logger = logging.getLogger("labeltrees")
_EPILOG = """\b
Examples:
  labeltrees predict debian.model debian | head
  labeltrees predict questions.model new.csv --text title --text body
  labeltrees predict products.model test.txt.xz -k 10 --format jsonl -o answers.jsonl.gz
  labeltrees predict subjects.model --ask "a history of tea" --vocabulary subjects.ttl --language en
  labeltrees predict debian.model debian --proba --threshold 0.5
  labeltrees predict clicks.model --ask "red wine"
  labeltrees predict shop.model --ask '["bread", "milk"]' --exclude-seen
"""


@click.command(cls=Command, groups=SEARCH_GROUPS, epilog=_EPILOG)
@model_argument
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--ask",
    "questions",
    metavar="CONTEXT",
    multiple=True,
    help="Instead of DATA: a text, or a list of items as JSON. Repeat it for several.",
)
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
@click.option("--with-texts", is_flag=True, help="Also print what people call each label, before its score.")
@vocabulary_options(help="Texts for --with-texts: two columns, or SKOS. [default: those that the model keeps]")
@score_options("Leave out labels whose score, or probability with --proba, is below T.")
@search_options
@click.option(
    "--candidates",
    type=click.Path(exists=True, dir_okay=False),
    help="File with the labels that may be returned, one name or item id per line (label ids if they have no names).",
)
@click.option(
    "--exclude",
    type=click.Path(exists=True, dir_okay=False),
    help="File with labels that must not be returned, in the same form.",
)
@click.option("--exclude-seen", is_flag=True, help="Leave out the items of each given list.")
@label_weight_option
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write to. [default: standard output]")
@index_base_option
@jobs_option
@click.pass_obj
def predict(
    show_progress: bool,
    model_folder: str,
    data: str | None,
    questions: tuple[str, ...],
    k: int,
    form: str,
    with_texts: bool,
    vocabulary: str | None,
    language: str | None,
    score: ScoreOptions,
    search: SearchOptions,
    candidates: str | None,
    exclude: str | None,
    exclude_seen: bool,
    label_weight: str | None,
    output: str | None,
    index_base: Any,
    n_jobs: int,
    texts: TextOptions,
) -> None:
    """Print the best labels of each point of DATA, best first, one line per point.

    DATA is a file of texts (.jsonl, .csv, .tsv, .parquet, fastText's or Annif's lines) if the model was trained on
    texts, a .jsonl file of lists of items (or objects from items to counts) if its encoder takes items, a file with the
    feature column (--text names it) if its encoder takes that, a file in XMC format, a folder with one such file named
    test*, a folder of documents, or the word debian for the test part of the bundled data. Points are processed in
    batches of some thousand, so that DATA may be larger than memory. Labels in DATA are not used.

    A score orders the labels of a point. With --proba, the probability that the label is correct is printed instead,
    which needs a calibrated model (labeltrees calibrate). --threshold 0.5 leaves out labels below 0.5, of the -k best.
    """
    if (data is None) == (not questions):
        message = "give either DATA or --ask"
        raise click.UsageError(message)
    check_parent_folder(output)
    model = load_model(model_folder)
    score.check(model, model_folder, label_weight)
    allowed = None if candidates is None else _read_labels(candidates, model)
    excluded = None if exclude is None else _read_labels(exclude, model)
    k = min(k, len(model.classes_))
    labels = {"candidates": allowed, "exclude": excluded, "label_weight": read_label_weight(label_weight, model)}
    request = search.make_request(model, k, **labels)
    titles = titles_of(model, vocabulary, language) if with_texts or vocabulary is not None else None
    if with_texts and titles is None:
        message = "--with-texts: the model keeps no texts of its labels; give them with --vocabulary FILE"
        raise InputError(message)
    lines = AnswerLines(model.label_names_, form, titles)
    with _output(output) as stream:
        if exclude_seen:
            contexts = find_contexts(data, questions, texts, model)
            if contexts is None:
                message = "--exclude-seen needs a model that takes items, and lists of items in DATA or --ask"
                raise InputError(message)
            answer = _Answer(model, k, search, labels)
            for block in contexts.blocks():
                stream.write(lines.encode(*score.apply(model, *answer(block))))
            return
        # Predictions and a progress bar on the same terminal would overwrite each other.
        show_progress = show_progress and (output is not None or not sys.stdout.isatty())
        with open_queries(data, questions, index_base, texts, model, n_jobs) as points:
            if points.n_features is not None:
                check_n_features(str(data), points.n_features, model)
            _write_answers(points, model, request, score, lines, stream, n_jobs, show_progress)


def _write_answers(
    points: Points,
    model: Model,
    request: SearchRequest,
    score: ScoreOptions,
    lines: AnswerLines,
    stream: IO[bytes],
    n_jobs: int,
    show_progress: bool,
) -> None:
    n_done = 0
    # The number of texts is not known before the last one: how much of the file has been read is shown instead.
    watched = show_progress and points.n_points is not None
    with (
        showing(show_progress and not watched),
        watch("Predicting", points.n_points or 0, watched, unit="points") as advance,
    ):
        for X in points.blocks:
            result = model.searcher_.topk(X, request, n_jobs=n_jobs)
            stream.write(lines.encode(*score.apply(model, result.labels, result.scores)))
            stream.flush()
            n_done += X.shape[0]
            if advance is not None:
                advance(n_done)


class _Answer:
    """Answers contexts one by one, without the items that they contain."""

    def __init__(self, model: Model, k: int, search: SearchOptions, labels: dict[str, Any]) -> None:
        label_weight = labels["label_weight"]
        self._predictor = model.predictor(k, exclude_seen=True, label_weight=label_weight, **search.given)
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


def _read_labels(path: str, model: Model) -> list[int]:
    lines = [line for line in read_lines(path) if line]
    if not lines:
        message = f"{path}: contains no labels"
        raise FileFormatError(message)
    names = range(len(model.classes_)) if model.label_names_ is None else model.label_names_
    ids = {str(name): label for label, name in enumerate(names)}
    takes_items = isinstance(model.encoder_, ItemEncoder)
    if isinstance(model.encoder_, ItemEncoder):
        known = zip(model.encoder_.item_ids, model.encoder_.feature_names.tolist(), strict=False)
        ids = {item: ids[name] for item, name in known if name in ids} | ids
    unknown = [line for line in lines if line not in ids]
    if unknown and not (takes_items and len(unknown) < len(lines)):
        message = f"{path}: the model has no label {unknown[0]!r}"
        raise FileFormatError(message)
    if unknown:  # a list of the items in stock has some that nobody has bought yet
        text = "%s: the model does not know %s, such as %r, which are left out"
        _logger.warning(text, path, plural(len(unknown), "label"), unknown[0])
    return [ids[line] for line in lines if line in ids]
