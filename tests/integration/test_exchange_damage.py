"""Files the peers made, damaged at random: each is a valid tree or refused by name."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labeltrees import LabelTree
from labeltrees.errors import FileFormatError

PEERS = Path(__file__).parents[1] / "data_files" / "peers"


def read_or_refuse(read, *names):
    """What a damaged file may do: give a valid tree, or a FileFormatError that names a file."""
    try:
        read().summary()
    except FileFormatError as error:
        assert any(name in str(error) for name in names)  # noqa: PT017


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """A copy of the peers' files to damage, one at a time."""
    folder = tmp_path_factory.mktemp("damaged")
    shutil.copytree(PEERS, folder, dirs_exist_ok=True)

    def damage(name, position, change, cut):
        good = (PEERS / name).read_bytes()
        data = bytearray(good)
        data[position % len(good)] ^= change
        (folder / name).write_bytes(data[: position % len(good)] if cut else data)
        return folder, lambda: (folder / name).write_bytes(good)

    return damage


READERS = {
    "pecos_chain/C1.npz": (lambda folder: LabelTree.from_pecos_chain(folder / "pecos_chain"), "pecos_chain"),
    "pecos_chain/config.json": (lambda folder: LabelTree.from_pecos_chain(folder / "pecos_chain"), "pecos_chain"),
    "napkinxc_kmeans.txt": (lambda folder: LabelTree.from_napkinxc(folder / "napkinxc_kmeans.txt"), "kmeans"),
    "omikuji_model/tree0.cbor": (lambda folder: LabelTree.from_omikuji(folder / "omikuji_model"), "omikuji_model"),
}


@pytest.mark.parametrize("name", READERS)
@given(position=st.integers(0, 20_000), change=st.integers(1, 255), cut=st.booleans())
@settings(max_examples=150)
def test_damaged_files_of_the_peers_are_trees_or_refused(name, position, change, cut, damaged):
    folder, restore = damaged(name, position, change, cut)
    read, part = READERS[name]
    try:
        read_or_refuse(lambda: read(folder), part)
    finally:
        restore()
