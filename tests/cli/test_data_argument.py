"""What may stand for DATA."""

import lzma

import numpy as np
import pytest

from labeltrees import FileFormatError, InputError
from labeltrees.cli.data_argument import load_data


def test_a_file_in_xmc_form(data_folder):
    dataset = load_data(str(data_folder / "train.txt.xz"))
    assert dataset.n_labels == 40
    assert dataset.label_names is None


def test_a_folder_gives_its_training_file_and_label_names(data_folder):
    dataset = load_data(str(data_folder))
    assert dataset.n_points == 200
    assert dataset.label_names[7] == "name-7"


def test_label_names_may_come_from_another_file(data_folder, tmp_path):
    path = tmp_path / "names.txt.xz"
    path.write_bytes(lzma.compress("".join(f"L{label}\n" for label in range(40)).encode()))
    for data in (data_folder, data_folder / "train.txt.xz"):
        assert load_data(str(data), str(path)).label_names[39] == "L39"


def test_the_bundled_set():
    dataset = load_data("debian")
    assert "libc6" in dataset.label_names
    np.testing.assert_array_equal(np.unique(dataset.Y.data), [1])


def test_a_wrong_number_of_names_is_refused(data_folder, tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match=r"names.txt: 2 names for 40 labels"):
        load_data(str(data_folder), str(path))


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


def test_a_folder_with_two_training_files_is_refused(tmp_path):
    for name in ("train.txt", "train-small.txt.gz"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=r"more than one training file.*train-small\.txt\.gz, train\.txt"):
        load_data(str(tmp_path))
