"""Signatures in the reference have plain defaults."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import griffe
import pytest

import labeltrees as lt
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


@pytest.mark.parametrize("documented", [lt.LabelTreeClassifier, lt.TextLabelTreeClassifier, lt.build_tree])
def test_every_parameter_is_documented_with_its_type_and_default(documented: Any) -> None:
    text = inspect.getdoc(documented) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)\n\n\w+\n---", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    entries: dict[str, str] = {}
    for names, kind in re.findall(r"^(\S[^:]*) : (.+)$", section[1], re.MULTILINE):
        entries |= dict.fromkeys(names.split(", "), kind)
    parameters = inspect.signature(documented).parameters
    assert entries.keys() == parameters.keys()
    for name, parameter in parameters.items():
        default = re.search(r", default (\S+)$", entries[name])
        if default is not None:
            assert ast.literal_eval(default[1]) == parameter.default, name
        else:  # then None is the default, or there is none
            assert parameter.default in (None, parameter.empty), name
