"""A small set on disk, and the command line run on it."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from labeltrees import Dataset, write_xmc
from labeltrees.cli.main import cli

N_POINTS, N_FEATURES, N_LABELS = 200, 30, 40


def small_dataset(seed=0):
    """40 labels with falling frequency, the last of which never occurs."""
    rng = np.random.default_rng(seed)
    chance = 0.6 / (1 + np.arange(N_LABELS))
    chance[-1] = 0
    Y = rng.random((N_POINTS, N_LABELS)) < chance
    Y[np.arange(N_LABELS - 1), np.arange(N_LABELS - 1)] = True
    X = sp.random_array((N_POINTS, N_FEATURES), density=0.3, rng=rng, dtype=np.float32)
    return Dataset(X.tocsr(), Y)


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    """A folder with train.txt.xz, test.txt, labels.txt and features.txt.gz."""
    folder = tmp_path_factory.mktemp("data")
    write_xmc(small_dataset(), folder / "train.txt.xz")
    write_xmc(small_dataset(seed=1), folder / "test.txt")
    names = "".join(f"word-{feature}\n" for feature in range(N_FEATURES))
    (folder / "features.txt.gz").write_bytes(gzip.compress(names.encode()))
    (folder / "labels.txt").write_text("".join(f"name-{label}\n" for label in range(N_LABELS)))
    return folder


def sets(**settings):
    """Return the options --set NAME=VALUE."""
    return tuple(part for name, value in settings.items() for part in ("--set", f"{name}={value}"))


@pytest.fixture
def run():
    """Run the command line; `result.stdout`, `result.stderr` and `result.exit_code` say what came of it."""

    def invoke(*arguments):
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], prog_name="labeltrees")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture(scope="session")
def tree_file(data_folder, tmp_path_factory):
    """A tree built by the command line."""
    path = tmp_path_factory.mktemp("tree") / "small.tree"
    result = CliRunner().invoke(cli, ["tree", "build", str(data_folder), "-o", str(path), "--fanout", "4"])
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture(scope="session")
def model_folder(data_folder, tmp_path_factory):
    """A model trained by the command line, with names of labels and features."""
    path = tmp_path_factory.mktemp("model") / "small.model"
    result = CliRunner().invoke(cli, ["fit", str(data_folder), "-o", str(path), "--fanout", "4", *sets(prune_below=0)])
    assert result.exit_code == 0, result.output
    return path
