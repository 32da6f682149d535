"""The comparison of two builds: digests, differences, and which build is started."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import same_results
from benchmarks.builds.build import Build
from benchmarks.same_results import differences

FOLDER = Path(__file__).parents[2] / "benchmarks" / "builds"


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("digests", "inputs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("digests")


@pytest.mark.parametrize(
    "other",
    [
        np.array([1, 2, 4], dtype=np.int32),
        np.array([1, 2, 3], dtype=np.int64),
        np.array([[1, 2, 3]], dtype=np.int32),
        sp.csr_array(np.array([[1, 2, 3]], dtype=np.int32)),
        np.array(["1", "2", "3"], dtype=object),
    ],
)
def test_a_digest_depends_on_values_type_and_shape(digests: Any, other: Any) -> None:
    values = np.array([1, 2, 3], dtype=np.int32)
    assert digests.digest(values) == digests.digest(values.copy())
    assert digests.digest(values) != digests.digest(other)


def test_only_times_and_the_checksum_over_them_are_left_out_of_a_manifest(digests: Any) -> None:
    manifest = '{\n "checksum": "12",\n "a": {\n  "checksum": "34",\n  "tree_seconds": 1.5,\n  "bytes": 6\n }\n}\n'
    kept = digests.CHANGING_LINES.sub("", manifest)
    assert [word in kept for word in ("12", "34", "1.5", "bytes")] == [False, True, False, True]


def test_a_different_or_missing_result_is_named() -> None:
    base = {"trees": {"a": "1", "b": "2"}, "data": {"x": "3"}}
    new = {"trees": {"a": "1", "b": "9", "c": "4"}}
    assert differences(base, base) == {"trees": [], "data": []}
    assert differences(base, new) == {"trees": ["b", "c"], "data": ["x"]}


@pytest.mark.parametrize(("digest", "code"), [("1", 0), ("2", 1)])
def test_the_exit_code_says_whether_results_differ(
    digest: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answers(*_: object) -> list[dict[str, Any]]:
        return [{"package": "x", "version": "1", "digests": {"trees": {"a": value}}} for value in ("1", digest)]

    monkeypatch.setattr(same_results, "run_builds", answers)
    monkeypatch.setattr(sys, "argv", ["same_results", "--base", sys.executable])
    with pytest.raises(SystemExit) as stopped:
        same_results.main()
    assert stopped.value.code == code
    assert f"1 results compared, {code} differ" in capsys.readouterr().out


def test_another_build_does_not_inherit_the_path_of_this_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", "src")
    assert Build.of(None).environment["PYTHONPATH"] == "src"
    assert "PYTHONPATH" not in Build.of(sys.executable).environment
    (tmp_path / "labeltrees").mkdir()
    (tmp_path / "labeltrees" / "__init__.py").touch()
    assert Build.of(str(tmp_path)).environment["PYTHONPATH"] == str(tmp_path.resolve())
    with pytest.raises(SystemExit, match="neither a Python executable nor a folder"):
        Build.of(str(tmp_path / "nothing"))
