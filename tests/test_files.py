"""Files and folders are replaced in one step, and only regular files are opened."""

import multiprocessing
import os
import shutil
import signal

import pytest

from labeltrees._files import (
    is_being_replaced,
    open_regular,
    remove_leftovers,
    replacing_file,
    replacing_folder,
    write_atomically,
)
from labeltrees.errors import FileFormatError


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file.txt"
    write_atomically(path, [b"o", b"ld"])
    with pytest.raises(ZeroDivisionError), replacing_file(path) as file:
        file.write(b"half" * (1 // 0))
    assert path.read_bytes() == b"old"
    write_atomically(path, [b"new"])
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    target = tmp_path / "folder"
    for content in (b"old", b"new"):
        with replacing_folder(target) as new:
            (new / "file").write_bytes(content)
        assert (target / "file").read_bytes() == content
    with pytest.raises(FileExistsError), replacing_folder(target) as new:
        new.mkdir()
    assert (target / "file").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["folder"]


def test_a_temporary_folder_that_could_not_be_removed_at_once_is_removed_after_all(tmp_path, monkeypatch):
    remove, calls = shutil.rmtree, []

    def fail_once(*arguments, **options):
        calls.append(arguments)
        if len(calls) > 1:  # the first time there was no memory to list the folder, which ignore_errors hides
            remove(*arguments, **options)

    monkeypatch.setattr(shutil, "rmtree", fail_once)
    with pytest.raises(ZeroDivisionError), replacing_folder(tmp_path / "folder") as new:
        (new / "file").write_bytes(b"half" * (1 // 0))
    assert len(calls) == 2
    assert os.listdir(tmp_path) == []


def test_a_file_is_opened_in_its_folder_whatever_the_path_leads_to(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"old")
    handle = os.open(tmp_path / "folder", os.O_RDONLY | os.O_DIRECTORY)
    (tmp_path / "folder").rename(tmp_path / "aside")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"new")
    with open_regular(tmp_path / "folder" / "file", handle) as file:
        assert file.read() == b"old"
    with open_regular(tmp_path / "folder" / "file") as file:
        assert file.read() == b"new"
    os.close(handle)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_only_regular_files_are_opened(tmp_path, make):
    make(tmp_path / "x")
    with pytest.raises(FileFormatError, match="x: not a regular file"):
        open_regular(tmp_path / "x")


def test_a_folder_set_aside_shows_that_it_is_being_replaced(tmp_path):
    assert not is_being_replaced(tmp_path / "model")
    (tmp_path / ".model.old-12").mkdir()
    assert is_being_replaced(tmp_path / "model")
    assert not is_being_replaced(tmp_path / "nowhere" / "model")


def hold_and_die(target):
    """Begin to replace a file and a folder, and be killed."""
    with replacing_file(target / "file") as file, replacing_folder(target / "model"):
        file.write(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


def temporary(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_files_of_a_killed_process_are_removed_by_the_next_writer(tmp_path, monkeypatch):
    process = multiprocessing.get_context("fork").Process(target=hold_and_die, args=(tmp_path,))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert len(temporary(tmp_path)) == 2
    monkeypatch.setattr("labeltrees._files._SECONDS_TO_LOCK", 0.0)
    with replacing_file(tmp_path / "other"), replacing_folder(tmp_path / "mode"):
        assert len(temporary(tmp_path)) == 4  # those of other names are left alone
    with replacing_file(tmp_path / "file"), replacing_folder(tmp_path / "model"):
        pass
    assert temporary(tmp_path) == []


def test_files_of_another_writer_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("labeltrees._files._SECONDS_TO_LOCK", 0.0)
    with replacing_file(tmp_path / "file") as file, replacing_folder(tmp_path / "model") as new:
        remove_leftovers(tmp_path / "file")
        remove_leftovers(tmp_path / "model")
        file.write(b"whole")
        (new / "part").write_bytes(b"whole")
    assert (tmp_path / "file").read_bytes() == (tmp_path / "model" / "part").read_bytes() == b"whole"


def test_similar_names_of_others_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("labeltrees._files._SECONDS_TO_LOCK", 0.0)
    for name in (".model.new-draft", ".model.new-0123456789ab", ".model.new-0123456789abcdef01234567"):
        (tmp_path / name).mkdir()
    remove_leftovers(tmp_path / "model")
    with replacing_folder(tmp_path / "model"):
        pass
    assert len(temporary(tmp_path)) == 3


def test_a_symbolic_link_to_a_folder_stays(tmp_path):
    (tmp_path / "elsewhere" / "model").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere" / "model")
    with replacing_folder(link) as new:
        (new / "part").write_bytes(b"whole")
    assert link.is_symlink()
    assert (tmp_path / "elsewhere" / "model" / "part").read_bytes() == b"whole"
    assert temporary(tmp_path) == temporary(tmp_path / "elsewhere") == []
