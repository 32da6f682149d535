"""sweep: what it measures, what it shares, and how it continues after an interruption."""

import shutil

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.report.curves import point_rows
from labeltrees.tuning import trial
from labeltrees.tuning.candidates import PAPER_GRIDS
from labeltrees.tuning.result import SweepResult

SMALL = {"tradeoffs": [0, 1, 2], "fanouts": [4]}


def test_a_record_says_what_the_model_of_its_setting_does(train, validation, result):
    record = result.record("tradeoff-2_fanout-8_greedy_direct")
    model = lt.LabelTreeClassifier(tradeoff=2, fanout=8, tree=lt.TreeBuilder(cover="greedy", path="direct")).fit(
        train.X, train.Y
    )
    labels, _, stats = model.predict_topk(validation.X, 5, return_stats=True)
    for k in (1, 3, 5):
        assert record[f"p{k}"] == lt.metrics.precision_at_k(validation.Y, labels, k)
        assert record[f"ndcg{k}"] == lt.metrics.ndcg_at_k(validation.Y, labels, k)
        assert record[f"psp{k}"] == lt.metrics.psp_at_k(validation.Y, labels, k, Y_train=train.Y)
        assert record[f"depth{k}"] == lt.metrics.expected_depth_at_k(model.tree_, labels, k)
    assert record["chunks"] == stats.chunks.mean()
    assert record["classifiers"] == stats.classifiers.mean()
    for name in ("top1_p50_us", "top5_p99_us", "batch_us", "tree_seconds", "training_seconds", "model_bytes"):
        assert record[name] > 0


def test_the_papers_four_variants_are_settings(result):
    variants = {(record["cover"], record["path"]) for record in result.table}
    assert variants == {(cover, path) for cover in ("marginal", "greedy") for path in ("weighted", "direct")}
    assert len(result.table) == 3 * 2 * 4


def test_embeddings_are_computed_once(train, validation, monkeypatch):
    from labeltrees.tree import builder

    calls = []
    monkeypatch.setattr(trial, "pifa", lambda *args, **kwargs: calls.append(1) or lt.pifa(*args, **kwargs))
    monkeypatch.setattr(builder, "pifa", lambda *args, **kwargs: pytest.fail("computed again"))
    lt.sweep(train, validation, **SMALL)
    assert len(calls) == 1


def test_point_weights_count(train, validation):
    weights = np.where(train.Y[:, [0]].toarray()[:, 0] > 0, 0.0, 1.0)
    weighted = lt.Dataset(train.X, train.Y, sample_weight=weights)
    result = lt.sweep(weighted, validation, tradeoffs=[1], fanouts=[4], k=1)
    model = lt.LabelTreeClassifier(fanout=4).fit(train.X, train.Y, sample_weight=weights)
    assert result.table[0]["p1"] == pytest.approx(model.score(validation.X, validation.Y))


def test_dense_points_stay_dense(train, validation):
    dense = (train.X.toarray(), train.Y), (validation.X.toarray(), validation.Y)
    result = lt.sweep(*dense, tradeoffs=[1], fanouts=[4], k=(1,))
    model = lt.LabelTreeClassifier(fanout=4).fit(dense[0][0], train.Y)
    assert model.searcher_.stores[0].matrices
    assert result.table[0]["p1"] == pytest.approx(model.score(dense[1][0], validation.Y))


@pytest.fixture
def fitted(monkeypatch):
    """The tradeoffs of all models that are trained; training stops with an error at those in `fitted.forbidden`."""

    class Fitted(list):
        forbidden = ()

    found, fit = Fitted(), lt.LabelTreeClassifier.fit

    def counting(self, *args, **kwargs):
        if self.tradeoff in found.forbidden:
            raise KeyboardInterrupt
        found.append(self.tradeoff)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(lt.LabelTreeClassifier, "fit", counting)
    return found


@pytest.mark.usefixtures("counted_time")
def test_an_interrupted_sweep_continues_where_it_stopped(train, validation, tmp_path, fitted):
    whole = lt.sweep(train, validation, **SMALL)
    fitted.forbidden = (2,)
    with pytest.raises(KeyboardInterrupt):
        lt.sweep(train, validation, **SMALL, folder=tmp_path / "sweep")
    fitted.clear()
    fitted.forbidden = ()
    resumed = lt.sweep(train, validation, **SMALL, folder=tmp_path / "sweep")
    assert fitted == [2]
    assert without_seconds(resumed) == without_seconds(whole)
    assert resumed.details == whole.details


def without_seconds(result):
    left_out = ("tree_seconds", "training_seconds", "model_bytes")
    return [{name: value for name, value in record.items() if name not in left_out} for record in result.table]


def test_a_setting_that_was_cut_short_is_trained_again(train, validation, tmp_path, fitted):
    lt.sweep(train, validation, **SMALL, folder=tmp_path)
    (next(iter((tmp_path / "trials").iterdir()))).unlink()  # it is written last
    fitted.clear()
    result = lt.sweep(train, validation, **SMALL, folder=tmp_path)
    assert len(fitted) == 1
    assert all(record["p1"] > 0 for record in result.table)


def test_a_setting_whose_model_was_removed_is_trained_again(train, validation, tmp_path, fitted):
    lt.sweep(train, validation, **SMALL, folder=tmp_path)
    shutil.rmtree(tmp_path / "models" / "tradeoff-1_fanout-4_marginal_weighted")
    fitted.clear()
    lt.sweep(train, validation, **SMALL, folder=tmp_path)
    assert fitted == [1]


def test_a_folder_takes_further_settings_and_its_models_can_be_opened(train, validation, tmp_path):
    lt.sweep(train, validation, **SMALL, folder=tmp_path)
    result = lt.sweep(train, validation, **{**SMALL, "tradeoffs": [1, 1.5]}, folder=tmp_path)
    assert [record["tradeoff"] for record in result.table] == [1.0, 1.5]
    models = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert len(models) == 4
    model = lt.load(tmp_path / "models" / models[0])
    assert model.score(validation.X, validation.Y) > 0


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"estimator": lt.LabelTreeClassifier(C=2)}, "estimator"),
        ({"k": (1, 2)}, "k"),
        ({"estimator": lt.LabelTreeClassifier(random_state=1)}, "estimator, random_state"),
        ({"validation": "train"}, "validation"),
        ({"train": "validation"}, "train"),
    ],
)
def test_the_folder_of_another_sweep_is_refused(train, validation, tmp_path, changes, what):
    lt.sweep(train, validation, **SMALL, folder=tmp_path)
    data = {"train": train, "validation": validation}
    chosen = {name: data[changes.get(name, name)] for name in data}
    others = {name: value for name, value in changes.items() if name not in data}
    with pytest.raises(lt.errors.InputError, match=f"holds another sweep \\({what} differ\\)"):
        lt.sweep(*chosen.values(), **SMALL, **others, folder=tmp_path)


def test_a_folder_with_something_else_in_it_is_refused(train, validation, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(lt.errors.InputError, match="is not the folder of a sweep"):
        lt.sweep(train, validation, **SMALL, folder=tmp_path)


def test_a_setting_whose_measurements_are_damaged_is_trained_again(train, validation, tmp_path, fitted):
    whole = lt.sweep(train, validation, **SMALL, folder=tmp_path)
    fitted.clear()
    next(iter((tmp_path / "trials").iterdir())).write_bytes(b"{")
    again = lt.sweep(train, validation, **SMALL, folder=tmp_path)
    assert len(fitted) == 1
    assert [record["p1"] for record in again.table] == [record["p1"] for record in whole.table]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": ()}, "k must be"),
        ({"tradeoffs": "paper"}, "tradeoffs must be one of"),
        ({"grid": ["C"]}, "grid must be a dict"),
        ({"grid": {"color": [1]}}, "grid must be parameters of a LabelTreeClassifier"),
        ({"grid": {"tradeoff": [1]}}, "grid must be parameters of a LabelTreeClassifier"),
        ({"grid": {"C": []}}, "must be a list of at least one value"),
        ({"estimator": lt.LabelTreeClassifier(n_jobs=0)}, "n_jobs must be"),
        ({"estimator": lt.LabelTreeClassifier}, "estimator must be a model such as LabelTreeClassifier"),
        ({"validation": lt.Dataset(np.eye(2), np.eye(2))}, "validation must be data with the 24 labels"),
        ({"validation": lt.Dataset(np.eye(24), np.eye(24))}, "validation must be data with the 40 features"),
        ({"validation": lt.Dataset(np.zeros((2, 40)), np.zeros((2, 24)))}, "validation must have points with labels"),
        ({"validation": "test"}, "validation must be a Dataset"),
        ({"validation": None}, "validation must be a share of train, a Dataset or a pair"),
        ({"validation": 3}, "validation must be a number in"),
        ({"validation": 0.001}, "validation=0.001 holds out 0 of 300 points: choose another share"),
    ],
)
def test_bad_arguments_are_refused(train, validation, arguments, message):
    with pytest.raises(lt.errors.InputError, match=message):
        lt.sweep(train, arguments.pop("validation", validation), **{**SMALL, **arguments})


def test_fanout_auto_is_swept_saved_and_drawn(train, validation, tmp_path):
    result = lt.sweep(train, validation, tradeoffs=[0, 1], fanouts=["auto", 8])
    assert "fanout 8, auto;" in repr(result)
    result.save(tmp_path / "result.json")
    loaded = SweepResult.load(tmp_path / "result.json")
    assert loaded.table == result.table
    loaded.to_csv(tmp_path / "table.csv")
    assert "auto" in (tmp_path / "table.csv").read_text()
    assert set(loaded.to_pandas()["fanout"]) == {"auto", 8}
    loaded.figure("precision_time")


def test_other_parameters_can_be_combined_saved_and_drawn(train, validation, tmp_path):
    result = lt.sweep(train, validation, tradeoffs=[0, 1], grid={"C": [0.1, 1.0], "loss": ["logistic"]}, k=(1,))
    assert [(record["tradeoff"], record["C"], record["loss"]) for record in result.table] == [
        (tradeoff, cost, "logistic") for tradeoff in (0, 1) for cost in (0.1, 1.0)
    ]
    model = lt.LabelTreeClassifier(tradeoff=1, C=0.1, loss="logistic").fit(train.X, train.Y)
    assert result.table[2]["p1"] == pytest.approx(model.score(validation.X, validation.Y))
    result.save(tmp_path / "result.json")
    assert SweepResult.load(tmp_path / "result.json").table == result.table
    assert {row["series"] for row in point_rows(result, "depth1", "p1")} == {
        "fanout 256, C 0.1, loss logistic",
        "fanout 256, C 1.0, loss logistic",
    }


def test_the_papers_grids_have_names(train, validation):
    result = lt.sweep(train, validation, tradeoffs="logs", k=(1,))
    assert [record["tradeoff"] for record in result.table] == list(PAPER_GRIDS["logs"])


def test_variants_of_the_tree_are_columns_and_their_models_can_be_opened(train, validation, tmp_path):
    grid = {"tree__smoothing": [0.1, 0.9], "tree__cover": ["greedy"]}
    result = lt.sweep(train, validation, tradeoffs=[2], fanouts=[2], grid=grid, k=(1,), folder=tmp_path)
    assert [(record["smoothing"], record["cover"]) for record in result.table] == [(0.1, "greedy"), (0.9, "greedy")]
    for record in result.table:
        model = lt.load(tmp_path / "models" / record["setting"])
        assert model.tree.smoothing == record["smoothing"]
        assert model.score(validation.X, validation.Y) == pytest.approx(record["p1"])
    builders = [lt.TreeBuilder(smoothing=smoothing, cover="greedy") for smoothing in (0.1, 0.9)]
    again = lt.sweep(train, validation, tradeoffs=[2], fanouts=[2], grid={"tree": builders}, k=(1,), folder=tmp_path)
    assert [record["setting"] for record in again.table] == [record["setting"] for record in result.table]
    assert [record["training_seconds"] for record in again.table] == [
        record["training_seconds"] for record in result.table
    ]  # not trained again
