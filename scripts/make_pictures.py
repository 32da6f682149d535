"""Draw the pictures of docs/concepts.md from the bundled data.

    python scripts/make_pictures.py [FOLDER]

All trees and scores are real: from twelve labels of the bundled set, or from all of it. The same data give the same
files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import labeltrees as lt
from labeltrees.storage.unpack import unpack_node

FAMILIES = {
    "#0072b2": ("python3", "python3-numpy", "python3-scipy", "python3-requests"),
    "#d55e00": ("perl", "libwww-perl", "libmoose-perl"),
    "#009e73": ("libqt5core5a", "libqt5gui5", "libqt5widgets5"),
    "#555555": ("libc6", "ruby"),
}
COLOUR_OF = {name: colour for colour, names in FAMILIES.items() for name in names}
TRADEOFFS = {
    0.0: "similar labels together",
    1.0: "similarity and frequency",
    2.0: "frequent labels near the root",
}
ROW, STEP, GREY = 26, 34, "#999999"


class Drawing:
    """An SVG with a light background, readable in light and dark colour schemes."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def text(self, x: float, y: float, text: str, *, colour: str = "#222", size: int = 13, **more: Any) -> None:
        """Write a text that starts at (x, y), or with ``anchor="middle"`` is centred there."""
        style = f'fill="{colour}" font-size="{size}" text-anchor="{more.get("anchor", "start")}"'
        if more.get("bold"):
            style += ' font-weight="bold"'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>')

    def circle(self, x: float, y: float, radius: float, colour: str, stroke: str = "none") -> None:
        """Draw a filled circle."""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" stroke="{stroke}" stroke-width="1.5"/>'
        )

    def line(self, points: Iterable[tuple[float, float]], colour: str = GREY, dash: str = "none") -> None:
        """Draw a line through points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-dasharray="{dash}"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled rectangle."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect {place} fill="{colour}"/>')

    def save(self, path: Path) -> None:
        """Write the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" role="img" font-family="sans-serif">\n<title>{escape(self.title)}</title>\n'
            f'<rect width="100%" height="100%" rx="8" fill="#fbfbf8"/>\n'
        )
        path.write_text(head + "\n".join(self.parts) + "\n</svg>\n", encoding="utf-8")


def tree_places(tree: lt.LabelTree, left: float, top: float) -> tuple[dict[int, Any], dict[int, Any]]:
    """Return the positions of nodes and labels: the root at the left, one row per label, x by depth."""
    order = tree.leaf_order()
    labels = {int(label): (left + STEP * tree.label_depth[label], top + ROW * row) for row, label in enumerate(order)}
    nodes: dict[int, Any] = {}
    for node in range(tree.n_nodes - 1, -1, -1):  # children have larger ids
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        rows = [nodes[c][1] if c >= 0 else labels[~c][1] for c in children.tolist()]
        nodes[node] = (left + STEP * tree.node_depth[node], (min(rows) + max(rows)) / 2)
    return nodes, labels


def draw_tree(
    drawing: Drawing, tree: lt.LabelTree, names: Any, shares: Any, left: float, top: float
) -> tuple[dict[int, Any], dict[int, Any]]:
    """Draw a tree; the area of a label's circle shows its frequency."""
    nodes, labels = tree_places(tree, left, top)
    for node, (x, y) in nodes.items():
        for child in tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist():
            to = nodes[child] if child >= 0 else labels[~child]
            drawing.line([(x, y), (x + STEP / 2, y), (x + STEP / 2, to[1]), to])
    for x, y in nodes.values():
        drawing.circle(x, y, 4, "#fbfbf8", GREY)
    for label, (x, y) in labels.items():
        radius = 2 + 12 * float(np.sqrt(shares[label]))
        drawing.circle(x, y, radius, COLOUR_OF[names[label]])
        drawing.text(x + radius + 5, y + 4, names[label], colour=COLOUR_OF[names[label]])
    return nodes, labels


def small_part(data: lt.Dataset) -> lt.Dataset:
    """Return the points with one of the twelve labels, and only these labels."""
    assert data.label_names is not None
    columns = [data.label_names.tolist().index(name) for name in COLOUR_OF]
    Y = data.Y[:, columns]
    rows = np.flatnonzero(np.diff(Y.tocsr().indptr))
    return lt.Dataset(data.X[rows], Y[rows], label_names=list(COLOUR_OF), texts=[data.texts[row] for row in rows])


def draw_tradeoff(small: lt.Dataset, path: Path) -> None:
    """Draw the same labels at three tradeoffs, in binary trees."""
    shares = lt.label_frequencies(small.Y)
    drawing = Drawing(1070, 410, "The tree over twelve labels at tradeoff 0, 1 and 2")
    for number, (tradeoff, what) in enumerate(TRADEOFFS.items()):
        tree = lt.build_tree(small.X, small.Y, tradeoff=tradeoff, fanout=2)
        left = 30 + 340 * number
        drawing.text(left, 32, f"tradeoff {tradeoff:g}: {what}", size=14, bold=True)
        depth = tree.expected_depth(shares)
        drawing.text(left, 54, f"expected depth {depth:.2f} (weighted by frequency)", colour="#555")
        draw_tree(drawing, tree, small.label_names, shares, left, 92)
    drawing.save(path)


def draw_contraction(small: lt.Dataset, path: Path) -> None:
    """Draw a binary tree, and the same tree contracted."""
    shares = lt.label_frequencies(small.Y)
    drawing = Drawing(700, 410, "A binary tree, and the same tree with at most four children per node")
    binary = lt.build_tree(small.X, small.Y, tradeoff=1.0, fanout=2)
    wide = lt.contract(binary, 4)
    for number, (tree, what) in enumerate(
        [(binary, "fanout 2: the binary tree"), (wide, "fanout 4: after contraction")]
    ):
        left = 30 + 380 * number
        drawing.text(left, 32, what, size=15, bold=True)
        drawing.text(left, 54, f"{tree.n_nodes} nodes, expected depth {tree.expected_depth(shares):.2f}", colour="#555")
        draw_tree(drawing, tree, small.label_names, shares, left, 92)
    drawing.save(path)


def draw_search(small: lt.Dataset, test: lt.Dataset, path: Path) -> None:
    """Draw the nodes that a search for two labels opens, for the first test point that is a good example."""
    tree = lt.build_tree(small.X, small.Y, tradeoff=1.0, fanout=3)
    model = lt.LabelTreeClassifier(tree=tree, beam=None).fit(small.X, small.Y)
    row = next(i for i in range(test.n_points) if is_good_example(model, test, i))
    query = test.X[[row]]
    visits = {node: number + 1 for number, node in enumerate(model.searcher_.trace(query, 2).nodes.tolist())}
    found, _ = model.predict_topk(query, 2)
    scores = node_scores(model, query)

    drawing = Drawing(740, 430, "The chunks that a search opens, and the scores")
    drawing.text(30, 32, "The two best labels of one point", size=15, bold=True)
    words = test.texts[row]
    drawing.text(30, 54, f"“{words[:95]}{'…' if len(words) > 95 else ''}”", colour="#555")
    nodes, labels = tree_places(tree, 60, 112)
    for node, (x, y) in nodes.items():
        opened = node in visits
        for child in tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist():
            to = nodes[child] if child >= 0 else labels[~child]
            way = [(x, y), (x + STEP / 2, y), (x + STEP / 2, to[1]), to]
            drawing.line(way, "#222" if opened else GREY, "none" if opened else "3 4")
    for node, (x, y) in nodes.items():
        drawing.circle(x, y, 10 if node in visits else 4, "#f0c000" if node in visits else "#fbfbf8", GREY)
        if node in visits:
            drawing.text(x, y + 4, f"{visits[node]}", anchor="middle", bold=True)
        elif int(tree.parent[node]) in visits:
            drawing.text(x - 4, y - 9, f"{scores[node]:.2g}", size=12)
    for label, (x, y) in labels.items():
        seen = int(tree.label_parent[label]) in visits
        colour = COLOUR_OF[small.label_names[label]] if seen else GREY
        drawing.circle(x, y, 5, colour)
        best = label in found[0]
        score = f": {scores[~label]:.2g}" + (", returned" if best else "") if seen else ": not scored"
        drawing.text(x + 10, y + 4, small.label_names[label] + score, colour=colour, bold=best)
    for number, line in enumerate(
        [
            "yellow: opened chunks, numbered in",
            "the order of the search",
            "other numbers: scores (the product of",
            "the classifiers' outputs on the path)",
            f"stops when every open node is below {min(scores[~int(label)] for label in found[0]):.2g},",
            "the score of the second label",
        ]
    ):
        drawing.text(455, 112 + 20 * number, line, size=12, colour="#555")
    drawing.save(path)


def is_good_example(model: Any, test: lt.Dataset, row: int) -> bool:
    """Return whether a point is a good example: a short text, a search of three nodes, and a correct result."""
    if len(test.texts[row]) > 170 or len(model.searcher_.trace(test.X[[row]], 2).nodes) != 3:
        return False
    found, scores = model.predict_topk(test.X[[row]], 2)
    return scores[0, 1] > 0.05 and set(found[0]) == set(test.Y[[row]].indices)


def node_scores(model: Any, query: Any) -> dict[int, float]:
    """Return the scores of all nodes, and of all labels as ~label; a search computes only some of them."""
    dense = query.toarray()[0]
    dense = dense / np.linalg.norm(dense)
    scores = {0: 1.0}
    for node in range(model.tree_.n_nodes):
        part = unpack_node(model.searcher_.stores[0], node)
        factors = np.exp(-(np.maximum(0, 1 - (part.weights @ dense + part.bias)) ** model.score_power))
        scores |= {int(c): scores[node] * float(factor) for c, factor in zip(part.children, factors, strict=True)}
    return scores


def draw_depths(train: lt.Dataset, path: Path) -> None:
    """Draw the distribution of the depth of each point's most frequent label, in trees over all labels."""
    cover = lt.cover_frequencies(train.Y)
    drawing = Drawing(1020, 310, "The depth of each point's most frequent label, at three tradeoffs")
    for number, tradeoff in enumerate(TRADEOFFS):
        tree = lt.build_tree(train.X, train.Y, tradeoff=tradeoff, fanout=2)
        placed = tree.label_depth >= 0
        mass = np.bincount(tree.label_depth[placed], weights=cover[placed], minlength=19)[:19]
        left, floor, depth = 40 + 330 * number, 255, tree.expected_depth(cover)
        drawing.text(left, 32, f"tradeoff {tradeoff:g}: expected depth {depth:.1f}", size=15, bold=True)
        for at, share in enumerate(mass):
            x, y = left + 15 * at - 9, floor - 190 * share
            if at > 0:
                drawing.box(x - 6, y, 12, 190 * share, "#0072b2")
            if share >= 0.1 and at > 0:
                drawing.text(x, y - 5, f"{100 * share:.0f} %", size=11, anchor="middle")
            if at in (1, 5, 10, 15):
                drawing.text(x, floor + 16, f"{at}", size=11, anchor="middle")
        drawing.line([(left - 4, floor), (left + 280, floor)], "#222")
        middle = left + 15 * depth - 9
        drawing.line([(middle, floor), (middle, 50)], "#d55e00", "4 3")
        drawing.text(left + 140, floor + 38, "depth", size=12, anchor="middle", colour="#555")
    drawing.save(path)


def main() -> None:
    """Draw all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    train, test = lt.datasets.load_debian()
    small, small_test = small_part(train), small_part(test)
    draw_tradeoff(small, folder / "tradeoff.svg")
    draw_contraction(small, folder / "contraction.svg")
    draw_search(small, small_test, folder / "search.svg")
    draw_depths(train, folder / "depths.svg")


if __name__ == "__main__":
    main()
