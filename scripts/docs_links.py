"""Lets pages link to any file of the repository, as they do where the repository is looked at.

mkdocs knows the files below ``docs/`` only. With this hook the pages of ``benchmarks/`` become pages of the site, links
between the two are put right, and a link to any other file becomes that file's path. A line ``--8<-- "FILE"`` is
replaced by that file's text, its links put right too. A link to nothing stays as it is, and mkdocs complains of it.
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
    """Put the links of a page right."""
    site = {file.src_uri for file in files}
    at = page.file.src_uri
    source = at if at.startswith("benchmarks/") else DOCS + at
    own = put_right(markdown, source, at, site)
    return _INCLUDE.sub(lambda found: put_right(included(found["path"]), found["path"], at, site), own)


def included(path: str) -> str:
    """Return the text of a file, its headings a level lower so that they stand below the page's own."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return re.sub(r"^(?=#+ )", "#", text, flags=re.MULTILINE)


def put_right(markdown: str, source: str, at: str, site: set[str]) -> str:
    """Return text of the file `source` with links as they must be on the page `at`; code stays as it is."""
    parts, last = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_links(markdown[last : fence.start()], source, at, site), fence.group()]
        last = fence.end()
    return "".join([*parts, _links(markdown[last:], source, at, site)])


def _links(markdown: str, source: str, at: str, site: set[str]) -> str:
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
