"""Run the blocks of the README and the guide, each page with exactly the extras that it names.

    python scripts/check_blocks.py [PAGE ...]     # after make wheel

It makes one environment per set of extras from the wheel in dist/, in build/blocks-*. A page names its extras as
``labeltrees[logs]`` or "the extra `logs`"; other packages as ``pip install httpx2``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.docs.pages import extras_of, pages_with_blocks  # noqa: E402


def packages_of(page: str) -> list[str]:
    """Return the packages besides labeltrees that the page says to install with pip, without paths of files."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return sorted(set(re.findall(r"pip install ([a-z0-9-]+)(?![\w/\[-]|\.\w)", text)) - {"labeltrees"})


def environment(extras: list[str], packages: list[str]) -> Path:
    """Return the Python of an environment with these extras and packages."""
    folder = ROOT / "build" / "-".join(["blocks", *extras, *packages])
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [
        python,
        "-m",
        "pip",
        "--quiet",
        "--quiet",
        "--disable-pip-version-check",
        "install",
        "--only-binary",
        ":all:",
    ]
    find = ["--find-links", ROOT / "dist"]
    subprocess.run([*pip, *find, "--force-reinstall", "--no-deps", "labeltrees"], check=True)
    subprocess.run([*pip, *find, f"labeltrees[{','.join(extras)}]", *packages], check=True)
    return python


def main() -> None:
    """Run the pages and end with an error if one fails."""
    failed = []
    places: dict[tuple[str, ...], Path] = {}
    for page in sys.argv[1:] or pages_with_blocks():
        extras, packages = extras_of(page), packages_of(page)
        print(f"{page} with {', '.join(extras + packages) or 'no extras'}", flush=True)
        key = (*extras, "|", *packages)
        if key not in places:
            places[key] = environment(extras, packages)
        path = f"{places[key].parent}{os.pathsep}{os.environ['PATH']}"
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path}
        if subprocess.run([places[key], "-m", "tests.docs.pages", page], cwd=ROOT, env=variables).returncode != 0:
            failed.append(page)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
