"""labeltrees serve: what is checked before the server starts."""

import pytest

for package in ("msgspec", "starlette", "prometheus_client"):
    pytest.importorskip(package, reason="the extra labeltrees[serve] is not installed")


@pytest.fixture
def started(monkeypatch):
    """What the server would have been started with."""
    calls = []
    monkeypatch.setattr("labeltrees.serving.server.run_server", lambda *given, **how: calls.append((given, how)))
    return calls


def test_models_get_names_and_options_become_settings(run, model_folder, started, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("secret\n")
    result = run("serve", model_folder, f"again={model_folder}", "--max-k", 7, "--api-keys", keys, "--port", 8123)
    assert result.exit_code == 0, result.stderr
    assert "2 models (small, again) at http://127.0.0.1:8123/" in result.stderr
    ((models, settings), how) = started[0]
    assert models == {"small": str(model_folder), "again": str(model_folder)}
    assert (settings.max_k, how["port"], how["host"]) == (7, 8123, "127.0.0.1")


def test_an_open_address_without_keys_is_mentioned(run, model_folder, started):
    assert "--api-keys" in run("serve", model_folder, "--host", "0.0.0.0").stderr
    assert "--api-keys" not in run("serve", model_folder, "--host", "localhost").stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.model"], "no such folder"),
        (["{model}", "{model}"], "NAME=FOLDER"),
        (["a/b={model}"], "NAME=FOLDER"),
        (["{model}", "--max-k", "0"], "--max-k must be"),
    ],
)
def test_faults_are_one_line(run, model_folder, started, arguments, says):
    result = run("serve", *[argument.format(model=model_folder) for argument in arguments])
    assert result.exit_code in (2, 3)
    assert says in result.stderr
    assert not started


def test_a_missing_extra_is_named(run, model_folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "msgspec", None)
    result = run("serve", model_folder)
    assert result.exit_code == 4
    assert "labeltrees[serve]" in result.stderr


def test_quickstart_serves_models_of_several_tradeoffs(run, started, tmp_path, monkeypatch):
    import numpy as np

    from labeltrees.data.texts import text_dataset

    texts = [f"word{number % 7} common" for number in range(200)]
    data = text_dataset(texts, [[f"label{number % 7}"] for number in range(200)])
    monkeypatch.setattr("labeltrees.cli.quickstart.load_debian", lambda: (data, data))
    result = run("quickstart", "--serve", "--folder", tmp_path / "quick")
    assert result.exit_code == 0, result.stderr
    ((models, _), _) = started[0]
    assert len(models) == 5
    assert np.all([(tmp_path / "quick" / f"{name}.model").exists() for name in models])
    assert next(iter(models)) == "debian-1"
    assert run("quickstart", "--serve", "--logs", "--folder", tmp_path / "quick").exit_code == 2
