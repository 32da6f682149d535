"""Fixtures of the folders whose modules these tests combine."""

from tests.cli.conftest import run
from tests.models.conftest import copied, folder, model, name_lists, named, names, problem, rich, scores

__all__ = ["copied", "folder", "model", "name_lists", "named", "names", "problem", "rich", "run", "scores"]
