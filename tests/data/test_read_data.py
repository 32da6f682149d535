"""What the command line takes as DATA."""

import lzma

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees import read_data, write_parts, write_xmc
from labeltrees.data.files import read_lines
from labeltrees.data.point_blocks import open_points
from labeltrees.data.read_data import DataOptions
from labeltrees.errors import FileFormatError, InputError
from tests.cli.conftest import data_folder, small_dataset

__all__ = ["data_folder"]


def test_a_file_in_xmc_form(data_folder):
    dataset = read_data(data_folder / "train.txt.xz")
    assert dataset.n_labels == 40
    assert dataset.label_names is None


def test_a_folder_gives_its_training_file_and_label_names(data_folder):
    dataset = read_data(data_folder, "train")
    assert dataset.n_points == 200
    assert dataset.label_names[7] == "name-7"
    assert dataset.feature_names[29] == "word-29"


def test_a_folder_gives_its_test_file(data_folder):
    test = read_data(data_folder, "test")
    assert (test.X != read_data(data_folder / "test.txt").X).nnz == 0
    assert (test.X != read_data(data_folder, "train").X).nnz > 0
    assert test.label_names[7] == "name-7"


@pytest.mark.parametrize("data", ["{}", "{}/test.txt"])
def test_points_come_in_blocks(data_folder, data):
    whole = read_data(data_folder / "test.txt")
    with open_points(data.format(data_folder)) as points:
        assert (points.n_points, points.n_features) == (200, 30)
        assert (sp.vstack(list(points.blocks)) != whole.X).nnz == 0


def test_ids_may_start_at_1(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("1 3 3\n1 2:1\n")
    assert read_data(path).X.indices.tolist() == [2]
    assert read_data(path, index_base=1).X.indices.tolist() == [1]
    with open_points(str(path), DataOptions(index_base=1)) as points:
        assert [block.indices.tolist() for block in points.blocks] == [[1]]


def test_only_a_line_feed_ends_a_line(tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes("one\r\ntwo\u2028three\x0b\n\nfour".encode())
    assert read_lines(path) == ["one", "two\u2028three\x0b", "", "four"]
    path.write_bytes(b"")
    assert read_lines(path) == []


def test_label_names_may_come_from_another_file(data_folder, tmp_path):
    path = tmp_path / "names.txt.xz"
    path.write_bytes(lzma.compress("".join(f"L{label}\n" for label in range(40)).encode()))
    for data in (data_folder, data_folder / "train.txt.xz"):
        assert read_data(data, "train", label_names=path).label_names[39] == "L39"


def test_the_bundled_set():
    dataset = read_data("debian", "train")
    assert "libc6" in dataset.label_names
    with open_points("debian") as points:
        assert points.n_points == sum(block.shape[0] for block in points.blocks) < dataset.n_points
    np.testing.assert_array_equal(np.unique(dataset.Y.data), [1])


def test_a_wrong_number_of_names_is_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match=r"names.txt: 2 names for 40 labels"):
        read_data(data_folder, label_names=path)


def test_a_wrong_number_of_feature_names_is_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match=r"names.txt: 2 names for 30 features"):
        read_data(data_folder, feature_names=path)


def test_names_of_other_types_are_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(b"ok\n\xff\xfe\n")
    with pytest.raises(FileFormatError, match=r"names.txt: not UTF-8 text \(byte 3\)"):
        read_data(data_folder, label_names=path)


def test_missing_entries_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no such file or folder .*debian"):
        read_data(tmp_path / "missing.txt")


def test_a_folder_without_a_training_file_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"no file train\*\.txt"):
        read_data(tmp_path)
    with pytest.raises(FileFormatError, match=r"no file test\*\.txt"):
        read_data(tmp_path, "test")


def test_a_folder_with_two_training_files_is_refused(tmp_path):
    for name in ("train.txt", "train-small.txt.gz"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"more than one training file.*train-small\.txt\.gz, train\.txt"):
        read_data(tmp_path)


def test_a_folder_with_two_parts_gives_both(data_folder):
    train, test = read_data(data_folder)
    assert (train.X != read_data(data_folder / "train.txt.xz").X).nnz == 0
    assert (test.X != read_data(data_folder / "test.txt").X).nnz == 0


def test_a_folder_without_a_test_file_gives_one_dataset(tmp_path):
    write_xmc(small_dataset(), tmp_path / "train.txt")
    assert read_data(tmp_path).n_points == 200


def test_a_share_of_one_file_is_the_test_part(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text("text,labels\n" + "red wine,wine\ngreen tea,tea\n" * 10)
    train, test = read_data(path, test_share=0.25, random_state=1)
    rows = np.sort(np.random.default_rng(1).permutation(20)[:5])
    assert test.texts.tolist() == [("red wine", "green tea")[row % 2] for row in rows]
    assert (train.n_points, test.n_points) == (15, 5)
    assert test.feature_names.tolist() == train.feature_names.tolist()
    with pytest.raises(InputError, match=r"test_share=0.01 leaves no test part of 20 points"):
        read_data(path, test_share=0.01)


def test_datasets_in_parts_are_opened(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    for part in ("train", "test"):
        write_parts(small_dataset(seed=part == "test"), folder / f"{part}.parts", 60)
    train, test = read_data(folder)
    assert (len(train.parts), len(test.parts)) == (4, 4)
    assert read_data(folder / "train.parts").n_points == 200
    with pytest.raises(InputError, match="is in parts; give label_names, feature_names and test_share to labeltrees"):
        read_data(folder, test_share=0.5)


def test_the_part_is_train_or_test(data_folder):
    with pytest.raises(InputError, match="part must be one of 'train', 'test', got 'all'"):
        read_data(data_folder, "all")
