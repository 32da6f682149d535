"""What may stand for DATA."""

import lzma

import numpy as np
import pytest
import scipy.sparse as sp

from labeltrees import FileFormatError, InputError
from labeltrees.cli.data_argument import load_data, open_points, read_lines


def test_a_file_in_xmc_form(data_folder):
    dataset = load_data(str(data_folder / "train.txt.xz"))
    assert dataset.n_labels == 40
    assert dataset.label_names is None


def test_a_folder_gives_its_training_file_and_label_names(data_folder):
    dataset = load_data(str(data_folder))
    assert dataset.n_points == 200
    assert dataset.label_names[7] == "name-7"
    assert dataset.feature_names[29] == "word-29"


def test_a_folder_gives_its_test_file(data_folder):
    test = load_data(str(data_folder), part="test")
    assert (test.X != load_data(str(data_folder / "test.txt")).X).nnz == 0
    assert (test.X != load_data(str(data_folder)).X).nnz > 0
    assert test.label_names[7] == "name-7"


@pytest.mark.parametrize("data", ["{}", "{}/test.txt"])
def test_points_come_in_blocks(data_folder, data):
    whole = load_data(str(data_folder / "test.txt"))
    with open_points(data.format(data_folder)) as points:
        assert (points.n_points, points.n_features) == (200, 30)
        assert (sp.vstack(list(points.blocks)) != whole.X).nnz == 0


def test_ids_may_start_at_1(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("1 3 3\n1 2:1\n")
    assert load_data(str(path)).X.indices.tolist() == [2]
    assert load_data(str(path), index_base=1).X.indices.tolist() == [1]
    with open_points(str(path), index_base=1) as points:
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
        assert load_data(str(data), str(path)).label_names[39] == "L39"


def test_the_bundled_set():
    dataset = load_data("debian")
    assert "libc6" in dataset.label_names
    with open_points("debian") as points:
        assert points.n_points == sum(block.shape[0] for block in points.blocks) < dataset.n_points
    np.testing.assert_array_equal(np.unique(dataset.Y.data), [1])


def test_a_wrong_number_of_names_is_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match=r"names.txt: 2 names for 40 labels"):
        load_data(str(data_folder), str(path))


def test_a_wrong_number_of_feature_names_is_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match=r"names.txt: 2 names for 30 features"):
        load_data(str(data_folder), feature_names=str(path))


def test_names_that_are_no_text_are_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(b"ok\n\xff\xfe\n")
    with pytest.raises(FileFormatError, match=r"names.txt: not UTF-8 text \(byte 3\)"):
        load_data(str(data_folder), str(path))


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no such file or folder .*debian"):
        load_data(str(tmp_path / "missing.txt"))


def test_a_folder_without_a_training_file_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"no file train\*\.txt"):
        load_data(str(tmp_path))
    with pytest.raises(FileFormatError, match=r"no file test\*\.txt"):
        load_data(str(tmp_path), part="test")


def test_a_folder_with_two_training_files_is_refused(tmp_path):
    for name in ("train.txt", "train-small.txt.gz"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"more than one training file.*train-small\.txt\.gz, train\.txt"):
        load_data(str(tmp_path))
