"""The tables that benchmarks print."""

from __future__ import annotations

import pytest

from benchmarks.tables import print_head, slashed


def test_a_head_has_a_rule_as_wide_as_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    print_head("data | P@1 / 3 / 5 | us")
    assert capsys.readouterr().out == "| data | P@1 / 3 / 5 | us |\n| --- | --- | --- |\n"


def test_numbers_are_joined_by_slashes() -> None:
    assert slashed([76.611, 51.5]) == "76.61 / 51.50"
    assert slashed([0.5, -1.0], "+.1f") == "+0.5 / -1.0"
