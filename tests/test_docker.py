"""The Dockerfile and the compose file agree with the repository and with the command line."""

import json
import re
from pathlib import Path

import yaml

from labeltrees.cli.serve import serve

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OPTIONS = {option for parameter in serve.params for option in parameter.opts}


def test_copied_files_exist_and_are_not_ignored():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = [line.split()[1:-1] for line in re.findall(r"^COPY (?!--from).*$", DOCKERFILE, re.MULTILINE)]
    for name in [name for line in copied for name in line]:
        assert (ROOT / name).exists()
        assert name in kept


def test_the_commands_use_options_that_exist():
    entrypoint = json.loads(re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)[1])
    service = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]["labeltrees"]
    given = [part for part in [*entrypoint, *service["command"]] if part.startswith("--")]
    assert entrypoint[:2] == ["labeltrees", "serve"]
    assert set(given) <= OPTIONS
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_it_does_not_run_as_root_and_waits_until_models_are_loaded():
    assert re.search(r"^USER (?!root)", DOCKERFILE, re.MULTILINE)
    assert "HEALTHCHECK" in DOCKERFILE
    assert "/ready" in DOCKERFILE
