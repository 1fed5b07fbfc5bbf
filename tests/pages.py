"""Runs the examples of a page of the documentation, in order.

`python -m tests.pages tutorial.md …` writes into these pages what their examples print now.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}) *(?P<language>[\w-]*)[^\n]*\n(?P<inside>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE
)
_EXAMPLE = re.compile(r"(```python\n)(.*?)(```\n)(?:(\n```text\n)(.*?)(```))?", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of Python, and the block of text below it, if there is one: what it prints."""

    code: str
    said: str | None
    line: int


def pages() -> list[Path]:
    """Every page, README first."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """Of a page of docs/, its place in there."""
    return page.relative_to(DOCS).as_posix() if page.is_relative_to(DOCS) else page.name


def blocks(page: Path, *languages: str) -> list[str]:
    """What stands in the fenced blocks of these languages."""
    found = _FENCE.finditer(page.read_text(encoding="utf-8"))
    return [block["inside"] for block in found if block["language"] in languages]


def without_blocks(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def examples(page: Path) -> list[Example]:
    """The Python of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Example(m[2], m[5], text.count("\n", 0, m.start(2))) for m in _EXAMPLE.finditer(text)]


def printed(page: Path, *, apart: bool = False, left_out: str = "") -> Iterator[tuple[Example, str]]:
    """Each example with what it prints.

    Args:
        apart: each has names and a directory of its own; default: they share them, as if they stood in one file.
        left_out: what stands in an example that is not run.
    """
    script = "__main__" if any('"__main__"' in example.code for example in examples(page)) else "page"
    names: dict[str, Any] = {"__name__": script}
    for example in examples(page):
        if left_out and left_out in example.code:
            continue
        above = "\n" * example.line  # so that a traceback names the line of the page
        code = compile(above + example.code, name_of(page), "exec")
        with contextlib.ExitStack() as around:
            out = around.enter_context(contextlib.redirect_stdout(io.StringIO()))
            if apart:
                names = {"__name__": script}
                around.enter_context(contextlib.chdir(around.enter_context(tempfile.TemporaryDirectory())))
            exec(code, names)
        yield example, out.getvalue()
    if "store" in names:
        names["store"].close()


def prints_what_it_says(page: str, *, same: Callable[[str], str] = str) -> int:
    """Each example prints what stands below it, and no other prints anything; how many there are that print.

    Args:
        same: applied to both sides before they are compared.
    """
    shown = 0
    for example, said in printed(DOCS / page):
        assert same(said) == same(example.said or "")
        shown += bool(example.said)
    return shown


def _rewritten(page: Path) -> str:
    outputs = iter([said for _, said in printed(page)])

    def with_output(found: re.Match[str]) -> str:
        said = next(outputs)
        return f"{found[1]}{found[2]}{found[3]}" + (f"{found[4]}{said}{found[6]}" if found[4] else "")

    return _EXAMPLE.sub(with_output, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for written in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            text = _rewritten(DOCS / written)
        (DOCS / written).write_text(text, encoding="utf-8")
