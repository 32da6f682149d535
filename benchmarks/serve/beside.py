"""Other servers, each in its own environment: Annif with omikuji, and MLServer with a scikit-learn model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.peers.environment import peers_python
from benchmarks.serve.load import request
from benchmarks.serve.servers import ServerProcess

_N_TRAIN = 5000  # points: the others are about the server, not about the training
_N_FEATURES = 20
_PROJECT = """[debian]
name=debian
language=en
backend=omikuji
analyzer=simple
vocab=debian
limit=5
"""
# Annif's tokenizer wants a model of sentences. An empty one splits at every full stop, which is enough here.
_SENTENCES = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
_SKLEARN = """
import sys, joblib, numpy as np
from sklearn.linear_model import LogisticRegression
rng = np.random.default_rng(0)
X = rng.random((2000, {n}), dtype=np.float32)
joblib.dump(LogisticRegression().fit(X, X[:, :5].argmax(axis=1)), sys.argv[1])
"""


def annif(folder: Path, train: Any, texts: list[str]) -> tuple[ServerProcess, list[bytes]]:
    """Train Annif's omikuji backend; return its server and requests."""
    os.environ["NLTK_DATA"] = str(folder / "nltk")
    sentences = folder / "nltk" / "tokenizers" / "punkt_tab" / "english"
    sentences.mkdir(parents=True)
    for name in _SENTENCES:
        (sentences / name).touch()
    uris = [f"<http://package.example/{label}>" for label in range(len(train.label_names))]
    lines = [f"{uri}\t{name}" for uri, name in zip(uris, train.label_names, strict=True)]
    (folder / "vocabulary.tsv").write_text("\n".join(lines) + "\n")
    (folder / "projects.cfg").write_text(_PROJECT)
    with (folder / "train.tsv").open("w") as file:
        for point in range(_N_TRAIN):
            labels = " ".join(uris[label] for label in train.Y[[point]].indices)
            file.write(f"{' '.join(str(train.texts[point]).split())}\t{labels}\n")
    command = str(Path(peers_python("annif")).parent / "annif")
    for arguments in (["load-vocab", "--language", "en", "debian", "vocabulary.tsv"], ["train", "debian", "train.tsv"]):
        subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True, timeout=600)
    bodies = [urlencode({"text": text, "limit": 5}).encode() for text in texts]
    form = "application/x-www-form-urlencoded"
    requests = [request("/v1/projects/debian/suggest", body, form) for body in bodies]
    return ServerProcess([command, "run", "--port", "{port}"], "/v1/projects/debian", folder), requests


def mlserver(folder: Path) -> tuple[ServerProcess, list[bytes]]:
    """Train a logistic regression with few features; return MLServer with it, and requests."""
    python = peers_python("mlserver")
    subprocess.run(
        [python, "-c", _SKLEARN.format(n=_N_FEATURES), str(folder / "model.joblib")], check=True, timeout=600
    )
    settings = {"debug": False, "parallel_workers": 0, "host": "127.0.0.1"}
    model = {"name": "m", "implementation": "mlserver_sklearn.SKLearnModel", "parameters": {"uri": "./model.joblib"}}
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "model-settings.json").write_text(json.dumps(model))
    tensor = {"name": "x", "shape": [1, _N_FEATURES], "datatype": "FP32", "data": [0.5] * _N_FEATURES}
    start = (
        "MLSERVER_HTTP_PORT={port} MLSERVER_GRPC_PORT=0 MLSERVER_METRICS_PORT=0 exec "
        + f"{Path(python).parent}/mlserver start ."
    )
    body = json.dumps({"inputs": [tensor]}).encode()
    return ServerProcess(["sh", "-c", start], "/v2/models/m/ready", folder), [request("/v2/models/m/infer", body)]
