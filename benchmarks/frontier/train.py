"""The first step: train every model once and save it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from benchmarks.frontier.cache import SetCache
from benchmarks.frontier.grid import Model
from benchmarks.peers.environment import peers_python
from benchmarks.peers.worker import PeerWorker
from benchmarks.text_data import load_texts

SCRIPTS = Path(__file__).resolve().parent.parent / "contestants"


def train_all(cache: SetCache, wanted: list[Model], threads: int, max_seconds: float) -> None:
    """Train the models that are not in the cache."""
    for model in wanted:
        if cache.trained(model) is None:
            log(f"{cache.set_name}: training {model.name}")
            result = _train(cache, model, threads, max_seconds)
            cache.write_trained(model, result)
            log(f"  {result}")


def start(cache: SetCache, model: Model, *form: str) -> PeerWorker:
    """Start the process that trains a model and predicts with it."""
    arguments = [] if model.texts else [cache.data, cache.models, *form]
    python = sys.executable if model.ours else peers_python(model.environment)
    return PeerWorker(SCRIPTS / model.script, *arguments, python=python)


def saved(cache: SetCache, model: Model) -> dict[str, Any]:
    """Return the part of a request that identifies a model: its path for models of texts, else its name."""
    return {"save": str(cache.models / model.name)} if model.texts else {"name": model.name}


def log(line: str) -> None:
    """Print progress to standard error; the report goes to standard output."""
    print(line, file=sys.stderr, flush=True)


def _train(cache: SetCache, model: Model, threads: int, max_seconds: float) -> dict[str, Any]:
    request = {"do": "train", "seed": 0, "threads": threads, **saved(cache, model)}
    if model.texts:
        request |= {"file": str(load_texts(cache.set_name).train), **model.train}
    else:
        request |= {"settings": model.train}
    if model.ours:
        request["calibrate"] = str(cache.data / ("calibrate.txt" if model.texts else "calibrate.npz"))
    with start(cache, model) as worker:
        timer = threading.Timer(max_seconds, worker.stop)
        timer.start()
        try:
            return worker.ask(**request)
        except RuntimeError:
            if timer.is_alive():
                raise
            return {"too_long": max_seconds, "threads": threads}
        finally:
            timer.cancel()
