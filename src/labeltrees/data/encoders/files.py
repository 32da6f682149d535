"""Encoders as JSON values and arrays, for the folders of models and prepared logs."""

from __future__ import annotations

from typing import Any

from labeltrees.data.encoders.base import Arrays, Encoder
from labeltrees.data.encoders.items import ColumnEncoder, ItemEncoder
from labeltrees.data.encoders.text import TextEncoder
from labeltrees.data.encoders.union import UnionEncoder
from labeltrees.errors import FileFormatError

KINDS: dict[str, type[Encoder]] = {cls.KIND: cls for cls in (TextEncoder, ItemEncoder, ColumnEncoder, UnionEncoder)}


def encoder_to_files(encoder: Encoder, prefix: str = "encoder.") -> tuple[dict[str, Any], Arrays]:
    """Return an encoder of any kind as JSON values and arrays, whose names start with `prefix`."""
    return encoder.to_files(prefix)


def encoder_from_files(settings: Any, arrays: Arrays, prefix: str, source: str) -> Encoder:
    """Make an encoder of any kind from what `encoder_to_files` returned; a fault is a `FileFormatError`.

    Sizes and types of the arrays are checked here; names when they are first used, or by `Encoder.verify`.
    """
    kind = settings.get("kind") if isinstance(settings, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        message = f"{source}: the encoder must be of one of the kinds {', '.join(KINDS)}, got {str(kind)[:40]!r}"
        raise FileFormatError(message)
    return KINDS[kind].from_files(settings, arrays, prefix, source)
