"""Signatures in the reference have plain defaults."""

from __future__ import annotations

import griffe

from scripts.docs_settings import SettingDefaults

SOURCE = """
from dataclasses import dataclass
from labeltrees._settings import choice, integer, setting, with_default

@dataclass
class Narrow:
    fanout: int = setting(16, integer(2), "Children per node.")
    cover: str = choice("marginal", ("marginal", "greedy"), "How labels are counted.")
    seed: int = 0

@dataclass
class Wide(Narrow):
    fanout: int = with_default(Narrow, "fanout", 128)
"""


def test_the_default_of_a_setting_replaces_its_declaration() -> None:
    extensions = griffe.load_extensions(SettingDefaults)
    with griffe.temporary_visited_package(
        "settings_example", {"__init__.py": SOURCE}, extensions=extensions
    ) as package:
        signatures = {
            name: {p.name: str(p.default) for p in package[name].parameters if p.name != "self"}
            for name in ("Narrow", "Wide")
        }
    narrow = {"fanout": "16", "cover": "'marginal'", "seed": "0"}
    assert signatures == {"Narrow": narrow, "Wide": {**narrow, "fanout": "128"}}
