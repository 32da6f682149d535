"""Where models are saved: a user's own files stay, and paths that no system has are refused."""

import numpy as np
import pytest

import labeltrees as lt
from labeltrees._files import check_path
from labeltrees.data.files import open_any
from labeltrees.storage import load_arrays, save_arrays


def save(folder, value=1):
    save_arrays(folder, "Example", {"k": value}, {"weights": np.arange(3)})


def test_a_file_that_is_not_part_of_the_model_is_not_deleted(tmp_path):
    save(tmp_path / "model")
    own = tmp_path / "model" / "my_embeddings.npy"
    np.save(own, np.arange(5))
    with pytest.raises(lt.errors.InputError, match=r"not part of it, my_embeddings\.npy"):
        save(tmp_path / "model", 2)
    assert np.load(own).tolist() == [0, 1, 2, 3, 4]
    own.unlink()
    save(tmp_path / "model", 2)
    assert load_arrays(tmp_path / "model").manifest.parameters == {"k": 2}


def test_saving_through_a_symbolic_link_keeps_the_link(tmp_path):
    save(tmp_path / "version-1")
    link = tmp_path / "current"
    link.symlink_to(tmp_path / "version-1")
    save(link, 2)
    assert link.is_symlink()
    assert load_arrays(tmp_path / "version-1").manifest.parameters == {"k": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "version-1"]


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(lt.errors.InputError, match="is not a saved model"):
        save(tmp_path)


@pytest.mark.parametrize(
    "call",
    [
        save,
        load_arrays,
        lt.load,
        lt.read_texts,
        lt.read_xmc,
        lt.read_data,
        lt.open_parts,
        lt.LabelTree.load,
        lt.flat_tree(3).save if hasattr(lt, "flat_tree") else save,
        check_path,
        lt.TextLabelTreeClassifier.from_fasttext,
        lambda path: open_any(path).__enter__(),
    ],
)
def test_a_path_with_a_nul_character_is_an_error_of_ours(tmp_path, call):
    for path in ("a\0b", str(tmp_path / "a\0b" / "c"), "a\0b.jsonl"):
        with pytest.raises(lt.errors.LabelTreesError):
            call(path)
