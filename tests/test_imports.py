"""What `import labeltrees` and `labeltrees --help` import, and where the public names are."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import labeltrees as lt

pytestmark = pytest.mark.smoke

SLOW = {"numpy", "scipy", "sklearn", "polars", "pandas", "rich", "altair"}


@pytest.mark.parametrize(
    "script",
    ["import labeltrees", "from labeltrees.cli.main import cli; cli(['--help'], standalone_mode=False)"],
    ids=["import", "--help"],
)
def test_nothing_slow_is_imported_before_it_is_used(script):
    script += "; import sys; print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = found.stderr.split()
    assert not SLOW & {module.partition(".")[0] for module in modules}
    assert len(modules) < 250


def test_the_stub_has_the_public_names():
    stub = ast.parse(Path(lt.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    imported = [
        (node.module, name.name) for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    assert sorted(name for _, name in imported) == lt.__all__
    assert len(lt.__all__) <= 40
    for module, name in imported:
        __import__(module)
        assert getattr(lt, name) is getattr(sys.modules[module], name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'labeltrees' has no attribute 'build_forest'"):
        lt.build_forest  # noqa: B018
    assert "build_tree" in dir(lt)


def test_a_name_that_is_gone_says_what_to_use():
    with pytest.raises(AttributeError, match="measure_work"):
        _ = lt.profile


@pytest.mark.parametrize("name", sorted(lt._MOVED_TO))
def test_a_name_that_has_moved_says_where_it_is(name):
    module = f"labeltrees.{lt._MOVED_TO[name]}"
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': it is in {module}$"):
        getattr(lt, name)
    assert hasattr(import_module(module), name)
