"""labeltrees quickstart."""

from __future__ import annotations

from pathlib import Path

import click

from labeltrees._progress import watch
from labeltrees.cli.data_argument import BUNDLED, load_data
from labeltrees.cli.options import jobs_option
from labeltrees.cli.output import console, make_table, number, step
from labeltrees.cli.tree import with_names
from labeltrees.cli.tree_compare import Comparison, Row, TreeOptions
from labeltrees.cli.tree_view import as_text
from labeltrees.tree.label_tree import LabelTree
from labeltrees.tree.view import TreeViewer

_TRADEOFFS = (0.0, 0.5, 1.0, 1.5, 2.0)
_SHOWN = 1.0
_EPILOG = """\b
Example:
  labeltrees quickstart
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    default="labeltrees-quickstart",
    show_default=True,
    help="Where to save the trees.",
)
@jobs_option
@click.pass_obj
def quickstart(show_progress: bool, folder: str, n_jobs: int) -> None:
    """Build trees for the bundled data at several tradeoffs and show what the tradeoff does.

    The data: packages of Debian, and which other packages each depends on. Takes less than a minute.
    """
    with step("Reading data", show_progress):
        dataset = load_data(BUNDLED)
    out = console()
    out.print(f"{dataset.n_points:,} Debian packages (points) depend on {dataset.n_labels:,} packages (labels).\n")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    options = TreeOptions(
        fanout=16,
        leaf_size=1,
        smoothing=0.1,
        cover="marginal",
        cover_softness=0.0,
        path="weighted",
        random_state=0,
        n_jobs=n_jobs,
    )
    trees: dict[float, LabelTree] = {}
    rows: list[Row] = []
    with watch("Building trees", len(_TRADEOFFS), show_progress) as advance:
        comparison = Comparison(dataset, options)
        for tradeoff in _TRADEOFFS:
            trees[tradeoff] = with_names(comparison.at(tradeoff), dataset)
            rows.append(comparison.row(f"{tradeoff:g}", trees[tradeoff], tradeoff))
            trees[tradeoff].save(_file(target, tradeoff))
            if advance is not None:
                advance(len(rows))
    out.print("The tradeoff moves a tree from alike labels side by side (0) to frequent labels near the root (2).")
    out.print("Mean depth over all labels of the points, and over the most frequent label of each point:\n")
    out.print(
        make_table(
            ("tradeoff", "depth of all labels", "of the most frequent", "height", "similarity"),
            [
                (
                    row.tree,
                    number(row.expected_depth),
                    number(row.expected_cover_depth),
                    f"{row.height}",
                    number(row.similarity, 3),
                )
                for row in rows
            ],
        )
    )
    out.print(f"\nThe top of the tree at tradeoff {_SHOWN:g}:")
    out.print(as_text(TreeViewer(trees[_SHOWN]).top(depth=2, width=5)))
    out.print(f"\nThe trees are in {target}. What to do next:")
    out.print(f"  labeltrees tree show {_file(target, _SHOWN)} --label python3")
    out.print(f"  labeltrees tree compare {BUNDLED}")
    out.print(f"  labeltrees imbalance {BUNDLED}")
    out.print("  labeltrees tree build YOUR-DATA.txt -o your.tree")


def _file(folder: Path, tradeoff: float) -> Path:
    return folder / f"tradeoff-{tradeoff:g}.tree"
