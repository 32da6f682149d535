"""mkdocs hook: pages can link to any file of the repository, so that the links also work outside the site.

mkdocs knows only the files below ``docs/``. This hook adds the pages of ``benchmarks/`` to the site and adapts the
links between the two. A link to any other file becomes the path of that file. A line ``--8<-- "FILE"`` is replaced by
the text of that file, with adapted links. A link to a missing file is not changed, so that mkdocs reports it.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/"
SHOWN = ("benchmarks/README.md", "benchmarks/results/*.md", "benchmarks/results/*.png", "benchmarks/results/*.svg")

_FENCE = re.compile(r"^(?P<fence>```+|~~~+).*?^(?P=fence)\s*?$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_INCLUDE = re.compile(r'^--8<-- "(?P<path>[^"]+)"$', re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of ``benchmarks/``."""
    for pattern in SHOWN:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adapt the links of a page and insert included files."""
    site = {file.src_uri for file in files}
    at = page.file.src_uri
    source = at if at.startswith("benchmarks/") else DOCS + at
    own = adapt_links(markdown, source, at, site)
    return _INCLUDE.sub(lambda found: adapt_links(included(found["path"]), found["path"], at, site), own)


def included(path: str) -> str:
    """Return the text of a file, with its headings one level lower for the page that includes it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"^(?=#+ )", "#", text, flags=re.MULTILINE)


def adapt_links(markdown: str, source: str, at: str, site: set[str]) -> str:
    """Return text of the file `source` with the links that the page `at` needs; code is not changed."""
    parts, last = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_adapt(markdown[last : fence.start()], source, at, site), fence.group()]
        last = fence.end()
    return "".join([*parts, _adapt(markdown[last:], source, at, site)])


def _adapt(markdown: str, source: str, at: str, site: set[str]) -> str:
    def replace(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or ":" in target or target.startswith("/"):
            return found.group()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        uri = path.removeprefix(DOCS)
        if uri in site:
            place = posixpath.relpath(uri, posixpath.dirname(at) or ".") + (f"#{anchor}" if anchor else "")
            return f"{found['image']}[{found['text']}]({place})"
        if os.path.exists(ROOT / path):
            return f"`{path}`" if found["text"].strip("`/") in path else f"{found['text']} (`{path}`)"
        return found.group()

    return _LINK.sub(replace, markdown)
