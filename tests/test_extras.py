"""Features whose package is not installed say which extra to install."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import labeltrees as lt
from labeltrees._extras import import_extra
from labeltrees.cli.main import cli

EVENTS = {"context": ["red wine"], "item": ["glass"]}


@pytest.fixture
def _without_polars(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)


@pytest.mark.usefixtures("_without_polars")
@pytest.mark.parametrize(
    ("call", "purpose"),
    [
        (lambda path: lt.prepare_logs(EVENTS), "preparing logs"),
        (lambda path: lt.read_texts(path), "reading Parquet files"),
        (lambda path: lt.datasets.load_shop_log(), "the shop log"),
    ],
)
def test_the_message_names_the_extra(call, purpose, tmp_path):
    path = tmp_path / "texts.parquet"
    path.write_bytes(b"PAR1")
    message = rf"^{purpose} needs polars, which is not installed: pip install 'labeltrees\[logs\]'$"
    with pytest.raises(lt.errors.MissingExtraError, match=message):
        call(path)


@pytest.mark.usefixtures("_without_polars")
def test_the_command_line_names_the_extra(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("context,item\nred wine,glass\n")
    result = CliRunner().invoke(cli, ["logs", "prepare", str(log), "-o", str(tmp_path / "out")])
    assert result.exit_code == lt.errors.MissingExtraError.exit_code
    assert "pip install 'labeltrees[logs]'" in result.stderr


def test_texts_and_tables_need_no_extra(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "red wine", "labels": ["glass"]}\n' * 3)
    script = (
        "import sys; sys.modules['polars'] = None; import labeltrees as lt; print(lt.read_texts(sys.argv[1]).n_points)"
    )
    found = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert found.stdout == "3\n"


def test_an_installed_package_is_returned():
    assert import_extra("json", "logs", "a test") is sys.modules["json"]
