"""Run the smoke tests with the labeltrees that is installed: they need no extra, only pytest and hypothesis.

Only files with the mark are read, because others import the packages of extras.
"""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
marked = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if "pytest.mark.smoke" in path.read_text("utf-8")]
sys.path.insert(0, str(TESTS.parent))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-m", "smoke", f"--rootdir={TESTS.parent}", *marked]))
