"""labeltrees fit."""

import inspect
import json

import numpy as np
import pytest

import labeltrees as lt
from labeltrees import LabelTree, LabelTreeClassifier
from labeltrees.cli.fit import fit
from labeltrees.data.read_data import load_data
from tests.cli.conftest import sets

LEFT_OUT = {"vectorizer", "tree", "label_texts", "k", "threshold", "verbose"}  # --tree takes a file


def trained(data_folder, **parameters):
    data = load_data(str(data_folder))
    model = LabelTreeClassifier(**parameters)
    return model.fit(data)


def assert_same_model(folder, expected):
    model = lt.load(folder, verify=True)
    assert model.tree_ == expected.tree_
    for ours, theirs in zip(model.searcher_.stores, expected.searcher_.stores, strict=True):
        np.testing.assert_array_equal(ours.chunks, theirs.chunks)
    kept = {"tree", "embeddings", "n_jobs"}
    ours, theirs = (
        {name: value for name, value in one.get_params().items() if name not in kept} for one in (model, expected)
    )
    assert ours == theirs


def test_every_parameter_has_an_option_or_is_set_with_its_default():
    defaults = {name: own.default for name, own in fit.settable.items()}
    defaults |= {parameter.name: parameter.default for parameter in fit.params}
    for name, parameter in inspect.signature(LabelTreeClassifier).parameters.items():
        if name not in LEFT_OUT:
            assert defaults[name] == (-1 if name == "n_jobs" else parameter.default)


def test_it_saves_the_model_the_library_trains(run, data_folder, tmp_path):
    options = ("--tradeoff", 0.5, "--fanout", 4, *sets(leaf_size=2, smoothing=0.2, cover="greedy"))
    more = ("--loss", "logistic", "--C", 2, *sets(eps=0.05, max_iter=50, prune_below=0.01), "--seed", 3)
    last = (*sets(normalize="false", class_weight="balanced", search="paths", beam="none"), "--n-trees", 2)
    result = run("fit", data_folder, "-o", tmp_path / "model", *options, *more, *last)
    assert result.exit_code == 0
    expected = trained(
        data_folder,
        tradeoff=0.5,
        fanout=4,
        leaf_size=2,
        tree=lt.TreeBuilder(smoothing=0.2, cover="greedy"),
        loss=lt.Solver("logistic", eps=0.05, max_iter=50, prune_below=0.01),
        C=2.0,
        random_state=3,
        normalize=False,
        class_weight="balanced",
        n_trees=2,
        search="paths",
        beam=None,
    )
    assert_same_model(tmp_path / "model", expected)


def test_names_are_kept_but_not_run_options(run, data_folder, tmp_path):
    run("fit", data_folder, "-o", tmp_path / "model", "--jobs", 2)
    model = lt.load(tmp_path / "model")
    assert model.label_names_[7] == "name-7"
    assert model.feature_names_in_[7] == "word-7"
    assert (model.n_jobs, model.verbose) == (None, 0)


@pytest.mark.parametrize(("preset", "make"), [("parabel", "parabel"), ("one-vs-all", "one_vs_all")])
def test_a_preset_gives_way_to_options(run, data_folder, tmp_path, preset, make):
    result = run("fit", data_folder, "-o", tmp_path / "model", "--preset", preset, "--C", 3)
    assert result.exit_code == 0
    expected = getattr(LabelTreeClassifier, make)(C=3.0)
    assert_same_model(tmp_path / "model", trained(data_folder, **expected.get_params(deep=False)))


def test_a_given_tree(run, data_folder, tree_file, tmp_path):
    result = run("fit", data_folder, "-o", tmp_path / "model", "--tree", tree_file)
    assert result.exit_code == 0
    assert_same_model(tmp_path / "model", trained(data_folder, tree=LabelTree.load(tree_file)))


def test_the_names_of_a_tree_serve_where_the_data_has_none(run, data_folder, tree_file, tmp_path):
    run("fit", data_folder / "train.txt.xz", "-o", tmp_path / "model", "--tree", tree_file)
    assert lt.load(tmp_path / "model").label_names_[7] == "name-7"


def test_a_tree_of_other_names_is_refused(run, data_folder, tree_file, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"{'other' if label == 3 else 'name'}-{label}\n" for label in range(40)))
    result = run("-q", "fit", data_folder, "-o", tmp_path / "model", "--tree", tree_file, "--label-names", names)
    assert result.exit_code == 2
    assert result.stderr.endswith("label 3 is named 'name-3' in the tree, but 'other-3' in the data\n")


def test_a_tree_of_other_labels_is_refused(run, data_folder, tmp_path):
    lt.huffman_tree([0.5, 0.5]).save(tmp_path / "two.tree")
    result = run("-q", "fit", data_folder, "-o", tmp_path / "model", "--tree", tmp_path / "two.tree")
    assert result.exit_code == 2
    assert "tree must be a LabelTree over the 40 labels of Y" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tradeoff", "3"), "tradeoff must be a number in [0, 2], got 3.0"),
        (("--n-trees", "0"), "--n-trees must be an integer"),
        (sets(beam=0), "--set beam must be an integer"),
        (("--jobs", "0"), "--jobs must be a non-zero integer, got 0"),
        (
            ("--preset", "one-vs-all", *sets(leaf_size=3)),
            "--set leaf_size cannot be combined with --preset one-vs-all",
        ),
        (("--tree", "TREE", "--tradeoff", "1"), "--tradeoff cannot be combined with --tree"),
        (("--tree", "TREE", "--preset", "one-vs-all"), "--preset one-vs-all cannot be combined with --tree"),
        (("-o", "missing/model"), "missing/model: its folder does not exist"),
        (("-o", "DATA"), "exists and is not a saved model"),
    ],
)
def test_impossible_values_are_refused_before_the_data_is_read(run, data_folder, tree_file, tmp_path, options, message):
    places = {"TREE": tree_file, "DATA": data_folder}
    result = run("fit", data_folder, "-o", tmp_path / "model", *(places.get(option, option) for option in options))
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Reading" not in result.stderr
    assert not (tmp_path / "model").exists()


def test_a_beam_that_is_not_a_number_is_a_usage_error(run, data_folder, tmp_path):
    result = run("fit", data_folder, "-o", tmp_path / "model", "--set", "beam=wide")
    assert result.exit_code == 2
    assert "'wide' is neither a whole number nor 'none'" in result.stderr


def test_a_model_is_replaced(run, data_folder, tmp_path):
    for fanout in (2, 8):
        assert run("fit", data_folder, "-o", tmp_path / "model", "--fanout", fanout).exit_code == 0
    assert lt.load(tmp_path / "model").fanout == 8


def test_the_summary(run, data_folder, tmp_path):
    result = run("fit", data_folder, "-o", tmp_path / "model", "--n-trees", 2)
    assert f"40 labels, 200 points -> {tmp_path / 'model'}" in result.stdout
    for expected in ("time", "weights", "size on disk", "trees", "expected depth"):
        assert expected in result.stdout
    assert "Training the classifiers" in result.stderr


def test_the_summary_as_json(run, data_folder, tmp_path):
    record = json.loads(run("fit", data_folder, "-o", tmp_path / "model", "--json").stdout)
    files = list((tmp_path / "model").iterdir())
    assert record["disk_bytes"] == sum(path.stat().st_size for path in files)
    assert (record["n_points"], record["n_features"], record["n_labels"]) == (200, 30, 40)
    assert record["n_weights"] == lt.load(tmp_path / "model").stats_["n_weights"]
    assert record["parameters"]["fanout"] == LabelTreeClassifier().fanout
    assert record["trees"][0]["n_placed"] == 39
    assert 0 < record["tree_seconds"] < record["seconds"]


def test_fanout_auto(run, data_folder, tmp_path):
    assert run("fit", data_folder, "-o", tmp_path / "model", "--fanout", "auto").exit_code == 0
    assert lt.load(tmp_path / "model").fanout == "auto"
