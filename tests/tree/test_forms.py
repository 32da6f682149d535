"""Newick and Graphviz say what the tree is, whatever its names and height."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeltrees import LabelTree
from labeltrees.errors import InputError
from tests.strategies import children_of, clusters, label_trees

names = st.text(st.characters(codec="utf-8"), max_size=5)


def parse_newick(text):
    """Nested lists of names, without recursion."""
    tokens = re.findall(r"'(?:[^']|'')*'|[(),;]|[^(),;']+", text)
    assert "".join(tokens) == text
    stack, last = [[]], None
    for token in tokens[:-1]:
        if token == "(":
            stack.append([])
        elif token == ")":
            group = stack.pop()
            stack[-1].append(group)
        elif token != ",":
            assert last in ("(", ",", None)
            stack[-1].append(token[1:-1].replace("''", "'") if token.startswith("'") else token)
        last = token
    assert tokens[-1] == ";"
    assert len(stack) == 1
    assert len(stack[0]) == 1
    return stack[0][0]


@given(label_trees(), st.data())
def test_newick_describes_the_tree(tree, data):
    label_names = data.draw(st.lists(names, min_size=tree.n_labels, max_size=tree.n_labels))
    nested = {}
    for node in reversed(range(tree.n_nodes)):
        nested[node] = [label_names[~child] if child < 0 else nested[child] for child in children_of(tree, node)]
    assert parse_newick(tree.to_newick(label_names)) == nested[0]


def test_newick_quotes_special_names():
    tree = LabelTree([0, 5], [~0, ~1, ~2, ~3, ~4], 5, label_names=["a-b.c", "a_b", "it's", "a b", ""])
    assert tree.to_newick() == "(a-b.c,'a_b','it''s','a b','');"
    assert LabelTree([0, 2], [~1, ~0], 2).to_newick() == "(1,0);"


def dot_edges(text):
    return re.findall(r"^  (\w+) -> (\w+);$", text, flags=re.MULTILINE)


@given(label_trees())
def test_dot_draws_every_edge(tree):
    edges = {
        (f"n{node}", f"n{child}" if child >= 0 else f"l{~child}")
        for node in range(tree.n_nodes)
        for child in children_of(tree, node)
    }
    found = dot_edges(tree.to_dot())
    assert len(found) == len(edges)
    assert set(found) == edges


def test_dot_stops_at_a_depth_and_a_width():
    tree = LabelTree([0, 3, 5], [~0, 1, ~1, ~2, ~3], 4)
    assert set(dot_edges(tree.to_dot(max_depth=1))) == {("n0", "l0"), ("n0", "n1"), ("n0", "l1"), ("n1", "m1")}
    assert set(dot_edges(tree.to_dot(max_depth=0))) == {("n0", "m0")}
    assert 'label="2 more"' in tree.to_dot(max_children=1)
    assert set(dot_edges(tree.to_dot(max_children=1))) == {("n0", "l0"), ("n0", "m0")}
    with pytest.raises(InputError, match="max_depth must be"):
        tree.to_dot(max_depth=-1)


def test_dot_escapes_names_and_shows_masses():
    tree = LabelTree([0, 2], [~0, ~1], 2, label_names=['a"b\\', "two\nlines\t"], label_weights=[0.25, 0.5])
    text = tree.to_dot()
    assert 'label="a\\"b\\\\"' in text
    assert 'label="two\\nlines "' in text
    assert "mass 0.75\\n2 labels" in text
    assert "mass 3\\n2 labels" in tree.to_dot(weights=[1, 2])


def test_a_very_high_tree_has_every_text_form(tmp_path):
    n = 3000
    children = np.empty(2 * n, dtype=np.int32)
    children[0::2], children[1::2] = ~np.arange(n), np.arange(1, n + 1)
    children[-1] = ~n
    tree = LabelTree(np.arange(0, 2 * n + 1, 2), children, n + 1)
    assert tree.to_newick().count("(") == n
    assert len(dot_edges(tree.to_dot())) == 2 * n
    assert LabelTree.from_json(tree.to_json()) == tree
    assert LabelTree.from_napkinxc(tree.to_napkinxc()) == tree
    nested, depth = tree.to_omikuji(), 0
    while "Branch" in nested:
        nested, depth = nested["Branch"]["children"][-1], depth + 1
    assert depth == n - 1
    assert len(clusters(tree)) == n
