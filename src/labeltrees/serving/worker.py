"""The application of one worker process, from the configuration that `run_server` wrote."""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from pathlib import Path

from labeltrees.serving.app import App
from labeltrees.serving.keys import read_keys
from labeltrees.serving.label_texts import read_label_texts
from labeltrees.serving.registry import Registry
from labeltrees.serving.rsgi import RsgiApp
from labeltrees.serving.server import CONFIGURATION, ServerConfiguration
from labeltrees.serving.settings import ServingSettings


def make_worker_app() -> RsgiApp:
    """Return the application. Models are loaded after the start: until then the server says that it is not ready."""
    given = json.loads(Path(os.environ[CONFIGURATION]).read_text("utf-8"))
    configuration = ServerConfiguration(**given)
    settings = ServingSettings(**configuration.settings)
    logger = logging.getLogger("labeltrees")
    if not logger.handlers:
        logger.addHandler(logging.StreamHandler(sys.stderr))
        logger.setLevel(logging.INFO)
    registry = Registry(
        configuration.models,
        read_label_texts(configuration.label_texts, configuration.language),
        in_memory=settings.in_memory,
        load=False,
    )
    gc.freeze()  # a collection would otherwise look at everything that was imported, which takes milliseconds
    app = App(
        registry,
        settings,
        api_keys=read_keys(configuration.api_keys or ()),
        allowed_origins=tuple(configuration.allowed_origins),
        metrics_file=configuration.metrics_file,
    )
    return RsgiApp(app)
