"""The commands and recipes of the guide's page about the server work."""

import json
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

import labeltrees as lt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "server.md"
COMMANDS = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
RECIPES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[-1]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("command", [line for block in COMMANDS for line in re.split(r"\n(?=curl)", block.strip())])
def test_curl_commands_are_answered(server, command):
    command = command.replace("http://127.0.0.1:8000", server.url).replace("/debian", "/fruit")
    # A preloaded sanitizer makes curl wait for itself.
    variables = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    arguments = ["bash", "-c", command.replace("curl ", "curl -sf ")]
    done = subprocess.run(arguments, capture_output=True, check=True, env=variables, timeout=60)
    assert "error" not in json.loads(done.stdout)


@pytest.fixture
def recipes(text_model):
    from labeltrees.serving import make_app

    names = {"lt": lt, "make_app": make_app, "model": text_model}
    exec(RECIPES, names)
    return names


def test_the_celery_recipe_returns_names_and_scores(recipes, model_folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model_folder, "debian.model")
    celery = types.SimpleNamespace(task=lambda name: lambda function: function)
    predict = recipes["celery_task"](celery)
    assert [name for name, _ in predict("red apple", 2)] == lt.load("debian.model").predict_topk(["red apple"], 2)[0][
        0
    ].tolist()


def test_the_spark_recipe_maps_batches_of_texts(recipes, model_folder, monkeypatch):
    functions = types.SimpleNamespace(pandas_udf=lambda function, kind: (function, kind))
    monkeypatch.setitem(sys.modules, "pyspark", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pyspark.sql", types.SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pyspark.sql.functions", functions)
    function, kind = recipes["spark_column"](str(model_folder), 2)
    (found,) = function(iter([pd.Series(["red apple", "pear"])]))
    assert kind == "array<string>"
    assert found.tolist() == lt.load(model_folder).predict_topk(["red apple", "pear"], 2)[0].tolist()


def test_the_fastapi_recipe_mounts_the_server(recipes):
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    from tests.serving.conftest import ask

    application = recipes["mount_in_fastapi"]()
    reply = ask(application, "POST", "/labels/v1/models/debian/predict", json={"text": "red apple", "k": 1})
    assert reply.status_code == 200
