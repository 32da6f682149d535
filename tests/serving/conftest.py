"""Small models, and requests to an application without a network."""

import socket
import subprocess
import sys
import time

import numpy as np
import pytest

for package in ("msgspec", "starlette", "prometheus_client"):
    pytest.importorskip(package, reason="the extra labeltrees[serve] is not installed")
httpx2 = pytest.importorskip("httpx2", reason="httpx2 is not installed")

from starlette.testclient import TestClient  # noqa: E402

import labeltrees as lt  # noqa: E402
from tests.sanitizers import command_variables  # noqa: E402

WORDS = ["red", "green", "blue", "apple", "pear", "plum", "stone", "river", "cloud", "tree"]


def make_texts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(len(WORDS), size=3, replace=False) for _ in range(n)]
    texts = [" ".join(WORDS[word] for word in words) for words in chosen]
    labels = [[f"is-{WORDS[word]}" for word in words[:2]] for words in chosen]
    return texts, labels


@pytest.fixture(scope="session")
def text_model():
    texts, labels = make_texts()
    model = lt.LabelTreeClassifier(fanout=3, n_jobs=1).fit(texts, labels)
    return model.calibrate(*make_texts(900, seed=1))


@pytest.fixture(scope="session")
def item_model():
    baskets = [["bread", "milk"], ["milk", "eggs"], ["bread", "jam"], ["eggs"]] * 10
    bought = [["jam"], ["bread"], ["butter"], ["milk"]] * 10
    encoder = lt.encoders.ItemEncoder(["bread", "milk", "eggs", "jam"], ids=[101, 102, 103, 104])
    return lt.LabelTreeClassifier(n_jobs=1).fit(lt.Dataset(baskets, bought, encoder=encoder))


@pytest.fixture(scope="session")
def row_model():
    rng = np.random.default_rng(0)
    return lt.LabelTreeClassifier(n_jobs=1).fit(rng.random((60, 8)), rng.random((60, 12)) < 0.3)


@pytest.fixture(scope="session")
def model_folder(text_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "fruit.model"
    text_model.save(folder)
    return folder


def ask(app, method, path, **how):
    """Send one request to an application."""
    return TestClient(app).request(method, path, **how)


@pytest.fixture
def post():
    """Post JSON, or raw bytes, to an application."""

    def send(app, path, body, **how):
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        return ask(app, "POST", path, **content, **how)

    return send


@pytest.fixture
def get():
    return lambda app, path, **how: ask(app, "GET", path, **how)


class Server:
    """`labeltrees serve` in a process of its own."""

    def __init__(self, folder, workers, options=(), wait=True):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        code = "from labeltrees.cli.main import main; main()"
        arguments = ["serve", str(folder), "--port", str(self.port), "--workers", str(workers), *options]
        self.process = subprocess.Popen([sys.executable, "-c", code, *arguments], env=command_variables())
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        for _ in range(600):
            try:
                if httpx2.get(f"{self.url}/ready").status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.1)
        pytest.fail("the server did not start")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


@pytest.fixture(scope="session")
def start_server():
    pytest.importorskip("granian", reason="the extra labeltrees[serve] is not installed")
    started = []

    def start(folder, workers, *options):
        started.append(Server(folder, workers, options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def server(start_server, model_folder):
    """A server with two workers and the model fruit."""
    return start_server(model_folder, 2)
