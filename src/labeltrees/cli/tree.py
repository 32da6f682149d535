"""labeltrees tree build, show, compare, imbalance."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from typing import Any

import click
import numpy as np
from rich.text import Text
from rich.tree import Tree as TextTree

from labeltrees._progress import watch
from labeltrees.cli.command import Command
from labeltrees.cli.data_options import data_options
from labeltrees.cli.errors import printable
from labeltrees.cli.options import data_argument, jobs_option, json_option, seed_option, setting_options
from labeltrees.cli.output import (
    Column,
    Table,
    check_parent_folder,
    check_plot,
    console,
    make_table,
    number,
    plural,
    print_json,
    step,
    write_csv,
)
from labeltrees.cli.tree_compare import Comparison, TreeRow
from labeltrees.data.read_data import DataOptions, load_data
from labeltrees.errors import InputError
from labeltrees.labels.imbalance import Imbalance
from labeltrees.labels.imbalance import imbalance as measure
from labeltrees.report.charts import save, styled
from labeltrees.report.figures import served_curves
from labeltrees.tree.builder import build_tree
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.measures import TreeSummary
from labeltrees.tree.settings import TreeSettings
from labeltrees.tree.view import LabelView, NodeView, TreeViewer

_BUILD_EPILOG = """\b
Examples:
  labeltrees tree build debian -o debian.tree
  labeltrees tree build train.txt.xz -o products.json --tradeoff 1.5 --fanout 64
"""
_SHOW_EPILOG = """\b
Examples:
  labeltrees tree show debian.tree --depth 2
  labeltrees tree show debian.tree --label python3
"""
_COMPARE_EPILOG = """\b
Examples:
  labeltrees tree compare debian
  labeltrees tree compare train.txt --fanout 16 --csv trees.csv
"""


@click.group()
def tree() -> None:
    """Build, show and compare label trees; show how imbalanced labels are."""


@tree.command(cls=Command, epilog=_BUILD_EPILOG)
@data_argument
@data_options()
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    required=True,
    help="File to save the tree in; JSON if it ends in .json.",
)
@setting_options(TreeSettings)
@seed_option
@jobs_option
@json_option
@click.pass_obj
def build(
    show_progress: bool,
    /,
    data: str,
    output: str,
    as_json: bool,
    reading: DataOptions,
    random_state: int,
    n_jobs: int,
    **settings: Any,
) -> None:
    """Build a tree from DATA and save it.

    DATA is a file of texts with labels, a file in XMC format, a folder with one such file named train*, or the word
    debian for the bundled data.
    """
    check_parent_folder(output)
    with step("Reading data", show_progress):
        dataset = load_data(data, options=reading)
    parameters = {**asdict(TreeSettings(**settings)), "random_state": random_state, "n_jobs": n_jobs}
    built = build_tree(dataset.X, dataset.Y, sample_weight=dataset.sample_weight, progress=show_progress, **parameters)
    arrays = built.child_ptr, built.children, built.n_labels
    named = LabelTree(*arrays, label_names=dataset.label_names, label_weights=built.label_weights)
    named.save(output)
    if as_json:
        print_json({"tree": output, "parameters": parameters, **asdict(named.summary())})
    else:
        out = console()
        out.print(f"{named.n_labels:,} labels, {dataset.n_points:,} points -> {output}")
        out.print(summary_table(named))


@tree.command(cls=Command, epilog=_SHOW_EPILOG)
@click.argument("tree_file", metavar="TREE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--depth", type=click.IntRange(min=0), default=3, show_default=True, help="Number of levels to show below the root."
)
@click.option(
    "--width", type=click.IntRange(min=1), default=8, show_default=True, help="Number of children to show per node."
)
@click.option("--label", metavar="NAME", help="Show the path from the root to this label (name or id).")
@json_option
def show(tree_file: str, depth: int, width: int, label: str | None, as_json: bool) -> None:
    """Show the top of a TREE, with the heaviest children first.

    The mass of a node is the share of the total label weight that is below it.
    """
    loaded = LabelTree.load(tree_file)
    viewer = TreeViewer(loaded)
    if label is not None:
        _show_path(viewer, find_label(loaded, label), as_json)
        return
    top = viewer.top(depth, width)
    if as_json:
        print_json({"summary": asdict(loaded.summary()), "root": top.record()})
        return
    out = console()
    out.print(summary_table(loaded))
    out.print(as_text(top))


def _show_path(viewer: TreeViewer, label: int, as_json: bool) -> None:
    nodes, found = viewer.path_to(label)
    if as_json:
        left_out = ("children", "n_more_labels", "mass_of_more")
        path = [{key: value for key, value in node.record().items() if key not in left_out} for node in nodes]
        print_json({**found.record(), "path": path})
        return
    text = TextTree(node_line(nodes[0]))
    below = text
    for node in nodes[1:]:
        below = below.add(node_line(node))
    below.add(label_line(found))
    console().print(text)


@tree.command(cls=Command, epilog=_COMPARE_EPILOG)
@data_argument
@data_options()
@setting_options(TreeSettings, skip=("tradeoff",), defaults={"fanout": 2})
@seed_option
@jobs_option
@click.option("--csv", "csv_file", type=click.Path(dir_okay=False), help="Also write the table to this file.")
@json_option
@click.pass_obj
def compare(
    show_progress: bool,
    /,
    data: str,
    csv_file: str | None,
    random_state: int,
    n_jobs: int,
    as_json: bool,
    reading: DataOptions,
    **settings: Any,
) -> None:
    """Compare trees built from DATA at the paper's tradeoffs, and baseline trees.

    The table shows the expected depth under the label frequencies f and under the cover frequencies f~, which count
    each point once: smaller is faster. In a binary tree (--fanout 2) neither can be below the entropy.
    Similarity is the mean cosine between a label and the centre of a node above it: larger is more accurate.
    """
    check_parent_folder(csv_file)
    with step("Reading data", show_progress):
        dataset = load_data(data, options=reading)
    with step("Counting frequencies and embedding labels", show_progress):
        comparison = Comparison(dataset, TreeSettings(**settings), random_state, n_jobs)
    rows: list[TreeRow] = []
    with watch("Building trees", comparison.n_rows, show_progress) as advance:
        for row in comparison.rows():
            rows.append(row)
            if advance is not None:
                advance(len(rows))
    records = [row.record() for row in rows]
    if csv_file is not None:
        write_csv(csv_file, records)
    if as_json:
        entropies = {"entropy": comparison.entropy, "cover_entropy": comparison.cover_entropy}
        shown = {name: value for name, value in asdict(comparison.settings).items() if name != "tradeoff"}
        parameters = {**shown, "random_state": random_state, "n_jobs": n_jobs}
        print_json({"parameters": parameters, **entropies, "trees": records})
        return
    out = console()
    out.print(compare_table(rows))
    out.print(f"\nentropy of f {comparison.entropy:.2f} bits, of f~ {comparison.cover_entropy:.2f} bits")


def summary_table(tree: LabelTree) -> Any:
    """Return the summary of a tree as a table."""
    return make_table(None, summary_rows(tree.summary()))


def summary_rows(summary: TreeSummary) -> list[tuple[str, str]]:
    """Return the summary of a tree as rows of a table."""
    return [
        ("labels", f"{summary.n_labels:,}"),
        ("labels in the tree", f"{summary.n_placed:,}"),
        ("nodes", f"{summary.n_nodes:,}"),
        ("height", f"{summary.height:,}"),
        ("mean depth", number(summary.mean_depth)),
        ("expected depth", number(summary.expected_depth)),
        ("children per node", f"{summary.mean_children:.1f}, at most {summary.max_children:,}"),
    ]


def compare_table(rows: list[TreeRow]) -> Any:
    """Return the rows of a comparison as a table."""
    return make_table(
        (
            Column("tree", align="left"),
            Column("height", priority=2),
            Column("nodes", priority=3),
            Column("depth (f)", "f"),
            Column("depth (f~)", "f~", 1),
            Column("similarity"),
        ),
        [
            (
                row.tree,
                f"{row.height:,}",
                f"{row.nodes:,}",
                number(row.expected_depth),
                number(row.expected_cover_depth),
                number(row.similarity, 3),
            )
            for row in rows
        ],
    )


_MAX_COMPARED = 20_000


def label_line(view: LabelView) -> Text:
    """Return a label as a line of text."""
    return Text.assemble((printable(view.name), "bold"), f"  mass {_mass(view.mass)}, depth {view.depth}")


def node_line(view: NodeView) -> Text:
    """Return a node as a line of text."""
    name = "root" if view.node == 0 else f"node {view.node}"
    children = "child" if view.n_children == 1 else "children"
    counts = f"  mass {_mass(view.mass)}, {plural(view.n_labels, 'label')}, {view.n_children} {children}"
    text = Text.assemble((name, "cyan"), counts)
    if view.node != 0 and not view.children:
        text.append("  " + ", ".join(map(printable, view.examples)), "dim")
        text.append(", ..." if view.n_labels > len(view.examples) else "", "dim")
    return text


def as_text(view: NodeView, above: TextTree | None = None) -> TextTree:
    """Return a node and everything shown below it as indented text."""
    tree = TextTree(node_line(view)) if above is None else above.add(node_line(view))
    for child in view.children:
        if isinstance(child, NodeView):
            as_text(child, tree)
        else:
            tree.add(label_line(child))
    if view.children and view.n_more_labels > 0:
        tree.add(Text(f"... {plural(view.n_more_labels, 'more label')}, mass {_mass(view.mass_of_more)}", "dim"))
    return tree


def find_label(tree: LabelTree, label_or_id: str) -> int:
    """Return the id of a label, given its name or, if no label has that name, its id."""
    names = tree.label_names
    if names is not None:
        same = np.flatnonzero(names == label_or_id)
        if len(same) > 0:
            return int(same[0])
    if label_or_id.isascii() and label_or_id.isdigit() and int(label_or_id) < tree.n_labels:
        return int(label_or_id)
    if names is None:
        message = f"no label {label_or_id!r}: the labels have no names; use an id from 0 to {tree.n_labels - 1}"
        raise InputError(message)
    near = _near(label_or_id, [str(name) for name in names])
    message = f"no label {label_or_id!r}" + (f"; did you mean {', '.join(map(repr, near))}?" if near else "")
    raise InputError(message)


def _near(label_or_id: str, names: list[str]) -> list[str]:
    """Return up to five similar names: first those that contain the given one, then those with a similar spelling."""
    folded = label_or_id.casefold()
    containing = sorted((name for name in names if folded in name.casefold()), key=lambda name: (len(name), name))
    # Comparing spellings is slow: compare only names of similar length, and a limited number of them.
    alike = [name for name in names if abs(len(name) - len(label_or_id)) <= 2][:_MAX_COMPARED]
    return list(dict.fromkeys(containing[:5] + difflib.get_close_matches(label_or_id, alike, n=5)))[:5]


def _mass(mass: float) -> str:
    return f"{mass:.4f}" if mass >= 0.001 else f"{mass:.2g}"


_EPILOG = """\b
Examples:
  labeltrees tree imbalance debian
  labeltrees tree imbalance train.txt.xz --plot imbalance.svg
"""
_BAR_WIDTH = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"


@tree.command(cls=Command, epilog=_EPILOG)
@data_argument
@data_options()
@click.option("--plot", type=click.Path(dir_okay=False), help="Also draw the curves to this file (.png, .svg or .pdf).")
@json_option
@click.pass_obj
def imbalance(show_progress: bool, data: str, plot: str | None, as_json: bool, reading: DataOptions) -> None:
    """Show how many points of DATA the most frequent labels serve.

    The q most frequent labels serve a point if they include at least one of its labels, at least three of them (or all,
    if it has fewer), or all of them. The more points a few labels serve, the more a tree by frequency can gain.
    """
    check_plot(plot)
    with step("Reading data", show_progress):
        dataset = load_data(data, options=reading, features=False)
    result = measure(dataset.Y, dataset.sample_weight)
    if plot is not None:
        save(styled(served_curves(result.table())), plot)
    if as_json:
        print_json({"n_labels": result.n_labels, "n_points": result.n_points, "curve": result.table()})
        return
    out = console()
    out.print(f"{plural(result.n_labels, 'label')} on {plural(result.n_points, 'point')}")
    out.print(f"the most frequent 1 % of the labels serve {100 * result.top_percent:.1f} % of the points\n")
    out.print(_table(result))


def _table(result: Imbalance) -> Table:
    rows = [
        (
            f"{row['q']:,}",
            f"{100 * row['share_of_labels']:.3g} %",
            *(f"{100 * row[name]:.1f} %" for name in ("at_least_one", "at_least_three", "all_labels")),
            _bar(row["at_least_one"]),
        )
        for row in result.table()
    ]
    served = [Column("at least 1"), Column("at least 3", priority=1), Column("all")]
    bar = Column("", priority=3, align="left")
    return Table([Column("labels"), Column("of all", priority=2), *served, bar], rows)


def _bar(share: float) -> str:
    """Return a bar for a share, with a resolution of an eighth of a character."""
    whole, eighths = divmod(round(share * _BAR_WIDTH * 8), 8)
    return ("█" * whole + _EIGHTHS[eighths]).rstrip()
