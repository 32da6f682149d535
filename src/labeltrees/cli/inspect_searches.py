"""labeltrees inspect MODEL --searches DATA: the work and the time of searches."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import click
import numpy as np
from scipy import sparse

from labeltrees.cli.errors import printable
from labeltrees.cli.output import check_parent_folder, console, make_table, number, plural, print_json, step
from labeltrees.cli.saved_models import check_n_features
from labeltrees.data.files import write_any
from labeltrees.data.point_blocks import open_points
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.profiling import SearchWork, measure_work
from labeltrees.search.request import SearchRequest


def show_searches(
    model: Model,
    model_folder: str,
    data: str,
    reading: DataOptions,
    request: SearchRequest,
    n_queries: int,
    query: int | None,
    form: str,
    output: str | None,
    n_jobs: int,
    show_progress: bool,
) -> None:
    """Search a sample of the points of DATA one by one, and show the work and the times."""
    check_parent_folder(output)
    if output is not None and form not in ("jsonl", "csv"):
        message = f"--output cannot be combined with --format {form}: it is for jsonl and csv"
        raise InputError(message)
    with step("Reading data", show_progress):
        points = _read(data, reading, model, n_jobs)
    rows = _draw(points.shape[0], n_queries, query, data)
    with step("Timing searches", show_progress):
        found = measure_work(model, points, request, rows)
    if form in ("jsonl", "csv"):
        records = [_record(found, place, model) for place in range(found.n_queries) if query in (None, rows[place])]
        _write(_lines(records) if form == "jsonl" else _table(records), output)
    elif form == "json":
        record = found.summary() if query is None else _record(found, int(np.searchsorted(rows, query)), model)
        print_json({"model": model_folder, "data": data, **record})
    elif query is not None:
        print_query(_record(found, int(np.searchsorted(rows, query)), model))
    else:
        print_work(f"{model_folder} on {found.n_queries:,} of {plural(points.shape[0], 'point')} of {data}", found)


def _read(data: str, reading: DataOptions, model: Model, n_jobs: int) -> Any:
    """Return the points of DATA in the form that the model's searcher takes."""
    read_texts = list if model.takes_texts else None
    with open_points(data, reading, read_texts=read_texts) as points:
        if points.n_features is not None:
            check_n_features(data, points.n_features, model)
        blocks = list(points.blocks)
    n_points = sum(len(block) if points.n_features is None else block.shape[0] for block in blocks)
    if n_points == 0:
        message = f"{data}: has no points to search"
        raise InputError(message)
    if points.n_features is None:
        return model.check_queries([text for block in blocks for text in block], n_jobs)
    return sparse.vstack(blocks, format="csr")


def _draw(n_points: int, n_queries: int, query: int | None, data: str) -> Any:
    """Return the rows of the points to search, ascending; they include `query`, if given."""
    if query is not None and query >= n_points:
        message = f"{data}: has no point {query}; its {plural(n_points, 'point')} are numbered from 0"
        raise InputError(message)
    rows = np.random.default_rng(0).permutation(n_points)[:n_queries]
    if query is not None and query not in rows:
        rows[0] = query
    return np.sort(rows)


def _record(found: SearchWork, place: int, model: Model) -> dict[str, Any]:
    labels = found.labels[place][found.labels[place] >= 0]
    named = labels if model.label_names_ is None else model.label_names_[labels]
    return {**found.record(place), "labels": named.tolist(), "visits": found.visits_of(place)}


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _table(records: list[dict[str, Any]]) -> str:
    """Return the records as CSV; each `visited_` field lists a value of all visits of a query, separated by spaces."""
    text = io.StringIO(newline="")
    flat = [
        {
            **{name: value for name, value in record.items() if name not in ("labels", "visits")},
            "labels": json.dumps(record["labels"], ensure_ascii=False),
            **{
                f"visited_{name}": " ".join(f"{visit[name]:.6g}" for visit in record["visits"])
                for name in ("tree", "node", "depth", "score", "needed", "on_path")
            },
        }
        for record in records
    ]
    writer = csv.DictWriter(text, fieldnames=list(flat[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _write(text: str, output: str | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    with write_any(output) as stream:
        stream.write(text.encode())


_TITLES = {"nonzeros": "features", "path_visits": "nodes opened for labels found in other trees"}


def print_work(title: str, work: SearchWork) -> None:
    """Print the work of searches and their times."""
    out, record = console(), work.summary()
    out.print(f"{title}: top {record['k']}, {_search(record)}\n")
    rows = [
        _spread_row("features", record["features"]),
        _spread_row("nodes opened", record["nodes"]),
        _spread_row("nodes that every search opens", record["needed"]),
        _spread_row("microseconds", record["microseconds"]),
    ]
    out.print(make_table(("per query", "mean", "median", "99 %"), rows))
    counts = [(_TITLES.get(name, name.replace("_", " ")), number(value, 1)) for name, value in record["counts"].items()]
    counts.append(("opened nodes that every search opens", f"{100 * record['needed_share']:.0f} %"))
    out.print()
    out.print(make_table(("operations per query", "mean"), counts))
    out.print()
    depths = [(str(own["depth"]), number(own["nodes"], 2), number(own["needed"], 2)) for own in record["by_depth"]]
    out.print(make_table(("depth", "nodes opened", "that every search opens"), depths, left=()))


def print_query(record: dict[str, Any]) -> None:
    """Print the search of one query."""
    out = console()
    out.print(f"query {record['query']}: {', '.join(printable(str(label)) for label in record['labels'])}\n")
    several = any(visit["tree"] > 0 for visit in record["visits"])
    rows = [
        (
            *([str(visit["tree"])] if several else []),
            str(visit["node"]),
            str(visit["depth"]),
            f"{visit['score']:.4f}",
            "yes" if visit["needed"] else "no",
        )
        for visit in record["visits"]
    ]
    columns = (*(["tree"] if several else []), "node", "depth", "score", "needed")
    out.print(make_table(columns, rows, left=()))
    out.print()
    out.print(make_table(None, [("microseconds", number(record["microseconds"], 2))]))


def _search(record: dict[str, Any]) -> str:
    return "exact" if record.get("beam") is None else f"beam {record['beam']}"


def _spread_row(name: str, spread: dict[str, float]) -> tuple[str, ...]:
    return name, *(number(spread[key], 1) for key in ("mean", "p50", "p99"))
