"""The server as a process: workers, signals, requests that are not HTTP."""

import os
import shutil
import signal
import socket
import time
from pathlib import Path

import httpx2
import pytest

from labeltrees.errors import LabelTreesError
from labeltrees.serving.server import ServerConfiguration
from tests.serving.conftest import Server

QUESTION = {"text": "red apple", "k": 3}


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ask_raw(port, sent):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(65536)


def test_it_answers_and_counts_over_all_workers(server):
    with httpx2.Client(base_url=server.url) as client:
        for _ in range(20):
            assert client.post("/v1/models/fruit/predict", json=QUESTION).json()["labels"]

    def n_counted():
        metrics = httpx2.get(f"{server.url}/metrics").text
        counted = [line for line in metrics.splitlines() if 'route="predict",status="200"' in line]
        return float(counted[0].split()[-1]) if counted else 0

    wait_for(lambda: n_counted() >= 20)  # workers add up their counts a few times per second


def test_a_killed_worker_is_replaced(server):
    before = children(server.process.pid)
    os.kill(before[0], signal.SIGKILL)
    for _ in range(300):
        time.sleep(0.1)
        now = children(server.process.pid)
        if len(now) == len(before) and before[0] not in now:
            break
    else:
        raise AssertionError((before, now))
    server.wait_until_ready()
    for _ in range(20):  # both workers get some
        assert httpx2.post(f"{server.url}/v1/models/fruit/predict", json=QUESTION).status_code == 200


def test_requests_that_are_not_http_get_a_4xx_or_a_closed_connection(server):
    for sent in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\n\r\n"):
        got = ask_raw(server.port, sent)
        assert got == b"" or got.split()[1].startswith(b"4")
    cut = b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
    got = ask_raw(server.port, cut)
    assert got == b"" or got.split()[1].startswith(b"4")
    huge = b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 100_000
    got = ask_raw(server.port, huge)
    assert got == b"" or got.split()[1].startswith(b"4")
    assert httpx2.get(f"{server.url}/ready").status_code == 200


def test_it_finishes_accepted_requests_before_it_stops(start_server, model_folder):
    own = start_server(model_folder, workers=1)
    body = b'{"texts": ["red apple", "green pear"], "k": 3}'
    head = b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", own.port), timeout=20) as connection:
        connection.sendall(head + body[:10])
        time.sleep(0.3)
        own.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.sendall(body[10:])
        got = connection.recv(65536)
    assert got.startswith(b"HTTP/1.1 200")
    assert own.process.wait(20) == 0


def test_bodies_in_chunks_and_other_methods(start_server, model_folder):
    own = start_server(model_folder, 1, "--max-body", "100")
    path = f"{own.url}/v1/models/fruit/predict"
    assert httpx2.post(path, content=iter([b'{"text": ', b'"red apple"}'])).json()["labels"]
    for too_long in (b" " * 101, iter([b" " * 60, b" " * 60])):
        reply = httpx2.post(path, content=too_long)
        assert (reply.status_code, "100 bytes" in reply.json()["error"]) == (413, True)
    head = httpx2.head(f"{own.url}/health")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(httpx2.get(f"{own.url}/health").content)
    own.stop()
    assert own.process.returncode == 0


def test_it_stops_while_models_are_replaced(start_server, text_model, tmp_path):
    folder = tmp_path / "fruit.model"
    text_model.save(folder)
    own = start_server(folder, 2, "--reload-seconds", "0.01")
    with httpx2.Client(base_url=own.url) as client:
        for k in (3, 4, 5):
            text_model.set_params(k=k).save(folder)
            assert client.post("/v1/models/fruit/predict", json={"texts": ["red"] * 20}).status_code == 200
        own.process.terminate()  # while the last version is loaded, and with an open connection
        assert own.process.wait(25) == 0  # below the limit of 30 seconds after which workers are killed


def test_it_stops_while_its_workers_start(model_folder):
    own = Server(model_folder, 2, wait=False)
    while not children(own.process.pid):
        assert own.process.poll() is None
        time.sleep(0.005)
    own.process.terminate()
    assert own.process.wait(25) == 0


def wait_for(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(condition)


def status(url, key):
    try:
        return httpx2.get(f"{url}/v1/models", headers={"X-API-Key": key}).status_code
    except httpx2.TransportError:  # from a worker that just ends
        return None


def test_sighup_replaces_workers_only_with_a_valid_configuration(model_folder, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("first\n")
    own = Server(model_folder, 2, ["--api-keys", str(keys)])
    try:
        before = children(own.process.pid)
        keys.write_text("")
        own.process.send_signal(signal.SIGHUP)
        time.sleep(1)
        assert own.process.poll() is None
        assert children(own.process.pid) == before
        assert (status(own.url, "first"), status(own.url, "second")) == (200, 401)
        keys.write_text("second\n")
        own.process.send_signal(signal.SIGHUP)
        wait_for(lambda: children(own.process.pid) != before)
        keys.write_text("")  # new workers use the keys that were checked
        wait_for(lambda: status(own.url, "second") == 200 and not set(before) & set(children(own.process.pid)))
        os.kill(children(own.process.pid)[-1], signal.SIGKILL)  # the first crash after a planned replacement
        wait_for(lambda: len(children(own.process.pid)) == 2)
        time.sleep(1)
        assert own.process.poll() is None
        assert status(own.url, "first") == 401
    finally:
        own.stop()


def test_silent_connections_leave_room_for_others(start_server, model_folder):
    own = start_server(model_folder, 1, "--set", "max_connections=50", "--max-requests", "20")
    (worker,) = children(own.process.pid)
    silent = []
    try:
        for number in range(600):
            connection = socket.create_connection(("127.0.0.1", own.port))
            if number % 2:
                connection.sendall(b"P")
            silent.append(connection)
            if number % 50 == 0:
                assert httpx2.post(f"{own.url}/v1/models/fruit/predict", json=QUESTION).status_code == 200
        wait_for(lambda: n_sockets(worker) < 100)
        assert httpx2.post(f"{own.url}/v1/models/fruit/predict", json=QUESTION).status_code == 200
    finally:
        for connection in silent:
            connection.close()


def n_sockets(pid):
    return sum(file.is_socket() for file in Path(f"/proc/{pid}/fd").iterdir())  # one that is closed meanwhile is none


def test_a_client_that_does_not_read_loses_its_connection(start_server, model_folder):
    own = start_server(model_folder, 1, "--max-seconds", "2", "--max-rows", "5000")
    (worker,) = children(own.process.pid)
    time.sleep(1.5)  # the options of the listening socket are set in the first second
    before = n_sockets(worker)
    body = b'{"texts": [' + b",".join([b'"red apple"'] * 5000) + b'], "k": 10}'
    head = b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    unread = []
    for _ in range(20):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", own.port))
        connection.sendall(head + body)
        unread.append(connection)
    wait_for(lambda: n_sockets(worker) >= before + 10)
    wait_for(lambda: n_sockets(worker) <= before)
    metrics = httpx2.get(f"{own.url}/metrics").text
    assert "labeltrees_requests_in_progress 1.0" in metrics
    for connection in unread:
        connection.close()


def test_the_answer_to_a_long_body_can_be_read(start_server, model_folder):
    own = start_server(model_folder, 1, "--max-body", "100000")
    for _ in range(10):
        with socket.create_connection(("127.0.0.1", own.port), timeout=20) as connection:
            head = b"POST /v1/models/fruit/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"
            connection.sendall(head + b" " * 900_000)
            assert connection.recv(65536).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("what", ["keys", "label texts", "model"])
def test_a_configuration_that_cannot_be_read_replaces_nothing(model_folder, tmp_path, what):
    model, keys, texts = tmp_path / "fruit.model", tmp_path / "keys", tmp_path / "texts.tsv"
    shutil.copytree(model_folder, model)
    keys.write_text("first\n")
    texts.write_text("is-red\tRed\n")
    file = tmp_path / "configuration.json"
    configuration = ServerConfiguration(
        models={"fruit": str(model)}, settings={}, port=1, label_texts=str(texts), api_keys=str(keys)
    )
    configuration.write(file)
    before = file.read_bytes()
    {"keys": keys, "label texts": texts, "model": model / "manifest.json"}[what].write_text("")
    with pytest.raises(LabelTreesError):
        configuration.write(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("sent", [b"GET /health HTTP/1.1\r\nHost", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_connection_without_a_further_request_is_closed(server, sent):
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(sent)
        while connection.recv(65536):  # an answer, then the end; a timeout fails
            pass
