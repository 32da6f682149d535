"""All formats that a tree is written to and read from, as methods of `LabelTree`."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from labeltrees._files import PathLike, naming_file
from labeltrees._validation import check_integer
from labeltrees.tree import exchange, files, pecos
from labeltrees.tree.arrays import Float64s, Int32s, Int64s, Names, TreeArrays, check_names

if TYPE_CHECKING:
    from labeltrees.tree.label_tree import LabelTree


class TreeForms:
    """Formats of a tree. Reading checks everything: a damaged or hostile file raises a `FileFormatError`."""

    child_ptr: Int64s
    children: Int32s
    n_labels: int
    label_names: Names | None
    label_weights: Float64s | None

    @classmethod
    @abstractmethod
    def _adopt(cls, parts: TreeArrays, *, check: bool = True) -> Self: ...

    @classmethod
    def _of_file(cls, path: PathLike, parts: TreeArrays) -> Self:
        with naming_file(path):
            return cls._adopt(parts)

    @property
    def _parts(self) -> TreeArrays:
        return TreeArrays(self.child_ptr, self.children, self.n_labels, self.label_names, self.label_weights)

    @property
    def _tree(self) -> LabelTree:
        return cast("LabelTree", self)

    def save(self, path: PathLike) -> None:
        """Write the tree to a file: JSON if `path` ends in ``.json``, else compact binary.

        If writing fails, an existing file is not changed. ``docs/format.md`` describes the format.
        """
        if Path(path).suffix == ".json":
            files.write_json(path, self._parts)
        else:
            files.write_tree(path, self._parts)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a tree that `save` wrote.

        Examples
        --------
        >>> import tempfile, labeltrees as lt
        >>> tree = lt.LabelTree([0, 2], [~0, ~1], n_labels=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.save(folder + "/two.tree")
        ...     lt.LabelTree.load(folder + "/two.tree") == tree
        True
        """
        read = files.read_json if Path(path).suffix == ".json" else files.read_tree
        return cls._of_file(path, read(path))

    def to_json(self) -> str:
        """Return the tree as JSON, as in a file that `save` writes.

        Examples
        --------
        >>> import labeltrees as lt
        >>> print(lt.LabelTree([0, 2], [~0, ~1], n_labels=2).to_json())
        {
          "format": "labeltrees-tree",
          "version": 1,
          "n_labels": 2,
          "child_ptr": [0, 2],
          "children": [-1, -2],
          "label_names": null,
          "label_weights": null
        }
        <BLANKLINE>
        """
        return files.tree_to_json(self._parts)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the tree from a text that `to_json` returned."""
        return cls._of_file("JSON text", files.tree_from_json(text))

    def to_newick(self, label_names: Sequence[str] | Names | None = None) -> str:
        """Return the tree in Newick format; labels without names are written as their ids.

        Examples
        --------
        >>> import labeltrees as lt
        >>> lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).to_newick(["tea", "black tea", "mate"])
        "(tea,('black tea',mate));"
        """
        return tree_to_newick(self._tree, label_names)

    def to_dot(
        self,
        max_depth: int | None = None,
        *,
        max_children: int | None = None,
        label_names: Sequence[str] | Names | None = None,
        weights: ArrayLike | None = None,
    ) -> str:
        r"""Return the tree as a Graphviz digraph, with the mass and the number of labels of each node.

        Parameters
        ----------
        max_depth : int, optional
            Nodes at this depth are drawn without their children.
        max_children : int, optional
            Maximum number of children that are drawn per node.
        label_names : sequence of str (n_labels,), optional
            By default the names of the tree, or label ids if it has none.
        weights : array (n_labels,), optional
            Label weights for the masses, as in `LabelTree.mass`.

        Examples
        --------
        >>> import labeltrees as lt
        >>> print(lt.LabelTree([0, 2], [~0, ~1], n_labels=2).to_dot(max_children=1))
        digraph LabelTree {
          node [shape=ellipse];
          n0 [label="0\nmass 1\n2 labels"];
          l0 [shape=box, label="0"];
          n0 -> l0;
          m0 [shape=plaintext, label="1 more"];
          n0 -> m0;
        }
        <BLANKLINE>
        """
        return tree_to_dot(self._tree, max_depth, max_children=max_children, label_names=label_names, weights=weights)

    def to_pecos_chain(self, folder: PathLike) -> None:
        """Write the tree as a folder that PECOS loads as a ``ClusterChain``.

        PECOS needs all labels at the same depth, so a shallow label is put below a chain of pass-through nodes with one
        child; the size of the folder is proportional to labels times height. PECOS also needs every label: unplaced
        labels are put below one more child of the root (in a tree of height 1, below the root itself).
        """
        pecos.write_pecos_chain(self._tree, folder)

    @classmethod
    def from_pecos_chain(cls, folder: PathLike, unplaced_labels: ArrayLike | None = None) -> Self:
        """Read the tree in a folder that PECOS' ``ClusterChain.save`` or `to_pecos_chain` wrote.

        A node with one child is replaced by that child, which removes pass-through nodes, and all other nodes with one
        child too. The labels of a node come back in order of id. Every label of the chain is placed except those in
        `unplaced_labels`.

        Examples
        --------
        >>> import tempfile, labeltrees as lt
        >>> tree = lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tree.to_pecos_chain(folder)
        ...     lt.LabelTree.from_pecos_chain(folder).label_depth
        array([1, 2, 2], dtype=int32)
        """
        return cls._of_file(folder, pecos.read_pecos_chain(folder, unplaced_labels))

    def to_napkinxc(self, path: PathLike | None = None) -> list[tuple[int, int, int]]:
        """Return the tree as napkinXC's list of (parent, node, label); if `path` is given, also write its text file.

        napkinXC's ``PLT(tree_structure=...)`` accepts both. The root's parent is -1. In napkinXC a label is a node too,
        and an inner node has label -1. napkinXC needs every label: unplaced labels are put below one more child of the
        root.

        Examples
        --------
        >>> import labeltrees as lt
        >>> lt.LabelTree([0, 2], [~1, ~0], n_labels=2).to_napkinxc()
        [(-1, 0, -1), (0, 1, 1), (0, 2, 0)]
        """
        rows = exchange.tree_to_rows(self._tree)
        if path is not None:
            exchange.write_napkinxc(rows, path)
        return rows

    @classmethod
    def from_napkinxc(
        cls, source: Sequence[tuple[int, int, int]] | PathLike, unplaced_labels: ArrayLike | None = None
    ) -> Self:
        """Read a tree from napkinXC's list of (parent, node, label) or from its text file.

        A label of an inner node in napkinXC becomes that node's first child. Every label is placed except those in
        `unplaced_labels`.

        Examples
        --------
        >>> import labeltrees as lt
        >>> lt.LabelTree.from_napkinxc([(-1, 0, -1), (0, 1, 1), (0, 2, 0)]).children
        array([-2, -1], dtype=int32)
        """
        if isinstance(source, str | os.PathLike):
            return cls._of_file(source, exchange.read_napkinxc(source, unplaced_labels))
        return cls._adopt(exchange.read_rows(source, unplaced_labels))

    def to_omikuji(self) -> dict[str, Any]:
        """Return the tree nested as in omikuji's files, without weights, for comparison.

        omikuji has labels only in leaves, so a label whose siblings include nodes gets its own leaf. omikuji cannot
        train on a given tree, so it cannot load this.

        Examples
        --------
        >>> import labeltrees as lt
        >>> lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], n_labels=3).to_omikuji()
        {'Branch': {'children': [{'Leaf': {'labels': [0]}}, {'Leaf': {'labels': [1, 2]}}]}}
        """
        return exchange.tree_to_nested(self._tree)

    @classmethod
    def from_omikuji(cls, path: PathLike, tree: int = 0, n_labels: int | None = None) -> Self:
        """Read the structure of a tree that omikuji trained.

        Parameters
        ----------
        path : path
            A model's folder, or a ``tree{i}.cbor`` file.
        tree : int
            Which tree of the folder.
        n_labels : int, optional
            By default one more than the largest label of the tree; omikuji does not store it.
        """
        return cls._of_file(path, exchange.read_omikuji(path, tree, n_labels))

    @classmethod
    def from_linkage(cls, linkage: ArrayLike, labels: ArrayLike | None = None, n_labels: int | None = None) -> Self:
        """Return the binary tree of a hierarchical clustering of labels.

        Parameters
        ----------
        linkage : array (n - 1, 4)
            The linkage matrix of n observations, as ``scipy.cluster.hierarchy.linkage`` returns it.
        labels : array (n,), optional
            The label of each observation, all different; by default observation i is label i.
        n_labels : int, optional
            Number of labels, including those that were not clustered; by default the largest label plus 1.

        Examples
        --------
        >>> import labeltrees as lt
        >>> from scipy.cluster.hierarchy import linkage
        >>> lt.LabelTree.from_linkage(linkage([[0.0], [0.1], [5.0]])).to_newick()
        '(2,(0,1));'
        >>> lt.LabelTree.from_linkage(linkage([[0.0], [0.1], [5.0]]), labels=[7, 3, 5]).to_newick()
        '(5,(7,3));'
        """
        return cls._adopt(exchange.read_linkage(linkage, labels, n_labels))


# Newick reads an underscore outside quotes as a space.
_PLAIN_NEWICK = re.compile(r"[^\s()\[\]{}:;,'\"_]+")


def tree_to_newick(tree: LabelTree, label_names: Sequence[str] | Names | None = None) -> str:
    """Return the tree in Newick format."""
    names = _names_of(tree, label_names)
    pieces: list[str] = []
    # A string is written unchanged; an integer is a child to descend into.
    waiting: list[int | str] = [";", 0]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif item < 0:
            pieces.append(_quote_newick(_name(names, ~item)))
        else:
            children = tree.children[tree.child_ptr[item] : tree.child_ptr[item + 1]].tolist()
            pieces.append("(")
            waiting.append(")")
            for child in children[:0:-1]:
                waiting += [child, ","]
            waiting.append(children[0])
    return "".join(pieces)


def _quote_newick(name: str) -> str:
    if _PLAIN_NEWICK.fullmatch(name):
        return name
    return "'" + name.replace("'", "''") + "'"


def tree_to_dot(
    tree: LabelTree,
    max_depth: int | None = None,
    *,
    max_children: int | None = None,
    label_names: Sequence[str] | Names | None = None,
    weights: ArrayLike | None = None,
) -> str:
    """Return the tree as a Graphviz digraph."""
    if max_depth is not None:
        max_depth = check_integer("max_depth", max_depth, 0)
    if max_children is not None:
        max_children = check_integer("max_children", max_children, 1)
    names, mass, below = _names_of(tree, label_names), tree.mass(weights), tree.n_labels_below
    lines = ["digraph LabelTree {", "  node [shape=ellipse];"]
    # Parents come before their children, so one pass in order of id is enough.
    drawn = np.zeros(tree.n_nodes, dtype=bool)
    drawn[0] = True
    for node in range(tree.n_nodes):
        if not drawn[node]:
            continue
        lines.append(f'  n{node} [label="{node}\\nmass {mass[node]:.3g}\\n{below[node]} labels"];')
        children = tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]]
        if max_depth is not None and tree.node_depth[node] >= max_depth:
            lines.append(f'  m{node} [shape=plaintext, label="..."];')
            lines.append(f"  n{node} -> m{node};")
            continue
        for child in children[:max_children].tolist():
            if child >= 0:
                drawn[child] = True
                lines.append(f"  n{node} -> n{child};")
            else:
                lines.append(f'  l{~child} [shape=box, label="{_escape_dot(_name(names, ~child))}"];')
                lines.append(f"  n{node} -> l{~child};")
        if max_children is not None and len(children) > max_children:
            lines.append(f'  m{node} [shape=plaintext, label="{len(children) - max_children} more"];')
            lines.append(f"  n{node} -> m{node};")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _escape_dot(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", "\\n")
    return "".join(" " if ord(letter) < 32 else letter for letter in text)


def _names_of(tree: LabelTree, label_names: Sequence[str] | Names | None) -> Names | None:
    return tree.label_names if label_names is None else check_names(label_names, tree.n_labels)


def _name(names: Names | None, label: int) -> str:
    return str(label) if names is None else str(names[label])
