"""labeltrees quickstart --serve."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path

from labeltrees.cli.output import step
from labeltrees.cli.serve import start_server
from labeltrees.datasets import load_debian
from labeltrees.models.linear.estimator import LabelTreeClassifier
from labeltrees.serving import ServingSettings, require_extra

_TRADEOFFS = (0.0, 0.5, 1.0, 1.5, 1.9)
_HOST, _PORT = "127.0.0.1", 8000
_CALIBRATION_POINTS = 1500


def quickstart_serve(target: Path, n_jobs: int, show_progress: bool) -> None:
    """Train a model of the bundled data per tradeoff, unless it is there, and serve them."""
    require_extra()
    folders = {f"debian-{tradeoff:g}": target / f"debian-{tradeoff:g}.model" for tradeoff in _TRADEOFFS}
    if not all(folder.exists() for folder in folders.values()):
        train, test = load_debian()
        assert test.texts is not None
        held_out = test.texts[:_CALIBRATION_POINTS], test.Y[:_CALIBRATION_POINTS]
        for tradeoff, folder in zip(_TRADEOFFS, folders.values(), strict=True):
            with step(f"Training a model with tradeoff {tradeoff:g}", show_progress):
                model = LabelTreeClassifier(tradeoff=tradeoff, n_jobs=n_jobs)
                model.fit(train.texts, train.Y, label_names=train.label_names)
                model.calibrate(*held_out).save(folder)
    port = _free_port()
    if sys.stdout.isatty() and not os.environ.get("CI"):
        threading.Thread(target=_open_page, args=(port,), daemon=True).start()
    # The model in the middle comes first: the page starts with it.
    names = sorted(folders, key=lambda name: name != "debian-1")
    models = {name: str(folders[name]) for name in names}
    start_server(models, ServingSettings(), host=_HOST, port=port)


def _free_port() -> int:
    """Return the usual port, or another one if it is taken."""
    with socket.socket() as taken:
        if taken.connect_ex((_HOST, _PORT)) != 0:
            return _PORT
    with socket.socket() as free:
        free.bind((_HOST, 0))
        return int(free.getsockname()[1])


def _open_page(port: int) -> None:
    """Open the page in a browser when the server answers."""
    for _ in range(100):
        time.sleep(0.1)
        with socket.socket() as connection:
            if connection.connect_ex((_HOST, port)) == 0:
                webbrowser.open(f"http://{_HOST}:{port}/")
                return
