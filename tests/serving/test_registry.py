"""Names, versions and replacement of models; the thread that does it; texts to show for labels."""

import errno
import shutil
import threading
import time

import numpy as np
import pytest
from starlette.testclient import TestClient

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving import registry as registry_module
from labeltrees.serving.registry import Registry, Watcher
from labeltrees.serving.schemas import Options
from labeltrees.serving.shown_labels import read_shown_texts
from labeltrees.storage.versions import go_back, publish, version_of
from tests.serving.conftest import WORDS, make_texts


def test_names_come_from_folders_or_are_given(model_folder, tmp_path):
    assert Registry(model_folder).names == ["fruit"]
    assert Registry([str(model_folder)]).names == ["fruit"]
    assert Registry({"a": model_folder, "b": model_folder}).names == ["a", "b"]
    for bad in ({"a/b": model_folder}, {"": model_folder}, {}, [model_folder, model_folder]):
        with pytest.raises(InputError, match=r"name|models"):
            Registry(bad)
    with pytest.raises(FileFormatError, match="no such folder"):
        Registry(tmp_path / "missing")


def test_the_version_is_that_of_the_content(model_folder, tmp_path):
    copy = tmp_path / "copy.model"
    shutil.copytree(model_folder, copy)
    registry = Registry({"one": model_folder, "two": copy})
    versions = {place.get().version for place in registry.places.values()}
    assert len(versions) == 1
    assert len(versions.pop()) == 12


def test_a_damaged_new_version_leaves_the_old_one(text_model, tmp_path, caplog):
    folder = tmp_path / "fruit.model"
    text_model.save(folder)
    registry = Registry(folder)
    before = registry.places["fruit"].get()
    shutil.rmtree(folder)
    registry.refresh()
    assert registry.places["fruit"].get() is before
    folder.mkdir()
    (folder / "manifest.json").write_text("{")
    registry.refresh()
    assert registry.places["fruit"].get() is before
    assert "cannot be loaded" in caplog.text
    shutil.rmtree(folder)
    text_model.set_params(k=3).save(folder)
    registry.refresh()
    after = registry.places["fruit"]
    assert after.get().version != before.version
    assert after.fault is None


def two_versions():
    """Return two models whose files have the same names and sizes, and whose answers differ."""
    texts, labels = make_texts()
    renamed = {f"is-{word}": f"is-{other}" for word, other in zip(WORDS, reversed(WORDS), strict=True)}
    other = [[renamed[name] for name in row] for row in labels]
    return [lt.LabelTreeClassifier(fanout=3, n_jobs=1).fit(texts, names) for names in (labels, other)]


def best_label(registry):
    predictions, _ = registry.current("fruit").answer("text", ["red red red"], Options(k=1), float("inf"))
    return predictions[0].labels[0]


def test_files_copied_one_by_one_are_served_when_all_are_there(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(registry_module, "_FIRST_PAUSE", 0.0)
    models = two_versions()
    folder, new = tmp_path / "fruit.model", tmp_path / "new.model"
    models[0].save(folder)
    models[1].save(new)
    registry = Registry(folder)
    before, answer = registry.current("fruit"), best_label(registry)
    files = sorted(new.iterdir(), key=lambda file: file.name != "manifest.json")
    for file in files[:-1]:
        shutil.copy(file, folder / "copied")
        (folder / "copied").replace(folder / file.name)
        registry.refresh()
        current = registry.current("fruit")
        assert (current.version == before.version) == (best_label(registry) == answer)
    shutil.copy(files[-1], folder / files[-1].name)
    registry.refresh()
    assert registry.current("fruit").version != before.version
    assert best_label(registry) == models[1].predict_topk(["red red red"], 1)[0][0, 0] != answer
    assert registry.places["fruit"].fault is None


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EMFILE, "too many open files"), RuntimeError("other")])
def test_any_error_of_a_reload_is_shown_and_retried(text_model, tmp_path, monkeypatch, get, error):
    folder = tmp_path / "fruit.model"
    text_model.save(folder)
    app = make_app(folder)
    registry = app.state.service.registry
    place = registry.places["fruit"]
    text_model.set_params(k=3).save(folder)
    load = registry_module.load_arrays

    def fail(*given, **how):
        raise error

    monkeypatch.setattr(registry_module, "load_arrays", fail)
    now = [1000.0]
    monkeypatch.setattr(registry_module.time, "monotonic", lambda: now[0])
    before = place.get()
    for n_failures in (1, 2, 3):
        registry.refresh()
        registry.refresh()  # too early for another attempt
        assert place.n_failures == n_failures
        now[0] += 2.0**n_failures
    assert place.get() is before
    assert get(app, "/health").json()["models"]["fruit"]["fault"] == (str(error) or "MemoryError")
    assert 'labeltrees_model_load_failures_total{model="fruit"} 3.0' in get(app, "/metrics").text
    assert 'labeltrees_model_faulty{model="fruit"} 1.0' in get(app, "/metrics").text
    monkeypatch.setattr(registry_module, "load_arrays", load)
    now[0] += 60
    registry.refresh()
    assert place.get() is not before
    assert get(app, "/health").json()["models"]["fruit"]["fault"] is None


def test_the_watcher_survives_any_error():
    class Broken:
        is_ready = False
        n_refreshes = 0

        def refresh(self):
            self.n_refreshes += 1
            if self.n_refreshes == 3:
                self.is_ready = True
                return
            raise MemoryError

    one = Watcher(Broken(), 0.001)
    one.start()
    for _ in range(1000):
        if one._registry.n_refreshes >= 3:
            break
        time.sleep(0.01)
    one.stop()
    assert one._registry.n_refreshes >= 3


def test_a_version_without_probabilities_is_mentioned(text_model, tmp_path, caplog):
    folder = tmp_path / "fruit.model"
    text_model.save(folder)
    registry = Registry(folder)
    assert registry.current("fruit").has_probabilities
    lt.LabelTreeClassifier(n_jobs=1).fit(*make_texts()).save(folder)
    registry.refresh()
    assert not registry.current("fruit").has_probabilities
    assert "no probabilities; the one before had" in caplog.text


def test_a_first_version_without_probabilities_is_mentioned(text_model, tmp_path, caplog):
    caplog.set_level("INFO", "labeltrees")
    text_model.save(tmp_path / "calibrated.model")
    lt.LabelTreeClassifier(n_jobs=1).fit(*make_texts()).save(tmp_path / "plain.model")
    Registry([tmp_path / "calibrated.model", tmp_path / "plain.model"])
    (found,) = [record.message for record in caplog.records if "no probabilities" in record.message]
    assert found.startswith("plain: version")


def test_a_new_version_replaces_the_old_one_while_requests_go_on(tmp_path):
    texts, labels = make_texts()
    folder = tmp_path / "fruit.model"
    versions = [[[f"{name}@{number}" for name in row] for row in labels] for number in (1, 2)]
    models = [lt.LabelTreeClassifier(n_jobs=1).fit(texts, names) for names in versions]
    models[0].save(folder)
    app = make_app(folder, settings=ServingSettings(reload_seconds=0.01))

    seen = set()
    with TestClient(app) as client:
        for number in range(200):
            if number % 20 == 10:
                models[number // 20 % 2].save(folder)
            reply = client.post("/v1/models/fruit/predict", json={"texts": texts[:12], "k": 3})
            assert reply.status_code == 200
            answer = reply.json()
            tags = {label.partition("@")[2] for one in answer["results"] for label in one["labels"]}
            seen.add((answer["version"], *tags))
            time.sleep(0.002)
    assert all(len(entry) == 2 for entry in seen)  # no answer mixes versions
    assert len(seen) == 2


def test_an_update_is_served_while_the_server_runs(tmp_path):
    texts, labels = make_texts()
    folder = tmp_path / "fruit.model"
    lt.LabelTreeClassifier(n_jobs=1).fit(texts, labels).save(folder)
    app = make_app(folder, settings=ServingSettings(reload_seconds=0.01))

    def answers(client):
        reply = client.post("/v1/models/fruit/predict", json={"texts": ["blue plum"], "k": 11})
        return reply.json()["results"][0]["labels"]

    with TestClient(app) as client:
        assert "plum" not in answers(client)
        version, model = version_of(folder), lt.load(folder)
        model.update(["blue plum"] * 8, [["plum"]] * 8, replay=(texts, labels))
        publish(model.save, folder, folder, version)
        wait_for(lambda: "plum" in answers(client))
        go_back(folder)
        wait_for(lambda: "plum" not in answers(client))


def wait_for(condition, seconds=20.0):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_folder_of_a_sweep_is_all_its_models(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 8)), rng.random((60, 12)) < 0.3
    result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 2], k=(1, 3), folder=tmp_path / "sweep")
    registry = Registry(tmp_path / "sweep")
    facts = [place.get().facts for place in registry.places.values()]
    assert {one.sweep for one in facts} == {"sweep"}
    measured = {one.tradeoff: one.measured["p1"] for one in facts}
    assert measured == pytest.approx({record["tradeoff"]: record["p1"] for record in result.table})


class SlowRegistry:
    """A registry whose models take as long to load as a test wants."""

    is_ready = False

    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.n_refreshes = 0

    def refresh(self):
        self.n_refreshes += 1
        self.begun.set()
        self.may_end.wait(20)
        self.is_ready = True


def test_a_stop_does_not_wait_for_a_model_that_is_being_loaded(monkeypatch):
    monkeypatch.setattr(registry_module, "_STOP_SECONDS", 0.01)
    registry = SlowRegistry()
    one = Watcher(registry, 0.01)
    one.start()
    assert registry.begun.wait(20)
    thread = one._thread
    one.stop()
    assert thread.is_alive()  # the stop returned before the model was loaded
    registry.may_end.set()
    thread.join(20)
    assert not thread.is_alive()
    assert registry.n_refreshes == 1


def test_without_reloads_it_ends_when_every_model_is_loaded():
    registry = SlowRegistry()
    registry.may_end.set()
    one = Watcher(registry, 0)
    one.start()
    one._thread.join(20)
    assert registry.n_refreshes == 1
    one.stop()


def test_it_can_be_started_again():
    registry = SlowRegistry()
    registry.may_end.set()
    one = Watcher(registry, 60)
    for n in (1, 2):
        registry.begun.clear()
        one.start()
        assert registry.begun.wait(20)
        one.stop()
        assert registry.n_refreshes == n


def test_two_columns_in_the_usual_forms(tmp_path):
    expected = {"http://a.example/1": "Cats, big and small", "http://a.example/2": 'A "dog"'}
    tsv = tmp_path / "texts.tsv"
    tsv.write_text('<http://a.example/1>\tCats, big and small\n\nhttp://a.example/2\tA "dog"\tmore\n')
    csv = tmp_path / "texts.csv"
    csv.write_text('uri,label_en\nhttp://a.example/1,"Cats, big and small"\nhttp://a.example/2,"A ""dog"""\n')
    assert (
        read_shown_texts(tsv).texts == read_shown_texts(str(csv)).texts == read_shown_texts(expected).texts == expected
    )
    assert read_shown_texts(None).texts == {}


def test_a_mapping_to_lists_gives_their_first_texts():
    assert read_shown_texts({"a": ["cats", "felines"], "b": [], "c": "dogs"}).texts == {"a": "cats", "c": "dogs"}


@pytest.mark.parametrize(("content", "fault"), [(b"one column\n", "two columns"), (b"a\t\xff\n", "not UTF-8")])
def test_other_files_are_refused(tmp_path, content, fault):
    file = tmp_path / "texts.tsv"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=fault):
        read_shown_texts(file)


def test_the_language_of_a_vocabulary_can_be_chosen(tmp_path):
    file = tmp_path / "texts.csv"
    file.write_text("uri,label_en,label_fi\nhttp://a.example/1,cats,kissat\n")
    assert read_shown_texts(file, "fi").texts == {"http://a.example/1": "kissat"}
