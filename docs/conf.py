"""Configuration of Sphinx: ``make docs`` builds the site into build/site, and a warning is an error.

The source folder is the root of the repository and the first page is README.md, so a relative link between two files
leads to the same place on the site and in the repository.
"""

import shutil
from pathlib import Path
from typing import Any

project = author = copyright = "labeltrees"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "benchmarks/README.md", "benchmarks/results/**.md", "src/**/README.md"]
exclude_patterns = ["build", ".venv*"]

myst_heading_anchors = 4
# Pages of results may start with a second-level heading. Types such as "(n_labels,)" in docstrings are no references.
suppress_warnings = ["myst.header", "ref.python"]

default_role = "literal"
autodoc_default_options = {"members": True, "inherited-members": "object,BaseEstimator,_MetadataRequester"}
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_member_order = "alphabetical"
napoleon_use_ivar = True
napoleon_google_docstring = False

html_theme = "furo"  # loads nothing from other servers
html_title = "labeltrees"
html_static_path = ["site/site.css"]
html_css_files = ["site.css"]
html_extra_path = ["site/index.html"]  # leads to README.html
html_show_copyright = html_show_sphinx = html_copy_source = False

# The navigation: captions and their pages.
NAVIGATION: dict[str, list[str]] = {
    "Guide": [
        "docs/installation",
        "docs/concepts",
        "docs/choosing",
        "docs/ten-minutes",
        "docs/texts",
        "docs/text-model",
        "docs/logs",
        "docs/online-shop",
        "docs/cluster",
        "docs/predicting",
        "docs/labels-come-and-go",
        "docs/server",
        "docs/commands",
        "docs/coming-from-tree-libraries",
        "docs/coming-from-text-tools",
    ],
    "Results": ["docs/paper", "docs/reliability", "benchmarks/README"],
    "Reference": [
        *(
            f"docs/reference/{name}"
            for name in ("data", "labels", "trees", "models", "metrics", "baselines", "tuning", "errors")
        ),
        "docs/format",
    ],
    "Development": ["ARCHITECTURE", "CONTRIBUTING", "docs/decisions/README", "SECURITY", "CHANGELOG"],
}


def _toctree(pages: list[str], *options: str) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", *options, "", *pages, "```", ""])


def add_navigation(app: Any, name: str, source: list[str]) -> None:
    """Add the navigation to a page before it is parsed, so that the files themselves are plain Markdown."""
    if name == root_doc:
        source[0] += "".join(_toctree([f"/{p}" for p in pages], f":caption: {c}") for c, pages in NAVIGATION.items())
    elif name == "docs/decisions/README":
        source[0] += _toctree(["0*"], ":glob:")
    elif name.startswith(("benchmarks/results/", "src/")):
        source[0] = "---\norphan: true\n---\n" + source[0]  # reached by links only


def skip_members(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool:
    """Leave out scikit-learn's methods for metadata routing."""
    return skip or (name.startswith("set_") and name.endswith("_request"))


def copy_pictures(app: Any, error: Exception | None) -> None:
    """Copy the pictures, because Sphinx does not find those in HTML elements such as the README's."""
    shutil.copytree(Path(app.confdir) / "pictures", Path(app.outdir) / "docs" / "pictures", dirs_exist_ok=True)


def setup(app: Any) -> None:
    """Register the functions that Sphinx calls."""
    app.connect("source-read", add_navigation)
    app.connect("autodoc-skip-member", skip_members)
    app.connect("build-finished", copy_pictures)
