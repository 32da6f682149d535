"""labeltrees inspect."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from rich.text import Text

from labeltrees._files import naming_file
from labeltrees.cli.command import SEARCH_GROUPS, Command
from labeltrees.cli.data_options import data_options
from labeltrees.cli.errors import printable
from labeltrees.cli.inspect_searches import show_searches
from labeltrees.cli.options import is_given, jobs_option, json_option, model_argument, option_of, refuse_option
from labeltrees.cli.output import console, make_table, plural, print_json, size
from labeltrees.cli.saved_models import c_text, disk_bytes, evidence_words, load_model, model_facts
from labeltrees.cli.search_options import SearchOptions, search_options
from labeltrees.cli.tree import find_label, summary_rows
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import InputError
from labeltrees.models.common.protocol import Model
from labeltrees.models.linear.features import feature_names_of
from labeltrees.profiling import MAX_POINTS
from labeltrees.storage.chunks import ChunkStore
from labeltrees.storage.unpack import unpack_node
from labeltrees.tree.arrays import TreeArrays
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import NodeView, TreeViewer

_EPILOG = """\b
Examples:
  labeltrees inspect debian.model
  labeltrees inspect debian.model --label python3 --features 20
  labeltrees inspect debian.model --searches debian
  labeltrees inspect debian.model --searches debian --query 17
  labeltrees inspect products.model --searches test.txt.xz --beam none --format jsonl -o searches.jsonl
"""
_MAX_SETS, _MAX_RETIRED = 50, 10  # printed at most
# Options that need --searches.
_OF_SEARCHES = ("k", "n_queries", "query", "form", "output", "beam", "agreement", "evidence", "n_jobs")


@click.command("inspect", cls=Command, groups=SEARCH_GROUPS, epilog=_EPILOG)
@model_argument
@click.option(
    "--label", metavar="NAME", help="Show the path to this label (name or id) and the strongest features on it."
)
@click.option(
    "--features",
    "n_features",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Number of features to show per classifier.",
)
@click.option("--verify", is_flag=True, help="First read the whole model and compare checksums.")
@click.option("--searches", "data", metavar="DATA", help="Show the work and the time of searches for points of DATA.")
@click.option("-k", "--k", type=click.IntRange(min=1), default=5, show_default=True, help="Number of labels per point.")
@click.option(
    "--queries",
    "n_queries",
    type=click.IntRange(min=1),
    default=MAX_POINTS,
    show_default=True,
    help="Maximum number of points to search, drawn at random.",
)
@click.option("--query", type=click.IntRange(min=0), help="Show the search of one point of DATA; the first point is 0.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "jsonl", "csv"]),
    default="table",
    show_default=True,
    help="table and json: a summary; jsonl and csv: one record per query, with the nodes it visited.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="File to write jsonl or csv to. [default: standard output]"
)
@search_options
@data_options(names=False)
@jobs_option
@json_option
@click.pass_obj
def inspect_model(
    show_progress: bool,
    model_folder: str,
    label: str | None,
    n_features: int,
    verify: bool,
    data: str | None,
    k: int,
    n_queries: int,
    query: int | None,
    form: str,
    output: str | None,
    search: SearchOptions,
    reading: DataOptions,
    n_jobs: int,
    as_json: bool,
) -> None:
    """Show the parameters, trees and sizes of a MODEL, the path to one label, or the work of searches.

    Every step of the path to a label has a classifier. For each step, --label shows the features with the strongest
    weights: positive ones favour this step, negative ones oppose it. A text model has no features; only the steps are
    shown.

    --searches searches a sample of the points of DATA one by one on one thread, in several rounds, and keeps the
    shortest time of each point. The tables show the nodes opened, how many of them every search must open (the
    ancestors of the returned labels), how often each operation ran, and the time. The time to vectorize texts is not
    included.
    """
    given = next((name for name in _OF_SEARCHES if is_given(name)), None)
    if data is None and given is not None:
        message = f"{option_of(given)} needs --searches DATA"
        raise InputError(message)
    if data is not None and (label is not None or is_given("n_features")):
        refuse_option("--searches", "--label" if label is not None else "--features", "run the command once for each")
    model = load_model(model_folder, verify=verify)
    if data is not None:
        request = search.make_request(model, k)
        form = "json" if as_json else form
        show_searches(
            model, model_folder, data, reading, request, n_queries, query, form, output, n_jobs, show_progress
        )
        return
    if model.READS_TEXTS and is_given("n_features"):
        refuse_option("--features", f"a {model.KIND}", "it has vectors of words instead of features")
    if label is not None:
        record = LabelInspector(model, model_folder).inspect(label, n_features)
        if as_json:
            print_json(record)
        else:
            out = console()
            out.print(label_text(record))
        return
    record = _describe(model, model_folder)
    if as_json:
        print_json(record)
        return
    _print(model, record)


def _describe(model: Model, folder: str) -> dict[str, Any]:
    return {
        **model_facts(model, folder),
        "has_label_names": model.label_names_ is not None,
        "has_feature_names": feature_names_of(model) is not None,
        "takes_texts": model.takes_texts,
        "retired": list(model.retired_.tolist()),
        "takes": None if model.encoder_ is None else model.encoder_.TAKES,
        "evidence": model.stats_.get("evidence"),
        "vocabulary": _vocabulary(model),
        "files": disk_bytes(folder),
    }


def _vocabulary(model: Model) -> dict[str, Any] | None:
    """Return facts about the SKOS vocabulary: language, number of labels with a broader one, sizes of its sets."""
    relations = model.label_relations_
    if relations is None:
        return None
    n_below = sum(bool(relations.broader(label)) for label in range(len(relations)))
    language: str | None = getattr(model, "label_texts_").language  # noqa: B009
    return {"language": language, "broader": n_below, "sets": relations.set_sizes()}


def _print(model: Model, record: dict[str, Any]) -> None:
    out = console()
    names = [kind for kind in ("label", "feature") if record[f"has_{kind}_names"]]
    counts = " and ".join(
        plural(record[f"n_{noun}s"], noun) for noun in ("label", "feature", "word") if f"n_{noun}s" in record
    )
    trained = "" if record["n_points"] is None else f", trained on {plural(record['n_points'], 'point')}"
    named = f", with {' and '.join(names)} names" if names else ""
    named += "; takes texts" if record["takes_texts"] else ""
    named += f"; takes {record['takes']}" if record["takes"] and not record["takes_texts"] else ""
    out.print(f"{record['model']}: {model.KIND} with {counts}{trained}{named}")
    if record["retired"]:
        shown = [printable(str(label)) for label in record["retired"][:_MAX_RETIRED]]
        more = ", ..." if len(record["retired"]) > _MAX_RETIRED else ""
        out.print(f"{plural(len(record['retired']), 'label')} retired: {', '.join(shown)}{more}")
    trees = model.trees_
    for number, tree in enumerate(trees):
        out.print("\n" + ("tree" if len(trees) == 1 else f"tree {number}"))
        out.print(make_table(None, summary_rows(tree.summary())))
    out.print("\nparameters")
    out.print(make_table(None, [(name, str(value)) for name, value in record["parameters"].items()], left=(0, 1)))
    if record["evidence"] is not None:
        out.print(f"\nevidence: {evidence_words(record['evidence'])}")
    if record["vocabulary"] is not None:
        out.print(f"\nvocabulary: {plural(record['vocabulary']['broader'], 'label')} with a broader one; sets (@NAME):")
        titles = model.label_relations_.titles if model.label_relations_ is not None else {}
        rows = [(printable(titles[uri]), printable(uri), f"{n:,}") for uri, n in record["vocabulary"]["sets"].items()]
        out.print(make_table(("name", "URI", "labels"), rows[:_MAX_SETS], left=(0, 1)))
    if "C" in record:
        out.print(f"\nC by depth: {c_text(record['C'])}")
    out.print(f"\nsize on disk: {size(record['disk_bytes'])}, {plural(record['n_weights'] or 0, 'weight')}")
    out.print(make_table(None, [(name, size(n_bytes)) for name, n_bytes in record["files"].items()]))


class LabelInspector:
    """Shows single labels of a model that was loaded from `folder`."""

    def __init__(self, model: Model, folder: str) -> None:
        self.model = model
        with naming_file(folder):  # a mapped tree is checked here
            self._trees = [_named(tree, model.label_names_) for tree in model.trees_]
        # Only linear models have feature weights; other models show only the steps.
        self._stores: list[ChunkStore | None] = list(getattr(model.searcher_, "stores", [None] * len(self._trees)))

    def inspect(self, label_or_id: str, n_features: int) -> dict[str, Any]:
        """Return the path of a label in each tree, with the `n_features` strongest features of each step."""
        label = find_label(self._trees[0], label_or_id)
        if label in self._trees[0].unplaced_labels:
            evidence = getattr(self.model.searcher_, "evidence", None)
            by_words = evidence is not None and "names" in evidence.weights
            found_by = "only words of its texts find it" if by_words else "no search returns it"
            message = (
                f"label {TreeViewer(self._trees[0]).name(label)!r} has no training points and no place in the tree: "
            )
            raise InputError(message + found_by)
        pairs = zip(self._trees, self._stores, strict=True)
        trees = [self._path(tree, store, label, n_features) for tree, store in pairs]
        return {
            "label": label,
            "name": TreeViewer(self._trees[0]).name(label),
            "n_points": int(self.model.label_counts_[label]),
            "retired": bool(label in self.model.searcher_.retired),
            **self._of_vocabulary(label),
            "trees": trees,
        }

    def _of_vocabulary(self, label: int) -> dict[str, Any]:
        """Return the title of a label and the titles of its broader labels; empty if the model has no label texts."""
        texts = getattr(self.model, "label_texts_", None)
        if texts is None:
            return {}
        names, relations = self.model.label_names_, self.model.label_relations_
        above = [] if relations is None else relations.above(label)
        return {
            "text": texts.title(label),
            "broader": [texts.title(other) or str(other if names is None else names[other]) for other in above],
        }

    def _path(self, tree: LabelTree, store: ChunkStore | None, label: int, n_features: int) -> dict[str, Any]:
        viewer = TreeViewer(tree)
        nodes, found = viewer.path_to(label)
        steps = []
        for depth, node in enumerate(nodes):
            below = nodes[depth + 1] if depth + 1 < len(nodes) else None
            child = ~label if below is None else below.node
            shown = {} if store is None else self._classifier(store, node.node, child, n_features)
            steps.append({**_step(node, below, found.name), **shown})
        return {"depth": found.depth, "path": steps}

    def _classifier(self, store: ChunkStore, node: int, child: int, n_features: int) -> dict[str, Any]:
        classifiers = unpack_node(store, node)
        place = int(np.flatnonzero(classifiers.children == child)[0])
        row: Any = classifiers.weights[[place]]
        # The strongest first; ties go to the smaller feature.
        order = np.lexsort((row.indices, -np.abs(row.data)))[:n_features]
        strongest = [
            {"feature": feature, "name": self._feature_name(feature), "weight": weight}
            for feature, weight in zip(row.indices[order].tolist(), row.data[order].tolist(), strict=True)
        ]
        return {"bias": float(classifiers.bias[place]), "n_weights": int(row.nnz), "features": strongest}

    def _feature_name(self, feature: int) -> str:
        names = feature_names_of(self.model)
        return f"feature {feature}" if names is None else str(names[feature])


def _named(tree: LabelTree, names: Any) -> LabelTree:
    return LabelTree._adopt(TreeArrays(tree.child_ptr, tree.children, tree.n_labels, names, tree.label_weights))


def _step(node: NodeView, below: NodeView | None, label_name: str) -> dict[str, Any]:
    if below is None:
        return {"node": node.node, "to": "label", "name": label_name}
    return {"node": node.node, "to": below.node, "n_labels": below.n_labels, "examples": below.examples}


def label_text(record: dict[str, Any]) -> Text:
    """Return the record of a label as text."""
    text = Text()
    text.append(printable(record["name"]), "bold")
    retired = ", retired" if record["retired"] else ""
    text.append(f"  label {record['label']}, {plural(record['n_points'], 'training point')}{retired}\n")
    if record.get("text"):
        chain = " < ".join(map(printable, (record["text"], *record["broader"])))
        text.append(f"{chain}{'  (broader subjects)' if record['broader'] else ''}\n")
    several = len(record["trees"]) > 1
    for number, tree in enumerate(record["trees"]):
        text.append(f"\ntree {number}, depth {tree['depth']}\n" if several else f"depth {tree['depth']}\n")
        for step in tree["path"]:
            text.append_text(_step_text(step))
    text.rstrip()
    return text


def _step_text(step: dict[str, Any]) -> Text:
    start = "root" if step["node"] == 0 else f"node {step['node']}"
    text = Text(f"{start} -> ", "cyan")
    if step["to"] == "label":
        text.append(printable(step["name"]), "bold")
    else:
        more = ", ..." if step["n_labels"] > len(step["examples"]) else ""
        text.append(f"node {step['to']}", "cyan")
        text.append(
            f" ({plural(step['n_labels'], 'label')}: {', '.join(map(printable, step['examples']))}{more})", "dim"
        )
    if "bias" not in step:
        return text.append("\n")
    text.append(f"  bias {step['bias']:.2f}, {plural(step['n_weights'], 'weight')}\n")
    shown = ", ".join(f"{printable(feature['name'])} {feature['weight']:+.2f}" for feature in step["features"])
    text.append(f"    {shown}\n")
    return text
