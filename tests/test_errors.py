"""Messages stay short whatever a file or an argument holds."""

import pickle

import pytest

import labeltrees as lt
from labeltrees.errors import LabelTreesError, MissingExtraError


@pytest.mark.parametrize("kind", [LabelTreesError, lt.errors.InputError, lt.errors.FileFormatError, MissingExtraError])
def test_a_long_message_keeps_its_start_and_its_end(kind):
    error = kind("start" + "x" * 10**6 + "end")
    assert len(str(error)) < 2000
    assert str(error).startswith("startxxx")
    assert str(error).endswith("xxxend")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(kind("x" * 2000)) == "x" * 2000


def test_a_long_name_in_a_log_is_not_printed_whole(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("context,item\n" + f"{'a1' * 5000},x\n" * 3)
    with pytest.raises(lt.errors.InputError, match="look like ids") as caught:
        lt.prepare_logs(path)
    assert len(str(caught.value)) < 2000
