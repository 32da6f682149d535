"""Contraction of a binary tree, to a fanout and for the cost of a search."""

import heapq
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import labeltrees as lt
from labeltrees.tree.contract import SearchCost
from tests.strategies import children_of, label_trees


def contract_plainly(tree, fanout, mass, keep_leaves):
    """Label sets of the contracted tree's nodes, by the definition."""

    def children(node):
        return tree.children[tree.child_ptr[node] : tree.child_ptr[node + 1]].tolist()

    sets = []
    todo = [0]
    while todo:
        node = todo.pop()
        side_by_side = children(node)
        closed = set()
        while True:
            open_nodes = [c for c in side_by_side if c >= 0 and c not in closed]
            if not open_nodes:
                break
            heaviest = heapq.nsmallest(1, open_nodes, key=lambda c: (-mass[c], c))[0]
            below = children(heaviest)
            leaf = keep_leaves and all(c < 0 for c in below)
            if leaf or len(side_by_side) - 1 + len(below) > fanout:
                closed.add(heaviest)
                continue
            at = side_by_side.index(heaviest)
            side_by_side[at : at + 1] = below
        sets.append(tuple(c if c < 0 else frozenset(labels_of(tree, c)) for c in side_by_side))
        todo.extend(c for c in side_by_side if c >= 0)
    return sorted(map(repr, sets))


def labels_of(tree, node):
    return [label for label in range(tree.n_labels) if tree.label_parent[label] >= 0 and node in tree.path(label)]


def described(tree):
    return sorted(
        repr(tuple(c if c < 0 else frozenset(labels_of(tree, c)) for c in row.tolist()))
        for row in np.split(tree.children, tree.child_ptr[1:-1])
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(2, 12), st.sampled_from([1, 3]))
def test_contraction_equals_its_plain_twin(seed, n_labels, fanout, leaf_size):
    rng = np.random.default_rng(seed)
    V, f = rng.random((n_labels, 4)), rng.pareto(1.0, n_labels) + 0.01
    binary = lt.build_tree_from(V, f, fanout=2, leaf_size=leaf_size)
    mass = binary.mass()
    wide = lt.contract(binary, fanout, mass, leaf_size=leaf_size)
    assert described(wide) == contract_plainly(binary, fanout, mass, leaf_size > 1)
    assert wide.leaf_order().tolist() == binary.leaf_order().tolist()
    assert (wide.label_depth <= binary.label_depth).all()
    assert np.diff(wide.child_ptr).max() <= max(fanout, leaf_size)


def test_a_wide_enough_fanout_makes_the_tree_flat():
    tree = lt.contract(lt.huffman_tree(np.arange(1, 20)), 19)
    assert tree.n_nodes == 1


def test_leaves_are_kept_whole():
    binary = lt.build_tree_from(np.eye(40), np.ones(40), tradeoff=0, fanout=2, leaf_size=10)
    assert binary.n_nodes == 7
    assert lt.contract(binary, 30, leaf_size=10).n_nodes == 5
    assert lt.contract(binary, 40).n_nodes == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1,), "fanout"), ((2.5,), "fanout"), ((4, [1.0]), "mass must be a vector"), ((4, [-1.0] * 3), r"mass\[0\]")],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.contract(lt.huffman_tree([1, 1, 1, 1]), *arguments)


# The cost of a search.


costs = st.builds(
    SearchCost,
    visit=st.sampled_from([0.1, 1.0, 3.0]),
    wide=st.sampled_from([0.0, 0.4, 2.0]),
    block=st.sampled_from([0.0, 0.3, 1.0]),
    level=st.sampled_from([0.0, 1.0]),
    narrow=st.integers(0, 6),
    block_size=st.integers(1, 4),
    most_children=st.integers(2, 9),
    answers=st.sampled_from([0.5, 1.0, 5.0, 40.0]),
)


def is_leaf(tree, node):
    return all(child < 0 for child in children_of(tree, node))


def visits_by_odds(mass, cost):
    if mass >= 1:
        return 1.0
    odds = cost.answers * mass / (1 - mass)
    return odds / (1 + odds)


def cheapest_by_trying_all(tree, cost, mass, keep_leaves):
    """The least expected cost over every set of kept nodes, written down from the definition."""
    too_wide = {node for node in range(tree.n_nodes) if len(children_of(tree, node)) > cost.most_children}
    fixed = {node for node in range(1, tree.n_nodes) if keep_leaves and is_leaf(tree, node)} | too_wide
    free = [node for node in range(1, tree.n_nodes) if node not in fixed]
    # What is below a node that is too wide stays apart; a lone node may stand for it or be left out.
    best = np.inf
    for flags in itertools.product([False, True], repeat=len(free)):
        kept = {0, *fixed, *(node for node, keep in zip(free, flags, strict=True) if keep)}
        total = 0.0
        for node in kept:
            opened, width = list(children_of(tree, node)), 0
            while opened:
                child = opened.pop()
                if child < 0 or child in kept:
                    width += 1
                else:
                    opened.extend(children_of(tree, child))
            if width > cost.most_children and width > len(children_of(tree, node)):
                break
            if node in too_wide and width != len(children_of(tree, node)):
                break
            total += visits_by_odds(mass[node] / mass[0], cost) * (float(cost.of_width(width)) + cost.level)
        else:
            best = min(best, total)
    return best


def price(tree, cost):
    """The expected cost with the price of levels."""
    return cost.expected(tree) + cost.level * cost.visits_of(tree.mass()).sum()


@given(label_trees(max_labels=10, weights=True), costs, st.sampled_from([1, 2]))
def test_no_choice_of_nodes_is_cheaper(tree, cost, leaf_size):
    wide = lt.contract(tree, "auto", leaf_size=leaf_size, cost=cost)
    least = cheapest_by_trying_all(tree, cost, tree.mass(), leaf_size > 1)
    assert price(wide, cost) == pytest.approx(least, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), costs, st.sampled_from([1, 3]))
def test_no_choice_is_cheaper_in_built_trees(seed, n_labels, cost, leaf_size):
    rng = np.random.default_rng(seed)
    binary = lt.build_tree_from(
        rng.random((n_labels, 3)), rng.pareto(1.0, n_labels) + 0.01, fanout=2, leaf_size=leaf_size
    )
    wide = lt.contract(binary, "auto", leaf_size=leaf_size, cost=cost)
    least = cheapest_by_trying_all(binary, cost, binary.mass(), leaf_size > 1)
    assert price(wide, cost) == pytest.approx(least, rel=1e-9)


@given(label_trees(max_labels=40, weights=True), st.sampled_from([1, 4]))
def test_labels_keep_their_order_and_no_node_gets_too_wide(tree, leaf_size):
    cost = SearchCost(most_children=6, narrow=3)
    wide = lt.contract(tree, "auto", leaf_size=leaf_size, cost=cost)
    assert wide.leaf_order().tolist() == tree.leaf_order().tolist()
    widest = max(len(children_of(tree, node)) for node in range(tree.n_nodes))
    assert np.diff(wide.child_ptr).max() <= max(6, widest)
    assert (wide.label_depth <= tree.label_depth).all()
    assert wide == lt.contract(tree, "auto", leaf_size=leaf_size, cost=cost)


@pytest.mark.parametrize("leaf_size", [3, 300])
def test_leaves_are_kept_whole_for_a_cost(leaf_size):
    binary = lt.random_tree(1000, leaf_size=leaf_size)
    leaves = {tuple(children_of(binary, node)) for node in range(binary.n_nodes) if is_leaf(binary, node)}
    wide = lt.contract(binary, "auto", leaf_size=leaf_size)
    assert leaves == {tuple(children_of(wide, node)) for node in range(wide.n_nodes) if is_leaf(wide, node)}


@pytest.mark.parametrize("chain_first", [True, False])
def test_a_chain_of_thousands_of_nodes_is_handled(chain_first):
    n = 20_000
    pairs = np.stack([np.arange(1, n + 1), ~np.arange(n)], axis=1)
    pairs[-1, 0] = ~n
    children = (pairs if chain_first else pairs[:, ::-1]).reshape(-1)
    weights = 1.0 / np.arange(1, n + 2)
    chain = lt.LabelTree(np.arange(0, 2 * n + 1, 2), children, n + 1, label_weights=weights)
    wide = lt.contract(chain, "auto")
    cost = SearchCost()
    assert len(wide.unplaced_labels) == 0
    assert np.diff(wide.child_ptr).max() <= 256
    assert price(wide, cost) <= min(price(lt.contract(chain, fanout), cost) for fanout in (8, 16, 64, 256))


def test_ties_go_to_the_wider_node():
    cost = SearchCost(visit=1.0, wide=1.0, block=0.0, level=0.0, narrow=2, answers=1.0)
    # Flat: one visit of cost 2. Binary: 1 at the root, 1 below in all.
    binary = lt.LabelTree([0, 2, 4, 6], [1, 2, ~0, ~1, ~2, ~3], 4, label_weights=[0.25] * 4)
    assert cost.expected(binary) == cost.expected(lt.contract(binary, 4))
    assert lt.contract(binary, "auto", cost=cost).n_nodes == 1


def test_one_label_and_labels_of_no_weight():
    assert lt.contract(lt.flat_tree(1), "auto").n_nodes == 1
    binary = lt.random_tree(600)
    weights = np.zeros(600)
    weights[0] = 1.0
    wide = lt.contract(binary, "auto", binary.mass(weights))
    assert len(wide.unplaced_labels) == 0
    assert np.diff(wide.child_ptr).max() <= 256


@pytest.mark.parametrize("tradeoff", [0, 1, 2])
def test_auto_is_cheapest_of_all_fanouts(tradeoff):
    rng = np.random.default_rng(0)
    V, f = rng.random((2000, 8)), rng.pareto(1.0, 2000) + 0.01
    cost = SearchCost()
    auto = lt.build_tree_from(V, f, tradeoff=tradeoff, fanout="auto")
    others = [lt.build_tree_from(V, f, tradeoff=tradeoff, fanout=fanout) for fanout in (2, 8, 16, 32, 64, 128, 256)]
    assert price(auto, cost) <= min(price(tree, cost) for tree in others)
    again = lt.build_tree_from(V, f, tradeoff=tradeoff, fanout="auto", n_jobs=2)
    assert auto == again


def test_other_costs_give_other_trees():
    rng = np.random.default_rng(0)
    X, Y = rng.random((300, 5)), rng.random((300, 90)) < 0.1
    flat = lt.build_tree(X, Y, fanout="auto", search_cost=SearchCost(visit=100.0))
    deep = lt.build_tree(X, Y, fanout="auto", search_cost=SearchCost(block=1.0, level=0.0, narrow=0, block_size=1))
    assert flat.n_nodes == 1
    assert deep.n_nodes > 10


def test_expected_cost_by_hand():
    tree = lt.LabelTree([0, 2, 4], [~0, 1, ~1, ~2], 3)
    cost = SearchCost(visit=1.0, wide=0.5, block=0.2, narrow=1, block_size=1, answers=3.0)
    assert cost.expected(tree, [2, 1, 1]) == pytest.approx(1.7 * (1 + 0.75))
    assert cost.of_width([1, 2, 257]).tolist() == pytest.approx([1.0, 1.7, 2 * 1.5 + 51.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda tree: lt.contract(tree, "wide"), "fanout must be an integer of at least 2 or 'auto', got 'wide'"),
        (lambda tree: lt.contract(tree, 1), "fanout must be an integer of at least 2, got 1"),
        (lambda tree: lt.contract(tree, 4, cost=SearchCost()), "cost must be None unless fanout is 'auto'"),
        (lambda tree: lt.contract(tree, "auto", cost=1.0), "cost must be None or a SearchCost, got 1.0"),
        (lambda tree: lt.contract(tree, "auto", [0.0, 0.0, 0.0]), "mass must be positive at the root"),
        (lambda tree: lt.build_tree_from(np.eye(3), [1, 1, 1], search_cost=SearchCost()), "search_cost must be"),
        (lambda tree: SearchCost(block=-1), "block must be a number in"),
        (lambda tree: SearchCost(visit=0, wide=0, block=0), "not all 0"),
        (lambda tree: SearchCost(most_children=257), "most_children must be an integer in"),
        (lambda tree: SearchCost(answers=0), "answers must be a number in"),
    ],
)
def test_bad_costs_are_named(call, words):
    with pytest.raises(lt.errors.InputError, match=words.replace("[", r"\[")):
        call(lt.random_tree(4))
