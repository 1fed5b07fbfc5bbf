"""The site: every page is in the navigation, every link leads somewhere, every public name is in the reference."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pydoc
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import recall_integrations
from recall_integrations import errors, testing, types
from scripts.notebooks_of_the_site import page_of
from tests.needs import needed
from tests.pages import DOCS, ROOT, blocks, name_of, pages, without_blocks

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
LOOK_INSIDE = {"languages.md", "ranking.md"}  # they show how it works with what no program should use
OUTSIDE = re.compile(r"https://[a-z0-9.-]+\.[a-z]{2,}(/[^\s<>\"]*)?|mailto:\S+@\S+|http://(127\.0\.0\.1|localhost)\S*")


# -- the navigation ----------------------------------------------------------------------------------------------------


class Settings(yaml.SafeLoader):
    """Reads mkdocs.yml, in which a tag names a function."""


Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, _suffix, node: str(node.tag))


def settings() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Settings)
    return found


def listed(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [page for item in (nav.values() if isinstance(nav, dict) else nav) for page in listed(item)]


def test_every_page_is_in_the_navigation_once() -> None:
    notebooks = [f"cookbook/{path.stem}.md" for path in (ROOT / "cookbook").glob("*.ipynb")]
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    known = listed(settings()["nav"])
    assert len(known) == len(set(known))
    assert {*written, *notebooks, "cookbook/index.md"} - set(known) == set(), "give it a line under nav in mkdocs.yml"
    assert set(known) - {*written, *notebooks, "cookbook/index.md"} == set(), "there is no such page"


def test_nothing_is_fetched_from_elsewhere() -> None:
    site = settings()
    assert site["theme"]["font"] is False
    assert not [one for one in (*site.get("extra_css", ()), *site.get("extra_javascript", ())) if "//" in one]
    assert [p.name for p in pages() if blocks(p, "mermaid")] == []  # its script would come from elsewhere


# -- notebooks ---------------------------------------------------------------------------------------------------------

NOTEBOOK = {
    "cells": [
        {
            "cell_type": "markdown",
            "source": ["# A story\n", "See [filters](../docs/filters.md#a), [next](02_b.ipynb), [code](x.py)."],
        },
        {
            "cell_type": "code",
            "source": "print('`' * 3)",
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[1m```\x1b[0m\n"]},
                {"output_type": "display_data", "data": {"image/png": "cG5n", "text/plain": "<Figure>"}},
            ],
        },
        {"cell_type": "code", "source": [], "outputs": []},
    ]
}


def test_a_notebook_is_a_page_with_what_it_prints() -> None:
    found = page_of(NOTEBOOK, "01_a")
    page = found.pop("cookbook/01_a.md")
    assert found == {"cookbook/01_a-1-1.png": b"png"}
    assert page == (
        "# A story\nSee [filters](../filters.md#a), [next](02_b.md), code.\n\n"
        "```python\nprint('`' * 3)\n```\n\n"
        "````text\n```\n````\n\n![What the cell above draws](01_a-1-1.png)\n"
    )


# -- links -------------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Of its titles, as repositories and the site make them; a title that comes again has a number."""
    made: set[str] = set()
    for title in re.findall(r"^#{1,6} +(.*?)\s*#*$", without_blocks(page), re.MULTILINE):
        plain = re.sub(r"\]\([^)]*\)", "", re.sub(r"<[^>]*>", "", title))
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        made.add(slug if slug not in made else f"{slug}-{sum(one.startswith(slug) for one in made)}")
    return made


def texts() -> list[tuple[Path, str]]:
    """All that has links, without code: pages, the notebooks' words, what stands beside the benchmarks."""
    beside = [ROOT / "CHANGELOG.md", *(ROOT / "benchmarks").rglob("*.md"), *(ROOT / "cookbook").glob("*.md")]
    found = [(page, without_blocks(page)) for page in (*pages(), *beside)]
    for notebook in sorted((ROOT / "cookbook").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        found += [(notebook, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "markdown"]
    return [(page, re.sub(r"`[^`\n]*`", "", text)) for page, text in found]


def wrong(page: Path, link: str) -> str:
    """What is wrong with a link; empty if nothing is."""
    if "://" in link or link.startswith("mailto:"):
        return "" if OUTSIDE.fullmatch(link) else "no address"
    file, _, place = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    if not target.exists():
        return "no such file"
    if page.is_relative_to(DOCS) and not target.is_relative_to(DOCS):
        return "not on the site"
    return "" if not place or target.suffix != ".md" or place in anchors(target) else "no such title"


def test_links_lead_somewhere() -> None:
    found = [(page, link) for page, text in texts() for link in LINK.findall(text)]
    assert len(found) > 150
    assert [(name_of(p), link, wrong(p, link)) for p, link in found if wrong(p, link)] == []


def test_a_wrong_link_is_noticed() -> None:
    page = DOCS / "query.md"
    assert wrong(page, "#time-and-sessions") == "" and wrong(page, "benchmarks.md#rules") == ""
    assert wrong(page, "#nowhere") == "no such title" and wrong(page, "benchmark.md") == "no such file"
    assert wrong(page, "../README.md") == "not on the site" and wrong(page, "https://nowhere") == "no address"


# -- the reference -----------------------------------------------------------------------------------------------------


def referred() -> dict[str, Any]:
    """Every object that a page of the reference shows, by its path."""
    paths = [
        path for page in REFERENCE for path in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert len(paths) == len(set(paths))
    found = {path: pydoc.locate(path) for path in paths}
    assert [path for path, what in found.items() if what is None] == []
    for path, module in list(found.items()):
        if inspect.ismodule(module):
            found |= {f"{path}.{name}": getattr(module, name) for name in getattr(module, "__all__", vars(module))}
    return found


def missing(names: list[str], module: Any) -> list[str]:
    shown = list(referred().values())
    return [name for name in names if not any(getattr(module, name) is one for one in shown)]


def test_every_public_name_is_in_the_reference() -> None:
    assert missing(recall_integrations.__all__, recall_integrations) == []
    assert missing(errors.__all__, errors) == []
    assert missing(testing.__all__, testing) == []
    records = [name for name in types.__all__ if inspect.isclass(getattr(types, name))]
    assert missing(records, types) == []


def test_every_name_that_a_page_imports_is_in_the_reference() -> None:
    shown = list(referred().values())
    shown += [importlib.import_module(one.__module__) for one in shown if inspect.isfunction(one)]  # or by its module
    unknown = set()
    for page in (page for page in pages() if name_of(page) not in LOOK_INSIDE):
        for module, names in re.findall(
            r"^\s*from (recall_integrations[\w.]*) import \(?([\w, \n]+?)\)?(?:\s*#.*)?$",
            "\n".join(blocks(page, "python")),
            re.M,
        ):
            home = importlib.import_module(module)
            asked = [name.strip() for name in names.split(",") if name.strip()]
            unknown |= {f"{module}.{n}" for n in asked if not any(getattr(home, n) is one for one in shown)}
    assert sorted(unknown) == [], "give it a line in docs/reference/"


# -- the site itself ---------------------------------------------------------------------------------------------------


class Fetched(HTMLParser):
    """What a browser fetches by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video"):
            self.found.append(given.get("src") or "")
        elif tag == "link" and given.get("rel") not in ("canonical", "alternate", "next", "prev"):
            self.found.append(given.get("href") or "")


@pytest.mark.slow
def test_it_builds_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    for name in ("mkdocstrings", "material"):
        needed(name, "the site needs the extra docs: pip install 'recall-integrations[docs]'")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # material's own notice about a successor
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr and "griffe" not in done.stderr, done.stderr
    built = list((tmp_path / "site").rglob("*.html"))
    assert len(built) > len(list(DOCS.rglob("*.md")))  # and one for what is not found
    for page in built:
        parser = Fetched()
        parser.feed(page.read_text(encoding="utf-8"))
        assert [one for one in parser.found if "//" in one] == [], page
