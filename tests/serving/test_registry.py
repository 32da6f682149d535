"""Names, versions and replacement of models."""

import asyncio
import shutil

import httpx
import numpy as np
import pytest

import labeltrees as lt
from labeltrees.errors import FileFormatError, InputError
from labeltrees.serving import ServingSettings, make_app
from labeltrees.serving.registry import Registry
from tests.serving.conftest import make_texts


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


def test_a_new_version_replaces_the_old_one_while_requests_go_on(tmp_path):
    texts, labels = make_texts()
    folder = tmp_path / "fruit.model"
    versions = [[[f"{name}@{number}" for name in row] for row in labels] for number in (1, 2)]
    models = [lt.LabelTreeClassifier(n_jobs=1).fit(texts, names) for names in versions]
    models[0].save(folder)
    app = make_app(folder, settings=ServingSettings(reload_seconds=0.01))

    async def run():
        started, stop = asyncio.Event(), asyncio.Event()

        async def receive_life():
            if started.is_set():
                await stop.wait()
                return {"type": "lifespan.shutdown"}
            started.set()
            return {"type": "lifespan.startup"}

        async def send_life(_):
            pass

        life = asyncio.create_task(app({"type": "lifespan"}, receive_life, send_life))
        seen = []
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
            for number in range(200):
                if number % 20 == 10:
                    await asyncio.to_thread(models[number // 20 % 2].save, folder)
                reply = await client.post("/v1/models/fruit/predict", json={"texts": texts[:12], "k": 3})
                assert reply.status_code == 200
                answer = reply.json()
                tags = {label.partition("@")[2] for one in answer["results"] for label in one["labels"]}
                seen.append((answer["version"], *tags))
                await asyncio.sleep(0.002)
        stop.set()
        await life
        return seen

    seen = set(asyncio.run(run()))
    assert all(len(entry) == 2 for entry in seen)  # no answer mixes versions
    assert len(seen) == 2


def test_the_folder_of_a_sweep_is_all_its_models(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.random((60, 8)), rng.random((60, 12)) < 0.3
    result = lt.sweep((X, Y), (X, Y), tradeoffs=[0, 2], k=(1, 3), folder=tmp_path / "sweep", repeats=1, n_jobs=1)
    registry = Registry(tmp_path / "sweep")
    facts = [place.get().facts for place in registry.places.values()]
    measured = {one.tradeoff: one.measured["p1"] for one in facts}
    assert measured == pytest.approx({record["tradeoff"]: record["p1"] for record in result.table})
