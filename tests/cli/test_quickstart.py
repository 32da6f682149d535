"""labeltrees quickstart, on a small set in place of the bundled one."""

from labeltrees import LabelTree
from labeltrees.cli import quickstart as quickstart_command
from labeltrees.cli.data_argument import load_data


def test_it_builds_shows_and_saves_trees(run, data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart_command, "load_data", lambda _: load_data(str(data_folder)))
    folder = tmp_path / "first" / "look"
    result = run("quickstart", "--folder", folder)
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"tradeoff-{tradeoff}.tree" for tradeoff in ("0.5", "0", "1.5", "1", "2")
    ]
    depths = [LabelTree.load(folder / f"tradeoff-{tradeoff}.tree").height for tradeoff in ("0", "2")]
    assert min(depths) >= 1
    for expected in ("similarity", "root  mass 1.0000", "name-0", f"The trees are in {folder}", "labeltrees tree show"):
        assert expected in result.stdout


def test_what_it_proposes_next_works(run, data_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(quickstart_command, "load_data", lambda _: load_data(str(data_folder)))
    result = run("quickstart", "--folder", tmp_path)
    line = next(line for line in result.stdout.splitlines() if "tree show" in line)
    command = line.split()[1:]
    command[command.index("python3")] = "name-3"
    assert run(*command).exit_code == 0
