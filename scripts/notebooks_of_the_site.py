"""A hook of mkdocs (mkdocs.yml): the notebooks of the cookbook are pages of the site, with what they print.

They stay where they are; nothing is written beside them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

COOKBOOK = Path(__file__).resolve().parents[1] / "cookbook"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
PICTURES = {"image/png": "png", "image/svg+xml": "svg"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages and their pictures."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {"cookbook/index.md": linked((COOKBOOK / "README.md").read_text(encoding="utf-8"))}
    for path in sorted(COOKBOOK.glob("*.ipynb")):
        made |= page_of(json.loads(path.read_text(encoding="utf-8")), path.stem)
    for place, content in made.items():
        files.append(File.generated(config, place, content=content))
    return files


def page_of(notebook: Mapping[str, Any], name: str) -> dict[str, str | bytes]:
    """The page of a notebook, and its pictures, by their places on the site."""
    found: dict[str, str | bytes] = {}
    parts = []
    for number, cell in enumerate(notebook["cells"]):
        text = _text(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(linked(text))
        elif text:
            parts.append(_fenced(text, "python"))
            for place, output in enumerate(cell.get("outputs", ())):
                parts += _shown(output, f"{name}-{number}-{place}", found)
    found[f"cookbook/{name}.md"] = "\n\n".join(parts) + "\n"
    return found


def linked(text: str) -> str:
    """Links from the cookbook, as they lead on the site; what is not on it is named and not linked."""

    def led(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found[0]
        page = re.sub(r"^\.\./docs/", "../", target)
        page = re.sub(r"\.ipynb(?=$|#)", ".md", page)
        return f"{picture}[{words}]({page})" if re.search(r"\.(md|png|svg)(#|$)", page) else words

    return LINK.sub(led, text)


def _shown(output: Mapping[str, Any], name: str, pictures: dict[str, str | bytes]) -> Iterator[str]:
    """What a cell printed or drew."""
    if output["output_type"] == "stream":
        yield _fenced(ANSI.sub("", _text(output["text"])), "text")
        return
    data = output.get("data", {})
    for kind, ending in PICTURES.items():
        if kind in data:
            drawn = _text(data[kind])
            pictures[f"cookbook/{name}.{ending}"] = base64.b64decode(drawn) if ending == "png" else drawn
            yield f"![What the cell above draws]({name}.{ending})"
            return
    if "text/markdown" in data:
        yield linked(_text(data["text/markdown"]))
    elif "text/plain" in data:
        yield _fenced(ANSI.sub("", _text(data["text/plain"])), "text")


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)


def _fenced(text: str, language: str) -> str:
    marks = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    body = text.strip("\n")
    return f"{marks}{language}\n{body}\n{marks}"
