"""labeltrees logs prepare, and what other commands make of the folder it writes."""

import functools
import json
import os

import numpy as np
import pytest

import labeltrees as lt
from labeltrees.data.read_data import load_data
from labeltrees.data.xmc import weights_beside
from labeltrees.logs import PreparedLogs, pairs, shards

FILES = {
    "item_names.txt",
    "train.txt",
    "train.weights.txt",
    "test.txt",
    "test.weights.txt",
    "train.times.txt",
    "test.times.txt",
    "encoder.bin",
    "labels.txt",
    "features.txt",
    "summary.json",
}

MODELS = ("one.model", "two.model")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """300 customers who come back to what they bought, and some dirt."""
    rng = np.random.default_rng(0)
    lines = ["customer,article,quantity,date,name"]
    for customer in range(300):
        taste = rng.integers(0, 6)
        for _ in range(rng.integers(2, 30)):
            article = taste * 5 + min(int(rng.exponential(1.5)), 4)
            day = rng.integers(1, 29)
            lines.append(
                f'c{customer},{article},{rng.integers(-1, 5)},{day}/{rng.integers(1, 7)}/2020,"No. {article}, new"'
            )
    lines += [",1,1,1/1/2020,x", "c1,,1,1/1/2020,x", "c1,1,1,soon,x", "c1,1,1,1/1/2020,x,y,z"]
    path = tmp_path_factory.mktemp("log") / "sales.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


OPTIONS = (
    "--context customer --item article --weight quantity --time date --item-name name "
    "--history-before 2020-05-01 --min-engagement 2 --min-item-contexts 2 --test-share 0.1 --set point_weights=events"
).split()


@pytest.fixture
def prepared(run, log, tmp_path):
    result = run("logs", "prepare", log, "-o", tmp_path / "sales", *OPTIONS)
    assert result.exit_code == 0, result.output
    return tmp_path / "sales"


def test_the_folder_holds_what_the_function_returns(prepared, log):
    expected = lt.prepare_logs(
        log,
        lt.Columns(context="customer", item="article", weight="quantity", time="date", item_name="name"),
        history_before="2020-05-01",
        min_engagement=2,
        min_item_contexts=2,
        test_share=0.1,
        point_weights="events",
    )
    assert {path.name for path in prepared.iterdir()} == FILES
    for part, dataset in zip(("train", "test"), expected, strict=True):
        read = load_data(str(prepared), part=part)
        assert (read.X != dataset.X).nnz == (read.Y != dataset.Y).nnz == 0
        for name in ("label_names", "feature_names", "sample_weight", "times", "groups"):
            np.testing.assert_array_equal(getattr(read, name), getattr(dataset, name))
        assert read.label_texts.lists() == dataset.label_texts.lists()
    assert json.loads((prepared / "summary.json").read_text()) == expected.summary.to_json()
    assert expected.train.label_names[0] == "0"
    assert expected.train.label_texts.title(0) == "No. 0, new"
    again = PreparedLogs.load(prepared)
    assert again.train.label_texts.lists() == expected.train.label_texts.lists()


def test_the_table_shows_every_step(run, log, tmp_path):
    result = run("logs", "prepare", log, "-o", tmp_path / "sales", *OPTIONS)
    for text in ("events read", "line with too many fields", "no context", "time not understood", "weight not above 0"):
        assert text in result.stdout
    assert "100.0 %" in result.stdout


def test_json_adds_up(run, log, tmp_path):
    record = json.loads(run("-q", "logs", "prepare", log, "-o", tmp_path / "sales", "--json", *OPTIONS).stdout)
    assert record["events_dropped"]["line with too many fields"] == 1
    assert record["events_dropped"]["time not understood"] == 1
    assert record["events_dropped"]["weight not above 0"] > 100
    assert record["events_read"] == sum(record["events_dropped"].values()) + sum(record["events_used"].values())


def test_the_other_commands_take_the_folder(run, prepared, tmp_path):
    model = tmp_path / "sales.model"
    assert run("fit", prepared, "-o", model, "--fanout", "4").exit_code == 0
    result = run("evaluate", model, prepared, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["precision"]["1"] > 0.5
    labels = lt.load(model).label_names_.tolist()
    first = run("predict", model, prepared, "-k", "1").stdout.splitlines()[0].split("\t")
    assert first[0] in labels  # the id, and the name, which has a comma
    assert first[1] == f"No. {first[0]}, new"
    assert "No. " not in run("predict", model, prepared, "-k", "1", "--without-texts").stdout
    by_name = run("predict", model, "--ask", json.dumps([f"No. {first[0]}, new"]), "-k", "1").stdout
    assert by_name == run("predict", model, "--ask", json.dumps([first[0]]), "-k", "1").stdout
    assert run("imbalance", prepared).exit_code == 0
    assert run("tree", "build", prepared, "-o", tmp_path / "sales.tree").exit_code == 0


def test_a_folder_prepared_before_is_replaced_and_nothing_else_is(run, log, prepared, tmp_path):
    before = (prepared / "summary.json").stat().st_ino
    assert run("logs", "prepare", log, "-o", prepared, *OPTIONS).exit_code == 0
    assert (prepared / "summary.json").stat().st_ino != before
    assert [path.name for path in tmp_path.iterdir()] == ["sales"]  # nothing temporary is left
    (prepared / "notes.txt").write_text("mine")
    result = run("logs", "prepare", log, "-o", prepared, *OPTIONS)
    assert result.exit_code == 2
    assert "exists and is not a prepared log" in result.stderr
    assert (prepared / "notes.txt").read_text() == "mine"


def test_a_file_in_the_way_is_refused_before_the_work(run, tmp_path):
    (tmp_path / "out").write_text("mine")
    (tmp_path / "log.csv").write_text("nothing of use")
    result = run("logs", "prepare", tmp_path / "log.csv", "-o", tmp_path / "out")
    assert "is not a prepared log" in result.stderr


def test_a_failure_while_writing_leaves_the_old_folder(monkeypatch, prepared, log):
    again = lt.prepare_logs(
        log, {"context": "customer", "item": "article", "time": "date"}, history_before="2020-05-01"
    )
    before = {path.name: path.read_bytes() for path in prepared.iterdir()}

    def fail(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        again.save(prepared)
    monkeypatch.undo()
    assert before == {path.name: path.read_bytes() for path in prepared.iterdir()}
    assert [path.name for path in prepared.parent.iterdir()] == ["sales"]


def test_the_python_call_and_the_command_line_give_the_same_model(run, prepared, tmp_path):
    assert run("fit", prepared, "-o", tmp_path / "one.model", "--fanout", "4").exit_code == 0
    model = lt.LabelTreeClassifier(fanout=4)
    train = PreparedLogs.load(prepared).train
    assert train.sample_weight is not None
    model.fit(train).save(tmp_path / "two.model")
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in MODELS)
    assert one == two


def test_the_folder_can_be_read_again(prepared):
    loaded = PreparedLogs.load(prepared)
    for part, dataset in zip(("train", "test"), loaded, strict=True):
        read = load_data(str(prepared), part=part)
        assert (read.X != dataset.X).nnz == (read.Y != dataset.Y).nnz == 0
        np.testing.assert_array_equal(read.sample_weight, dataset.sample_weight)
        assert repr(read.encoder) == repr(dataset.encoder) == repr(loaded.encoder)
    assert json.loads((prepared / "summary.json").read_text()) == loaded.summary.to_json()


@pytest.fixture
def by_month(run, log, tmp_path):
    """Every month of a customer is a point, and test points are of other customers."""
    lines = log.read_text().splitlines()[:-4]
    months = [f"{line.split(',')[0]}/{line.split('/')[1]}" if row else "month" for row, line in enumerate(lines)]
    own = tmp_path / "months.csv"
    own.write_text("".join(f"{line},{month}\n" for line, month in zip(lines, months, strict=True)))
    options = "--context customer --item article --weight quantity --time date --session month --features history"
    result = run("logs", "prepare", own, "-o", tmp_path / "months", *options.split(), "--test-share", "0.2")
    assert result.exit_code == 0, result.output
    return tmp_path / "months"


def test_points_of_a_customer_are_a_group(run, by_month, tmp_path):
    train, test = PreparedLogs.load(by_month)
    assert test.groups is None
    assert 1 < len(set(train.groups)) < train.n_points
    assert run("fit", by_month, "-o", tmp_path / "one.model", "--fanout", "4").exit_code == 0
    lt.LabelTreeClassifier(fanout=4).fit(train).save(tmp_path / "two.model")
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in MODELS)
    assert one == two
    plain = lt.LabelTreeClassifier(fanout=4).fit(train.X, train.Y)
    assert plain.stats_["C_losses"] != lt.load(tmp_path / "one.model").stats_["C_losses"]


def test_convert_keeps_times_and_groups(run, by_month, tmp_path):
    result = run("convert", by_month, "-o", tmp_path / "parts", "--points-per-part", "70")
    assert result.exit_code == 0, result.output
    train, parts = PreparedLogs.load(by_month).train, lt.open_parts(tmp_path / "parts")
    for name in ("times", "groups"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(train, name))


@pytest.mark.parametrize(
    ("lines", "message"), [("1\n", "1 groups for"), (None, "not a group"), ("huge", "not a group")]
)
def test_damaged_groups_are_refused(run, by_month, tmp_path, lines, message):
    path = by_month / "train.groups.txt"
    count = len(path.read_text().splitlines())
    path.write_text({None: "a\n", "huge": "9" * 30 + "\n"}.get(lines, "") * count or lines)
    result = run("fit", by_month, "-o", tmp_path / "model")
    assert result.exit_code != 0
    assert "train.groups.txt" in result.output
    assert message in result.output


@pytest.mark.parametrize(("version", "which"), [(None, "an older"), (3, "a newer")])
def test_a_folder_of_another_version_is_refused(run, prepared, version, which):
    record = json.loads((prepared / "summary.json").read_text())
    record.pop("version")
    (prepared / "summary.json").write_text(json.dumps(record if version is None else record | {"version": version}))
    result = run("imbalance", prepared)
    assert result.exit_code == 2
    assert f"prepared by {which} version of labeltrees" in result.stderr
    assert "run labeltrees logs prepare again" in result.stderr
    lt.LabelTreeClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]]).save(prepared.parent / "model")
    result = run("predict", prepared.parent / "model", prepared)
    assert f"prepared by {which} version of labeltrees" in result.stderr
    with pytest.raises(lt.errors.InputError, match=which):
        PreparedLogs.load(prepared)


def test_a_folder_without_a_prepared_log_is_refused(tmp_path):
    with pytest.raises(lt.errors.FileFormatError, match="no prepared log"):
        PreparedLogs.load(tmp_path)


@pytest.fixture
def interrupted(run, log, tmp_path, monkeypatch):
    """Interrupt a run in its third shard; return the output and the shards that were summed so far."""
    monkeypatch.setattr(shards, "MAX_EVENTS_PER_SHARD", 500)
    summed = []

    @functools.wraps(pairs.sum_pairs)
    def fail_at_third(results, *, events, **inputs):
        summed.append(events.name)
        if len(summed) == 3:
            raise KeyboardInterrupt
        return fail_at_third.__wrapped__(results, events=events, **inputs)

    monkeypatch.setattr(pairs, "sum_pairs", fail_at_third)
    run("logs", "prepare", log, "-o", tmp_path / "again", *OPTIONS)
    assert (tmp_path / ".again.preparing").is_dir()
    return tmp_path / "again", summed


def test_an_interrupted_run_continues(run, log, prepared, interrupted):
    again, summed = interrupted
    assert run("logs", "prepare", log, "-o", again, *OPTIONS).exit_code == 0
    assert summed[:3] == ["0", "1", "2"]
    assert summed[3] == "2"  # finished shards are not summed again
    assert "0" not in summed[3:]
    assert files_of(again) == files_of(prepared)
    assert not (again.parent / ".again.preparing").exists()


def test_other_settings_do_not_continue_an_interrupted_run(run, log, interrupted):
    again, summed = interrupted
    other = [*OPTIONS, "--min-engagement", "3"]
    assert run("logs", "prepare", log, "-o", again, *other).exit_code == 0
    assert summed[3] == "0"
    assert run("logs", "prepare", log, "-o", again.parent / "fresh", *other).exit_code == 0
    assert files_of(again) == files_of(again.parent / "fresh")
    assert not (again.parent / ".again.preparing").exists()


def test_two_runs_do_not_work_in_one_folder(run, log, tmp_path):
    with shards.work_folder(tmp_path / ".sales.preparing"):
        result = run("logs", "prepare", log, "-o", tmp_path / "sales", *OPTIONS)
    assert result.exit_code == 2
    assert "another run works in this folder" in result.stderr


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_errors_are_one_line(run, tmp_path):
    (tmp_path / "log.csv").write_text("who,what\na,b\n")
    result = run("logs", "prepare", tmp_path / "log.csv", "-o", tmp_path / "out")
    assert result.exit_code == 2
    fault = "no column 'context' (context), 'item' (item); there are 'who', 'what'"
    assert result.stderr.strip().endswith(f"{fault}; name the columns with --context COLUMN and --item COLUMN")
    assert result.stderr.count("\n") <= 2


def small(tmp_path, weights, name="train.weights.txt"):
    (tmp_path / "train.txt").write_text("2 1 1\n0 0:1\n0 0:1\n")
    (tmp_path / name).write_text(weights)
    return tmp_path


def test_weights_beside_a_file_of_points_are_its_weights(tmp_path):
    folder = small(tmp_path, "1.5\n2e3\n")
    for data in (folder, folder / "train.txt"):
        assert load_data(str(data)).sample_weight.tolist() == [1.5, 2000]
        assert lt.read_xmc(folder / "train.txt").sample_weight.tolist() == [1.5, 2000]
    assert lt.read_xmc(folder / "train.txt", weights=None).sample_weight is None
    assert weights_beside(folder / "other.txt") is None
    given = (folder / "train.weights.txt").rename(folder / "given")
    assert lt.read_xmc(folder / "train.txt").sample_weight is None
    assert lt.read_xmc(folder / "train.txt", weights=given).sample_weight.tolist() == [1.5, 2000]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("1\n", "1 weights for 2 points"),
        ("1\n2\n3\n", "3 weights for 2 points"),
        ("1\nmany\n", "not a number"),
        ("1\n-1\n", r"weights\[1\] must be a finite number of at least 0"),
        ("1\nnan\n", r"weights\[1\] must be a finite number of at least 0"),
        ("0\n0\n", "weights is zero for every point"),
    ],
)
def test_invalid_weights_are_refused_with_their_file(tmp_path, weights, message):
    folder = small(tmp_path, weights)
    with pytest.raises(lt.errors.FileFormatError, match=rf"train\.weights\.txt: {message}"):
        load_data(str(folder))


def test_no_event_after_the_start_of_the_test_means_no_test_points(run, log, tmp_path):
    options = [*OPTIONS[: OPTIONS.index("--test-share")], "--test-since", "2040-01-01"]
    result = run("logs", "prepare", log, "-o", tmp_path / "sales", *options)
    assert result.exit_code == 0, result.output
    assert "and 0 test points" in result.stdout
    assert "no remaining context has items from 2040-01-01" in " ".join(result.stdout.split())
    assert PreparedLogs.load(tmp_path / "sales").test.n_points == 0
