"""Files are written whole or not at all."""

import os
import stat
from contextlib import contextmanager

import pytest

import labeltrees as lt
from labeltrees.data import files
from labeltrees.data.files import MissingFileError, open_any, write_any

SUFFIXES = ["", ".gz", ".xz", ".zst"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_come_back_and_compressed_ones_are_smaller(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with write_any(path) as stream:
        stream.write(b"abc" * 1000)
    with open_any(path) as stream:
        assert stream.read() == b"abc" * 1000
    assert (path.stat().st_size < 1000) == bool(suffix)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_error_while_writing_leaves_the_old_file(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"old")

    def fail_half_way():
        with write_any(path) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_data_gives_the_same_bytes(tmp_path, suffix):
    for name in ("a", "b"):
        with write_any(tmp_path / f"{name}.txt{suffix}") as stream:
            stream.write(b"abc" * 1000)
    assert (tmp_path / f"a.txt{suffix}").read_bytes() == (tmp_path / f"b.txt{suffix}").read_bytes()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target.txt").write_bytes(b"old")
    (tmp_path / "link.txt").symlink_to("target.txt")
    with write_any(tmp_path / "link.txt") as stream:
        stream.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_bytes() == b"new"


def test_a_new_file_has_the_usual_rights(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with write_any(tmp_path / "ours"):
        pass
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_path_that_is_not_a_file_is_not_replaced(tmp_path):
    with pytest.raises(lt.errors.InputError, match="path must be a file"), write_any(tmp_path):
        pass


@pytest.mark.parametrize("path", [None, 3, b"a.txt"])
def test_objects_that_are_not_paths_are_refused(path):
    for function in (open_any, write_any):
        with pytest.raises(lt.errors.InputError, match="path must be a path"), function(path):
            pass


def test_a_folder_cannot_be_read(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match="a folder, not a file"), open_any(tmp_path):
        pass


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="no such folder"), write_any(tmp_path / "none" / "a.txt"):
        pass


def test_an_error_inside_the_block_keeps_its_own_kind(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"")
    with pytest.raises(FileNotFoundError) as raised, open_any(path):
        open(tmp_path / "other.txt")
    assert not isinstance(raised.value, MissingFileError)


def test_progress_is_shown_for_large_regular_files_only(tmp_path, monkeypatch):
    shown, reached = [], []

    @contextmanager
    def watch_part(what, total, unit):
        shown.append((what, total, unit))
        yield reached.append

    monkeypatch.setattr(files, "watch_part", watch_part)
    for size in ((1 << 20) - 1, 1 << 20):
        (tmp_path / "a.txt").write_bytes(b"x" * size)
        with open_any(tmp_path / "a.txt") as stream:
            assert len(stream.read()) == size
    assert shown == [("Reading a.txt", 1 << 20, files.BYTES)]
    assert reached[-1] == 1 << 20
    with open("/dev/zero", "rb") as raw, files._watching(raw, "zero") as advance:
        assert advance is None


def test_native_readers_refuse_compressed_files(tmp_path):
    for name in ("a.txt", "a.txt.GZ"):
        with write_any(tmp_path / name) as stream:
            stream.write(b"text")
    assert files.check_readable(tmp_path / "a.txt") == str(tmp_path / "a.txt")
    with pytest.raises(lt.errors.FileFormatError, match=r"a\.txt\.GZ: compressed; decompress it first"):
        files.check_readable(tmp_path / "a.txt.GZ")
