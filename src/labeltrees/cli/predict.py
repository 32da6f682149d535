"""labeltrees predict."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import click
import numpy as np

from labeltrees._matrices import Float32s, Int64s
from labeltrees._progress import showing, watch
from labeltrees.cli.command import SEARCH_GROUPS, Command
from labeltrees.cli.data_files import data_files
from labeltrees.cli.data_options import data_options, titles_of, vocabulary_options
from labeltrees.cli.options import jobs_option, model_argument, refuse_option
from labeltrees.cli.output import check_parent_folder, no_formula, printable
from labeltrees.cli.queries import find_contexts, open_queries
from labeltrees.cli.saved_models import check_n_features, load_model
from labeltrees.cli.search_options import (
    RuleOptions,
    ScoreOptions,
    SearchOptions,
    rule_options,
    score_options,
    search_options,
)
from labeltrees.data.files import write_any
from labeltrees.data.point_blocks import PointBlocks
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.search.request import SearchRequest

_EPILOG = """\b
Examples:
  labeltrees predict debian.model debian | head
  labeltrees predict questions.model new.csv --text title --text body
  labeltrees predict products.model test.txt.xz -k 10 --format jsonl -o answers.jsonl.gz
  labeltrees predict subjects.model --ask "a history of tea" --vocabulary subjects.ttl --language en
  labeltrees predict debian.model debian --threshold 0.5
  labeltrees predict questions.model - < question.txt
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
@data_files
@click.option("-k", type=click.IntRange(min=1), default=5, show_default=True, help="Number of labels per point.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "jsonl"]),
    default="tsv",
    show_default=True,
    help="tsv: label, score, label, score, ...; jsonl: one object per line with labels and scores.",
)
@click.option("--explain", is_flag=True, help="Also print which words, items or features speak for each label.")
@click.option("--with-texts", is_flag=True, help="Also print what people call each label, before its score.")
@vocabulary_options(help="Texts for --with-texts: two columns, or SKOS. [default: those that the model keeps]")
@score_options("Leave out labels whose probability (score, if not calibrated) is below T. [default: the model's own]")
@search_options
@rule_options
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write to. [default: standard output]")
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
    with_texts: bool,
    vocabulary: str | None,
    language: str | None,
    score: ScoreOptions,
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
    batches of some thousand, so that DATA may be larger than memory. Labels in DATA are not used. Several files of
    texts are joined; - is standard input: JSON lines, a table with a header, or one text per line.

    A score orders the labels of a point. For a calibrated model (labeltrees calibrate, or fit --calibrate) it is the
    probability that the label is correct; --set raw_scores=true prints the scores of the search. --threshold 0.5 leaves
    out labels below 0.5, of the -k best; by default labels below the threshold that is stored with the model, if any.
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
    request = search.make_request(model, k, threshold=threshold, **labels)
    titles = titles_of(model, vocabulary, language) if with_texts or vocabulary is not None else None
    if with_texts and titles is None:
        message = "--with-texts: the model keeps no texts of its labels; give them with --vocabulary FILE"
        raise InputError(message)
    lines = AnswerLines(model.label_names_, form, titles, terminal=output is None and sys.stdout.isatty())
    with _output(output) as stream:
        if rules.exclude_seen and explain:
            refuse_option("--explain", "--exclude-seen", "ask without it, or exclude the items with --exclude FILE")
        if rules.exclude_seen:
            contexts = find_contexts(data, questions, reading, model)
            if contexts is None:
                message = "--exclude-seen needs a model that takes items, and lists of items in DATA or --ask"
                raise InputError(message)
            answer = _Answer(model, k, search, threshold, labels)
            for block in contexts.blocks():
                stream.write(lines.encode(*answer(block)))
            return
        # Predictions and a progress bar on the same terminal would overwrite each other.
        show_progress = show_progress and (output is not None or not sys.stdout.isatty())
        with open_queries(data, questions, reading, model, n_jobs) as points:
            if points.n_features is not None:
                check_n_features(str(data), points.n_features, model)
            if explain:
                _write_explained(points, model, request, lines, stream, form)
            else:
                _write_answers(points, model, request, lines, stream, n_jobs, show_progress)


def _write_answers(
    points: PointBlocks,
    model: Model,
    request: SearchRequest,
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
            result = model.searcher_.topk(X, request, n_jobs=n_jobs, stats=lines.is_json)
            stream.write(lines.encode(result.labels, result.scores, result.stats and result.stats.no_features))
            stream.flush()
            n_done += X.shape[0]
            if advance is not None:
                advance(n_done)


def _write_explained(
    points: PointBlocks, model: Model, request: SearchRequest, lines: AnswerLines, stream: IO[bytes], form: str
) -> None:
    for X in points.blocks:
        result = model.searcher_.topk(X, request)
        for row in range(X.shape[0]):
            line = lines.encode(result.labels[row : row + 1], result.scores[row : row + 1])
            labels = [label for label in result.labels[row].tolist() if label >= 0]
            why = model.explain(X.items[row] if model.READS_TEXTS else X[[row]], labels)
            if form == "jsonl":
                record = json.loads(line) | {"explanation": why.to_dict()["labels"]}
                stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
            else:
                shown = "\n".join(printable(text) for text in str(why).splitlines() if text)
                stream.write(line + textwrap.indent(shown, "  ").encode() + b"\n")
            stream.flush()


class _Answer:
    """Answers contexts one by one, without the items that they contain."""

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


_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_CONTROLS = (*range(32), *range(127, 160))  # they could change the terminal
_SHOWN = {"tsv": {code: f"\\x{code:02x}" for code in _CONTROLS}, "jsonl": {c: f"\\u{c:04x}" for c in _CONTROLS}}


class AnswerLines:
    r"""Formats labels and scores as lines.

    "tsv" is label, score, label, score, ... separated by tabs; a backslash, tab or line break inside a name is written
    as ``\\``, ``\t``, ``\n`` or ``\r``, and a name that a spreadsheet would take for a formula starts with a backslash.
    On a terminal, other control characters are written as ``\x1b``. "jsonl" is ``{"labels": [...], "scores": [...]}``.
    Labels are names, or ids if they have no names; scores have six significant digits. With `titles`, the function from
    a label to what people call it, "tsv" has the title after the label, and "jsonl" has ``"texts": [...]``.

    Examples
    --------
    >>> lines = AnswerLines(np.array(["red", "blue"], dtype=object), "tsv")
    >>> lines.encode(np.array([[1, 0], [0, -1]]), np.array([[0.9, 0.25], [0.5, 0.0]], np.float32))
    b'blue\t0.9\tred\t0.25\nred\t0.5\n'
    """

    def __init__(
        self, names: Any, form: str, titles: Callable[[int], str | None] | None = None, *, terminal: bool = False
    ) -> None:
        self._names, self.is_json, self._titles = names, form == "jsonl", titles
        self._shown = _SHOWN[form] if terminal else {}

    def encode(self, labels: Int64s, scores: Float32s, no_features: Any = None) -> bytes:
        """Return the lines for labels (n, k), best first and padded with -1, and their scores (n, k).

        JSON says which points have `no_features` that the model knows (n,).
        """
        # One format string for all lines takes half the time of formatting line by line.
        k = labels.shape[1]
        found = labels >= 0
        counts = found.sum(axis=1).tolist()
        line = self._json_line if self.is_json else self._tsv_line
        formats = [line(count) for count in range(k + 1)]
        columns = [self._texts(labels), *([] if self._titles is None else [self._title_texts(labels)]), scores]
        values = np.empty((len(labels), len(columns) * k), dtype=object)
        keep = np.empty(values.shape, dtype=bool)
        for number, column in enumerate(columns):
            # The parts of a line are next to each other in JSON, and take turns in TSV.
            at = slice(number * k, (number + 1) * k) if self.is_json else slice(number, None, len(columns))
            values[:, at], keep[:, at] = column, found
        shapes = [formats[count] for count in counts]
        for row in [] if no_features is None else np.flatnonzero(no_features).tolist():
            shapes[row] = shapes[row].replace("}\n", ', "no_features": true}\n')
        return ("".join(shapes) % tuple(values[keep].tolist())).encode("utf-8")

    def _tsv_line(self, count: int) -> str:
        answer = "%s\t%.6g" if self._titles is None else "%s\t%s\t%.6g"
        return "\t".join([answer] * count) + "\n"

    def _json_line(self, count: int) -> str:
        strings, numbers = ", ".join(["%s"] * count), ", ".join(["%.6g"] * count)
        texts = "" if self._titles is None else f'"texts": [{strings}], '
        return f'{{"labels": [{strings}], {texts}"scores": [{numbers}]}}\n'

    def _texts(self, labels: Int64s) -> Any:
        """Return the text of each label; every distinct label is formatted once."""
        distinct, place = np.unique(labels, return_inverse=True)
        called = (distinct if self._names is None else self._names[distinct]).tolist()
        written = np.empty(len(distinct), dtype=object)
        written[:] = list(map(str if self._names is None else self._writer(), called))
        return written[place.reshape(labels.shape)]

    def _title_texts(self, labels: Int64s) -> Any:
        """Return the title of each label; a label without one has an empty field, or null."""
        assert self._titles is not None
        distinct, place = np.unique(labels, return_inverse=True)
        titles = [self._titles(label) if label >= 0 else None for label in distinct.tolist()]
        written = np.empty(len(distinct), dtype=object)
        writer = self._writer()
        written[:] = [writer(title if self.is_json else title or "") for title in titles]
        return written[place.reshape(labels.shape)]

    def _writer(self) -> Callable[[Any], str]:
        form = _as_json if self.is_json else _as_tsv
        return (lambda name: form(name).translate(self._shown)) if self._shown else form


def _as_json(name: str | None) -> str:
    return json.dumps(name, ensure_ascii=False)


def _as_tsv(name: str) -> str:
    return no_formula(name.translate(_ESCAPES))
