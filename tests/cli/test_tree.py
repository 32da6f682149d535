"""labeltrees tree build, show, compare and imbalance."""

import csv
import json
import math
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from labeltrees import LabelTree, build_tree, huffman_tree, label_frequencies
from labeltrees.cli.main import cli
from labeltrees.cli.tree_compare import GRID, entropy
from labeltrees.data.read_data import load_data
from labeltrees.labels import imbalance
from tests.cli.conftest import sets


def test_build_saves_the_tree_the_library_builds(run, data_folder, tmp_path):
    output = tmp_path / "out.tree"
    options = (
        "--tradeoff",
        1.5,
        "--fanout",
        4,
        *sets(leaf_size=2, smoothing=0.2, cover="greedy"),
    )
    more = (*sets(cover_softness=0.5, path="direct"), "--seed", 3, "--jobs", 1)
    result = run("tree", "build", data_folder, "-o", output, *options, *more)
    assert result.exit_code == 0
    data = load_data(str(data_folder))
    expected = build_tree(
        data.X,
        data.Y,
        tradeoff=1.5,
        fanout=4,
        leaf_size=2,
        smoothing=0.2,
        cover="greedy",
        cover_softness=0.5,
        path="direct",
        random_state=3,
    )
    loaded = LabelTree.load(output)
    assert loaded == expected
    assert loaded.label_names[0] == "name-0"
    np.testing.assert_array_equal(loaded.label_weights, expected.label_weights)


def test_build_prints_a_summary(run, data_folder, tmp_path):
    result = run("tree", "build", data_folder, "-o", tmp_path / "out.json")
    assert "40 labels, 200 points" in result.stdout
    assert "labels in the tree" in result.stdout
    assert LabelTree.load(tmp_path / "out.json").n_labels == 40


def test_build_as_json(run, data_folder, tmp_path):
    result = run("tree", "build", data_folder, "-o", tmp_path / "out.tree", "--json")
    record = json.loads(result.stdout)
    assert record["n_labels"] == 40
    assert record["n_placed"] == 39
    assert record["parameters"]["tradeoff"] == 1.0


def test_a_missing_folder_is_refused_before_the_work(run, data_folder, tmp_path):
    result = run("tree", "build", data_folder, "-o", tmp_path / "no" / "out.tree")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"out.tree: its folder does not exist; to make it: mkdir -p {tmp_path / 'no'}\n")
    assert "Reading" not in result.stderr


def test_a_bad_parameter_is_refused_by_name(run, data_folder, tmp_path):
    result = run("-q", "tree", "build", data_folder, "-o", tmp_path / "out.tree", "--tradeoff", 3)
    assert result.exit_code == 2
    assert result.stderr == "Error: --tradeoff must be a number in [0, 2], got 3.0\n"
    assert not (tmp_path / "out.tree").exists()


def test_show_lists_the_heaviest_children_first_and_counts_the_rest(run, tree_file):
    result = run("tree", "show", tree_file, "--depth", 1, "--width", 2)
    root, *lines = result.stdout[result.stdout.index("root") :].splitlines()
    assert root == "root  mass 1.0000, 39 labels, 4 children"
    assert len(lines) == 3
    masses = [float(line.split("mass ")[1].split(",")[0]) for line in lines[:2]]
    assert masses == sorted(masses, reverse=True)
    assert re.fullmatch(r"└── \.\.\. \d+ more labels, mass 0\.\d+", lines[2])


def labels_in(node):
    return sum(labels_in(child) if "children" in child else 1 for child in node["children"]) + node["n_more_labels"]


@pytest.mark.parametrize(("depth", "width"), [(0, 8), (1, 2), (2, 3), (50, 50)])
def test_show_as_json_accounts_for_every_label_and_all_mass(run, tree_file, depth, width):
    result = json.loads(run("tree", "show", tree_file, "--json", "--depth", depth, "--width", width).stdout)
    root = result["root"]
    assert result["summary"]["n_labels"] == 40

    def check(node):
        if "children" in node:
            assert labels_in(node) == node["n_labels"]
            total = sum(child["mass"] for child in node["children"]) + node["mass_of_more"]
            assert total == pytest.approx(node["mass"])
            assert len(node["children"]) <= width
            assert node["depth"] <= depth
            for child in node["children"]:
                assert child["depth"] == node["depth"] + 1
                check(child)

    check(root)
    assert root["mass"] == pytest.approx(1)


def test_show_without_limits_shows_every_label_once(run, tree_file):
    names = []

    def collect(node):
        for child in node["children"]:
            if "children" in child:
                collect(child)
            else:
                names.append(child["name"])

    collect(json.loads(run("tree", "show", tree_file, "--json", "--depth", 50, "--width", 50).stdout)["root"])
    assert sorted(names) == sorted(f"name-{label}" for label in range(39))


@pytest.mark.parametrize("asked", ["name-17", "17"])
def test_show_label_prints_its_path_from_the_root(run, tree_file, asked):
    tree = LabelTree.load(tree_file)
    record = json.loads(run("tree", "show", tree_file, "--label", asked, "--json").stdout)
    assert record["label"] == 17
    assert record["depth"] == tree.label_depth[17]
    assert [node["node"] for node in record["path"]] == tree.path(17).tolist()
    text = run("tree", "show", tree_file, "--label", asked).stdout.splitlines()
    assert len(text) == tree.label_depth[17] + 1
    assert "name-17" in text[-1]


def test_the_examples_of_a_node_are_its_heaviest_labels(run, tree_file):
    tree = LabelTree.load(tree_file)
    for node in json.loads(run("tree", "show", tree_file, "--label", "17", "--json").stdout)["path"]:
        below = [label for label in range(39) if node["node"] in tree.path(label)]
        heaviest = sorted(below, key=lambda label: (-tree.label_weights[label], label))[:3]
        assert node["examples"] == [f"name-{label}" for label in heaviest]


def test_an_unknown_label_is_refused_with_near_names(run, tree_file):
    result = run("tree", "show", tree_file, "--label", "nmae-17")
    assert result.exit_code == 2
    assert "no label 'nmae-17'; did you mean 'name-17'" in result.stderr


def test_a_label_outside_the_tree_is_refused(run, tree_file):
    result = run("tree", "show", tree_file, "--label", "name-39")
    assert result.exit_code == 2
    assert "label 39 is not in the tree" in result.stderr


def test_show_names_labels_without_names_by_id(run, tmp_path):
    huffman_tree([0.5, 0.3, 0.2]).save(tmp_path / "plain.tree")
    assert "label 0  mass 0.5000, depth 1" in run("tree", "show", tmp_path / "plain.tree").stdout
    result = run("tree", "show", tmp_path / "plain.tree", "--label", "three")
    assert "the labels have no names; use an id from 0 to 2" in result.stderr


def test_names_cannot_send_control_codes_to_the_terminal(run, tmp_path):
    tree = LabelTree([0, 2], [~0, ~1], 2, label_names=["\x1b[31mred", "[bold]b[/bold]"], label_weights=[0.5, 0.5])
    tree.save(tmp_path / "odd.tree")
    output = run("tree", "show", tmp_path / "odd.tree").stdout
    assert "\x1b" not in output
    assert "[bold]b[/bold]" in output


def test_a_file_that_is_not_a_tree_is_refused(run, tmp_path):
    (tmp_path / "no.tree").write_text("hello")
    result = run("tree", "show", tmp_path / "no.tree")
    assert result.exit_code == 3
    assert result.stderr.startswith(f"Error: {tmp_path / 'no.tree'}")


@pytest.fixture(scope="module")
def comparison(data_folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "rows.csv"
    result = CliRunner().invoke(cli, ["tree", "compare", str(data_folder), "--json", "--csv", str(path)])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), path


def test_compare_has_the_papers_grid_and_the_baselines(comparison):
    record, _ = comparison
    names = [row["tree"] for row in record["trees"]]
    assert [row["tradeoff"] for row in record["trees"][: len(GRID)]] == pytest.approx(list(GRID))
    assert names[len(GRID) :] == ["huffman", "fano", "semantic_huffman", "kmeans", "random", "flat"]


def test_compare_measures_what_the_library_measures(comparison, data_folder):
    record, _ = comparison
    data = load_data(str(data_folder))
    f = label_frequencies(data.Y)
    rows = {row["tree"]: row for row in record["trees"]}
    assert rows["huffman"]["expected_depth"] == pytest.approx(huffman_tree(f).expected_depth(f))
    tree = build_tree(data.X, data.Y, tradeoff=1.0, fanout=2)
    assert rows["tradeoff 1"]["expected_depth"] == pytest.approx(tree.expected_depth(f))
    assert rows["tradeoff 1"]["nodes"] == tree.n_nodes
    assert rows["flat"]["expected_depth"] == 1.0
    assert rows["flat"]["similarity"] is None


def test_no_binary_tree_is_below_the_entropy_and_huffman_is_within_one_bit(comparison):
    record, _ = comparison
    binary = [row for row in record["trees"] if row["tree"] != "flat"]
    assert all(row["expected_depth"] >= record["entropy"] for row in binary)
    assert all(row["expected_cover_depth"] >= record["cover_entropy"] for row in binary)
    huffman = next(row for row in binary if row["tree"] == "huffman")
    assert huffman["expected_depth"] < record["entropy"] + 1


def test_compare_writes_the_same_rows_as_csv(comparison):
    record, path = comparison
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tree"] for row in rows] == [row["tree"] for row in record["trees"]]
    assert float(rows[0]["expected_depth"]) == record["trees"][0]["expected_depth"]


def test_compare_as_text(run, data_folder):
    output = run("tree", "compare", data_folder, "--fanout", 4, "--jobs", 1).stdout
    assert output.splitlines()[0].split() == ["tree", "height", "nodes", "depth", "(f)", "depth", "(f~)", "similarity"]
    assert "semantic_huffman" in output
    assert "entropy of f" in output


def test_entropy_of_equal_shares_is_the_logarithm():
    assert entropy(np.full(8, 1 / 8)) == 3.0
    assert entropy(np.array([1.0, 0.0])) == 0.0
    assert entropy(np.array([0.5, 0.25, 0.25])) == pytest.approx(-(0.5 * math.log2(0.5) + 0.5 * math.log2(0.25)))


def test_build_with_fanout_auto(run, data_folder, tmp_path):
    output = tmp_path / "auto.tree"
    result = run("tree", "build", data_folder, "-o", output, "--fanout", "auto", "--json")
    assert json.loads(result.stdout)["parameters"]["fanout"] == "auto"
    data = load_data(str(data_folder))
    assert LabelTree.load(output) == build_tree(data.X, data.Y, fanout="auto")
    assert (
        "'wide' is neither a whole number nor 'auto'"
        in run("tree", "build", data_folder, "-o", output, "--fanout", "wide").stderr
    )


def test_compare_with_fanout_auto(run, data_folder):
    record = json.loads(run("tree", "compare", data_folder, "--fanout", "auto", *sets(leaf_size=3), "--json").stdout)
    assert {row["tree"] for row in record["trees"]} >= {"kmeans", "random", "huffman", "flat"}


def test_the_table_shows_the_curve(run, data_folder):
    output = run("imbalance", data_folder).stdout
    result = imbalance(load_data(str(data_folder)).Y)
    assert f"39 labels on {result.n_points} points" in output
    assert f"serve {100 * result.top_percent:.1f} % of the points" in output
    rows = output.strip().splitlines()[-len(result.q) :]
    assert [int(row.split()[0]) for row in rows] == result.q.tolist()
    assert rows[-1].endswith("█" * 20)


def test_json_is_the_librarys_table(run, data_folder):
    record = json.loads(run("imbalance", data_folder, "--json").stdout)
    assert record["curve"] == imbalance(load_data(str(data_folder)).Y).table()
    assert record["n_labels"] == 39


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("pdf", b"%PDF")])
def test_the_plot_is_drawn_the_same_every_time(run, data_folder, tmp_path, ending, magic):
    pytest.importorskip("altair")
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        assert run("imbalance", data_folder, "--plot", file).exit_code == 0
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(magic)
    assert ending == "pdf" or first == second  # a PDF numbers its parts anew each time


def test_an_unknown_form_of_plot_is_refused(run, data_folder, tmp_path):
    result = run("imbalance", data_folder, "--plot", tmp_path / "plot.xls")
    assert result.exit_code == 2
    assert "--plot must end in one of .png, .svg, .pdf" in result.stderr


def test_without_the_library_the_error_names_the_extra(run, data_folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    result = run("imbalance", data_folder, "--plot", tmp_path / "plot.png")
    assert result.exit_code == 4
    assert "pip install labeltrees[plots]" in result.stderr
