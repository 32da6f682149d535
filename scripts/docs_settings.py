"""Griffe extension: the reference shows the default of a setting, not the call that declares its field.

``fanout: int = setting(16, check, "...")`` appears in a signature as ``fanout: int = 16``.
"""

from __future__ import annotations

from typing import Any

from griffe import Attribute, ExprCall, Extension

# The position of the default among the arguments of the functions in labeltrees/_settings.py that declare fields.
DEFAULT_AT = {"setting": 0, "choice": 0, "with_default": 2}


class SettingDefaults(Extension):
    """Replaces the value of a field by its default."""

    def on_attribute_instance(self, *, attr: Attribute, **kwargs: Any) -> None:
        """Handle one attribute, before griffe makes the ``__init__`` of a dataclass from it."""
        value = attr.value
        if not isinstance(value, ExprCall):
            return
        module, _, function = value.canonical_path.rpartition(".")
        if module == "labeltrees._settings" and function in DEFAULT_AT:
            attr.value = value.arguments[DEFAULT_AT[function]]
